#include "engine/plan/candidate_order.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::candidate_order_test {
namespace {

using test::Cluster;
using test::kPassTime;
using test::Node;
using test::NodeNamed;
using test::NodesNamed;
using test::Pod;

constexpr std::string_view kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

class CandidateOrderTest : public ::testing::Test {
 protected:
  // The candidates sorted by `order`, as "a b c"; given in alphabetical order.
  std::string Sorted(CandidateOrder order, const std::vector<std::string_view>& unneeded = {}) {
    std::vector<NodeId> nodes = NodesNamed(snapshot_, {"a", "b", "c", "d", "e", "f"});
    NodeSet was_unneeded(snapshot_.catalog().nodes());
    for (const std::string_view name : unneeded) was_unneeded.Insert(NodeNamed(snapshot_, name));
    SortCandidates(snapshot_, test::OneGroup(snapshot_), PlannerOptions(), order, kPassTime,
                   unneeded.empty() ? nullptr : &was_unneeded, nodes);
    std::string names;
    for (const NodeId node : nodes) {
      names += (names.empty() ? "" : " ") + std::string(snapshot_.catalog().NodeName(node));
    }
    return names;
  }

  // Node a has two pods, b a pod that must run to completion, c none, d a pod that blocks, e a
  // DaemonSet pod, and f a pod with larger requests than those of a together.
  ClusterSnapshot snapshot_ =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Node("c"))
          .Add(Node("d"))
          .Add(Node("e"))
          .Add(Node("f"))
          .Add(Pod("a1").On("a").Cpu(100))
          .Add(Pod("a2").On("a").Cpu(100))
          .Add(Pod("b1").On("b").Cpu(600).Annotation(kSafeToEvict, "on-completion"))
          .Add(Pod("d1").On("d").Cpu(50).Annotation(kSafeToEvict, "false"))
          .Add(Pod("e1").On("e").Cpu(700).OwnedBy("DaemonSet", "ds"))
          .Add(Pod("f1").On("f").Cpu(400))
          .Build();
};

TEST_F(CandidateOrderTest, TheAutoscalerTakesEmptyNodesFirst) {
  EXPECT_EQ(Sorted(CandidateOrder::kAutoscaler), "c e b a d f");
}

TEST_F(CandidateOrderTest, TheAutoscalerThenTakesNodesThatWereUnneededBefore) {
  EXPECT_EQ(Sorted(CandidateOrder::kAutoscaler, {"e", "f", "d"}), "e c b d f a");
}

TEST_F(CandidateOrderTest, TheOrderOfTheInputIsKept) {
  EXPECT_EQ(Sorted(CandidateOrder::kInput), "a b c d e f");
}

TEST_F(CandidateOrderTest, NodesWithTheFewestPodsToMoveGoFirstAndBlockedOnesLast) {
  EXPECT_EQ(Sorted(CandidateOrder::kFewestPods), "b c e f a d");
}

TEST_F(CandidateOrderTest, InOtherOrdersNodesThatWereUnneededBeforeGoFirst) {
  EXPECT_EQ(Sorted(CandidateOrder::kInput, {"e", "b"}), "b e a c d f");
  EXPECT_EQ(Sorted(CandidateOrder::kFewestPods, {"d", "a"}), "a d b c e f");
  EXPECT_EQ(Sorted(CandidateOrder::kLeastUtilized, {"f", "e"}), "f e c d a b");
}

TEST_F(CandidateOrderTest, LeastUtilizedNodesGoFirst) {
  EXPECT_EQ(Sorted(CandidateOrder::kLeastUtilized), "c d a f b e");
}

// The candidates `names` of another cluster, sorted by `order`.
std::string SortedOf(const ClusterSnapshot& snapshot, const std::vector<std::string_view>& names,
                     CandidateOrder order, const PlannerOptions& options, bool gpu_labels = false) {
  std::vector<NodeId> nodes = NodesNamed(snapshot, names);
  NodeGroups groups = test::OneGroup(snapshot);
  if (gpu_labels) groups.gpu_label.assign(snapshot.catalog().nodes(), true);
  SortCandidates(snapshot, groups, options, order, kPassTime, nullptr, nodes);
  std::string sorted;
  for (const NodeId node : nodes) {
    sorted += (sorted.empty() ? "" : " ") + std::string(snapshot.catalog().NodeName(node));
  }
  return sorted;
}

