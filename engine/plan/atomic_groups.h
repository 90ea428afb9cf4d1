// Atomic groups (ZeroOrMaxNodeScaling, NodeGroup::atomic) are removed as a whole or not at all.
// This header says when a set of nodes is a whole group.
//
// Used by plans (make_plan.h), by the choice of nodes that may be deleted (deletion.h) and by the
// choice of nodes whose deletion starts (budgets.h).
//
// Threads: pure functions.
// Source:  cluster-autoscaler processors/nodes atomic resize filtering, and
//          core/scaledown/budgets.

#ifndef EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_
#define EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_

#include <cstdint>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Number of nodes of each group, by GroupId, that are in the snapshot.  Placeholders of upcoming
// nodes do not count.
// Cost: O(nodes).
std::vector<int64_t> RegisteredNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups);

// Whether `nodes` nodes are the whole group: either its target size or all of its registered nodes.
// The two numbers differ while nodes are starting or have failed to start.
inline bool IsWhole(const NodeGroup& group, int64_t nodes, int64_t registered) {
  return nodes == group.target_size || nodes == registered;
}

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_ATOMIC_GROUPS_H_
