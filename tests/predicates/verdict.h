// Verdicts as one line of text, for tests.

#ifndef EBB_TESTS_PREDICATES_VERDICT_H_
#define EBB_TESTS_PREDICATES_VERDICT_H_

#include <string>
#include <string_view>

#include "predicates/drainability.h"
#include "predicates/filters.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {

// "fits", or "NodePorts: reason; reason".  If the pod is placed, it is removed first.
inline std::string VerdictOf(const ClusterSnapshot& cluster, std::string_view pod_name,
                             std::string_view node_name, std::string_view ns = "default") {
  ClusterSnapshot snapshot = cluster;
  const PodId pod = PodNamed(snapshot, pod_name, ns);
  if (snapshot.NodeOf(pod) != kNoNode) snapshot.RemovePod(pod);
  const FilterVerdict verdict =
      Explain(snapshot, snapshot.catalog().shape_of(pod), NodeNamed(snapshot, node_name));
  if (verdict.fits) return "fits";
  std::string text(FilterName(verdict.filter));
  for (size_t i = 0; i < verdict.reasons.size(); ++i) {
    text += (i == 0 ? ": " : "; ") + verdict.reasons[i];
  }
  return text;
}

// "drain", "wait", or the reason why the pod blocks: "NotReplicated".
inline std::string TextOf(const DrainVerdict& verdict) {
  switch (verdict.outcome) {
    case DrainOutcome::kUndefined:
      return "undefined";
    case DrainOutcome::kDrain:
      return "drain";
    case DrainOutcome::kSkip:
      return "skip";
    case DrainOutcome::kWaitForCompletion:
      return "wait";
    case DrainOutcome::kBlock:
      return std::string(ToString(verdict.reason));
  }
  return "?";
}

}  // namespace ebb::test

#endif  // EBB_TESTS_PREDICATES_VERDICT_H_
