// What the eviction API, and requests for evictions, change about a plan: --unhealthy-pods, and
// EvictionRequests.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "predicates/drainability.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::evictions_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Budget Web(std::string_view name = "web") { return Budget(name).Matching("app", "web").Allows(0); }

Budget AlwaysAllows(std::string_view name = "web") {
  Budget budget = Web(name);
  budget.raw.always_allows_unready = true;
  return budget;
}

// Its healthy pods, and how many of them must be.
Budget Met(int64_t healthy, int64_t desired) {
  Budget budget = Web();
  budget.raw.current_healthy = healthy;
  budget.raw.desired_healthy = desired;
  budget.raw.expected_pods = 3;
  return budget;
}

Pod Unready(std::string_view name = "w") {
  Pod pod(name);
  pod.On("a").Cpu(100).Label("app", "web").OwnedBy("ReplicaSet", "web");
  pod.raw.phase = "Running";
  pod.raw.unready = true;
  return pod;
}

class EvictionsTest : public ::testing::Test {
 protected:
  // A pod on node a, and room on b, which stays.
  std::vector<std::string> Removed(UnhealthyPods rule, std::vector<Budget> budgets, const Pod& pod,
                                   std::optional<objects::StorageObject> request = std::nullopt) {
    Cluster cluster;
    cluster.Add(Node("a").Cpu(1000)).Add(Node("b").Cpu(1000));
    cluster.Add(Pod("filler").On("b").Cpu(900));
    cluster.Add(pod);
    for (const Budget& budget : budgets) cluster.Add(budget);
    if (request) cluster.Add(*request);
    snapshot_.emplace(cluster.Unhealthy(rule).Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
    made_ = MakePlan(*snapshot_, groups_, request_).value();
    std::vector<std::string> names;
    for (const RemovableNode& removal : made_.plan.remove) {
      names.emplace_back(snapshot_->catalog().NodeName(removal.node));
    }
    return names;
  }
  [[nodiscard]] BlockingPodReason WhyKept() const {
    const auto a = std::ranges::find(made_.plan.keep, test::NodeNamed(*snapshot_, "a"),
                                     &UnremovableNode::node);
    return a == made_.plan.keep.end() ? BlockingPodReason::kNoReason : a->blocking_reason;
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  PlanResult made_;
};

TEST_F(EvictionsTest, ABudgetThatAlwaysAllowsFreesAPodThatIsNotReady) {
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {AlwaysAllows()}, Unready()), IsEmpty());
  EXPECT_EQ(WhyKept(), BlockingPodReason::kNotEnoughPdb);
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {AlwaysAllows()}, Unready()), ElementsAre("a"));
  EXPECT_THAT(made_.plan.pdb_remaining, ElementsAre(0));  // It took no disruption.
  Pod ready = Unready();
  ready.raw.unready = false;
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {AlwaysAllows()}, ready), IsEmpty());
}

TEST_F(EvictionsTest, ABudgetThatIsMetFreesAPodThatIsNotReady) {
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {Met(2, 2)}, Unready()), ElementsAre("a"));
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {Met(2, 2)}, Unready()), IsEmpty());
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {Met(1, 2)}, Unready()), IsEmpty());
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {Met(0, 0)}, Unready()), IsEmpty());
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {Web()}, Unready()), IsEmpty());  // Not computed.
}

// The eviction API refuses pods of several budgets that run, whatever these say.
TEST_F(EvictionsTest, SeveralBudgetsFreeNoPodThatRuns) {
  const std::vector<Budget> both = {AlwaysAllows("one"), AlwaysAllows("two")};
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, both, Unready()), IsEmpty());
  Pod starting = Unready();
  starting.raw.phase = "Pending";
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, both, starting), ElementsAre("a"));
}

TEST_F(EvictionsTest, NoBudgetCountsForAPodThatDoesNotRun) {
  Pod starting = Unready();
  starting.raw.phase = "Pending";
  starting.raw.unready = false;
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {Web()}, starting), IsEmpty());
  EXPECT_THAT(Removed(UnhealthyPods::kEvict, {Web()}, starting), ElementsAre("a"));
}

TEST_F(EvictionsTest, TheVerifierRefusesTheFreedPodWhereItsBudgetCounts) {
  const auto verified = [this](const Plan& plan) {
    return Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), plan).ok();
  };
  ASSERT_THAT(Removed(UnhealthyPods::kEvict, {AlwaysAllows()}, Unready()), ElementsAre("a"));
  const Plan freed = made_.plan;
  EXPECT_TRUE(verified(freed));
  ASSERT_THAT(Removed(UnhealthyPods::kKeep, {AlwaysAllows()}, Unready()), IsEmpty());
  EXPECT_FALSE(verified(freed));
}

objects::EvictionRequest Request(std::string_view pod, std::string_view uid) {
  objects::EvictionRequest request;
  request.meta.name = "r";
  request.meta.namespace_name = "default";
  request.pod = pod;
  request.uid = uid;
  request.active = true;
  return request;
}

Pod Replica() {
  Pod pod("w");
  pod.On("a").Cpu(100).OwnedBy("ReplicaSet", "web");
  pod.raw.meta.uid = "u";
  return pod;
}

TEST_F(EvictionsTest, AnEvictionRequestKeepsTheNodeOfItsPod) {
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, Replica()), ElementsAre("a"));
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, Replica(), Request("w", "u")), IsEmpty());
  EXPECT_EQ(WhyKept(), BlockingPodReason::kEvictionRequested);
  EXPECT_EQ(snapshot_->catalog().Text(
                snapshot_->catalog().FindEvictionRequest(test::PodNamed(*snapshot_, "w"))),
            "r");
  // It comes before what would let the pod move at once.
  Pod safe = Replica();
  safe.Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "true");
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, safe, Request("w", "u")), IsEmpty());
}

TEST_F(EvictionsTest, AnEvictionRequestForAnotherPodOrOneThatIsOverKeepsNothing) {
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, Replica(), Request("w", "earlier")),
              ElementsAre("a"));
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, Replica(), Request("v", "u")), ElementsAre("a"));
  objects::EvictionRequest withdrawn = Request("w", "u");
  withdrawn.active = false;
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, Replica(), withdrawn), ElementsAre("a"));
  // A DaemonSet's pod goes with its node.
  Pod daemon("w");
  daemon.On("a").Cpu(100).OwnedBy("DaemonSet", "agent");
  daemon.raw.meta.uid = "u";
  EXPECT_THAT(Removed(UnhealthyPods::kKeep, {}, daemon, Request("w", "u")), ElementsAre("a"));
}

}  // namespace
}  // namespace ebb::evictions_test
