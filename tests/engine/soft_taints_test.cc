#include "engine/soft_taints.h"

#include <string_view>

#include "gtest/gtest.h"
#include "snapshot/well_known_names.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::soft_taints_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodesNamed;

Node Marked(std::string_view name) { return Node(name).Taint(kSoftTaint, "1", "PreferNoSchedule"); }

TEST(SoftTaintsTest, NodesOfNoGroupAndNodesThatAreBeingDeletedAreLeftAlone) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("unneeded"))
                                       .Add(Marked("needed"))
                                       .Add(Node("unneeded-of-none"))
                                       .Add(Marked("needed-of-none"))
                                       .Add(Node("unneeded-and-goes").Taint(kHardTaint, "2"))
                                       .Add(Marked("needed-and-goes").Taint(kHardTaint, "2"))
                                       .Build();
  NodeGroups groups = test::OneGroup(snapshot);
  for (const NodeId node : NodesNamed(snapshot, {"unneeded-of-none", "needed-of-none"})) {
    groups.group_of[Index(node)] = kNoGroup;
  }
  NodeSet unneeded(snapshot.catalog().nodes());
  for (const NodeId node :
       NodesNamed(snapshot, {"unneeded", "unneeded-of-none", "unneeded-and-goes"})) {
    unneeded.Insert(node);
  }
  const SoftTaints chosen = ChooseSoftTaints(snapshot, groups, unneeded, /*max_changes=*/10);
  EXPECT_EQ(chosen.taint, NodesNamed(snapshot, {"unneeded"}));
  EXPECT_EQ(chosen.untaint, NodesNamed(snapshot, {"needed"}));
  EXPECT_EQ(chosen.waiting, 0u);
}

TEST(SoftTaintsTest, OneChangeMayBeAllThatIsAllowed) {
  const ClusterSnapshot snapshot = Cluster().Add(Marked("a")).Add(Marked("b")).Build();
  const NodeGroups groups = test::OneGroup(snapshot);
  const NodeSet unneeded(snapshot.catalog().nodes());
  const SoftTaints chosen = ChooseSoftTaints(snapshot, groups, unneeded, /*max_changes=*/1);
  EXPECT_EQ(chosen.untaint, NodesNamed(snapshot, {"a"}));
  EXPECT_EQ(chosen.waiting, 1u);
  EXPECT_TRUE(ChooseSoftTaints(snapshot, groups, unneeded, 0).untaint.empty());
}

}  // namespace
}  // namespace ebb::soft_taints_test
