// GangParts: whether the removals of a plan move each gang whole.  For plans that may move gangs
// (Gangs::kMove): all running pods of a gang move in the plan, or no pod that the gang holds.  A
// gang does not move with a risky removal either: there a budget lets pods go only one after the
// other.
//
// It counts removals one after another, so it also answers for the first removals of a plan.
//
// Cost:    construction O(gangs); Remove O(pods of the node).
// Threads: not thread-safe.

#ifndef EBB_ENGINE_PLAN_GANG_PARTS_H_
#define EBB_ENGINE_PLAN_GANG_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class GangParts {
 public:
  // Borrows the snapshot, in which nothing has been removed.  Unless the options are
  // Gangs::kMove, no gang is ever in parts.
  GangParts(const ClusterSnapshot& snapshot, const PlannerOptions& options);

  void Remove(const RemovableNode& removal);
  [[nodiscard]] bool AreWhole() const { return in_parts_ == 0; }
  // The first pod on the node whose gang moves in part and holds the pod; nullopt: there is none.
  [[nodiscard]] std::optional<PodId> PodInParts(NodeId node) const;

 private:
  struct Count {
    int64_t moved = 0;  // Running pods of the gang.
    int64_t held = 0;   // Of these, pods that the gang holds where they are.
    bool late = false;  // A budget lets some of these go only after others.
  };
  [[nodiscard]] bool IsInParts(uint32_t gang) const;

  const ClusterSnapshot& snapshot_;
  std::vector<Count> counts_;  // By gang; empty: gangs do not move.
  size_t in_parts_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_GANG_PARTS_H_
