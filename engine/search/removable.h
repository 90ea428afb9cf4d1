// What a search may begin with: nodes that may go by themselves, and nodes that may take pods.
//
// Cost:    O(candidates + pods on them); OpenNodes O(nodes / 64).
// Threads: pure functions.

#ifndef EBB_ENGINE_SEARCH_REMOVABLE_H_
#define EBB_ENGINE_SEARCH_REMOVABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/node_groups.h"
#include "engine/pass_input.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct RemovableCandidate {
  NodeId node;
  std::vector<PodId> move;  // Pods that must move, in the node's order.
};

// Those of `candidates`, in their order, that eligibility and the rules let go while no budget is
// spent.  Budgets only shrink, so no plan removes another.
std::vector<RemovableCandidate> FindRemovable(const ClusterSnapshot& snapshot,
                                              const NodeGroups& groups,
                                              const PlannerOptions& options,
                                              std::span<const NodeId> candidates, int64_t now_s);

// `destinations` that are in the cluster; null: all that are.
NodeSet OpenNodes(const ClusterSnapshot& snapshot, const NodeSet* destinations);

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_REMOVABLE_H_
