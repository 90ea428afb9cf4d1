// When a group that goes as a whole (ZeroOrMaxNodeScaling, NodeGroup::atomic) is whole.
//
// Plans (make_plan.h), what a round lets go (deletion.h) and what it starts (budgets.h)
// ask here.
//
// Threads: pure.
// Source:  cluster-autoscaler processors/nodes atomic resize filtering, and
//          core/scaledown/budgets.

#ifndef EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_
#define EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_

#include <cstdint>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Number of nodes of each group, by GroupId, that the snapshot holds and that are
// not mere placeholders of upcoming ones.  Cost: O(nodes).
std::vector<int64_t> RegisteredNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups);

// Whether `nodes` nodes are all of the group: as many as it should have, or as many as are
// registered.  The two differ while nodes are starting, or have failed to start.
inline bool IsWhole(const NodeGroup& group, int64_t nodes, int64_t registered) {
  return nodes == group.target_size || nodes == registered;
}

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_
