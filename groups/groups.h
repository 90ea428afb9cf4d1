// Which node group each node of a dump belongs to.
//
// Without a file, the first of kGroupLabels that a node has, with a value, decides its group.  A
// group is identified by its label and the value: `default` of an EKS node group and `default` of a
// Karpenter NodePool are two.  Labels that name the same group (the new and the old one of AKS)
// count as one.  If no node has such a label, as on kind, all nodes are in one group, `default`; if
// some nodes have one, the other nodes are in no group.  A group's size is its number of nodes, its
// minimum 0.
//
// Names:   the label's value; `label=value` if another group has that name too.  A rule may also
//          name a group by another label of the same provider (the id of a pool), by its Auto
//          Scaling group where EKS, eksctl or kOps made that, or, without a group label, by the
//          machines' names (cloud_group_name.h).
//
// No group contains nodes that no autoscaler removes: control-plane nodes, virtual kubelets and
// Fargate nodes.  NodeGroups::no_group_reason says why a node is in none.
//
// A YAML file adds rules for groups, found by name or by the labels of their nodes.  If two rules
// match a node, the first one counts:
//
//   groupLabel: example.com/pool       # look at this label first (optional)
//   gpuLabel: example.com/gpu          # says that a node has a GPU, instead of the
//                                      # provider's own label (optional)
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
// Errors: one line naming file, group and field; an unknown field is an error.
// Source: cluster-autoscaler cloudprovider.NodeGroup, config.NodeGroupAutoscalingOptions; for GPU
// labels, GPULabel() of its cloud providers.

#ifndef EBB_GROUPS_GROUPS_H_
#define EBB_GROUPS_GROUPS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "groups/cloud_group_name.h"
#include "options/readiness_rules.h"
#include "snapshot/catalog.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

struct GroupLabel {
  std::string_view key;
  std::string_view identity;  // The key by which the group is identified.
  PoolManager managed_by = PoolManager::kClusterAutoscaler;
  // The autoscaler's cloud provider of such nodes; empty: taken from spec.providerID.
  std::string_view provider = "";
  // The label counts only on nodes whose spec.providerID has this scheme; empty: on all.
  std::string_view only_scheme = "";
};

// In the order in which they are checked.  Karpenter's labels come first: a node that has one
// belongs to Karpenter, whatever other labels it has.
inline constexpr auto kGroupLabels = std::to_array<GroupLabel>({
    {"karpenter.sh/nodepool", "karpenter.sh/nodepool", PoolManager::kKarpenter, "karpenter"},
    {"karpenter.sh/provisioner-name", "karpenter.sh/provisioner-name", PoolManager::kKarpenter,
     "karpenter"},
    {"eks.amazonaws.com/nodegroup", "eks.amazonaws.com/nodegroup", {}, "aws"},
    {"alpha.eksctl.io/nodegroup-name", "eks.amazonaws.com/nodegroup", {}, "aws"},
    {"cloud.google.com/gke-nodepool", "cloud.google.com/gke-nodepool", {}, "gce"},
    {"kubernetes.azure.com/agentpool", "kubernetes.azure.com/agentpool", {}, "azure"},
    {"agentpool", "kubernetes.azure.com/agentpool", {}, "azure"},
    {"kops.k8s.io/instancegroup", "kops.k8s.io/instancegroup"},
    {"doks.digitalocean.com/node-pool", "doks.digitalocean.com/node-pool", {}, "digitalocean"},
    {"doks.digitalocean.com/node-pool-id",
     "doks.digitalocean.com/node-pool-id",
     {},
     "digitalocean"},
    {"hcloud/node-group", "hcloud/node-group", {}, "hcloud"},
    {"lke.linode.com/pool-id", "lke.linode.com/pool-id", {}, "linode"},
    {"kubernetes.civo.com/civo-node-pool", "kubernetes.civo.com/civo-node-pool", {}, "civo"},
    {"kubernetes.civo.com/node-pool", "kubernetes.civo.com/civo-node-pool", {}, "civo"},
    {"k8s.scaleway.com/pool-name", "k8s.scaleway.com/pool-name", {}, "scaleway"},
    {"k8s.scaleway.com/pool", "k8s.scaleway.com/pool", {}, "scaleway"},
    {"ibm-cloud.kubernetes.io/worker-pool-name",
     "ibm-cloud.kubernetes.io/worker-pool-name",
     {},
     "ibm"},
    {"ibm-cloud.kubernetes.io/worker-pool-id", "ibm-cloud.kubernetes.io/worker-pool-id", {}, "ibm"},
    {"yandex.cloud/node-group-id", "yandex.cloud/node-group-id", {}, "yandex"},
    {"vke.vultr.com/node-pool", "vke.vultr.com/node-pool", {}, "vultr"},
    {"node.exoscale.net/nodepool-id", "node.exoscale.net/nodepool-id", {}, "exoscale"},
    {"alibabacloud.com/nodepool-id", "alibabacloud.com/nodepool-id", {}, "alicloud"},
    {"node.alibabacloud.com/nodepool-id", "alibabacloud.com/nodepool-id", {}, "alicloud"},
    {"compute.coreweave.com/node-pool", "compute.coreweave.com/node-pool", {}, "coreweave"},
    {"compute.coreweave.com/node-pool-uid", "compute.coreweave.com/node-pool-uid", {}, "coreweave"},
    {"magnum.openstack.org/nodegroup", "magnum.openstack.org/nodegroup", {}, "openstack"},
    {"worker.gardener.cloud/pool", "worker.gardener.cloud/pool"},
    {"node.cluster.x-k8s.io/machine-deployment",
     "node.cluster.x-k8s.io/machine-deployment",
     {},
     "clusterapi"},
    {"topology.cluster.x-k8s.io/deployment-name",
     "topology.cluster.x-k8s.io/deployment-name",
     {},
     "clusterapi"},
    {"oci.oraclecloud.com/node-pool", "oci.oraclecloud.com/node-pool", {}, "oci"},
    {"oke.oraclecloud.com/pool.name", "oke.oraclecloud.com/pool.name", {}, "oci"},
    {"cce.cloud.com/cce-nodepool", "cce.cloud.com/cce-nodepool", {}, "huaweicloud"},
    {"tke.cloud.tencent.com/nodepool-id", "tke.cloud.tencent.com/nodepool-id", {}, "qcloud"},
    {"nebius.com/node-group-id", "nebius.com/node-group-id", {}, "nebius"},
    {"nodepool", "nodepool"},  // OVHcloud's.
    {"nodegroup", "nodegroup"},
    // Too common a word for other clouds.
    {"pool", "pool", {}, "equinixmetal", "equinixmetal"},
    {"pool", "pool", {}, "cherryservers", "cherryservers"},
});

