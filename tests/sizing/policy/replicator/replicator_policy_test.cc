// Replicator as a Policy: its observations, options, decisions and figures.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "tests/sizing/policy/sample_pools.h"

namespace ebb::policy_test::replicator_policy_test {
namespace {

using ::testing::ElementsAre;

TEST(ReplicatorPolicyTest, ReplicatorGrowsAtTheThirdRequest) {
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

TEST(ReplicatorPolicyTest, ReplicatorIsInFailsafeAfterThreeFailuresUntilAnOperatorEndsIt) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = 900, .memory_bytes = 1});
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_scaling_threshold", int64_t{1});
  std::string state;
  for (int failure = 1; failure <= 3; ++failure) {
    const std::unique_ptr<Policy> policy = Make("replicator", settings);  // After a restart.
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

TEST(ReplicatorPolicyTest, ReplicatorKnowsOneProvider) {
  for (const char* provider : {"gcp", "aaa", "azure", ""}) {
    PolicySettings settings = Sample("replicator");
    settings.Set("replicator_provider", std::string(provider));
    std::vector<PolicyProblem> problems;
    EXPECT_EQ(PolicyRegistry().Make("replicator", settings, &problems), nullptr) << provider;
    EXPECT_FALSE(problems.empty()) << provider;
  }
}

TEST(ReplicatorPolicyTest, ReplicatorKeepsRoomForRunningScaledJobsAndReportsItsFigures) {
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

TEST(ReplicatorPolicyTest, ReplicatorLetsTheLeastUsedNodeGoFirstAndNeverTheProtectedOne) {
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

// A round of Replicator on four nodes, each with `used` of 1000m in use, at the first request.
PolicyDecision ReplicatorAt(int64_t used, PolicySettings settings) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (size_t i = 0; i < 4; ++i) AddPod(pool, i, {.cpu_milli = used, .memory_bytes = 1});
  settings.Set("replicator_scaling_threshold", int64_t{1});
  std::string state;
  return Make("replicator", settings)->Decide(pool, kNow, &state);
}

TEST(ReplicatorPolicyTest, ReplicatorHeedsItsBoundsItsFactorAndItsFaultTolerance) {
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

TEST(ReplicatorPolicyTest, ReplicatorThatIsNotEnabledDecidesNothing) {
  PolicySettings settings = Sample("replicator");
  settings.Set("replicator_enabled", false);
  const PolicyDecision decision = ReplicatorAt(900, settings);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.denied_by, "replicator_enabled");
  EXPECT_EQ(decision.reason, "not_enabled");
}

TEST(ReplicatorPolicyTest, ReplicatorReadsBothSpellingsOfTheCooldownAndItsOwnCountsMore) {
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

TEST(ReplicatorPolicyTest, ReplicatorWarnsWhenItEntersFailsafeAtItsRetryThreshold) {
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

TEST(ReplicatorPolicyTest, AKeptStateOfReplicatorIsReadAndWrittenWithAllItsFields) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  const std::unique_ptr<Policy> policy = Make("replicator", Sample("replicator"));
  // Requests, failures, failsafe; the times of the last operation and notice; a running operation.
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

TEST(ReplicatorPolicyTest, ReplicatorTakesItsKeysWithTheirTypesAndRanges) {
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

TEST(ReplicatorPolicyTest, ReplicatorUsesTheCapacityOfNodesAndReportsTheDirectionOut) {
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

TEST(ReplicatorPolicyTest, ReplicatorHeedsTheGroupOfTheCloud) {
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

TEST(ReplicatorPolicyTest, ReplicatorDecidesNothingOfAPoolWithoutNodes) {
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

TEST(ReplicatorPolicyTest, ReplicatorsProblemsAreReported) {
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

}  // namespace
}  // namespace ebb::policy_test::replicator_policy_test
