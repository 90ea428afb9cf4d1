#include "engine/pass/workloads.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::workloads_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::HasSubstr;

TEST(PodsOfShareTest, AShareIsRoundedUp) {
  EXPECT_EQ(PodsOfShare(10, 0.3), 3);
  EXPECT_EQ(PodsOfShare(10, 0.31), 4);
  EXPECT_EQ(PodsOfShare(100, 0.07), 7);  // 0.07 * 100 is above 7.
  EXPECT_EQ(PodsOfShare(1, 0.01), 1);
  EXPECT_EQ(PodsOfShare(0, 0.5), 0);
}

class WorkloadSharesTest : public ::testing::Test {
 protected:
  // Four pods of web: one on a, one on b, and two on c, the only node with room for all.
  void SetUp() override {
    Make(Cluster()
             .Add(Node("a").Cpu(1000))
             .Add(Node("b").Cpu(1000))
             .Add(Node("c").Cpu(8000))
             .Add(Pod("web-a").On("a").Cpu(100).OwnedBy("ReplicaSet", "web"))
             .Add(Pod("web-b").On("b").Cpu(100).OwnedBy("ReplicaSet", "web"))
             .Add(Pod("web-c").On("c").Cpu(100).OwnedBy("ReplicaSet", "web"))
             .Add(Pod("web-d").On("c").Cpu(100).OwnedBy("ReplicaSet", "web")));
  }
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
  }
  PlanResult Plan() { return MakePlan(*snapshot_, groups_, request_).value(); }
  std::vector<PodId> Pods(const std::vector<std::string>& names) const {
    std::vector<PodId> pods;
    for (const std::string& name : names) pods.push_back(test::PodNamed(*snapshot_, name));
    return pods;
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
};

TEST_F(WorkloadSharesTest, ThePodThatIsTooManyIsNamed) {
  WorkloadShares shares(*snapshot_, 0.5);
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-a", "web-c"})), kNoPod);
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-a", "web-c", "web-d"})), Pods({"web-d"})[0]);
  shares.Evict(Pods({"web-a"}));
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-c", "web-d"})), Pods({"web-d"})[0]);
  // A pod that moves on is not evicted again.
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-a", "web-c"})), kNoPod);
  shares.Evict(Pods({"web-a"}));
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-c"})), kNoPod);
}

TEST_F(WorkloadSharesTest, AllMayGoWhereTheShareIsAll) {
  WorkloadShares shares(*snapshot_, 1);
  shares.Evict(Pods({"web-a", "web-b"}));
  EXPECT_EQ(shares.FirstTooMany(Pods({"web-c", "web-d"})), kNoPod);
}

TEST_F(WorkloadSharesTest, PodsWithoutAControllerAreKeptByNoShare) {
  Make(Cluster()
           .Add(Node("a"))
           .Add(Pod("p").On("a").WithoutOwner())
           .Add(Pod("q").On("a").WithoutOwner()));
  WorkloadShares shares(*snapshot_, 0.01);
  EXPECT_EQ(shares.FirstTooMany(Pods({"p", "q"})), kNoPod);
}

TEST_F(WorkloadSharesTest, APlanKeepsTheShareAndReportsTheNodesThatItKeepsForIt) {
  EXPECT_EQ(Plan().plan.remove.size(), 2u);
  request_.pass.max_workload_share = 0.2;  // 1 of 4.
  const PlanResult made = Plan();
  EXPECT_EQ(test::Removals(*snapshot_, made.plan), "a: web-a>b");
  ASSERT_EQ(made.plan.keep.size(), 2u);
  // It would move web-a, which was evicted before, and web-b.
  EXPECT_EQ(made.plan.keep[0].node, test::NodeNamed(*snapshot_, "b"));
  EXPECT_EQ(made.plan.keep[0].reason, UnremovableReason::kBlockedByPod);
  EXPECT_EQ(made.plan.keep[0].blocking_reason, BlockingPodReason::kWorkloadShareReached);
  EXPECT_EQ(made.plan.keep[0].pod, Pods({"web-b"})[0]);
}

TEST_F(WorkloadSharesTest, TheVerifierRefusesAPlanThatExceedsTheShare) {
  const PlanResult made = Plan();
  ASSERT_EQ(made.plan.remove.size(), 2u);
  const auto verdict = [&](double share) {
    request_.pass.max_workload_share = share;
    return Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made), made.plan);
  };
  EXPECT_TRUE(verdict(0.5).ok());
  EXPECT_THAT(std::string(verdict(0.25).message()),
              HasSubstr("pod \"default/web-b\" is evicted beyond the share of the 4 pods of "
                        "default/ReplicaSet/web/"));
}

TEST_F(WorkloadSharesTest, AnInvalidShareIsRejected) {
  for (const double share : {0.0, -0.5, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    request_.pass.max_workload_share = share;
    const absl::Status refused = MakePlan(*snapshot_, groups_, request_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("max_workload_share: "));
  }
}

TEST(WorkloadsTest, PodsThatRunForOneControllerBelongTogetherInTheOrderOfNodes) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Pod("web-b").On("b").OwnedBy("ReplicaSet", "web"))
          .Add(Pod("bare").On("a").WithoutOwner())
          .Add(Pod("web-a").On("a").OwnedBy("ReplicaSet", "web"))
          .Add(Pod("job").On("a").OwnedBy("Job", "web"))
          .Add(Pod("elsewhere").In("other").On("b").OwnedBy("ReplicaSet", "web"))
          .Add(Pod("waits").OwnedBy("ReplicaSet", "web"))
          .Build();
  const auto pod = [&](const char* name) { return test::PodNamed(snapshot, name); };
  const PodId elsewhere = test::PodNamed(snapshot, "elsewhere", "other");
  const Workloads workloads(snapshot);
  EXPECT_EQ(workloads.pods, (std::vector<std::vector<PodId>>{
                                {pod("web-a"), pod("web-b")}, {pod("job")}, {elsewhere}}));
  ASSERT_EQ(workloads.of.size(), 6u);
  EXPECT_EQ(workloads.of[Index(pod("web-a"))], 0u);
  EXPECT_EQ(workloads.of[Index(pod("web-b"))], 0u);
  EXPECT_EQ(workloads.of[Index(pod("job"))], 1u);
  EXPECT_EQ(workloads.of[Index(elsewhere)], 2u);
  EXPECT_EQ(workloads.of[Index(pod("bare"))], Workloads::kNone);
  EXPECT_EQ(workloads.of[Index(pod("waits"))], Workloads::kNone);
}

}  // namespace
}  // namespace ebb::workloads_test
