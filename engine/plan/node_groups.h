// NodeGroups: which group each node belongs to, and what each group allows.
//
// Threads: const methods may run concurrently.
// Source:  cluster-autoscaler cloudprovider.NodeGroup, config.NodeGroupAutoscalingOptions,
//          cloudprovider.CloudProvider.GPULabel.

#ifndef EBB_ENGINE_PLAN_NODE_GROUPS_H_
#define EBB_ENGINE_PLAN_NODE_GROUPS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "predicates/drainability.h"
#include "snapshot/ids.h"

namespace ebb {

enum class GroupId : uint32_t {};
inline constexpr GroupId kNoGroup{std::numeric_limits<uint32_t>::max()};

// Why a node has no group.  Shown to users; it does not influence a plan.
enum class NoGroupReason : uint8_t {
  kUnknown,
  kControlPlane,
  kVirtualKubelet,
  kFargate,
  kNoLabel,   // Other nodes have a label that names their group; this node has none.
  kExcluded,  // The code that made the groups left it out.
};

// Why a node counts as not ready although its conditions say Ready.
enum class NotReadyReason : uint8_t {
  kNone,
  kNoGpus,         // It has a GPU label, but no GPU is allocatable.
  kStartupTaint,   // It has a taint that is removed when the node has started.
  kNoDevicePools,  // It lacks ResourceSlices that the other nodes of its group have.
  kNoCsiDriver,    // It lacks a CSI driver that the other nodes of its group have.
};

// Whose rules decide about nodes.
enum class RuleSet : uint8_t {
  kAuto,  // Karpenter's for nodes with its label karpenter.sh/nodepool, else the autoscaler's.
  kAutoscaler,  // The autoscaler's, and for nodes of Karpenter its annotations.
  kKarpenter,   // Karpenter's.
  // As kAuto, but ebb consolidates in Karpenter's place: the nodes of NodePools that leave it to
  // ebb may go, and those of other NodePools stay (karpenter.h, LeavesConsolidation).
  kDelegated,
};

struct NodeGroup {
  std::string name;  // Unique.
  int64_t min_size = 0;
  bool minimum_is_known = false;  // False: min_size is an assumption, which answers mention.
  int64_t max_size = std::numeric_limits<int64_t>::max();
  int64_t target_size = 0;  // The number of its nodes, unless the caller sets another size.
  bool atomic = false;      // ZeroOrMaxNodeScaling: all of its nodes go, or none.
  PoolManager managed_by = PoolManager::kClusterAutoscaler;
  bool scaling_up = false;  // A scale-up was reported, and new nodes may still be starting.

  // Absent: the planner's option applies.
  std::optional<double> scale_down_utilization_threshold;
  std::optional<double> scale_down_gpu_utilization_threshold;
  std::optional<int64_t> scale_down_unneeded_time_s;
  std::optional<int64_t> scale_down_unready_time_s;
  std::optional<bool> ignore_daemonsets_utilization;

  // Whether Karpenter's rules hold for the group's nodes.
  [[nodiscard]] bool FollowsKarpenter() const { return managed_by == PoolManager::kKarpenterRules; }

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

struct NodeGroups {
  std::vector<NodeGroup> groups;  // By GroupId.
  std::vector<GroupId> group_of;  // By NodeId; kNoGroup: not autoscaled.
  // By NodeId, for nodes without a group; empty: no reason is known.
  std::vector<NoGroupReason> no_group_reason;
  // By NodeId: whether the node carries its provider's GPU label.  Such a node counts as a GPU node
  // even if it offers no GPU.  Empty: no node has the label.
  std::vector<bool> gpu_label;
  // By NodeId; empty: a node is ready if its conditions say so.
  std::vector<NotReadyReason> not_ready;
  // --max-node-startup-time: how long after its registration a node may take to become ready
  // (node_standing.h).  0: no node counts as starting.
  int64_t max_node_startup_time_s = 0;
  // True: a node that is not ready is kept for its unready time, as in rounds.  False, for a single
  // plan, which has no timers: young nodes that wait for their GPUs count as starting and are kept.
  bool has_unready_timers = false;
  // RuleSet::kDelegated.
  bool ebb_consolidates = false;

  [[nodiscard]] GroupId Of(NodeId node) const { return group_of[Index(node)]; }
  [[nodiscard]] const NodeGroup* Find(NodeId node) const {
    return Of(node) == kNoGroup ? nullptr : &groups[Index(Of(node))];
  }
  [[nodiscard]] PoolManager ManagerOf(NodeId node) const {
    const NodeGroup* const group = Find(node);
    return group == nullptr ? PoolManager::kClusterAutoscaler : group->managed_by;
  }
  [[nodiscard]] bool FollowsKarpenter(NodeId node) const {
    return ManagerOf(node) == PoolManager::kKarpenterRules;
  }
  // Whether Karpenter's rules hold for any node.
  [[nodiscard]] bool SomeFollowKarpenter() const {
    for (const NodeGroup& group : groups) {
      if (group.FollowsKarpenter()) return true;
    }
    return false;
  }
  [[nodiscard]] NoGroupReason WhyNoGroup(NodeId node) const {
    return no_group_reason.empty() ? NoGroupReason::kUnknown : no_group_reason[Index(node)];
  }
  [[nodiscard]] bool HasGpuLabel(NodeId node) const {
    return !gpu_label.empty() && gpu_label[Index(node)];
  }

  [[nodiscard]] NotReadyReason WhyNotReady(NodeId node) const {
    return not_ready.empty() ? NotReadyReason::kNone : not_ready[Index(node)];
  }

  friend bool operator==(const NodeGroups&, const NodeGroups&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_NODE_GROUPS_H_
