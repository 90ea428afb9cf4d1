#include "tools/groups.h"

#include <gtest/gtest.h>

#include <utility>

#include "snapshot/builder.h"

namespace ebb {
namespace {

ClusterSnapshot Nodes(const std::vector<std::pair<std::string, objects::KeyValues>>& nodes) {
  SnapshotBuilder builder;
  for (const auto& [name, labels] : nodes) {
    objects::Node node;
    node.meta.name = name;
    node.meta.labels = labels;
    EXPECT_TRUE(builder.AddNode(node).ok());
  }
  return *std::move(builder).Build();
}

std::string GroupOf(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    std::string_view node) {
  const NodeGroup* group = groups.Find(*snapshot.catalog().FindNode(node));
  return group == nullptr ? "none" : group->name;
}

TEST(GroupsTest, ComeFromTheLabelsOfManagedClustersThenNodegroupThenDefault) {
  const ClusterSnapshot snapshot =
      Nodes({{"eks", {{"nodegroup", "x"}, {"eks.amazonaws.com/nodegroup", "a"}}},
             {"gke", {{"cloud.google.com/gke-nodepool", "b"}}},
             {"aks", {{"agentpool", "c"}}},
             {"own", {{"nodegroup", "d"}}},
             {"bare", {}}});
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  EXPECT_EQ(GroupOf(snapshot, groups, "eks"), "a");
  EXPECT_EQ(GroupOf(snapshot, groups, "gke"), "b");
  EXPECT_EQ(GroupOf(snapshot, groups, "aks"), "c");
  EXPECT_EQ(GroupOf(snapshot, groups, "own"), "d");
  EXPECT_EQ(GroupOf(snapshot, groups, "bare"), "default");
  for (const NodeGroup& group : groups.groups) {
    EXPECT_EQ(group.target_size, 1);
    EXPECT_EQ(group.min_size, 0);
  }
}

TEST(GroupsTest, ControlPlaneNodesBelongToNone) {
  const ClusterSnapshot snapshot =
      Nodes({{"m1", {{"node-role.kubernetes.io/control-plane", ""}, {"nodegroup", "d"}}},
             {"m2", {{"node-role.kubernetes.io/master", ""}}}});
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  EXPECT_EQ(GroupOf(snapshot, groups, "m1"), "none");
  EXPECT_EQ(GroupOf(snapshot, groups, "m2"), "none");
}

TEST(GroupsTest, AFileSetsLimitsByNameAndBySelector) {
  const ClusterSnapshot snapshot = Nodes({{"a", {{"nodegroup", "web"}}},
                                          {"b", {{"nodegroup", "web"}}},
                                          {"c", {{"pool", "batch"}}},
                                          {"d", {{"nodegroup", "old"}}}});
  const absl::StatusOr<GroupRules> rules = ParseGroups("groups.yaml", R"(
nodeGroups:
- {name: web, minSize: 1, maxSize: 5, scaleDownUnneededTime: 1h30m}
- {name: batch, nodeSelector: {pool: batch}, atomic: true, scaleDownUtilizationThreshold: 0.7, targetSize: 4}
- {name: old, autoscaled: false}
)");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const NodeGroups groups = AssignGroups(snapshot.catalog(), *rules);
  const NodeGroup& web = *groups.Find(*snapshot.catalog().FindNode("a"));
  EXPECT_EQ(web.min_size, 1);
  EXPECT_EQ(web.max_size, 5);
  EXPECT_EQ(web.target_size, 2);
  EXPECT_EQ(web.scale_down_unneeded_time_s, 5400);
  EXPECT_EQ(GroupOf(snapshot, groups, "b"), "web");
  const NodeGroup& batch = *groups.Find(*snapshot.catalog().FindNode("c"));
  EXPECT_TRUE(batch.atomic);
  EXPECT_EQ(batch.target_size, 4);
  EXPECT_EQ(batch.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(GroupOf(snapshot, groups, "d"), "none");
}

TEST(GroupsTest, ErrorsNameFileGroupAndField) {
  const std::pair<const char*, const char*> cases[] = {
      {"nodeGroups:\n- {name: a, minSize: -1}",
       "g.yaml: nodeGroups[0] (a).minSize: \"-1\" is not a number of nodes"},
      {"nodeGroups:\n- {name: a, minSize: 4x}",
       "g.yaml: nodeGroups[0] (a).minSize: \"4x\" is not a number of nodes"},
      {"nodeGroups:\n- {name: a, minsize: 1}",
       "g.yaml: nodeGroups[0] (a).minsize: no such field; did you mean minSize?"},
      {"nodeGroups:\n- {name: a}\n- {name: a}", "g.yaml: nodeGroups[1] (a): occurs twice"},
      {"nodeGroups:\n- {minSize: 1}", "g.yaml: nodeGroups[0]: has no name"},
      {"nodeGroups:\n- {name: a, minSize: 3, maxSize: 2}",
       "g.yaml: nodeGroups[0] (a).minSize: 3 is more than maxSize, 2"},
      {"nodeGroups:\n- {name: a, scaleDownUtilizationThreshold: 50}",
       "g.yaml: nodeGroups[0] (a).scaleDownUtilizationThreshold: \"50\" is not a fraction between "
       "0 "
       "and 1"},
      {"nodeGroups: 7", "g.yaml: nodeGroups: is not a list"},
      {"[1, 2]", "g.yaml: is not a map with nodeGroups"},
      {"groups: []", "g.yaml: groups: no such field"},
  };
  for (const auto& [yaml, message] : cases) {
    EXPECT_EQ(ParseGroups("g.yaml", yaml).status().message(), message);
  }
  EXPECT_FALSE(ParseGroups("g.yaml", "a: [").ok());
  EXPECT_FALSE(ReadGroupFile("/nonexistent/g.yaml").ok());
}

}  // namespace
}  // namespace ebb
