// Whether a node takes part in planning: is something deleting it, is it still being set up, is it
// ready?
//
// A node that is leaving is neither a candidate nor a destination, and its pods need room elsewhere
// (displaced.h).  A node that is starting is neither a candidate nor a destination either; pods
// that wait for it name it as their nominated node.
//
// Readiness is the autoscaler's decision before it plans, not only the kubelet's:
// NodeGroups::not_ready holds the decision of the code that made the groups.
//
// Cost:    O(1), and one or two hash look-ups if some machine is being deleted.
// Threads: pure functions.
// Source:  cluster-autoscaler clusterstate/clusterstate.go updateReadinessStats (NotStarted) and
//          GetUpcomingNodes, core/static_autoscaler.go obtainNodeLists; karpenter
//          pkg/controllers/nodeclaim/lifecycle, pkg/apis/v1/taints.go.

#ifndef EBB_ENGINE_PLAN_NODE_STANDING_H_
#define EBB_ENGINE_PLAN_NODE_STANDING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/plan/node_groups.h"
#include "snapshot/catalog.h"
#include "snapshot/node_set.h"

namespace ebb {

// A deletion that is marked by a taint older than this counts as abandoned.  Source: the
// autoscaler's MaxCloudProviderNodeDeletionTime (core/scaledown/actuation/delete_in_batch.go).
inline constexpr int64_t kDeletionTimeoutS = 300;

// Whether an autoscaler is deleting the node, according to its taint.
inline bool IsBeingDeleted(const NodeInfo& node, int64_t now_s) {
  return node.to_be_deleted && now_s - *node.to_be_deleted < kDeletionTimeoutS;
}

// Why the node counts as leaving (IsLeaving, catalog.h), as the end of a sentence about the node:
// "under deletion: it has a metadata.deletionTimestamp", "tainted karpenter.sh/disrupted", "on
// Machine ns/m, which is being deleted".  Empty: it is not leaving.
std::string WhyLeaving(const Catalog& catalog, NodeId node);

// Whether the autoscaler counts the node as ready.
bool IsReady(const Catalog& catalog, const NodeGroups& groups, NodeId node);
// Why NodeGroups::not_ready counts the node as not ready: "GPU label, and no GPU is allocatable".
// Empty: not_ready gives no reason.
std::string WhyNotReady(const NodeGroups& groups, NodeId node);

// Whether the node is still being set up at `now_s`.  True in these cases:
//   - Karpenter's labels and taints say so: the node is not registered or not initialized.  A node
//     of Karpenter that has neither label counts as not initialized while it is young;
//   - it is young and its conditions say that it is not ready;
//   - it is young, NodeGroups::not_ready says that it is not ready, and either its group is scaling
//     up, or it waits for its GPUs (kNoGpus) and no unready timer keeps it
//     (NodeGroups::has_unready_timers).
// Young: created less than groups.max_node_startup_time_s ago.  If that option is 0, no node is
// starting.
bool IsStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node, int64_t now_s);
// Why the node counts as starting: "tainted karpenter.sh/unregistered", "created 90 s ago, and not
// Ready yet".  Empty: it is not starting.
std::string WhyStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                        int64_t now_s);
// The time at which the node stops being young; nullopt: it is not young at `now_s`.
std::optional<int64_t> YoungUntil(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                                  int64_t now_s);

// Removes nodes that are leaving or starting from `nodes`.  Returns whether there were any.
bool EraseAbsent(const Catalog& catalog, const NodeGroups& groups, int64_t now_s, NodeSet& nodes);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_NODE_STANDING_H_
