#include "sizing/policy/clusterman/clusterman_pool.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace ebb::clusterman_pool_test {
namespace {

using State = ClustermanNodeState;

ClustermanPod Pod(const ClustermanAmounts& requests,
                  ClustermanPodPhase phase = ClustermanPodPhase::kRunning) {
  ClustermanPod pod;
  pod.name = "pod";
  pod.requests = requests;
  pod.phase = phase;
  return pod;
}

ClustermanAgent Agent(const std::string& name, std::vector<ClustermanPod> pods = {}) {
  return {
      .name = name, .ip = "ip-" + name, .allocatable = {8, 16000, 100, 0}, .pods = std::move(pods)};
}

ClustermanInstance Instance(const std::string& id, const std::string& ip) {
  return {.id = id, .group_id = "g", .ip = ip};
}

TEST(ClustermanPoolTest, InstancesAreMatchedToNodesByAddress) {
  ClustermanObservation observation;
  observation.agents = {Agent("busy", {Pod({1, 0, 0, 0})}), Agent("idle")};
  observation.agents[1].is_draining = true;
  observation.instances = {Instance("a", "ip-busy"), Instance("b", "ip-idle"),
                           Instance("c", "ip-none"), Instance("d", "")};
  const ClustermanPool pool = ReadPool({}, observation);
  EXPECT_EQ(pool.nodes[0].state, State::kRunning);
  EXPECT_EQ(pool.nodes[0].agent_id, "busy");
  EXPECT_EQ(pool.nodes[1].state, State::kIdle);
  EXPECT_TRUE(pool.nodes[1].is_draining);
  EXPECT_EQ(pool.nodes[2].state, State::kOrphaned);
  EXPECT_EQ(pool.nodes[2].agent_id, "");
  EXPECT_EQ(pool.nodes[3].state, State::kUnknown);
}

TEST(ClustermanPoolTest, OnlyPodsOfThePoolThatHaveTheirNodeAreTasks) {
  ClustermanPod foreign = Pod({100, 0, 0, 0});
  foreign.has_pool_label = false;
  ClustermanObservation observation;
  observation.agents = {
      Agent("n", {Pod({1, 2000, 0, 0}), Pod({2, 1000, 0, 0}, ClustermanPodPhase::kScheduled),
                  Pod({9, 0, 0, 0}, ClustermanPodPhase::kOther), foreign})};
  observation.instances = {Instance("a", "ip-n")};
  observation.pending_pods = {Pod({4, 0, 0, 0}, ClustermanPodPhase::kUnschedulable),
                              Pod({5, 0, 0, 0}, ClustermanPodPhase::kOther)};
  const ClustermanPool pool = ReadPool({}, observation);
  EXPECT_EQ(pool.nodes[0].task_count, 2);
  EXPECT_EQ(pool.nodes[0].priority, 5);  // Of the larger pod: 2 * 2 cores + 1 GB.
  EXPECT_EQ(pool.allocated, (ClustermanAmounts{3, 3000, 0, 0}));
  ASSERT_EQ(pool.unschedulable.size(), 1);
  EXPECT_EQ(pool.unschedulable[0].requests[0], 4);
}

TEST(ClustermanPoolTest, AnnotationsMarkCriticalAndBatchTasks) {
  ClustermanPod critical = Pod({});
  critical.safe_to_evict = "False";
  ClustermanPod batch = Pod({});
  batch.batch_safe_to_evict = "no";
  ClustermanPod neither = Pod({});
  neither.safe_to_evict = "true";
  neither.batch_safe_to_evict = "1";
  ClustermanObservation observation;
  observation.agents = {Agent("n", {critical}), Agent("m", {batch, batch, neither})};
  observation.instances = {Instance("a", "ip-n"), Instance("b", "ip-m")};
  const ClustermanPool pool = ReadPool({}, observation);
  EXPECT_FALSE(pool.nodes[0].is_safe_to_kill);
  EXPECT_EQ(pool.nodes[0].batch_task_count, 0);
  EXPECT_TRUE(pool.nodes[1].is_safe_to_kill);
  EXPECT_EQ(pool.nodes[1].batch_task_count, 2);
}

TEST(ClustermanPoolTest, DaemonSetsOfTheFirstNodeAreSubtractedFromEveryNodeOnlyIfConfigured) {
  ClustermanPod daemon = Pod({1, 1000, 0, 0});
  daemon.is_daemonset = true;
  ClustermanPod other_daemon = Pod({3, 0, 0, 0});
  other_daemon.is_daemonset = true;
  ClustermanObservation observation;
  ClustermanPod foreign = Pod({2, 0, 0, 0});
  foreign.has_pool_label = false;
  observation.agents = {Agent("n", {daemon, foreign}), Agent("m", {other_daemon}), Agent("o")};
  observation.instances = {Instance("a", "ip-n")};
  ClustermanPool pool = ReadPool({}, observation);
  EXPECT_EQ(pool.total, (ClustermanAmounts{24, 48000, 300, 0}));
  EXPECT_EQ(pool.nodes[0].state, State::kRunning);
  EXPECT_EQ(pool.allocated[0], 4);
  ClustermanOptions exclude;
  exclude.exclude_daemonset_pods = true;
  pool = ReadPool(exclude, observation);
  EXPECT_EQ(pool.total, (ClustermanAmounts{21, 45000, 300, 0}));
  EXPECT_EQ(pool.nodes[0].state, State::kIdle);
  EXPECT_EQ(pool.allocated[0], 0);
}

TEST(ClustermanPoolTest, AFaultNamesWhatIsWrong) {
  const double nan = std::nan("");
  const auto fault = [](auto change) {
    ClustermanObservation observation;
    observation.groups = {{.id = "g"}};
    observation.instances = {Instance("a", "ip-n")};
    observation.agents = {Agent("n", {Pod({})})};
    observation.pending_pods = {Pod({})};
    change(observation);
    return Fault(observation);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& o) { o.groups.push_back({.id = "g"}); }), "group g: occurs twice");
  for (const double bad : {nan, std::numeric_limits<double>::infinity(), 1e17}) {
    EXPECT_NE(fault([&](auto& o) { o.groups[0].target_capacity = bad; }), "");
    EXPECT_NE(fault([&](auto& o) { o.groups[0].fulfilled_capacity = bad; }), "");
    EXPECT_NE(fault([&](auto& o) { o.groups[0].min_capacity = bad; }), "");
    EXPECT_NE(fault([&](auto& o) { o.groups[0].stale_weight = bad; }), "");
    EXPECT_EQ(fault([&](auto& o) { o.instances[0].weight = bad; }), "instance a: weight");
  }
  EXPECT_NE(fault([&](auto& o) { o.groups[0].max_capacity = nan; }), "");
  EXPECT_EQ(fault([](auto& o) { o.instances.push_back(o.instances[0]); }),
            "instance a: occurs twice");
  EXPECT_EQ(fault([](auto& o) { o.instances[0].weight = -1; }), "instance a: weight");
  EXPECT_EQ(fault([&](auto& o) { o.instances[0].uptime_s = nan; }), "instance a: uptime");
  EXPECT_EQ(fault([](auto& o) { o.agents[0].ip.clear(); }), "node n: has no address");
  EXPECT_EQ(fault([](auto& o) { o.agents.push_back(o.agents[0]); }),
            "node n: another has its address ip-n");
  EXPECT_EQ(fault([&](auto& o) { o.agents[0].allocatable[1] = nan; }), "node n: allocatable");
  EXPECT_EQ(fault([](auto& o) { o.agents[0].pods[0].requests[2] = -1; }), "pod pod: requests");
  EXPECT_EQ(fault([&](auto& o) { o.pending_pods[0].requests[0] = nan; }), "pod pod: requests");
  EXPECT_EQ(fault([&](auto& o) { o.pending_pods[0].age_s = nan; }), "pod pod: age");
  EXPECT_EQ(fault([](auto& o) { o.agents[0].pods[0].safe_to_evict = "maybe"; }),
            "pod pod: safe to evict: \"maybe\" is neither true nor false");
}

