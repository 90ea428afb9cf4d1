#include "simulation/eviction_trials.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "engine/make_plan.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/simulation/tight_cluster.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::eviction_trials_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

class EvictionTrialsTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster, const std::vector<std::string_view>& candidates) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    PlanRequest request;
    request.order = CandidateOrder::kInput;
    request.pass.now_s = test::kPassTime;
    request.planner.scale_down_utilization_threshold = 1;
    const std::vector<NodeId> nodes = test::NodesNamed(*snapshot_, candidates);
    request.candidates = &nodes;
    made_ = MakePlan(*snapshot_, groups_, request).value();
  }
  EvictionTrials Run(size_t trials = 10) const {
    return RunEvictionTrials(*snapshot_, made_.plan, {.trials = trials, .seed = 3});
  }
  void MakeTight() { Make(test::TightCluster(), {"one", "two"}); }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanResult made_;
};

TEST_F(EvictionTrialsTest, WithRoomForAllNothingIsPending) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(8000))
           .Add(Pod("p").On("a").Cpu(100))
           .Add(Pod("q").On("a").Cpu(100)),
       {"a"});
  const EvictionTrials trials = Run();
  EXPECT_EQ(trials.evicted, 2u);
  ASSERT_EQ(trials.random_order.size(), 10u);
  ASSERT_EQ(trials.plan_order.size(), 10u);
  for (const EvictionTrial& trial : trials.random_order) {
    EXPECT_EQ(trial.pending, 0u);
    EXPECT_EQ(trial.as_planned, 2u);  // There is no other place.
  }
}

TEST_F(EvictionTrialsTest, TrialsThatAreNotOverInTimeAreLeftOut) {
  MakeTight();
  CancelToken over;
  over.Cancel();
  const EvictionTrials trials = RunEvictionTrials(
      *snapshot_, made_.plan, {.trials = 10, .seed = 3, .nominated_share = 0, .deadline = &over});
  EXPECT_TRUE(trials.cut);
  EXPECT_EQ(trials.evicted, 3u);
  EXPECT_TRUE(trials.random_order.empty());
  EXPECT_TRUE(trials.plan_order.empty());
  EXPECT_FALSE(IsRobust(trials, 1));  // Nothing was shown.
}

TEST_F(EvictionTrialsTest, ASchedulerThatSpreadsLeavesALargePodOfATightPlanPending) {
  MakeTight();
  ASSERT_EQ(made_.plan.remove.size(), 2u) << test::Removals(*snapshot_, made_.plan);
  const EvictionTrials trials = Run(20);
  EXPECT_EQ(trials.evicted, 3u);
  for (const EvictionTrial& trial : trials.plan_order) EXPECT_EQ(trial.pending, 1u);
  // Where the large pod comes first, all find places.
  size_t with_pending = 0;
  for (const EvictionTrial& trial : trials.random_order) with_pending += trial.pending;
  EXPECT_GT(with_pending, 0u);
  EXPECT_LT(with_pending, 20u);
}

TEST_F(EvictionTrialsTest, APodThatLandsElsewhereIsNotAsPlanned) {
  MakeTight();
  ASSERT_EQ(made_.plan.remove.size(), 2u) << test::Removals(*snapshot_, made_.plan);
  const EvictionTrials trials = Run();
  ASSERT_EQ(trials.plan_order.size(), 10u);
  // The plan has both small pods on one node, and the large one on the other.
  for (const EvictionTrial& trial : trials.plan_order) EXPECT_EQ(trial.as_planned, 1u);
}

TEST_F(EvictionTrialsTest, NodesOfThePlanTakeNoPods) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("empty").Cpu(64000))
           .Add(Node("b").Cpu(1000))
           .Add(Pod("p").On("a").Cpu(400)),
       {"empty", "a"});
  ASSERT_EQ(made_.plan.remove.size(), 2u);
  for (const EvictionTrial& trial : Run().random_order) EXPECT_EQ(trial.as_planned, 1u);
}

