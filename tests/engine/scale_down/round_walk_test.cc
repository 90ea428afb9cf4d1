// A random walk: a small cluster goes through a thousand rounds.  Deletions succeed, fail or hang,
// evicted pods return late, and deadlines cut some passes.  Some rounds get a time that is a year
// off.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/scale_down/round.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::round_walk_test {
namespace {

constexpr int64_t kRounds = 1000;
constexpr int64_t kYearS = 365 * 86400;
constexpr int64_t kPodCpu = 900;  // Four fit on a node.
constexpr size_t kPodsPerNode = 4;

struct WalkNode {
  std::string name;
  std::string uid;
  std::string group;
  bool deleting = false;
  bool drains = false;
  int64_t ends_at_round = 0;
  bool succeeds = true;
};

struct WalkPod {
  std::string name;
  std::string node;           // Empty: evicted, or not placed yet.
  int64_t back_at_round = 0;  // The round in which its owner replaces it.
};

// The true state of the cluster.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    for (int n = 0; n < 12; ++n) AddNode(n < 9 ? "single" : "atomic");
    for (int p = 0; p < 14; ++p) AddPod();
  }

  ClusterSnapshot Snapshot(std::shared_ptr<Symbols> symbols) const {
    test::Cluster cluster(std::move(symbols));
    for (const WalkNode& node : nodes_) {
      cluster.Add(test::Node(node.name).With(
          [&](objects::Node& raw) { raw.meta.uid = test::Keep(node.uid); }));
    }
    int64_t running = 0;
    for (const WalkPod& pod : pods_) {
      test::Pod object(pod.name);
      object.Uid(pod.name).Cpu(kPodCpu).OwnedBy("ReplicaSet", "web");
      if (!pod.node.empty()) {
        object.On(pod.node);
        ++running;
      }
      cluster.Add(object);
    }
    test::Controller owner(objects::ControllerKind::kReplicaSet, "web");
    owner.Replicas(static_cast<int64_t>(pods_.size()));
    owner.raw.status_replicas = running;
    return cluster.Add(owner).Build();
  }

  NodeGroups Groups(const ClusterSnapshot& snapshot) const {
    NodeGroups groups;
    groups.groups.resize(2);
    groups.groups[0].name = "single";
    groups.groups[0].min_size = 2;
    groups.groups[1].name = "atomic";
    groups.groups[1].atomic = true;
    for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
      const GroupId group{nodes_[n].group == "atomic" ? 1u : 0u};
      groups.group_of.push_back(group);
      ++groups.groups[Index(group)].target_size;
    }
    return groups;
  }

  ActuationStatus Status() const {
    ActuationStatus status;
    for (const WalkNode& node : nodes_) {
      if (node.deleting)
        (node.drains ? status.drained : status.empty).push_back({node.name, node.group});
    }
    status.recent_evictions = evictions_;
    return status;
  }

  void Start(const std::vector<std::string>& names, bool drains, int64_t round) {
    for (WalkNode& node : nodes_) {
      if (std::find(names.begin(), names.end(), node.name) == names.end()) continue;
      node.deleting = true;
      node.drains = drains;
      const uint64_t fate = random_() % 10;
      node.ends_at_round = round + (fate == 9 ? 40 : 1 + static_cast<int64_t>(random_() % 4));
      node.succeeds = fate < 7;
    }
  }

  // Simulates the time until the next round.
  void Advance(int64_t round, int64_t now_s) {
    for (WalkNode& node : nodes_) {
      if (!node.deleting || node.ends_at_round > round) continue;
      node.deleting = false;
      if (node.succeeds) {
        Evict(node.name, round, now_s);
      } else {
        events_.push_back({ScaleEventKind::kFailedDeletion, node.group, now_s});
      }
    }
    std::erase_if(nodes_, [&](const WalkNode& node) { return gone_.contains(node.name); });
    gone_.clear();
    for (WalkPod& pod : pods_) {
      if (pod.node.empty() && pod.back_at_round <= round) Replace(pod);
    }
    std::erase_if(evictions_, [&](const EvictedPod& e) { return now_s - e.evicted_at_s > 60; });
    if (random_() % 3 == 0 && nodes_.size() < 14) AddNode(random_() % 4 == 0 ? "atomic" : "single");
    if (random_() % 4 == 0) ChangeLoad();
  }

  // Events since the last call.
  std::vector<ScaleEvent> TakeEvents() { return std::exchange(events_, {}); }

  size_t nodes() const { return nodes_.size(); }
  std::mt19937_64& random() { return random_; }

 private:
  void AddNode(const std::string& group) {
    // Names are used again, with another UID.
    std::string name;
    for (int n = 0; name.empty(); ++n) {
      const std::string free = "n" + std::to_string(n);
      const auto has = [&](const WalkNode& node) { return node.name == free; };
      if (std::none_of(nodes_.begin(), nodes_.end(), has)) name = free;
    }
    nodes_.push_back({name, "uid-" + std::to_string(next_id_++), group, false, false, 0, true});
  }
  void AddPod() {
    pods_.push_back({"p" + std::to_string(next_id_++), "", 0});
    Place(pods_.back());
  }
  void Evict(const std::string& node, int64_t round, int64_t now_s) {
    gone_.insert(node);
    for (WalkPod& pod : pods_) {
      if (pod.node != node) continue;
      pod.node.clear();
      pod.back_at_round = round + static_cast<int64_t>(random_() % 5);
      evictions_.push_back({"default", pod.name, pod.name, now_s});
    }
  }
  void Replace(WalkPod& pod) {
    pod.name = "p" + std::to_string(next_id_++);
    Place(pod);
  }
  void Place(WalkPod& pod) {
    for (size_t i = 0, start = random_() % nodes_.size(); i < nodes_.size(); ++i) {
      const WalkNode& node = nodes_[(start + i) % nodes_.size()];
      const auto on = std::count_if(pods_.begin(), pods_.end(),
                                    [&](const WalkPod& p) { return p.node == node.name; });
      if (node.deleting || static_cast<size_t>(on) >= kPodsPerNode) continue;
      pod.node = node.name;
      return;
    }
    AddNode("single");
    pod.node = nodes_.back().name;
  }
  void ChangeLoad() {
    if (random_() % 2 == 0 && pods_.size() < 30) {
      AddPod();
    } else if (pods_.size() > 6) {
      pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(random_() % pods_.size()));
    }
  }

  std::mt19937_64 random_;
  std::vector<WalkNode> nodes_;
  std::vector<WalkPod> pods_;
  std::vector<EvictedPod> evictions_;
  std::vector<ScaleEvent> events_;
  std::set<std::string> gone_;
  int64_t next_id_ = 0;
};

