// The four schools and a policy of one's own, behind one interface.

#include "engine/policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/policy/policy_registry.h"
#include "engine/policy/policy_schools.h"
#include "engine/policy/state_text.h"

namespace ebb::policy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

void AddPending(PolicyObservation& pool, PolicyResources requests) {
  PolicyObservation other = Pool(1, {});
  AddPod(other, 0, requests);
  pool.pending.push_back(other.nodes[0].pods[0]);
  pool.pending.back().is_running = false;
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

// ---------------------------------------------------------------- what Replicator sees and reads

TEST(PolicyTest, ReplicatorKeepsRoomForScaledJobsThatRunAndTellsWhatItComputed) {
  const PolicyResources each = {.cpu_milli = 1000, .memory_bytes = 1000, .disk_bytes = 1000};
  PolicyObservation pool = Pool(4, each);
  for (size_t i = 0; i < 4; ++i) {
    AddPod(pool, i, {.cpu_milli = 300, .memory_bytes = 100, .disk_bytes = 50});
  }
  AddPod(pool, 0, {.cpu_milli = 500});
  pool.nodes[0].pods.back().owner = "shop/ReplicaSet/batch";
  pool.nodes[0].pods.back().is_running = false;
  AddPod(pool, 3, {.cpu_milli = 40, .memory_bytes = 40, .disk_bytes = 40});
  pool.nodes[3].pods.back().name = "shop/lone";
  pool.nodes[3].pods.back().owner = "";
  PolicySettings settings = Sample("replicator");
  settings.SetCount("scaled_jobs", 4);
  settings.Set("scaled_jobs[0]", "shop/ReplicaSet/web");
  settings.Set("scaled_jobs[1]", "shop/ReplicaSet/batch");
  settings.Set("scaled_jobs[2]", "shop/ReplicaSet/gone");
  settings.Set("scaled_jobs[3]", "shop/lone");
  std::string state;
  const PolicyDecision decision = Make("replicator", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.direction, PolicyDirection::kDown);
  EXPECT_EQ(Figure(decision, "nodes"), "4");
  EXPECT_EQ(Figure(decision, "total"), "cpu 4000, memory 4000, disk 4000");
  EXPECT_EQ(Figure(decision, "used"), "cpu 1240, memory 440, disk 240");
  EXPECT_EQ(Figure(decision, "reserve"), "cpu 340, memory 140, disk 90");
  EXPECT_EQ(Figure(decision, "used percent"), "cpu 31, memory 11, disk 6");
  EXPECT_EQ(Figure(decision, "metric that leads"), "CPU");
  EXPECT_EQ(Figure(decision, "average of a node"), "1000");
  EXPECT_EQ(Figure(decision, "consumed"), "1240");
  EXPECT_EQ(Figure(decision, "allowed"), "2660");
  EXPECT_EQ(Figure(decision, "allowed with a node less"), "1660");
  EXPECT_EQ(Figure(decision, "direction"), "In");
  EXPECT_EQ(Figure(decision, "rounds in a row that ask"), "1");
  EXPECT_EQ(Figure(decision, "desired count"), "4");
}

TEST(PolicyTest, ReplicatorLetsTheLeastUsedNodeGoFirstAndNeverTheProtectedOne) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  const int64_t used[] = {100, 400, 200, 300};
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = used[i], .memory_bytes = 1});
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_scaling_threshold", int64_t{1});
  settings.Set("protected_node", "node-0");
  std::string state;
  const PolicyDecision decision = Make("replicator", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -1);
  EXPECT_EQ(decision.reason, "ScaleIn");
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "desired count"), "3");
  EXPECT_THAT(*decision.candidates, ElementsAre("node-2", "node-3", "node-1"));
}

// A round of Replicator on four nodes, each with so much of 1000m used, at the first request.
PolicyDecision ReplicatorAt(int64_t used, PolicySettings settings) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = used, .memory_bytes = 1});
  settings.Set("replicator_scaling_threshold", int64_t{1});
  std::string state;
  return Make("replicator", settings)->Decide(pool, kNow, &state);
}

TEST(PolicyTest, ReplicatorHeedsItsBoundsItsFactorAndItsFaultTolerance) {
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_scale_factor", int64_t{3});
  EXPECT_EQ(ReplicatorAt(900, settings).delta, 3);
  EXPECT_EQ(ReplicatorAt(900, settings).direction, PolicyDirection::kUp);
  settings.Set("replicator_max", int64_t{6});
  EXPECT_EQ(ReplicatorAt(900, settings).delta, 2);
  settings.Set("replicator_max", int64_t{4});
  EXPECT_EQ(ReplicatorAt(900, settings).denied_by, "PoolMax");
  EXPECT_EQ(Figure(ReplicatorAt(900, settings), "denies"), "PoolMax");
  settings.Set("replicator_min", int64_t{3});
  EXPECT_EQ(ReplicatorAt(100, settings).delta, -1);
  settings.Set("replicator_min", int64_t{4});
  EXPECT_EQ(ReplicatorAt(100, settings).denied_by, "PoolMin");
  settings.Set("replicator_node_fault_tolerance", int64_t{0});
  const PolicyDecision without_reserve = ReplicatorAt(900, settings);
  EXPECT_EQ(Figure(without_reserve, "allowed"), "4000");
  EXPECT_EQ(without_reserve.denied_by, "Simulation");
}

TEST(PolicyTest, ReplicatorThatIsNotEnabledDecidesNothing) {
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_enabled", false);
  const PolicyDecision decision = ReplicatorAt(900, settings);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.denied_by, "replicator_enabled");
  EXPECT_EQ(decision.reason, "not_enabled");
}

TEST(PolicyTest, ReplicatorReadsBothSpellingsOfTheCooldownAndItsOwnCountsMore) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = 900, .memory_bytes = 1});
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_scaling_threshold", int64_t{1});
  const auto denied_after = [&](int64_t seconds) {
    const std::unique_ptr<Policy> policy = Make("replicator", settings);
    std::string state;
    EXPECT_EQ(policy->Decide(pool, kNow, &state).delta, 1);
    policy->Ended(true, kNow, &state);
    return policy->Decide(pool, kNow + seconds, &state).denied_by;
  };
  EXPECT_EQ(denied_after(299), "Cooldown");
  EXPECT_EQ(denied_after(300), "");
  settings.Set("replicator_cool_down", int64_t{100});
  EXPECT_EQ(denied_after(99), "Cooldown");
  EXPECT_EQ(denied_after(100), "");
  settings.Set("replicator_cooldown", int64_t{50});
  EXPECT_EQ(denied_after(49), "Cooldown");
  EXPECT_EQ(denied_after(50), "");
}

TEST(PolicyTest, ReplicatorWarnsWhenItEntersFailsafeAtItsRetryThreshold) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_retry_threshold", int64_t{1});
  const std::unique_ptr<Policy> policy = Make("replicator", settings);
  std::string state;
  policy->Ended(false, kNow, &state);
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.denied_by, "FailsafeEntered");
  EXPECT_THAT(decision.warnings,
              ElementsAre("pool web is in failsafe: no action until an operator ends it"));
}

// ---------------------------------------------------------------- what Escalator sees and reads

TEST(PolicyTest, EscalatorCountsPodsOfItsGroupWithAllThatTheyAskFor) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 4000, .memory_bytes = 4000});
  AddPod(pool, 0, {.cpu_milli = 500, .memory_bytes = 100});
  PolicyPod& large = pool.nodes[0].pods.back();
  large.overhead = {.cpu_milli = 50, .memory_bytes = 10};
  large.containers.push_back({.is_init = true, .cpu_milli = 800, .memory_bytes = 50});
  AddPod(pool, 0, {.cpu_milli = 100, .memory_bytes = 10});
  pool.nodes[0].pods.back().is_daemonset = true;
  for (const bool is_in : {true, false}) {
    AddPod(pool, 1, {.cpu_milli = 200, .memory_bytes = 20});
    pool.nodes[1].pods.back().node_selector.clear();
    pool.nodes[1].pods.back().affinity = {{.key = "pool", .is_in = is_in, .values = {"web"}}};
  }
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "pods"), "2");
  EXPECT_EQ(Figure(decision, "requested cpu (milli)"), "1050");  // 800 + 50 + 200.
  EXPECT_EQ(Figure(decision, "requested memory (bytes)"), "130");
  EXPECT_EQ(Figure(decision, "capacity cpu (milli)"), "8000");
  EXPECT_EQ(Figure(decision, "capacity memory (bytes)"), "8000");
  EXPECT_EQ(Figure(decision, "rule"), "fast");
  EXPECT_EQ(Figure(decision, "delta of the rule"), "-2");
}

TEST(PolicyTest, EscalatorsDefaultGroupHasPodsThatAskForNoNode) {
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (int i = 0; i < 4; ++i) AddPod(pool, 0, {.cpu_milli = 10, .memory_bytes = 10});
  std::vector<PolicyPod>& pods = pool.nodes[0].pods;
  for (size_t i = 0; i < 3; ++i) pods[i].node_selector.clear();  // The fourth asks for one.
  pods[1].annotations["kubernetes.io/config.source"] = "file";
  pods[2].has_affinity = true;
  PolicySettings settings = Sample("escalator");
  settings.Set("name", "default");
  std::string state;
  EXPECT_EQ(Figure(Make("escalator", settings)->Decide(pool, kNow, &state), "pods"), "1");
}

TEST(PolicyTest, EscalatorSortsNodesByTheirTaintsAndThoseThatLeaveAreTainted) {
  PolicyObservation pool = Pool(5, {.cpu_milli = 1000, .memory_bytes = 1000});
  pool.nodes[0].taints["atlassian.com/escalator"] = std::to_string(kNow);
  pool.nodes[1].taints["atlassian.com/escalator-force"] = "";
  pool.nodes[2].is_cordoned = true;
  pool.nodes[3].is_leaving = true;
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "nodes"), "5");
  EXPECT_EQ(Figure(decision, "untainted nodes"), "1");
  EXPECT_EQ(Figure(decision, "tainted nodes"), "2");
  EXPECT_EQ(Figure(decision, "cordoned nodes"), "1");
  EXPECT_THAT(*decision.candidates, ElementsAre("node-1", "node-0", "node-4"));
}

