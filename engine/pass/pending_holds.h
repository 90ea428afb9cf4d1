// PendingHolds: nodes that are kept because a pending pod may need them and ebb cannot tell.
//
// A pending pod with a constraint that ebb does not evaluate (PodShape::not_understood) fits
// nowhere, so no room can be kept for it.  Instead it holds every node that it might run on as far
// as ebb understands it: each node that passes the filters which read only pod and node
// (StaticFits) and that has room for the pod (NodeResourcesFit) before the pass begins.  During a
// pass room only shrinks, so a node that is not held before the pass is not needed later.  A pod
// that the scheduler cannot handle either, because a selector of it does not parse, holds no node.
//
// Cost:    nothing if every pending pod is understood; else O(nodes * shapes that are not).
// Threads: const methods may run concurrently.

#ifndef EBB_ENGINE_PASS_PENDING_HOLDS_H_
#define EBB_ENGINE_PASS_PENDING_HOLDS_H_

#include <span>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

class PendingHolds {
 public:
  // REQUIRES: the pods of `pending` are on no node.
  PendingHolds(const ClusterSnapshot& snapshot, std::span<const PodId> pending);

  // The first pending pod that may need the node; kNoPod: no pod does.
  [[nodiscard]] PodId HolderOf(NodeId node) const {
    return holder_.empty() ? kNoPod : holder_[Index(node)];
  }

 private:
  std::vector<PodId> holder_;  // By NodeId; empty: no node is held.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PENDING_HOLDS_H_
