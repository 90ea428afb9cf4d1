// MakePlan makes one plan for a cluster: which nodes go, and where each of their pods lands.
// Start here.  It chooses the candidates and their order, keeps the limits of node groups,
// and verifies the result.  examples/plan_cluster.cc is a whole program around it; round.h
// makes plans over time.
//
// A planner pass knows no minimum sizes.  The autoscaler counts them when it deletes nodes, and
// drops the surplus.  But a plan that is made from a dump is to be carried out as a whole, and a
// node that is dropped afterwards would keep the room that was given to pods of other nodes.  So
// MakePlan repeats the pass without the nodes that may not be removed:
//   - candidates that come after their group has reached its minimum (NodeGroupMinSizeReached).
//     The new pass is the same up to that point, so the result is that of counting during the pass;
//   - nodes of an atomic group that is not removed as a whole (atomic_groups.h,
//     AtomicScaleDownFailed);
//   - nodes with a pod that must run to completion (BlockedByOnCompletionPod);
//   - nodes with a pod of a gang that would move in part (gang_parts.h, BlockedByPod).
// Each repetition takes at least one candidate away.
//
// Pods of nodes that are already being deleted find room first (deletions_under_way.h).  The caller
// need not handle such nodes.
//
// Time: `PlanRequest::pass.deadline` limits all passes together, `verification_ends` limits the
// verification.  Each may make the plan shorter: it is cut after the last removal up to which
// everything is verified and every limit of groups holds (an atomic group is removed whole or
// stays).  Candidates behind the cut are skipped.  A plan that was cut ends with
// Termination::kDeadline.
//
// Cost:    one pass, and one more for each time that nodes are excluded (a group's surplus, nodes
//          that wait for a pod to complete, incomplete atomic groups,
//          gangs in parts); at worst one for each
//          candidate.
// Threads: not thread-safe.
// Source:  cluster-autoscaler core/scaledown/planner NodesToDelete, processors/nodes
//          scale_down_set_processor.go.

#ifndef EBB_ENGINE_MAKE_PLAN_H_
#define EBB_ENGINE_MAKE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/pass/planner.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct PlanResult {
  Plan plan;
  // Nodes that are kept because of their group or because a pod must complete.  They were no
  // candidates, or were excluded between passes.
  std::vector<UnremovableNode> excluded;
  std::vector<NodeId> order;       // Candidates of the first pass, in their order.
  std::vector<NodeId> candidates;  // Candidates of the last pass, a subset of `order`.
  size_t passes = 0;
};

// Cuts the plan to its first `removals`, or to the largest smaller number of removals that keeps
// every limit of groups, and moves no gang in part.  If the plan has more removals than `removals`,
// it then ends with `termination`, and candidates behind the cut that may still be removed are
// skipped.  The rest of the plan remains verified, because a plan is a sequence.
void CutPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
             size_t removals, Termination termination, PlanResult& made);

// The input of the plan's last pass, without its deadline: the input that Verify expects.  Borrows
// the request and the result.
PassInput LastPassInput(const PlanRequest& request, const PlanResult& made);

// Verifies the plan as MakePlan does, for a request without `verify`.  If
// `request.verification_ends` expires first, cuts the plan to what was verified, as CutPlan.
// REQUIRES: the snapshot is the one of the passes: the request accounts for nodes in deletion.
// Errors: Internal if the plan breaks a rule, which is a bug of ebb.
absl::Status VerifyOrCut(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                         const PlanRequest& request, PlanResult& made);

// The snapshot is unchanged when this returns; it must have no open fork.
// Errors: InvalidArgument if the input fails a check of check_input.h.  Internal if the plan fails
// its verification, which is a bug of ebb.
absl::StatusOr<PlanResult> MakePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                    const PlanRequest& request);

}  // namespace ebb

#endif  // EBB_ENGINE_MAKE_PLAN_H_