TEST(PolicyTest, EscalatorSaysWhatKeptItFromActing) {
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = 1000});
  std::string state;
  const PolicyDecision at_min = Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(at_min.delta, 0);
  EXPECT_EQ(at_min.direction, PolicyDirection::kDown);
  EXPECT_EQ(at_min.denied_by, "min_nodes");
  EXPECT_EQ(Figure(at_min, "bounded or forced by"), "min_nodes");

  pool.cloud->max = 1;
  AddPod(pool, 0, {.cpu_milli = 900, .memory_bytes = 10});
  const PolicyDecision at_max =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(at_max.delta, 0);
  EXPECT_EQ(at_max.direction, PolicyDirection::kUp);
  EXPECT_EQ(at_max.denied_by, "cloud_max");

  PolicySettings settings = Sample("escalator");
  settings.Set("dry_mode", true);
  pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 1000});
  const PolicyDecision dry = Make("escalator", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(dry.delta, 0);
  EXPECT_EQ(dry.direction, PolicyDirection::kDown);
  EXPECT_EQ(dry.denied_by, "dry_mode");
}

TEST(PolicyTest, EscalatorGrowsForAPodThatFitsOnNoNodeOnlyIfAsked) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  AddPending(pool, {.cpu_milli = 1100, .memory_bytes = 10});  // 55 percent.
  PolicySettings settings = Sample("escalator");
  std::string state;
  const PolicyDecision unasked = Make("escalator", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(unasked.delta, 0);
  EXPECT_EQ(unasked.reason, "none");
  EXPECT_EQ(unasked.denied_by, "");
  EXPECT_EQ(unasked.direction, PolicyDirection::kStay);
  settings.Set("scale_on_starve", true);
  const PolicyDecision asked = Make("escalator", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(asked.delta, 1);
  EXPECT_EQ(Figure(asked, "bounded or forced by"), "starve");
}

TEST(PolicyTest, EscalatorReplacesANodeOlderThanItsMaximumAge) {
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = 1000});
  AddPod(pool, 0, {.cpu_milli = 550, .memory_bytes = 10});  // Created 10,000 seconds ago.
  PolicySettings settings = Sample("escalator");
  settings.Set("max_node_age", "3h");
  std::string state;
  EXPECT_EQ(Make("escalator", settings)->Decide(pool, kNow, &state).delta, 0);
  settings.Set("max_node_age", "1h");
  const PolicyDecision old = Make("escalator", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(old.delta, 1);
  EXPECT_EQ(Figure(old, "bounded or forced by"), "max_age");
}

TEST(PolicyTest, EscalatorDoesNotScaleWhileTooManyNodesAreUnhealthy) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t node : {0u, 1u}) AddPod(pool, node, {.cpu_milli = 900, .memory_bytes = 10});
  pool.nodes[0].ready = false;
  PolicySettings settings = Sample("escalator");
  settings.Set("unhealthy_node_grace_period", "1m");
  settings.Set("health_check_newest_nodes_percent", int64_t{100});
  settings.Set("max_unhealthy_nodes_percent", int64_t{50});
  std::string state;
  EXPECT_EQ(Make("escalator", settings)->Decide(pool, kNow, &state).delta, 1);
  settings.Set("max_unhealthy_nodes_percent", int64_t{49});
  const PolicyDecision stopped = Make("escalator", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(stopped.delta, 0);
  EXPECT_EQ(Figure(stopped, "bounded or forced by"), "unhealthy");
}

TEST(PolicyTest, EscalatorWarnsOfUnlikeNodesPodsWithoutRequestsAndErrors) {
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = 1000});
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{5});
  std::string state;
  const PolicyDecision few = Make("escalator", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(few.delta, 0);
  EXPECT_EQ(few.denied_by, "below_total_min");
  EXPECT_THAT(few.warnings, ElementsAre("node count less than the minimum"));

  pool.nodes[2].allocatable.cpu_milli = 2000;
  AddPod(pool, 0, {.cpu_milli = 10});
  pool.nodes[0].pods[0].containers[0].memory_bytes.reset();
  EXPECT_THAT(Make("escalator", Sample("escalator"))->Decide(pool, kNow, &(state = "")).warnings,
              ElementsAre("nodes are not as large as most: node-2",
                          "pods have a container without cpu or memory requests: shop/pod-0"));
}

TEST(PolicyTest, EscalatorGrowsFromZeroByTheSizeThatItRemembers) {
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{0});
  std::string state;
  Make("escalator", settings)
      ->Decide(Pool(1, {.cpu_milli = 4000, .memory_bytes = 8000}), kNow, &state);
  PolicyObservation empty = Pool(0, {});
  for (int i = 0; i < 2; ++i) AddPending(empty, {.cpu_milli = 5000, .memory_bytes = 500});
  const PolicyDecision decision = Make("escalator", settings)->Decide(empty, kNow + 60, &state);
  EXPECT_EQ(decision.delta, 4);  // 10000 / 4000 / 70 * 100 is 3.6.
  EXPECT_EQ(Figure(decision, "rule"), "from_zero");
  EXPECT_EQ(Figure(decision, "utilization"), "no nodes");
}

// ---------------------------------------------------------------- what Clusterman sees and reads

constexpr int64_t kGigabyte = 1'000'000'000;

TEST(PolicyTest, ClustermanCountsAPodThatWaitsAsItsMultiplierSays) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  const PolicyResources each = {.cpu_milli = 500, .memory_bytes = 50'000'000};
  for (size_t i = 0; i < 5; ++i) AddPod(pool, i, each);
  pool.nodes[0].pods[0].containers.push_back({.is_init = true, .cpu_milli = 900});
  for (int i = 0; i < 2; ++i) AddPending(pool, each);
  PolicySettings settings = Sample("clusterman");
  std::string state;
  const PolicyDecision twice = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(twice, "signal asks for cpus"), "4.5");
  settings.Set("autoscale_signal.parameters.pending_pods_multiplier", 3.0);
  const PolicyDecision thrice = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(Figure(thrice, "nodes"), "10");
  EXPECT_EQ(Figure(thrice, "total cpus"), "10");
  EXPECT_EQ(Figure(thrice, "total mem"), "10000");
  EXPECT_EQ(Figure(thrice, "allocated cpus"), "2.5");
  EXPECT_EQ(Figure(thrice, "allocated mem"), "250");
  EXPECT_EQ(Figure(thrice, "unschedulable pods"), "2");
  EXPECT_EQ(Figure(thrice, "signal asks for cpus"), "5.5");
  EXPECT_EQ(Figure(thrice, "signal asks for mem"), "550");
  EXPECT_EQ(Figure(thrice, "target before"), "10");
  EXPECT_EQ(Figure(thrice, "capacity that has joined"), "10");
  EXPECT_EQ(Figure(thrice, "most constrained"), "cpus");
  EXPECT_EQ(Figure(thrice, "its usage"), "0.55");
}

TEST(PolicyTest, ClustermanLooksAtNoExcludedResource) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  pool.signals["cpus"] = {.value = 9};
  pool.signals["mem"] = {.value = 7000};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  std::string state;
  const PolicyDecision both = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(both.delta, 3);  // 10 * 0.9 / 0.7 is 12.9.
  EXPECT_EQ(both.direction, PolicyDirection::kUp);
  settings.SetCount("autoscaling.excluded_resources", 1);
  settings.Set("autoscaling.excluded_resources[0]", "cpus");
  const PolicyDecision memory = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(memory.delta, 0);
  EXPECT_EQ(memory.reason, "within the margin");
  EXPECT_EQ(memory.denied_by, "");
  EXPECT_EQ(memory.direction, PolicyDirection::kStay);
  EXPECT_EQ(Figure(memory, "most constrained"), "mem");
  settings.Set("autoscaling.excluded_resources[0]", "ram");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("clusterman", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"autoscaling.excluded_resources",
                                                  "\"ram\" is not cpus, mem, disk or gpus"}));
}

TEST(PolicyTest, ClustermanTurnsWeightUnitsIntoWholeNodes) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  pool.signals["cpus"] = {.value = 9};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  settings.Set("node_weight", 4.0);
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "target before"), "40");
  EXPECT_EQ(Figure(decision, "capacity that has joined"), "40");
  EXPECT_EQ(decision.delta, 3);  // 40 * 0.9 / 0.7 is 51.4.
}

TEST(PolicyTest, ClustermansSignalIsAsOldAsItsOldestResource) {
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  const auto decide = [&](int64_t cpus_age_s, int64_t mem_age_s, double mem = 7) {
    PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
    pool.signals["cpus"] = {.value = 9, .at_s = kNow - cpus_age_s};
    pool.signals["mem"] = {.value = mem, .at_s = kNow - mem_age_s};
    std::string state;
    return Make("clusterman", settings)->Decide(pool, kNow, &state);
  };
  const std::string stale = "the signal is older than its period";
  EXPECT_EQ(decide(600, 600).delta, 3);
  EXPECT_EQ(decide(601, 0).denied_by, stale);
  EXPECT_EQ(decide(0, 601).denied_by, stale);
  settings.Set("autoscale_signal.period_minutes", int64_t{20});
  EXPECT_EQ(decide(601, 1200).delta, 3);
  const PolicyDecision below_zero = decide(0, 0, -1);
  EXPECT_EQ(below_zero.denied_by, "the signals failed");
  EXPECT_EQ(below_zero.reason, "the signals failed");
  EXPECT_THAT(below_zero.warnings, ElementsAre("the pool's signal failed"));
}

TEST(PolicyTest, ClustermanOrdersTheNodesThatMayGo) {
  PolicyObservation pool = Pool(6, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  const PolicyResources small = {.cpu_milli = 100, .memory_bytes = 1'000'000};
  for (const size_t node : {0u, 2u, 2u, 3u}) AddPod(pool, node, small);
  AddPod(pool, 5, {.cpu_milli = 400, .memory_bytes = 1'000'000});
  pool.nodes[0].pods[0].annotations["clusterman.com/safe_to_evict"] = "false";
  pool.nodes[1].is_cordoned = true;
  pool.nodes[3].taints["clusterman.yelp.com/terminating"] = "";
  pool.nodes[4].created_s = kNow - 60;  // Empty, but not older than a minute.
  PolicySettings settings = Sample("clusterman");
  settings.Set("scaling_limits.max_tasks_to_kill", 3.0);
  settings.Set("scaling_limits.min_node_scalein_uptime_seconds", int64_t{60});
  const auto candidates = [&] {
    std::string state;
    return *Make("clusterman", settings)->Decide(pool, kNow, &state).candidates;
  };
  EXPECT_THAT(candidates(), ElementsAre("node-3", "node-5", "node-2", "node-4"));
  settings.Set("autoscaling.killable_nodes_prioritizing_v2", true);
  EXPECT_THAT(candidates(), ElementsAre("node-3", "node-2", "node-5", "node-4"));
  settings.Set("autoscaling.killable_nodes_prioritizing_v2", false);
  pool.nodes[5].pods[0].annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
  EXPECT_THAT(candidates(), ElementsAre("node-3", "node-2", "node-5", "node-4"));
  settings.Set("scaling_limits.max_tasks_to_kill", 2.0);
  EXPECT_THAT(candidates(), ElementsAre("node-3", "node-5", "node-4"));
}

TEST(PolicyTest, PodsOfDaemonSetsAreNoTasksOfClustermanOnlyIfItIsTold) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  for (size_t node : {0u, 1u}) AddPod(pool, node, {.cpu_milli = 100, .memory_bytes = 1});
  pool.nodes[1].pods[0].is_daemonset = true;
  PolicySettings settings = Sample("clusterman");
  std::string state;
  EXPECT_THAT(*Make("clusterman", settings)->Decide(pool, kNow, &state).candidates, IsEmpty());
  settings.Set("exclude_daemonset_pods", true);
  EXPECT_THAT(*Make("clusterman", settings)->Decide(pool, kNow, &(state = "")).candidates,
              ElementsAre("node-1"));
}

