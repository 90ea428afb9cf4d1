#include "engine/pass/planner.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/verify/verify.h"
#include "gtest/gtest.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/objects/quantity.h"
#include "tests/engine/planning.h"
#include "tests/support/planner_twin.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::planner_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Kept;
using test::Node;
using test::NodesNamed;
using test::Pod;
using test::PodNamed;
using test::PodsNamed;
using test::Removals;
using test::Select;

// A planner, and the cluster of its last plan.  Every plan is verified, and every pass must leave
// the snapshot unchanged.
class PlannerTest : public ::testing::Test {
 protected:
  using Names = std::vector<std::string_view>;

  void Use(const Cluster& cluster) {
    snapshot_ = cluster.Build();
    groups_ = test::OneGroup(snapshot_);
  }
  Cluster Shared() const { return Cluster(symbols_); }

  Plan Pass(
      const Names& candidates, const std::function<void(PassInput&)>& change = [](PassInput&) {}) {
    PassInput input;
    input.now_s = test::kPassTime;
    change(input);
    const std::vector<NodeId> nodes = NodesNamed(snapshot_, candidates);
    input.candidates = nodes;
    const std::string before = snapshot_.Fingerprint();
    Plan plan = planner_->Pass(snapshot_, groups_, input).value();
    EXPECT_EQ(snapshot_.Fingerprint(), before);
    EXPECT_TRUE(snapshot_.CheckInvariants().ok());
    const absl::Status verified = Verify(snapshot_, groups_, planner_->options(), input, plan);
    EXPECT_TRUE(verified.ok()) << verified.ToString();
    return plan;
  }
  std::string Removed(const Names& candidates) { return Removals(snapshot_, Pass(candidates)); }

  // The name of the node; "" for no hint.
  std::string HintOf(std::string_view pod) const {
    const Catalog& catalog = snapshot_.catalog();
    const NodeId hint = planner_->Hint(PodNamed(snapshot_, pod));
    return hint == kNoNode ? "" : std::string(catalog.NodeName(hint));
  }
  void Restart(PlannerOptions options = {}) { planner_.emplace(options); }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  std::optional<Planner> planner_{std::in_place, PlannerOptions()};
};

Cluster Nodes(Cluster cluster, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) cluster.Add(Node(name));
  return cluster;
}

// --- Groups ----------------------------------------------------------------------------

TEST_F(PlannerTest, KarpentersProtectionHoldsInKarpentersGroupsOnly) {
  const auto kept = [&](PoolManager manager) {
    Restart();
    Use(Shared()
            .Add(Node("a").Annotation("karpenter.sh/do-not-disrupt", "true"))
            .Add(Node("b").Annotation("karpenter.sh/do-not-consolidate", "true"))
            .Add(Node("c"))
            .Add(Node("d"))
            .Add(Pod("agent").On("c").DaemonSet().Annotation("karpenter.sh/do-not-evict", "true")));
    groups_.groups[0].managed_by = manager;
    return Kept(snapshot_, Pass({"a", "b", "c"}));
  };
  EXPECT_EQ(kept(PoolManager::kClusterAutoscaler), "");
  EXPECT_EQ(kept(PoolManager::kKarpenter),
            "a=ScaleDownDisabledAnnotation b=ScaleDownDisabledAnnotation c=BlockedByPod");
}

// A pod that the pass itself moved onto a node of Karpenter's is protected there.
TEST_F(PlannerTest, PodThatMovedToKarpentersNodeKeepsIt) {
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Node("c").Cpu(0))
          .Add(Pod("job").On("a").Cpu(100).Annotation("karpenter.sh/do-not-disrupt", "true")));
  groups_.groups.push_back(groups_.groups[0]);
  groups_.groups[1].name = "karpenter";
  groups_.groups[1].managed_by = PoolManager::kKarpenter;
  groups_.group_of[1] = GroupId{1};
  const Plan plan = Pass({"a", "b"});
  EXPECT_EQ(Removals(snapshot_, plan), "a: job>b");
  EXPECT_EQ(Kept(snapshot_, plan), "b=BlockedByPod");
}

// Symptom: a node with a GPU whose driver is absent was judged by its cpu.
TEST_F(PlannerTest, GpuLabelWithoutADriverIsAGpuUsedByNothing) {
  Use(Shared().Add(Node("a")).Add(Node("b")).Add(Pod("p").On("a").Cpu(3000)));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NotUnderutilized");
  groups_.gpu_label = {true, false};
  const Plan plan = Pass({"a"});
  EXPECT_EQ(Removals(snapshot_, plan), "a: p>b");
  EXPECT_EQ(plan.utilization[0]->utilization, 0);
  EXPECT_EQ(snapshot_.catalog().Text(plan.utilization[0]->resource), "nvidia.com/gpu");
  // The GPU threshold applies.
  groups_.groups[0].scale_down_gpu_utilization_threshold = -1;
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NotUnderutilized");
}

// --- The scan pointer ------------------------------------------------------------------

TEST_F(PlannerTest, FirstScanStartsAtTheSecondNode) {
  Use(Nodes(Shared(), {"a", "b", "c", "d"}).Add(Pod("p").On("d")));
  EXPECT_EQ(Removed({"d"}), "d: p>b");
}

TEST_F(PlannerTest, TheScanContinuesAfterTheNodeItFoundAndWrapsAround) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("p").On("b"))
          .Add(Pod("q").On("b"))
          .Add(Pod("r").On("b")));
  EXPECT_EQ(Removed({"b"}), "b: p>c q>a r>c");
}

TEST_F(PlannerTest, PointerIsAnIndexAndMeansAnotherNodeWhenOneBeforeItGoes) {
  Use(Nodes(Shared(), {"a", "b", "c", "d", "e"}).Add(Pod("p").On("a")).Add(Pod("q").On("e")));
  // p: index 1 of a b c d e.  q: from index 2 of b c d e.
  EXPECT_EQ(Removed({"a", "e"}), "a: p>b; e: q>d");
}

