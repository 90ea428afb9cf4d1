// ChooseNodesToDelete: which of the nodes that are unneeded may be deleted now.
//
// In this order, the first that says no being the reason: the node's annotation,
// its timer, its group, the group's minimum size less deletions in progress, the
// cluster's minimums.  Then atomic groups that are not whole fall out, and nodes
// whose pods must be waited for.
//
// Where the original picks at random, the choice here is fixed: the longest
// unneeded first, then the order in which the pass found them.
//
// Cost:    O(nodes + unneeded log unneeded).
// Threads: pure.
// Source:  cluster-autoscaler core/scaledown/planner NodesToDelete,
//          core/scaledown/unneeded RemovableAt, processors/nodes atomic filtering,
//          resourcequotas.

#ifndef EBB_ENGINE_SCALE_DOWN_DELETION_H_
#define EBB_ENGINE_SCALE_DOWN_DELETION_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "engine/scale_down/unneeded.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// What the whole cluster keeps at least.
struct ClusterMinimums {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  int64_t nodes = 0;

  bool operator==(const ClusterMinimums&) const = default;
};

struct DeletionOptions {
  // How long a node must have been unneeded: strictly longer than this.
  int64_t scale_down_unneeded_time_s = 600;
  // The same for a node that is not ready.
  int64_t scale_down_unready_time_s = 1200;
  ClusterMinimums minimums;
  // The cloud can say what a new node of a group would be like.
  bool groups_have_templates = true;

  bool operator==(const DeletionOptions&) const = default;
};

struct NotYet {
  NodeId node;
  UnremovableReason reason;
};

struct NodesToDelete {
  std::vector<NodeId> empty;    // Nothing to move.
  std::vector<NodeId> drain;    // Pods to move; risky ones last.
  std::vector<NotYet> not_yet;  // Unneeded, and kept for now.
  // Not kNoNode: nothing may go, for the GPUs of this node cannot be counted.
  NodeId uncounted_gpus = kNoNode;
};

// `timers` were updated with `plan`; `in_deletion` counts the deletions in progress by
// GroupId, `now_s` is the time of the pass.  The snapshot is the pass's input.
//
// Surprise: a node that falls out late (atomic group, on-completion pods) has used up
// its share of the minimums already, as in the original.  The first node of a group
// stands for the size of all its nodes where the cluster's minimums are counted.  The
// GPUs of a node that is labelled to have some and gives none are those of its group's
// template; where it has no group, or the group no template, the original cannot count
// the cluster and deletes nothing.
NodesToDelete ChooseNodesToDelete(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const Plan& plan, const UnneededTimers& timers,
                                  std::span<const int64_t> in_deletion,
                                  const DeletionOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_DELETION_H_
