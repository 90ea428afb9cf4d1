// Why a node is no candidate: each reason in turn.

#include "engine/plan/eligibility.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::eligibility_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

constexpr int64_t kNow = test::kPassTime;
constexpr const char* kKeep = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr const char* kGpu = "nvidia.com/gpu";

// One node, its group, the options, and the verdict on the node.
class EligibilityTest : public ::testing::Test {
 protected:
  void Make(const Node& node, const std::vector<Pod>& pods = {}) {
    Cluster cluster;
    cluster.Add(node);
    for (const Pod& pod : pods) cluster.Add(Pod(pod).On("n"));
    snapshot_ = cluster.Build();
    groups_ = test::OneGroup(snapshot_);
    options_ = PlannerOptions();
  }
  // "NotUnderutilized", followed by " 0.75" if utilization was computed.
  std::string Judge(bool recently_unremovable = false) {
    const Eligibility judged =
        JudgeEligibility(snapshot_, groups_, NodeId{0}, options_, recently_unremovable,
                         /*all_as_charged=*/false, kNow);
    std::string text(ToString(judged.reason));
    if (judged.utilization) {
      text += ' ' + std::to_string(static_cast<int>(judged.utilization->utilization * 100));
    }
    return text;
  }
  std::string Judge(const Node& node, const std::vector<Pod>& pods = {}) {
    Make(node, pods);
    return Judge();
  }
  static Node TaintedFor(int64_t age_s) {
    return Node("n").Taint("ToBeDeletedByClusterAutoscaler", std::to_string(kNow - age_s));
  }

  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  PlannerOptions options_;
};

TEST_F(EligibilityTest, TheThresholdItselfIsEligible) {
  EXPECT_EQ(Judge(Node("n")), "NoReason 0");
  EXPECT_EQ(Judge(Node("n"), {Pod("p").Cpu(2000)}), "NoReason 50");
  EXPECT_EQ(Judge(Node("n"), {Pod("p").Cpu(2040)}), "NotUnderutilized 51");
  EXPECT_EQ(Judge(Node("n"), {Pod("p").Memory(6 * test::kGiB)}), "NotUnderutilized 75");
}

TEST_F(EligibilityTest, ARecentlyTriedNodeIsNotCheckedAgain) {
  Make(TaintedFor(10).Annotation(kKeep, "true"));
  EXPECT_EQ(Judge(/*recently_unremovable=*/true), "RecentlyUnremovable");
  EXPECT_EQ(Judge(), "CurrentlyBeingDeleted");
}

TEST_F(EligibilityTest, ADeletionIsGivenUpAfterItsTimeout) {
  EXPECT_EQ(Judge(TaintedFor(-10)), "CurrentlyBeingDeleted");
  EXPECT_EQ(Judge(TaintedFor(299)), "CurrentlyBeingDeleted");
  EXPECT_EQ(Judge(TaintedFor(300)), "NoReason 0");
  EXPECT_EQ(Judge(TaintedFor(100'000)), "NoReason 0");
}

TEST_F(EligibilityTest, AnnotationAndGroupComeBeforeUse) {
  const Pod busy = Pod("p").Cpu(4000);
  EXPECT_EQ(Judge(Node("n").Annotation(kKeep, "true"), {busy}), "ScaleDownDisabledAnnotation");
  Make(Node("n"), {busy});
  groups_.group_of[0] = kNoGroup;
  EXPECT_EQ(Judge(), "NotAutoscaled");
  Make(Node("n").Annotation("karpenter.sh/do-not-disrupt", "true"), {busy});
  EXPECT_EQ(Judge(), "NotUnderutilized 100");
  groups_.groups[0].managed_by = PoolManager::kKarpenter;
  EXPECT_EQ(Judge(), "ScaleDownDisabledAnnotation");
}

TEST_F(EligibilityTest, ANodeThatIsNotReadyMayBeLeftAlone) {
  Make(Node("n").NotReady());
  EXPECT_EQ(Judge(), "NoReason 0");
  options_.scale_down_unready_enabled = false;
  EXPECT_EQ(Judge(), "ScaleDownUnreadyDisabled");
  Make(Node("n"));
  options_.scale_down_unready_enabled = false;
  EXPECT_EQ(Judge(), "NoReason 0");
}

TEST_F(EligibilityTest, AnUnknownUtilizationIsAnUnexpectedError) {
  EXPECT_EQ(Judge(Node("n").Cpu(0)), "UnexpectedError");
  Make(Node("n"));
  snapshot_.RemoveNode(NodeId{0});
  EXPECT_EQ(Judge(), "UnexpectedError");
}

TEST_F(EligibilityTest, TheThresholdsOfAGroupReplaceTheGeneralOnes) {
  Make(Node("n"), {Pod("p").Cpu(2400)});
  EXPECT_EQ(Judge(), "NotUnderutilized 60");
  groups_.groups[0].scale_down_gpu_utilization_threshold = 0.9;
  EXPECT_EQ(Judge(), "NotUnderutilized 60");
  groups_.groups[0].scale_down_utilization_threshold = 0.6;
  EXPECT_EQ(Judge(), "NoReason 60");
  options_.scale_down_utilization_threshold = 0.1;
  EXPECT_EQ(Judge(), "NoReason 60");
}

TEST_F(EligibilityTest, NodesWithGpusHaveAThresholdOfTheirOwn) {
  Make(Node("n").Resource(kGpu, 4), {Pod("p").Cpu(4000).Request(kGpu, 1)});
  EXPECT_EQ(Judge(), "NoReason 25");
  options_.scale_down_gpu_utilization_threshold = 0.2;
  EXPECT_EQ(Judge(), "NotUnderutilized 25");
  groups_.groups[0].scale_down_utilization_threshold = 0.9;
  EXPECT_EQ(Judge(), "NotUnderutilized 25");
  groups_.groups[0].scale_down_gpu_utilization_threshold = 0.25;
  EXPECT_EQ(Judge(), "NoReason 25");
  // The label alone makes it a GPU node, with utilization 0.
  Make(Node("n"), {Pod("p").Cpu(4000)});
  groups_.gpu_label = {true};
  EXPECT_EQ(Judge(), "NoReason 0");
  options_.scale_down_gpu_utilization_threshold = -0.5;
  EXPECT_EQ(Judge(), "NotUnderutilized 0");
}

TEST_F(EligibilityTest, AGroupMayOverrideWhetherDaemonSetsCount) {
  Make(Node("n"), {Pod("ds").Cpu(2000).DaemonSet(), Pod("p").Cpu(500)});
  EXPECT_EQ(Judge(), "NotUnderutilized 62");
  groups_.groups[0].ignore_daemonsets_utilization = true;
  EXPECT_EQ(Judge(), "NoReason 25");
  options_.ignore_daemonsets_utilization = true;
  groups_.groups[0].ignore_daemonsets_utilization = false;
  EXPECT_EQ(Judge(), "NotUnderutilized 62");
  groups_.groups[0].ignore_daemonsets_utilization.reset();
  EXPECT_EQ(Judge(), "NoReason 25");
}

TEST_F(EligibilityTest, MirrorPodsCountUnlessTheOptionsIgnoreThem) {
  Make(Node("n"), {Pod("static").Cpu(2000).Mirror(), Pod("p").Cpu(500)});
  EXPECT_EQ(Judge(), "NotUnderutilized 62");
  options_.ignore_mirror_pods_utilization = true;
  EXPECT_EQ(Judge(), "NoReason 25");
}

}  // namespace
}  // namespace ebb::eligibility_test