TEST_F(PlannerTest, ThePointerStaysIfANodeAfterItGoes) {
  Use(Nodes(Shared(), {"a", "b", "c", "d", "e"}).Add(Pod("p").On("e")).Add(Pod("q").On("d")));
  EXPECT_EQ(Removed({"e", "d"}), "e: p>b; d: q>c");
}

TEST_F(PlannerTest, PointerSurvivesThePass) {
  Use(Nodes(Shared(), {"a", "b", "c", "d"}).Add(Pod("p").On("d")).Add(Pod("q").On("a")));
  EXPECT_EQ(Removed({"d"}), "d: p>b");
  EXPECT_EQ(Removed({"a"}), "a: q>c");
}

TEST_F(PlannerTest, FailedAttemptKeepsPointerAndHints) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("p").On("a").Cpu(100))
          .Add(Pod("huge").On("a").Request("example.com/fpga", 1))
          .Add(Pod("r").On("c")));
  const Plan plan = Pass({"a", "c"});
  EXPECT_EQ(Kept(snapshot_, plan), "a=NoPlaceToMovePods");
  EXPECT_EQ(plan.keep.at(0).pod, PodNamed(snapshot_, "huge"));
  // From index 2; a scan whose pointer was reset would find b.
  EXPECT_EQ(Removals(snapshot_, plan), "c: r>a");
  EXPECT_EQ(HintOf("p"), "b");
}

TEST_F(PlannerTest, RoomOfAFailedAttemptIsThereForTheNext) {
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Cpu(1000))
          .Add(Node("c"))
          .Add(Pod("p").On("a").Cpu(1000))
          .Add(Pod("huge").On("a").Request("example.com/fpga", 1))
          .Add(Pod("r").On("c").Cpu(1000).NodeSelector("only", "b")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a", "c"})), "a=NoPlaceToMovePods c=NoPlaceToMovePods");
  Restart();
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Cpu(1000).Label("only", "b"))
          .Add(Node("c"))
          .Add(Pod("p").On("a").Cpu(1000))
          .Add(Pod("huge").On("a").Request("example.com/fpga", 1))
          .Add(Pod("r").On("c").Cpu(1000).NodeSelector("only", "b")));
  EXPECT_EQ(Removed({"a", "c"}), "c: r>b");
}

// Symptom: because of such a pod, the whole cluster was rejected.
TEST_F(PlannerTest, APodThatNoNodeCanHoldKeepsItsNodeAndNoOther) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("odd").On("a").Request("example.com/x", kUncountable))
          .Add(Pod("pending").Memory(kUncountable))
          .Add(Pod("p").On("b").Cpu(100)));
  const Plan plan = Pass({"a", "b"});
  EXPECT_EQ(Kept(snapshot_, plan), "a=NoPlaceToMovePods");
  EXPECT_EQ(plan.remove.size(), 1u);
}

// Utilization uses the spec of pod-level resources, room uses the status.
TEST_F(PlannerTest, AResizeOfPodLevelResourcesCountsForRoomAndNotForUtilization) {
  const auto resized = [](int64_t spec, int64_t status) {
    return [=](objects::Pod& pod) {
      pod.has_pod_resources = true;
      pod.pod_requests = {{"cpu", spec}};
      pod.has_pod_status_resources = true;
      pod.pod_status_requests = {{"cpu", status}};
      pod.resize_infeasible = true;
    };
  };
  Use(Nodes(Shared(), {"a", "b"}).Add(Pod("p").On("a").With(resized(1000, 3000))));
  EXPECT_EQ(Removed({"a"}), "a: p>b") << "used for a quarter, not for three";
  Restart();
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Pod("p").On("a").With(resized(3000, 500)))
          .Add(Pod("q").On("b").Cpu(3000)));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NotUnderutilized");
}

// --- Hints -----------------------------------------------------------------------------

TEST_F(PlannerTest, HintIsTriedBeforeTheScan) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  EXPECT_EQ(Removed({"a"}), "a: p>b");  // The scan would find c.
}

TEST_F(PlannerTest, HintThatIsNotRenewedLivesForOneMorePass) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  EXPECT_EQ(HintOf("p"), "b");
  Pass({});
  EXPECT_EQ(HintOf("p"), "");
  EXPECT_EQ(Removed({"a"}), "a: p>c");
}

TEST_F(PlannerTest, HintThatNoLongerFitsGivesWayToTheScan) {
  const auto cluster = [&](int64_t free) {
    return Shared()
        .Add(Node("a"))
        .Add(Node("b").Cpu(free))
        .Add(Node("c"))
        .Add(Pod("p").On("a").Cpu(100));
  };
  Use(cluster(1000));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  Use(cluster(99));
  EXPECT_EQ(Removed({"a"}), "a: p>c");
  EXPECT_EQ(HintOf("p"), "c");
}

TEST_F(PlannerTest, HintToANodeThatIsGoneGivesWayToTheScan) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  Use(Nodes(Shared(), {"a", "c"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: p>c");
}

TEST_F(PlannerTest, TheScanSkipsACordonedNodeEvenIfTolerated) {
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Unschedulable())
          .Add(Node("c"))
          .Add(Pod("p").On("a").ToleratesEverything()));
  EXPECT_EQ(Removed({"a"}), "a: p>c");
}

TEST_F(PlannerTest, CordonedNodeIsTakenByHintIfTolerated) {
  const auto cluster = [&](const Node& b) {
    return Shared().Add(Node("a")).Add(b).Add(Node("c")).Add(
        Pod("p").On("a").ToleratesEverything());
  };
  Use(cluster(Node("b")));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  Use(cluster(Node("b").Unschedulable()));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
}

// --- Order of pods -----------------------------------------------------------------------

TEST_F(PlannerTest, PodsOfHigherPriorityArePlacedFirst) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("low").On("a"))
          .Add(Pod("high").On("a").Priority(9)));
  EXPECT_EQ(Removed({"a"}), "a: high>b low>c");
}

