#include "simulation/budget_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

namespace ebb {

absl::Status BudgetKeeper::Add(const objects::PodDisruptionBudget& budget, Symbols& symbols) {
  absl::StatusOr<Selector> selector = CompileSelector(budget.selector, symbols);
  if (!selector.ok()) return selector.status();
  budgets_.push_back({.namespace_name = symbols.Intern(budget.meta.namespace_name),
                      .selector = *std::move(selector),
                      .missing_max = std::max<int64_t>(0, budget.disruptions_allowed)});
  return absl::OkStatus();
}

std::vector<size_t> BudgetKeeper::Matching(TextId namespace_name,
                                           std::span<const Label> labels) const {
  std::vector<size_t> matching;
  for (size_t i = 0; i < budgets_.size(); ++i) {
    const Kept& budget = budgets_[i];
    if (budget.namespace_name == namespace_name && budget.selector.Matches(labels)) {
      matching.push_back(i);
    }
  }
  return matching;
}

void BudgetKeeper::Want(std::span<const size_t> budgets, int64_t pods) {
  for (const size_t budget : budgets) budgets_[budget].wanted += pods;
}

void BudgetKeeper::Heal(std::span<const size_t> budgets, int64_t pods) {
  for (const size_t budget : budgets) budgets_[budget].healthy += pods;
}

void BudgetKeeper::Settle() {
  for (Kept& budget : budgets_) {
    budget.missing_max += std::max<int64_t>(0, budget.wanted - budget.healthy);
    budget.shown = -1;
  }
}

void BudgetKeeper::AllowMissing(size_t budget, int64_t more) {
  budgets_[budget].missing_max = std::max<int64_t>(0, budgets_[budget].missing_max + more);
}

int64_t BudgetKeeper::Desired(size_t budget) const {
  return std::max<int64_t>(0, budgets_[budget].wanted - budgets_[budget].missing_max);
}

int64_t BudgetKeeper::Allowed(size_t budget) const {
  return std::max<int64_t>(0, budgets_[budget].healthy - Desired(budget));
}

bool BudgetKeeper::MayEvict(std::span<const size_t> budgets) const {
  if (budgets.size() > 1) return false;
  return budgets.empty() || Allowed(budgets[0]) > 0;
}

std::vector<size_t> BudgetKeeper::TakeChanged() {
  std::vector<size_t> changed;
  for (size_t i = 0; i < budgets_.size(); ++i) {
    if (budgets_[i].shown == Allowed(i)) continue;
    budgets_[i].shown = Allowed(i);
    changed.push_back(i);
  }
  return changed;
}

}  // namespace ebb
