// Verify replays a finished plan from its input and refuses it on any violation.
//
// It shares no state with the planner, and of its code only what is named below.  Every
// filter is evaluated anew from pods and labels, with tallies of its own (slow_cluster.h)
// and without the snapshot's counters, bit sets or hints.
//
// Checked, removal by removal: the node is a candidate and still there; its pods
// may be moved (rules, budgets at least 1 when asked); every pod that runs there
// and must move has exactly one destination, which is there, is allowed and passes
// every filter at that moment, in the order that the plan tells; nobody else moved; of no workload
// more pods are evicted than its share (max_workload_share).
//
// Shared with the planner are functions that read one pod, claim or node and keep nothing
// between questions, so that they cannot drift apart from the state that is replayed:
// - The drainability rules: JudgePod, not the planner's DrainJudge.  The PdbTracker that it
//   asks is never spent from; what the plan spends is counted here.
// - The storage filters.
// - GpuOf (utilization.h): which of a node's resources is its GPU.
// Tests hold the rules and the storage filters to slow twins
// (tests/predicates/*_random_test.cc).
//
// Cost:    O(pods), and for each pod that moves, its requests, ports and topology terms;
//          slow_cluster.h tells what terms cost the first time.
// Threads: pure.

#ifndef EBB_ENGINE_VERIFY_VERIFY_H_
#define EBB_ENGINE_VERIFY_VERIFY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"

namespace ebb {

// Errors: Internal, naming node, pod and rule.
absl::Status Verify(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlannerOptions& options, const PassInput& input, const Plan& plan);

// The same as long as there is time: how much of a plan it got through.  A plan is a
// sequence, so its removals up to there are a plan that was verified; what is said of
// the plan as a whole (budgets left, the limit of removals) was not checked if some are
// missing.
struct VerifiedPart {
  bool packed = false;  // Pods of plan.packed have room.
  size_t removals = 0;  // Of plan.remove, from the first.
};
absl::StatusOr<VerifiedPart> VerifyUntil(const Deadline& deadline, const ClusterSnapshot& snapshot,
                                         const NodeGroups& groups, const PlannerOptions& options,
                                         const PassInput& input, const Plan& plan);

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_VERIFY_H_
