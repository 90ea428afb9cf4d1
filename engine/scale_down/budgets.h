// CropNodes: of the nodes that may be deleted, which deletions start now.
//
// Two budgets apply: the number of nodes in deletion at a time, and the number of those nodes that
// had pods to move.  Atomic groups (ZeroOrMaxNodeScaling) start whole or not at all, and before
// other groups.  One atomic group per call may exceed the budgets; otherwise a large group might
// never be removed.
//
// Cost:    O(nodes).
// Threads: pure functions.
// Source:  cluster-autoscaler core/scaledown/budgets.

#ifndef EBB_ENGINE_SCALE_DOWN_BUDGETS_H_
#define EBB_ENGINE_SCALE_DOWN_BUDGETS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/ids.h"

namespace ebb {

// Defaults are those of the cluster-autoscaler.
struct DeletionBudgets {
  int64_t max_scale_down_parallelism = 10;
  int64_t max_drain_parallelism = 1;

  bool operator==(const DeletionBudgets&) const = default;
};

// Deletions that are running already.
struct InProgress {
  int64_t empty = 0;
  int64_t drain = 0;
};

// Nodes of one group that start together.
struct DeletionBucket {
  GroupId group;
  std::vector<NodeId> nodes;
  // Atomic groups: the nodes are deleted in one call once this many of them are ready. 0: each node
  // is deleted separately.
  int64_t batch_size = 0;
};

struct CroppedNodes {
  std::vector<DeletionBucket> empty;  // Atomic groups first.
  std::vector<DeletionBucket> drain;
};

// Takes nodes from the front of `empty` and `drain`.  Groups come in the order of their first node.
// Nodes without a group are left out.  `registered` is the result of RegisteredNodes
// (atomic_groups.h).
//
// Surprise: a budget of exactly 0 stops an atomic group that exceeds it; a negative budget (more
// deletions in progress than the limit) does not.  The cluster-autoscaler behaves so too.
CroppedNodes CropNodes(std::span<const NodeId> empty, std::span<const NodeId> drain,
                       const NodeGroups& groups, std::span<const int64_t> registered,
                       const InProgress& in_progress, const DeletionBudgets& budgets);

// Number of nodes in all buckets.
size_t CountNodes(std::span<const DeletionBucket> buckets);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_BUDGETS_H_
