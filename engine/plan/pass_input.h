// PassInput: what one pass of the planner (planner.h) is asked, by ids of one snapshot; and by
// which options.
//
// The engine has three forms of a question:
//   - PassInput: one pass over candidates that the caller chose and sorted.
//   - PlanRequest (plan_request.h): a whole plan.  The PassInput of its passes is a member: a new
//     field of a pass is one of plans, too.
//   - RoundInput (round.h): a round.  The caller gives it the time, the pending pods and what
//     happened since the last round; the round finds the other fields of its pass itself.
// Outside the engine a question is data by name, and owns what it lists: PlanQuery
// (planning/plan_query.h).

#ifndef EBB_ENGINE_PLAN_PASS_INPUT_H_
#define EBB_ENGINE_PLAN_PASS_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/deadline.h"
#include "predicates/drainability.h"
#include "snapshot/ids.h"
#include "snapshot/node_set.h"

namespace ebb {

struct PlannerOptions {
  // Nodes used more than this stay.  Equal is eligible.
  double scale_down_utilization_threshold = 0.5;
  double scale_down_gpu_utilization_threshold = 0.5;
  bool scale_down_unready_enabled = true;
  bool ignore_daemonsets_utilization = false;
  bool ignore_mirror_pods_utilization = false;
  // How long a node that could not be removed is not tried again.
  int64_t unremovable_node_recheck_timeout_s = 300;
  // Candidates that a pass judges whatever the deadline says.
  size_t min_nodes_per_pass = 0;
  DrainOptions drain;

  bool operator==(const PlannerOptions&) const = default;
};

// In which order the pods of a node look for places.
enum class PodOrder : uint8_t {
  kByPriority,  // Highest first; in each priority those with a hint come first.
  kAsListed,    // As they are on their node, as in Cluster Autoscaler until 1.36.
};

struct PassInput {
  int64_t now_s = 0;                      // Unix time.
  std::span<const NodeId> candidates;     // In the order in which to try them.
  const NodeSet* destinations = nullptr;  // Null: every node.
  // Nodes that are being deleted: no pod lands there, pending ones neither.
  std::span<const NodeId> in_deletion = {};
  // Nodes that are removable at most, atomic groups' nodes not counted.
  size_t unneeded_limit = std::numeric_limits<size_t>::max();
  const Deadline* deadline = nullptr;  // Null: there is time for all.
  PodOrder pod_order = PodOrder::kByPriority;
  // Pods without a node, which take the room that they will need before any node goes.
  // They are placed in `pod_order`; where that does not tell, in this order.
  std::span<const PodId> pending;
  // How many pods of `pending`, from the first, must find room.  Where one of them does
  // not, no candidate is judged.
  size_t must_fit = 0;
  // Pods whose eviction is under way: their budgets are spent before any is asked.
  std::span<const PodId> evicting;
  // Of the pods of a workload (workloads.h) at most this share is evicted, above 0.  1: no limit.
  double max_workload_share = 1;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PASS_INPUT_H_
