// The four schools and a policy of one's own, behind one interface.

#include "engine/policy/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/policy/policy_registry.h"
#include "engine/policy/policy_schools.h"
#include "engine/policy/state_text.h"

namespace ebb::policy_test {
namespace {

constexpr int64_t kNow = 1'750'000'000;
constexpr int64_t kGib = int64_t{1} << 30;

// The settings of a sample: every key that is required, at its example.
PolicySettings Sample(const PolicySchool& school) {
  PolicySettings settings;
  for (const PolicyKey& key : school.keys) {
    if (!key.required || key.path.find("[]") != std::string::npos) continue;
    switch (key.type) {
      case PolicyValueType::kBool:
        settings.Set(key.path, key.example == "true");
        break;
      case PolicyValueType::kInt:
        settings.Set(key.path, int64_t{std::stoll(key.example)});
        break;
      case PolicyValueType::kNumber:
        settings.Set(key.path, std::stod(key.example));
        break;
      case PolicyValueType::kText:
        settings.Set(key.path, key.example);
        break;
    }
  }
  return settings;
}

PolicySettings Sample(std::string_view school) { return Sample(*PolicyRegistry().Find(school)); }

std::unique_ptr<Policy> Make(std::string_view school, const PolicySettings& settings) {
  std::vector<PolicyProblem> problems;
  std::unique_ptr<Policy> policy = PolicyRegistry().Make(school, settings, &problems);
  for (const PolicyProblem& problem : problems) {
    ADD_FAILURE() << school << ": " << problem.path << ": " << problem.what;
  }
  return policy;
}

PolicyObservation Pool(size_t nodes, PolicyResources each) {
  PolicyObservation pool{.pool = "web"};
  for (size_t i = 0; i < nodes; ++i) {
    pool.nodes.push_back({.name = "node-" + std::to_string(i),
                          .capacity = each,
                          .allocatable = each,
                          .created_s = kNow - 10'000 - static_cast<int64_t>(i),
                          .ready = true,
                          .labels = {{"pool", "web"}}});
  }
  pool.cloud = {.min = 0, .max = 1000, .desired = static_cast<int64_t>(nodes)};
  return pool;
}

void AddPod(PolicyObservation& pool, size_t node, PolicyResources requests) {
  PolicyPod pod{.name = "shop/pod-" + std::to_string(pool.nodes[node].pods.size()),
                .owner = "shop/ReplicaSet/web",
                .requests = requests,
                .node_selector = {{"pool", "web"}}};
  pod.containers.push_back(
      {.cpu_milli = requests.cpu_milli, .memory_bytes = requests.memory_bytes});
  pool.nodes[node].pods.push_back(std::move(pod));
}

std::string Figure(const PolicyDecision& decision, std::string_view name) {
  for (const PolicyFigure& figure : decision.figures) {
    if (figure.name == name) return figure.value;
  }
  return "(absent)";
}

TEST(PolicyTest, TheExampleOfANumberIsOneThatIsAllowed) {
  const PolicyRegistry registry;
  for (const std::string_view name : registry.Names()) {
    for (const PolicyKey& key : registry.Find(name)->keys) {
      if (key.type != PolicyValueType::kInt && key.type != PolicyValueType::kNumber) continue;
      EXPECT_GE(std::stod(key.example), key.min) << name << ": " << key.path;
      EXPECT_LE(std::stod(key.example), key.max) << name << ": " << key.path;
    }
  }
}

TEST(PolicyTest, EscalatorAsksForSixNodesMoreAtTwoHundredAndFiftyPercent) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  for (size_t i = 0; i < 10; ++i) AddPod(pool, i % 2, {.cpu_milli = 500, .memory_bytes = kGib});
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 6);
  EXPECT_EQ(decision.direction, PolicyDirection::kUp);
  EXPECT_EQ(decision.reason, "up");
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "utilization percent"), "250");
}

TEST(PolicyTest, EscalatorIsLockedAfterItGrew) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  for (size_t i = 0; i < 10; ++i) AddPod(pool, i % 2, {.cpu_milli = 500, .memory_bytes = kGib});
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  std::string state;
  ASSERT_EQ(policy->Decide(pool, kNow, &state).delta, 6);
  const PolicyDecision locked = policy->Decide(pool, kNow + 599, &state);
  EXPECT_EQ(locked.delta, 0);
  EXPECT_EQ(locked.denied_by, "scale_up_cool_down_period");
  EXPECT_EQ(policy->Decide(pool, kNow + 601, &state).delta, 6);
}

