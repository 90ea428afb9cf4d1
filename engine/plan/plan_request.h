// PlanRequest: the input of a plan for a whole cluster (make_plan.h): the input of each of its
// passes, and how passes become a plan.
//
// Ownership: borrows everything that its spans and pointers refer to, until the plan is made.

#ifndef EBB_ENGINE_PLAN_PLAN_REQUEST_H_
#define EBB_ENGINE_PLAN_PLAN_REQUEST_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "engine/plan/candidate_order.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/ids.h"

namespace ebb {

class Planner;

// How a plan treats nodes of the snapshot that are being deleted at its time.
enum class DeletionsInSnapshot : uint8_t {
  kPlanBeside,    // Their pods find room before any other node is removed (deletions_under_way.h).
  kLeftToCaller,  // The caller accounts for them, with a DeletionsUnderWay for example.
};

struct PlanRequest {
  PlannerOptions planner;
  // The input of every pass.  `candidates` must be empty: MakePlan finds and sorts them.  The
  // deadline limits all passes together.  DeletionsUnderWay fills in `in_deletion`, `evicting` and
  // `must_fit`; MakePlan makes one if the caller has not.
  PassInput pass;
  CandidateOrder order = CandidateOrder::kAutoscaler;
  // Null: every node.  Nodes whose group may not shrink are left out in either case.
  const std::vector<NodeId>* candidates = nullptr;
  // The nodes to try first for some pods, as if an earlier pass had placed the pods there.  At most
  // one node for each pod.  A suggestion that does not fit when its pod has to move is ignored.
  std::span<const Move> suggestions = {};
  // Candidates to try before all others, in this order, whatever `order` says (stable_planner.h).
  // Nodes that are no candidates are ignored; each node at most once.
  std::span<const NodeId> first = {};
  // The planner that makes the passes, with `planner` as its options; it remembers earlier plans.
  // Null: each pass has a new one.
  Planner* passes = nullptr;
  DeletionsInSnapshot deletions = DeletionsInSnapshot::kPlanBeside;
  // Parallel to `pass.evicting`: the node that each of these pods leaves.  Does not influence
  // decisions.
  std::span<const NodeId> evicted_from = {};
  const Deadline* verification_ends = nullptr;  // Null: no time limit.
  // False: the plan is returned without verification.  Verifying costs about as much as a pass.
  bool verify = true;
  // Called once, between the last pass and the verification, for callers that measure time.
  std::function<void()> on_passes_done;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PLAN_REQUEST_H_
