// Which node group each node of a dump belongs to.
//
// Without a file, the group is the value of the first of these labels that a node
// has: the managed clusters' own (kGroupLabels), then `nodegroup`; a node without
// any is in the group `default`.  A group's size is its number of nodes, its
// minimum 0.  Control-plane nodes belong to no group and so are never removed.
//
// A YAML file says more about groups, found by name or by the labels of their nodes:
//
//   groupLabel: example.com/pool       # look at this label first (optional)
//   nodeGroups:
//   - name: general
//     nodeSelector: {pool: general}    # without: nodes whose group has that name
//     minSize: 3
//     maxSize: 100
//     targetSize: 12                   # default: the number of its nodes
//     atomic: false                    # all of its nodes go, or none
//     autoscaled: true                 # false: its nodes are never removed
//     scaleDownUtilizationThreshold: 0.6
//     scaleDownGpuUtilizationThreshold: 0.6
//     scaleDownUnneededTime: 10m
//     scaleDownUnreadyTime: 20m
//     ignoreDaemonSetsUtilization: true
//
// Errors: one line naming file, group and field; an unknown field is one.
// Source: cluster-autoscaler cloudprovider.NodeGroup, config.NodeGroupAutoscalingOptions.

#ifndef EBB_TOOLS_GROUPS_H_
#define EBB_TOOLS_GROUPS_H_

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/node_groups.h"
#include "snapshot/catalog.h"

namespace ebb {

// In the order in which they are looked for.
inline constexpr auto kGroupLabels = std::to_array<std::string_view>({
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "kops.k8s.io/instancegroup",
    "doks.digitalocean.com/node-pool",
    "node.cluster.x-k8s.io/machine-deployment",
    "topology.cluster.x-k8s.io/deployment-name",
    "oci.oraclecloud.com/node-pool",
    "nodegroup",
});

// What a file says.
struct GroupRule {
  NodeGroup group;
  bool autoscaled = true;
  bool has_target_size = false;
  std::vector<std::pair<std::string, std::string>> node_selector;
};

struct GroupRules {
  std::string group_label;
  std::vector<GroupRule> rules;
};

absl::StatusOr<GroupRules> ReadGroupFile(const std::string& path);
// `name` stands for the file in errors.
absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml);

// `rules` may be empty.  Groups are in order of their names.
NodeGroups AssignGroups(const Catalog& catalog, const GroupRules& rules);

bool IsControlPlane(const Catalog& catalog, NodeId node);

}  // namespace ebb

#endif  // EBB_TOOLS_GROUPS_H_
