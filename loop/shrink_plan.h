// PlanShrink: which of the nodes that sizing policies want to remove can be removed together.
//
//   std::vector<ShrinkAsk> asks = {{.name = "web", .most = 2, .candidates = oldest_first}};
//   absl::StatusOr<ShrinkPlan> plan = PlanShrink(observed, leaving, asks, options, now_s);
//
// The candidates of each request are tried in their order, those of the first request first, until
// `most` of them can be removed.  A node is removed only if all of its pods have a node that stays,
// and budgets allow it.  Its utilization does not matter, because that is the policy's decision.
// The plan is verified.
//
// Nodes that are already leaving count as gone: their pods take the room that they will need.
//
// It calls MakePlan rather than planning, because it is part of the engine, and its request
// is one that no caller can make: it has groups made only for this purpose, and a branch of the
// snapshot without the leaving nodes.
//
// Cost:    one MakePlan over a branch of the snapshot; nothing if no request has candidates.
// Threads: not thread-safe.
// Errors:  those of MakePlan.

#ifndef EBB_LOOP_SHRINK_PLAN_H_
#define EBB_LOOP_SHRINK_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/pass/planner.h"
#include "loop/actuator.h"

namespace ebb {

struct Observation;  // loop/rounds.h

struct ShrinkAsk {
  std::string name;  // Unique.
  int64_t most = 0;  // The largest number of nodes to remove.
  std::vector<NodeId> candidates;
  // True: the candidates are tried in the planner's order, empty nodes first.
  bool planners_order = false;
};

// Why a candidate is kept.
struct ShrinkDenied {
  std::string node;
  std::string reason;  // "NoPlaceToMovePods".
};

struct ShrinkPlan {
  std::vector<DeletionOrder> orders;  // In the order of the plan.
  std::vector<ShrinkDenied> denied;
};

absl::StatusOr<ShrinkPlan> PlanShrink(const Observation& observed,
                                      const std::vector<NodeId>& leaving,
                                      const std::vector<ShrinkAsk>& asks,
                                      const PlannerOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_LOOP_SHRINK_PLAN_H_
