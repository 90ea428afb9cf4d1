// The bound of each kind of limit, where it is known by hand, and on small clusters against all
// orders of the candidates.  search_random_test.cc has it above every plan of larger ones.

#include "search/bound.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/predicates/storage_builder.h"
#include "tests/support/random_apps.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::bound_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;

NodeGroups OneGroup(const ClusterSnapshot& snapshot, int64_t min_size) {
  NodeGroups groups = test::OneGroup(snapshot);
  groups.groups[0].min_size = min_size;
  return groups;
}

PlanRequest Anytime() {
  PlanRequest request;
  request.pass.now_s = 1'000'000;
  return request;
}

// `nodes` of 1000m, each with `pods` of `cpu` that may move.
Cluster Alike(int nodes, int pods, int64_t cpu) {
  Cluster cluster;
  for (int n = 0; n < nodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    cluster.Add(Node(name).Cpu(1000).Memory(test::kMiB).Pods(110));
    for (int p = 0; p < pods; ++p) {
      cluster.Add(Pod(name + "-" + std::to_string(p))
                      .On(name)
                      .Cpu(cpu)
                      .Label("app", "a")
                      .OwnedBy("ReplicaSet", "a"));
    }
  }
  return cluster;
}

int64_t BoundOf(ClusterSnapshot snapshot, int64_t min_size = 0) {
  return BoundRemovals(snapshot, OneGroup(snapshot, min_size), Anytime()).worth;
}

TEST(BoundTest, PodsNeedRoomOnNodesThatStay) {
  // 10 * 200m need two nodes.
  EXPECT_EQ(BoundOf(Alike(10, 1, 200).Build()), 8);
  EXPECT_EQ(BoundOf(Alike(10, 0, 0).Build()), 10);
}

TEST(BoundTest, APodIsNotSplit) {
  // 10 * 400m are four nodes' worth, and no node takes more than two of them.
  EXPECT_EQ(BoundOf(Alike(10, 1, 400).Build()), 5);
}

TEST(BoundTest, PodsThatCannotLeaveTheirPoolNeedRoomThere) {
  Cluster cluster;
  for (const char* const name : {"a1", "a2"}) {
    cluster.Add(Node(name).Cpu(1000).Label("pool", "a"));
    cluster.Add(Pod(std::string("of-") + name).On(name).Cpu(500).NodeSelector("pool", "a"));
  }
  for (const char* const name : {"b1", "b2"}) cluster.Add(Node(name).Cpu(4000));
  // Both empty nodes, and one of the others, whose pods share the last one.
  EXPECT_EQ(BoundOf(cluster.Build()), 3);
  cluster.Add(Pod("one-more").On("a1").Cpu(1).NodeSelector("pool", "a"));
  // Now they do not fit there, and the room of the other pool, enough for all, is of no use.
  PlanRequest request = Anytime();
  request.planner.scale_down_utilization_threshold = 1;
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_EQ(BoundRemovals(snapshot, OneGroup(snapshot, 0), request).worth, 2);
}

TEST(BoundTest, APodWhoseClaimCanNotBeBoundKeepsItsNode) {
  // Symptom: plan --bound, plan --optimize and frontier crashed.  The pod mounts a claim that has
  // neither a volume nor a storage class, so PreFilter rejects the pod.
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b")).Add(test::Claim("data"));
  cluster.Add(test::Mounting(Pod("p").On("a"), "data"));
  EXPECT_EQ(BoundOf(cluster.Build()), 1);
}

TEST(BoundTest, GroupsKeepTheirMinimum) {
  EXPECT_EQ(BoundOf(Alike(10, 0, 0).Build(), 3), 7);
  EXPECT_EQ(BoundOf(Alike(10, 0, 0).Build(), 10), 0);
}

TEST(BoundTest, BudgetsLimitTheNodesAndTheLastOneCountsInParts) {
  Cluster by_node = Alike(10, 1, 10);
  by_node.Add(Budget("a").Matching("app", "a").Allows(4));
  EXPECT_EQ(BoundOf(by_node.Build()), 4);
  // 2 and 2 of 3 are spent, the third node takes what is left: 3 - 1 + 2 pods.
  Cluster by_pod = Alike(10, 2, 10);
  by_pod.Add(Budget("a").Matching("app", "a").Allows(3));
  EXPECT_EQ(BoundOf(by_pod.Build()), 2);
  Cluster none = Alike(10, 1, 10);
  none.Add(Budget("a").Matching("app", "a").Allows(0));
  EXPECT_EQ(BoundOf(none.Build()), 0);
}

TEST(BoundTest, WorthIsWhatIsBounded) {
  const ClusterSnapshot snapshot = Alike(3, 0, 0).Build();
  const NodeGroups groups = OneGroup(snapshot, 2);  // One may go.
  const std::vector<int64_t> worth = {5, -7, 1'000'000'000'000};
  const RemovalBound bound = BoundRemovals(snapshot, groups, Anytime(), worth);
  EXPECT_EQ(bound.worth, 1'000'000'000'000);
  EXPECT_EQ(bound.eligible, 3);
  EXPECT_EQ(bound.removable, 2);
}

