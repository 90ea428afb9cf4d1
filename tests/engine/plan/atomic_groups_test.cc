#include "engine/plan/atomic_groups.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::atomic_groups_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;

Node Upcoming(std::string_view name) {
  return Node(name).Annotation("cluster-autoscaler.k8s.io/upcoming-node", "true");
}

TEST(RegisteredNodesTest, PlaceholdersAndNodesThatLeftAreNotRegistered) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("of-none"))
                                 .Add(Upcoming("comes"))
                                 .Add(Node("a"))
                                 .Add(Node("left"))
                                 .Add(Node("b"))
                                 .Add(Node("of-second"))
                                 .Build();
  NodeGroups groups = test::OneGroup(snapshot);
  groups.groups.resize(3);
  groups.group_of[Index(NodeNamed(snapshot, "of-none"))] = kNoGroup;
  groups.group_of[Index(NodeNamed(snapshot, "of-second"))] = GroupId{1};
  snapshot.RemoveNode(NodeNamed(snapshot, "left"));
  EXPECT_EQ(RegisteredNodes(snapshot, groups), (std::vector<int64_t>{2, 1, 0}));
}

TEST(IsWholeTest, TheSizeIsTheTargetOrTheNumberOfRegisteredNodes) {
  NodeGroup group;
  group.target_size = 5;
  EXPECT_TRUE(IsWhole(group, 5, 3));
  EXPECT_TRUE(IsWhole(group, 3, 3));
  EXPECT_FALSE(IsWhole(group, 2, 3));
  EXPECT_FALSE(IsWhole(group, 4, 3));
  EXPECT_FALSE(IsWhole(group, 6, 3));
}

}  // namespace
}  // namespace ebb::atomic_groups_test
