// ChooseWithinBudgets: units of a packing problem that can be removed together as far as budgets,
// shares of workloads and quotas of groups are concerned.  Room is not considered.
//
// If budgets rather than room keep most nodes, a packing (packing.h) is a slow way to find which
// nodes to choose, because each attempt searches a node for every pod.  Here an attempt is a few
// additions.  The result is the starting point of a packing.
//
// First all units are taken that fit, the cheapest first: units that use the smallest part of
// budgets for their worth.  Then each step tries to add one more unit.  For each budget that
// prevents it, the step gives up a chosen unit that uses this budget, and tries to add others that
// use what was freed.  If the chosen units are then worth less than before, the step is undone.
//
// Equal input and seed give equal units unless the deadline ends the search.
//
// Cost:    40 steps for each unit, each with some hundred operations.
// Threads: pure functions.

#ifndef EBB_SEARCH_BUDGET_SEARCH_H_
#define EBB_SEARCH_BUDGET_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "search/packing.h"

namespace ebb {

// A step looks at no more than this many of the units that use a budget, starting with a random
// one.  More find a unit that fits more often; a budget that thousands of units use would otherwise
// make every step slow.  Not tuned: other values were not compared.
inline constexpr size_t kBudgetUsersLookedAt = 48;

// The chosen units, in an order in which the budgets admit them.  `deadline` null: no time limit.
std::vector<uint32_t> ChooseWithinBudgets(const PackingProblem& problem, uint64_t seed,
                                          const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_SEARCH_BUDGET_SEARCH_H_
