#include "loop/shrink_plan.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "loop/loop.h"
#include "tests/engine/planning.h"

namespace ebb::shrink_plan_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodesNamed;
using test::OneGroup;
using test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNow = 1'000'000;

class ShrinkPlanTest : public testing::Test {
 protected:
  static std::vector<std::string> Plan(ClusterSnapshot& snapshot,
                                       const std::vector<std::string_view>& leaving,
                                       const std::vector<ShrinkAsk>& asks) {
    Observation observed;
    observed.snapshot = &snapshot;
    observed.groups = OneGroup(snapshot);
    const auto plan = PlanShrink(observed, NodesNamed(snapshot, leaving), asks, {}, kNow);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<std::string> names;
    if (!plan.ok()) return names;
    for (const DeletionOrder& order : plan->orders) {
      EXPECT_EQ(order.group, "group");
      names.push_back(order.node);
    }
    return names;
  }
};

// Four nodes with a pod each; two pods fit on one node.
ClusterSnapshot Four() {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c", "d"}) {
    cluster.Add(Node(name));
    cluster.Add(Pod(std::string("p-") + name).On(name).Cpu(2000));
  }
  return cluster.Build();
}

TEST_F(ShrinkPlanTest, NodesGoInTheRequestedOrderUpToTheRequestedNumber) {
  ClusterSnapshot four = Four();
  const auto all = NodesNamed(four, {"c", "a", "d", "b"});
  EXPECT_THAT(Plan(four, {}, {{.name = "p", .most = 1, .candidates = all}}), ElementsAre("c"));
  EXPECT_THAT(Plan(four, {}, {{.name = "p", .most = 2, .candidates = all}}), ElementsAre("c", "a"));
  // Places for no more.
  EXPECT_THAT(Plan(four, {}, {{.name = "p", .most = 4, .candidates = all}}), ElementsAre("c", "a"));
  EXPECT_THAT(Plan(four, {}, {{.name = "p", .most = 0, .candidates = all}}), IsEmpty());
}

TEST_F(ShrinkPlanTest, UtilizationDoesNotMatter) {
  ClusterSnapshot full =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Pod("p").On("a").Cpu(3900)).Build();
  EXPECT_THAT(Plan(full, {}, {{.name = "p", .most = 1, .candidates = NodesNamed(full, {"a"})}}),
              ElementsAre("a"));
}

TEST_F(ShrinkPlanTest, PodsOfNodesThatLeaveTakeTheRoomThatTheyWillNeed) {
  ClusterSnapshot four = Four();
  // a's and b's pods fill c and d.
  EXPECT_THAT(Plan(four, {"a", "b"},
                   {{.name = "p", .most = 1, .candidates = NodesNamed(four, {"c", "d"})}}),
              IsEmpty());
  EXPECT_THAT(
      Plan(four, {"a"}, {{.name = "p", .most = 2, .candidates = NodesNamed(four, {"c", "d"})}}),
      ElementsAre("c"));
}

TEST_F(ShrinkPlanTest, TwoRequestsShareThePlacesAndEachHasItsOwnLimit) {
  ClusterSnapshot four = Four();
  EXPECT_THAT(Plan(four, {},
                   {{.name = "p", .most = 1, .candidates = NodesNamed(four, {"d", "c"})},
                    {.name = "q", .most = 1, .candidates = NodesNamed(four, {"a", "b"})}}),
              ElementsAre("d", "a"));
}

TEST_F(ShrinkPlanTest, ThePlannersOrderTakesEmptyNodesFirst) {
  ClusterSnapshot cluster =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Pod("p").On("a").Cpu(500)).Build();
  const auto all = NodesNamed(cluster, {"a", "b", "c"});
  EXPECT_THAT(
      Plan(cluster, {}, {{.name = "p", .most = 1, .candidates = all, .planners_order = true}}),
      ElementsAre("b"));
  EXPECT_THAT(Plan(cluster, {}, {{.name = "p", .most = 1, .candidates = all}}), ElementsAre("a"));
}

TEST_F(ShrinkPlanTest, ABudgetKeepsItsNode) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("a"))
                                .Add(Node("b"))
                                .Add(Pod("p").On("a").Cpu(500).Label("app", "x"))
                                .Add(test::Budget("pdb").Matching("app", "x").Allows(0))
                                .Build();
  EXPECT_THAT(
      Plan(cluster, {}, {{.name = "p", .most = 1, .candidates = NodesNamed(cluster, {"a"})}}),
      IsEmpty());
}

TEST_F(ShrinkPlanTest, AnOrderHasItsMovesAndADenialItsReason) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("a").With([](auto& node) { node.meta.uid = "a-uid"; }))
                                .Add(Node("empty"))
                                .Add(Node("held"))
                                .Add(Node("full"))
                                .Add(Pod("p").In("shop").On("a").Uid("p-uid").Cpu(500))
                                .Add(Pod("q").On("held").Cpu(500).Label("app", "x"))
                                .Add(Pod("large").On("full").Cpu(3900))
                                .Add(test::Budget("pdb").Matching("app", "x").Allows(0))
                                .Build();
  Observation observed;
  observed.snapshot = &cluster;
  observed.groups = OneGroup(cluster);
  const std::vector<ShrinkAsk> asks = {
      {.name = "p", .most = 4, .candidates = NodesNamed(cluster, {"empty", "a", "held", "full"})}};
  const auto plan = PlanShrink(observed, {}, asks, {}, kNow);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const DeletionOrder empty{.node = "empty", .uid = "", .group = "group", .drain = false};
  const DeletionOrder drained{
      .node = "a",
      .uid = "a-uid",
      .group = "group",
      .drain = true,
      .moves = {{.namespace_name = "shop", .name = "p", .uid = "p-uid", .to = "held"}}};
  EXPECT_THAT(plan->orders, ElementsAre(empty, drained));
  std::map<std::string, std::string> denied;
  for (const ShrinkDenied& each : plan->denied) denied.emplace(each.node, each.reason);
  EXPECT_EQ(denied.size(), 2);
  EXPECT_EQ(denied["held"], "BlockedByPod (default/q)");
  EXPECT_EQ(denied["full"], "NoPlaceToMovePods (default/large)");
  EXPECT_EQ(cluster.nodes(), 4);  // Nothing happened to it.
}

