// PlanRequest: what a plan over a whole cluster is asked for (make_plan.h): what each of its passes
// is asked, and how to come from passes to a plan.

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

// What a plan does about nodes of the snapshot that are being deleted at its time.
enum class DeletionsInSnapshot : uint8_t {
  kPlanBeside,    // Their pods find room before any other node goes (deletions_under_way.h).
  kLeftToCaller,  // The caller accounts for them, as who makes a DeletionsUnderWay does.
};

struct PlanRequest {
  PlannerOptions planner;
  // What every pass is asked.  Its candidates must be empty: MakePlan finds and sorts them.  Its
  // deadline ends all passes together.  DeletionsUnderWay fills in `in_deletion`, `evicting` and
  // `must_fit`; MakePlan makes one where the caller has not.
  PassInput pass;
  CandidateOrder order = CandidateOrder::kAutoscaler;
  // Null: every node.  Those whose group may not shrink are left out either way.
  const std::vector<NodeId>* candidates = nullptr;
  // Where to look first for some pods, as if a pass before had placed them there: at most one
  // place a pod.  A place that does not fit, when its pod has to move, is as if it were not said.
  std::span<const Move> suggestions = {};
  DeletionsInSnapshot deletions = DeletionsInSnapshot::kPlanBeside;
  // The node of each of `pass.evicting`; no decision reads it.
  std::span<const NodeId> evicted_from = {};
  const Deadline* verification_ends = nullptr;  // Null: there is time for all.
  // False: the plan is handed out as it was found.  Verifying costs about as much as a pass.
  bool verify = true;
  // Called once, between the last pass and the verification, for callers that take the time.
  std::function<void()> on_passes_done;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PLAN_REQUEST_H_
