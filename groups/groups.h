// Which node group each node of a dump belongs to.
//
// Without a file, a node's group is told by the first of kGroupLabels that it has with a
// value.  A group is known by its label and the value: `default` of an EKS node group and
// `default` of a Karpenter NodePool are two.  Labels that name the same group (the new and
// the old one of AKS) count as one.  Where no node has such a label, as on kind, all are in
// one group, `default`; where some have one, the others are in no group.  A group's size
// is its number of nodes, its minimum 0.
//
// Names:   the label's value; `label=value` where another group has that name too.  A rule may
//          also name a group by another label of the same provider (the id of a pool), by its
//          Auto Scaling group where EKS, eksctl or kOps made that, or, without a group label, by
//          the machines' names (cloud_group_name.h).
//
// No group holds what no autoscaler removes: control-plane nodes, virtual kubelets and
// Fargate nodes.  NodeGroups::no_group_reason says why a node is in none.
//
// A YAML file says more about groups, found by name or by the labels of their nodes.  Of
// two rules that match a node the first counts:
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
// Errors: one line naming file, group and field; an unknown field is one.
// Source: cluster-autoscaler cloudprovider.NodeGroup, config.NodeGroupAutoscalingOptions;
//         for GPU labels, GPULabel() of its cloud providers.

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
  std::string_view identity;  // The key under which the group is known.
  PoolManager managed_by = PoolManager::kClusterAutoscaler;
  // The autoscaler's cloud provider of such nodes; empty: spec.providerID tells.
  std::string_view provider = "";
  // The label counts only on nodes whose spec.providerID has this scheme; empty: on all.
  std::string_view only_scheme = "";
};

// In the order in which they are looked for.  Karpenter's come first: a node that has one is
// Karpenter's, whatever other labels it has.
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

// The label by which the autoscaler's cloud provider knows nodes with a GPU.  A provider
// that is not listed has none.  `provider` is also the scheme of spec.providerID.
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

// The name of the one group where no node has a label.
inline constexpr std::string_view kGroupOfAll = "default";

// What a file says.
struct GroupRule {
  NodeGroup group;
  std::optional<CloudGroupName> cloud;  // What group.name is to a cloud provider.
  bool size_from_flag = false;          // The sizes are --nodes'.
  bool autoscaled = true;
  bool has_target_size = false;
  std::vector<std::pair<std::string, std::string>> node_selector;
};

struct GroupRules {
  std::string file;  // As it is called in messages.
  std::string group_label;
  std::optional<std::string> gpu_label;
  std::vector<GroupRule> rules;
  // What a file does not say, but a command line or options: when a node counts as ready.
  ReadinessRules readiness;
  int64_t max_node_startup_time_s = 900;  // As NodeGroups.
};

// The smallest and largest size of a group, as the autoscaler's --nodes gives them.
struct GroupSize {
  std::string name;  // As ReadCloudGroupName takes it.
  int64_t min_size = 0;
  int64_t max_size = 0;
};
// Lets `sizes` count over what the rules say, in their order.  A name that ReadCloudGroupName
// does not take is kept as it is.
void SetGroupSizes(std::span<const GroupSize> sizes, GroupRules& rules);

absl::StatusOr<GroupRules> ReadGroupFile(const std::string& path);
// `name` stands for the file in errors.
absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml);

// `rules` may be empty.  Groups are in order of their names.
//
// A node that its conditions call ready, and that is not cordoned, counts as not ready where it has
// a startup taint; where it has its provider's GPU label, no GPU of a known vendor is
// allocatable and no driver of GPUs has ResourceSlices for it; and where every other node of its
// group that has ResourceSlices of a driver has more pools of it, or with csi_node_aware a CSI
// driver that it lacks.  The autoscaler compares with the group's template instead, which ebb does
// not know. Cost: O(nodes * (labels of a node + rules)).
NodeGroups AssignGroups(const Catalog& catalog, const GroupRules& rules);

// The part of AssignGroups that says which nodes are ready, for groups that are assigned already.
void JudgeReadiness(const Catalog& catalog, const GroupRules& rules, NodeGroups& groups);

// Rules that do not fit this cluster: a rule or a label that no node has, with the nearest that
// some node has; rules that match the same nodes; a name that several groups have; a group that
// is smaller than its minSize.
std::vector<InputWarning> GroupWarnings(const Catalog& catalog, const GroupRules& rules);
// Adds them to what else is warned of.
void AddGroupWarnings(const Catalog& catalog, const GroupRules& rules,
                      std::vector<InputWarning>& warnings);
// FailedPrecondition where a minimum of --nodes would be lost: no node is in a group of that
// name, the minimum is above 0, and some node is in a group for which no rule speaks, so that
// the nodes that it protects may be there under another name.
absl::Status CheckMinimums(const Catalog& catalog, const GroupRules& rules);

// The rule for the group that is called `name`, if it is one that names groups and there
// is one; else null.
const GroupRule* FindRule(const GroupRules& rules, std::string_view name);

// "a Fargate node"; "" for kUnknown.
std::string_view ToText(NoGroupReason reason);

}  // namespace ebb

#endif  // EBB_GROUPS_GROUPS_H_