// The label by which the autoscaler's cloud provider recognises nodes with a GPU.  A provider that
// is not listed has no such label.  `provider` is also the scheme of spec.providerID.
struct GpuLabel {
  std::string_view provider;
  std::string_view key;
};
inline constexpr auto kGpuLabels = std::to_array<GpuLabel>({
    {"aws", "k8s.amazonaws.com/accelerator"},
    {"azure", "kubernetes.azure.com/accelerator"},
    {"cce", "baidu/nvidia_name"},
    {"civo", "civo.com/gpu-node"},
    {"clusterapi", "cluster-api/accelerator"},
    {"digitalocean", "cloud.digitalocean.com/gpu-node"},
    {"gce", "cloud.google.com/gke-accelerator"},
    {"hcloud", "hcloud/gpu-node"},
    {"openstack", "magnum.openstack.org/gpu"},
    {"qcloud", "cloud.tencent.com/tke-accelerator"},
    {"scaleway", "k8s.scw.cloud/gpu"},
});

// The name of the single group that is used when no node has a group label.
inline constexpr std::string_view kGroupOfAll = "default";

// One rule of a groups file.
struct GroupRule {
  NodeGroup group;
  std::optional<CloudGroupName> cloud;  // group.name as a cloud provider reads it.
  bool size_from_flag = false;          // The sizes come from --nodes.
  bool autoscaled = true;
  bool has_target_size = false;
  std::vector<std::pair<std::string, std::string>> node_selector;
};

struct GroupRules {
  std::string file;  // The name of the file in messages.
  std::string group_label;
  std::optional<std::string> gpu_label;
  std::vector<GroupRule> rules;
  // Not from the file but from the command line or the options: when a node counts as ready.
  ReadinessRules readiness;
  RuleSet rule_set = RuleSet::kAuto;      // Whose rules decide.
  int64_t max_node_startup_time_s = 900;  // As NodeGroups::max_node_startup_time_s.
};

// The minimum and maximum size of a group, as in the autoscaler's --nodes.
struct GroupSize {
  std::string name;  // As ReadCloudGroupName takes it.
  int64_t min_size = 0;
  int64_t max_size = 0;
};
// Makes `sizes` take precedence over the sizes in the rules, in their order.  A name that
// ReadCloudGroupName rejects is kept as it is.
void SetGroupSizes(std::span<const GroupSize> sizes, GroupRules& rules);

absl::StatusOr<GroupRules> ReadGroupFile(const std::string& path);
// `name` stands for the file in errors.
absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml);

// `rules` may be empty.  Groups are ordered by name.
//
// A node that is ready by its conditions, and not cordoned, still counts as not ready in three
// cases:
//   - it has a startup taint;
//   - it has its provider's GPU label, but no GPU of a known vendor is allocatable, and no GPU
//     driver has ResourceSlices for it;
//   - every other node of its group that has ResourceSlices of some driver has more pools of that
//     driver, or (with csi_node_aware) a CSI driver that this node lacks.
// In the third case the autoscaler compares with the group's template, which ebb does not have.
// Cost: O(nodes * (labels of a node + rules)).
NodeGroups AssignGroups(const Catalog& catalog, const GroupRules& rules);

// The part of AssignGroups that decides which nodes are ready, for groups that are assigned
// already.
void FindNotReady(const Catalog& catalog, const GroupRules& rules, NodeGroups& groups);

// Warns about rules that do not fit this cluster: a rule or a label that matches no node, with the
// nearest one that some node has; rules that match the same nodes; a name that several groups have;
// a group that is smaller than its minSize.
std::vector<InputWarning> GroupWarnings(const Catalog& catalog, const GroupRules& rules);
// Appends GroupWarnings to `warnings`.
void AddGroupWarnings(const Catalog& catalog, const GroupRules& rules,
                      std::vector<InputWarning>& warnings);
// FailedPrecondition if a minimum of --nodes would have no effect: no node is in a group of that
// name, the minimum is above 0, and some node is in a group that no rule names, so that the nodes
// that the minimum protects may be in that group, under another name.
absl::Status CheckMinimums(const Catalog& catalog, const GroupRules& rules);

// The rule for the group called `name`: its name is `name`, or it finds groups by name and `name`
// is LABEL=NAME.  Null: there is no such rule.
const GroupRule* FindRule(const GroupRules& rules, std::string_view name);

// "a Fargate node"; "" for kUnknown.
std::string_view ToText(NoGroupReason reason);

}  // namespace ebb

#endif  // EBB_GROUPS_GROUPS_H_