TEST_F(PlannerTest, PodsWithHintsArePlacedBeforeOthersOfTheirPriority) {
  Use(Nodes(Shared(), {"a", "b"}).Add(Node("c").Cpu(0).Memory(0)).Add(Pod("q").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: q>b");
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Pods(1))
          .Add(Node("c"))
          .Add(Pod("p").On("a"))
          .Add(Pod("q").On("a")));
  EXPECT_EQ(Removed({"a"}), "a: q>b p>c");
}

TEST_F(PlannerTest, LowerPrioritiesAreTriedAfterAHigherOneFailed) {
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Pod("high").On("a").Priority(9).Request("example.com/fpga", 1))
          .Add(Pod("same").On("a").Priority(9))
          .Add(Pod("low").On("a")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NoPlaceToMovePods");
  EXPECT_EQ(HintOf("same"), "");  // The first failure ends its group.
  EXPECT_EQ(HintOf("low"), "b");
}

// --- Standing candidates ---------------------------------------------------------------

class StandingTest : public PlannerTest {
 protected:
  // A pass in which the first `standing` candidates stand.  `hints`: as from the pass before.
  Plan Stand(const Names& candidates, size_t standing,
             const std::vector<std::pair<std::string_view, std::string_view>>& hints) {
    std::vector<Move> places;
    for (const auto& [pod, node] : hints) {
      places.push_back({PodNamed(snapshot_, pod), NodesNamed(snapshot_, {node})[0]});
    }
    planner_->Suggest(snapshot_, places);
    NodeSet destinations = snapshot_.alive();
    for (const NodeId node :
         NodesNamed(snapshot_, Names(candidates.begin(), candidates.begin() + standing))) {
      destinations.Erase(node);
    }
    return Pass(candidates, [&](PassInput& input) {
      input.standing = standing;
      input.destinations = &destinations;
    });
  }
};

TEST_F(StandingTest, TakeTheRoomOfTheirHintsBeforeAnyPodSearches) {
  Use(Shared()
          .Add(Node("a").Cpu(1000))
          .Add(Node("b").Cpu(1000))
          .Add(Node("c").Cpu(350))
          .Add(Node("d").Cpu(350))
          .Add(Pod("p").On("a").Cpu(300))
          .Add(Pod("q").On("b").Cpu(300)));
  EXPECT_EQ(Removals(snapshot_, Stand({"a", "b"}, 2, {{"q", "c"}})), "a: p>d; b: q>c");
  EXPECT_EQ(HintOf("q"), "c");
  EXPECT_EQ(HintOf("p"), "d");
  // A pass with nothing new repeats it.
  EXPECT_EQ(Removals(snapshot_, Stand({"a", "b"}, 2, {})), "a: p>d; b: q>c");
}

TEST_F(StandingTest, ThatFailGiveTheirRoomBack) {
  Use(Shared()
          .Add(Node("a").Cpu(4000))
          .Add(Node("b").Cpu(1000))
          .Add(Node("c").Cpu(350))
          .Add(Pod("p").On("a").Cpu(300))
          .Add(Pod("r").On("a").Cpu(800))
          .Add(Pod("q").On("b").Cpu(300).Priority(1)));
  const Plan plan = Stand({"a", "b"}, 1, {{"p", "c"}});
  EXPECT_EQ(Removals(snapshot_, plan), "b: q>c");
  EXPECT_EQ(Kept(snapshot_, plan), "a=NoPlaceToMovePods");
  EXPECT_EQ(plan.keep[0].pod, PodNamed(snapshot_, "r"));
}

TEST_F(StandingTest, HaveGuestsThatMoveOn) {
  Use(Shared()
          .Add(Node("a").Cpu(1000))
          .Add(Node("b").Cpu(1000))
          .Add(Node("c").Cpu(1000))
          .Add(Pod("p").On("a").Cpu(300))
          .Add(Pod("q").On("b").Cpu(300))
          .Add(Pod("r").On("c").Cpu(399)));
  EXPECT_EQ(Removals(snapshot_, Stand({"a", "b"}, 1, {{"p", "b"}})), "a: p>b; b: q>c p>c");
}

TEST_F(StandingTest, SpendBudgetsInTheirOrder) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("p").On("a"))
          .Add(Pod("q").On("b"))
          .Add(Budget("one").MatchingEverything().Allows(1)));
  const Plan plan = Stand({"a", "b"}, 2, {{"p", "c"}, {"q", "c"}});
  EXPECT_EQ(Removals(snapshot_, plan), "a: p>c");
  EXPECT_EQ(Kept(snapshot_, plan), "b=BlockedByPod");
  EXPECT_EQ(plan.pdb_remaining, std::vector<int32_t>{0});
}

TEST_F(StandingTest, PlacePodsOfHigherPriorityFirst) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("low").On("a"))
          .Add(Pod("high").On("a").Priority(9)));
  EXPECT_EQ(Removals(snapshot_, Stand({"a"}, 1, {{"low", "b"}})), "a: high>b low>b");
}

TEST_F(StandingTest, ANodeOfWhichAPodFindsNoRoomStaysWithoutAnAttempt) {
  Use(Shared()
          .Add(Node("a").Cpu(1000))
          .Add(Node("b").Cpu(1000))
          .Add(Node("c").Cpu(400))
          .Add(Pod("p").On("a").Cpu(300))
          .Add(Pod("q").On("b").Cpu(300)));
  const Plan plan = Stand({"a", "b"}, 1, {{"p", "c"}});
  EXPECT_EQ(Removals(snapshot_, plan), "a: p>c");
  EXPECT_EQ(Kept(snapshot_, plan), "b=NoPlaceToMovePods");
  EXPECT_EQ(HintOf("q"), "");
}

void AsListed(PassInput& in) { in.pod_order = PodOrder::kAsListed; }