TEST(PolicyTest, ClustermanDoesNotShrinkAfterItLostMoreNodesThanItsThreshold) {
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscaling.prevent_scale_down_after_capacity_loss", true);
  const auto after_the_loss_of_three = [&] {
    const std::unique_ptr<Policy> policy = Make("clusterman", settings);
    std::string state;
    PolicyDecision decision;
    for (const size_t nodes : {10u, 7u}) {
      PolicyObservation pool = Pool(nodes, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
      AddPod(pool, 0, {.cpu_milli = 100, .memory_bytes = 1});
      decision = policy->Decide(pool, kNow, &state);
    }
    return decision;
  };
  settings.Set("autoscaling.instance_loss_threshold", int64_t{2});
  const PolicyDecision prevented = after_the_loss_of_three();
  EXPECT_EQ(prevented.delta, 0);
  EXPECT_EQ(prevented.denied_by, "prevent_scale_down_after_capacity_loss");
  EXPECT_EQ(prevented.direction, PolicyDirection::kDown);
  settings.Set("autoscaling.instance_loss_threshold", int64_t{3});
  EXPECT_EQ(after_the_loss_of_three().delta, -6);  // To min_capacity, 1.
}

TEST(PolicyTest, ClustermanSizesAnEmptyPoolByWhatItRemembers) {
  std::string state;
  Make("clusterman", Sample("clusterman"))
      ->Decide(Pool(2, {.cpu_milli = 4000, .memory_bytes = 8 * kGigabyte}), kNow, &state);
  PolicyObservation empty = Pool(0, {});
  for (int i = 0; i < 3; ++i) AddPending(empty, {.cpu_milli = 2000, .memory_bytes = 100'000'000});
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(empty, kNow + 600, &state);
  EXPECT_EQ(decision.reason, "empty pool, sized by its history");
  EXPECT_EQ(decision.delta, 5);  // 12 cpus of 4 a node, at 0.7: 4.3.
}

// ---------------------------------------------------------------- what Maestro sees and reads

// 75 of 100 rooms are occupied, on 10 nodes.
PolicyObservation MaestroPool() {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  return pool;
}

TEST(PolicyTest, MaestroReadsATriggerInBothSpellings) {
  for (const std::string at : {"up.trigger.", "up.metricsTrigger[0]."}) {
    const auto reason = [&](int64_t time, int64_t threshold, int64_t limit) {
      PolicySettings settings = Sample("maestro");
      if (at != "up.trigger.") {
        settings.SetCount("up.metricsTrigger", 1);
        settings.Set(at + "type", "room");
      }
      settings.Set(at + "usage", int64_t{50});
      settings.Set(at + "time", time);
      settings.Set(at + "threshold", threshold);
      settings.Set(at + "limit", limit);
      std::string state;
      const PolicyDecision decision =
          Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
      EXPECT_EQ(decision.delta, decision.reason == "none" ? 0 : 5);
      return decision.reason;
    };
    EXPECT_EQ(reason(0, 80, 1000), "trigger") << at;
    EXPECT_EQ(reason(10, 99, 1000), "trigger") << at;
    EXPECT_EQ(reason(10, 100, 1000), "none") << at;
    EXPECT_EQ(reason(600, 80, 76), "none") << at;
    EXPECT_EQ(reason(600, 80, 75), "limit") << at;
  }
}

// Whatever key it has: a section that is absent has 600 s of cooldown, one that is given none.
TEST(PolicyTest, MaestrosCooldownIsNoneInASectionThatIsGiven) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 85};
  pool.signals["rooms_ready"] = {.value = 15};
  const auto growths = [&](const std::vector<std::pair<std::string, int64_t>>& keys) {
    PolicySettings settings = Sample("maestro");
    for (const auto& [key, value] : keys) settings.Set(key, value);
    const std::unique_ptr<Policy> policy = Make("maestro", settings);
    std::string state;
    int growths = 0;
    for (int64_t now_s = kNow; now_s < kNow + 1200; now_s += 10) {
      if (policy->Decide(pool, now_s, &state).delta <= 0) continue;
      ++growths;
      policy->Ended(true, now_s, &state);
    }
    return growths;
  };
  const int without = growths({{"up.cooldown", 0}});
  EXPECT_GT(without, growths({{"up.cooldown", 600}}));
  EXPECT_GT(without, growths({}));
  EXPECT_EQ(growths({{"up.trigger.usage", 80}}), without);
  EXPECT_EQ(growths({{"up.trigger.time", 600}}), without);
  EXPECT_EQ(growths({{"up.trigger.threshold", 80}}), without);
  EXPECT_EQ(growths({{"up.trigger.limit", 90}}), without);
}

TEST(PolicyTest, MaestroAddsTheRoomsThatATriggerOfTypeLegacySays) {
  PolicySettings settings = MaestroSettings();
  settings.Set("up.metricsTrigger[0].type", "legacy");
  settings.Set("up.metricsTrigger[0].delta", int64_t{30});
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms asked for"), "30");
  EXPECT_EQ(decision.delta, 3);
}

TEST(PolicyTest, MaestroMeasuresCpuAndMemoryOfPodsWhoseUseIsKnown) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t i = 0; i < 10; ++i) {
    AddPod(pool, i % 2, {.cpu_milli = 100, .memory_bytes = 400});
    if (i == 0) continue;  // Not measured.
    pool.nodes[i % 2].pods.back().usage = {.cpu_milli = 80, .memory_bytes = 300};
  }
  AddPod(pool, 0, {.cpu_milli = 1, .memory_bytes = 1});
  pool.nodes[0].pods.back().is_daemonset = true;
  pool.nodes[0].pods.back().usage = {.cpu_milli = 100'000, .memory_bytes = 100'000};
  const auto decide = [&](const char* type) {
    PolicySettings settings = MaestroSettings();
    settings.Set("up.metricsTrigger[0].type", std::string(type));
    std::string state;
    return Make("maestro", settings)->Decide(pool, kNow, &state);
  };
  const PolicyDecision cpu = decide("cpu");
  EXPECT_EQ(Figure(cpu, "rooms occupied"), "10");
  EXPECT_EQ(Figure(cpu, "rooms ready"), "10");
  EXPECT_EQ(Figure(cpu, "rooms asked for"), "12");  // 20 * 0.8 / 0.5 - 20.
  EXPECT_EQ(cpu.delta, 2);
  const PolicyDecision memory = decide("mem");
  EXPECT_EQ(Figure(memory, "rooms asked for"), "10");
  EXPECT_EQ(memory.delta, 1);
}

TEST(PolicyTest, MaestroAddsNoMoreRoomsThanItsMostAndNoneWhileAPodWaits) {
  PolicySettings settings = MaestroSettings();
  settings.Set("maxScaleUpAmount", int64_t{20});
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_ready"] = {.value = 5};
  pool.signals["rooms_creating"] = {.value = 20};
  std::string state;
  const PolicyDecision most = Make("maestro", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(most.delta, 2);
  EXPECT_EQ(Figure(most, "rooms creating"), "20");
  EXPECT_EQ(Figure(most, "rooms asked for"), "50");
  EXPECT_EQ(Figure(most, "within bounds"), "20");
  EXPECT_EQ(Figure(most, "bounded by"), "max_scale_up_amount");
  AddPending(pool, {.cpu_milli = 1});
  const PolicyDecision none = Make("maestro", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kUp);
  EXPECT_EQ(none.denied_by, "pending_pods");
  EXPECT_EQ(Figure(none, "pending pods"), "1");
}

TEST(PolicyTest, MaestroShrinksByWholeNodesOfReadyRoomsAndThenCoolsDown) {
  PolicySettings settings = MaestroSettings();
  settings.SetCount("down.metricsTrigger", 1);
  settings.Set("down.metricsTrigger[0].type", "room");
  settings.Set("down.metricsTrigger[0].usage", int64_t{50});
  settings.Set("down.cooldown", int64_t{90});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = MaestroPool();
  std::string state;
  const auto decide = [&](double occupied, double ready, int64_t now_s) {
    pool.signals["rooms_occupied"] = {.value = occupied};
    pool.signals["rooms_ready"] = {.value = ready};
    pool.signals["rooms_creating"] = {.value = 100 - occupied - ready};
    return policy->Decide(pool, now_s, &state);
  };
  const PolicyDecision part = decide(48, 52, kNow);  // 4 rooms: not a node.
  EXPECT_EQ(part.delta, 0);
  EXPECT_EQ(part.direction, PolicyDirection::kDown);
  EXPECT_EQ(part.denied_by, "rooms_per_node");
  EXPECT_EQ(decide(40, 19, kNow).denied_by, "too_few_ready");
  ASSERT_EQ(decide(40, 20, kNow).delta, -2);
  policy->Ended(true, kNow + 5, &state);
  EXPECT_EQ(decide(40, 60, kNow + 90).denied_by, "cooldown");
  EXPECT_EQ(decide(40, 60, kNow + 91).delta, -2);
}

// ---------------------------------------------------------------- states as they are kept

TEST(PolicyTest, AKeptStateOfClustermanIsReadAndWrittenWithAllItsFields) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  // A pause until now, an offset, the number of nodes, and points of capacity and of memory.
  const std::string kept = "12 clusterman/1 1 1 1750000000 1 2.5 1 9 1 7 1 5 10 0 1 6 20.5 0 0 ";
  std::string state = kept;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "paused");
  EXPECT_EQ(state, kept);
  EXPECT_NE(policy->Decide(pool, kNow + 1, &state).denied_by, "paused");
}

