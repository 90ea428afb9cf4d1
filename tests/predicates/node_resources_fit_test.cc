#include "predicates/node_resources_fit.h"

#include <gtest/gtest.h>

#include "tests/predicates/verdict.h"

namespace ebb::test::node_resources_fit_test {
namespace {

TEST(NodeResourcesFitTest, ARequestOfExactlyTheFreeAmountFits) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Cpu(1000))
                                       .Add(Pod("there").On("n").Cpu(400))
                                       .Add(Pod("exact").Cpu(600))
                                       .Add(Pod("more").Cpu(601))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "exact", "n"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "more", "n"), "NodeResourcesFit: Insufficient cpu");
}

TEST(NodeResourcesFitTest, EveryShortageIsNamedInTheSchedulersOrder) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Cpu(1).Memory(1).Pods(0))
                                       .Add(Pod("p")
                                                .Request("nvidia.com/gpu", 1)
                                                .Request("ephemeral-storage", 1)
                                                .Memory(2)
                                                .Cpu(2))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"),
            "NodeResourcesFit: Too many pods; Insufficient cpu; Insufficient memory; "
            "Insufficient ephemeral-storage; Insufficient nvidia.com/gpu");
}

TEST(NodeResourcesFitTest, ANodeWithoutPodSlotsAcceptsNoPod) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("n").NoAllocatable()).Add(Pod("p")).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "NodeResourcesFit: Too many pods");
}

TEST(NodeResourcesFitTest, AZeroRequestFitsOnAnOvercommittedNode) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Cpu(100))
                                       .Add(Pod("greedy").On("n").Cpu(200))
                                       .Add(Pod("modest"))
                                       .Add(Pod("tiny").Cpu(1))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "modest", "n"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "tiny", "n"), "NodeResourcesFit: Insufficient cpu");
}

TEST(NodeResourcesFitTest, RequestsNamedPodsAndUnknownNamesMeanNothing) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Pods(2))
                                       .Add(Pod("there").On("n").Request("pods", 5))
                                       .Add(Pod("p").Request("pods", 5).Request("plain", 1))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "fits");
}

}  // namespace
}  // namespace ebb::test::node_resources_fit_test
