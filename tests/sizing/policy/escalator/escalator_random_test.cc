// Random rounds of Escalator: invariants of every decision, and a second implementation of the
// rules.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "sizing/policy/escalator/escalator.h"

namespace ebb::escalator_random_test {
namespace {

constexpr int64_t kStart = 1'000'000;

// Fails some of the calls, and records all of them.
class Calls final : public EscalatorCalls {
 public:
  Calls(uint64_t seed, uint64_t failing_percent) : random_(seed), failing_(failing_percent) {}

  absl::Status Taint(const EscalatorNode& node) override { return Make(tainted, node.name); }
  absl::Status Untaint(const EscalatorNode& node) override { return Make(untainted, node.name); }
  absl::Status Terminate(const EscalatorNode& node) override { return Make(terminated, node.name); }
  absl::Status DeleteNode(const EscalatorNode& node) override { return Make(deleted, node.name); }
  absl::Status SetDesired(int64_t to) override { return Make(desired, to); }

  [[nodiscard]] bool None() const {
    return tainted.empty() && untainted.empty() && terminated.empty() && deleted.empty() &&
           desired.empty();
  }
  bool operator==(const Calls& other) const {
    return tainted == other.tainted && untainted == other.untainted &&
           terminated == other.terminated && deleted == other.deleted && desired == other.desired;
  }

  std::vector<std::string> tainted, untainted, terminated, deleted;
  std::vector<int64_t> desired;

 private:
  template <typename T>
  absl::Status Make(std::vector<T>& calls, const T& call) {
    if (random_.Below(100) < failing_) return absl::UnavailableError("fails");
    calls.push_back(call);
    return absl::OkStatus();
  }

  Random random_;
  uint64_t failing_;
};

int64_t Between(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(high - low + 1)));
}
bool OneIn(Random& random, uint64_t n) { return random.Below(n) == 0; }

EscalatorOptions RandomOptions(Random& random) {
  EscalatorOptions options{.name = OneIn(random, 4) ? "default" : "g",
                           .label_key = "k",
                           .label_value = "v",
                           .cloud_provider_group_name = "asg",
                           .soft_delete_grace_period = "2m",
                           .hard_delete_grace_period = "5m",
                           .scale_up_cool_down_period = "2m"};
  options.min_nodes = Between(random, 0, 4);
  options.max_nodes = options.min_nodes + Between(random, 0, 6);
  options.dry_mode = OneIn(random, 5);
  options.scale_on_starve = OneIn(random, 2);
  options.taint_lower_capacity_threshold_percent = Between(random, 1, 30);
  options.taint_upper_capacity_threshold_percent =
      options.taint_lower_capacity_threshold_percent + Between(random, 1, 20);
  options.scale_up_threshold_percent =
      options.taint_upper_capacity_threshold_percent + Between(random, 1, 40);
  options.slow_node_removal_rate = Between(random, 0, 2);
  options.fast_node_removal_rate = options.slow_node_removal_rate + Between(random, 0, 3);
  if (OneIn(random, 3)) options.max_node_age = "1h";
  if (OneIn(random, 3)) {
    options.unhealthy_node_grace_period = "3m";
    options.health_check_newest_nodes_percent = Between(random, 1, 100);
    options.max_unhealthy_nodes_percent = Between(random, 0, 99);
  }
  return options;
}

EscalatorNode RandomNode(Random& random, int64_t now_s, int number) {
  EscalatorNode node{.name = "n" + std::to_string(number)};
  node.allocatable = {1000 * Between(random, 1, 2), 1000};
  if (OneIn(random, 60)) node.allocatable.cpu_milli = 0;
  node.created_s = now_s - Between(random, 0, 5000);
  if (!OneIn(random, 15)) node.labels = {{"k", "v"}};
  node.unschedulable = OneIn(random, 10);
  if (OneIn(random, 4)) node.taint = std::to_string(now_s - Between(random, 0, 500));
  if (OneIn(random, 50)) node.taint = "when";
  node.force_taint = OneIn(random, 15);
  if (!OneIn(random, 15)) node.ready = !OneIn(random, 6);
  if (OneIn(random, 10)) node.no_delete = "why";
  node.in_cloud_group = !OneIn(random, 20);
  return node;
}

