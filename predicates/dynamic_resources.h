// DynamicResources: the pod's claims can be used on the node.
//
// A claim that is allocated: the node is one of those on which its devices may be used.  All
// others: the node reaches free devices for all of them at once (snapshot/device_allocator.h).
//
// Cost:    see FindDevices.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins/dynamicresources.

#ifndef EBB_PREDICATES_DYNAMIC_RESOURCES_H_
#define EBB_PREDICATES_DYNAMIC_RESOURCES_H_

#include "snapshot/cluster_snapshot.h"
#include "snapshot/device_allocator.h"

namespace ebb {

bool FitsDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// Why FitsDynamicResources returns false; empty if it returns true.
DeviceProblem WhyNotDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape,
                                     NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_DYNAMIC_RESOURCES_H_
