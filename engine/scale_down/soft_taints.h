// ChooseSoftTaints: which nodes get and which lose the soft taint that marks candidates for
// deletion (DeletionCandidateOfClusterAutoscaler:PreferNoSchedule).
//
// Nodes that are needed again lose the taint first; then unneeded nodes get it.  One budget limits
// both; the remaining changes wait for the next round.  Nodes in deletion are left alone.
//
// Cost:    O(nodes).
// Threads: pure functions.
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
  size_t waiting = 0;  // Changes left for later rounds.
};

// `max_changes`: 0 changes no taint.
SoftTaints ChooseSoftTaints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const NodeSet& unneeded, int64_t max_changes);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_SOFT_TAINTS_H_
