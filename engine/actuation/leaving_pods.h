// Which pods of a node that goes need another place, and which go with it.
//
// Threads: pure functions.

#ifndef EBB_ENGINE_ACTUATION_LEAVING_PODS_H_
#define EBB_ENGINE_ACTUATION_LEAVING_PODS_H_

#include "snapshot/catalog.h"

namespace ebb {

// A pod of the node's own, one of a DaemonSet, or one that ends or has ended.
bool GoesWithItsNode(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_LEAVING_PODS_H_