TEST(ClustermanBoolTest, AcceptsWhatThePythonFunctionAccepts) {
  for (const char* const yes : {"y", "yes", "t", "true", "on", "1", "TRUE", "On"}) {
    EXPECT_EQ(ClustermanBool(yes), true) << yes;
  }
  for (const char* const no : {"n", "no", "f", "false", "off", "0", "False"}) {
    EXPECT_EQ(ClustermanBool(no), false) << no;
  }
  for (const char* const neither : {"", "2", "truee", " true"}) {
    EXPECT_EQ(ClustermanBool(neither), std::nullopt) << neither;
  }
}

TEST(ClustermanPoolTest, FaultsCoverBothAnnotationsAndNumbersThatAreTooLarge) {
  ClustermanObservation good;
  good.groups = {{.id = "g"}};
  good.instances = {Instance("g", "ip-n")};  // An instance may have a group's id.
  good.agents = {Agent("n", {Pod({})}), Agent("m")};
  good.pending_pods = {Pod({}), Pod({})};
  good.groups[0].target_capacity = good.groups[0].fulfilled_capacity = 9007199254740992.0;
  good.instances[0].weight = 0;
  EXPECT_EQ(Fault(good), "");
  ClustermanObservation bad = good;
  bad.groups[0].target_capacity *= 2;
  EXPECT_EQ(Fault(bad), "group g: capacity is not a number, or too large");
  bad = good;
  bad.agents[0].pods[0].batch_safe_to_evict = "perhaps";
  EXPECT_EQ(Fault(bad), "pod pod: safe to evict: \"perhaps\" is neither true nor false");
  bad = good;
  bad.pending_pods[1].safe_to_evict = "";
  EXPECT_EQ(Fault(bad), "pod pod: safe to evict: \"\" is neither true nor false");
  bad = good;
  bad.agents[1].allocatable[3] = -1;
  EXPECT_EQ(Fault(bad), "node m: allocatable");
}

