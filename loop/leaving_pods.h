// Which pods of a removed node need another node, and which disappear with it.
//
// Threads: pure functions.

#ifndef EBB_LOOP_LEAVING_PODS_H_
#define EBB_LOOP_LEAVING_PODS_H_

#include "snapshot/catalog.h"

namespace ebb {

// True for static and mirror pods, pods of DaemonSets, and pods that are ending or have ended.
bool GoesWithItsNode(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_LOOP_LEAVING_PODS_H_