EscalatorPod RandomPod(Random& random, size_t nodes, int number) {
  EscalatorPod pod{.name = "p" + std::to_string(number)};
  const int64_t containers = Between(random, 0, 2);
  for (int64_t i = 0; i < containers; ++i) {
    EscalatorRequest request;
    if (!OneIn(random, 8)) request.cpu_milli = Between(random, 0, 600);
    if (!OneIn(random, 8)) request.memory_bytes = Between(random, 0, 400);
    pod.containers.push_back(request);
  }
  if (OneIn(random, 4)) pod.init_containers.push_back({Between(random, 0, 1500), {}});
  if (OneIn(random, 4)) pod.overhead = {10, 10};
  if (nodes > 0 && !OneIn(random, 4)) pod.node = "n" + std::to_string(random.Below(nodes));
  pod.phase = static_cast<EscalatorPhase>(OneIn(random, 3) ? random.Below(5) : 1);
  pod.scheduled = !pod.node.empty();
  pod.is_daemonset = OneIn(random, 8);
  if (!OneIn(random, 3)) pod.node_selector = {{"k", OneIn(random, 6) ? "w" : "v"}};
  return pod;
}

EscalatorObservation RandomObservation(Random& random, int64_t now_s) {
  EscalatorObservation observation;
  const int64_t nodes = Between(random, 0, 9);
  for (int i = 0; i < nodes; ++i) observation.nodes.push_back(RandomNode(random, now_s, i));
  const int64_t pods = Between(random, 0, 14);
  for (int i = 0; i < pods; ++i) {
    observation.pods.push_back(RandomPod(random, observation.nodes.size(), i));
  }
  EscalatorCloudGroup cloud;
  cloud.min = Between(random, 0, 4);
  cloud.max = cloud.min + Between(random, 0, 9);
  cloud.desired = std::max<int64_t>(0, nodes + Between(random, -1, 1));
  observation.cloud = cloud;
  return observation;
}

// Invariants of every round, whatever its calls returned.
void CheckRound(const EscalatorOptions& options, const EscalatorObservation& observation,
                int64_t now_s, const EscalatorState& before, const EscalatorState& after,
                const EscalatorDecision& round, const Calls& calls) {
  const EscalatorCloudGroup& cloud = *observation.cloud;
  if (options.dry_mode) {
    EXPECT_TRUE(calls.None());
  }

  // Growth stays within the cloud's max; nothing else sets the desired count.
  EXPECT_LE(calls.desired.size(), 1U);
  for (const int64_t desired : calls.desired) {
    EXPECT_GT(desired, cloud.desired);
    EXPECT_LE(desired, cloud.max);
  }

  // Shrinking leaves the minimum of the group and of the cloud untainted.
  if (round.down) {
    const auto count = static_cast<int64_t>(round.down->tainted.nodes.size());
    const auto untainted = static_cast<int64_t>(round.group.untainted.size());
    EXPECT_LE(count, -round.delta);
    EXPECT_GE(untainted - count, round.min_nodes);
    if (cloud.desired >= cloud.min) {
      EXPECT_GE(cloud.desired - count, cloud.min);
    }
  }

  // No batch takes the cloud below its min, or removes a node that must stay.
  for (const EscalatorReap* reap : {&round.force_reap, round.down   ? &round.down->reap
                                                       : round.reap ? &*round.reap
                                                                    : nullptr}) {
    if (reap == nullptr || reap->terminated.empty()) continue;
    EXPECT_GE(cloud.desired - static_cast<int64_t>(reap->ready.size()), cloud.min);
    EXPECT_LE(reap->deleted.size(), reap->terminated.size());
    for (const size_t i : reap->terminated) {
      const EscalatorNode& node = observation.nodes[i];
      EXPECT_TRUE(node.in_cloud_group);
      EXPECT_FALSE(node.unschedulable);
      EXPECT_TRUE(node.force_taint || (node.taint && node.no_delete.empty()));
    }
  }

  // No action while the lock holds, unless the minimum or a node's health requires it.
  const bool locked = before.locked_at_s && now_s - *before.locked_at_s < 120;
  if (locked && round.path != EscalatorPath::kBelowUntaintedMin) {
    EXPECT_TRUE(calls.untainted.empty() && calls.terminated.empty() && calls.desired.empty());
    EXPECT_EQ(calls.tainted.size(), round.unhealthy_tainted.nodes.size() * !options.dry_mode);
    EXPECT_EQ(after.locked_at_s, before.locked_at_s);
  }
  // Only growth takes the lock, and records its number of nodes.
  if (after.locked_at_s != before.locked_at_s) {
    EXPECT_EQ(after.requested, round.up->added);
    EXPECT_GT(round.up->added, 0);
    EXPECT_EQ(after.locked_at_s, now_s);
  }
  EXPECT_EQ(after.last_delta, round.delta);
  if (round.error != EscalatorError::kNone) {
    EXPECT_EQ(round.delta, 0);
  }
  if (round.health && !round.health->healthy) {
    EXPECT_EQ(round.path, EscalatorPath::kNone);
  }
}