TEST(PolicyTest, AnOffsetThatIsKeptIsAddedToClustermansTarget) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  pool.signals["cpus"] = {.value = 96};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscaling.setpoint", 0.8);
  settings.Set("scaling_limits.max_capacity", int64_t{1000});
  settings.Set("scaling_limits.max_weight_to_add", int64_t{50});
  settings.Set("autoscale_signal.internal", false);
  std::string state = "12 clusterman/1 0 1 3 0 0 0 0 0 0 0 ";
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "offset"), "3");
  EXPECT_EQ(decision.delta, 23);
}

TEST(PolicyTest, AKeptStateOfReplicatorIsReadAndWrittenWithAllItsFields) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  const std::unique_ptr<Policy> policy = Make("replicator", Sample("replicator"));
  // Requests, failures, failsafe; when an operation and a notice were; an operation that runs.
  const std::string rest = " 1 6 1 1 0 4 7 8 9 6 node-0 3 i-0 ";
  const std::string kept = "12 replicator/1 1 2 2 0 1 5" + rest;
  std::string state = kept;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "OperationRunning");
  EXPECT_EQ(state, kept);
  EXPECT_TRUE(policy->SetFailsafe(true, &state));
  EXPECT_EQ(state, "12 replicator/1 1 2 2 1 1 5" + rest);
  EXPECT_TRUE(policy->SetFailsafe(false, &state));
  EXPECT_EQ(state, "12 replicator/1 1 2 0 0 1 5" + rest);
  policy->Ended(false, 3, &state);
  EXPECT_EQ(state, "12 replicator/1 1 2 1 0 1 5" + rest);
  policy->Ended(true, 3, &state);
  EXPECT_EQ(state, "12 replicator/1 1 2 0 0 1 3000" + rest);
  state = "nonsense";
  EXPECT_FALSE(policy->SetFailsafe(true, &state));
  EXPECT_FALSE(policy->InFailsafe(state));
  policy->Ended(true, 3, &state);
  EXPECT_EQ(state, "nonsense");
}

TEST(PolicyTest, AFailureGivesEscalatorTheLockBackThatItHadBefore) {
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  // The lock; the size of a node, a taint, the last delta and growth; the lock before.
  const std::string rest = "4000 8000 1 6 node-0 3 1 1749990000 0 2 1 1749999000 ";
  const std::string kept = "11 escalator/2 1 3 1 1750000000 " + rest;
  std::string state = kept;
  policy->Ended(true, kNow, &state);
  EXPECT_EQ(state, kept);
  policy->Ended(false, kNow, &state);
  EXPECT_EQ(state, "11 escalator/2 0 2 1 1749999000 " + rest);
}

TEST(PolicyTest, ASuccessOfMaestroIsAsOldAsItsRoundAndEndsItsAction) {
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  // The status, the last success, the points of rooms, a panic's lock, and the action's round.
  const std::string kept = "9 maestro/1 0 5 1 4 room 1 0.5 1 8 1 7 ";
  std::string state = kept;
  policy->Ended(true, kNow, &state);
  EXPECT_EQ(state, "9 maestro/1 0 7 1 4 room 1 0.5 1 8 0 ");
  state = kept;
  policy->Ended(false, kNow, &state);
  EXPECT_EQ(state, "9 maestro/1 0 5 1 4 room 1 0.5 1 8 0 ");
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

TEST(PolicyTest, ASchoolWithoutANameOrAWayToMakeItIsNotAdded) {
  PolicyRegistry registry;
  PolicySchool nameless = FixedSchool();
  nameless.name.clear();
  EXPECT_FALSE(registry.Add(nameless));
  PolicySchool unmade = FixedSchool();
  unmade.make = nullptr;
  EXPECT_FALSE(registry.Add(unmade));
  EXPECT_THAT(registry.Names(), ElementsAre("clusterman", "escalator", "maestro", "replicator"));
  EXPECT_EQ(registry.Find("fixed"), nullptr);
}

TEST(PolicySettingsTest, AValueIsReadOnlyAsWhatItIs) {
  PolicySettings settings;
  settings.Set("three", int64_t{2});
  settings.Set("three", int64_t{3});
  settings.Set("half", 0.5);
  double number = 1;
  settings.Read("three", number);
  EXPECT_EQ(number, 3) << "a whole number is a number";
  settings.Read("absent", number);
  EXPECT_EQ(number, 3);
  settings.Read("half", number);
  EXPECT_EQ(number, 0.5);
  int64_t whole = 7;
  settings.Read("half", whole);
  EXPECT_EQ(whole, 7);
  std::string text = "as it was";
  settings.Read("three", text);
  EXPECT_EQ(text, "as it was");
  std::optional<int64_t> maybe;
  settings.Read("absent", maybe);
  EXPECT_EQ(maybe, std::nullopt);
  settings.Read("three", maybe);
  EXPECT_EQ(maybe, 3);
}

TEST(PolicySettingsTest, AListHasAsManyTextsAsItCounts) {
  PolicySettings settings;
  EXPECT_FALSE(settings.HasList("jobs"));
  EXPECT_EQ(settings.Count("jobs"), 0u);
  settings.SetCount("jobs", 2);
  settings.Set("jobs[0]", "a");
  settings.Set("jobs[1]", "b");
  EXPECT_TRUE(settings.HasList("jobs"));
  EXPECT_THAT(settings.Texts("jobs"), ElementsAre("a", "b"));
  EXPECT_EQ(KeyOf("up.metricsTrigger[12].usage"), "up.metricsTrigger[].usage");
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

// ---------------------------------------------------------------- names and keys

TEST(PolicyTest, DirectionsAndTypesHaveNames) {
  EXPECT_EQ(Name(PolicyDirection::kStay), "stay");
  EXPECT_EQ(Name(PolicyDirection::kUp), "up");
  EXPECT_EQ(Name(PolicyDirection::kDown), "down");
  EXPECT_EQ(Name(PolicyValueType::kBool), "bool");
  EXPECT_EQ(Name(PolicyValueType::kInt), "int");
  EXPECT_EQ(Name(PolicyValueType::kNumber), "number");
  EXPECT_EQ(Name(PolicyValueType::kText), "text");
}

TEST(PolicyTest, APolicyThatSaysNothingOfItHasNoFailsafeAndManyActionsAtATime) {
  const FixedPolicy policy(3);
  std::string state;
  EXPECT_FALSE(policy.SetFailsafe(true, &state));
  EXPECT_EQ(state, "");
  EXPECT_FALSE(policy.InFailsafe(state));
  EXPECT_FALSE(policy.OneActionAtATime());
  for (const std::string& school : PolicyRegistry().Names()) {
    EXPECT_EQ(Make(school, Sample(school))->OneActionAtATime(), school == "replicator") << school;
  }
}

TEST(PolicyTest, AnUnknownPolicyLikeNoOtherIsToldWithoutAnotherName) {
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("zzzzzzzzzzzzzzzz", {}, &problems), nullptr);
  EXPECT_THAT(problems,
              ElementsAre(PolicyProblem{"policy", "no policy has the name \"zzzzzzzzzzzzzzzz\""}));
}

constexpr double kEndless = std::numeric_limits<double>::infinity();

struct ExpectedKey {
  std::string path;
  PolicyValueType type = PolicyValueType::kText;
  std::string example;
  bool required = false;
  double min = -kEndless;
  double max = kEndless;
};

void ExpectKeys(std::string_view school, const std::vector<ExpectedKey>& expected) {
  const PolicyRegistry registry;
  const std::vector<PolicyKey>& keys = registry.Find(school)->keys;
  ASSERT_EQ(keys.size(), expected.size()) << school;
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string& path = expected[i].path;
    EXPECT_EQ(keys[i].path, path);
    EXPECT_EQ(keys[i].type, expected[i].type) << path;
    EXPECT_EQ(keys[i].example, expected[i].example) << path;
    EXPECT_EQ(keys[i].required, expected[i].required) << path;
    EXPECT_EQ(keys[i].min, expected[i].min) << path;
    EXPECT_EQ(keys[i].max, expected[i].max) << path;
    EXPECT_NE(keys[i].help, "") << path;
  }
}

TEST(PolicyTest, ClustermanTakesItsKeysWithTheirTypesAndRanges) {
  using enum PolicyValueType;
  ExpectKeys("clusterman",
             {{"autoscaling.setpoint", kNumber, "0.7", true, 0, 1},
              {"autoscaling.target_capacity_margin", kNumber, "0.1", true, 0, 1},
              {"autoscaling.excluded_resources[]", kText, "gpus"},
              {"autoscaling.prevent_scale_down_after_capacity_loss", kBool, "false"},
              {"autoscaling.instance_loss_threshold", kInt, "0", false, 0},
              {"autoscaling.killable_nodes_prioritizing_v2", kBool, "false"},
              {"scaling_limits.min_capacity", kInt, "1", true, 0},
              {"scaling_limits.max_capacity", kInt, "100", true, 0},
              {"scaling_limits.max_weight_to_add", kInt, "20", true, 0},
              {"scaling_limits.max_weight_to_remove", kInt, "10", true, 0},
              {"scaling_limits.max_tasks_to_kill", kNumber, "0", false, 0},
              {"scaling_limits.min_node_scalein_uptime_seconds", kInt, "-1"},
              {"draining_enabled", kBool, "true"},
              {"draining", kBool, "true"},
              {"exclude_daemonset_pods", kBool, "false"},
              {"autoscale_signal.internal", kBool, "true"},
              {"autoscale_signal.period_minutes", kInt, "10", false, 1},
              {"autoscale_signal.parameters.pending_pods_multiplier", kNumber, "2", false, 0},
              {"node_weight", kNumber, "1", false, 1e-6, 1e9}});
}

