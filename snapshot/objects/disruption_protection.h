// Karpenter's protection of a pod from disruption: the annotation karpenter.sh/do-not-disrupt, and
// the older karpenter.sh/do-not-evict.
//
// "true" protects the pod for ever.  A duration ("30m", in Go's syntax) protects the pod for that
// long after status.startTime; while the start is unknown, the pod is protected.  Any other value
// protects nothing, including a zero or negative duration.
//
// Units:   seconds since the Unix epoch.
// Threads: pure.
// Source:  karpenter pkg/utils/pod/scheduling.go, IsDoNotDisruptActive and parseDoNotDisrupt.

#ifndef EBB_SNAPSHOT_OBJECTS_DISRUPTION_PROTECTION_H_
#define EBB_SNAPSHOT_OBJECTS_DISRUPTION_PROTECTION_H_

#include <cstdint>
#include <optional>

#include "snapshot/objects/objects.h"

namespace ebb {

struct DisruptionProtection {
  // The first second without protection; nullopt if the protection does not end.
  std::optional<int64_t> ends;
  bool start_unknown = false;  // A duration is set, but the pod's start is unknown.
};

// Whether the end of the protection depends on when the pod started.
bool AsksForStart(const objects::KeyValues& annotations);

// nullopt if the annotations never protect the pod.
std::optional<DisruptionProtection> ProtectionOf(const objects::Pod& pod);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_DISRUPTION_PROTECTION_H_