// A pod that is skipped does not make a node less empty, and does not hide the pods after it.
TEST(CandidateLoadTest, PodsThatStayOrHaveEndedDoNotCountAsLoad) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("moves"))
                                       .Add(Node("waits"))
                                       .Add(Node("both"))
                                       .Add(Node("mirror"))
                                       .Add(Node("gone"))
                                       .Add(Node("going"))
                                       .Add(Pod("g0").On("moves").DeletedAt(kPassTime - 1000))
                                       .Add(Pod("g1").On("moves").Cpu(100))
                                       .Add(Pod("w0").On("waits").SafeToEvict("on-completion"))
                                       .Add(Pod("b0").On("both").SafeToEvict("on-completion"))
                                       .Add(Pod("b1").On("both").Cpu(100))
                                       .Add(Pod("m0").On("mirror").Mirror().WithoutOwner())
                                       .Add(Pod("l0").On("gone").DeletedAt(kPassTime - 61))
                                       .Add(Pod("l1").On("going").DeletedAt(kPassTime - 60))
                                       .Build();
  EXPECT_EQ(SortedOf(snapshot, {"moves", "waits", "both", "mirror", "gone", "going"},
                     CandidateOrder::kAutoscaler, {}),
            "mirror gone waits moves both going");
}

TEST(CandidateUtilizationTest, PodsThatTheOptionsIgnoreDoNotCount) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Node("c"))
                                       .Add(Pod("pa").On("a").Cpu(400))
                                       .Add(Pod("pb").On("b").Cpu(800).DaemonSet())
                                       .Add(Pod("pc").On("c").Cpu(1200).Mirror())
                                       .Build();
  const auto sorted = [&](bool daemonsets, bool mirror_pods) {
    PlannerOptions options;
    options.ignore_daemonsets_utilization = daemonsets;
    options.ignore_mirror_pods_utilization = mirror_pods;
    return SortedOf(snapshot, {"c", "b", "a"}, CandidateOrder::kLeastUtilized, options);
  };
  EXPECT_EQ(sorted(false, false), "a b c");
  EXPECT_EQ(sorted(true, false), "b a c");
  EXPECT_EQ(sorted(false, true), "c a b");
  EXPECT_EQ(sorted(true, true), "c b a");
}

TEST(CandidateUtilizationTest, ANodeWithoutUtilizationIsLastAndZeroOfZeroIsZero) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("none").Cpu(0))
                                       .Add(Node("used"))
                                       .Add(Node("nan"))
                                       .Add(Pod("p").On("used").Cpu(400))
                                       .Add(Pod("ds").On("nan").Memory(8 * test::kGiB).DaemonSet())
                                       .Build();
  PlannerOptions options;
  options.ignore_daemonsets_utilization = true;
  EXPECT_EQ(SortedOf(snapshot, {"none", "used", "nan"}, CandidateOrder::kLeastUtilized, options),
            "nan used none");
}

TEST(CandidateUtilizationTest, AGpuLabelWithoutGpusGivesNoUtilization) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b").Resource("nvidia.com/gpu", 4))
                                       .Add(Pod("pa").On("a").Cpu(2000))
                                       .Add(Pod("pb").On("b").Request("nvidia.com/gpu", 1))
                                       .Build();
  const auto sorted = [&](bool gpu_labels) {
    return SortedOf(snapshot, {"a", "b"}, CandidateOrder::kLeastUtilized, {}, gpu_labels);
  };
  EXPECT_EQ(sorted(false), "b a");
  EXPECT_EQ(sorted(true), "a b");
}

}  // namespace
}  // namespace ebb::candidate_order_test
