// NodePorts: no pod of the node holds a host port that the pod asks for.
//
// Two ports conflict if number and protocol are equal, and the addresses are equal
// as text or one of them is 0.0.0.0.
//
// Cost:    one load for a pod without host ports, else O(ports of the node's pods).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodeports, HostPortInfo.

#ifndef EBB_PREDICATES_NODE_PORTS_H_
#define EBB_PREDICATES_NODE_PORTS_H_

#include <string_view>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

inline constexpr std::string_view kNodePortsReason =
    "node(s) didn't have free ports for the requested pod ports";

bool FitsNodePorts(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_PORTS_H_