std::vector<std::string> NamesOf(const Catalog& catalog, const std::vector<DeletionBucket>& list) {
  std::vector<std::string> names;
  for (const DeletionBucket& bucket : list) {
    for (const NodeId node : bucket.nodes) names.emplace_back(catalog.NodeName(node));
  }
  return names;
}

// All decisions of a round, as text.
std::string Decision(const Catalog& catalog, const RoundResult& result) {
  std::string text(ToString(result.status));
  for (const UnneededNode& node : result.unneeded) {
    text += " " + std::string(catalog.NodeName(node.node)) + "@" + std::to_string(node.since_s);
  }
  text += " |";
  for (const RemovableNode& node : result.plan.remove) {
    for (const Move& move : node.moves) {
      text += " " + catalog.PodName(move.pod) + ">" + std::string(catalog.NodeName(move.to));
    }
  }
  text += " | empty";
  for (const std::string& name : NamesOf(catalog, result.start.empty)) text += " " + name;
  text += " drain";
  for (const std::string& name : NamesOf(catalog, result.start.drain)) text += " " + name;
  for (const NotYet& node : result.may_go.not_yet) {
    text +=
        " " + std::string(catalog.NodeName(node.node)) + "=" + std::string(ToString(node.reason));
  }
  return text;
}

ScaleDownOptions WalkOptions() {
  ScaleDownOptions options;
  options.planner.scale_down_utilization_threshold = 0.7;
  options.planner.unremovable_node_recheck_timeout_s = 30;
  options.deletion.scale_down_unneeded_time_s = 20;
  options.budgets = {.max_scale_down_parallelism = 4, .max_drain_parallelism = 2};
  options.recent_eviction_ttl_s = 45;
  options.cooldown.scale_down_delay_after_failure_s = 15;
  options.planner.min_nodes_per_pass = 1;
  options.verify = VerifyPlans::kAlways;
  return options;
}

