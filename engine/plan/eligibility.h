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
