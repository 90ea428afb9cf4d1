// Escalator as a Policy: its observations, options, decisions and figures.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "tests/sizing/policy/sample_pools.h"

namespace ebb::policy_test::escalator_policy_test {
namespace {

using ::testing::ElementsAre;

TEST(EscalatorPolicyTest, EscalatorRequestsSixNodesAtTwoHundredAndFiftyPercent) {
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

TEST(EscalatorPolicyTest, EscalatorIsLockedAfterItGrew) {
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

TEST(EscalatorPolicyTest, EscalatorLetsTheOldestNodeGoFirst) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -2);
  ASSERT_EQ(decision.candidates->size(), 4u);
  EXPECT_EQ(decision.candidates->front(), "node-3");
  EXPECT_EQ(Figure(decision, "tainted now by the program"), "node-3, node-2");
}

// Symptom: an evaluation did not say which nodes the program taints and which it deletes.
TEST(EscalatorPolicyTest, EscalatorNamesWhatTheProgramTaintsBesideWhatItDeletes) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  const std::string taint = "atlassian.com/escalator";
  pool.nodes[3].taints[taint] = std::to_string(kNow - 301);  // Empty, and past the soft period.
  pool.nodes[2].taints[taint] = std::to_string(kNow - 10);
  std::string state;
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, -1);
  EXPECT_THAT(decision.remove, ElementsAre("node-3"));
  EXPECT_EQ(Figure(decision, "tainted now by the program"), "node-1");
  AddPod(pool, 0, {.cpu_milli = 1000, .memory_bytes = 10});
  EXPECT_EQ(Figure(policy->Decide(pool, kNow, &state), "tainted now by the program"), "(absent)");
}