// Expires after a number of questions; a negative number means never.
class CountedDeadline final : public Deadline {
 public:
  explicit CountedDeadline(int64_t questions) : left_(questions) {}
  bool Expired() const override {
    if (left_ > 0) return --left_, false;
    return left_ == 0;
  }

 private:
  mutable int64_t left_;
};

class RoundWalkTest : public testing::TestWithParam<uint64_t> {
 protected:
  void CheckBudgets(const ActuationStatus& status, const RoundResult& result) {
    const auto over = [](const std::vector<DeletionBucket>& buckets) {
      return std::any_of(buckets.begin(), buckets.end(),
                         [](const DeletionBucket& b) { return b.batch_size > 0; });
    };
    // An atomic group may exceed the budgets.
    if (over(result.start.empty) || over(result.start.drain)) return;
    const DeletionBudgets budgets = WalkOptions().budgets;
    const size_t drain = CountNodes(result.start.drain);
    const size_t all = CountNodes(result.start.empty) + drain;
    if (all == 0) return;
    EXPECT_LE(static_cast<int64_t>(all + status.empty.size() + status.drained.size()),
              budgets.max_scale_down_parallelism);
    if (drain > 0) {
      EXPECT_LE(static_cast<int64_t>(drain + status.drained.size()), budgets.max_drain_parallelism);
    }
  }

  void CheckTimers(const Catalog& catalog, const ActuationStatus& status,
                   const RoundResult& result) {
    std::set<std::string> deleting;
    for (const auto& node : status.empty) deleting.insert(node.name);
    for (const auto& node : status.drained) deleting.insert(node.name);
    std::map<std::string, int64_t> since;  // By UID.
    for (const UnneededNode& node : result.unneeded) {
      EXPECT_FALSE(deleting.contains(std::string(catalog.NodeName(node.node))));
      const std::string uid(catalog.Text(catalog.node(node.node).uid));
      const auto before = since_.find(uid);
      EXPECT_EQ(node.since_s, before == since_.end() ? result.now_s : before->second) << uid;
      since[uid] = node.since_s;
    }
    // A node that the pass did not reach keeps its timer.
    for (const NodeId node : result.plan.skipped) {
      const auto before = since_.find(std::string(catalog.Text(catalog.node(node).uid)));
      if (before != since_.end()) since.insert(*before);
    }
    since_ = std::move(since);
  }

  std::map<std::string, int64_t> since_;
};

