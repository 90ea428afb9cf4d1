// PendingHolds: nodes that stay because a pending pod may need them, where ebb cannot tell.
//
// A pending pod with a constraint that is not evaluated (PodShape::not_understood) fits nowhere,
// so that no room is kept for it.  It holds every node that it might be placed on as far as ebb
// understands it: a node that passes the filters which read nothing but pod and node (StaticFits)
// and has room for the pod (NodeResourcesFit), as things are before the pass.  Room only shrinks
// while pods are packed and moved, so a node that is not held then is not needed later.  A pod on
// which the scheduler fails too, as its selector does not parse, holds nothing.
//
// Cost:    nothing where each pending pod is understood; else O(nodes * shapes that are not).
// Threads: pure.

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

  // The first pending pod that may need the node; kNoPod: none does.
  [[nodiscard]] PodId HolderOf(NodeId node) const {
    return holder_.empty() ? kNoPod : holder_[Index(node)];
  }

 private:
  std::vector<PodId> holder_;  // By NodeId; empty: no node is held.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PENDING_HOLDS_H_