TEST(PolicyTest, EscalatorLetsTheOldestNodeGoFirst) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -2);
  ASSERT_EQ(decision.candidates->size(), 4u);
  EXPECT_EQ(decision.candidates->front(), "node-3");
}

TEST(PolicyTest, ClustermanScalesAHundredCpusToAHundredAndTwenty) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  pool.signals["cpus"] = {.value = 96, .at_s = kNow - 10};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscaling.setpoint", 0.8);
  settings.Set("scaling_limits.max_capacity", int64_t{1000});
  settings.Set("autoscale_signal.internal", false);
  const std::unique_ptr<Policy> policy = Make("clusterman", settings);
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 20);
  EXPECT_EQ(decision.reason, "scaled to the setpoint");
  EXPECT_EQ(Figure(decision, "target"), "120");
  EXPECT_EQ(Figure(decision, "limited by"), "(absent)");
  settings.Set("scaling_limits.max_weight_to_add", int64_t{5});
  const PolicyDecision limited = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(limited.delta, 5);
  EXPECT_NE(Figure(limited, "limited by"), "");
}

TEST(PolicyTest, ClustermanTakesAwayOnlyNodesThatMayBeKilled) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  for (size_t i = 0; i < 8; ++i) AddPod(pool, i, {.cpu_milli = 100, .memory_bytes = kGib});
  std::string state;
  const PolicyDecision two = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(two.delta, -2) << "the target is lower, but max_tasks_to_kill is 0";
  EXPECT_EQ(two.candidates->size(), 2u);
  for (size_t i = 8; i < 10; ++i) AddPod(pool, i, {.cpu_milli = 100, .memory_bytes = kGib});
  const PolicyDecision none = policy->Decide(pool, kNow + 600, &state);
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kDown);
  EXPECT_EQ(none.denied_by, "no node may be killed");
}

TEST(PolicyTest, ClustermanDoesNotActOnASignalOlderThanItsPeriod) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  pool.signals["cpus"] = {.value = 96, .at_s = kNow - 601};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_NE(decision.denied_by, "");
}

TEST(PolicyTest, SignalsThatAreNoNumberMoveNothing) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
    pool.signals["cpus"] = pool.signals["rooms_occupied"] = {.value = value};
    PolicySettings clusterman = Sample("clusterman");
    clusterman.Set("autoscale_signal.internal", false);
    std::string state;
    EXPECT_EQ(Make("clusterman", clusterman)->Decide(pool, kNow, &state).delta, 0) << value;
    state.clear();
    const PolicyDecision maestro = Make("maestro", Sample("maestro"))->Decide(pool, kNow, &state);
    EXPECT_EQ(maestro.delta, 0) << value;
    EXPECT_EQ(maestro.denied_by, "invalid_counts");
  }
}

TEST(PolicyTest, ReplicatorGrowsAtTheThirdRequest) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = 900, .memory_bytes = 1});
  const std::unique_ptr<Policy> policy = Make("replicator", Sample("replicator"));
  std::string state;
  for (int round = 1; round <= 2; ++round) {
    const PolicyDecision decision = policy->Decide(pool, kNow + round, &state);
    EXPECT_EQ(decision.delta, 0);
    EXPECT_EQ(decision.denied_by, "ScalingThreshold");
  }
  const PolicyDecision third = policy->Decide(pool, kNow + 3, &state);
  EXPECT_EQ(third.delta, 1);
  EXPECT_EQ(third.reason, "ScaleOut");
}