TEST_P(RoundWalkTest, InvariantsHoldAndARestartChangesNothing) {
  World world(GetParam());
  auto symbols = std::make_shared<Symbols>();
  auto restarted_symbols = std::make_shared<Symbols>();
  ScaleDownOptions options = WalkOptions();
  options.stable = {.on = GetParam() % 2 == 0, .margin = 0.1, .greedy_every = 7};
  ScaleDown scale_down(options);
  auto restarted = std::make_unique<ScaleDown>(options);
  std::map<ScaleDownStatus, int64_t> statuses;
  int64_t rounds_with_displaced_pods = 0;
  int64_t rounds_cut_short = 0;
  int64_t longest_skipped_s = 0;
  int64_t now_s = 2 * kYearS;
  for (int64_t round = 0; round < kRounds; ++round) {
    // Sometimes two rounds have the same time.
    now_s += static_cast<int64_t>(world.random()() % 20);
    const ActuationStatus status = world.Status();
    ClusterSnapshot snapshot = world.Snapshot(symbols);
    const NodeGroups groups = world.Groups(snapshot);
    RoundInput input;
    const bool clock_is_wrong = round > 0 && world.random()() % 40 == 0;
    input.now_s = clock_is_wrong ? now_s + (round % 2 == 0 ? kYearS : -kYearS) : now_s;
    input.actuation = &status;
    const std::vector<ScaleEvent> events = world.TakeEvents();
    input.events = events;
    const auto questions = static_cast<int64_t>(world.random()() % 12) - (round % 2 == 0 ? 12 : 0);
    const CountedDeadline deadline(questions);
    input.deadline = &deadline;
    const RoundResult result = scale_down.Round(snapshot, groups, input).value();
    const Catalog& catalog = snapshot.catalog();
    ASSERT_NE(result.status, ScaleDownStatus::kError) << result.message;
    ASSERT_EQ(result.status == ScaleDownStatus::kClockJumped, clock_is_wrong) << round;
    // A deletion that was asked for is seen to run until it ends.
    EXPECT_EQ(result.newly_started.size(),
              CountNodes(result.start.empty) + CountNodes(result.start.drain));
    ASSERT_TRUE(snapshot.CheckInvariants().ok());
    ++statuses[result.status];
    rounds_with_displaced_pods += result.plan.packed.empty() ? 0 : 1;
    rounds_cut_short += result.plan.termination == Termination::kDeadline ? 1 : 0;
    longest_skipped_s = std::max(longest_skipped_s, result.longest_skipped_s);
    CheckBudgets(status, result);
    if (!clock_is_wrong) CheckTimers(catalog, status, result);

    if (world.random()() % 5 == 0) {  // Restarted, as another process.
      const ScaleDownState state = restarted->Save();
      restarted_symbols = std::make_shared<Symbols>();
      restarted = std::make_unique<ScaleDown>(options);
      restarted->Restore(state, restarted_symbols);
    }
    ClusterSnapshot again = world.Snapshot(restarted_symbols);
    const CountedDeadline same_deadline(questions);
    input.deadline = &same_deadline;
    ASSERT_EQ(Decision(again.catalog(), restarted->Round(again, groups, input).value()),
              Decision(catalog, result))
        << "round " << round;
    if (HasFailure()) return;

    world.Start(NamesOf(catalog, result.start.empty), false, round);
    world.Start(NamesOf(catalog, result.start.drain), true, round);
    world.Advance(round, now_s);
    ASSERT_GE(world.nodes(), 2u);
  }
  // Every status occurred often enough.
  EXPECT_GT(statuses[ScaleDownStatus::kNodeDeleteStarted], kRounds / 40);
  EXPECT_GT(statuses[ScaleDownStatus::kNoNodeDeleted], kRounds / 40);
  EXPECT_GT(statuses[ScaleDownStatus::kInCooldown], kRounds / 100);
  EXPECT_GT(statuses[ScaleDownStatus::kClockJumped], kRounds / 100);
  EXPECT_GT(rounds_with_displaced_pods, kRounds / 40);
  EXPECT_GT(rounds_cut_short, kRounds / 40);
  // Every other pass is complete and every pass judges at least one node, so no node waits long.
  EXPECT_LE(longest_skipped_s, 200);
}

// Rounds of even seeds keep what they found (StableRounds).
INSTANTIATE_TEST_SUITE_P(Seeds, RoundWalkTest, testing::Values(1, 2, 3, 4, 6));

}  // namespace
}  // namespace ebb::round_walk_test
