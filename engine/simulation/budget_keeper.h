// BudgetKeeper: the disruption controller and the eviction API's side of disruption budgets.
//
// Each budget allows as many of the pods that it matches to be missing as its status did at
// first: wanted pods come and go with their controllers, and the rest must be healthy.  What a
// status shows is always up to date.
//
// As the API does, it refuses the eviction of a pod that several budgets match.
//
// Cost:    O(budgets) for Matching(); O(budgets of the pod) for the rest.
// Threads: not thread-safe.
// Source:  kubernetes 1.36 pkg/controller/disruption, pkg/registry/core/pod/storage/eviction.go.

#ifndef EBB_ENGINE_SIMULATION_BUDGET_KEEPER_H_
#define EBB_ENGINE_SIMULATION_BUDGET_KEEPER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/matching.h"
#include "snapshot/objects.h"
#include "snapshot/symbols.h"

namespace ebb {

class BudgetKeeper {
 public:
  // Errors: InvalidArgument, of a selector that cannot be read.
  absl::Status Add(const objects::PodDisruptionBudget& budget, Symbols& symbols);

  // The budgets that match pods of that namespace with these labels, by index.
  [[nodiscard]] std::vector<size_t> Matching(TextId namespace_name,
                                             std::span<const Label> labels) const;

  // `pods` more, or fewer, are wanted, or healthy, of those that these budgets match.
  void Want(std::span<const size_t> budgets, int64_t pods);
  void Heal(std::span<const size_t> budgets, int64_t pods);
  // From now on as many pods as are missing now, and those that the status allowed, may be
  // missing.  Once, when all pods of the beginning were counted.
  void Settle();

  [[nodiscard]] size_t size() const { return budgets_.size(); }
  [[nodiscard]] int64_t Allowed(size_t budget) const;
  [[nodiscard]] int64_t Desired(size_t budget) const;
  // Whether one healthy pod that they match may be evicted.
  [[nodiscard]] bool MayEvict(std::span<const size_t> budgets) const;

  // The budgets whose status is another than when this was last asked.
  std::vector<size_t> TakeChanged();

 private:
  struct Kept {
    TextId namespace_name;
    Selector selector;
    int64_t missing_max;
    int64_t wanted = 0;
    int64_t healthy = 0;
    int64_t shown = 0;  // Allowed(), when it was last told.
  };
  std::vector<Kept> budgets_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SIMULATION_BUDGET_KEEPER_H_
