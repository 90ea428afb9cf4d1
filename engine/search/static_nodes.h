// Which nodes pods may run on as far as taints, selectors and the like go, all nodes at once.
//
// Cost:    a static filter for each shape of node; for pods whose filters read more than that, each
//          node.
// Threads: pure functions.

#ifndef EBB_ENGINE_SEARCH_STATIC_NODES_H_
#define EBB_ENGINE_SEARCH_STATIC_NODES_H_

#include <cstddef>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Those of `nodes` on which StaticFits (predicates/filters.h) says yes.
NodeSet StaticNodes(const ClusterSnapshot& snapshot, const PodShape& shape, const NodeSet& nodes);

// Shapes of one class have the same static nodes.  Below StaticClasses().
size_t StaticClassOf(const Catalog& catalog, PodShapeId shape);
size_t StaticClasses(const Catalog& catalog);

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_STATIC_NODES_H_