TEST(EscalatorRandomTest, NoRoundBreaksABoundAndARestartChangesNothing) {
  Random random(20261123);
  std::map<EscalatorPath, int> seen;
  for (int run = 0; run < 3000; ++run) {
    const EscalatorOptions options = RandomOptions(random);
    EscalatorState state;
    int64_t now_s = kStart;
    const uint64_t failing_percent = OneIn(random, 3) ? 25 : 0;
    for (int i = 0; i < 6; ++i) {
      now_s += Between(random, 0, 130);
      const EscalatorObservation observation = RandomObservation(random, now_s);
      const uint64_t seed = random.Next();
      const EscalatorState before = state;
      Calls calls(seed, failing_percent);
      const EscalatorDecision round = Decide(options, observation, now_s, calls, &state);
      ++seen[round.path];
      CheckRound(options, observation, now_s, before, state, round, calls);

      EscalatorState restored = before;
      Calls same(seed, failing_percent);
      const EscalatorDecision again = Decide(options, observation, now_s, same, &restored);
      EXPECT_EQ(restored, state);
      EXPECT_EQ(again.delta, round.delta);
      EXPECT_TRUE(same == calls);
      ASSERT_FALSE(HasFailure()) << "run " << run << ", round " << i;
    }
  }
  EXPECT_EQ(seen[EscalatorPath::kRefused], 0);
  for (const EscalatorPath path :
       {EscalatorPath::kEmpty, EscalatorPath::kBelowTotalMin, EscalatorPath::kBelowUntaintedMin,
        EscalatorPath::kCalcError, EscalatorPath::kLocked, EscalatorPath::kUp, EscalatorPath::kDown,
        EscalatorPath::kNone}) {
    EXPECT_GT(seen[path], 20) << Name(path);
  }
}

// ---------------------------------------------------------------- a second reading

// The result of a round outside dry mode, with a new state and calls that succeed.  Implemented
// from the rules alone, with loops over everything.
class Twin {
 public:
  Twin(const EscalatorOptions& options, const EscalatorObservation& observation, int64_t now_s)
      : o_(options), now_s_(now_s) {
    for (const EscalatorNode& node : observation.nodes) {
      if (!node.labels.contains("k")) continue;
      all_.push_back(node);
      if (node.unschedulable || node.force_taint) continue;
      (node.taint ? tainted_ : free_).push_back(node);
    }
    for (const EscalatorPod& pod : observation.pods) {
      const bool done =
          pod.phase == EscalatorPhase::kSucceeded || pod.phase == EscalatorPhase::kFailed;
      const bool mine = o_.name == "default"
                            ? pod.node_selector.empty()
                            : pod.node_selector.contains("k") && pod.node_selector.at("k") == "v";
      if (mine && !done && !pod.is_daemonset) pods_.push_back(pod);
    }
  }

