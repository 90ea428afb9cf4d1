// Displaced pods: pods that have lost their node, or are about to, and have no new node yet.
//
// They are the pods of nodes that are being deleted, and pods that were evicted a short while ago
// and that their owner has not replaced.  A round finds room for them before it tries to remove
// further nodes.
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

// Pods of `node` that will need another node when it is deleted.  PodDisruptionBudgets are not
// consulted, because the node is deleted anyway.  Left out are pods of DaemonSets, static and
// mirror pods, pods that have ended, and pods that are being deleted.
std::vector<PodId> PodsToReplace(const ClusterSnapshot& snapshot, NodeId node, int64_t now_s);

// Takes the pods that will need another node off the nodes of `in_deletion`, and returns them in
// the order of `in_deletion`.  The nodes stay in the snapshot with their other pods: they keep
// their places in the order of nodes, which a search follows, and they remain topology domains, as
// in the autoscaler's snapshot.  Use PassInput::in_deletion to keep pods off them.
// Surprise: the autoscaler also leaves the displaced pods on these nodes and so counts each of them
// twice.
std::vector<PodId> DisplacePods(std::span<const NodeId> in_deletion, int64_t now_s,
                                ClusterSnapshot& snapshot);

// Evicted pods to put back into the snapshot: pods that are in the catalog under the UID of the
// eviction, are on no node, and whose owner runs fewer pods than it wants.  No more pods are put
// back for an owner than it lacks.  The owner is the first owner reference to a StatefulSet, Job,
// ReplicaSet or ReplicationController.  A pod without such an owner, or whose owner is not in the
// catalog, is always put back.  Left out are pods of DaemonSets, static and mirror pods, and pods
// that have ended.
std::vector<PodId> PodsToPutBack(const ClusterSnapshot& snapshot,
                                 std::span<const EvictedPod> evictions);

}  // namespace ebb

#endif  // EBB_ENGINE_DISPLACED_H_
