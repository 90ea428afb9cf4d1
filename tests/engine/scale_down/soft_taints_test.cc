#include "engine/scale_down/soft_taints.h"

#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/objects/well_known_names.h"
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

TEST(SoftTaintsTest, OnlyWhatDiffersChangesAndTheRestWaits) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("needed"))
          .Add(Marked("unneeded"))
          .Add(Node("taint-1"))
          .Add(Node("untaint-1").Taint("other").Taint(kSoftTaint, "1", "PreferNoSchedule"))
          .Add(Node("taint-2"))
          .Add(Marked("untaint-2"))
          .Build();
  const NodeGroups groups = test::OneGroup(snapshot);
  NodeSet unneeded(snapshot.catalog().nodes());
  for (const NodeId node : NodesNamed(snapshot, {"unneeded", "taint-1", "taint-2"})) {
    unneeded.Insert(node);
  }
  const struct {
    int64_t max_changes;
    std::vector<std::string_view> untaint;
    std::vector<std::string_view> taint;
    size_t waiting;
  } cases[] = {{10, {"untaint-1", "untaint-2"}, {"taint-1", "taint-2"}, 0},
               {4, {"untaint-1", "untaint-2"}, {"taint-1", "taint-2"}, 0},
               {3, {"untaint-1", "untaint-2"}, {"taint-1"}, 1},
               {1, {"untaint-1"}, {}, 3},
               {0, {}, {}, 0},
               {-1, {}, {}, 0}};
  for (const auto& [max_changes, untaint, taint, waiting] : cases) {
    const SoftTaints chosen = ChooseSoftTaints(snapshot, groups, unneeded, max_changes);
    EXPECT_EQ(chosen.untaint, NodesNamed(snapshot, untaint)) << max_changes;
    EXPECT_EQ(chosen.taint, NodesNamed(snapshot, taint)) << max_changes;
    EXPECT_EQ(chosen.waiting, waiting) << max_changes;
  }
}

}  // namespace
}  // namespace ebb::soft_taints_test