TEST_F(PlannerTest, AsListedNeitherPriorityNorHintComesFirst) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("low").On("a"))
          .Add(Pod("high").On("a").Priority(9)));
  EXPECT_EQ(Removals(snapshot_, Pass({"a"}, AsListed)), "a: low>b high>c");
  Use(Nodes(Shared(), {"a", "b"}).Add(Node("c").Cpu(0).Memory(0)).Add(Pod("q").On("a")));
  EXPECT_EQ(Removals(snapshot_, Pass({"a"}, AsListed)), "a: q>b");
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Pods(1))
          .Add(Node("c"))
          .Add(Pod("p").On("a"))
          .Add(Pod("q").On("a")));
  // p comes first though q has a hint, to which it still goes.
  EXPECT_EQ(Removals(snapshot_, Pass({"a"}, AsListed)), "a: p>c q>b");
}

TEST_F(PlannerTest, AsListedTheFirstFailureEndsTheAttempt) {
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Pod("first").On("a"))
          .Add(Pod("high").On("a").Priority(9).Request("example.com/fpga", 1))
          .Add(Pod("low").On("a")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"}, AsListed)), "a=NoPlaceToMovePods");
  EXPECT_EQ(HintOf("first"), "b");
  EXPECT_EQ(HintOf("low"), "");
}

// --- What a removal leaves behind ----------------------------------------------------------

TEST_F(PlannerTest, PodThatArrivedMovesAgainWhenItsNewNodeGoes) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Removed({"a", "b"}), "a: p>b; b: p>c");
}

TEST_F(PlannerTest, LastNodeStaysForItsPodsHaveNoPlace) {
  Use(Nodes(Shared(), {"a", "b"}).Add(Pod("p").On("a")));
  const Plan plan = Pass({"a", "b"});
  EXPECT_EQ(Removals(snapshot_, plan), "a: p>b");
  EXPECT_EQ(Kept(snapshot_, plan), "b=NoPlaceToMovePods");
}

TEST_F(PlannerTest, OnlyDestinationsTakePods) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("p").On("a")));
  NodeSet destinations(3);
  destinations.Insert(NodeId{2});
  EXPECT_EQ(
      Removals(snapshot_, Pass({"a"}, [&](PassInput& in) { in.destinations = &destinations; })),
      "a: p>c");
}

TEST_F(PlannerTest, NodeThatGoesStaysADomainOfSpreading) {
  Use(Shared()
          .Add(Node("a").Label("zone", "x"))
          .Add(Node("b").Label("zone", "y"))
          .Add(Pod("p").On("a").Label("app", "web").Spread("zone", 1, Select("app", "web")))
          .Add(Pod("there").On("b").Label("app", "web")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NoPlaceToMovePods");
}

TEST_F(PlannerTest, ARemovedNodeIsNotADomainForTheNextRemoval) {
  Use(Shared()
          .Add(Node("a").Label("zone", "x"))
          .Add(Node("b").Label("zone", "y"))
          .Add(Node("c").Label("zone", "y"))
          .Add(Pod("p").On("b").Label("app", "web").Spread("zone", 1, Select("app", "web")))
          .Add(Pod("there").On("c").Label("app", "web")));
  EXPECT_EQ(Removed({"a", "b"}), "a:; b: p>c");
}

TEST_F(PlannerTest, PodsThatDoNotMoveAreListedAndVanish) {
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Pod("agent").On("a").DaemonSet())
          .Add(Pod("batch").On("a").SafeToEvict("on-completion"))
          .Add(Pod("static").On("a").Mirror()));
  const Plan plan = Pass({"a"});
  ASSERT_EQ(Removals(snapshot_, plan), "a:");
  EXPECT_EQ(plan.remove[0].daemonset, PodsNamed(snapshot_, {"agent"}));
  EXPECT_EQ(plan.remove[0].on_completion, PodsNamed(snapshot_, {"batch"}));
}

// --- Budgets ---------------------------------------------------------------------------

TEST_F(PlannerTest, BudgetGoesBelowZeroOnOneNodeAndBlocksTheNext) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Budget("one").MatchingEverything().Allows(1))
          .Add(Pod("p").On("a"))
          .Add(Pod("q").On("a"))
          .Add(Pod("r").On("b")));
  const Plan plan = Pass({"a", "b"});
  ASSERT_EQ(plan.remove.size(), 1u);
  EXPECT_TRUE(plan.remove[0].risky);
  EXPECT_EQ(plan.pdb_remaining, std::vector<int32_t>{-1});
  // The budget is checked for the first pod of b, including pods that have moved there.
  EXPECT_EQ(Kept(snapshot_, plan), "b=BlockedByPod");
  EXPECT_EQ(plan.keep[0].blocking_reason, BlockingPodReason::kNotEnoughPdb);
  EXPECT_EQ(plan.keep[0].pdb, PdbId{0});
}

TEST_F(PlannerTest, BudgetForEveryPodIsNotRisky) {
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Budget("two").MatchingEverything().Allows(2))
          .Add(Pod("p").On("a"))
          .Add(Pod("q").On("a")));
  const Plan plan = Pass({"a"});
  EXPECT_FALSE(plan.remove.at(0).risky);
  EXPECT_EQ(plan.pdb_remaining, std::vector<int32_t>{0});
}

TEST_F(PlannerTest, PodThatMovesTwiceSpendsItsBudgetTwice) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Budget("two").MatchingEverything().Allows(2))
          .Add(Pod("p").On("a")));
  EXPECT_EQ(Pass({"a", "b"}).pdb_remaining, std::vector<int32_t>{0});
}

TEST_F(PlannerTest, FailedAttemptSpendsNothing) {
  Use(Nodes(Shared(), {"a"})
          .Add(Budget("one").MatchingEverything().Allows(1))
          .Add(Pod("p").On("a")));
  const Plan plan = Pass({"a"});
  EXPECT_EQ(Kept(snapshot_, plan), "a=NoPlaceToMovePods");
  EXPECT_EQ(plan.pdb_remaining, std::vector<int32_t>{1});
}

TEST_F(PlannerTest, EvictionsUnderWayHaveSpentTheirBudget) {
  Use(Nodes(Shared(), {"a", "b"})
          .Add(Budget("one").MatchingEverything().Allows(1))
          .Add(Pod("p").On("a"))
          .Add(Pod("leaving")));
  const std::vector<PodId> leaving = PodsNamed(snapshot_, {"leaving"});
  EXPECT_EQ(Kept(snapshot_, Pass({"a"}, [&](PassInput& in) { in.evicting = leaving; })),
            "a=BlockedByPod");
}