TEST_F(EvictionTrialsTest, APodThatMovesTwiceInThePlanIsEvictedOnce) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(1000))
           .Add(Node("c").Cpu(1000))
           .Add(Pod("p").On("a").Cpu(100)),
       {"a", "b"});
  ASSERT_EQ(made_.plan.remove.size(), 2u);
  const EvictionTrials trials = Run();
  EXPECT_EQ(trials.evicted, 1u);
  EXPECT_EQ(trials.plan_order[0].as_planned, 1u);
}

TEST_F(EvictionTrialsTest, TheSameAtAnyNumberOfThreads) {
  MakeTight();
  const Parallelism three(3);
  const EvictionTrials one = Run(20);
  const EvictionTrials other =
      RunEvictionTrials(*snapshot_, made_.plan, {.trials = 20, .seed = 3}, three);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(one.random_order[i].pending, other.random_order[i].pending);
    EXPECT_EQ(one.random_order[i].as_planned, other.random_order[i].as_planned);
  }
}

TEST_F(EvictionTrialsTest, APlanIsShortenedToWhatCanBeCarriedOut) {
  MakeTight();
  const EvictionTrialOptions options{.trials = 20, .seed = 3};
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 0, options), 1u);
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 1, options), 2u);
  PlanRequest request;
  request.pass.now_s = test::kPassTime;
  CutPlan(*snapshot_, groups_, request, 1, Termination::kRobust, made_);
  EXPECT_EQ(test::Removals(*snapshot_, made_.plan), "one: small-1>two small-2>x");
  EXPECT_EQ(made_.plan.termination, Termination::kRobust);
  EXPECT_EQ(made_.plan.skipped, test::NodesNamed(*snapshot_, {"two"}));
}

TEST_F(EvictionTrialsTest, AnEmptyPlanIsRobust) {
  Make(Cluster().Add(Node("a")).Add(Pod("bare").On("a").WithoutOwner()), {"a"});
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 0, {.trials = 2}), 0u);
  EXPECT_EQ(Run().evicted, 0u);
}

TEST_F(EvictionTrialsTest, PodsThatFindNoPlaceAreNamed) {
  MakeTight();
  const EvictionTrials trials = Run(20);
  const std::vector<PodId> large = {test::PodNamed(*snapshot_, "large")};
  for (const EvictionTrial& trial : trials.plan_order) EXPECT_EQ(trial.left, large);
  for (const EvictionTrial& trial : trials.random_order) {
    EXPECT_EQ(trial.left.size(), trial.pending);
  }
}

TEST(RobustnessTest, AtMostTheShareOfTrialsOfBothOrdersMayLeavePods) {
  const EvictionTrial good;
  const EvictionTrial bad = {.pending = 1, .left = {PodId{7}}, .as_planned = 0};
  EvictionTrials trials = {
      .evicted = 1, .random_order = {good, bad}, .plan_order = {good, good}, .cut = false};
  EXPECT_TRUE(IsRobust(trials, 0.25));
  EXPECT_FALSE(IsRobust(trials, 0.24));
  trials.plan_order = {bad, good};
  EXPECT_FALSE(IsRobust(trials, 0.25));
  EXPECT_TRUE(IsRobust(trials, 0.5));
  trials.cut = true;
  EXPECT_FALSE(IsRobust(trials, 1));
}

// Each trial in the plan's order leaves a pod.
TEST_F(EvictionTrialsTest, TrialsEndWhereTheFirstDecide) {
  MakeTight();
  const auto run = [&](double share, size_t trials) {
    const EvictionTrials ran =
        RunUntilRobust(*snapshot_, made_.plan, share, {.trials = trials, .seed = 3});
    EXPECT_EQ(ran.plan_order.size(), ran.random_order.size());
    return ran.plan_order.size();
  };
  EXPECT_EQ(run(0, 20), 2u);
  EXPECT_EQ(run(0.04, 20), 2u);  // 1.6 of 40 may; two or more did.
  EXPECT_EQ(run(0.1, 20), 20u);  // Four may.
  EXPECT_EQ(run(1, 20), 20u);
  EXPECT_EQ(run(0, 1), 1u);
}