  [[nodiscard]] int64_t Delta(const EscalatorCloudGroup& cloud) const {
    const auto untainted = static_cast<int64_t>(free_.size());
    if (all_.empty() && pods_.empty()) return 0;
    if (static_cast<int64_t>(all_.size()) < o_.min_nodes) return 0;
    if (untainted < o_.min_nodes) return BelowMinimum(cloud, o_.min_nodes - untainted);
    int64_t delta = ByThresholds();
    if (delta == kError) return 0;
    if (o_.scale_on_starve && Starves() && untainted < o_.max_nodes && delta < 1) delta = 1;
    if (!o_.max_node_age.empty() && untainted == o_.min_nodes && untainted > 0 &&
        tainted_.empty() && OldestAge() > 3600 && delta < 1) {
      delta = 1;
    }
    if (untainted > o_.max_nodes && delta > o_.max_nodes - untainted) {
      delta = o_.max_nodes - untainted;
    }
    return Healthy() ? delta : 0;
  }

 private:
  static constexpr int64_t kError = INT64_MIN;

  [[nodiscard]] bool Unhealthy(const EscalatorNode& node) const {
    if (o_.unhealthy_node_grace_period.empty() || node.unschedulable) return false;
    return node.created_s + 180 <= now_s_ && (!node.ready || !*node.ready);
  }

  [[nodiscard]] int64_t BelowMinimum(const EscalatorCloudGroup& cloud, int64_t missing) const {
    int64_t back = 0;
    for (const EscalatorNode& node : tainted_) {
      if (back < missing && !Unhealthy(node)) ++back;
    }
    if (back == missing) return missing;
    const int64_t added = std::min(missing - back, cloud.max - cloud.desired);
    return added > 0 ? back + added : 0;
  }

  static int64_t RequestOf(const EscalatorPod& pod, bool cpu) {
    const auto of = [&](const EscalatorRequest& request) {
      return (cpu ? request.cpu_milli : request.memory_bytes).value_or(0);
    };
    int64_t sum = 0;
    for (const EscalatorRequest& container : pod.containers) sum += of(container);
    for (const EscalatorRequest& init : pod.init_containers) sum = std::max(sum, of(init));
    return sum + (cpu ? pod.overhead.cpu_milli : pod.overhead.memory_bytes);
  }
  static int64_t SizeOf(const EscalatorNode& node, bool cpu) {
    return cpu ? node.allocatable.cpu_milli : node.allocatable.memory_bytes;
  }

  [[nodiscard]] int64_t ByThresholds() const {
    double percents[2];
    double missing[2];
    const auto nodes = static_cast<double>(free_.size());
    const auto t = static_cast<double>(o_.scale_up_threshold_percent);
    bool from_zero = false;
    bool asks = false;
    for (const bool cpu : {true, false}) {
      double requested = 0;
      double capacity = 0;
      for (const EscalatorPod& pod : pods_) requested += static_cast<double>(RequestOf(pod, cpu));
      for (const EscalatorNode& node : free_) capacity += static_cast<double>(SizeOf(node, cpu));
      if (capacity == 0 && !free_.empty()) return kError;
      from_zero = from_zero || capacity == 0;
      asks = asks || requested > 0;
      percents[cpu ? 1 : 0] = requested / capacity * 100;
      missing[cpu ? 1 : 0] = std::ceil(nodes * ((requested / capacity * 100 - t) / t));
      if (!free_.empty() || all_.empty()) continue;
      const auto size = static_cast<double>(SizeOf(all_[0], cpu));
      missing[cpu ? 1 : 0] = std::ceil(requested / size / t * 100);
    }
    if (from_zero) {
      if (!asks) return -o_.fast_node_removal_rate;
      if (all_.empty() || SizeOf(all_[0], true) == 0) return 1;
      return static_cast<int64_t>(std::max(missing[0], missing[1]));
    }
    const double m = std::max(percents[0], percents[1]);
    if (m < static_cast<double>(o_.taint_lower_capacity_threshold_percent)) {
      return -o_.fast_node_removal_rate;
    }
    if (m < static_cast<double>(o_.taint_upper_capacity_threshold_percent)) {
      return -o_.slow_node_removal_rate;
    }
    return m > t ? static_cast<int64_t>(std::max(missing[0], missing[1])) : 0;
  }

