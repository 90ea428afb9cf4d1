#include "predicates/node_unschedulable.h"

#include <gtest/gtest.h>

#include "tests/predicates/verdict.h"

namespace ebb::test::node_unschedulable_test {
namespace {

TEST(NodeUnschedulableTest, CordonedNodeTakesOnlyPodsThatTolerateIt) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("cordoned").Unschedulable())
          .Add(Pod("plain"))
          .Add(Pod("tolerant").ToleratesKey("node.kubernetes.io/unschedulable"))
          .Add(Pod("careless").ToleratesEverything())
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "plain", "cordoned"),
            "NodeUnschedulable: node(s) were unschedulable");
  EXPECT_EQ(VerdictOf(snapshot, "tolerant", "cordoned"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "careless", "cordoned"), "fits");
}

TEST(NodeUnschedulableTest, AnEmptyKeyToleratesACordonThatNoObjectNames) {
  // The taint's text is in no object, so it has no id.
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("cordoned").Unschedulable())
                                       .Add(Pod("other").ToleratesKey("gpu"))
                                       .Add(Pod("no-execute").With([](objects::Pod& pod) {
                                         pod.tolerations.push_back({"", "Exists", "", "NoExecute"});
                                       }))
                                       .Build();
  EXPECT_NE(VerdictOf(snapshot, "other", "cordoned"), "fits");
  EXPECT_NE(VerdictOf(snapshot, "no-execute", "cordoned"), "fits");
}

}  // namespace
}  // namespace ebb::test::node_unschedulable_test
