// InterPodAffinity: required pod affinity and anti-affinity, both the pod's own terms
// and the anti-affinity terms of pods that already run.
//
// Surprise: if no pod in the cluster satisfies the pod's affinity terms, the pod may be
//           the first of its kind: it fits if it satisfies all of them itself and the
//           node has all their topology keys.
// Cost:    a look-up per term (topology_counts.h keeps the counts).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.

#ifndef EBB_PREDICATES_INTER_POD_AFFINITY_H_
#define EBB_PREDICATES_INTER_POD_AFFINITY_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class InterPodVerdict : uint8_t {
  kFits,
  kAffinity,              // The pod's affinity is not satisfied.
  kAntiAffinity,          // The pod's anti-affinity rejects a pod that runs in the domain.
  kExistingAntiAffinity,  // The anti-affinity of a running pod rejects this pod.
};
// The scheduler's words; empty for kFits.
std::string_view ReasonOf(InterPodVerdict verdict);

namespace inter_pod_affinity_internal {

// Whether a pod that the term's table counts runs in the domain of `node`.
template <typename Term>
[[gnu::always_inline]] inline bool IsCounted(const ClusterSnapshot& snapshot, const Term& term,
                                             NodeId node) {
  EBB_DCHECK(snapshot.catalog().tables()[Index(term.table)].key == term.key);
  const DomainId domain = snapshot.catalog().DomainOf(term.key, node);
  return domain != kNoDomain && snapshot.topology().Count(term.table, domain) > 0;
}

template <typename Term>
[[gnu::always_inline]] inline bool AnyCounted(const ClusterSnapshot& snapshot,
                                              std::span<const Term> terms, NodeId node) {
  // A pass calls this for every pod that it places.  A plain loop is inlined there.
  for (const Term& term : terms) {
    if (IsCounted(snapshot, term, node)) return true;
  }
  return false;
}

}  // namespace inter_pod_affinity_internal

// Whether no placed pod matches the shape's affinity terms, and the pod itself does.
inline bool MayBeTheFirst(const ClusterSnapshot& snapshot, const PodShape& shape) {
  return shape.matches_own_affinity &&
         std::all_of(shape.affinity.begin(), shape.affinity.end(), [&](const AffinityTerm& term) {
           return snapshot.topology().Total(term.table) == 0;
         });
}

namespace inter_pod_affinity_internal {

inline bool SatisfiesAffinity(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  bool all_counted = true;
  for (const AffinityTerm& term : shape.affinity) {
    EBB_DCHECK(snapshot.catalog().tables()[Index(term.table)].key == term.key);
    const DomainId domain = snapshot.catalog().DomainOf(term.key, node);
    if (domain == kNoDomain) return false;
    if (snapshot.topology().Count(term.table, domain) == 0) all_counted = false;
  }
  return all_counted || MayBeTheFirst(snapshot, shape);
}

}  // namespace inter_pod_affinity_internal

// Returns the first reason that applies, in the order of InterPodVerdict.
[[gnu::always_inline]] inline InterPodVerdict FilterInterPodAffinity(
    const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  using namespace inter_pod_affinity_internal;  // NOLINT(google-build-using-namespace)
  if (shape.ignores_pod_affinity) [[unlikely]]
    return InterPodVerdict::kFits;
  if (!shape.affinity.empty() && !SatisfiesAffinity(snapshot, shape, node)) {
    return InterPodVerdict::kAffinity;
  }
  if (AnyCounted(snapshot, std::span(shape.anti_affinity), node)) {
    return InterPodVerdict::kAntiAffinity;
  }
  EBB_DCHECK(shape.repelled_by_own <= shape.repelled_by.size());
  // The first `repelled_by_own` tables belong to anti_affinity, and none counts a pod here.
  const std::span others = std::span(shape.repelled_by).subspan(shape.repelled_by_own);
  if (AnyCounted(snapshot, others, node)) return InterPodVerdict::kExistingAntiAffinity;
  return InterPodVerdict::kFits;
}

}  // namespace ebb

#endif  // EBB_PREDICATES_INTER_POD_AFFINITY_H_