TEST(PolicyTest, ReplicatorIsInFailsafeAfterThreeFailuresUntilAnOperatorEndsIt) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = 900, .memory_bytes = 1});
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_scaling_threshold", int64_t{1});
  std::string state;
  for (int failure = 1; failure <= 3; ++failure) {
    const std::unique_ptr<Policy> policy = Make("replicator", settings);  // A restart.
    ASSERT_EQ(policy->Decide(pool, kNow + failure, &state).delta, 1);
    policy->Ended(false, kNow + failure, &state);
  }
  const std::unique_ptr<Policy> policy = Make("replicator", settings);
  EXPECT_EQ(policy->Decide(pool, kNow + 4, &state).delta, 0);
  EXPECT_TRUE(policy->InFailsafe(state));
  EXPECT_EQ(policy->Decide(pool, kNow + 100'000, &state).denied_by, "Failsafe");
  EXPECT_TRUE(policy->SetFailsafe(false, &state));
  EXPECT_FALSE(policy->InFailsafe(state));
  EXPECT_EQ(policy->Decide(pool, kNow + 100'001, &state).delta, 1);
}

PolicySettings MaestroSettings() {
  PolicySettings settings = Sample("maestro");
  settings.SetCount("up.metricsTrigger", 1);
  settings.Set("up.metricsTrigger[0].type", "room");
  settings.Set("up.metricsTrigger[0].usage", int64_t{50});
  settings.Set("up.metricsTrigger[0].limit", int64_t{1000});
  settings.Set("up.cooldown", int64_t{60});
  return settings;
}

TEST(PolicyTest, MaestroTurnsRoomsIntoNodes) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms asked for"), "50");  // (75 * 100 - 50 * 100) / 50.
  EXPECT_EQ(decision.delta, 5);
  EXPECT_EQ(decision.reason, "trigger");
}

TEST(PolicyTest, MaestroTellsOfATriggerItsLimitOrItsPoints) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const auto told = [&](int64_t limit) {
    PolicySettings settings = MaestroSettings();
    settings.Set("up.metricsTrigger[0].limit", limit);
    std::string state;
    return Figure(Make("maestro", settings)->Decide(pool, kNow, &state),
                  "up.metricsTrigger[0] room");
  };
  EXPECT_EQ(told(60), "utilization 0.75, limit hit, delta 50");
  EXPECT_EQ(told(1000), "utilization 0.75, 1 of 1 points beyond, window 0, matches, delta 50");
}

// A pool of nodes of 8 rooms, and 20 rooms at most.
PolicySettings MaestroOfEight() {
  PolicySettings settings = MaestroSettings();
  settings.Set("roomsPerNode", int64_t{8});
  settings.Set("min", int64_t{8});
  settings.Set("max", int64_t{20});
  settings.SetCount("down.metricsTrigger", 1);
  settings.Set("down.metricsTrigger[0].type", "room");
  settings.Set("down.metricsTrigger[0].usage", int64_t{40});
  return settings;
}

TEST(PolicyTest, MaestroGrowsByNoNodeWhoseRoomsWouldExceedMax) {
  const auto policy = Make("maestro", MaestroOfEight());
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 8};
  std::string state;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).delta, 1);  // 16 rooms; with two it were 24.
  pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 16};
  state.clear();
  const PolicyDecision full = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(full.delta, 0);
  EXPECT_EQ(full.denied_by, "max");
}

TEST(PolicyTest, MaestroTriesItsTriggersWhereTheRoomsAboveMaxFillNoNode) {
  const auto policy = Make("maestro", MaestroOfEight());
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 12};
  pool.signals["rooms_ready"] = {.value = 12};
  std::string state;
  const PolicyDecision half = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(half.delta, 0);
  EXPECT_EQ(half.reason, "none");
  EXPECT_EQ(half.denied_by, "");
  EXPECT_EQ(Figure(half, "rooms above max that fill no node"), "4");
  // Room for it, and the down trigger takes a node.
  pool.signals["rooms_occupied"] = {.value = 2};
  pool.signals["rooms_ready"] = {.value = 22};
  state.clear();
  const PolicyDecision idle = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(idle.reason, "trigger");
  EXPECT_EQ(idle.delta, -2);
  // A whole node of rooms above max goes whatever triggers say.
  pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 20};
  pool.signals["rooms_ready"] = {.value = 12};
  state.clear();
  const PolicyDecision above = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(above.reason, "above_max");
  EXPECT_EQ(above.delta, -1);
}

TEST(PolicyTest, EachSchoolHasThePeriodOfItsProgram) {
  const auto period = [](std::string_view school, const PolicySettings& settings) {
    return PolicyRegistry().Find(school)->period_s(settings);
  };
  EXPECT_EQ(period("clusterman", {}), 600);
  EXPECT_EQ(period("escalator", {}), 60);
  EXPECT_EQ(period("maestro", {}), 10);
  EXPECT_EQ(period("replicator", {}), 10);
  PolicySettings settings;
  settings.Set("autoscale_signal.period_minutes", int64_t{3});
  settings.Set("autoScalingPeriod", int64_t{30});
  EXPECT_EQ(period("clusterman", settings), 180);
  EXPECT_EQ(period("maestro", settings), 30);
}

TEST(PolicyTest, MaestroGrowsForPodsThatWait) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{2});
  settings.Set("min", int64_t{0});
  const auto policy = Make("maestro", settings);
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  AddPod(pool, 0, {.cpu_milli = 100});
  AddPod(pool, 0, {.cpu_milli = 100});
  pool.pending = std::vector<PolicyPod>(4, pool.nodes[0].pods[0]);
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms occupied"), "6");
  EXPECT_GT(decision.delta, 0);
}