TEST(EscalatorPolicyTest, EscalatorTakesNoLockForGrowthThatWasRefused) {
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

TEST(EscalatorPolicyTest, AWrongSettingIsReportedWithItsKey) {
  PolicySettings settings = Sample("escalator");
  settings.Set("soft_delete_grace_period", "soon");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalator", settings, &problems), nullptr);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].path, "soft_delete_grace_period");
}

TEST(EscalatorPolicyTest, EscalatorCountsPodsOfItsGroupWithAllThatTheyAskFor) {
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

TEST(EscalatorPolicyTest, EscalatorsDefaultGroupHasPodsThatAskForNoNode) {
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (int i = 0; i < 4; ++i) AddPod(pool, 0, {.cpu_milli = 10, .memory_bytes = 10});
  std::vector<PolicyPod>& pods = pool.nodes[0].pods;
  for (size_t i = 0; i < 3; ++i) pods[i].node_selector.clear();  // The fourth pod selects a node.
  pods[1].annotations["kubernetes.io/config.source"] = "file";
  pods[2].has_affinity = true;
  PolicySettings settings = Sample("escalator");
  settings.Set("name", "default");
  std::string state;
  EXPECT_EQ(Figure(Make("escalator", settings)->Decide(pool, kNow, &state), "pods"), "1");
}

TEST(EscalatorPolicyTest, EscalatorSortsNodesByTheirTaintsAndThoseThatLeaveAreTainted) {
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

TEST(EscalatorPolicyTest, EscalatorReportsWhyItDidNotAct) {
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

TEST(EscalatorPolicyTest, EscalatorGrowsForAPodThatFitsNoNodeOnlyWithScaleOnStarve) {
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

TEST(EscalatorPolicyTest, EscalatorReplacesANodeOlderThanItsMaximumAge) {
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

constexpr const char* kTaint = "atlassian.com/escalator";

// Busy enough that Escalator grows.
PolicyObservation BusyPool(size_t nodes) {
  PolicyObservation pool = Pool(nodes, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t node = 0; node < nodes; ++node) {
    AddPod(pool, node, {.cpu_milli = 600, .memory_bytes = 10});
  }
  return pool;
}

TEST(EscalatorPolicyTest, EscalatorRemovesTaintsBeforeItRequestsNodes) {
  PolicyObservation pool = BusyPool(4);  // 240% of one untainted node.
  for (const size_t node : {0u, 1u, 2u}) {
    pool.nodes[node].taints[kTaint] = std::to_string(kNow - 10);
  }
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 3);
  // The newest come first.
  EXPECT_THAT(decision.taints,
              ElementsAre(PolicyTaint{.node = "node-0", .key = kTaint, .put = false},
                          PolicyTaint{.node = "node-1", .key = kTaint, .put = false},
                          PolicyTaint{.node = "node-2", .key = kTaint, .put = false}));
  EXPECT_THAT(decision.remove, ElementsAre());
}

TEST(EscalatorPolicyTest, EscalatorRemovesTaintedNodesAfterTheirGracePeriods) {
  PolicyObservation pool = Pool(6, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (const size_t node : {0u, 1u}) AddPod(pool, node, {.cpu_milli = 600, .memory_bytes = 10});
  for (const size_t node : {2u, 3u}) AddPod(pool, node, {.cpu_milli = 1, .memory_bytes = 10});
  pool.nodes[2].taints[kTaint] = std::to_string(kNow - 601);  // Past the hard period.
  // Not past the hard period, and not empty.
  pool.nodes[3].taints[kTaint] = std::to_string(kNow - 600);
  pool.nodes[4].taints[kTaint] = std::to_string(kNow - 301);  // Empty, and past the soft period.
  pool.nodes[5].taints[kTaint] = std::to_string(kNow - 300);
  std::string state;
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_THAT(decision.remove, ElementsAre("node-2", "node-4"));
  pool.nodes[4].annotations["atlassian.com/no-delete"] = "x";
  pool.nodes[2].is_leaving = true;
  EXPECT_THAT(policy->Decide(pool, kNow, &state).remove, ElementsAre());
  pool.nodes[5].taints[kTaint] = "soon";
  const PolicyDecision unread = policy->Decide(pool, kNow, &state);
  EXPECT_THAT(unread.warnings,
              testing::Contains("tainted nodes stay, as the value of atlassian.com/escalator is "
                                "not a time: node-5"));
}

TEST(EscalatorPolicyTest, EscalatorRemovesEmptyNodesWithAForceTaintAtOnce) {
  PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (const size_t node : {0u, 1u, 2u}) AddPod(pool, node, {.cpu_milli = 450, .memory_bytes = 10});
  for (const size_t node : {2u, 3u}) pool.nodes[node].taints["atlassian.com/escalator-force"] = "";
  pool.nodes[3].annotations["atlassian.com/no-delete"] = "x";  // Has no effect on this node.
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(pool, kNow, &state);
  EXPECT_THAT(decision.remove, ElementsAre("node-3"));
  EXPECT_EQ(Figure(decision, "force-tainted nodes"), "2");
}

TEST(EscalatorPolicyTest, EscalatorAlwaysTaintsUnhealthyNodes) {
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (const size_t node : {0u, 1u}) AddPod(pool, node, {.cpu_milli = 900, .memory_bytes = 10});
  for (const size_t node : {0u, 1u, 2u}) pool.nodes[node].ready = false;
  pool.nodes[1].taints[kTaint] = std::to_string(kNow - 10);
  pool.nodes[2].is_leaving = true;
  PolicySettings settings = Sample("escalator");
  settings.Set("unhealthy_node_grace_period", "1m");
  settings.Set("health_check_newest_nodes_percent", int64_t{100});
  std::string state;
  const PolicyDecision decision = Make("escalator", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_THAT(
      decision.taints,
      ElementsAre(PolicyTaint{
          .node = "node-0", .key = kTaint, .value = std::to_string(kNow), .effect = "NoSchedule"}));
  settings.Set("dry_mode", true);
  EXPECT_THAT(Make("escalator", settings)->Decide(pool, kNow, &(state = "")).taints, ElementsAre());
}

TEST(EscalatorPolicyTest, EscalatorDoesNotScaleWhileTooManyNodesAreUnhealthy) {
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

TEST(EscalatorPolicyTest, EscalatorWarnsOfUnlikeNodesPodsWithoutRequestsAndErrors) {
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

TEST(EscalatorPolicyTest, EscalatorGrowsFromZeroByTheSizeThatItRemembers) {
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

TEST(EscalatorPolicyTest, AFailureGivesEscalatorTheLockBackThatItHadBefore) {
  const std::unique_ptr<Policy> policy = Make("escalator", Sample("escalator"));
  // The lock; the size of a node, a taint, the last delta and growth; the lock before the decision.
  const std::string rest = "4000 8000 1 6 node-0 3 1 1749990000 0 2 1 1749999000 ";
  const std::string kept = "11 escalator/2 1 3 1 1750000000 " + rest;
  std::string state = kept;
  policy->Ended(true, kNow, &state);
  EXPECT_EQ(state, kept);
  policy->Ended(false, kNow, &state);
  EXPECT_EQ(state, "11 escalator/2 0 2 1 1749999000 " + rest);
}

TEST(EscalatorPolicyTest, EscalatorTakesItsKeysWithTheirTypesAndRanges) {
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

TEST(EscalatorPolicyTest, EscalatorShrinksAtTheSlowRateAndReportsItsFigures) {
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

TEST(EscalatorPolicyTest, TheCloudsMinimumBoundsWhatEscalatorTakesAway) {
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

TEST(EscalatorPolicyTest, EscalatorDecidesNothingWithoutItsCloudGroup) {
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

TEST(EscalatorPolicyTest, EscalatorsGroupMayHaveAFixedSizeAndOtherProblemsNameTheirKey) {
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

TEST(EscalatorPolicyTest, EscalatorSubtractsPodsFromTheNodesThatTheyRunOn) {
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

TEST(EscalatorPolicyTest, EscalatorNamesAllUnlikeNodesAndPodsWithoutRequests) {
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

TEST(EscalatorPolicyTest, EscalatorGrowsBackToItsMinimumUnlessTheCloudIsFull) {
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

TEST(EscalatorPolicyTest, EscalatorDecidesNothingForNodesWithoutCapacity) {
  std::string state;
  const PolicyDecision decision =
      Make("escalator", Sample("escalator"))->Decide(Pool(1, {.memory_bytes = 1000}), kNow, &state);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.reason, "calc_error");
  EXPECT_EQ(decision.denied_by, "divide_by_zero");
  EXPECT_THAT(decision.warnings, ElementsAre("cannot divide by zero in percent calculation"));
}

TEST(EscalatorPolicyTest, AFixedSizeDoesNotHideOtherProblemsOfEscalator) {
  PolicySettings settings = Sample("escalator");
  settings.Set("min_nodes", int64_t{2});
  settings.Set("max_nodes", int64_t{2});
  settings.Set("taint_effect", "Never");
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalator", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"taint_effect",
                                                  "taint_effect must be valid kubernetes taint"}));
}

}  // namespace
}  // namespace ebb::policy_test::escalator_policy_test
