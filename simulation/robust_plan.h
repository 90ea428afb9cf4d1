// MakeRobust: the largest part of a plan that works with a scheduler that does not know it.
//
//   const auto robust = MakeRobust(snapshot, groups, request, made, 0, {});
//
// A tight plan leaves pods pending, because the scheduler spreads what the plan packs
// (eviction_trials.h).  So some of its nodes must stay.  Two ways are tried, and the one that
// removes more nodes is used:
//   - Keep the last nodes of the plan (RobustRemovals).
//   - Keep nodes that would have taken the pending pods.  In the trial with the most pending pods,
//     choose the node that takes most of them, because they run there now or would fit beside its
//     pods; then the next node, until each pod has a node.  Repeat until the trials leave no more
//     pods pending than allowed.  Then try to remove the kept nodes after all: all of them in two
//     halves, then in quarters and so on, as long as the plan stays robust.
// The remaining nodes are planned again, in the order and with the destinations of the plan.
//
// The deadline of the options ends this with the largest part that trials have shown to be robust
// by then, which may be empty.
//
// Equal input gives equal plans at any number of threads, unless the deadline ends the trials.
//
// Cost:    some tens of RunUntilRobust, and a plan for each.
// Threads: those of `parallelism`.
// Errors:  those of MakePlan.

#ifndef EBB_SIMULATION_ROBUST_PLAN_H_
#define EBB_SIMULATION_ROBUST_PLAN_H_

#include <span>

#include "absl/status/statusor.h"
#include "engine/make_plan.h"
#include "simulation/eviction_trials.h"

namespace ebb {

// Returns a plan that leaves pods pending in at most `share` of the trials, of both orders
// together.  `made` is a plan of `request`; nodes of it that are left out are listed as skipped.
// The plan then ends with Termination::kRobust, or with kDeadline if the deadline has ended the
// trials.  It is verified if the request says so.
absl::StatusOr<PlanResult> MakeRobust(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, const PlanResult& made,
                                      double share, const EvictionTrialOptions& options,
                                      const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SIMULATION_ROBUST_PLAN_H_
