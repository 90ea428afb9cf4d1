// PlanHooks: what a caller does while an answer is made.  It decides nothing but when to end.
//
// Threads: called by the caller's thread; `cancelled` is asked by any thread of the search.

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
  // Ends searches and trials with the best so far.  Null: nothing does.
  const Deadline* cancelled = nullptr;
  // Receives each better plan of a search, the first plan first.
  std::function<void(const PlanResult&)> on_better = {};
  std::function<void(PlanStep)> on_step = {};
};

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_HOOKS_H_