// The plan has the pod where another of its controller runs, and there is more room.
TEST_F(EvictionTrialsTest, APodIsSpreadFromThoseOfItsController) {
  const std::string_view hostname = "kubernetes.io/hostname";
  for (const std::string_view kind : {"ReplicaSet", "Job"}) {
    Pod evicted("new");
    evicted.On("gone").Cpu(100).OwnedBy(kind, "owner");
    Pod peer("peer");
    peer.On("x").Cpu(100).OwnedBy(kind, "owner");
    for (const auto& [first, second] : {std::pair(evicted, peer), std::pair(peer, evicted)}) {
      snapshot_.emplace(Cluster()
                            .Add(Node("gone"))
                            .Add(Node("x").Label(hostname, "x"))
                            .Add(Node("y").Label(hostname, "y"))
                            .Add(first)
                            .Add(second)
                            .Add(Pod("big").On("y").Cpu(400))
                            .Build());
      NodeSet destinations(snapshot_->catalog().nodes());
      destinations.Insert(test::NodeNamed(*snapshot_, "x"));
      const std::vector<NodeId> nodes = test::NodesNamed(*snapshot_, {"gone"});
      PlanRequest request;
      request.pass.now_s = test::kPassTime;
      request.candidates = &nodes;
      request.pass.destinations = &destinations;
      made_ = MakePlan(*snapshot_, test::OneGroup(*snapshot_), request).value();
      ASSERT_EQ(test::Removals(*snapshot_, made_.plan), "gone: new>x") << kind;
      const EvictionTrials trials = Run();
      ASSERT_EQ(trials.plan_order.size(), 10u);
      for (const EvictionTrial& trial : trials.plan_order) {
        EXPECT_EQ(trial.as_planned, kind == "Job" ? 1u : 0u) << kind;
      }
    }
  }
}

// `wants` may only be where `wanted` is, which lands behind it.
TEST_F(EvictionTrialsTest, APodThatWaitsForAnotherToLandIsTriedAgain) {
  snapshot_.emplace(Cluster()
                        .Add(Node("one").Label("host", "one"))
                        .Add(Node("two").Label("host", "two"))
                        .Add(Node("x").Label("host", "x"))
                        .Add(Pod("wants").On("one").Cpu(100).Near("host", test::Select("app", "w")))
                        .Add(Pod("wanted").On("two").Cpu(100).Label("app", "w"))
                        .Build());
  const std::vector<NodeId> nodes = test::NodesNamed(*snapshot_, {"one", "two", "x"});
  const std::vector<PodId> pods = test::PodsNamed(*snapshot_, {"wants", "wanted"});
  made_.plan.remove.resize(2);
  made_.plan.remove[0].node = nodes[0];
  made_.plan.remove[0].moves = {{pods[0], nodes[1]}};
  made_.plan.remove[1].node = nodes[1];
  made_.plan.remove[1].moves = {{pods[1], nodes[2]}, {pods[0], nodes[2]}};
  const EvictionTrials trials = Run();
  EXPECT_EQ(trials.evicted, 2u);
  for (const auto* const order : {&trials.random_order, &trials.plan_order}) {
    ASSERT_EQ(order->size(), 10u);
    for (const EvictionTrial& trial : *order) {
      EXPECT_EQ(trial.pending, 0u);
      EXPECT_EQ(trial.as_planned, 2u);
    }
  }
}

