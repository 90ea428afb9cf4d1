// UnremovableNodes: how many nodes a round has judged and kept, for which reasons, and when the
// remembered ones are tried again.
//
// A node that could not be removed is not tried again for a while, whatever changes
// (PlannerOptions::unremovable_node_recheck_timeout_s).  It is counted under the reason that was
// found when it was tried, because later passes report only RecentlyUnremovable, which names no
// cause.
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
    // For a node that is BlockedByPod, why the pod may not be moved ("NotEnoughPdb"); else why the
    // node is kept ("NoPlaceToMovePods").
    std::string reason;
    size_t nodes = 0;
    friend bool operator==(const OfReason&, const OfReason&) = default;
  };

  size_t nodes = 0;
  std::vector<OfReason> reasons = {};  // By number of nodes, largest first; ties by reason.
  // The number of these nodes that are not tried again before some time, and the earliest and
  // latest of these times, Unix seconds.  0: no such node.
  size_t remembered = 0;
  int64_t first_recheck_s = 0;
  int64_t last_recheck_s = 0;
  friend bool operator==(const UnremovableNodes&, const UnremovableNodes&) = default;
};

// Counts the nodes that the plan keeps.  `recheck_s`: the earliest time at which a node is tried
// again; nullopt: in the next pass.
UnremovableNodes CountUnremovable(const Plan& plan,
                                  const std::function<std::optional<int64_t>(NodeId)>& recheck_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_UNREMOVABLE_NODES_H_
