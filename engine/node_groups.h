// NodeGroups: which group each node belongs to, and what each group allows.
//
// Threads: const methods may run concurrently.
// Source:  cluster-autoscaler cloudprovider.NodeGroup and config.NodeGroupAutoscalingOptions.

#ifndef EBB_ENGINE_NODE_GROUPS_H_
#define EBB_ENGINE_NODE_GROUPS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

enum class GroupId : uint32_t {};
inline constexpr GroupId kNoGroup{std::numeric_limits<uint32_t>::max()};

struct NodeGroup {
  std::string name;
  int64_t min_size = 0;
  int64_t max_size = std::numeric_limits<int64_t>::max();
  int64_t target_size = 0;  // Its nodes, unless the caller knows better.
  bool atomic = false;      // ZeroOrMaxNodeScaling: all of its nodes go, or none.

  // Absent: the planner's own.
  std::optional<double> scale_down_utilization_threshold;
  std::optional<double> scale_down_gpu_utilization_threshold;
  std::optional<int64_t> scale_down_unneeded_time_s;
  std::optional<int64_t> scale_down_unready_time_s;
  std::optional<bool> ignore_daemonsets_utilization;

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

struct NodeGroups {
  std::vector<NodeGroup> groups;  // By GroupId.
  std::vector<GroupId> group_of;  // By NodeId; kNoGroup: not autoscaled.

  [[nodiscard]] GroupId Of(NodeId node) const { return group_of[Index(node)]; }
  [[nodiscard]] const NodeGroup* Find(NodeId node) const {
    return Of(node) == kNoGroup ? nullptr : &groups[Index(Of(node))];
  }

  friend bool operator==(const NodeGroups&, const NodeGroups&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_NODE_GROUPS_H_
