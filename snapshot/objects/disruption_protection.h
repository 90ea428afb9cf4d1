// Karpenter's protection of a pod from disruption: the annotation karpenter.sh/do-not-disrupt, and
// the older karpenter.sh/do-not-evict.
//
// "true" protects for ever.  A duration ("30m", Go's grammar) protects for that long from
// status.startTime on; a pod whose start is not known is protected.  A value that does not parse, a
// duration of 0 and a negative one protect nothing.
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
  // The first second without protection; absent: it does not end.
  std::optional<int64_t> ends;
  bool start_unknown = false;  // It would end, but nothing says when the pod started.
};

// Whether the protection of a pod with these annotations depends on when the pod started.
bool AsksForStart(const objects::KeyValues& annotations);

// Absent: the pod is not protected at any time.
std::optional<DisruptionProtection> ProtectionOf(const objects::Pod& pod);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_DISRUPTION_PROTECTION_H_