TEST(PolicyTest, MaestroSeesMachinesThatBootAndNodesThatLeave) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{5});
  const auto policy = Make("maestro", settings);
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.nodes[0].is_leaving = true;
  pool.cloud->desired = 5;
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms creating"), "10");
  EXPECT_EQ(Figure(decision, "rooms ready"), "10");
}

TEST(PolicyTest, NodesThatLeaveAreNoCandidatesOfAnySchool) {
  for (const std::string& school : PolicyRegistry().Names()) {
    const auto policy = Make(school, Sample(school));
    PolicyObservation pool = Pool(6, {.cpu_milli = 1000, .memory_bytes = kGib});
    pool.nodes[2].is_leaving = true;
    std::string state;
    const PolicyDecision decision = policy->Decide(pool, kNow, &state);
    if (!decision.candidates) continue;
    EXPECT_EQ(std::ranges::count(*decision.candidates, "node-2"), 0) << school;
    EXPECT_EQ(decision.candidates->size(), 5u) << school;
  }
}

TEST(PolicyTest, MaestroCoolsDownOnlyAfterWhatSucceeded) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  ASSERT_EQ(policy->Decide(pool, kNow, &state).delta, 5);
  policy->Ended(false, kNow + 1, &state);
  ASSERT_EQ(policy->Decide(pool, kNow + 10, &state).delta, 5);
  policy->Ended(true, kNow + 11, &state);
  EXPECT_EQ(policy->Decide(pool, kNow + 20, &state).denied_by, "cooldown");
}

TEST(PolicyTest, EscalatorTakesNoLockForGrowthThatWasRefused) {
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t node : {0u, 1u}) AddPod(pool, node, {.cpu_milli = 900, .memory_bytes = kGib / 2});
  std::string state;
  ASSERT_GT(policy->Decide(pool, kNow, &state).delta, 0);
  policy->Ended(false, kNow, &state);
  ASSERT_GT(policy->Decide(pool, kNow + 60, &state).delta, 0);
  policy->Ended(true, kNow + 60, &state);
  EXPECT_EQ(policy->Decide(pool, kNow + 120, &state).denied_by, "scale_up_cool_down_period");
}

TEST(PolicyTest, AStateOfAnotherPolicyIsLeftAsItIsAndNothingIsDone) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (const std::string& name : PolicyRegistry().Names()) {
    for (const std::string wrong : {"nonsense", "7 other/1 ", "12 escalator/3 0 "}) {
      std::string state = wrong;
      const PolicyDecision decision = Make(name, Sample(name))->Decide(pool, kNow, &state);
      EXPECT_EQ(decision.denied_by, "state") << name;
      EXPECT_EQ(decision.delta, 0);
      EXPECT_EQ(state, wrong);
    }
  }
}

// The same rounds with a policy that lives on and with one that is made anew before each.
TEST(PolicyTest, ARestartBetweenRoundsChangesNothing) {
  for (const std::string& name : PolicyRegistry().Names()) {
    std::mt19937 random(7);
    const PolicySettings settings = name == "maestro" ? MaestroSettings() : Sample(name);
    const std::unique_ptr<Policy> lives = Make(name, settings);
    std::string state;
    std::string restarted_state;
    int64_t now_s = kNow;
    for (int round = 0; round < 100; ++round) {
      PolicyObservation pool = Pool(random() % 6, {.cpu_milli = 1000, .memory_bytes = kGib});
      for (size_t i = 0; i < pool.nodes.size(); ++i) {
        const auto cpu = static_cast<int64_t>(random() % 1200);
        AddPod(pool, i, {.cpu_milli = cpu, .memory_bytes = kGib / 8});
      }
      now_s += static_cast<int64_t>(random() % 400);
      const bool succeeds = random() % 3 != 0;
      const std::unique_ptr<Policy> restarted = Make(name, settings);
      const PolicyDecision one = lives->Decide(pool, now_s, &state);
      const PolicyDecision other = restarted->Decide(pool, now_s, &restarted_state);
      ASSERT_EQ(one, other) << name << " round " << round;
      if (one.delta != 0) {
        lives->Ended(succeeds, now_s, &state);
        restarted->Ended(succeeds, now_s, &restarted_state);
      }
      ASSERT_EQ(state, restarted_state) << name << " round " << round;
    }
  }
}

TEST(PolicyTest, SettingsThatMakeNoPolicyAreToldWithTheirKey) {
  PolicySettings settings = Sample("escalator");
  settings.Set("soft_delete_grace_period", "soon");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalator", settings, &problems), nullptr);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].path, "soft_delete_grace_period");
}

