// Whether a node takes part: is something deleting it, is it still being set up, is it ready?
//
// A node that leaves is no candidate and no destination, and its pods need room elsewhere
// (displaced.h).  A node that is still starting is neither a candidate nor a destination: pods
// that wait for it have it as their nominated node.
//
// Whether a node is ready is the autoscaler's judgement before it plans, not the kubelet's alone:
// NodeGroups::not_ready holds the judgement of the code that made the groups.
//
// Cost:    O(1), and a hash look-up or two where some machine is being deleted.
// Threads: pure.
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

// Whether something other than an autoscaler's taint deletes the node: its deletionTimestamp, a
// taint of Karpenter's, or the deletion of its Machine or NodeClaim.
bool IsLeaving(const Catalog& catalog, NodeId node);
// What the node is: "under deletion: it has a metadata.deletionTimestamp", "tainted
// karpenter.sh/disrupted", "on Machine ns/m, which is being deleted"; empty: it does not leave.
std::string WhyLeaving(const Catalog& catalog, NodeId node);

// Whether the autoscaler takes the node for ready.
bool IsReady(const Catalog& catalog, const NodeGroups& groups, NodeId node);
// Why it counts as not ready: "GPU label, and no GPU is allocatable"; empty: not_ready has no word
// on it.
std::string WhyNotReady(const NodeGroups& groups, NodeId node);

// Whether the node is still being set up at `now_s`:
//   - Karpenter says so: it is not registered, or not initialized.  A node of Karpenter's with
//     neither label counts so while it is young;
//   - it is young and not ready by its conditions;
//   - it is young, not ready by NodeGroups::not_ready, and its group is scaling up, or it waits for
//     its GPUs (kNoGpus) and no unready timer keeps it (NodeGroups::has_unready_timers).
// Young: created less than groups.max_node_startup_time_s ago.  Where that is 0, no node is
// starting.
bool IsStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node, int64_t now_s);
// What the node is: "tainted karpenter.sh/unregistered", "created 90 s ago, and not Ready yet";
// empty: it is not starting.
std::string WhyStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                        int64_t now_s);
// The time from which the node is not young any more; no value: it is not young at `now_s`.
std::optional<int64_t> YoungUntil(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                                  int64_t now_s);

// Takes nodes that leave or are starting out of `nodes`.  False: there was none.
bool EraseAbsent(const Catalog& catalog, const NodeGroups& groups, int64_t now_s, NodeSet& nodes);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_NODE_STANDING_H_