TEST(PolicyTest, EscalatorTakesItsKeysWithTheirTypesAndRanges) {
  using enum PolicyValueType;
  ExpectKeys("escalator", {{"name", kText, "web", true},
                           {"label_key", kText, "pool", true},
                           {"label_value", kText, "web", true},
                           {"cloud_provider_group_name", kText, "web-asg", true},
                           {"min_nodes", kInt, "1", true, 0},
                           {"max_nodes", kInt, "10", true, 0},
                           {"dry_mode", kBool, "false"},
                           {"scale_on_starve", kBool, "false"},
                           {"scale_up_threshold_percent", kInt, "70", true, 0},
                           {"taint_upper_capacity_threshold_percent", kInt, "45", true, 0},
                           {"taint_lower_capacity_threshold_percent", kInt, "30", true, 0},
                           {"slow_node_removal_rate", kInt, "1", true, 0},
                           {"fast_node_removal_rate", kInt, "2", true, 0},
                           {"soft_delete_grace_period", kText, "5m", true},
                           {"hard_delete_grace_period", kText, "10m", true},
                           {"scale_up_cool_down_period", kText, "10m", true},
                           {"taint_effect", kText, "NoSchedule"},
                           {"max_node_age", kText, "\"\""},
                           {"aws.lifecycle", kText, "on-demand"},
                           {"unhealthy_node_grace_period", kText, "\"\""},
                           {"health_check_newest_nodes_percent", kInt, "0"},
                           {"max_unhealthy_nodes_percent", kInt, "0"}});
}

TEST(PolicyTest, MaestroTakesItsKeysWithTheirTypesAndRanges) {
  using enum PolicyValueType;
  constexpr double kMost = 9e18;
  ExpectKeys("maestro", {{"roomsPerNode", kInt, "10", true, 1},
                         {"min", kInt, "10", true, 0},
                         {"max", kInt, "100", false, 0},
                         {"autoScalingPeriod", kInt, "10", false, 1},
                         {"maxScaleUpAmount", kInt, "300", false, 0},
                         {"preventRoomsCreationWithError", kBool, "true"},
                         {"up.cooldown", kInt, "60", false, 0},
                         {"up.metricsTrigger[].type", kText, "room", true, -kMost, kMost},
                         {"up.metricsTrigger[].usage", kInt, "70", true, 0, kMost},
                         {"up.metricsTrigger[].threshold", kInt, "80", false, 0, 100},
                         {"up.metricsTrigger[].time", kInt, "200", false, 0, kMost},
                         {"up.metricsTrigger[].limit", kInt, "90", false, 0, kMost},
                         {"up.metricsTrigger[].delta", kInt, "0", false, -kMost, kMost},
                         {"up.trigger.usage", kInt, "80", false, 0},
                         {"up.trigger.threshold", kInt, "80", false, 0},
                         {"up.trigger.time", kInt, "80", false, 0},
                         {"up.trigger.limit", kInt, "80", false, 0},
                         {"down.cooldown", kInt, "300", false, 0},
                         {"down.metricsTrigger[].type", kText, "room", true, -kMost, kMost},
                         {"down.metricsTrigger[].usage", kInt, "50", true, 0, kMost},
                         {"down.metricsTrigger[].threshold", kInt, "80", false, 0, 100},
                         {"down.metricsTrigger[].time", kInt, "200", false, 0, kMost},
                         {"down.metricsTrigger[].delta", kInt, "0", false, -kMost, kMost},
                         {"down.trigger.usage", kInt, "80", false, 0},
                         {"down.trigger.threshold", kInt, "80", false, 0},
                         {"down.trigger.time", kInt, "80", false, 0},
                         {"down.trigger.limit", kInt, "80", false, 0}});
}

TEST(PolicyTest, ReplicatorTakesItsKeysWithTheirTypesAndRanges) {
  using enum PolicyValueType;
  ExpectKeys("replicator", {{"replicator_enabled", kBool, "true", true},
                            {"replicator_worker_pool", kText, "web", true},
                            {"replicator_region", kText, "eu-west-1", true},
                            {"replicator_notification_uid", kText, "web-alerts", true},
                            {"replicator_provider", kText, "aws", true},
                            {"replicator_min", kInt, "1", false, 0},
                            {"replicator_max", kInt, "10", false, 0},
                            {"replicator_cooldown", kInt, "300", false, 0},
                            {"replicator_cool_down", kInt, "300", false, 0},
                            {"replicator_node_fault_tolerance", kInt, "1", false, 0},
                            {"replicator_retry_threshold", kInt, "3", false, 0},
                            {"replicator_scaling_threshold", kInt, "3", false, 0},
                            {"replicator_scale_factor", kInt, "1", false, 1},
                            {"protected_node", kText, "node-1"},
                            {"scaled_jobs[]", kText, "shop/ReplicaSet/web"}});
}

TEST(PolicyTest, OnlyClustermanAndMaestroHaveAKeyForTheirPeriod) {
  const PolicyRegistry registry;
  EXPECT_EQ(registry.Find("clusterman")->period_key, "autoscale_signal.period_minutes");
  EXPECT_EQ(registry.Find("maestro")->period_key, "autoScalingPeriod");
  EXPECT_EQ(registry.Find("escalator")->period_key, "");
  EXPECT_EQ(registry.Find("replicator")->period_key, "");
  // A period that has no number of seconds stays as it is.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  PolicySettings settings;
  settings.Set("autoscale_signal.period_minutes", kMost / 60);
  EXPECT_EQ(registry.Find("clusterman")->period_s(settings), kMost / 60 * 60);
  settings.Set("autoscale_signal.period_minutes", kMost / 60 + 1);
  EXPECT_EQ(registry.Find("clusterman")->period_s(settings), kMost / 60 + 1);
}

TEST(PolicySettingsTest, AListIsCountedAnewAndEveryIndexLeavesItsKey) {
  PolicySettings settings;
  settings.SetCount("jobs", 3);
  settings.SetCount("jobs", 1);
  EXPECT_EQ(settings.Count("jobs"), 1u);
  EXPECT_FALSE(settings.Has("jobs"));
  settings.Set("on", true);
  EXPECT_TRUE(settings.Has("on"));
  bool on = false;
  settings.Read("on", on);
  EXPECT_TRUE(on);
  EXPECT_EQ(KeyOf("plain.key"), "plain.key");
  EXPECT_EQ(KeyOf("a[1].b[22].c"), "a[].b[].c");
  EXPECT_EQ(KeyOf("scaled_jobs[0]"), "scaled_jobs[]");
}

// ---------------------------------------------------------------- states as text

enum class Shade : uint8_t { kDark, kLight };

struct Small {
  bool yes = false;
  Shade shade = Shade::kDark;
  int64_t number = 0;
  std::map<std::string, int64_t> counts{};
  std::array<int64_t, 2> pair{};
};

template <typename A>
void Fields(A& a, Small& s) {
  a(s.yes, s.shade, s.number, s.counts, s.pair);
}

TEST(StateTextTest, FieldsAreWordsInOrder) {
  const Small small{
      .yes = true, .shade = Shade::kLight, .number = -5, .counts = {{"k", 9}}, .pair = {3, 4}};
  const std::string text = StateText("n/1", small);
  EXPECT_EQ(text, "3 n/1 1 1 -5 1 1 k 9 3 4 ");
  Small read;
  ASSERT_TRUE(ReadStateText("n/1", text, &read));
  EXPECT_TRUE(read.yes);
  EXPECT_EQ(read.shade, Shade::kLight);
  EXPECT_EQ(read.number, -5);
  EXPECT_EQ(read.counts, small.counts);
  EXPECT_EQ(read.pair, small.pair);
}

TEST(StateTextTest, ADamagedTextIsRefusedAndNothingOfItIsRead) {
  for (const char* const damaged : {
           "3 n/1 2 1 -5 1 1 k 9 3 4 ",                    // No bool.
           "3 n/1 1 256 -5 1 1 k 9 3 4 ",                  // No enum of a byte.
           "3 n/1 1 1 -5x 1 1 k 9 3 4 ",                   // No number.
           "3 n/1 1 1 x 1 1 k 9 3 4 ",                     //
           "3 n/1 1 1  1 1 k 9 3 4 ",                      //
           "3 n/1 1 1 99999999999999999999 1 1 k 9 3 4 ",  // Too large a number.
           "3 n/1 1 1 -5 99 1 k 9 3 4 ",                   // Too few items.
           "3 n/1 1 1 -5 1 1 kk 9 3 4 ",                   // A text that is longer than it says.
           "3 n/1 1 1 -5 1 99 k 9 3 4 ",                   // And shorter.
           "3 n/1 1 1 -5 1 1 k 9 3 4",                     // No blank at its end.
           "3 n/1 1 1 -5 1 1 k 9 3 4 5 ",                  // More.
       }) {
    Small read{.number = 7};
    EXPECT_FALSE(ReadStateText("n/1", damaged, &read)) << damaged;
    EXPECT_EQ(read.number, 7) << damaged;
    EXPECT_FALSE(read.yes) << damaged;
  }
}

TEST(StateTextTest, AnEmptyTextIsANewState) {
  Small read{.yes = true, .number = 7};
  ASSERT_TRUE(ReadStateText("n/1", "", &read));
  EXPECT_FALSE(read.yes);
  EXPECT_EQ(read.number, 0);
}

// ---------------------------------------------------------------- more of Clusterman

// Ten idle nodes.
PolicyObservation TenIdle() { return Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte}); }

PolicySettings ClustermanWithSignals() {
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  return settings;
}

TEST(PolicyTest, ClustermanTellsAllOfAStepThatALimitCut) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  pool.signals["cpus"] = {.value = 96};
  PolicySettings settings = ClustermanWithSignals();
  settings.Set("autoscaling.setpoint", 0.8);
  settings.Set("scaling_limits.max_capacity", int64_t{1000});
  settings.Set("scaling_limits.max_weight_to_add", int64_t{5});
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 5);
  EXPECT_EQ(decision.direction, PolicyDirection::kUp);
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "nodes"), "100");
  EXPECT_EQ(Figure(decision, "signal asks for cpus"), "96");
  EXPECT_EQ(Figure(decision, "signal asks for mem"), "(absent)");
  EXPECT_EQ(Figure(decision, "target before"), "100");
  EXPECT_EQ(Figure(decision, "rule"), "scaled to the setpoint");
  EXPECT_EQ(Figure(decision, "capacity at the setpoint"), "120");
  EXPECT_EQ(Figure(decision, "change of the target"), "0.2");
  EXPECT_EQ(Figure(decision, "target"), "120");
  EXPECT_EQ(Figure(decision, "offset"), "(absent)");
  EXPECT_EQ(Figure(decision, "step asked for"), "20");
  EXPECT_EQ(Figure(decision, "step within limits"), "5");
  EXPECT_EQ(Figure(decision, "limited by"), "max_weight_to_add");
  EXPECT_THAT(decision.warnings,
              ElementsAre("Requested target capacity 120; restricting to 105 due to scaling "
                          "limits."));
}