// --- Limits ----------------------------------------------------------------------------

TEST_F(PlannerTest, LimitEndsThePassAndSkipsTheRest) {
  Use(Nodes(Shared(), {"a", "b", "c"}));
  const Plan plan = Pass({"c", "b", "a"}, [&](PassInput& in) { in.unneeded_limit = 2; });
  EXPECT_EQ(Removals(snapshot_, plan), "c:; b:");
  EXPECT_EQ(plan.skipped, NodesNamed(snapshot_, {"a"}));
  EXPECT_EQ(plan.termination, Termination::kLimit);
}

TEST_F(PlannerTest, AtomicGroupsAreNotLimited) {
  Use(Nodes(Shared(), {"a", "b", "c"}));
  groups_.groups[0].atomic = true;
  const Plan plan = Pass({"a", "b", "c"}, [&](PassInput& in) { in.unneeded_limit = 1; });
  EXPECT_EQ(plan.remove.size(), 3u);
  EXPECT_EQ(plan.termination, Termination::kComplete);
}

class TimeIsUp : public Deadline {
 public:
  // Expires after being asked `asked_max` times.
  explicit TimeIsUp(int asked_max) : asked_max_(asked_max) {}
  [[nodiscard]] bool Expired() const override { return asked_++ >= asked_max_; }

 private:
  int asked_max_;
  mutable int asked_ = 0;
};

TEST_F(PlannerTest, DeadlineEndsThePassBetweenCandidates) {
  Use(Nodes(Shared(), {"a", "b", "c"}));
  const TimeIsUp deadline(1);
  const Plan plan = Pass({"a", "b", "c"}, [&](PassInput& in) { in.deadline = &deadline; });
  EXPECT_EQ(Removals(snapshot_, plan), "a:");
  EXPECT_EQ(plan.skipped, NodesNamed(snapshot_, {"b", "c"}));
  EXPECT_EQ(plan.termination, Termination::kDeadline);
}

TEST_F(PlannerTest, MinNodesPerPassAreCheckedEvenAfterTheDeadline) {
  Restart({.min_nodes_per_pass = 2, .drain = {}});
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("bare").On("a").WithoutOwner()));
  const TimeIsUp deadline(0);
  const Plan plan = Pass({"a", "b", "c"}, [&](PassInput& in) { in.deadline = &deadline; });
  EXPECT_EQ(Kept(snapshot_, plan), "a=BlockedByPod");
  EXPECT_EQ(Removals(snapshot_, plan), "b:");
  EXPECT_EQ(plan.skipped, NodesNamed(snapshot_, {"c"}));
}

TEST_F(PlannerTest, ADeadlineInAnAttemptRevertsIt) {
  // p fits on b and is remembered there; q fits nowhere.
  Use(Cluster()
          .Add(Node("a").Cpu(4000).Memory(test::kGiB))
          .Add(Node("b").Cpu(1000).Memory(test::kGiB))
          .Add(Pod("p").On("a").Cpu(100))
          .Add(Pod("q").On("a").Cpu(1500)));
  const auto later = [](PassInput& in) { in.now_s += 1000; };
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NoPlaceToMovePods");
  const std::string before = snapshot_.Fingerprint();
  const TimeIsUp deadline(1);  // Asked before the candidate, then before q is searched for.
  const Plan plan = Pass({"a"}, [&](PassInput& in) {
    later(in);
    in.deadline = &deadline;
  });
  EXPECT_EQ(plan.skipped, NodesNamed(snapshot_, {"a"}));
  EXPECT_EQ(plan.termination, Termination::kDeadline);
  EXPECT_EQ(snapshot_.Fingerprint(), before);
  EXPECT_EQ(Kept(snapshot_, Pass({"a"}, later)), "a=NoPlaceToMovePods");
}

TEST_F(PlannerTest, ADeadlineEndsAnAsListedPassToo) {
  Use(Cluster()
          .Add(Node("a").Cpu(4000).Memory(test::kGiB))
          .Add(Node("b").Cpu(1000).Memory(test::kGiB))
          .Add(Pod("p").On("a").Cpu(100)));
  const TimeIsUp deadline(1);
  const Plan plan = Pass({"a"}, [&](PassInput& in) {
    AsListed(in);
    in.deadline = &deadline;
  });
  EXPECT_EQ(plan.termination, Termination::kDeadline);
  EXPECT_EQ(Removals(snapshot_, plan), "");
}

TEST_F(PlannerTest, DeadlineThatNeverComesChangesNothing) {
  const auto cluster = Nodes(Shared(), {"a", "b", "c", "d"})
                           .Add(Pod("bare").On("a").WithoutOwner())
                           .Add(Pod("p").On("b").Cpu(100))
                           .Add(Pod("q").On("c").Cpu(100));
  const TimeIsUp deadline(1000000);
  const auto passes = [&](const Deadline* in_time) {
    Restart({.drain = {}});
    Use(cluster);
    std::string text;
    for (const int64_t now_s : {1000, 2000}) {
      const Plan plan = Pass({"a", "b", "c", "d"}, [&](PassInput& in) {
        in.now_s = now_s;
        in.deadline = in_time;
      });
      EXPECT_EQ(plan.termination, Termination::kComplete);
      EXPECT_TRUE(plan.skipped.empty());
      text += test::PlanText(snapshot_, plan) + snapshot_.Fingerprint();
    }
    return text;
  };
  const std::string without = passes(nullptr);
  EXPECT_NE(without.find("BlockedByPod"), std::string::npos) << without;
  EXPECT_EQ(passes(&deadline), without);
}

// --- Unremovable nodes -------------------------------------------------------------------

