// OperatingSystem: a pod runs only on the operating system for which it was made.
//
// The scheduler has no such filter: it reads a node's operating system label only if the pod
// selects it.  But a kubelet rejects a pod whose spec.os.name differs from its own system, and a
// Linux image does not run on Windows.  ClusterSnapshot::matches_os turns the filter on.
//
// If either system is unknown, the filter accepts the node.  A node's system is unknown if it has
// neither the label nor status.nodeInfo; a pod's, if it does not name a system and is on no node.
//
// Cost:    two loads.
// Threads: pure.
// Source:  kubernetes pkg/kubelet/lifecycle/predicate.go, rejectPodAdmissionBasedOnOSField.

#ifndef EBB_PREDICATES_OPERATING_SYSTEM_H_
#define EBB_PREDICATES_OPERATING_SYSTEM_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kOperatingSystemReason =
    "node(s) run another operating system than the pod was made for";

inline bool FitsOperatingSystem(const Constraints& constraints, const NodeInfo& node) {
  return constraints.os == kNoText || node.os == kNoText || constraints.os == node.os;
}

}  // namespace ebb

#endif  // EBB_PREDICATES_OPERATING_SYSTEM_H_