TEST(PolicyTest, ClustermansLimitThatLeavesNothingOfAStepDeniesIt) {
  PolicyObservation pool = TenIdle();
  pool.signals["cpus"] = {.value = 9};
  PolicySettings settings = ClustermanWithSignals();
  settings.Set("scaling_limits.max_capacity", int64_t{10});
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.direction, PolicyDirection::kUp);
  EXPECT_EQ(decision.denied_by, "max_capacity");
  EXPECT_EQ(Figure(decision, "limited by"), "max_capacity");
}

TEST(PolicyTest, TheCloudsBoundsOfAPoolAreClustermansInWeightUnits) {
  PolicyObservation pool = TenIdle();
  pool.cloud = {.min = 8, .max = 11, .desired = 10};
  PolicySettings settings = Sample("clusterman");
  settings.Set("node_weight", 2.0);
  std::string state;
  const PolicyDecision down = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(down.reason, "request of zero");
  EXPECT_EQ(down.delta, -2);
  EXPECT_THAT(down.warnings,
              ElementsAre("Requested target capacity 0; restricting to 10 due to scaling limits.",
                          "All resource groups are stale or constrained. The closest we could get "
                          "to 10 is 16"));
  pool.signals["cpus"] = {.value = 9};
  settings.Set("autoscale_signal.internal", false);
  const PolicyDecision up = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(up.delta, 1);
  EXPECT_EQ(up.direction, PolicyDirection::kUp);
  EXPECT_EQ(up.denied_by, "");
  ASSERT_EQ(up.warnings.size(), 1u);
  EXPECT_TRUE(up.warnings[0].ends_with(" is 22")) << up.warnings[0];
}

TEST(PolicyTest, NodesThatLeaveAlreadyAreNoneThatClustermanTakesAway) {
  PolicyObservation pool = TenIdle();
  pool.nodes[3].is_leaving = true;
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -8);  // From 10 to min_capacity, 1, of which one goes anyway.
  EXPECT_EQ(decision.candidates->size(), 9u);
}

TEST(PolicyTest, ClustermanSeesAllResourcesOfPodsThatHaveTheirNode) {
  PolicyObservation pool =
      Pool(2, {.cpu_milli = 1000, .memory_bytes = kGigabyte, .disk_bytes = 5'000'000, .gpus = 4});
  AddPod(pool, 1, {.cpu_milli = 500, .memory_bytes = 3'000'000});
  PolicyPod& pod = pool.nodes[1].pods[0];
  pod.is_running = false;  // It has its node, and starts.
  pod.containers[0].disk_bytes = 2'000'000;
  pod.containers[0].gpus = 3;
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "total disk"), "10");
  EXPECT_EQ(Figure(decision, "total gpus"), "8");
  EXPECT_EQ(Figure(decision, "allocated cpus"), "0.5");
  EXPECT_EQ(Figure(decision, "allocated mem"), "3");
  EXPECT_EQ(Figure(decision, "allocated disk"), "2");
  EXPECT_EQ(Figure(decision, "allocated gpus"), "3");
  EXPECT_EQ(Figure(decision, "unschedulable pods"), "0");
}

TEST(PolicyTest, ASignalOfZeroIsOneAndNoSignalIsAFailure) {
  PolicyObservation pool = TenIdle();
  const std::unique_ptr<Policy> policy = Make("clusterman", ClustermanWithSignals());
  std::string state;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "the signals failed");
  pool.signals["queue"] = {.value = 5};  // None of its resources.
  EXPECT_EQ(policy->Decide(pool, kNow, &(state = "")).denied_by, "the signals failed");
  pool.signals["disk"] = {.value = 0};
  const PolicyDecision zero = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(zero.reason, "request of zero");
  EXPECT_EQ(zero.delta, -9);
  EXPECT_EQ(Figure(zero, "signal asks for disk"), "0");
}

TEST(PolicyTest, ASignalWithoutATimeMakesAnotherNoFresher) {
  const std::unique_ptr<Policy> policy = Make("clusterman", ClustermanWithSignals());
  for (const char* const stale : {"cpus", "mem"}) {
    PolicyObservation pool = TenIdle();
    pool.signals["cpus"] = pool.signals["mem"] = {.value = 7};
    pool.signals[stale].at_s = kNow - 601;
    std::string state;
    EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "the signal is older than its period")
        << stale;
  }
}

TEST(PolicyTest, ClustermanRefusesAPoolThatItCannotRead) {
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  PolicyObservation pool = TenIdle();
  pool.nodes[1].allocatable.cpu_milli = -1;
  std::string state;
  const PolicyDecision negative = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(negative.delta, 0);
  EXPECT_EQ(negative.denied_by, "error in the observation");
  EXPECT_EQ(negative.reason, "error in the observation");
  EXPECT_THAT(negative.warnings, ElementsAre("node node-1: allocatable"));
  EXPECT_EQ(negative.candidates, std::nullopt);
  pool = TenIdle();
  pool.cloud.reset();
  const PolicyDecision cloudless = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(cloudless.delta, 0);
  EXPECT_EQ(cloudless.direction, PolicyDirection::kStay);
  EXPECT_EQ(cloudless.denied_by, "no resource groups");
  EXPECT_THAT(cloudless.warnings, IsEmpty());
}

TEST(PolicyTest, ClustermansProblemsNameTheirKeyAndEachIsToldOnce) {
  PolicySettings settings;
  settings.Set("autoscaling.target_capacity_margin", 0.1);
  settings.Set("scaling_limits.min_capacity", int64_t{5});
  settings.Set("scaling_limits.max_capacity", int64_t{4});
  settings.Set("autoscale_signal.period_minutes", int64_t{0});
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("clusterman", settings, &problems), nullptr);
  EXPECT_THAT(problems,
              ElementsAre(PolicyProblem{"autoscaling.setpoint", "required"},
                          PolicyProblem{"scaling_limits.min_capacity", "is above max_capacity"},
                          PolicyProblem{"autoscale_signal.period_minutes", "must be above 0"}));
  problems.clear();
  settings = Sample("clusterman");
  settings.Set("node_weight", 0.0);
  EXPECT_EQ(PolicyRegistry().Make("clusterman", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"node_weight", "must be above 0"}));
}

// ---------------------------------------------------------------- more of Escalator

TEST(PolicyTest, EscalatorShrinksAtTheSlowRateAndTellsWhatItComputed) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 4000});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = 400, .memory_bytes = 400});
  pool.cloud = {.min = 2, .max = 20, .desired = 4};
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -1);
  EXPECT_EQ(decision.direction, PolicyDirection::kDown);
  EXPECT_EQ(decision.reason, "down");
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "min_nodes"), "1");
  EXPECT_EQ(Figure(decision, "max_nodes"), "10");
  EXPECT_EQ(Figure(decision, "desired in the cloud"), "4");
  EXPECT_EQ(Figure(decision, "cpu percent"), "40");
  EXPECT_EQ(Figure(decision, "memory percent"), "10");
  EXPECT_EQ(Figure(decision, "utilization percent"), "40");
  EXPECT_EQ(Figure(decision, "rule"), "slow");
  EXPECT_EQ(Figure(decision, "delta of the rule"), "-1");
  EXPECT_EQ(Figure(decision, "bounded or forced by"), "(absent)");
}

TEST(PolicyTest, TheCloudsMinimumBoundsWhatEscalatorTakesAway) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 1000});
  pool.cloud = {.min = 3, .max = 20, .desired = 4};
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  std::string state;
  const PolicyDecision one = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(one.delta, -1);
  EXPECT_EQ(one.denied_by, "");
  EXPECT_EQ(Figure(one, "bounded or forced by"), "cloud_min");
  pool.cloud->min = 4;
  const PolicyDecision none = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kDown);
  EXPECT_EQ(none.denied_by, "cloud_min");
}

TEST(PolicyTest, EscalatorDecidesNothingWithoutItsCloudGroup) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 1000});
  pool.cloud.reset();
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.direction, PolicyDirection::kStay);
  EXPECT_EQ(decision.reason, "refused");
  EXPECT_EQ(decision.denied_by, "observation");
  EXPECT_THAT(decision.warnings, ElementsAre("cloud: the group was not read"));
}

TEST(PolicyTest, AStateOfEscalatorThatAnEarlierVersionWroteIsRead) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t i = 0; i < 2; ++i) AddPod(pool, i, {.cpu_milli = 550, .memory_bytes = 10});
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  std::string state = "11 escalator/1 1 3 1 1750000000 4000 8000 1 6 node-0 3 1 1749990000 ";
  const PolicyDecision locked = policy->Decide(pool, kNow + 1, &state);
  EXPECT_EQ(locked.delta, 0);
  EXPECT_EQ(locked.direction, PolicyDirection::kUp);
  EXPECT_EQ(locked.reason, "locked");
  EXPECT_EQ(locked.denied_by, "scale_up_cool_down_period");
  EXPECT_TRUE(state.starts_with("11 escalator/2 1 3 1 1750000000 ")) << state;
}

TEST(PolicyTest, EscalatorsGroupMayHaveAFixedSizeAndOtherProblemsAreToldWithTheirKey) {
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{2});
  settings.Set("max_nodes", int64_t{2});
  EXPECT_NE(Make("escalator", settings), nullptr);
  settings.Set("min_nodes", int64_t{3});
  settings.Set("taint_effect", "Never");
  settings.Set("aws.lifecycle", "Spot");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalator", settings, &problems), nullptr);
  EXPECT_THAT(
      problems,
      ElementsAre(PolicyProblem{"min_nodes", "min_nodes must be less than max_nodes"},
                  PolicyProblem{"taint_effect", "taint_effect must be valid kubernetes taint"},
                  PolicyProblem{"aws.lifecycle",
                                "aws.lifecycle must be 'on-demand' or 'spot' if provided."}));
}

// ---------------------------------------------------------------- more of Maestro

TEST(PolicyTest, MaestrosRoomsAreWholeAndTooManyAreNone) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 74.6};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  const PolicyDecision rounded = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(rounded, "rooms creating"), "0");
  EXPECT_EQ(Figure(rounded, "rooms ready"), "25");
  EXPECT_EQ(Figure(rounded, "rooms occupied"), "75");
  pool.signals["rooms_occupied"] = {.value = 9e15};
  const PolicyDecision too_many = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(too_many.denied_by, "invalid_counts");
  EXPECT_EQ(too_many.reason, "invalid_counts");
  EXPECT_EQ(Figure(too_many, "rooms occupied"), "-1");
}

