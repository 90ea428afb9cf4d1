// InterPodAffinity: required pod affinity and anti-affinity, the pod's own terms
// and the anti-affinity terms of pods that already run.
//
// Surprise: a pod with affinity terms that nobody in the cluster satisfies may be
//           the first of its kind: it fits if it satisfies them all itself and the
//           node has all their topology keys.
// Cost:    a look-up per term (topology_counts.h keeps the counts).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.

#ifndef EBB_PREDICATES_INTER_POD_AFFINITY_H_
#define EBB_PREDICATES_INTER_POD_AFFINITY_H_

#include <cstdint>
#include <string_view>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class InterPodVerdict : uint8_t {
  kFits,
  kAffinity,              // The pod's affinity is not satisfied.
  kAntiAffinity,          // The pod's anti-affinity forbids a neighbour that is there.
  kExistingAntiAffinity,  // The anti-affinity of a pod that is there forbids the pod.
};
// The scheduler's words; empty for kFits.
std::string_view ReasonOf(InterPodVerdict verdict);

// The first that says no, in the order above.
InterPodVerdict JudgeInterPodAffinity(const ClusterSnapshot& snapshot, const PodShape& shape,
                                      NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_INTER_POD_AFFINITY_H_