TEST_F(PlannerTest, UnremovableNodeIsNotTriedAgainBeforeItsTimeIsUp) {
  Use(Nodes(Shared(), {"a"}).Add(Pod("p").On("a")));
  const auto kept_at = [&](int64_t now_s) {
    return Kept(snapshot_, Pass({"a"}, [&](PassInput& in) { in.now_s = now_s; }));
  };
  EXPECT_EQ(kept_at(1000), "a=NoPlaceToMovePods");
  EXPECT_EQ(kept_at(1299), "a=RecentlyUnremovable");
  EXPECT_EQ(kept_at(1300), "a=NoPlaceToMovePods");
}

TEST_F(PlannerTest, ARecentlyUnremovableNodeReportsTheReasonFoundBefore) {
  // The second pass comes from memory, the third from another planner with the restored memory.
  Use(Nodes(Shared(), {"a"}).Add(Pod("p").On("a")));
  const auto at = [](int64_t now_s) { return [=](PassInput& in) { in.now_s = now_s; }; };
  EXPECT_EQ(Pass({"a"}, at(1000)).keep[0].before, std::nullopt);
  const auto before = Pass({"a"}, at(1010)).keep[0].before;
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->reason, UnremovableReason::kNoPlaceToMovePods);
  EXPECT_EQ(snapshot_.catalog().Text(before->pod_name), "p");
  EXPECT_EQ(snapshot_.catalog().Text(before->pod_namespace), "default");
}

TEST_F(PlannerTest, AnIneligibleNodeIsCheckedAgainInEachPass) {
  const auto cluster = [&](int64_t cpu) {
    return Nodes(Shared(), {"a", "b"}).Add(Pod("p").On("a").Cpu(cpu));
  };
  Use(cluster(3000));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NotUnderutilized");
  Use(cluster(1000));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
}

TEST_F(PlannerTest, UtilizationIsThatBeforeAnyNodeGoes) {
  // b's utilization would be too high if p were there.
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("p").On("a").Cpu(1500))
          .Add(Pod("q").On("b").Cpu(1500)));
  EXPECT_EQ(Removed({"a", "b"}), "a: p>b; b: q>c p>c");
}

// --- Pending pods ------------------------------------------------------------------------

Cluster RoomForOne(Cluster cluster) {
  return cluster.Add(Node("a"))
      .Add(Node("b").Cpu(1000))
      .Add(Pod("p").On("a").Cpu(800))
      .Add(Pod("waiting").Cpu(800).NodeSelector("disk", "ssd"));
}

TEST_F(PlannerTest, PendingPodsTakeTheirRoomFirst) {
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b").Cpu(1000))
          .Add(Pod("p").On("a").Cpu(800))
          .Add(Pod("waiting").Cpu(800)));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  const std::vector<PodId> pending = PodsNamed(snapshot_, {"waiting"});
  Restart();
  const Plan plan = Pass({"a"}, [&](PassInput& in) { in.pending = pending; });
  ASSERT_EQ(plan.packed.size(), 1u);
  EXPECT_EQ(snapshot_.catalog().NodeName(plan.packed[0].to), "b");
  EXPECT_EQ(Kept(snapshot_, plan), "a=NoPlaceToMovePods");
}

TEST_F(PlannerTest, PendingPodsThatFitNowhereDoNotHinderUnlessTheyMust) {
  Use(RoomForOne(Shared()));
  const std::vector<PodId> pending = PodsNamed(snapshot_, {"waiting"});
  const Plan plan = Pass({"a"}, [&](PassInput& in) { in.pending = pending; });
  EXPECT_TRUE(plan.packed.empty());
  EXPECT_EQ(Removals(snapshot_, plan), "a: p>b");
  const Plan strict = Pass({"a"}, [&](PassInput& in) {
    in.pending = pending;
    in.must_fit = 1;
  });
  EXPECT_TRUE(strict.remove.empty());
  EXPECT_EQ(strict.termination, Termination::kNoRoomForPending);
}

TEST_F(PlannerTest, APackedPodCountsForUtilizationAndMayHaveToMove) {
  Use(Nodes(Shared(), {"a", "b"}).Add(Pod("waiting").Cpu(100)));
  const std::vector<PodId> pending = PodsNamed(snapshot_, {"waiting"});
  EXPECT_EQ(Removals(snapshot_, Pass({"b"}, [&](PassInput& in) { in.pending = pending; })),
            "b: waiting>a");
}

// A pod with a device claim, which ebb does not evaluate.
Pod AsksForDevices(std::string_view name) {
  return Pod(name).Cpu(500).With([](objects::Pod& pod) {
    pod.resource_claims.push_back({.name = "gpu", .claim_name = "mine", .template_name = {}});
  });
}

// Symptom: no room was kept for such a pod, and the last node on which it could run was removed.
TEST_F(PlannerTest, APendingPodThatIsNotUnderstoodKeepsTheNodesThatItMayNeed) {
  Use(Shared()
          .Add(Node("a").Label("gpu", "yes"))
          .Add(Node("b"))
          .Add(Node("small").Label("gpu", "yes").Cpu(400))
          .Add(AsksForDevices("waiting").NodeSelector("gpu", "yes"))
          .Add(AsksForDevices("runs").On("b").Cpu(1)));
  const std::vector<PodId> pending = PodsNamed(snapshot_, {"waiting"});
  const Plan plan = Pass({"a", "small"}, [&](PassInput& in) { in.pending = pending; });
  EXPECT_TRUE(plan.packed.empty());
  EXPECT_EQ(Removals(snapshot_, plan), "small:");
  ASSERT_EQ(plan.keep.size(), 1u);
  EXPECT_EQ(plan.keep[0].reason, UnremovableReason::kBlockedByPod);
  EXPECT_EQ(plan.keep[0].blocking_reason, BlockingPodReason::kPendingPodNotUnderstood);
  EXPECT_EQ(plan.keep[0].pod, pending[0]);
}

// Pods of one controller.  Each fits only beside "leader", which is placed after the first of them.
Pod Follower(std::string_view name, uint64_t digest) {
  return Pod(name)
      .Label("app", "follows")
      .Near("zone", test::Select("app", "leads"))
      .With([&](objects::Pod& pod) {
        pod.spec_digest = digest;
        pod.meta.uid = name;
      });
}
std::string Packed(const ClusterSnapshot& snapshot, const Plan& plan) {
  std::string names;
  for (const auto& [pod, to] : plan.packed) {
    names += std::string(names.empty() ? "" : " ") +
             std::string(snapshot.catalog().Text(snapshot.catalog().pod(pod).name));
  }
  return names;
}

