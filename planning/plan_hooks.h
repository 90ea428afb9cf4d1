// PlanHooks: callbacks while an answer is made.  Their only influence is that they may end it
// early.
//
// Threads: called by the caller's thread; `cancelled` is queried by any thread of the search.

#ifndef EBB_PLANNING_PLAN_HOOKS_H_
#define EBB_PLANNING_PLAN_HOOKS_H_

#include <cstdint>
#include <functional>

#include "base/deadline.h"
#include "engine/make_plan.h"

namespace ebb {

// A step of an answer after the plan was found.
enum class PlanStep : uint8_t { kTrials, kBound };

struct PlanHooks {
  // When it expires, searches and trials end with the best result so far.  Null: never.
  const Deadline* cancelled = nullptr;
  // Receives each better plan of a search, the first plan first.
  std::function<void(const PlanResult&)> on_better = {};
  std::function<void(PlanStep)> on_step = {};
};

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_HOOKS_H_
