#include "predicates/pdb_tracker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "boost/container/small_vector.hpp"

namespace ebb {
namespace {

// Up to 64 need no allocation; more would take more stack in every call.  Not tuned.
using Uses = boost::container::small_vector<std::pair<PdbId, PodId>, 64>;

// Stable: the pods of a budget keep their order.
void SortByBudget(Uses& uses) {
  constexpr auto kBudget = &std::pair<PdbId, PodId>::first;
  if (uses.size() > uses.internal_capacity()) {
    std::ranges::stable_sort(uses, {}, kBudget);
    return;
  }
  // The list is short, and insertion sort does not allocate.
  for (size_t i = 1; i < uses.size(); ++i) {
    const auto place =
        std::ranges::upper_bound(uses.begin(), uses.begin() + i, uses[i].first, {}, kBudget);
    std::rotate(place, uses.begin() + i, uses.begin() + i + 1);
  }
}

}  // namespace

PdbTracker::PdbTracker(const Catalog& catalog) : catalog_(&catalog) {
  remaining_.reserve(catalog.pdbs().size());
  for (const Pdb& pdb : catalog.pdbs()) remaining_.push_back(pdb.disruptions_allowed);
}

// As in the autoscaler: budget by budget and, within a budget, pod by pod.  The first budget
// without any disruption left decides.  Otherwise the verdict names the last pod over its budget.
PdbTracker::Verdict PdbTracker::CanRemovePods(std::span<const PodId> pods) const {
  EBB_DCHECK(remaining_.size() == catalog_->pdbs().size());
  Verdict verdict;
  if (remaining_.empty()) return verdict;
  Uses uses;
  for (const PodId pod : pods) {
    for (const PdbId pdb : catalog_->ChargedBudgets(pod)) uses.emplace_back(pdb, pod);
  }
  SortByBudget(uses);
  int32_t count = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const auto [pdb, pod] = uses[i];
    count = i > 0 && uses[i - 1].first == pdb ? count + 1 : 1;
    if (remaining(pdb) < 1) {
      return {.can_remove = false, .in_parallel = false, .blocking_pod = pod, .pdb = pdb};
    }
    if (remaining(pdb) < count) {
      verdict.in_parallel = false;
      verdict.blocking_pod = pod;
      verdict.pdb = pdb;
    }
  }
  return verdict;
}

void PdbTracker::RemovePods(std::span<const PodId> pods) {
  EBB_DCHECK(remaining_.size() == catalog_->pdbs().size());
  if (remaining_.empty()) return;
  for (const PodId pod : pods) {
    for (const PdbId pdb : catalog_->ChargedBudgets(pod)) --remaining_[Index(pdb)];
  }
}

}  // namespace ebb
