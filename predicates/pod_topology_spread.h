// PodTopologySpread: with the pod, no domain holds more than maxSkew matching pods
// above the emptiest one.  DoNotSchedule constraints only.
//
//   matching pods of the node's domain + 1 if the pod matches - minimum <= maxSkew
//
// The minimum is over the domains that the constraint takes into account, 0 while
// there are fewer of them than minDomains.
//
// Cost:    a few look-ups per constraint (topology_counts.h keeps the counts).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/podtopologyspread/filtering.go.

#ifndef EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_
#define EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_

#include <cstdint>
#include <string_view>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class SpreadVerdict : uint8_t {
  kFits,
  kMissingLabel,  // The node is in no domain of some constraint.
  kTooSkewed,
};
// The scheduler's words; empty for kFits.
std::string_view ReasonOf(SpreadVerdict verdict);

// By the first constraint that says no.
SpreadVerdict JudgePodTopologySpread(const ClusterSnapshot& snapshot, const PodShape& shape,
                                     NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_
