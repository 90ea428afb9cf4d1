// FollowWaves carries a plan on: it assumes that the plan is carried out and its pods are ready
// again, makes a plan for the cluster as it is then, and so on, until nothing more can go.
//
//   absl::StatusOr<PlanWaves> waves = FollowWaves(*answer, {.pod_startup_s = 60});
//
// The first wave is the answer's plan.  Each later wave is a plan of MakePlan, for the time at
// which the wave begins, and is verified.  report/plan_waves.h explains the model.
//
// How long a wave takes: a budget that allows n disruptions lets n of its pods be evicted at once,
// and the next n when these are ready.  A wave takes as long as its slowest budget, at least one
// start of a pod, and no time if no pod moves.  A budget that allows nothing and does not keep its
// pods (safe-to-evict: "true") counts as one that allows one.
//
// `deadline` (null: none) is checked between waves: the waves so far are returned.
//
// The answer's cluster is not changed.  The same answer gives the same waves.
//
// Errors:    those of MakePlan.
// Cost:      one verified plan for each wave, and one more.
// Threads:   not thread-safe.

#ifndef EBB_PLANNING_PLAN_WAVES_H_
#define EBB_PLANNING_PLAN_WAVES_H_

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "planning/plan_answer.h"
#include "report/plan_waves.h"

namespace ebb {

absl::StatusOr<PlanWaves> FollowWaves(const PlanAnswer& answer, const WaveModel& model,
                                      const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_WAVES_H_
