// PlanShrink: which of the nodes that sizing policies would take away can really go, together.
//
//   std::vector<ShrinkAsk> asks = {{.name = "web", .most = 2, .candidates = oldest_first}};
//   absl::StatusOr<ShrinkPlan> plan = PlanShrink(observed, leaving, asks, options, now_s);
//
// Each ask's candidates are tried in their order, those of the first ask first, until `most` of it
// can go.  A node goes only if all of its pods have places that stay, and budgets allow; how much
// it is used is no matter, as that is the policy's business.  The plan is verified.
//
// Nodes that leave already are taken to be gone: their pods take the room that they will need.
//
// It asks MakePlan itself, not service/planning: it is a part of the engine, whose question no
// caller puts together, of groups that are made for it alone and a branch without the nodes that
// leave.
//
// Cost:    one pass of MakePlan over a branch of the snapshot; nothing if no ask has candidates.
// Threads: not thread-safe.
// Errors:  those of MakePlan.

#ifndef EBB_ENGINE_ACTUATION_SHRINK_PLAN_H_
#define EBB_ENGINE_ACTUATION_SHRINK_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/actuation/actuator.h"
#include "engine/planner.h"

namespace ebb {

struct Observation;  // engine/actuation/loop.h

struct ShrinkAsk {
  std::string name;  // No two asks have one.
  int64_t most = 0;  // Nodes.
  std::vector<NodeId> candidates;
  // The planner's own order instead: empty nodes first.
  bool planners_order = false;
};

// Why a candidate stays.
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

#endif  // EBB_ENGINE_ACTUATION_SHRINK_PLAN_H_
