#include "sizing/policy/escalator/escalator_group.h"

#include <limits>
#include <utility>

#include "gtest/gtest.h"

namespace ebb::escalator_group_test {
namespace {

constexpr int64_t kMinute = 60'000'000'000;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

EscalatorOptions Named(std::string name) {
  return {.name = std::move(name), .label_key = "k", .label_value = "v"};
}

bool IsOf(const std::string& group, const EscalatorPod& pod) { return Belongs(Named(group), pod); }

TEST(EscalatorGroupTest, NodesBelongByKeyAndValue) {
  const EscalatorOptions options = Named("g");
  EXPECT_TRUE(Belongs(options, EscalatorNode{.labels = {{"k", "v"}, {"x", "y"}}}));
  EXPECT_FALSE(Belongs(options, EscalatorNode{.labels = {{"k", "w"}}}));
  EXPECT_FALSE(Belongs(options, EscalatorNode{.labels = {{"x", "v"}}}));
  EXPECT_FALSE(Belongs(options, EscalatorNode{}));
}

TEST(EscalatorGroupTest, PodsBelongByNodeSelector) {
  EXPECT_TRUE(IsOf("g", {.node_selector = {{"k", "v"}}}));
  EXPECT_TRUE(IsOf("g", {.is_static = true, .node_selector = {{"k", "v"}}}));
  EXPECT_FALSE(IsOf("g", {.node_selector = {{"k", "w"}}}));
  EXPECT_FALSE(IsOf("g", {}));
}

TEST(EscalatorGroupTest, PodsBelongByAnyRequiredAffinityWithIn) {
  const EscalatorExpression other{.key = "x", .values = {"v"}};
  const EscalatorExpression in{.key = "k", .values = {"u", "v"}};
  const EscalatorExpression not_in{.key = "k", .is_in = false, .values = {"v"}};
  EXPECT_TRUE(IsOf("g", {.required_node_affinity = {other, in}, .has_affinity = true}));
  EXPECT_FALSE(IsOf("g", {.required_node_affinity = {other, not_in}, .has_affinity = true}));
}

TEST(EscalatorGroupTest, PodsOfTheDefaultGroupSelectNoNode) {
  EXPECT_TRUE(IsOf("default", {}));
  EXPECT_FALSE(IsOf("default", {.is_static = true}));
  EXPECT_FALSE(IsOf("default", {.node_selector = {{"k", "v"}}}));
  EXPECT_FALSE(IsOf("default", {.has_affinity = true}));
}

TEST(EscalatorGroupTest, PodsOfDaemonSetsAndFinishedOnesNeverBelong) {
  for (const char* group : {"default", "g"}) {
    EscalatorPod pod;
    if (group == std::string("g")) pod.node_selector = {{"k", "v"}};
    for (const auto phase :
         {EscalatorPhase::kPending, EscalatorPhase::kRunning, EscalatorPhase::kUnknown}) {
      pod.phase = phase;
      EXPECT_TRUE(IsOf(group, pod));
    }
    pod.is_daemonset = true;
    EXPECT_FALSE(IsOf(group, pod));
    pod.is_daemonset = false;
    for (const auto phase : {EscalatorPhase::kSucceeded, EscalatorPhase::kFailed}) {
      pod.phase = phase;
      EXPECT_FALSE(IsOf(group, pod));
    }
  }
}

TEST(EscalatorGroupTest, ARequestIsTheLargestOfContainersAndInitContainersPlusOverhead) {
  const EscalatorPod pod{.containers = {{100, 10}, {200, std::nullopt}},
                         .init_containers = {{250, 5}, {std::nullopt, 30}},
                         .overhead = {7, 1}};
  EXPECT_EQ(RequestOf(pod), (EscalatorResources{307, 31}));
  EXPECT_EQ(RequestOf({}), EscalatorResources{});
}

TEST(EscalatorGroupTest, RequestsSaturate) {
  const EscalatorPod pod{.containers = {{kLargest, kLargest}, {kLargest, 1}}, .overhead = {1, 1}};
  EXPECT_EQ(RequestOf(pod), (EscalatorResources{kLargest, kLargest}));
}

TEST(EscalatorGroupTest, ANodeIsUnhealthyFromTheEndOfItsGracePeriodOn) {
  EscalatorNode node{.created_s = 1000, .ready = false};
  EXPECT_FALSE(IsUnhealthy(node, kMinute, 1059));
  EXPECT_TRUE(IsUnhealthy(node, kMinute, 1060));
  node.ready = std::nullopt;
  EXPECT_TRUE(IsUnhealthy(node, kMinute, 1060));
  node.unschedulable = true;
  EXPECT_FALSE(IsUnhealthy(node, kMinute, 1060));
  node = {.created_s = 1000, .ready = true};
  EXPECT_FALSE(IsUnhealthy(node, kMinute, 5000));
}

TEST(EscalatorGroupTest, AgesDoNotLeaveTheirRange) {
  EXPECT_EQ(AgeNs(kLargest, -kLargest), kLargest);
  EXPECT_EQ(AgeNs(-kLargest, kLargest), -kLargest - 1);
  EXPECT_EQ(AgeNs(3, 5), -2'000'000'000);
}

// One node for each combination of cordon, force taint and taint, in this order of bits.
EscalatorObservation AllKinds() {
  EscalatorObservation observation;
  for (int i = 0; i < 8; ++i) {
    EscalatorNode node{.name = "n" + std::to_string(i),
                       .labels = {{"k", "v"}},
                       .unschedulable = (i & 4) != 0,
                       .force_taint = (i & 2) != 0};
    if ((i & 1) != 0) node.taint = "1";
    observation.nodes.push_back(node);
  }
  return observation;
}

TEST(EscalatorGroupTest, EachNodeIsInOneClass) {
  const EscalatorObservation observation = AllKinds();
  EscalatorGroup group = Select(Named("g"), observation);
  Classify(observation, /*dry_mode=*/false, {"n0"}, &group);
  EXPECT_EQ(group.untainted, (std::vector<size_t>{0}));
  EXPECT_EQ(group.tainted, (std::vector<size_t>{1}));
  EXPECT_EQ(group.force_tainted, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(group.cordoned, (std::vector<size_t>{4, 5, 6, 7}));
}

TEST(EscalatorGroupTest, InDryModeOnlyTheTrackerTaints) {
  const EscalatorObservation observation = AllKinds();
  EscalatorGroup group = Select(Named("g"), observation);
  Classify(observation, /*dry_mode=*/true, {"n6", "gone", "n6", "n0"}, &group);
  EXPECT_EQ(group.tainted, (std::vector<size_t>{0, 6}));
  EXPECT_EQ(group.untainted.size(), 6);
  EXPECT_TRUE(group.force_tainted.empty());
  EXPECT_TRUE(group.cordoned.empty());
}

TEST(EscalatorGroupTest, OnlyPodsOfTheGroupHoldANode) {
  EscalatorObservation observation{.nodes = {{.name = "a"}, {.name = "b"}, {.name = "c"}}};
  for (EscalatorNode& node : observation.nodes) node.labels = {{"k", "v"}};
  observation.pods = {{.node = "a", .node_selector = {{"k", "v"}}},
                      {.node = "b"},
                      {.node = "c", .is_daemonset = true, .node_selector = {{"k", "v"}}}};
  const EscalatorGroup group = Select(Named("g"), observation);
  EXPECT_FALSE(group.IsEmpty(observation.nodes[0]));
  EXPECT_TRUE(group.IsEmpty(observation.nodes[1]));
  EXPECT_TRUE(group.IsEmpty(observation.nodes[2]));
}

TEST(EscalatorGroupTest, WarnsOfUnlikeNodesAndOfPodsWithoutRequestsByName) {
  EscalatorObservation observation;
  const auto add = [&](const char* name, EscalatorResources allocatable) {
    observation.nodes.push_back({.name = name, .allocatable = allocatable, .labels = {{"k", "v"}}});
  };
  add("small", {500, 100});
  add("a", {1000, 100});
  add("b", {1000, 100});
  add("wide", {1000, 200});
  observation.nodes.push_back({.name = "other group", .allocatable = {7, 7}});
  const std::map<std::string, std::string> selector = {{"k", "v"}};
  observation.pods = {
      {.name = "full", .containers = {{1, 1}}, .node_selector = selector},
      {.name = "no cpu", .containers = {{1, 1}, {std::nullopt, 1}}, .node_selector = selector},
      {.name = "no memory", .containers = {{1, std::nullopt}}, .node_selector = selector},
      {.name = "other group's", .containers = {{}}}};
  EscalatorWarnings warnings = Warnings(observation, Select(Named("g"), observation));
  EXPECT_EQ(warnings.unlike_nodes, (std::vector<std::string>{"small", "wide"}));
  EXPECT_EQ(warnings.pods_without_requests, (std::vector<std::string>{"no cpu", "no memory"}));

  // One node of each size: the first node's size counts.
  observation.nodes.erase(observation.nodes.begin() + 2);
  warnings = Warnings(observation, Select(Named("g"), observation));
  EXPECT_EQ(warnings.unlike_nodes, (std::vector<std::string>{"a", "wide"}));
}

TEST(EscalatorGroupTest, NoNodesNoWarning) { EXPECT_EQ(Warnings({}, {}), EscalatorWarnings{}); }

TEST(EscalatorGroupTest, FaultsNameTheObject) {
  const EscalatorCloudGroup cloud{.min = 1, .max = 3, .desired = 7};
  EscalatorObservation good{.cloud = cloud};
  EXPECT_EQ(Fault(good), "");
  EXPECT_EQ(Fault(EscalatorObservation{}), "cloud: the group was not read");
  good.cloud = {.min = -1, .max = 3, .desired = 1};
  EXPECT_EQ(Fault(good), "cloud.min: -1 is below 0");
  good.cloud = {.min = 4, .max = 3, .desired = 1};
  EXPECT_EQ(Fault(good), "cloud.min: 4 is above max, 3");
  good.cloud = {.min = 1, .max = 3, .desired = -1};
  EXPECT_EQ(Fault(good), "cloud.desired: -1 is below 0");
  good.cloud = cloud;
  good.nodes = {{.name = "n", .allocatable = {1, -1}}};
  EXPECT_EQ(Fault(good), "node n: allocatable: below 0");
  good.nodes.clear();
  good.pods = {{.name = "p", .init_containers = {{-1, 0}}}};
  EXPECT_EQ(Fault(good), "pod p: requests: below 0");
  good.pods = {{.name = "p", .overhead = {0, -1}}};
  EXPECT_EQ(Fault(good), "pod p: overhead: below 0");
}

TEST(EscalatorGroupTest, EveryAmountBelowZeroIsAFault) {
  EscalatorObservation good{.cloud = EscalatorCloudGroup{.min = 0, .max = 0, .desired = 0}};
  EXPECT_EQ(Fault(good), "");
  good.nodes = {{.name = "zero", .allocatable = {0, 0}}, {.name = "n", .allocatable = {-1, 0}}};
  EXPECT_EQ(Fault(good), "node n: allocatable: below 0");
  good.nodes.pop_back();
  good.pods = {{.name = "zero", .containers = {{0, 0}}}, {.name = "p", .containers = {{0, -1}}}};
  EXPECT_EQ(Fault(good), "pod p: requests: below 0");
  good.pods[1].containers = {{0, 0}, {-1, 0}};
  EXPECT_EQ(Fault(good), "pod p: requests: below 0");
  good.pods[1].containers = {{std::nullopt, std::nullopt}};
  EXPECT_EQ(Fault(good), "");
  good.pods[1].overhead = {-1, 0};
  EXPECT_EQ(Fault(good), "pod p: overhead: below 0");
}

TEST(EscalatorGroupTest, AnAffinityToAnotherValueIsToAnotherGroup) {
  const EscalatorExpression other{.key = "k", .values = {"u", "w"}};
  EXPECT_FALSE(IsOf("g", {.required_node_affinity = {other}, .has_affinity = true}));
  EXPECT_TRUE(IsOf("g", {.node_selector = {{"k", "v"}}, .required_node_affinity = {other}}));
}

}  // namespace
}  // namespace ebb::escalator_group_test
