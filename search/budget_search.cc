#include "search/budget_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ebb {
namespace {

// Steps between two checks of the deadline.  Fewer end more punctually; each check reads the clock.
// Not tuned.
constexpr uint64_t kStepsPerLook = 256;

}  // namespace

BudgetSearch::BudgetSearch(const PackingProblem& problem, std::span<const double> costs,
                           uint64_t seed)
    : problem_(&problem),
      costs_(costs.begin(), costs.end()),
      random_(seed),
      left_(problem.budgets.begin(), problem.budgets.end()),
      quotas_(problem.quotas),
      chosen_at_(problem.units.size()),
      banned_(problem.units.size()),
      place_(problem.units.size()),
      seen_(problem.units.size()) {
  for (uint32_t unit = 0; unit < problem.units.size(); ++unit) {
    place_[unit] = unit;
    kept_.push_back(unit);
    if (!costs.empty()) continue;
    double cost = 0;
    for (const PackingSpend& spend : Unit(unit).spends) {
      cost += static_cast<double>(spend.pods) /
              std::max(1.0, static_cast<double>(problem.budgets[spend.budget]));
    }
    costs_.push_back(cost / static_cast<double>(Unit(unit).worth));
  }
}

void BudgetSearch::Begin(std::span<const uint32_t> first) {
  banned_.assign(banned_.size(), false);
  for (uint32_t unit = 0; unit < chosen_at_.size(); ++unit) {
    if (IsChosen(unit)) GiveUp(unit);
  }
  const auto take = [&](uint32_t unit) {
    if (!IsChosen(unit) && Fits(unit)) Take(unit);
  };
  std::ranges::for_each(first, take);
  std::vector<uint32_t> others = kept_;
  std::ranges::sort(others, {}, [&](uint32_t unit) { return std::pair(costs_[unit], unit); });
  std::ranges::for_each(others, take);
}

void BudgetSearch::Run(uint64_t steps, const Deadline* deadline) {
  for (uint64_t step = 0; step < steps && !kept_.empty(); ++step) {
    const bool look = step % kStepsPerLook == 0;
    if (look && deadline != nullptr && deadline->Expired()) break;
    Step();
  }
}

void BudgetSearch::Ban(uint32_t unit) {
  if (IsChosen(unit)) GiveUp(unit);
  banned_[unit] = true;
}

std::vector<uint32_t> BudgetSearch::Chosen() const {
  std::vector<uint32_t> units;
  for (uint32_t unit = 0; unit < chosen_at_.size(); ++unit) {
    if (IsChosen(unit)) units.push_back(unit);
  }
  std::ranges::sort(units, {}, [&](uint32_t unit) { return chosen_at_[unit]; });
  return units;
}

bool BudgetSearch::Fits(uint32_t unit) const {
  const PackingUnit& of = Unit(unit);
  return !banned_[unit] && quotas_[Index(of.group)] >= static_cast<int64_t>(of.nodes.size()) &&
         std::ranges::all_of(of.spends, [&](const PackingSpend& each) { return Admits(each); });
}

void BudgetSearch::Count(uint32_t unit, int64_t sign) {
  const PackingUnit& of = Unit(unit);
  for (const PackingSpend& spend : of.spends) left_[spend.budget] -= sign * spend.pods;
  quotas_[Index(of.group)] -= sign * static_cast<int64_t>(of.nodes.size());
  worth_ += sign * of.worth;
}

void BudgetSearch::Take(uint32_t unit, uint64_t at) {
  Count(unit, 1);
  chosen_at_[unit] = at;
  place_[kept_.back()] = place_[unit];
  std::swap(kept_[place_[unit]], kept_.back());
  kept_.pop_back();
}
void BudgetSearch::GiveUp(uint32_t unit) {
  Count(unit, -1);
  chosen_at_[unit] = 0;
  place_[unit] = kept_.size();
  kept_.push_back(unit);
}

void BudgetSearch::Step() {
  const int64_t before = worth_;
  given_up_.clear();
  taken_.clear();
  const uint32_t wanted = DrawCheaper();
  for (const PackingSpend& spend : Unit(wanted).spends) {
    if (!Admits(spend) && !FreeFor(spend, wanted)) break;
  }
  if (Fits(wanted)) {
    TakeInStep(wanted);
    TakeWhatWasFreed();
  }
  if (worth_ >= before) return;
  for (const uint32_t unit : taken_) GiveUp(unit);
  for (const auto& [unit, at] : given_up_) Take(unit, at);
}

// The cheaper of two drawn units that are not chosen.
uint32_t BudgetSearch::DrawCheaper() {
  const uint32_t one = kept_[random_.Below(kept_.size())];
  const uint32_t other = kept_[random_.Below(kept_.size())];
  return costs_[other] < costs_[one] ? other : one;
}

void BudgetSearch::TakeInStep(uint32_t unit) {
  Take(unit);
  taken_.push_back(unit);
}

// Gives up units that use the budget until `spend` is admitted, each time the more expensive of
// two drawn units.  Returns false if kTries units were not enough.
bool BudgetSearch::FreeFor(const PackingSpend& spend, uint32_t wanted) {
  const std::vector<uint32_t>& users = problem_->budget_users[spend.budget];
  // More tries free a budget more often, and give up more units for one.  Not tuned.
  constexpr int kTries = 3;
  for (int tries = 0; tries < kTries && !Admits(spend); ++tries) {
    uint32_t dearest = wanted;
    for (int draw = 0; draw < 2; ++draw) {
      const uint32_t drawn = DrawChosen(users, wanted);
      if (drawn == wanted) continue;
      if (dearest == wanted || costs_[drawn] > costs_[dearest]) dearest = drawn;
    }
    if (dearest == wanted) return false;
    given_up_.emplace_back(dearest, chosen_at_[dearest]);
    GiveUp(dearest);
  }
  return Admits(spend);
}

// The first chosen unit, from a random one on; `none` if no unit is chosen.
uint32_t BudgetSearch::DrawChosen(const std::vector<uint32_t>& users, uint32_t none) {
  const size_t start = random_.Below(users.size());
  for (size_t i = 0; i < users.size(); ++i) {
    const uint32_t user = users[(start + i) % users.size()];
    // A unit that was taken in this step stays.
    if (IsChosen(user) && std::ranges::find(taken_, user) == taken_.end()) return user;
  }
  return none;
}

// Takes other units that use what the given-up units have freed, and these units last.
void BudgetSearch::TakeWhatWasFreed() {
  ++stamp_;
  for (const auto& [unit, at] : given_up_) seen_[unit] = stamp_;
  for (const auto& [unit, at] : given_up_) {
    for (const PackingSpend& spend : Unit(unit).spends) {
      const std::vector<uint32_t>& users = problem_->budget_users[spend.budget];
      const size_t start = random_.Below(users.size());
      for (size_t i = 0; i < std::min(users.size(), kBudgetUsersLookedAt); ++i) {
        const uint32_t user = users[(start + i) % users.size()];
        if (seen_[user] == stamp_) continue;
        seen_[user] = stamp_;
        if (!IsChosen(user) && Fits(user)) TakeInStep(user);
      }
    }
  }
  for (const auto& [unit, at] : given_up_) {
    if (Fits(unit)) TakeInStep(unit);
  }
}

}  // namespace ebb
