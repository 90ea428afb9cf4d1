// The starting point of a search: nodes that may be removed alone, and nodes that may take pods.
//
// Cost:    O(candidates + pods on them); OpenNodes O(nodes / 64).
// Threads: pure functions.

#ifndef EBB_SEARCH_REMOVABLE_H_
#define EBB_SEARCH_REMOVABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct RemovableCandidate {
  NodeId node;
  std::vector<PodId> move;  // Pods that must move, in the node's order.
};

// The nodes of `candidates`, in their order, that eligibility and the drainability rules allow to
// be removed while no budget is used.  Budgets only shrink, so no plan removes another node.
std::vector<RemovableCandidate> FindRemovable(const ClusterSnapshot& snapshot,
                                              const NodeGroups& groups,
                                              const PlannerOptions& options,
                                              std::span<const NodeId> candidates, int64_t now_s);

// The `destinations` that are in the cluster; null: all nodes of the cluster.
NodeSet OpenNodes(const ClusterSnapshot& snapshot, const NodeSet* destinations);

}  // namespace ebb

#endif  // EBB_SEARCH_REMOVABLE_H_
