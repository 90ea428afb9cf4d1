// ChooseSoftTaints: which nodes to mark, and which to unmark, as candidates for
// deletion (DeletionCandidateOfClusterAutoscaler:PreferNoSchedule).
//
// First the mark goes from nodes that are needed again, then unneeded ones get it,
// within one budget; the rest waits for the next round.  Nodes that are being
// deleted are left alone.
//
// Cost:    O(nodes).
// Threads: pure.
// Source:  cluster-autoscaler core/scaledown/actuation/softtaint.go.

#ifndef EBB_ENGINE_SCALE_DOWN_SOFT_TAINTS_H_
#define EBB_ENGINE_SCALE_DOWN_SOFT_TAINTS_H_

#include <cstdint>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct SoftTaints {
  std::vector<NodeId> taint;
  std::vector<NodeId> untaint;
  size_t waiting = 0;  // Changes that the budget left for later.
};

// `max_changes`: 0 leaves every taint as it is.
SoftTaints ChooseSoftTaints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const NodeSet& unneeded, int64_t max_changes);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_SOFT_TAINTS_H_
