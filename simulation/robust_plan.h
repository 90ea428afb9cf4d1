// MakeRobust: the part of a plan that works with a scheduler that does not know it.
//
//   const auto robust = MakeRobust(snapshot, groups, request, made, 0, {});
//
// A tight plan leaves pods pending, as the scheduler spreads what the plan packs
// (eviction_trials.h).  So some of its nodes stay.  Two ways are tried, and the one that leaves
// more nodes to go counts:
//   - the last nodes of the plan stay (RobustRemovals);
//   - nodes stay that would have taken the pods that were left: of the trial with most pending
//     pods, the node that takes most of them, whether they run there now or would fit beside its
//     pods; then the next, until each has a node; and again, until trials leave no more pending
//     than they may.  Then nodes are taken back in as long as that holds, in halves, quarters and
//     so on.
// The nodes that go are planned for anew, in their order and with the places that the plan had.
//
// The deadline of the options ends this with the largest part that trials have shown to be good by
// then, which may be none.
//
// The same input gives the same plan at any number of threads, where no deadline ends the trials.
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

// A plan of which pods are pending in at most a `share` of trials, of both orders together.  What
// it leaves out of `made`, which is a plan of `request`, counts as skipped, and it ends with
// Termination::kRobust then, or kDeadline where that ended the trials.  It is verified, if the
// request says so.
absl::StatusOr<PlanResult> MakeRobust(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, const PlanResult& made,
                                      double share, const EvictionTrialOptions& options,
                                      const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SIMULATION_ROBUST_PLAN_H_