TEST(PolicyTest, MaestrosRoomsArePodsWhereNoSignalIsOfRooms) {
  PolicySettings settings = MaestroSettings();
  settings.Set("roomsPerNode", int64_t{2});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["queue"] = {.value = 5};
  pool.cloud->desired = 1;  // Fewer than there are.
  for (size_t i = 0; i < 3; ++i) AddPod(pool, i % 2, {.cpu_milli = 1});
  std::string state;
  const PolicyDecision some = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(some, "rooms occupied"), "3");
  EXPECT_EQ(Figure(some, "rooms ready"), "1");
  EXPECT_EQ(Figure(some, "rooms creating"), "0");
  for (size_t i = 0; i < 3; ++i) AddPod(pool, i % 2, {.cpu_milli = 1});
  AddPending(pool, {.cpu_milli = 1});
  pool.cloud.reset();
  const PolicyDecision full = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(Figure(full, "rooms occupied"), "7");
  EXPECT_EQ(Figure(full, "rooms ready"), "0");
  EXPECT_EQ(Figure(full, "rooms creating"), "0");
  EXPECT_EQ(Figure(full, "pending pods"), "0");
}

TEST(PolicyTest, MaestrosListOfTriggersAloneMakesItsSectionOneThatIsGiven) {
  PolicySettings settings = MaestroSettings();
  PolicySettings without_cooldown = Sample("maestro");
  without_cooldown.SetCount("up.metricsTrigger", 1);
  without_cooldown.Set("up.metricsTrigger[0].type", "room");
  without_cooldown.Set("up.metricsTrigger[0].usage", int64_t{50});
  without_cooldown.Set("up.metricsTrigger[0].limit", int64_t{1000});
  const auto second = [](const PolicySettings& with) {
    const std::unique_ptr<Policy> policy = Make("maestro", with);
    std::string state;
    EXPECT_EQ(policy->Decide(MaestroPool(), kNow, &state).delta, 5);
    policy->Ended(true, kNow, &state);
    return policy->Decide(MaestroPool(), kNow + 10, &state);
  };
  EXPECT_EQ(second(without_cooldown).delta, 5);
  const PolicyDecision cooling = second(settings);
  EXPECT_EQ(cooling.delta, 0);
  EXPECT_EQ(cooling.denied_by, "cooldown");
  EXPECT_EQ(Figure(cooling, "up.metricsTrigger[0] room"),
            "utilization 0.75, 1 of 1 points beyond, window 0, matches, delta 50, in cooldown");
}

TEST(PolicyTest, MaestroTellsOfTriggersThatDoNotMatch) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 40};
  pool.signals["rooms_ready"] = {.value = 60};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.direction, PolicyDirection::kStay);
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "point of room"), "0.4");
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[0] room"),
            "utilization 0.4, 0 of 1 points beyond, window 0, no match");
  EXPECT_EQ(Figure(decision, "down.metricsTrigger[0] room"),
            "utilization 0.4, 1 of 1 points beyond, window 60, no match");
  EXPECT_EQ(Figure(decision, "rooms asked for"), "0");
  EXPECT_EQ(Figure(decision, "bounded by"), "(absent)");
  EXPECT_EQ(Figure(decision, "rooms to change"), "0");
  EXPECT_EQ(Figure(decision, "rooms per node"), "10");
}

TEST(PolicyTest, MaestroFillsAnEmptyPoolWhoseUtilizationIsNoNumber) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = pool.signals["rooms_ready"] = {.value = 0};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.reason, "below_min");
  EXPECT_EQ(decision.delta, 1);
  EXPECT_EQ(Figure(decision, "point of room"), "no number");
  EXPECT_EQ(Figure(decision, "rooms to change"), "10");
}

TEST(PolicyTest, MaestroSaysWhatKeptItFromActing) {
  PolicySettings no_number = MaestroSettings();
  no_number.Set("up.metricsTrigger[0].usage", int64_t{0});
  std::string state;
  const PolicyDecision infinite = Make("maestro", no_number)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(infinite.delta, 0);
  EXPECT_EQ(infinite.denied_by, "no_number");
  EXPECT_EQ(infinite.direction, PolicyDirection::kStay);

  PolicySettings none_at_once = MaestroSettings();
  none_at_once.Set("maxScaleUpAmount", int64_t{0});
  const PolicyDecision none =
      Make("maestro", none_at_once)->Decide(MaestroPool(), kNow, &(state = ""));
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kUp);
  EXPECT_EQ(none.denied_by, "max_scale_up_amount");

  state = "9 maestro/1 3 5 0 0 0 ";  // The pool is being created.
  const PolicyDecision created =
      Make("maestro", MaestroSettings())->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(created.delta, 0);
  EXPECT_EQ(created.reason, "state");
  EXPECT_EQ(created.denied_by, "state");
}

TEST(PolicyTest, MaestroTakesNoMoreNodesThanThereAre) {
  PolicySettings settings = Sample("maestro");
  settings.Set("max", int64_t{10});
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_ready"] = {.value = 50};
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.reason, "above_max");
  EXPECT_EQ(Figure(decision, "rooms to change"), "-40");
  EXPECT_EQ(decision.delta, -2);
}

TEST(PolicyTest, AMaxOfOneRoomIsAMax) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{8});
  settings.Set("min", int64_t{1});
  settings.Set("max", int64_t{1});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_ready"] = {.value = 0};
  std::string state;
  const PolicyDecision empty = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(empty.delta, 0);
  EXPECT_EQ(empty.denied_by, "max");
  pool.signals["rooms_ready"] = {.value = 8};
  const PolicyDecision node = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(node.delta, 0);
  EXPECT_EQ(node.reason, "none");
  EXPECT_EQ(Figure(node, "rooms above max that fill no node"), "7");
}

TEST(PolicyTest, MaestrosProblemsAreTold) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{0});
  settings.Set("max", int64_t{5});
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("maestro", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"", "autoscaling.max: 5 is below min, 10"},
                                    PolicyProblem{"roomsPerNode", "must be 1 or more"}));
  problems.clear();
  settings.Set("max", int64_t{10});
  EXPECT_EQ(PolicyRegistry().Make("maestro", settings, &problems), nullptr);
  EXPECT_EQ(problems.size(), 1u);
}

// ---------------------------------------------------------------- more of Replicator

TEST(PolicyTest, ReplicatorCountsWhatNodesHaveAndTellsTheWayOut) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t i = 0; i < 4; ++i) {
    AddPod(pool, i, {.cpu_milli = 900, .memory_bytes = 100});
    pool.nodes[i].allocatable = {.cpu_milli = 1};
  }
  std::string state;
  const PolicyDecision decision =
      Make("replicator", Sample("replicator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.direction, PolicyDirection::kUp);
  EXPECT_EQ(Figure(decision, "total"), "cpu 4000, memory 4000, disk 0");
  EXPECT_EQ(Figure(decision, "used percent"), "cpu 90, memory 10, disk none");
  EXPECT_EQ(Figure(decision, "allowed"), "3000");
  EXPECT_EQ(Figure(decision, "allowed with a node less"), "2000");
  EXPECT_EQ(Figure(decision, "consumed of that, percent"), "180");
  EXPECT_EQ(Figure(decision, "direction"), "Out");
  EXPECT_EQ(Figure(decision, "denies"), "(absent)");
}

TEST(PolicyTest, ReplicatorHeedsTheGroupOfTheCloud) {
  const auto denied_by = [](int64_t used, std::optional<PolicyCloud> cloud) {
    PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
    for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = used, .memory_bytes = 1});
    pool.cloud = cloud;
    PolicySettings settings = Sample("replicator");
    settings.Set("replicator_scaling_threshold", int64_t{1});
    std::string state;
    return Make("replicator", settings)->Decide(pool, kNow, &state).denied_by;
  };
  EXPECT_EQ(denied_by(900, std::nullopt), "ProviderUnreadable");
  EXPECT_EQ(denied_by(900, PolicyCloud{.min = 0, .max = 9, .desired = 5}), "ProviderCountMismatch");
  EXPECT_EQ(denied_by(900, PolicyCloud{.min = 0, .max = 4, .desired = 4}), "ProviderMax");
  EXPECT_EQ(denied_by(900, PolicyCloud{.min = 4, .max = 5, .desired = 4}), "");
  EXPECT_EQ(denied_by(100, PolicyCloud{.min = 4, .max = 4, .desired = 4}), "ProviderMin");
  EXPECT_EQ(denied_by(100, PolicyCloud{.min = 3, .max = 4, .desired = 4}), "");
}

TEST(PolicyTest, ReplicatorDecidesNothingOfAPoolWithoutNodes) {
  std::string state;
  const PolicyDecision decision =
      Make("replicator", Sample("replicator"))->Decide(Pool(0, {}), kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.denied_by, "NoNodes");
  EXPECT_EQ(decision.direction, PolicyDirection::kStay);
  EXPECT_EQ(decision.candidates, std::nullopt);
  EXPECT_EQ(Figure(decision, "desired count"), "(absent)");
  EXPECT_EQ(Figure(decision, "rounds in a row that ask"), "0");
}

TEST(PolicyTest, ReplicatorsProblemsAreTold) {
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_provider", "gce");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("replicator", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"replicator_provider", "only aws is known"}));
  settings.Set("replicator_provider", "aws");
  settings.Set("replicator_min", int64_t{5});
  settings.Set("replicator_max", int64_t{4});
  problems.clear();
  EXPECT_EQ(PolicyRegistry().Make("replicator", settings, &problems), nullptr);
  EXPECT_THAT(problems,
              ElementsAre(PolicyProblem{"", "replicator_min: 5 is above replicator_max, 4"}));
}

// ---------------------------------------------------------------- what all schools tell

TEST(PolicyTest, WhatIsNoStateIsDeniedAndLeftAsItIsWhateverEnded) {
  PolicyDecision expected;
  expected.reason = "state_unreadable";
  expected.denied_by = "state";
  for (const std::string& school : PolicyRegistry().Names()) {
    const std::unique_ptr<Policy> policy = Make(school, Sample(school));
    std::string state = "nonsense";
    EXPECT_EQ(policy->Decide(Pool(1, {}), kNow, &state), expected) << school;
    for (const bool succeeded : {true, false}) {
      policy->Ended(succeeded, kNow, &state);
      EXPECT_EQ(state, "nonsense") << school;
    }
  }
}