TEST_F(PlannerTest, PodsThatAreAlikeToTheAutoscalerAreNotTriedAgain) {
  const auto packed = [&](const Pod& first, const Pod& second) {
    Cluster cluster = Shared();
    cluster.Add(Node("a").Label("zone", "z")).Add(first);
    cluster.Add(Pod("leader").Label("app", "leads")).Add(second);
    Use(cluster);
    Restart();
    const std::vector<PodId> pending = PodsNamed(snapshot_, {"f1", "leader", "f2"});
    return Packed(snapshot_, Pass({"a"}, [&](PassInput& in) { in.pending = pending; }));
  };
  EXPECT_EQ(packed(Follower("f1", 7), Follower("f2", 7)), "leader");
  EXPECT_EQ(packed(Follower("f1", 7), Follower("f2", 8)), "leader f2");
  // Annotations make no difference; labels do.
  EXPECT_EQ(packed(Follower("f1", 7), Follower("f2", 7).SafeToEvict("true")), "leader");
  EXPECT_EQ(packed(Follower("f1", 7), Follower("f2", 7).Label("more", "1")), "leader f2");
  // Pods without a controller or of a DaemonSet are not alike either.
  EXPECT_EQ(packed(Follower("f1", 7).WithoutOwner(), Follower("f2", 7).WithoutOwner()),
            "leader f2");
  EXPECT_EQ(packed(Follower("f1", 7).DaemonSet(), Follower("f2", 7).DaemonSet()), "leader f2");
}

TEST_F(PlannerTest, TenKindsOfPodsOfEachControllerAreRemembered) {
  Cluster cluster = Shared();
  cluster.Add(Node("a").Label("zone", "z"));
  const std::vector<std::string> names = {"k0", "k1", "k2", "k3", "k4", "k5",
                                          "k6", "k7", "k8", "k9", "k10"};
  std::vector<std::string_view> order;
  for (size_t i = 0; i < names.size(); ++i) {
    cluster.Add(Follower(names[i], i + 1));
    order.push_back(names[i]);
  }
  cluster.Add(Pod("leader").Label("app", "leads"));
  cluster.Add(Follower("like-tenth", 10)).Add(Follower("like-eleventh", 11));
  order.insert(order.end(), {"leader", "like-tenth", "like-eleventh"});
  Use(cluster);
  const std::vector<PodId> pending = PodsNamed(snapshot_, order);
  EXPECT_EQ(Packed(snapshot_, Pass({"a"}, [&](PassInput& in) { in.pending = pending; })),
            "leader like-eleventh");
}

// Symptom: two hints with one UID damaged the state file, and no later round could be made.
TEST_F(PlannerTest, OneHintIsKeptForPodsWithOneUid) {
  Use(Nodes(Shared(), {"a", "b", "c"})
          .Add(Pod("p").On("a").Uid("same"))
          .Add(Pod("q").On("b").Uid("same"))
          .Add(Pod("r").On("c").Cpu(1)));
  Removed({"a", "b"});
  const std::vector<PlannerMemory::Hint> hints = planner_->Save().hints;
  EXPECT_EQ(std::ranges::count(hints, "same", &PlannerMemory::Hint::pod_key), 1);
}

// --- Memory as text ----------------------------------------------------------------------

TEST_F(PlannerTest, ARestoredPlannerContinuesLikeTheOriginal) {
  Use(Nodes(Shared(), {"a", "b", "c", "d"}).Add(Pod("p").On("a")).Add(Pod("q").On("d")));
  EXPECT_EQ(Removed({"a"}), "a: p>b");
  const PlannerMemory memory = planner_->Save();
  const std::string next = Removed({"a", "d"});
  Restart();
  planner_->Restore(memory, symbols_);
  EXPECT_EQ(planner_->Save(), memory);
  EXPECT_EQ(Removed({"a", "d"}), next);
}

TEST_F(PlannerTest, TheReasonWhyANodeStaysIsSavedAndRepeatedUntilItExpires) {
  Use(Shared()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Node("c"))
          .Add(Budget("web").Matching("app", "web"))
          .Add(Pod("p").On("a").Cpu(100).Label("app", "web"))
          .Add(Pod("q").On("b").Cpu(100).NodeSelector("only", "here")));
  const auto at = [](int64_t now_s) { return [=](PassInput& in) { in.now_s = now_s; }; };
  EXPECT_EQ(Kept(snapshot_, Pass({"b", "a"}, at(1000))), "b=NoPlaceToMovePods a=BlockedByPod");
  const PlannerMemory memory = planner_->Save();
  ASSERT_EQ(memory.unremovable.size(), 2u);
  const PlannerMemory::Unremovable& a = memory.unremovable[0];
  EXPECT_EQ(a.node, "a");
  EXPECT_EQ(a.until_s, 1300);
  EXPECT_EQ(a.reason, "BlockedByPod");
  EXPECT_EQ(a.blocking_reason, "NotEnoughPdb");
  EXPECT_EQ(a.pod_namespace, "default");
  EXPECT_EQ(a.pod_name, "p");
  EXPECT_EQ(a.pdb, "web");
  const PlannerMemory::Unremovable& b = memory.unremovable[1];
  EXPECT_EQ(b.node, "b");
  EXPECT_EQ(b.reason, "NoPlaceToMovePods");
  EXPECT_EQ(b.blocking_reason, "");
  EXPECT_EQ(b.pod_name, "q");
  EXPECT_EQ(b.pdb, "");
  Restart();
  planner_->Restore(memory, symbols_);
  EXPECT_EQ(planner_->Save(), memory);
  const Plan plan = Pass({"a", "b"}, at(1299));
  EXPECT_EQ(Kept(snapshot_, plan), "a=RecentlyUnremovable b=RecentlyUnremovable");
  const std::optional<PastVerdict>& before = plan.keep[0].before;
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->reason, UnremovableReason::kBlockedByPod);
  EXPECT_EQ(before->blocking_reason, BlockingPodReason::kNotEnoughPdb);
  EXPECT_EQ(snapshot_.catalog().Text(before->pod_name), "p");
  EXPECT_EQ(snapshot_.catalog().Text(before->pdb), "web");
  EXPECT_EQ(Kept(snapshot_, Pass({"a", "b"}, at(1300))), "a=BlockedByPod b=NoPlaceToMovePods");
}

