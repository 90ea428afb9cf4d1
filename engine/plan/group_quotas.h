// The number of nodes that each group may lose.
//
// Threads: pure functions.
// Source:  cluster-autoscaler core/scaledown/planner NodesToDelete, which counts the same when it
//          deletes.

#ifndef EBB_ENGINE_PLAN_GROUP_QUOTAS_H_
#define EBB_ENGINE_PLAN_GROUP_QUOTAS_H_

#include <cstdint>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// By GroupId: target size - minimum size - nodes that are already being deleted.  May be negative.
// A group for which Karpenter's rules hold may lose at most what the budgets of its NodePools
// allow, for whichever reason they allow more. Cost: O(nodes).
std::vector<int64_t> GroupQuotas(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                 int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_GROUP_QUOTAS_H_
