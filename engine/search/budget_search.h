// ChooseWithinBudgets: units of a packing problem that may go together as far as budgets, shares of
// workloads and quotas of groups say.  Room is not looked at.
//
// Where budgets keep most nodes, and not room, a packing (packing.h) is a slow way to find out
// which nodes to choose: each try looks for a place for every pod.  Here a try is some additions.
// What comes out is where a packing begins.
//
// Units are taken in, those that spend least of what there is first.  Then a step wants one unit
// more: for each budget that keeps it a unit that spends of that one is given up, and others are
// tried that spend what was freed.  It is undone if less is chosen then than before.
//
// The same input and seed give the same units, where no deadline ends it.
//
// Cost:    forty steps a unit, each of some hundred operations.
// Threads: pure functions.

#ifndef EBB_ENGINE_SEARCH_BUDGET_SEARCH_H_
#define EBB_ENGINE_SEARCH_BUDGET_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "engine/search/packing.h"

namespace ebb {

// Of the units that spend of one budget, a step looks at no more than these, from a random one on.
inline constexpr size_t kBudgetUsersLookedAt = 48;

// The units that were chosen, in an order in which budgets admit them.  `deadline` null: there is
// time.
std::vector<uint32_t> ChooseWithinBudgets(const PackingProblem& problem, uint64_t seed,
                                          const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_BUDGET_SEARCH_H_
