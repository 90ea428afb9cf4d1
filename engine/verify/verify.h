// Verify replays a finished plan from its input and rejects it if it violates any rule.
//
// It shares no state with the planner, and of its code only the functions named below.  It
// evaluates every filter from pods and labels, with its own tallies (slow_cluster.h), and without
// the snapshot's counters, bit sets or hints.
//
// Checked for each removal: the node is a candidate and still in the cluster.  Its pods may be
// moved: the rules allow it, and each budget has at least 1 disruption left when it is checked.
// Every pod that runs there and must move has exactly one destination; the destination is in the
// cluster, is allowed, and passes every filter at that point of the plan's order.  No other pod
// moves.  No more pods of a workload are evicted than its share (max_workload_share).
//
// The planner shares only functions that read one pod, claim or node and keep no state, so that
// they cannot depend on the state that is replayed:
// - The drainability rules: ApplyDrainRules, but not the planner's DrainRules.  The PdbTracker that
//   ApplyDrainRules reads is never charged; the verifier counts what the plan spends.
// - The storage filters.
// - GpuOf (utilization.h): which of a node's resources is its GPU.
// Tests compare the rules and the storage filters with slow twins
// (tests/predicates/*_random_test.cc).
//
// Cost:    O(pods), and for each pod that moves its requests, ports and topology terms;
//          slow_cluster.h describes the cost of the first use of a term.
// Threads: pure functions.

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

// Errors: Internal, naming the node, the pod and the rule.
absl::Status Verify(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlannerOptions& options, const PassInput& input, const Plan& plan);

// Verifies until the deadline, and returns how much of the plan was verified.  A plan is a
// sequence, so its first `removals` removals are a verified plan.  If some removals are missing,
// checks of the whole plan (remaining budgets, the limit of removals) were not made.
struct VerifiedPart {
  bool packed = false;  // The placements of plan.packed are verified.
  size_t removals = 0;  // The number of verified removals of plan.remove, from the first.
};
absl::StatusOr<VerifiedPart> VerifyUntil(const Deadline& deadline, const ClusterSnapshot& snapshot,
                                         const NodeGroups& groups, const PlannerOptions& options,
                                         const PassInput& input, const Plan& plan);

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_VERIFY_H_
