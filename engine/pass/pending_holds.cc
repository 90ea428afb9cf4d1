#include "engine/pass/pending_holds.h"

#include "absl/container/flat_hash_set.h"
#include "predicates/filters.h"
#include "predicates/node_resources_fit.h"

namespace ebb {

PendingHolds::PendingHolds(const ClusterSnapshot& snapshot, std::span<const PodId> pending) {
  const Catalog& catalog = snapshot.catalog();
  absl::flat_hash_set<PodShapeId> seen;
  for (const PodId pod : pending) {
    if (catalog.shape_of(pod).not_understood.empty()) continue;
    if (!seen.insert(catalog.shape_id(pod)).second) continue;
    const PodShape& shape = catalog.shape_of(pod);
    // What another filter rules out everywhere waits for more than a node, and where the scheduler
    // fails on it too no node will take the pod.
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
