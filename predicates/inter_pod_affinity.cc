#include "predicates/inter_pod_affinity.h"

#include <algorithm>
#include <span>

namespace ebb {
namespace {

// Whether a pod that the term's table counts runs in the node's domain.
bool IsCounted(const ClusterSnapshot& snapshot, const AffinityTerm& term, NodeId node) {
  const DomainId domain = snapshot.catalog().DomainOf(term.key, node);
  return domain != kNoDomain && snapshot.topology().Count(term.table, domain) > 0;
}

bool AnyCounted(const ClusterSnapshot& snapshot, std::span<const AffinityTerm> terms, NodeId node) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const AffinityTerm& term) { return IsCounted(snapshot, term, node); });
}

bool MayBeTheFirst(const ClusterSnapshot& snapshot, const PodShape& shape) {
  return shape.matches_own_affinity &&
         std::all_of(shape.affinity.begin(), shape.affinity.end(), [&](const AffinityTerm& term) {
           return snapshot.topology().Total(term.table) == 0;
         });
}

bool SatisfiesAffinity(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  bool all_counted = true;
  for (const AffinityTerm& term : shape.affinity) {
    const DomainId domain = snapshot.catalog().DomainOf(term.key, node);
    if (domain == kNoDomain) return false;
    if (snapshot.topology().Count(term.table, domain) == 0) all_counted = false;
  }
  return all_counted || MayBeTheFirst(snapshot, shape);
}

}  // namespace

std::string_view ReasonOf(InterPodVerdict verdict) {
  switch (verdict) {
    case InterPodVerdict::kFits:
      return "";
    case InterPodVerdict::kAffinity:
      return "node(s) didn't match pod affinity rules";
    case InterPodVerdict::kAntiAffinity:
      return "node(s) didn't match pod anti-affinity rules";
    case InterPodVerdict::kExistingAntiAffinity:
      return "node(s) didn't satisfy existing pods anti-affinity rules";
  }
  return "";
}

InterPodVerdict JudgeInterPodAffinity(const ClusterSnapshot& snapshot, const PodShape& shape,
                                      NodeId node) {
  if (!SatisfiesAffinity(snapshot, shape, node)) return InterPodVerdict::kAffinity;
  if (AnyCounted(snapshot, shape.anti_affinity, node)) return InterPodVerdict::kAntiAffinity;
  if (AnyCounted(snapshot, shape.repelled_by, node)) return InterPodVerdict::kExistingAntiAffinity;
  return InterPodVerdict::kFits;
}

}  // namespace ebb
