// NodeResourcesFit: the node has a free pod slot and enough of every resource that
// the pod requests.
//
// Units:   milli-CPU, bytes, counts.
// Cost:    O(resources requested).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go.

#ifndef EBB_PREDICATES_NODE_RESOURCES_FIT_H_
#define EBB_PREDICATES_NODE_RESOURCES_FIT_H_

#include <string>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Inline, because it is called more often than all other filters together.
inline bool FitsNodeResources(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  if (snapshot.Free(kPods, node) < 1) return false;
  for (const auto& [resource, amount] : shape.fit_requests) {
    // The scheduler ignores a request named "pods"; it counts pod slots instead.
    if (resource != kPods && amount > snapshot.Free(resource, node)) return false;
  }
  return true;
}

// Appends every shortage: "Too many pods", then "Insufficient cpu", memory and
// ephemeral-storage, then the others by name (the scheduler's order is random).
void AppendShortages(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node,
                     std::vector<std::string>& reasons);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_RESOURCES_FIT_H_
