#include "simulation/robust_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "engine/verify/verify.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/simulation/tight_cluster.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::robust_plan_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

class RobustPlanTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster, const std::vector<std::string_view>& candidates) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
    request_.planner.scale_down_utilization_threshold = 1;
    nodes_ = test::NodesNamed(*snapshot_, candidates);
    request_.candidates = &nodes_;
    made_ = MakePlan(*snapshot_, groups_, request_).value();
  }
  PlanResult Robust(double share) {
    return MakeRobust(*snapshot_, groups_, request_, made_, share, options_).value();
  }
  // A plan for the special node `gpu` and then for four plain nodes, of which the small pods fill
  // what the large pod of `gpu` needs, as the scheduler spreads them.  The large pod alone lacks a
  // place: without `gpu` the rest can go.
  void MakeOneThatStrands() {
    Cluster cluster;
    cluster.Add(Node("gpu").Cpu(8000)).Add(Pod("large").On("gpu").Cpu(2000));
    for (const char* const name : {"a", "b", "c", "d"}) {
      cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(500));
    }
    cluster.Add(Node("x").Cpu(2000)).Add(Node("y").Cpu(2000));
    Make(cluster, {"gpu", "a", "b", "c", "d"});
    ASSERT_EQ(made_.plan.remove.size(), 5u) << test::Removals(*snapshot_, made_.plan);
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  std::vector<NodeId> nodes_;
  PlanResult made_;
  EvictionTrialOptions options_{.trials = 20, .seed = 3};
};

// The last nodes of the plan are not those to leave out: the first is.
TEST_F(RobustPlanTest, ANodeInTheMiddleOfThePlanMayStay) {
  MakeOneThatStrands();
  EXPECT_LT(RobustRemovals(*snapshot_, made_.plan, 0, options_), 4u);
  const PlanResult robust = Robust(0);
  EXPECT_EQ(robust.plan.remove.size(), 4u) << test::Removals(*snapshot_, robust.plan);
  EXPECT_TRUE(IsRobust(RunEvictionTrials(*snapshot_, robust.plan, options_), 0));
  EXPECT_EQ(robust.plan.termination, Termination::kRobust);
  EXPECT_EQ(robust.plan.skipped, test::NodesNamed(*snapshot_, {"gpu"}));
  EXPECT_TRUE(
      Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, robust), robust.plan)
          .ok());
}

// The worst trial leaves both large pods, and each node takes its own: both stay at first.  Where
// one of them stays, the small pods land there and leave room for the other large pod.
TEST_F(RobustPlanTest, ANodeThatNeedNotStayReturnsToThePlan) {
  Cluster cluster;
  for (const char* const name : {"p", "q"}) {
    cluster.Add(Node(name).Cpu(8000));
    cluster.Add(Pod(std::string("large-") + name).On(name).Cpu(2000).NodeSelector("big", "1"));
  }
  for (const char* const name : {"a", "b", "c"}) {
    cluster.Add(Node(name).Cpu(900)).Add(Pod(std::string("of-") + name).On(name).Cpu(500));
  }
  for (const char* const name : {"x", "y"}) {
    cluster.Add(Node(name).Cpu(4000).Label("big", "1"));
    cluster.Add(Pod(std::string("busy-") + name).On(name).Cpu(2000));
  }
  cluster.Add(Node("z").Cpu(8000)).Add(Pod("busy-z").On("z").Cpu(6500));
  Make(cluster, {"p", "q", "a", "b", "c"});
  ASSERT_EQ(made_.plan.remove.size(), 5u) << test::Removals(*snapshot_, made_.plan);
  const PlanResult robust = Robust(0);
  EXPECT_EQ(robust.plan.remove.size(), 4u) << test::Removals(*snapshot_, robust.plan);
  EXPECT_EQ(robust.plan.skipped, test::NodesNamed(*snapshot_, {"q"}));
}

