#include "engine/candidate_order.h"

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
  // The candidates in `order`, as "a b c", given in the order of the alphabet.
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

  // Two pods on a, one on b that must end by itself, none on c, one that blocks on d, a
  // DaemonSet's on e, one on f that is larger than those of a together.
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

TEST_F(CandidateOrderTest, TheAutoscalerThenTakesWhatWasUnneededBefore) {
  EXPECT_EQ(Sorted(CandidateOrder::kAutoscaler, {"e", "f", "d"}), "e c b d f a");
}

TEST_F(CandidateOrderTest, TheOrderOfTheInputIsKept) {
  EXPECT_EQ(Sorted(CandidateOrder::kInput), "a b c d e f");
}

TEST_F(CandidateOrderTest, NodesWithTheFewestPodsToMoveGoFirstAndBlockedOnesLast) {
  EXPECT_EQ(Sorted(CandidateOrder::kFewestPods), "b c e f a d");
}

TEST_F(CandidateOrderTest, InOtherOrdersWhatWasUnneededBeforeGoesFirstOfAll) {
  EXPECT_EQ(Sorted(CandidateOrder::kInput, {"e", "b"}), "b e a c d f");
  EXPECT_EQ(Sorted(CandidateOrder::kFewestPods, {"d", "a"}), "a d b c e f");
  EXPECT_EQ(Sorted(CandidateOrder::kLeastUtilized, {"f", "e"}), "f e c d a b");
}

TEST_F(CandidateOrderTest, LeastUtilizedNodesGoFirst) {
  EXPECT_EQ(Sorted(CandidateOrder::kLeastUtilized), "c d a f b e");
}

}  // namespace
}  // namespace ebb::candidate_order_test
