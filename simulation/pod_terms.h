// Which placed pods count for the scores of a pod: those that its spread constraints select, and
// those that terms about other pods relate to it.
//
// Threads: pure functions; AffinityWeights is not thread-safe.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, podtopologyspread and
//          interpodaffinity.

#ifndef EBB_SIMULATION_POD_TERMS_H_
#define EBB_SIMULATION_POD_TERMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"

namespace ebb {

// Whether a placed pod counts for a ScheduleAnyway constraint of a pod in `in_namespace`.
bool CountsForSpread(const SoftSpread& constraint, TextId in_namespace, const PodShape& placed);

// Shapes with terms about other pods, ascending.  Cost: O(shapes).
std::vector<PodShapeId> AttractingShapes(const Catalog& catalog);

// The same, by the namespaces that the terms may select.  Cost: O(shapes).
class Attracting {
 public:
  explicit Attracting(const Catalog& catalog);

  // The shapes with a term that may select pods of the namespace, and perhaps more; ascending.
  [[nodiscard]] std::vector<PodShapeId> For(TextId namespace_name) const;

 private:
  // Shapes whose terms list all their namespaces; a shape is under each of them.
  absl::flat_hash_map<TextId, std::vector<PodShapeId>> by_namespace_;
  std::vector<PodShapeId> others_;  // Shapes with a term that selects namespaces by labels.
};

// What each pod of a shape adds to the score of the nodes in its domain.
struct KeyWeight {
  TextId topology_key;
  int64_t weight;
};

// The weights of placed pods for one pod to be placed: by the pod's preferred terms, and by
// preferred and required affinity terms of placed pods that select it; hardPodAffinityWeight is 1.
//
// Ownership: borrows the catalog.
class AffinityWeights {
 public:
  // `attracting`: AttractingShapes(catalog), or those for the namespace of `shape`.
  AffinityWeights(const Catalog& catalog, const PodShape& shape,
                  std::span<const PodShapeId> attracting);

  // No placed pod counts.
  [[nodiscard]] bool empty() const { return own_.empty() && theirs_.empty(); }
  // Whether only the shapes of theirs() have weights.
  [[nodiscard]] bool only_theirs() const { return own_.empty(); }
  // The shapes whose own terms select the pod.
  [[nodiscard]] const absl::flat_hash_map<PodShapeId, std::vector<KeyWeight>>& theirs() const {
    return theirs_;
  }

  // The weights of each pod of `shape`.  Evaluated once for each shape.
  const std::vector<KeyWeight>& Of(PodShapeId shape);

 private:
  const Catalog& catalog_;
  std::span<const WeightedPodTerm> own_;
  absl::flat_hash_map<PodShapeId, std::vector<KeyWeight>> theirs_;
  absl::flat_hash_map<PodShapeId, std::vector<KeyWeight>> all_;
};

}  // namespace ebb

#endif  // EBB_SIMULATION_POD_TERMS_H_
