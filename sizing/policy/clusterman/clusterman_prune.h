// Which nodes to remove when a pool holds more than its target.  Clusterman's order: nodes that are
// draining already, nodes that never joined the cluster, stale nodes, nodes above the minimum
// uptime, idle nodes, and then the nodes with the least work.
//
// Units:     capacity and weight in weight units; uptime in seconds.
// Cost:      O(nodes log nodes).
// Threads:   pure.
// Ownership: borrows its arguments during the call.
// Source:    Clusterman, "Prune", steps 1 to 4.
// Surprise:  there is one pass over the list.  A node that fails a test is skipped for this run,
//            and a later node may pass.  Draining nodes still count, and are named again in each
//            run.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_PRUNE_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_PRUNE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_capacity.h"
#include "sizing/policy/clusterman/clusterman_options.h"

namespace ebb {

enum class ClustermanNodeState : uint8_t {
  kRunning,   // Has pods of the pool.
  kIdle,      // Has no pod of the pool.
  kOrphaned,  // No cluster node has its address.
  kUnknown,   // Has no address.
};
std::string_view Name(ClustermanNodeState state);

// An instance, and the cluster node on it.
struct ClustermanNode {
  std::string id;  // The id of the instance.
  std::string group_id;
  double weight = 1;
  // As its cloud reports; other instances do not count and are not removed.
  bool is_running = false;
  bool is_cordoned = false;  // Tag is_cordoned=true: never removed.
  bool is_stale = false;     // Tag of its ASG.
  double uptime_s = 0;

  ClustermanNodeState state = ClustermanNodeState::kUnknown;
  std::string agent_id{};  // The cluster node's name; empty for an orphan.
  int64_t task_count = 0;
  int64_t batch_task_count = 0;
  double priority = 0;
  bool is_safe_to_kill = true;
  bool is_draining = false;
};

struct ClustermanPruneOptions {
  ClustermanLimits limits;
  bool killable_nodes_prioritizing_v2 = false;
};

// The total weight of the instances that run and have joined the cluster.
double NonOrphanFulfilled(const std::vector<ClustermanGroup>& groups,
                          const std::vector<ClustermanNode>& nodes);

// Indices of the nodes that may be removed, in the order of removal.  Nodes without a group are
// left out.
std::vector<size_t> KillOrder(const std::vector<ClustermanGroup>& groups,
                              const std::vector<ClustermanNode>& nodes,
                              const ClustermanPruneOptions& options);

enum class ClustermanPruneVerdict : uint8_t {
  kMark,
  kMaxWeight,    // The node would exceed max_weight_to_remove.
  kGroupTarget,  // Its group would fall below its target.
  kMaxTasks,     // The node would exceed max_tasks_to_kill.
  kNonOrphan,    // The capacity that has joined the cluster would fall below the target.
};
// "mark", "max_weight", "group_target", "max_tasks", "non_orphan".
std::string_view Name(ClustermanPruneVerdict verdict);

struct ClustermanPruneDecision {
  size_t node = 0;  // Index.
  ClustermanPruneVerdict verdict = ClustermanPruneVerdict::kMark;

  bool operator==(const ClustermanPruneDecision&) const = default;
};

struct ClustermanPrunedGroup {
  std::string group_id;
  std::vector<size_t> nodes{};  // Indices, in the order of marking.

  bool operator==(const ClustermanPrunedGroup&) const = default;
};

struct ClustermanPrune {
  double fulfilled_capacity = 0;  // Of all groups, including stale ones.
  double non_orphan_fulfilled_capacity = 0;
  std::vector<size_t> kill_order{};  // Filled even if no node has to go.
  // Up to the node that reached the target; empty if the target was reached before.
  std::vector<ClustermanPruneDecision> decisions{};
  bool reached_target = false;                  // By marking nodes.
  std::vector<ClustermanPrunedGroup> chosen{};  // In the order of their first mark.

  bool operator==(const ClustermanPrune&) const = default;
};

// `targets` are the groups' new targets; a group that is not listed keeps its present target.
// REQUIRES: group ids are unique.
ClustermanPrune Prune(const std::vector<ClustermanGroup>& groups,
                      const std::vector<ClustermanNode>& nodes,
                      const ClustermanPruneOptions& options,
                      const std::vector<ClustermanGroupTarget>& targets, double capacity);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_PRUNE_H_
