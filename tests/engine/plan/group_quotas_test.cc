#include "engine/plan/group_quotas.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::group_quotas_test {
namespace {

using test::Cluster;
using test::kPassTime;
using test::Node;
using test::NodeNamed;

Node Going(std::string_view name, int64_t age_s) {
  return Node(name).Taint("ToBeDeletedByClusterAutoscaler", std::to_string(kPassTime - age_s));
}

TEST(GroupQuotasTest, NodesInDeletionReduceWhatAGroupMayLose) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Going("of-none", 10))
                                 .Add(Node("stays"))
                                 .Add(Going("left", 10))
                                 .Add(Going("goes", 10))
                                 .Add(Going("still-goes", 299))
                                 .Add(Going("given-up", 300))
                                 .Add(Going("of-second", 10))
                                 .Build();
  NodeGroups groups = test::OneGroup(snapshot);
  groups.groups.resize(3);
  groups.groups[0].target_size = 9;
  groups.groups[0].min_size = 2;
  groups.groups[1].target_size = 1;
  groups.groups[1].min_size = 4;
  groups.groups[2].target_size = 3;
  groups.groups[2].min_size = 3;
  groups.group_of[Index(NodeNamed(snapshot, "of-none"))] = kNoGroup;
  groups.group_of[Index(NodeNamed(snapshot, "of-second"))] = GroupId{1};
  snapshot.RemoveNode(NodeNamed(snapshot, "left"));
  EXPECT_EQ(GroupQuotas(snapshot, groups, kPassTime), (std::vector<int64_t>{5, -4, 0}));
}

}  // namespace
}  // namespace ebb::group_quotas_test
