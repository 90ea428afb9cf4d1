// PassInput: the input of one pass of the planner (planner.h), by ids of one snapshot; and the
// options of a planner.
//
// The engine takes a question in one of three forms:
//   - PassInput: one pass over candidates that the caller has chosen and sorted.
//   - PlanRequest (plan_request.h): a whole plan.  It contains the PassInput of its passes, so a
//     new field of PassInput is also one of plans.
//   - RoundInput (round.h): a round.  The caller gives the time, the pending pods and what happened
//     since the last round; the round determines the other fields of its pass itself.
// Outside the engine a question refers to objects by name and owns its lists: PlanQuery
// (planning/plan_query.h).
//
// Ownership: a PassInput borrows everything that its spans and pointers refer to, until the pass
//            returns.
// Errors:    Planner::Pass rejects a wrong PassInput (check_input.h).

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

// The nodes that share headroom.
enum class HeadroomPer : uint8_t { kCluster, kGroup, kZone };

// What must stay free of the nodes that are left, as fractions of what these nodes offer together.
// Nodes that are not ready, cordoned or being deleted do not count.  0: nothing.
struct Headroom {
  double cpu = 0;
  double memory = 0;
  HeadroomPer per = HeadroomPer::kCluster;

  [[nodiscard]] bool empty() const { return cpu <= 0 && memory <= 0; }
  bool operator==(const Headroom&) const = default;
};

// The settings of a planner that are the same in every pass.  Thresholds are fractions of what a
// node offers (utilization.h).
struct PlannerOptions {
  // A node whose utilization exceeds this is kept.  A utilization equal to it is eligible.
  double scale_down_utilization_threshold = 0.5;
  double scale_down_gpu_utilization_threshold = 0.5;
  bool scale_down_unready_enabled = true;
  bool ignore_daemonsets_utilization = false;
  bool ignore_mirror_pods_utilization = false;
  // How long a node that could not be removed is not tried again.
  int64_t unremovable_node_recheck_timeout_s = 300;
  // At least this many candidates are judged, even if the deadline has passed.
  size_t min_nodes_per_pass = 0;
  Headroom headroom = {};
  DrainOptions drain;

  bool operator==(const PlannerOptions&) const = default;
};

// The order in which the pods of a node are placed.
enum class PodOrder : uint8_t {
  kByPriority,  // Highest first; pods of equal priority that have a hint come before the others.
  kAsListed,    // In the order of their node's list, as in Cluster Autoscaler until 1.36.
};

struct PassInput {
  int64_t now_s = 0;                   // Unix time.
  std::span<const NodeId> candidates;  // In the order in which to try them.
  // The first so many candidates stand: the caller expects the pass to remove them, with their pods
  // on the nodes of their hints.  The pass takes the room for all these pods before it searches for
  // any node, so that no other pod takes it (planner.cc).  This saves time, and may change the
  // plan. REQUIRES: standing candidates are not destinations.
  size_t standing = 0;
  const NodeSet* destinations = nullptr;  // Null: every node.
  // Nodes that are being deleted.  No pod is placed there, not even a pending one.
  std::span<const NodeId> in_deletion = {};
  // The pass ends once it has found this many removable nodes (limits.h).  Nodes of atomic groups
  // do not count.
  size_t unneeded_limit = std::numeric_limits<size_t>::max();
  const Deadline* deadline = nullptr;  // Null: no time limit.
  PodOrder pod_order = PodOrder::kByPriority;
  // Pods without a node.  They take the room that they will need before any node is removed.  They
  // are placed in `pod_order`; ties keep the order of this list.
  std::span<const PodId> pending;
  // The first `must_fit` pods of `pending` must find room.  If one of them does not, no candidate
  // is judged.
  size_t must_fit = 0;
  // Pods that are being evicted: their budgets are charged before the first candidate is judged.
  std::span<const PodId> evicting;
  // At most this share of each workload's pods is evicted (workloads.h): above 0, at most 1.  1: no
  // limit.
  double max_workload_share = 1;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PASS_INPUT_H_
