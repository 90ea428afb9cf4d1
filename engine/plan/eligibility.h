// Eligibility: whether a node may be considered for removal at all.
//
// Cost:    that of CalculateUtilization (utilization.h).
// Threads: pure functions.
// Source:  cluster-autoscaler core/scaledown/eligibility.

#ifndef EBB_ENGINE_PLAN_ELIGIBILITY_H_
#define EBB_ENGINE_PLAN_ELIGIBILITY_H_

#include <cstdint>
#include <optional>

#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"

namespace ebb {

// A deletion that is marked by a taint older than this counts as abandoned.  Source: the
// autoscaler's MaxCloudProviderNodeDeletionTime (core/scaledown/actuation/delete_in_batch.go).
inline constexpr int64_t kDeletionTimeoutS = 300;

// Whether an autoscaler is deleting the node, according to its taint.
inline bool IsBeingDeleted(const NodeInfo& node, int64_t now_s) {
  return node.to_be_deleted && now_s - *node.to_be_deleted < kDeletionTimeoutS;
}

struct Eligibility {
  UnremovableReason reason = UnremovableReason::kNoReason;  // kNoReason: eligible.
  std::optional<Utilization> utilization;                   // Absent: not computed.
};

// `recently_unremovable`: a pass found a short while ago that the node could not be removed.
// `all_as_charged`: as in UtilizationOptions.
Eligibility JudgeEligibility(const ClusterSnapshot& snapshot, const NodeGroups& groups, NodeId node,
                             const PlannerOptions& options, bool recently_unremovable,
                             bool all_as_charged, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_ELIGIBILITY_H_
