// UnremovableNodes: how many nodes a round judged and kept, why, and when those are tried again
// that it remembers.
//
// A node that could not be removed is not tried again for a while, whatever changes
// (PlannerOptions::unremovable_node_recheck_timeout_s).  Its reason is the one that was found when
// it was tried: a later pass says RecentlyUnremovable of it, which names no cause.
//
// Source: cluster-autoscaler core/scaledown/unremovable/nodes.go.

#ifndef EBB_ENGINE_SCALE_DOWN_UNREMOVABLE_NODES_H_
#define EBB_ENGINE_SCALE_DOWN_UNREMOVABLE_NODES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace ebb {

struct UnremovableNodes {
  struct OfReason {
    // Of a node that is BlockedByPod why the pod may not be moved ("NotEnoughPdb"), else why the
    // node stays ("NoPlaceToMovePods").
    std::string reason;
    size_t nodes = 0;
    friend bool operator==(const OfReason&, const OfReason&) = default;
  };

  size_t nodes = 0;
  std::vector<OfReason> reasons = {};  // Most nodes first, equal numbers by reason.
  // Nodes of them that are not tried again before a time, and the first and the last of these
  // times, Unix seconds; 0: none is remembered.
  size_t remembered = 0;
  int64_t first_recheck_s = 0;
  int64_t last_recheck_s = 0;
  friend bool operator==(const UnremovableNodes&, const UnremovableNodes&) = default;
};

// Of the nodes that the plan keeps.  `recheck_s`: when a node is tried again at the earliest;
// nullopt: in the next pass.
UnremovableNodes CountUnremovable(const Plan& plan,
                                  const std::function<std::optional<int64_t>(NodeId)>& recheck_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_UNREMOVABLE_NODES_H_