// A trial of two nodes asks three times.
TEST_F(EvictionTrialsTest, ATrialInOnlyOneOrderIsDropped) {
  MakeTight();
  ASSERT_EQ(made_.plan.remove.size(), 2u);
  for (const auto& [questions, pairs] :
       {std::pair(5, 0u), std::pair(6, 1u), std::pair(14, 2u), std::pair(15, 2u), std::pair(17, 2u),
        std::pair(18, 3u), std::pair(60, 10u)}) {
    const test::ExpiresAfter deadline(questions);
    const EvictionTrials trials =
        RunEvictionTrials(*snapshot_, made_.plan,
                          {.trials = 10, .seed = 3, .nominated_share = 0, .deadline = &deadline});
    EXPECT_EQ(trials.cut, pairs < 10) << questions;
    EXPECT_EQ(trials.random_order.size(), pairs) << questions;
    EXPECT_EQ(trials.plan_order.size(), pairs) << questions;
  }
}

TEST_F(EvictionTrialsTest, ThePartOfAPlanThatIsRobustMayBeAllButTheLastNode) {
  Cluster cluster;
  for (const char* const name : {"e1", "e2", "e3"}) cluster.Add(Node(name).Cpu(1000));
  Make(cluster.Add(Node("one").Cpu(4000))
           .Add(Node("two").Cpu(4000))
           .Add(Node("x").Cpu(1000))
           .Add(Node("y").Cpu(1000))
           .Add(Pod("small-1").On("one").Cpu(500))
           .Add(Pod("small-2").On("one").Cpu(500))
           .Add(Pod("large").On("two").Cpu(1000)),
       {"e1", "e2", "e3", "one", "two"});
  ASSERT_EQ(made_.plan.remove.size(), 5u) << test::Removals(*snapshot_, made_.plan);
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 0, {.trials = 20, .seed = 3}), 4u);
}

// As above, and the other pod of the controller is on its way out.
TEST_F(EvictionTrialsTest, APodIsNotSpreadFromThoseThatLeave) {
  const std::string_view hostname = "kubernetes.io/hostname";
  for (const bool leaves : {false, true}) {
    Pod peer("peer");
    peer.On("x").Cpu(100);
    if (leaves) peer.DeletedAt(test::kPassTime);
    snapshot_.emplace(Cluster()
                          .Add(Node("gone"))
                          .Add(Node("x").Label(hostname, "x"))
                          .Add(Node("y").Label(hostname, "y"))
                          .Add(Pod("new").On("gone").Cpu(100))
                          .Add(peer)
                          .Add(Pod("big").On("y").Cpu(400).OwnedBy("ReplicaSet", "other"))
                          .Build());
    made_.plan.remove.resize(1);
    made_.plan.remove[0].node = test::NodeNamed(*snapshot_, "gone");
    made_.plan.remove[0].moves = {
        {test::PodNamed(*snapshot_, "new"), test::NodeNamed(*snapshot_, "x")}};
    for (const EvictionTrial& trial : Run().plan_order) {
      EXPECT_EQ(trial.as_planned, leaves ? 1u : 0u);
    }
  }
}

// A node whose pods find room for all but the last, in every order.
class OneNodeTrialsTest : public EvictionTrialsTest {
 protected:
  OneNodeTrialsTest() {
    snapshot_.emplace(Cluster()
                          .Add(Node("gone"))
                          .Add(Node("x").Cpu(1000))
                          .Add(Node("y").Cpu(1000))
                          .Add(Pod("small-1").On("gone").Cpu(500))
                          .Add(Pod("small-2").On("gone").Cpu(500))
                          .Add(Pod("large").On("gone").Cpu(1000))
                          .Build());
    const std::vector<PodId> pods = test::PodsNamed(*snapshot_, {"small-1", "small-2", "large"});
    const NodeId x = test::NodeNamed(*snapshot_, "x");
    made_.plan.remove.resize(1);
    made_.plan.remove[0].node = test::NodeNamed(*snapshot_, "gone");
    made_.plan.remove[0].moves = {
        {pods[0], x}, {pods[1], x}, {pods[2], test::NodeNamed(*snapshot_, "y")}};
  }
};