// States that were saved before reasons were kept contain none.
TEST_F(PlannerTest, AVerdictWithoutAReasonIsSavedWithoutOne) {
  Use(Nodes(Shared(), {"a"}));
  PlannerMemory memory = planner_->Save();
  memory.unremovable.push_back({.node = "a", .until_s = 1300});
  planner_->Restore(memory, symbols_);
  EXPECT_EQ(planner_->Save(), memory);
}

TEST_F(PlannerTest, ANodeThatLeftIsForgottenWithWhyItStayed) {
  Use(Nodes(Shared(), {"a"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NoPlaceToMovePods");
  EXPECT_EQ(planner_->Save().unremovable.size(), 1u);
  Use(Nodes(Shared(), {"b"}));
  Pass({});
  EXPECT_TRUE(planner_->Save().unremovable.empty());
  Use(Nodes(Shared(), {"a"}).Add(Pod("p").On("a")));
  EXPECT_EQ(Kept(snapshot_, Pass({"a"})), "a=NoPlaceToMovePods");
}

TEST_F(PlannerTest, APendingPodIsPackedOnTheSameNodeAsBefore) {
  Use(Nodes(Shared(), {"a", "b", "c"}).Add(Pod("waiting").Cpu(100)));
  const std::vector<PodId> pending = PodsNamed(snapshot_, {"waiting"});
  for (int pass = 0; pass < 3; ++pass) {  // Each search continues at the next node.
    const Plan plan = Pass({}, [&](PassInput& in) { in.pending = pending; });
    ASSERT_EQ(plan.packed.size(), 1u);
    EXPECT_EQ(snapshot_.catalog().NodeName(plan.packed[0].to), "b") << pass;
  }
  const PlannerMemory memory = planner_->Save();
  ASSERT_EQ(memory.pending_hints.size(), 1u);
  EXPECT_EQ(memory.pending_hints[0].pod_key, "default/waiting");
  EXPECT_EQ(memory.pending_hints[0].node, "b");
  EXPECT_TRUE(memory.hints.empty());
}

TEST_F(PlannerTest, ASuggestedPlaceIsTriedBeforeTheScan) {
  Use(Nodes(Shared(), {"a", "b", "c", "d"})
          .Add(Node("small").Cpu(10))
          .Add(Pod("p").On("a").Cpu(100))
          .Add(Pod("q").On("a").Cpu(100)));
  const std::vector<Move> places = {
      {PodNamed(snapshot_, "p"), test::NodeNamed(snapshot_, "d")},
      {PodNamed(snapshot_, "q"), test::NodeNamed(snapshot_, "small")}};
  planner_->Suggest(snapshot_, places);
  EXPECT_EQ(HintOf("p"), "d");
  EXPECT_EQ(Removed({"a"}), "a: p>d q>b");
  Restart();
  EXPECT_EQ(Removed({"a"}), "a: p>b q>c");
}

TEST_F(PlannerTest, SuggestionsBeforeAnyPassAreRememberedByName) {
  Use(Nodes(Shared(), {"a", "b"}).Add(Pod("p").On("a")));
  const std::vector<Move> places = {{PodNamed(snapshot_, "p"), test::NodeNamed(snapshot_, "b")}};
  planner_->Suggest(snapshot_, places);
  const PlannerMemory memory = planner_->Save();
  ASSERT_EQ(memory.hints.size(), 1u);
  EXPECT_EQ(memory.hints[0].pod_key, "default/p");
  EXPECT_EQ(memory.hints[0].node, "b");
  ClusterSnapshot other = Cluster().Add(Node("a")).Build();
  PassInput input;
  input.now_s = test::kPassTime;
  EXPECT_FALSE(planner_->Pass(other, test::OneGroup(other), input).ok()) << "of other Symbols";
}

// By then the text id of its name could belong to another text.
TEST_F(PlannerTest, APodThatKeptANodeAndLeftIsStillNamed) {
  LiveSnapshot live;
  const auto take = [&](const objects::ObjectRef& object, Change::Type type) {
    const Change change{.type = type, .object = object};
    ASSERT_TRUE(live.Take({&change, 1}).ok());
  };
  const Node a = Node("a");
  const Pod bare = Pod("bare").On("a").WithoutOwner();
  const Pod later = Pod("later").On("a");
  take(&a.raw, Change::Type::kPut);
  take(&bare.raw, Change::Type::kPut);
  Planner planner{PlannerOptions()};
  const auto pass = [&](int64_t now_s) {
    ClusterSnapshot& snapshot = live.Snapshot();
    const std::vector<NodeId> candidates = NodesNamed(snapshot, {"a"});
    PassInput input;
    input.now_s = now_s;
    input.candidates = candidates;
    return planner.Pass(snapshot, test::OneGroup(snapshot), input).value();
  };
  EXPECT_EQ(pass(1000).keep.at(0).reason, UnremovableReason::kBlockedByPod);
  take(&bare.raw, Change::Type::kDelete);
  take(&later.raw, Change::Type::kPut);
  const Plan plan = pass(1010);
  EXPECT_EQ(plan.keep.at(0).reason, UnremovableReason::kRecentlyUnremovable);
  const std::optional<PastVerdict>& before = plan.keep[0].before;
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->reason, UnremovableReason::kBlockedByPod);
  EXPECT_EQ(before->blocking_reason, BlockingPodReason::kNotReplicated);
  EXPECT_EQ(live.Snapshot().catalog().Text(before->pod_name), "bare");
}

}  // namespace
}  // namespace ebb::planner_test