  // Whether a pending pod requests more of one resource than any node has free.
  [[nodiscard]] bool Starves() const {
    for (const bool cpu : {true, false}) {
      for (const EscalatorPod& pod : pods_) {
        if (pod.phase != EscalatorPhase::kPending) continue;
        const int64_t asked = RequestOf(pod, cpu);
        bool fits = asked == 0;
        for (const EscalatorNode& node : free_) fits = fits || asked <= LeftOn(node, cpu);
        if (!fits) return true;
      }
    }
    return false;
  }
  [[nodiscard]] int64_t LeftOn(const EscalatorNode& node, bool cpu) const {
    int64_t left = SizeOf(node, cpu);
    for (const EscalatorPod& pod : pods_) {
      const bool uses =
          pod.phase == EscalatorPhase::kPending || pod.phase == EscalatorPhase::kRunning;
      if (pod.node == node.name && uses) left -= RequestOf(pod, cpu);
    }
    return left;
  }

  [[nodiscard]] int64_t OldestAge() const {
    int64_t age_s = 0;
    for (const EscalatorNode& node : free_) age_s = std::max(age_s, now_s_ - node.created_s);
    return age_s;
  }

  [[nodiscard]] bool Healthy() const {
    if (o_.unhealthy_node_grace_period.empty()) return true;
    // Nodes of the same second are in list order.
    std::multimap<int64_t, bool, std::greater<>> newest;
    for (const EscalatorNode& node : all_) {
      if (node.created_s + 180 < now_s_) newest.emplace(node.created_s, Unhealthy(node));
    }
    const auto share = static_cast<double>(o_.health_check_newest_nodes_percent) / 100;
    const auto tested = static_cast<int64_t>(std::ceil(share * static_cast<double>(newest.size())));
    int64_t looked_at = 0;
    int64_t unhealthy = 0;
    for (const auto& [created_s, bad] : newest) {
      if (looked_at++ < tested && bad) ++unhealthy;
    }
    return tested == 0 || unhealthy * 100 / tested <= o_.max_unhealthy_nodes_percent;
  }

  const EscalatorOptions& o_;
  const int64_t now_s_;
  std::vector<EscalatorNode> all_, free_, tainted_;
  std::vector<EscalatorPod> pods_;
};

TEST(EscalatorRandomTest, DeltasAreThoseOfASecondReadingOfTheRules) {
  Random random(7);
  std::map<EscalatorForce, int> forced;
  for (int run = 0; run < 20000; ++run) {
    EscalatorOptions options = RandomOptions(random);
    options.dry_mode = false;
    const EscalatorObservation observation = RandomObservation(random, kStart);
    EscalatorState state;
    EscalatorNoCalls calls;
    const EscalatorDecision round = Decide(options, observation, kStart, calls, &state);
    for (const EscalatorForce force : round.forced) ++forced[force];
    // If both bounds are 0, the round has taken the cloud's.
    options.min_nodes = round.min_nodes;
    options.max_nodes = round.max_nodes;
    ASSERT_EQ(round.delta, Twin(options, observation, kStart).Delta(*observation.cloud))
        << "run " << run << ", " << Name(round.path);
  }
  EXPECT_EQ(forced.size(), 7U);  // Each kind occurred.
}

}  // namespace
}  // namespace ebb::escalator_random_test
