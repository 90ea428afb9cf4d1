// MakePlan makes one plan for a cluster: which nodes go, and where each of their pods lands.
// Start here.  It chooses the candidates and their order, keeps the limits of node groups,
// and verifies the result.  examples/plan_cluster.cc is a whole program around it; round.h
// makes plans over time.
//
// A planner pass knows no minimum sizes; the autoscaler counts them when it
// deletes, and drops the surplus.  A plan over a dump is to be carried out as a
// whole, and a node that is dropped afterwards would keep the room that other
// nodes' pods were given.  So the pass is repeated without what may not go:
//   - candidates of a group that come after it has reached its minimum
//     (NodeGroupMinSizeReached); the pass is the same up to there, so this is what
//     counting during the pass would give;
//   - an atomic group that does not go as a whole (atomic_groups.h, AtomicScaleDownFailed);
//   - nodes with pods that must end by themselves (BlockedByOnCompletionPod).
// Each repetition takes at least one candidate away.
//
// Nodes that are being deleted already are planned beside: their pods find room first
// (deletions_under_way.h).  No caller needs to know of them.
//
// Time: `PlanRequest::pass.deadline` ends the passes, all together, and `verification_ends` the
// verification.  Either makes the plan shorter: it is cut after the last removal up to
// which all is verified and every limit of groups holds (an atomic group goes as a whole
// or stays), and candidates behind the cut are skipped.  A plan that was cut ends with
// Termination::kDeadline.
//
// Cost:    one pass, and one for each time that nodes are excluded (those beyond a group's limit,
//          those that wait for a pod's end, broken atomic groups): at worst one a candidate.
// Threads: none.
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
  // Nodes that are kept because of their group or because they wait for a pod's end: they were no
  // candidates, or were taken out between passes.
  std::vector<UnremovableNode> excluded;
  std::vector<NodeId> order;       // Candidates of the first pass, in order.
  std::vector<NodeId> candidates;  // Of the last pass: those of `order` that may still go.
  size_t passes = 0;
};

// Leaves the first `removals` of a plan, or the most below that which keep every limit of groups by
// themselves.  It ends with `termination` then, and candidates behind the cut that may still go are
// skipped.  What was verified stays so: a plan is a sequence.
void CutPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t now_s,
             size_t removals, Termination termination, PlanResult& made);

// What the last pass of a plan was asked, but for its deadline: what Verify takes.
// Borrows the request and the result.
PassInput LastPassInput(const PlanRequest& request, const PlanResult& made);

// The snapshot is afterwards as it was; no fork of it may be open.
// Errors: InvalidArgument, for input that check_input.h refuses; Internal, if the plan does
// not stand up to the verifier, which is a bug of ebb.
absl::StatusOr<PlanResult> MakePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                    const PlanRequest& request);

}  // namespace ebb

#endif  // EBB_ENGINE_MAKE_PLAN_H_
