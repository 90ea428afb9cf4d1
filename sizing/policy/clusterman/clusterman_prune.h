// Which nodes go when a pool holds more than its target, in Clusterman's order: nodes that drain
// already, then such as never joined the cluster, stale ones, idle ones, those with the least
// work.
//
// Units:     capacity and weight in weight units; uptime in seconds.
// Cost:      O(nodes log nodes).
// Threads:   pure.
// Ownership: owns nothing of its arguments afterwards.
// Source:    Clusterman, "Prune", steps 1 to 4.
// Surprise:  one pass over the list; a node that fails a test is skipped for this run and a
//            later one may pass.  Draining nodes still count and are named again each run.

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
  kIdle,      // Has none.
  kOrphaned,  // Its address is no cluster node's.
  kUnknown,   // Has no address.
};
std::string_view Name(ClustermanNodeState state);

// An instance, and the cluster node on it.
struct ClustermanNode {
  std::string id;  // Of the instance.
  std::string group_id;
  double weight = 1;
  bool is_running = false;   // By its cloud; others neither count nor go.
  bool is_cordoned = false;  // Tag is_cordoned=true: never goes.
  bool is_stale = false;     // Tag of its ASG.
  double uptime_s = 0;

  ClustermanNodeState state = ClustermanNodeState::kUnknown;
  std::string agent_id{};  // Of the cluster node; empty for an orphan.
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

// The sum of the weights that run and have joined the cluster.
double NonOrphanFulfilled(const std::vector<ClustermanGroup>& groups,
                          const std::vector<ClustermanNode>& nodes);

// Indices of the nodes that may go, the first to go first.  Nodes of no group are left out.
std::vector<size_t> KillOrder(const std::vector<ClustermanGroup>& groups,
                              const std::vector<ClustermanNode>& nodes,
                              const ClustermanPruneOptions& options);

enum class ClustermanPruneVerdict : uint8_t {
  kMark,
  kMaxWeight,    // max_weight_to_remove.
  kGroupTarget,  // Its group would fall below its target.
  kMaxTasks,     // max_tasks_to_kill.
  kNonOrphan,    // What has joined the cluster would fall below the target.
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
  double fulfilled_capacity = 0;  // All groups, stale ones too.
  double non_orphan_fulfilled_capacity = 0;
  std::vector<size_t> kill_order{};  // Also where nothing is to go.
  // Up to where the target was reached; empty if it was reached before.
  std::vector<ClustermanPruneDecision> decisions{};
  bool reached_target = false;                  // By marking.
  std::vector<ClustermanPrunedGroup> chosen{};  // In the order of their first mark.

  bool operator==(const ClustermanPrune&) const = default;
};

// `targets` are the groups' new targets; if there are none, their present ones hold.
// REQUIRES: group ids are unique.
ClustermanPrune Prune(const std::vector<ClustermanGroup>& groups,
                      const std::vector<ClustermanNode>& nodes,
                      const ClustermanPruneOptions& options,
                      const std::vector<ClustermanGroupTarget>& targets, double capacity);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_PRUNE_H_