TEST(BoundTest, HugeWorthDoesNotOverflow) {
  const ClusterSnapshot snapshot = Alike(3, 1, 400).Build();
  const std::vector<int64_t> worth(3, INT64_MAX);
  EXPECT_EQ(BoundRemovals(snapshot, OneGroup(snapshot, 0), Anytime(), worth).worth, INT64_MAX);
}

TEST(BoundTest, NodesThatAreNotDestinationsHaveNoRoom) {
  const ClusterSnapshot snapshot = Alike(10, 1, 400).Build();
  const NodeSet nowhere(snapshot.catalog().nodes());
  PlanRequest request = Anytime();
  request.pass.destinations = &nowhere;
  EXPECT_EQ(BoundRemovals(snapshot, OneGroup(snapshot, 0), request).worth, 0);
}

TEST(BoundTest, NoOrderOfASmallClusterGoesAboveIt) {
  int64_t bounds = 0;
  int64_t bests = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Dice dice(seed);
    Cluster cluster;
    const int nodes = 2 + dice.Below(4);
    for (int n = 0; n < nodes; ++n) cluster.Add(test::RandomNode(n, dice));
    std::vector<test::App> apps;
    for (int a = 0; a < 3; ++a) apps.emplace_back(a, dice);
    const int pods = dice.Below(nodes * 4);
    for (int p = 0; p < pods; ++p) {
      Pod pod = dice.Of(apps).Make(p, dice);
      pod.On("n" + std::to_string(dice.Below(nodes)));
      cluster.Add(pod);
    }
    for (const test::App& app : apps) {
      if (!dice.Percent(40)) continue;
      cluster.Add(
          Budget(app.name).In(app.namespace_name).Matching("app", app.name).Allows(dice.Below(4)));
    }
    ClusterSnapshot snapshot = cluster.Build();
    const NodeGroups groups = OneGroup(snapshot, dice.Below(2));
    PlanRequest request = Anytime();
    request.order = CandidateOrder::kInput;
    request.planner.scale_down_utilization_threshold = 2;
    std::vector<NodeId> order;
    snapshot.alive().ForEach([&](NodeId node) { order.push_back(node); });
    request.candidates = &order;
    const int64_t bound = BoundRemovals(snapshot, groups, request).worth;
    int64_t best = 0;
    do {
      const absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, request);
      ASSERT_TRUE(made.ok()) << made.status();
      best = std::max(best, static_cast<int64_t>(made->plan.remove.size()));
    } while (std::ranges::next_permutation(order).found);
    ASSERT_LE(best, bound) << "seed " << seed;
    bests += best;
    bounds += bound;
  }
  EXPECT_GT(bests * 10, bounds * 6);  // It is no bound that is always far away.
}

TEST(BoundTest, PodsNeedSlotsOnNodesThatStay) {
  Cluster cluster;
  for (int n = 0; n < 10; ++n) {
    const std::string name = "n" + std::to_string(n);
    cluster.Add(Node(name).Pods(2)).Add(Pod("of-" + name).On(name));
  }
  EXPECT_EQ(BoundOf(cluster.Build()), 5);
}

// Amounts beyond 2^40 are made smaller before they are multiplied.
TEST(BoundTest, TheLargestAmountsAreBoundedAsSmallOnesAre) {
  Cluster cluster;
  for (int n = 0; n < 10; ++n) {
    const std::string name = "n" + std::to_string(n);
    cluster.Add(Node(name).Memory(int64_t{1} << 42));
    cluster.Add(Pod("of-" + name).On(name).Memory(int64_t{1} << 40));
  }
  EXPECT_EQ(BoundOf(cluster.Build()), 7);  // Ten pods, of which a node takes four.
}

TEST(BoundTest, ABudgetWithOneDisruptionLeftLetsOneNodeGo) {
  for (const int pods : {1, 2}) {
    Cluster cluster = Alike(10, pods, 10);
    cluster.Add(Budget("a").Matching("app", "a").Allows(1));
    EXPECT_EQ(BoundOf(cluster.Build()), 1) << pods;
  }
}

TEST(BoundTest, PodsThatARuleLetsGoBeforeBudgetsSpendNone) {
  Cluster cluster;
  for (int n = 0; n < 4; ++n) {
    const std::string name = "n" + std::to_string(n);
    cluster.Add(Node(name).Cpu(1000));
    cluster.Add(Pod("of-" + name).On(name).Cpu(200).Label("app", "a").SafeToEvict("true"));
  }
  cluster.Add(Budget("a").Matching("app", "a").Allows(1));
  EXPECT_EQ(BoundOf(cluster.Build()), 3);
}