TEST_F(OneNodeTrialsTest, TheFirstTrialsDecideOnlyWhereMoreFailedThanMayOfAll) {
  const auto run = [&](double share) {
    return RunUntilRobust(*snapshot_, made_.plan, share, {.trials = 16, .seed = 3})
        .random_order.size();
  };
  EXPECT_EQ(run(0.125), 16u);  // Four of 32 may, and four did.
  EXPECT_EQ(run(0.12), 2u);
}

TEST_F(OneNodeTrialsTest, APlanThatIsNotRobustFromItsFirstNodeIsDropped) {
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 0, {.trials = 4, .seed = 3}), 0u);
  EXPECT_EQ(RobustRemovals(*snapshot_, made_.plan, 1, {.trials = 4, .seed = 3}), 1u);
}

TEST_F(EvictionTrialsTest, EachTrialHasTheNextSeed) {
  MakeTight();
  const EvictionTrials trials =
      RunEvictionTrials(*snapshot_, made_.plan, {.trials = 20, .seed = 3});
  const EvictionTrials next = RunEvictionTrials(*snapshot_, made_.plan, {.trials = 19, .seed = 4});
  ASSERT_EQ(trials.random_order.size(), 20u);
  ASSERT_EQ(next.random_order.size(), 19u);
  for (size_t i = 0; i < 19; ++i) {
    EXPECT_EQ(trials.random_order[i + 1].left, next.random_order[i].left) << i;
    EXPECT_EQ(trials.random_order[i + 1].as_planned, next.random_order[i].as_planned) << i;
    EXPECT_EQ(trials.plan_order[i + 1].as_planned, next.plan_order[i].as_planned) << i;
  }
}

// `wants` may only be beside a pod of the application.  It is nominated to x, where one will land
// from `two`; while that one is still there, only y has one.
TEST_F(EvictionTrialsTest, ANominatedPodThatDoesNotFitYetGoesElsewhere) {
  snapshot_.emplace(Cluster()
                        .Add(Node("one").Label("host", "one"))
                        .Add(Node("two").Label("host", "two"))
                        .Add(Node("x").Label("host", "x"))
                        .Add(Node("y").Label("host", "y"))
                        .Add(Pod("wants").On("one").Cpu(100).Near("host", test::Select("app", "w")))
                        .Add(Pod("wanted").On("two").Cpu(100).Label("app", "w"))
                        .Add(Pod("other").On("y").Cpu(100).Label("app", "w"))
                        .Build());
  const std::vector<PodId> pods = test::PodsNamed(*snapshot_, {"wants", "wanted"});
  const NodeId x = test::NodeNamed(*snapshot_, "x");
  made_.plan.remove.resize(2);
  made_.plan.remove[0].node = test::NodeNamed(*snapshot_, "two");
  made_.plan.remove[0].moves = {{pods[1], x}};
  made_.plan.remove[1].node = test::NodeNamed(*snapshot_, "one");
  made_.plan.remove[1].moves = {{pods[0], x}};
  const EvictionTrials trials =
      RunEvictionTrials(*snapshot_, made_.plan, {.trials = 20, .seed = 3, .nominated_share = 1});
  for (const EvictionTrial& trial : trials.plan_order) {
    EXPECT_EQ(trial.pending, 0u);
    EXPECT_EQ(trial.as_planned, 2u);
  }
  size_t elsewhere = 0;
  for (const EvictionTrial& trial : trials.random_order) {
    EXPECT_EQ(trial.pending, 0u);
    elsewhere += 2 - trial.as_planned;
  }
  EXPECT_GT(elsewhere, 0u);
  EXPECT_LT(elsewhere, 20u);
}

}  // namespace
}  // namespace ebb::eviction_trials_test