// One node that takes both pods that were left is enough, though one of them ran elsewhere.
TEST_F(RobustPlanTest, ANodeThatTakesPodsOfOthersStaysForThem) {
  Cluster cluster;
  for (const char* const name : {"p", "q"}) {
    cluster.Add(Node(name).Cpu(8000)).Add(Pod(std::string("large-") + name).On(name).Cpu(2000));
  }
  for (const char* const name : {"a", "b", "c"}) {
    cluster.Add(Node(name).Cpu(900)).Add(Pod(std::string("of-") + name).On(name).Cpu(500));
  }
  for (const char* const name : {"x", "y"}) {
    cluster.Add(Node(name).Cpu(4000)).Add(Pod(std::string("busy-") + name).On(name).Cpu(2000));
  }
  cluster.Add(Node("z").Cpu(8000)).Add(Pod("busy-z").On("z").Cpu(6500));
  Make(cluster, {"p", "q", "a", "b", "c"});
  ASSERT_EQ(made_.plan.remove.size(), 5u) << test::Removals(*snapshot_, made_.plan);
  EXPECT_EQ(Robust(0).plan.skipped, test::NodesNamed(*snapshot_, {"p"}));
}

TEST_F(RobustPlanTest, InvalidPlansAndSharesAreRejected) {
  MakeOneThatStrands();
  const auto message_of = [&](const NodeGroups& groups, double share) {
    return std::string(
        MakeRobust(*snapshot_, groups, request_, made_, share, options_).status().message());
  };
  EXPECT_EQ(message_of(NodeGroups(), 0), "groups.group_of: has 0 entries for 7 nodes");
  EXPECT_EQ(message_of(groups_, -1), "share: -1 is not from 0 to 1");
  EXPECT_EQ(message_of(groups_, std::numeric_limits<double>::quiet_NaN()),
            "share: nan is not from 0 to 1");
  made_.plan.remove[0].node = NodeId{99};
  EXPECT_EQ(message_of(groups_, 0),
            "plan.remove[0]: has a node or a pod that the catalog does not have");
  made_.plan.remove.clear();
  snapshot_->Fork();
  EXPECT_EQ(message_of(groups_, 0), "snapshot: 1 fork is open");
}

TEST_F(RobustPlanTest, ARobustPlanStaysAsItIs) {
  MakeOneThatStrands();
  const PlanResult robust = Robust(1);
  EXPECT_EQ(test::Removals(*snapshot_, robust.plan), test::Removals(*snapshot_, made_.plan));
  EXPECT_EQ(robust.plan.termination, Termination::kComplete);
}

// What no trial has shown to be robust is left out.
TEST_F(RobustPlanTest, WithoutTimeForTrialsNothingIsLeft) {
  MakeOneThatStrands();
  CancelToken over;
  over.Cancel();
  options_.deadline = &over;
  const PlanResult robust = Robust(1);
  EXPECT_TRUE(robust.plan.remove.empty());
  EXPECT_EQ(robust.plan.termination, Termination::kDeadline);
}

TEST_F(RobustPlanTest, AnEmptyPlanStaysEmpty) {
  Make(Cluster().Add(Node("a")).Add(Pod("bare").On("a").WithoutOwner()), {"a"});
  EXPECT_TRUE(Robust(0).plan.remove.empty());
}

// Pods that are nominated in time land as planned, and so do all.
TEST_F(RobustPlanTest, NominatedPodsFindTheirPlaces) {
  MakeOneThatStrands();
  const auto left = [&](double nominated) {
    options_.nominated_share = nominated;
    size_t pending = 0;
    const EvictionTrials trials = RunEvictionTrials(*snapshot_, made_.plan, options_);
    for (const EvictionTrial& trial : trials.plan_order) pending += trial.pending;
    for (const EvictionTrial& trial : trials.random_order) pending += trial.pending;
    return pending;
  };
  const size_t of_none = left(0);
  const size_t of_half = left(0.5);
  EXPECT_GT(of_none, 0u);
  EXPECT_LT(of_half, of_none);
  EXPECT_EQ(left(1), 0u);
}

