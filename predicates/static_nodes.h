// The nodes on which a pod may run as far as taints, selectors and other static filters are
// concerned, computed for all nodes at once.
//
// Cost:    one evaluation of the static filters for each shape of node; or for each node, if the
//          pod has static filters that read more than a node's shape.
// Threads: pure functions.

#ifndef EBB_PREDICATES_STATIC_NODES_H_
#define EBB_PREDICATES_STATIC_NODES_H_

#include <cstddef>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// The nodes of `nodes` for which StaticFits (predicates/filters.h) returns true.
NodeSet StaticNodes(const ClusterSnapshot& snapshot, const PodShape& shape, const NodeSet& nodes);

// Shapes of one class have the same static nodes.  Less than StaticClasses().
size_t StaticClassOf(const Catalog& catalog, PodShapeId shape);
size_t StaticClasses(const Catalog& catalog);

}  // namespace ebb

#endif  // EBB_PREDICATES_STATIC_NODES_H_
