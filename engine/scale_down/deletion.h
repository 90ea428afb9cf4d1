// ChooseNodesToDelete: which of the unneeded nodes may be deleted now.
//
// The checks of a node, in this order; the first one that fails is the reason reported: its
// annotation, whether it has a group, its timer, the group's minimum size (less the deletions in
// progress), the cluster's minimums.  Afterwards atomic groups that are not whole are left out, and
// nodes with a pod that must run to completion.
//
// The cluster-autoscaler picks at random here.  This choice is deterministic: the node that has
// been unneeded longest comes first; ties keep the order of the pass.
//
// Cost:    O(nodes + unneeded log unneeded).
// Threads: pure functions.
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

// Minimums of the whole cluster.
struct ClusterMinimums {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  int64_t nodes = 0;

  bool operator==(const ClusterMinimums&) const = default;
};

struct DeletionOptions {
  // A node must have been unneeded for strictly longer than this.
  int64_t scale_down_unneeded_time_s = 600;
  // The same for nodes that are not ready.
  int64_t scale_down_unready_time_s = 1200;
  ClusterMinimums minimums;
  // The cloud provider can describe a new node of each group.
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
  std::vector<NotYet> not_yet;  // Unneeded, but not to be deleted yet.
  // Not kNoNode: no node may be deleted, because the GPUs of this node cannot be counted.
  NodeId uncounted_gpus = kNoNode;
};

// `timers` have been updated with `plan`.  `in_deletion`: deletions in progress, by GroupId.
// `now_s`: the time of the pass.  `snapshot`: the pass's input.
//
// Surprise: a node that is left out late (atomic group, on-completion pods) has already consumed
// its share of the minimums, as in the cluster-autoscaler.  For the cluster's minimums, all nodes
// of a group have the size of the group's first node.  A node that has a GPU label but offers no
// GPU is counted with the GPUs of its group's template.  If it has no group, or its group has no
// template, the cluster-autoscaler cannot count the cluster's GPUs and deletes nothing; so does
// this function.
NodesToDelete ChooseNodesToDelete(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const Plan& plan, const UnneededTimers& timers,
                                  std::span<const int64_t> in_deletion,
                                  const DeletionOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_DELETION_H_
