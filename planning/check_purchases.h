// CheckPurchases: whether the NodePools of Karpenter allow the new nodes of a plan, as a check that
// shares no code with the choice of the nodes (groups/node_pools.h).
//
//   const std::vector<NodeId> bought = {new_node_1, new_node_2};
//   absl::Status status = CheckPurchases(snapshot, bought);
//
// For each new node with a NodePool of the input: the node's labels meet each requirement about
// labels that it has, and all new nodes of the NodePool together keep its limits.
//
// Errors:  Internal, naming node and requirement, or NodePool and resource: a bug.
// Cost:    O(nodes * labels).
// Threads: a pure function.

#ifndef EBB_PLANNING_CHECK_PURCHASES_H_
#define EBB_PLANNING_CHECK_PURCHASES_H_

#include <span>

#include "absl/status/status.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// REQUIRES: the new nodes are in the snapshot.
absl::Status CheckPurchases(const ClusterSnapshot& snapshot, std::span<const NodeId> bought);

}  // namespace ebb

#endif  // EBB_PLANNING_CHECK_PURCHASES_H_