TEST(PolicyTest, ReplicatorKnowsOneProvider) {
  for (const char* provider : {"gcp", "aaa", "azure", ""}) {
    PolicySettings settings = Sample("replicator");
    settings.Set("replicator_provider", std::string(provider));
    std::vector<PolicyProblem> problems;
    EXPECT_EQ(PolicyRegistry().Make("replicator", settings, &problems), nullptr) << provider;
    EXPECT_FALSE(problems.empty()) << provider;
  }
}

TEST(PolicyTest, AnUnknownPolicyIsToldWithTheNearestOne) {
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalatr", {}, &problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].what, "no policy has the name \"escalatr\"; did you mean escalator?");
}

// A policy of one's own: a class, its keys, and how it is made.
class FixedPolicy final : public Policy {
 public:
  explicit FixedPolicy(int64_t nodes) : nodes_(nodes) {}
  PolicyDecision Decide(const PolicyObservation& observation, int64_t /*now_s*/,
                        std::string* state) const override {
    int64_t rounds = 0;
    if (!ReadStateText("fixed/1", *state, &rounds)) return Denied("state", "state_unreadable");
    *state = StateText("fixed/1", rounds + 1);
    PolicyDecision decision;
    decision.delta = nodes_ - std::ssize(observation.nodes);
    decision.reason = "fixed";
    decision.figures = {{"nodes wanted", std::to_string(nodes_)},
                        {"round", std::to_string(rounds + 1)}};
    return decision;
  }
  void Ended(bool /*succeeded*/, int64_t /*now_s*/, std::string* /*state*/) const override {}

 private:
  int64_t nodes_;
};

PolicySchool FixedSchool() {
  return {.name = "fixed",
          .summary = "Keeps one number of nodes",
          .keys = {{"nodes", PolicyValueType::kInt, "How many", "3", true, 0}},
          .make = [](const PolicySettings& settings, std::vector<PolicyProblem>*) {
            int64_t nodes = 0;
            settings.Read("nodes", nodes);
            return std::make_unique<FixedPolicy>(nodes);
          }};
}

TEST(PolicyTest, APolicyOfOnesOwnIsAddedUnderItsName) {
  PolicyRegistry registry;
  ASSERT_TRUE(registry.Add(FixedSchool()));
  EXPECT_FALSE(registry.Add(FixedSchool())) << "the name is taken";
  std::vector<PolicyProblem> problems;
  const std::unique_ptr<Policy> policy = registry.Make("fixed", Sample(FixedSchool()), &problems);
  ASSERT_NE(policy, nullptr);
  std::string state;
  EXPECT_EQ(policy->Decide(Pool(1, {}), kNow, &state).delta, 2);
  const PolicyDecision second = policy->Decide(Pool(5, {}), kNow, &state);
  EXPECT_EQ(second.delta, -2);
  EXPECT_EQ(Figure(second, "round"), "2");
  EXPECT_FALSE(policy->InFailsafe(state));
}

struct Everything {
  bool yes = true;
  float third = 1.0f / 3;
  double none = std::numeric_limits<double>::quiet_NaN();
  double endless = -std::numeric_limits<double>::infinity();
  std::string text = "with blanks 12 and \n lines";
  std::optional<int64_t> absent{};
  std::vector<std::string> texts{"", "a b"};
};

template <typename A>
void Fields(A& a, Everything& e) {
  a(e.yes, e.third, e.none, e.endless, e.text, e.absent, e.texts);
}

TEST(StateTextTest, EveryFieldComesBackExactly) {
  const std::string text = StateText("e/1", Everything{});
  Everything read{.yes = false, .third = 0, .text = "", .absent = 3, .texts = {}};
  ASSERT_TRUE(ReadStateText("e/1", text, &read));
  EXPECT_TRUE(read.yes);
  EXPECT_EQ(read.third, 1.0f / 3);
  EXPECT_NE(read.none, read.none);
  EXPECT_EQ(read.endless, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.text, Everything().text);
  EXPECT_EQ(read.absent, std::nullopt);
  EXPECT_EQ(read.texts, Everything().texts);
}

TEST(StateTextTest, WhatIsCutOffOrLongerIsRefused) {
  const std::string text = StateText("e/1", Everything{});
  Everything read;
  for (size_t size = 1; size < text.size(); ++size) {
    EXPECT_FALSE(ReadStateText("e/1", text.substr(0, size), &read)) << size;
  }
  EXPECT_FALSE(ReadStateText("e/1", text + " ", &read));
  EXPECT_FALSE(ReadStateText("e/2", text, &read));
}

}  // namespace
}  // namespace ebb::policy_test
