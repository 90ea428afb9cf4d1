// Clusterman as a Policy: its observations, options, decisions and figures.

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

namespace ebb::policy_test::clusterman_policy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ClustermanPolicyTest, ClustermanScalesAHundredCpusToAHundredAndTwenty) {
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

TEST(ClustermanPolicyTest, ClustermanTakesAwayOnlyNodesThatMayBeKilled) {
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

TEST(ClustermanPolicyTest, ClustermanDoesNotActOnASignalOlderThanItsPeriod) {
  PolicyObservation pool = Pool(100, {.cpu_milli = 1000, .memory_bytes = 100 * kGib});
  pool.signals["cpus"] = {.value = 96, .at_s = kNow - 601};
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  std::string state;
  const PolicyDecision decision = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_NE(decision.denied_by, "");
}

constexpr int64_t kGigabyte = 1'000'000'000;

TEST(ClustermanPolicyTest, ClustermanCountsAPodThatWaitsAsItsMultiplierSays) {
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

TEST(ClustermanPolicyTest, ClustermansNewerSignalAddsToAllCapacityAndForgetsOldPods) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  AddPod(pool, 0, {.cpu_milli = 500, .memory_bytes = 50'000'000});
  AddPending(pool, {.cpu_milli = 900, .memory_bytes = 50'000'000});
  pool.pending.back().created_s = kNow - 601;
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.parameters.v2", true);
  std::string state;
  const PolicyDecision all = Make("clusterman", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(all, "signal asks for cpus"), "11.8");  // 10 and twice 0.9: above the margin.
  settings.Set("autoscale_signal.parameters.pending_pods_max_scheduling_seconds", 600.0);
  const PolicyDecision old = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(Figure(old, "signal asks for cpus"), "0.5");
  settings.Set("autoscale_signal.parameters.pending_pods_max_scheduling_seconds", 601.0);
  const PolicyDecision young = Make("clusterman", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(Figure(young, "signal asks for cpus"), "11.8");
}

TEST(ClustermanPolicyTest, ClustermanRefusesInputThatMakesTheProgramFail) {
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.parameters.per_pod_resource_requests", true);
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("clusterman", settings, &problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "autoscale_signal.parameters.per_pod_resource_requests");
  EXPECT_EQ(problems[0].what,
            "is refused: with it each run of Clusterman, commit 55d0831 of October 2023 fails");
}

TEST(ClustermanPolicyTest, ClustermanIgnoresExcludedResources) {
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

TEST(ClustermanPolicyTest, ClustermanTurnsWeightUnitsIntoWholeNodes) {
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

TEST(ClustermanPolicyTest, ClustermansSignalIsAsOldAsItsOldestResource) {
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

TEST(ClustermanPolicyTest, ClustermanOrdersTheNodesThatMayGo) {
  PolicyObservation pool = Pool(6, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  const PolicyResources small = {.cpu_milli = 100, .memory_bytes = 1'000'000};
  for (const size_t node : {0u, 2u, 2u, 3u}) AddPod(pool, node, small);
  AddPod(pool, 5, {.cpu_milli = 400, .memory_bytes = 1'000'000});
  pool.nodes[0].pods[0].annotations["clusterman.com/safe_to_evict"] = "false";
  pool.nodes[1].is_cordoned = true;
  pool.nodes[3].taints["clusterman.yelp.com/terminating"] = "";
  pool.nodes[4].created_s = kNow - 60;  // Empty, but not older than the minimum uptime.
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

TEST(ClustermanPolicyTest, ClustermanExcludesDaemonSetPodsOnlyIfConfigured) {
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

TEST(ClustermanPolicyTest, ClustermanDoesNotShrinkAfterItLostMoreNodesThanItsThreshold) {
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

TEST(ClustermanPolicyTest, ClustermanSizesAnEmptyPoolByWhatItRemembers) {
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

TEST(ClustermanPolicyTest, AKeptStateOfClustermanIsReadAndWrittenWithAllItsFields) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGigabyte});
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  // A pause until now, an offset, the number of nodes, and points of capacity and of memory.
  const std::string kept = "12 clusterman/1 1 1 1750000000 1 2.5 1 9 1 7 1 5 10 0 1 6 20.5 0 0 ";
  std::string state = kept;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "paused");
  EXPECT_EQ(state, kept);
  EXPECT_NE(policy->Decide(pool, kNow + 1, &state).denied_by, "paused");
}

TEST(ClustermanPolicyTest, AnOffsetThatIsKeptIsAddedToClustermansTarget) {
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

TEST(ClustermanPolicyTest, ClustermanTakesItsKeysWithTheirTypesAndRanges) {
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
              {"autoscale_signal.parameters.v2", kBool, "false"},
              {"autoscale_signal.parameters.pending_pods_max_scheduling_seconds", kNumber, "86400",
               false, 0},
              {"autoscale_signal.parameters.per_pod_resource_requests", kBool, "false"},
              {"node_weight", kNumber, "1", false, 1e-6, 1e9}});
}

// Ten idle nodes.
PolicyObservation TenIdle() { return Pool(10, {.cpu_milli = 1000, .memory_bytes = kGigabyte}); }

PolicySettings ClustermanWithSignals() {
  PolicySettings settings = Sample("clusterman");
  settings.Set("autoscale_signal.internal", false);
  return settings;
}

TEST(ClustermanPolicyTest, ClustermanReportsAllFiguresOfAStepThatALimitCut) {
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

TEST(ClustermanPolicyTest, ClustermansLimitThatLeavesNothingOfAStepDeniesIt) {
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

TEST(ClustermanPolicyTest, TheCloudsBoundsOfAPoolAreClustermansInWeightUnits) {
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

TEST(ClustermanPolicyTest, ClustermanDoesNotRemoveNodesThatAreAlreadyLeaving) {
  PolicyObservation pool = TenIdle();
  pool.nodes[3].is_leaving = true;
  std::string state;
  const PolicyDecision decision =
      Make("clusterman", Sample("clusterman"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -8);  // From 10 to min_capacity, 1; one of the 9 is leaving already.
  EXPECT_EQ(decision.candidates->size(), 9u);
}

TEST(ClustermanPolicyTest, ClustermanSeesAllResourcesOfPodsThatHaveTheirNode) {
  PolicyObservation pool =
      Pool(2, {.cpu_milli = 1000, .memory_bytes = kGigabyte, .disk_bytes = 5'000'000, .gpus = 4});
  AddPod(pool, 1, {.cpu_milli = 500, .memory_bytes = 3'000'000});
  PolicyPod& pod = pool.nodes[1].pods[0];
  pod.is_running = false;  // It is bound to a node, and starting.
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

TEST(ClustermanPolicyTest, ASignalOfZeroCountsAndAMissingSignalIsAFailure) {
  PolicyObservation pool = TenIdle();
  const std::unique_ptr<Policy> policy = Make("clusterman", ClustermanWithSignals());
  std::string state;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).denied_by, "the signals failed");
  pool.signals["queue"] = {.value = 5};  // Not one of Clusterman's resources.
  EXPECT_EQ(policy->Decide(pool, kNow, &(state = "")).denied_by, "the signals failed");
  pool.signals["disk"] = {.value = 0};
  const PolicyDecision zero = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(zero.reason, "request of zero");
  EXPECT_EQ(zero.delta, -9);
  EXPECT_EQ(Figure(zero, "signal asks for disk"), "0");
}

TEST(ClustermanPolicyTest, ASignalWithoutATimeMakesAnotherNoFresher) {
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

TEST(ClustermanPolicyTest, ClustermanRefusesAPoolThatItCannotRead) {
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

TEST(ClustermanPolicyTest, ClustermansProblemsNameTheirKeyAndEachIsReportedOnce) {
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

TEST(ClustermanPolicyTest, ClustermanCountsAllContainersButThoseThatStart) {
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

TEST(ClustermanPolicyTest, ALeavingNodeCountsFirstForClustermansRemovals) {
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

TEST(ClustermanPolicyTest, TheCloudsMaxLeavesClustermanRoomForLessThanANode) {
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

TEST(ClustermanPolicyTest, ALimitThatLeavesSomeOfAStepDidNotDenyIt) {
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

TEST(ClustermanPolicyTest, ClustermanNamesThePodThatItCannotRead) {
  PolicyObservation pool = TenIdle();
  AddPod(pool, 4, {.cpu_milli = 100, .memory_bytes = -5});
  const std::unique_ptr<Policy> policy = Make("clusterman", Sample("clusterman"));
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.denied_by, "error in the observation");
  EXPECT_THAT(decision.warnings, ElementsAre("pod shop/pod-0: requests"));
}

TEST(ClustermanPolicyTest, ANegativeOffsetIsReportedAndSubtracted) {
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

}  // namespace
}  // namespace ebb::policy_test::clusterman_policy_test
