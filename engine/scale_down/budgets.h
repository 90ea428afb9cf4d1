// CropNodes: how many of the nodes that may go start to go now.
//
// Two budgets hold: nodes in deletion at a time, and among them those that had
// pods to move.  Atomic groups (ZeroOrMaxNodeScaling) go whole or not at all, and
// before others; one of them may exceed the budgets in a call, else it might never go.
//
// Cost:    O(nodes).
// Threads: pure.
// Source:  cluster-autoscaler core/scaledown/budgets.

#ifndef EBB_ENGINE_SCALE_DOWN_BUDGETS_H_
#define EBB_ENGINE_SCALE_DOWN_BUDGETS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "snapshot/ids.h"

namespace ebb {

struct DeletionBudgets {
  int64_t max_scale_down_parallelism = 10;
  int64_t max_drain_parallelism = 1;

  bool operator==(const DeletionBudgets&) const = default;
};

// Deletions that run already.
struct InProgress {
  int64_t empty = 0;
  int64_t drain = 0;
};

// Nodes of one group that start together.
struct DeletionBucket {
  GroupId group;
  std::vector<NodeId> nodes;
  // An atomic group's nodes are deleted in one call once this many are ready; 0:
  // each by itself.
  int64_t batch_size = 0;
};

struct CroppedNodes {
  std::vector<DeletionBucket> empty;  // Atomic groups first.
  std::vector<DeletionBucket> drain;
};

// Takes from the front of `empty` and `drain`, group by group in the order in which
// they are first met.  Nodes without a group are left out.  `registered`: RegisteredNodes
// (atomic_groups.h).
//
// Surprise: an atomic group over budget is stopped by a budget of exactly 0, not by
// one below it (deletions in progress beyond the limit): as in the original.
CroppedNodes CropNodes(std::span<const NodeId> empty, std::span<const NodeId> drain,
                       const NodeGroups& groups, std::span<const int64_t> registered,
                       const InProgress& in_progress, const DeletionBudgets& budgets);

// Number of nodes in all buckets.
size_t CountNodes(std::span<const DeletionBucket> buckets);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_BUDGETS_H_