// `gpu` is left out, and what kept `held` may not keep it any more; `off` is kept for good.
TEST_F(RobustPlanTest, ThePlanHasEveryCandidateAndTheBudgetsThatAreLeft) {
  Cluster cluster;
  cluster.Add(Node("gpu").Cpu(8000));
  cluster.Add(Pod("large").On("gpu").Cpu(2000).Label("app", "large"));
  for (const char* const name : {"a", "b", "c", "d"}) {
    cluster.Add(Node(name).Cpu(1000));
    cluster.Add(Pod(std::string("of-") + name).On(name).Cpu(500).Label("app", "small"));
  }
  cluster.Add(Node("x").Cpu(2000)).Add(Node("y").Cpu(2000));
  cluster.Add(Node("held").Taint("own")).Add(Pod("bare").On("held").WithoutOwner());
  cluster.Add(Node("off").Taint("own").Annotation(
      "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"));
  cluster.Add(test::Budget("large").Matching("app", "large").Allows(3));
  cluster.Add(test::Budget("small").Matching("app", "small").Allows(9));
  Make(cluster, {"gpu", "a", "b", "c", "d", "held", "off"});
  ASSERT_EQ(made_.plan.remove.size(), 5u) << test::Removals(*snapshot_, made_.plan);
  const PlanResult robust = Robust(0);
  EXPECT_EQ(robust.plan.remove.size(), 4u) << test::Removals(*snapshot_, robust.plan);
  EXPECT_EQ(robust.plan.skipped, test::NodesNamed(*snapshot_, {"gpu", "held"}));
  EXPECT_EQ(test::Kept(*snapshot_, robust.plan), "off=ScaleDownDisabledAnnotation");
  const Catalog& catalog = snapshot_->catalog();
  const auto remaining = [&](const Plan& plan, std::string_view pod) {
    return plan.pdb_remaining[Index(catalog.shape_of(test::PodNamed(*snapshot_, pod)).budgets[0])];
  };
  EXPECT_EQ(remaining(made_.plan, "large"), 2);
  EXPECT_EQ(remaining(robust.plan, "large"), 3);
  EXPECT_EQ(remaining(robust.plan, "of-a"), 9 - 4);
}

// The borders of a share are shares.
TEST_F(RobustPlanTest, TheShareMayBeFromZeroToOne) {
  MakeOneThatStrands();
  for (const double share : {-0.001, 1.001}) {
    EXPECT_EQ(MakeRobust(*snapshot_, groups_, request_, made_, share, options_).status().code(),
              absl::StatusCode::kInvalidArgument)
        << share;
  }
  EXPECT_TRUE(MakeRobust(*snapshot_, groups_, request_, made_, 1, options_).ok());
}

// Either of the two nodes may stay: the last does.
TEST_F(RobustPlanTest, IfBothWaysLeaveAsManyTheLastNodesStay) {
  Make(test::TightCluster(), {"one", "two"});
  ASSERT_EQ(made_.plan.remove.size(), 2u) << test::Removals(*snapshot_, made_.plan);
  const PlanResult robust = Robust(0);
  ASSERT_EQ(robust.plan.remove.size(), 1u);
  EXPECT_EQ(robust.plan.remove[0].node, test::NodeNamed(*snapshot_, "one"));
  EXPECT_EQ(robust.plan.skipped, test::NodesNamed(*snapshot_, {"two"}));
  EXPECT_EQ(robust.plan.termination, Termination::kRobust);
}

TEST_F(RobustPlanTest, DeadlineAndListenerOfTheRequestCountForItsPlanOnly) {
  MakeOneThatStrands();
  CancelToken over;
  over.Cancel();
  request_.pass.deadline = &over;
  int calls = 0;
  request_.on_passes_done = [&] { ++calls; };
  const PlanResult robust = Robust(0);
  EXPECT_EQ(robust.plan.remove.size(), 4u) << test::Removals(*snapshot_, robust.plan);
  EXPECT_EQ(calls, 0);
}

TEST_F(RobustPlanTest, PodsEndWhereThePlanHadThem) {
  MakeOneThatStrands();
  const auto ends = [](const Plan& plan) {
    std::map<PodId, NodeId> places;
    for (const RemovableNode& removal : plan.remove) {
      for (const Move& move : removal.moves) places[move.pod] = move.to;
    }
    return places;
  };
  const std::map<PodId, NodeId> planned = ends(made_.plan);
  const std::map<PodId, NodeId> robust = ends(Robust(0).plan);
  ASSERT_EQ(robust.size(), 4u);
  for (const auto& [pod, node] : robust) EXPECT_EQ(planned.at(pod), node);
}

}  // namespace
}  // namespace ebb::robust_plan_test
