#include "engine/pass/pending_holds.h"

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "predicates/filters.h"
#include "predicates/node_resources_fit.h"

namespace ebb {

PendingHolds::PendingHolds(const ClusterSnapshot& snapshot, std::span<const PodId> pending) {
  const Catalog& catalog = snapshot.catalog();
  absl::flat_hash_set<PodShapeId> seen;
  for (const PodId pod : pending) {
    EBB_DCHECK(snapshot.NodeOf(pod) == kNoNode);
    if (catalog.shape_of(pod).not_understood.empty()) continue;
    if (!seen.insert(catalog.shape_id(pod)).second) continue;
    const PodShape& shape = catalog.shape_of(pod);
    // A pod that another filter rejects on every node needs more than a node to be kept.  A pod
    // that the scheduler cannot handle either will run on no node.
    if (PreFilter(snapshot, shape).filter != Filter::kNotUnderstood) continue;
    if (holder_.empty()) holder_.resize(catalog.nodes(), kNoPod);
    snapshot.alive().ForEach([&](NodeId node) {
      PodId& holder = holder_[Index(node)];
      if (holder != kNoPod) return;
      if (FitsNodeResources(snapshot, shape, node) && StaticFits(snapshot, shape, node)) {
        holder = pod;
      }
    });
  }
}

}  // namespace ebb
