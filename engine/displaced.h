// Displaced pods: pods that lose their node without a new one in sight yet.
//
// They are the pods of nodes that are being deleted, and pods evicted a short while
// ago that their owner has not replaced.  A round finds room for them before it
// looks for more nodes to remove.
//
// Threads: pure functions.
// Source:  cluster-autoscaler core/scaledown/planner controller.go and injection of
//          recent evictions; core/podlistprocessor currently drained nodes.

#ifndef EBB_ENGINE_DISPLACED_H_
#define EBB_ENGINE_DISPLACED_H_

#include <span>
#include <string>
#include <vector>

#include "engine/actuation_status.h"
#include "predicates/drainability.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Pods of `node` that will need a place elsewhere once it is gone.  Budgets are not
// asked: the node goes whatever they say.  Pods of DaemonSets, static, mirror and
// ended ones, and pods that are being deleted, are left out.
std::vector<PodId> PodsToReplace(const ClusterSnapshot& snapshot, NodeId node, int64_t now_s);

// Takes the pods that will need a place off the nodes of `in_deletion`, and returns them in the
// order of nodes.  The nodes stay in the snapshot, with the pods that go with them: as in the
// autoscaler's snapshot they hold their places in the order of nodes, from which a search goes on,
// and are topology domains.  PassInput::in_deletion keeps pods off them.
// Surprise: the autoscaler leaves the pods there too, and so counts each of them twice.
std::vector<PodId> DisplacePods(std::span<const NodeId> in_deletion, int64_t now_s,
                                ClusterSnapshot& snapshot);

// Evicted pods to put back: those that are in the catalog under their UID and on no
// node, and whose owner runs fewer pods than it wants; of one owner at most as many as it
// lacks.  The owner is the first reference to a StatefulSet, Job, ReplicaSet or
// ReplicationController; a pod without one, or whose owner is not known, is put back
// always.  Pods of DaemonSets, static, mirror and ended ones are left out.
std::vector<PodId> PodsToPutBack(const ClusterSnapshot& snapshot,
                                 std::span<const EvictedPod> evictions);

}  // namespace ebb

#endif  // EBB_ENGINE_DISPLACED_H_
