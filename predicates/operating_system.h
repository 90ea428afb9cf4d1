// OperatingSystem: a pod runs only on the operating system for which it was made.
//
// Not the scheduler's, which looks at node labels only where the pod asks for them.  But a kubelet
// refuses a pod whose spec.os.name is another than its own, and an image for Linux does not run on
// Windows.  Snapshots say whether it is asked (ClusterSnapshot::matches_os).
//
// What is not known excludes nothing: a node without the label and without status.nodeInfo, a
// pod that says nothing and runs nowhere.
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
