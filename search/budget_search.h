// BudgetSearch: units of a packing problem that can be removed together as far as budgets, shares
// of workloads and quotas of groups are concerned.  Room is not considered.
//
//   BudgetSearch search(problem, costs, seed);
//   search.Begin(promising);
//   search.Run(10'000);
//   Use(search.Chosen());
//
// If budgets rather than room keep most nodes, a packing (packing.h) is a slow way to find which
// nodes to choose, because each attempt searches a node for every pod.  Here an attempt is a few
// additions.  The result is the starting point of a packing.
//
// First units are taken that fit.  Then each step tries to add one more unit, the cheaper of two.
// For each budget that prevents it, the step gives up a chosen unit that uses this budget, and
// tries to add others that use what was freed.  If the chosen units are then worth less than
// before, the step is undone.
//
// Equal input and seed give equal units unless a deadline ends the search.
//
// Cost:    a step some hundred operations; Begin O(units * (log units + budgets of a unit)).
// Threads: not thread-safe.

#ifndef EBB_SEARCH_BUDGET_SEARCH_H_
#define EBB_SEARCH_BUDGET_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/random.h"
#include "search/packing.h"

namespace ebb {

// A step looks at no more than this many of the units that use a budget, starting with a random
// one.  More find a unit that fits more often; a budget that thousands of units use would otherwise
// make every step slow.  Not tuned: other values were not compared.
inline constexpr size_t kBudgetUsersLookedAt = 48;

class BudgetSearch {
 public:
  // `costs`: by unit, what its removal uses up, divided by its worth; the search prefers cheap
  // units.  Empty: the part of its budgets that the unit uses, divided by its worth.
  // Ownership: borrows the problem.
  BudgetSearch(const PackingProblem& problem, std::span<const double> costs, uint64_t seed);

  // Chooses again: in the order of `first` each of these units that fits, then others that fit, the
  // cheapest first.  Initially no unit is chosen.
  void Begin(std::span<const uint32_t> first = {});
  // Takes this many steps.  `deadline` ends them early; null: no time limit.
  void Run(uint64_t steps, const Deadline* deadline = nullptr);
  // Gives the unit up if it is chosen, and does not choose it again until the next Begin.
  void Ban(uint32_t unit);

  // The worth of the chosen units.
  [[nodiscard]] int64_t worth() const { return worth_; }
  // The chosen units, in an order in which the budgets admit them.
  [[nodiscard]] std::vector<uint32_t> Chosen() const;

 private:
  [[nodiscard]] const PackingUnit& Unit(uint32_t unit) const { return problem_->units[unit]; }
  [[nodiscard]] bool IsChosen(uint32_t unit) const { return chosen_at_[unit] > 0; }
  [[nodiscard]] bool Admits(const PackingSpend& spend) const {
    return left_[spend.budget] >= spend.least;
  }
  [[nodiscard]] bool Fits(uint32_t unit) const;
  void Count(uint32_t unit, int64_t sign);
  void Take(uint32_t unit) { Take(unit, ++clock_); }
  void Take(uint32_t unit, uint64_t at);
  void GiveUp(uint32_t unit);
  void Step();
  void TakeInStep(uint32_t unit);
  uint32_t DrawCheaper();
  bool FreeFor(const PackingSpend& spend, uint32_t wanted);
  uint32_t DrawChosen(const std::vector<uint32_t>& users, uint32_t none);
  void TakeWhatWasFreed();

  const PackingProblem* problem_;
  std::vector<double> costs_;  // By unit.
  Random random_;
  std::vector<int64_t> left_;        // By budget.
  std::vector<int64_t> quotas_;      // By GroupId: how many more nodes may be removed.
  std::vector<uint64_t> chosen_at_;  // By unit: the clock when it was chosen; 0: not chosen.
  std::vector<bool> banned_;         // By unit.
  std::vector<uint32_t> kept_;       // Units that are not chosen.
  std::vector<size_t> place_;        // By unit: its place in kept_.
  int64_t worth_ = 0;
  uint64_t clock_ = 0;

  // Of one step; reused.
  std::vector<std::pair<uint32_t, uint64_t>> given_up_;  // Units, and when they were chosen.
  std::vector<uint32_t> taken_;
  std::vector<uint64_t> seen_;  // By unit: the stamp of the last step that looked at it.
  uint64_t stamp_ = 0;
};

}  // namespace ebb

#endif  // EBB_SEARCH_BUDGET_SEARCH_H_