TEST(ClustermanPoolTest, TheNodeHasTheCloudsFieldsOfItsInstance) {
  ClustermanObservation observation;
  observation.instances = {Instance("a", ""), Instance("b", "")};
  observation.instances[0].weight = 3;
  observation.instances[0].is_cordoned = observation.instances[0].is_stale = true;
  observation.instances[0].uptime_s = 77;
  observation.instances[1].is_running = false;
  const ClustermanPool pool = ReadPool({}, observation);
  ASSERT_EQ(pool.nodes.size(), 2);
  EXPECT_EQ(pool.nodes[0].id, "a");
  EXPECT_EQ(pool.nodes[0].group_id, "g");
  EXPECT_EQ(pool.nodes[0].weight, 3);
  EXPECT_TRUE(pool.nodes[0].is_running && pool.nodes[0].is_cordoned && pool.nodes[0].is_stale);
  EXPECT_EQ(pool.nodes[0].uptime_s, 77);
  EXPECT_FALSE(pool.nodes[1].is_running || pool.nodes[1].is_cordoned || pool.nodes[1].is_stale);
}

TEST(ClustermanPoolTest, UnschedulablePodsOfNodesWaitToo) {
  ClustermanObservation observation;
  observation.agents = {Agent("n", {Pod({7, 0, 0, 0}, ClustermanPodPhase::kUnschedulable)})};
  const ClustermanPool pool = ReadPool({}, observation);
  EXPECT_EQ(pool.unschedulable.size(), 1);
  EXPECT_EQ(pool.allocated, ClustermanAmounts{});
}

TEST(ClustermanPoolTest, ThePriorityIsThatOfTheLargestTaskAtAnyPlace) {
  ClustermanObservation observation;
  observation.agents = {Agent("n", {Pod({9, 9000, 0, 0}, ClustermanPodPhase::kOther),
                                    Pod({3, 500, 0, 0}), Pod({1, 0, 0, 0})})};
  observation.instances = {Instance("a", "ip-n")};
  const ClustermanPool pool = ReadPool({}, observation);
  EXPECT_EQ(pool.nodes[0].task_count, 2);
  EXPECT_EQ(pool.nodes[0].priority, 6.5);  // 2 * 3 cores + 0.5 GB.
  EXPECT_EQ(pool.nodes[0].state, State::kRunning);
}

TEST(ClustermanPoolTest, CapacitiesMayBeAsLargeAsDoublesCount) {
  constexpr double kLargest = 9007199254740992.0;
  ClustermanObservation good;
  good.groups = {{.id = "g", .max_capacity = -kLargest}};
  good.groups[0].target_capacity = good.groups[0].min_capacity = -kLargest;
  good.groups[0].stale_weight = kLargest;
  good.instances = {Instance("a", "")};
  good.instances[0].weight = kLargest;
  EXPECT_EQ(Fault(good), "");
  const auto fault = [&](auto change) {
    ClustermanObservation bad = good;
    change(bad);
    return Fault(bad);
  };
  const std::string capacity = "group g: capacity is not a number, or too large";
  EXPECT_EQ(fault([](auto& o) { o.groups[0].max_capacity *= 2; }), capacity);
  EXPECT_EQ(fault([](auto& o) { o.groups[0].min_capacity *= 2; }), capacity);
  EXPECT_EQ(fault([](auto& o) { o.groups[0].stale_weight *= 2; }), capacity);
  EXPECT_EQ(fault([](auto& o) { o.instances[0].weight *= 2; }), "instance a: weight");
}

TEST(ClustermanPoolTest, WithoutNodesNoDaemonSetPodsAreSubtracted) {
  ClustermanOptions exclude;
  exclude.exclude_daemonset_pods = true;
  const ClustermanPool pool = ReadPool(exclude, ClustermanObservation{});
  EXPECT_EQ(pool.total, ClustermanAmounts{});
  EXPECT_TRUE(pool.nodes.empty());
}

}  // namespace
}  // namespace ebb::clusterman_pool_test
