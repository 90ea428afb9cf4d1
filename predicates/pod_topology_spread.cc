#include "predicates/pod_topology_spread.h"

namespace ebb {
namespace {

SpreadVerdict Judge(const ClusterSnapshot& snapshot, const SpreadConstraint& constraint,
                    NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  const DomainId domain = catalog.DomainOf(constraint.key, node);
  if (domain == kNoDomain) return SpreadVerdict::kMissingLabel;
  const TopologyCounts& topology = snapshot.topology();
  const int64_t domains = topology.Domains(catalog, constraint.table);
  const int64_t min = domains < constraint.min_domains ? 0 : topology.MinCount(constraint.table);
  const int64_t count = topology.Count(constraint.table, domain);
  const int64_t skew = count + (constraint.self_match ? 1 : 0) - min;
  return skew > constraint.max_skew ? SpreadVerdict::kTooSkewed : SpreadVerdict::kFits;
}

}  // namespace

std::string_view ReasonOf(SpreadVerdict verdict) {
  switch (verdict) {
    case SpreadVerdict::kFits:
      return "";
    case SpreadVerdict::kMissingLabel:
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    case SpreadVerdict::kTooSkewed:
      return "node(s) didn't match pod topology spread constraints";
  }
  return "";
}

SpreadVerdict JudgePodTopologySpread(const ClusterSnapshot& snapshot, const PodShape& shape,
                                     NodeId node) {
  for (const SpreadConstraint& constraint : shape.spread) {
    const SpreadVerdict verdict = Judge(snapshot, constraint, node);
    if (verdict != SpreadVerdict::kFits) return verdict;
  }
  return SpreadVerdict::kFits;
}

}  // namespace ebb