TEST(BoundTest, NoMoreOfAWorkloadMovesThanItsShare) {
  const auto bound_of = [](const ClusterSnapshot& snapshot) {
    PlanRequest request = Anytime();
    request.pass.max_workload_share = 0.25;
    return BoundRemovals(snapshot, OneGroup(snapshot, 0), request).worth;
  };
  EXPECT_EQ(bound_of(Alike(10, 2, 10).Build()), 2);  // Five pods of twenty.
  // Pods of no controller are of no workload, wherever they stand among the others.
  Cluster mixed;
  for (int n = 0; n < 4; ++n) {
    const std::string name = "n" + std::to_string(n);
    mixed.Add(Node(name).Cpu(1000));
    mixed.Add(Pod("before-" + name).On(name).Cpu(10).WithoutOwner().SafeToEvict("true"));
    mixed.Add(Pod("of-" + name).On(name).Cpu(10).OwnedBy("ReplicaSet", "a"));
    mixed.Add(Pod("behind-" + name).On(name).Cpu(20).WithoutOwner().SafeToEvict("true"));
  }
  EXPECT_EQ(bound_of(mixed.Build()), 1);
}

// The room of a1 to a3 is for the pods of both pools; one of the three nodes may go.  `any` may be
// on `host`.
TEST(BoundTest, PodsOfAPoolWithinAPoolTakeTheRoomOfBoth) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a1").Cpu(1000).Label("pool", "a").Label("ssd", "1"))
          .Add(Node("a2").Cpu(1000).Label("pool", "a").Label("ssd", "1"))
          .Add(Node("a3").Cpu(1000).Label("pool", "a"))
          .Add(Node("c").Cpu(1000))
          .Add(Node("host").Cpu(64'000))
          .Add(Pod("inner").On("a1").Cpu(600).NodeSelector("pool", "a").NodeSelector("ssd", "1"))
          .Add(Pod("outer").On("a3").Cpu(600).NodeSelector("pool", "a"))
          .Add(Pod("any").On("c").Cpu(600))
          .Add(Pod("bare").On("host").Cpu(10).WithoutOwner())
          .Build();
  PlanRequest request = Anytime();
  request.planner.scale_down_utilization_threshold = 1;
  const RemovalBound bound = BoundRemovals(snapshot, OneGroup(snapshot, 0), request);
  EXPECT_EQ(bound.eligible, 4u);
  EXPECT_EQ(bound.worth, 2);
}

TEST(BoundTest, AnOvercommittedNodeAcceptsPodsThatDoNotRequestThatResource) {
  EXPECT_EQ(BoundOf(Cluster()
                        .Add(Node("over").Cpu(1000))
                        .Add(Node("m"))
                        .Add(Pod("much").On("over").Cpu(1500).WithoutOwner())
                        .Add(Pod("p").On("m").Memory(test::kGiB))
                        .Build()),
            1);
  EXPECT_EQ(BoundOf(Cluster()
                        .Add(Node("over").Cpu(1000))
                        .Add(Node("m"))
                        .Add(Pod("much").On("over").Cpu(1500).WithoutOwner())
                        .Add(Pod("p").On("m").Cpu(1))
                        .Build()),
            0);
}

TEST(BoundTest, OnlyCandidatesCount) {
  const ClusterSnapshot snapshot = Alike(10, 0, 0).Build();
  const std::vector<NodeId> candidates = test::NodesNamed(snapshot, {"n7", "n2"});
  PlanRequest request = Anytime();
  request.candidates = &candidates;
  const RemovalBound bound = BoundRemovals(snapshot, OneGroup(snapshot, 0), request);
  EXPECT_EQ(bound.worth, 2);
  EXPECT_EQ(bound.eligible, 2u);
  EXPECT_EQ(bound.removable, 2u);
}

TEST(BoundTest, ADeadlineThatIsOverLeavesABoundWithoutPrices) {
  const ClusterSnapshot snapshot = Alike(10, 1, 200).Build();
  const test::ExpiresAfter now(0);
  EXPECT_EQ(BoundRemovals(snapshot, OneGroup(snapshot, 0), Anytime(), {}, &now).worth, 10);
}

TEST(BoundTest, IfNothingIsShortTheSurplusOfANodeIsItsWorth) {
  Cluster cluster = Alike(3, 0, 0);
  cluster.Add(Node("held")).Add(Pod("bare").On("held").WithoutOwner());
  const ClusterSnapshot snapshot = cluster.Build();
  const std::vector<int64_t> worth = {5, -7, 9, 100};
  const RemovalBound bound = BoundRemovals(snapshot, OneGroup(snapshot, 0), Anytime(), worth);
  constexpr double kLowest = std::numeric_limits<double>::lowest();
  EXPECT_EQ(bound.surplus, (std::vector<double>{5, kLowest, 9, kLowest}));
  EXPECT_EQ(bound.worth, 14);
  EXPECT_EQ(bound.eligible, 3u);
  EXPECT_EQ(bound.removable, 2u);
}

}  // namespace
}  // namespace ebb::bound_test
