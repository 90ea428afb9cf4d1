#include "engine/simulation/robust_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/verify.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
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
    request_.now_s = test::kPassTime;
    request_.planner.scale_down_utilization_threshold = 1;
    nodes_ = test::NodesNamed(*snapshot_, candidates);
    request_.candidates = &nodes_;
    made_ = MakePlan(*snapshot_, groups_, {}, request_).value();
  }
  PlanResult Robust(double share) {
    return MakeRobust(*snapshot_, groups_, {}, request_, made_, share, options_).value();
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
  EXPECT_TRUE(Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, robust, {}),
                     robust.plan)
                  .ok());
}

TEST_F(RobustPlanTest, WhatIsRobustStaysAsItIs) {
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
  Make(Cluster().Add(Node("a")).Add(Pod("bare").On("a").OwnedByNobody()), {"a"});
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

}  // namespace
}  // namespace ebb::robust_plan_test
