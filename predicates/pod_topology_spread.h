// PodTopologySpread: once the pod is placed, no domain holds more than maxSkew matching pods
// above the emptiest domain.  Only DoNotSchedule constraints count.
//
//   matching pods of the node's domain + 1 if the pod matches - minimum <= maxSkew
//
// The minimum is over the domains that the constraint takes into account.  It is 0 while
// there are fewer such domains than minDomains.
//
// Cost:    a few look-ups per constraint (topology_counts.h keeps the counts).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/podtopologyspread/filtering.go.

#ifndef EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_
#define EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class SpreadVerdict : uint8_t {
  kFits,
  kMissingLabel,  // The node is in no domain of some constraint, because it lacks the label.
  kTooSkewed,
};
// The scheduler's words; empty for kFits.
std::string_view ReasonOf(SpreadVerdict verdict);

// The verdict of one of the shape's constraints on the nodes of `domain`.  kNoDomain stands for
// the nodes that are in no domain.
inline SpreadVerdict FilterSpreadConstraint(const ClusterSnapshot& snapshot,
                                            const SpreadConstraint& constraint, DomainId domain) {
  const Catalog& catalog = snapshot.catalog();
  EBB_DCHECK(catalog.tables()[Index(constraint.table)].kind == TableKind::kSpread);
  EBB_DCHECK(catalog.tables()[Index(constraint.table)].key == constraint.key);
  if (domain == kNoDomain) return SpreadVerdict::kMissingLabel;
  EBB_DCHECK(Index(domain) < catalog.topology_key(constraint.key).values.size());
  const TopologyCounts& topology = snapshot.topology();
  const int64_t domains = topology.Domains(catalog, constraint.table);
  const int64_t min = domains < constraint.min_domains ? 0 : topology.MinCount(constraint.table);
  const int64_t count = topology.Count(constraint.table, domain);
  const int64_t skew = count + (constraint.self_match ? 1 : 0) - min;
  return skew > constraint.max_skew ? SpreadVerdict::kTooSkewed : SpreadVerdict::kFits;
}

// The verdict of the first constraint that rejects the node.
inline SpreadVerdict FilterPodTopologySpread(const ClusterSnapshot& snapshot, const PodShape& shape,
                                             NodeId node) {
  for (const SpreadConstraint& constraint : shape.spread) {
    const DomainId domain = snapshot.catalog().DomainOf(constraint.key, node);
    const SpreadVerdict verdict = FilterSpreadConstraint(snapshot, constraint, domain);
    if (verdict != SpreadVerdict::kFits) return verdict;
  }
  return SpreadVerdict::kFits;
}

}  // namespace ebb

#endif  // EBB_PREDICATES_POD_TOPOLOGY_SPREAD_H_