TEST_F(ShrinkPlanTest, PodsThatWaitTakeTheRoomThatTheyWillNeed) {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c", "d"}) {
    cluster.Add(Node(name));
    cluster.Add(Pod(std::string("p-") + name).On(name).Cpu(2000));
  }
  cluster.Add(Pod("waits").Cpu(2000));
  ClusterSnapshot snapshot = cluster.Build();
  const std::vector<ShrinkAsk> asks = {
      {.name = "p", .most = 2, .candidates = NodesNamed(snapshot, {"c", "a"})}};
  EXPECT_THAT(Plan(snapshot, {}, asks), ElementsAre("c", "a"));
  Observation observed;
  observed.snapshot = &snapshot;
  observed.groups = OneGroup(snapshot);
  observed.pending = {test::PodNamed(snapshot, "waits")};
  const auto plan = PlanShrink(observed, {}, asks, {}, kNow);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->orders.size(), 1);
  EXPECT_EQ(plan->orders[0].node, "c");
}

TEST_F(ShrinkPlanTest, ALeavingNodeAcceptsNoPodAndIsNotACandidate) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("leaves"))
                                .Add(Node("a"))
                                .Add(Node("b"))
                                .Add(Pod("p").On("a").Cpu(3000))
                                .Add(Pod("q").On("b").Cpu(3000))
                                .Build();
  const std::vector<ShrinkAsk> asks = {
      {.name = "p", .most = 1, .candidates = NodesNamed(cluster, {"a"})}};
  EXPECT_THAT(Plan(cluster, {"leaves"}, asks), IsEmpty());
  EXPECT_THAT(Plan(cluster, {}, asks), ElementsAre("a"));
  ClusterSnapshot four = Four();
  EXPECT_THAT(Plan(four, {"a", "a"},
                   {{.name = "p", .most = 2, .candidates = NodesNamed(four, {"a", "c"})}}),
              ElementsAre("c"));
}

TEST_F(ShrinkPlanTest, PodsThatEndWithALeavingNodeNeedNoRoom) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("leaves"))
                                .Add(Node("a"))
                                .Add(Node("b"))
                                .Add(Pod("daemon").On("leaves").DaemonSet().Cpu(3900))
                                .Add(Pod("p").On("a").Cpu(2000))
                                .Build();
  EXPECT_THAT(Plan(cluster, {"leaves"},
                   {{.name = "p", .most = 1, .candidates = NodesNamed(cluster, {"a"})}}),
              ElementsAre("a"));
}

TEST_F(ShrinkPlanTest, ARequestForNoNodesDoesNotAffectTheNext) {
  ClusterSnapshot four = Four();
  EXPECT_THAT(Plan(four, {},
                   {{.name = "none", .most = 1, .candidates = {}},
                    {.name = "zero", .most = 0, .candidates = NodesNamed(four, {"c"})},
                    {.name = "q", .most = 9, .candidates = NodesNamed(four, {"a"})}}),
              ElementsAre("a"));
}

TEST_F(ShrinkPlanTest, GpuUtilizationAndReadinessDoNotMatter) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("gpu").Resource("nvidia.com/gpu", 1))
                                .Add(Node("spare").Resource("nvidia.com/gpu", 1))
                                .Add(Node("unready").NotReady())
                                .Add(Pod("p").On("gpu").Request("nvidia.com/gpu", 1))
                                .Build();
  Observation observed;
  observed.snapshot = &cluster;
  observed.groups = OneGroup(cluster);
  PlannerOptions options;
  options.scale_down_unready_enabled = false;
  const auto plan =
      PlanShrink(observed, {},
                 {{.name = "p", .most = 2, .candidates = NodesNamed(cluster, {"gpu", "unready"})}},
                 options, kNow);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->orders.size(), 2);
  EXPECT_EQ(plan->orders[0].node, "gpu");
  EXPECT_EQ(plan->orders[1].node, "unready");
}

TEST_F(ShrinkPlanTest, ANodeOfNoGroupGoesTooAndADenialWithoutAPodNamesNone) {
  ClusterSnapshot cluster = Cluster()
                                .Add(Node("free"))
                                .Add(Node("kept").Annotation(
                                    "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"))
                                .Build();
  Observation observed;
  observed.snapshot = &cluster;
  observed.groups = OneGroup(cluster);
  observed.groups.group_of.assign(cluster.catalog().nodes(), kNoGroup);
  const auto plan = PlanShrink(
      observed, {}, {{.name = "p", .most = 2, .candidates = NodesNamed(cluster, {"free", "kept"})}},
      {}, kNow);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->orders.size(), 1);
  EXPECT_EQ(plan->orders[0].node, "free");
  EXPECT_EQ(plan->orders[0].group, "");
  ASSERT_EQ(plan->denied.size(), 1);
  EXPECT_EQ(plan->denied[0].node, "kept");
  EXPECT_EQ(plan->denied[0].reason, "ScaleDownDisabledAnnotation");
}

}  // namespace
}  // namespace ebb::shrink_plan_test
