// PdbTracker answers "may these pods be evicted together?" while a plan grows.
// For each PodDisruptionBudget it holds the disruptions the plan may still use.
//
// Units:     pods, as in status.disruptionsAllowed.
// Cost:      O(pods x budgets that match each); a copy is 4 bytes per budget.
// Threads:   const methods may run concurrently; others need exclusive access.
// Ownership: borrows the catalog, which must outlive it.
// Surprise:  remaining() can go below zero: a budget with one disruption left admits a node
//            with three of its pods, which must be evicted one after the other (risky).
// Source:    cluster-autoscaler core/scaledown/pdb/basic.go.

#ifndef EBB_PREDICATES_PDB_TRACKER_H_
#define EBB_PREDICATES_PDB_TRACKER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "snapshot/catalog.h"

namespace ebb {

class PdbTracker {
 public:
  struct Verdict {
    bool can_remove = true;   // Every matching budget has at least one disruption left.
    bool in_parallel = true;  // Every matching budget has one left for each of its pods.
    PodId blocking_pod = kNoPod;
    PdbId pdb{};  // The budget of blocking_pod; meaningless if that is kNoPod.
  };

  // Budgets start at status.disruptionsAllowed.
  explicit PdbTracker(const Catalog& catalog);

  [[nodiscard]] Verdict CanRemovePods(std::span<const PodId> pods) const;

  // Spends one disruption per pod from every budget that matches it.
  void RemovePods(std::span<const PodId> pods);

  [[nodiscard]] int32_t remaining(PdbId pdb) const {
    EBB_DCHECK(Index(pdb) < remaining_.size());
    return remaining_[Index(pdb)];
  }
  [[nodiscard]] const Catalog& catalog() const { return *catalog_; }

 private:
  const Catalog* catalog_;
  std::vector<int32_t> remaining_;  // By PdbId.
};

}  // namespace ebb

#endif  // EBB_PREDICATES_PDB_TRACKER_H_
