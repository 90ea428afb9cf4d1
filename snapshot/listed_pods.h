// Which pods the autoscaler's own listing leaves out: no plan rests on them.
//
// Source:  cluster-autoscaler utils/kubernetes/listers.go (podFieldSelector),
//          core/podlistprocessor (expendable pods).

#ifndef EBB_SNAPSHOT_LISTED_PODS_H_
#define EBB_SNAPSHOT_LISTED_PODS_H_

#include <cstdint>

#include "snapshot/objects.h"

namespace ebb {

// Default of --expendable-pods-priority-cutoff.
inline constexpr int64_t kExpendablePodsPriorityCutoff = -10;

enum class PodListing : uint8_t {
  kListed,
  kEnded,       // Phase Succeeded or Failed.
  kExpendable,  // spec.priority below the cutoff.
};

inline PodListing ListingOf(const objects::Pod& pod, int64_t expendable_pods_priority_cutoff) {
  if (pod.phase == "Succeeded" || pod.phase == "Failed") return PodListing::kEnded;
  const bool expendable = pod.priority && *pod.priority < expendable_pods_priority_cutoff;
  return expendable ? PodListing::kExpendable : PodListing::kListed;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LISTED_PODS_H_