TEST(PolicyTest, EachSchoolIsToldInASentenceAndZeroHasItsMeaning) {
  const PolicyRegistry registry;
  EXPECT_EQ(registry.Find("clusterman")->summary,
            "Keeps utilization at a setpoint, within a margin and limits of a step");
  EXPECT_EQ(registry.Find("escalator")->summary,
            "Keeps what pods request between thresholds of what nodes can hold");
  EXPECT_EQ(registry.Find("maestro")->summary,
            "Tries triggers in order, over points of utilization in time");
  EXPECT_EQ(registry.Find("replicator")->summary,
            "Keeps room for the loss of some nodes and for each scaled job to grow by one");
  const auto help = [&](std::string_view school, std::string_view path) -> std::string {
    for (const PolicyKey& key : registry.Find(school)->keys) {
      if (key.path == path) return key.help;
    }
    return "(absent)";
  };
  EXPECT_EQ(help("clusterman", "scaling_limits.max_tasks_to_kill"),
            "A node goes only with fewer; 0: empty nodes only");
  EXPECT_EQ(help("escalator", "min_nodes"),
            "Fewest untainted nodes; with max_nodes 0: the cloud group's");
  EXPECT_EQ(help("maestro", "max"), "Most rooms; 0: no bound");
  for (const char* const path : {"up.metricsTrigger[].delta", "down.metricsTrigger[].delta"}) {
    EXPECT_EQ(help("maestro", path), "Of type legacy: rooms, below 0 to go down");
  }
}

// ---------------------------------------------------------------- Clusterman's finer points

TEST(PolicyTest, ClustermanCountsAllContainersButThoseThatStart) {
  PolicyObservation pool = TenIdle();
  AddPod(pool, 0, {.cpu_milli = 500, .memory_bytes = 2'000'000});
  std::vector<PolicyContainer>& containers = pool.nodes[0].pods[0].containers;
  containers.push_back({.cpu_milli = 250, .memory_bytes = 1'000'000});
  containers.insert(containers.begin(), PolicyContainer{.is_init = true, .cpu_milli = 900});
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "allocated cpus"), "0.75");
  EXPECT_EQ(Figure(decision, "allocated mem"), "3");
}

TEST(PolicyTest, ANodeThatLeavesIsTheFirstThatClustermanChooses) {
  PolicyObservation pool = TenIdle();
  pool.nodes[9].is_leaving = true;
  pool.cloud = {.min = 8, .max = 1000, .desired = 10};
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -1) << "two go, of which one goes anyway";
  ASSERT_EQ(decision.candidates->size(), 9u);
  EXPECT_EQ(decision.candidates->front(), "node-0");
}

TEST(PolicyTest, TheCloudsMaxLeavesClustermanRoomForLessThanANode) {
  PolicyObservation pool = TenIdle();
  pool.cloud = {.min = 0, .max = 10, .desired = 10};
  pool.signals["cpus"] = {.value = 9};
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", ClustermanWithSignals())->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.direction, PolicyDirection::kUp);
  EXPECT_EQ(decision.denied_by, "less than a node");
  ASSERT_EQ(decision.warnings.size(), 1u);
  EXPECT_TRUE(decision.warnings[0].ends_with(" is 10")) << decision.warnings[0];
}

TEST(PolicyTest, ALimitThatLeavesSomeOfAStepDidNotDenyIt) {
  PolicyObservation pool = TenIdle();
  for (size_t i = 0; i < 10; ++i) AddPod(pool, i, {.cpu_milli = 100, .memory_bytes = 1});
  PolicySettings settings = Sample("clusterman");
  settings.Set("scaling_limits.max_weight_to_remove", int64_t{5});
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(Figure(decision, "limited by"), "max_weight_to_remove");
  EXPECT_EQ(Figure(decision, "step within limits"), "-5");
  EXPECT_EQ(decision.denied_by, "no node may be killed");
}

TEST(PolicyTest, ClustermanNamesThePodThatItCannotRead) {
  PolicyObservation pool = TenIdle();
  AddPod(pool, 4, {.cpu_milli = 100, .memory_bytes = -5});
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.denied_by, "error in the observation");
  EXPECT_THAT(decision.warnings, ElementsAre("pod shop/pod-0: requests"));
}

TEST(PolicyTest, AnOffsetBelowZeroIsToldAndTakenOff) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  pool.signals["cpus"] = {.value = 96};
  PolicySettings settings = ClustermanWithSignals();
  settings.Set("autoscaling.setpoint", 0.8);
  settings.Set("scaling_limits.max_capacity", int64_t{1000});
  std::string state = "12 clusterman/1 0 1 -3 0 0 0 0 0 0 0 ";
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "offset"), "-3");
  EXPECT_EQ(decision.delta, 17);
}

// ---------------------------------------------------------------- Escalator's finer points

TEST(PolicyTest, EscalatorTakesWhatPodsUseOffTheNodesThatTheyRunOn) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t i = 0; i < 2; ++i) AddPod(pool, i, {.cpu_milli = 300, .memory_bytes = 10});
  AddPending(pool, {.cpu_milli = 700, .memory_bytes = 10});
  PolicySettings settings = Sample("escalator");
  settings.Set("scale_on_starve", true);
  std::string state;
  EXPECT_EQ(Make("escalator", settings)->Decide(pool, kNow, &state).delta, 0) << "it fits";
  pool.pending[0].containers[0].cpu_milli = 701;
  const PolicyDecision starved = Make("escalator", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(starved.delta, 1);
  EXPECT_EQ(Figure(starved, "bounded or forced by"), "starve");
}

TEST(PolicyTest, EscalatorNamesAllUnlikeNodesAndPodsWithoutRequests) {
  PolicyObservation pool = Pool(5, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (const size_t i : {3u, 4u}) pool.nodes[i].allocatable.memory_bytes = 2000;
  for (int i = 0; i < 2; ++i) {
    AddPod(pool, 0, {.cpu_milli = 10, .memory_bytes = 10});
    pool.nodes[0].pods.back().containers[0].cpu_milli.reset();
  }
  std::string state;
  EXPECT_THAT(
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state).warnings,
      ElementsAre("nodes are not as large as most: node-3, node-4",
                  "pods have a container without cpu or memory requests: shop/pod-0, shop/pod-1"));
}

TEST(PolicyTest, EscalatorGrowsBackToItsMinimumUnlessTheCloudIsFull) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  pool.nodes[0].is_cordoned = true;
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{2});
  const std::unique_ptr<Policy> policy = Make("escalator", settings);
  std::string state;
  const PolicyDecision grows = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(grows.delta, 1);
  EXPECT_EQ(grows.direction, PolicyDirection::kUp);
  EXPECT_EQ(grows.reason, "below_untainted_min");
  EXPECT_EQ(grows.denied_by, "");
  pool.cloud->max = 2;
  const PolicyDecision full = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(full.delta, 0);
  EXPECT_EQ(full.direction, PolicyDirection::kStay);
  EXPECT_EQ(full.reason, "below_untainted_min");
  EXPECT_EQ(full.denied_by, "beyond_maximum");
  EXPECT_THAT(full.warnings,
              ElementsAre("refusing to scaleup up beyond the maximum size of the autoscaling group "
                          "(TargetSize: 2; MaxNodes: 10). Taking no action"));
}

TEST(PolicyTest, EscalatorDecidesNothingForNodesWithoutCapacity) {
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(Pool(1, {.memory_bytes = 1000}), kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.reason, "calc_error");
  EXPECT_EQ(decision.denied_by, "divide_by_zero");
  EXPECT_THAT(decision.warnings, ElementsAre("cannot divide by zero in percent calculation"));
}

TEST(PolicyTest, AFixedSizeDoesNotHideOtherProblemsOfEscalator) {
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{2});
  settings.Set("max_nodes", int64_t{2});
  settings.Set("taint_effect", "Never");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalator", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"taint_effect",
                                                  "taint_effect must be valid kubernetes taint"}));
}

// ---------------------------------------------------------------- Maestro's finer points

TEST(PolicyTest, SignalsOfOtherNamesDoNotHideMaestrosRooms) {
  PolicyObservation pool = MaestroPool();
  pool.signals["a queue"] = pool.signals["zone"] = {.value = 5};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms occupied"), "75");
  EXPECT_EQ(Figure(decision, "rooms ready"), "25");
  EXPECT_EQ(Figure(decision, "rooms above max that fill no node"), "(absent)");
}

TEST(PolicyTest, MaestroTriesItsTriggersInTheirOrder) {
  PolicySettings settings = MaestroSettings();
  settings.SetCount("up.metricsTrigger", 2);
  settings.Set("up.metricsTrigger[0].usage", int64_t{90});
  settings.Set("up.metricsTrigger[1].type", "legacy");
  settings.Set("up.metricsTrigger[1].usage", int64_t{50});
  settings.Set("up.metricsTrigger[1].delta", int64_t{30});
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(decision.delta, 3);
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[0] room"),
            "utilization 0.75, 0 of 1 points beyond, window 0, no match");
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[1] legacy"),
            "utilization 0.75, 1 of 1 points beyond, window 0, matches, delta 30");
}

TEST(PolicyTest, MaestrosNodesWithMoreRoomsThanCanBeCountedHaveNone) {
  const auto ready = [](int64_t rooms_per_node) {
    PolicySettings settings = Sample("maestro");
    settings.Set("roomsPerNode", rooms_per_node);
    std::string state;
    return Figure(Make("maestro", settings)->Decide(Pool(1, {}), kNow, &state), "rooms ready");
  };
  EXPECT_EQ(ready(8'999'999'999'999'999), "8999999999999999");
  EXPECT_EQ(ready(9'000'000'000'000'000), "0");
}

TEST(PolicyTest, AnActionOfMaestroEndsOnceAndWithTheNextRoundAtTheLatest) {
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  ASSERT_EQ(policy->Decide(MaestroPool(), kNow, &state).delta, 5);
  policy->Ended(true, kNow + 1, &state);
  const std::string ended = state;
  for (const bool succeeded : {true, false}) {
    policy->Ended(succeeded, kNow + 2, &state);
    EXPECT_EQ(state, ended);
  }
  // One of which nobody heard: the next round comes to nothing.
  ASSERT_EQ(policy->Decide(MaestroPool(), kNow + 1000, &state).delta, 5);
  PolicyObservation enough = MaestroPool();
  enough.signals["rooms_occupied"] = {.value = 40};
  enough.signals["rooms_ready"] = {.value = 60};
  ASSERT_EQ(policy->Decide(enough, kNow + 1010, &state).delta, 0);
  const std::string after = state;
  policy->Ended(true, kNow + 1011, &state);
  EXPECT_EQ(state, after);
}

}  // namespace
}  // namespace ebb::policy_test
