// BudgetKeeper: simulates the disruption controller and what the eviction API does about
// PodDisruptionBudgets.
//
// A budget allows as many of its pods to be missing as its initial status did.  The number of
// wanted pods follows the controllers; the other pods of the budget must be healthy.  The status of
// a budget is always up to date.
//
// Like the API, it refuses the eviction of a pod that several budgets match.
//
// Cost:    O(budgets) for Matching(); O(budgets of the pod) for the rest.
// Threads: not thread-safe.
// Source:  kubernetes 1.36 pkg/controller/disruption, pkg/registry/core/pod/storage/eviction.go.

#ifndef EBB_SIMULATION_BUDGET_KEEPER_H_
#define EBB_SIMULATION_BUDGET_KEEPER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/matching.h"
#include "snapshot/objects/objects.h"
#include "snapshot/symbols.h"

namespace ebb {

class BudgetKeeper {
 public:
  // Errors: InvalidArgument if the selector is invalid.
  absl::Status Add(const objects::PodDisruptionBudget& budget, Symbols& symbols);

  // The indices of the budgets that match pods with these labels in the namespace.
  [[nodiscard]] std::vector<size_t> Matching(TextId namespace_name,
                                             std::span<const Label> labels) const;

  // Adds `pods` to the number of wanted, or of healthy, pods of these budgets; below 0: subtracts.
  void Want(std::span<const size_t> budgets, int64_t pods);
  void Heal(std::span<const size_t> budgets, int64_t pods);
  // Fixes how many pods may be missing from now on: the pods that are missing now, plus the number
  // that the status allowed.  Call once, after all initial pods were counted.
  void Settle();
  // Lets `more` pods more be missing than before; below 0: fewer, but not fewer than none.
  void AllowMissing(size_t budget, int64_t more);

  [[nodiscard]] size_t size() const { return budgets_.size(); }
  [[nodiscard]] int64_t Allowed(size_t budget) const;
  [[nodiscard]] int64_t Desired(size_t budget) const;
  // Whether a healthy pod that these budgets match may be evicted.
  [[nodiscard]] bool MayEvict(std::span<const size_t> budgets) const;

  // The budgets whose status has changed since the last call.
  std::vector<size_t> TakeChanged();

 private:
  struct Kept {
    TextId namespace_name;
    Selector selector;
    int64_t missing_max;
    int64_t wanted = 0;
    int64_t healthy = 0;
    int64_t shown = 0;  // Allowed() at the last TakeChanged().
  };
  std::vector<Kept> budgets_;
};

}  // namespace ebb

#endif  // EBB_SIMULATION_BUDGET_KEEPER_H_
