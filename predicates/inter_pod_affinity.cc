#include "predicates/inter_pod_affinity.h"

#include <algorithm>
#include <span>

namespace ebb {
namespace {

// Whether a pod that the term's table counts runs in the node's domain.
template <typename Term>
bool IsCounted(const ClusterSnapshot& snapshot, const Term& term, NodeId node) {
  const DomainId domain = snapshot.catalog().DomainOf(term.key, node);
  return domain != kNoDomain && snapshot.topology().Count(term.table, domain) > 0;
}

template <typename Term>
bool AnyCounted(const ClusterSnapshot& snapshot, std::span<const Term> terms, NodeId node) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return IsCounted(snapshot, term, node); });
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
  if (AnyCounted(snapshot, std::span(shape.anti_affinity), node)) {
    return InterPodVerdict::kAntiAffinity;
  }
  // The first are tables of anti_affinity, of which none counts a pod here.
  const std::span others = std::span(shape.repelled_by).subspan(shape.repelled_by_own);
  if (AnyCounted(snapshot, others, node)) return InterPodVerdict::kExistingAntiAffinity;
  return InterPodVerdict::kFits;
}

}  // namespace ebb
