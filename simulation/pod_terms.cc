#include "simulation/pod_terms.h"

#include <algorithm>
#include <iterator>

namespace ebb {
namespace {

// Whether a term selects the pod.  `of_placed`: the term belongs to a placed pod.  For terms of
// placed pods, a namespace without an object has no labels.  For terms of the pod to be placed, the
// scheduler replaces the namespace selector by the namespaces that it selects
// (mergeAffinityTermNamespacesIfNotEmpty).  But in 1.36 it then still evaluates the selector
// without the labels of the pod's namespace, so a selector that matches an empty label set selects
// all pods.  In every version a selector without requirements selects all.
bool SpeaksOf(const Catalog& catalog, const WeightedPodTerm& term, const PodShape& pod,
              bool of_placed) {
  const auto selects_namespace = [&] {
    const auto& listed = term.namespaces;
    if (std::ranges::find(listed, pod.namespace_name) != listed.end()) return true;
    const LabelSet* labels = catalog.FindNamespaceLabels(pod.namespace_name);
    if (labels != nullptr && term.namespace_selector.Matches(*labels)) return true;
    const bool asked_without = catalog.kubernetes_version() < KubernetesVersion::k137;
    const bool all = asked_without || term.namespace_selector.MatchesEverything();
    return (of_placed ? labels == nullptr : all) && term.namespace_selector.Matches({});
  };
  // First the namespace, which few terms select.
  return selects_namespace() && term.selector.Matches(pod.labels);
}

}  // namespace

bool CountsForSpread(const SoftSpread& constraint, TextId in_namespace, const PodShape& placed) {
  // A selector that selects everything selects nothing here, as in the scheduler.
  return !placed.terminating && placed.namespace_name == in_namespace &&
         !constraint.selector.MatchesEverything() && constraint.selector.Matches(placed.labels);
}

std::vector<PodShapeId> AttractingShapes(const Catalog& catalog) {
  std::vector<PodShapeId> shapes;
  for (uint32_t shape = 0; shape < catalog.pod_shapes(); ++shape) {
    const auto& preferences = catalog.shape(PodShapeId{shape}).preferences;
    if (preferences && !(preferences->pods.empty() && preferences->required.empty())) {
      shapes.push_back(PodShapeId{shape});
    }
  }
  return shapes;
}

Attracting::Attracting(const Catalog& catalog) {
  std::vector<TextId> namespaces;  // Reused.
  for (const PodShapeId shape : AttractingShapes(catalog)) {
    const Preferences& preferences = *catalog.shape(shape).preferences;
    bool all_listed = true;
    namespaces.clear();
    for (const auto* terms : {&preferences.required, &preferences.pods}) {
      for (const WeightedPodTerm& term : *terms) {
        all_listed = all_listed && term.namespace_selector.nothing;
        namespaces.insert(namespaces.end(), term.namespaces.begin(), term.namespaces.end());
      }
    }
    if (!all_listed) {
      others_.push_back(shape);
      continue;
    }
    std::ranges::sort(namespaces);
    const auto repeated = std::ranges::unique(namespaces);
    namespaces.erase(repeated.begin(), repeated.end());
    for (const TextId name : namespaces) by_namespace_[name].push_back(shape);
  }
}

std::vector<PodShapeId> Attracting::For(TextId namespace_name) const {
  const auto listed = by_namespace_.find(namespace_name);
  if (listed == by_namespace_.end()) return others_;
  std::vector<PodShapeId> all;
  all.reserve(listed->second.size() + others_.size());
  std::ranges::merge(listed->second, others_, std::back_inserter(all));
  return all;
}

AffinityWeights::AffinityWeights(const Catalog& catalog, const PodShape& shape,
                                 std::span<const PodShapeId> attracting)
    : catalog_(catalog) {
  if (shape.preferences) own_ = shape.preferences->pods;
  for (const PodShapeId other : attracting) {
    const Preferences& theirs = *catalog.shape(other).preferences;
    for (const auto* terms : {&theirs.required, &theirs.pods}) {
      for (const WeightedPodTerm& term : *terms) {
        if (!SpeaksOf(catalog, term, shape, /*of_placed=*/true)) continue;
        theirs_[other].push_back({term.topology_key, term.weight});
      }
    }
  }
}

const std::vector<KeyWeight>& AffinityWeights::Of(PodShapeId shape) {
  static const std::vector<KeyWeight> kNone;
  if (own_.empty()) {
    const auto theirs = theirs_.find(shape);
    return theirs == theirs_.end() ? kNone : theirs->second;
  }
  const auto [it, is_new] = all_.try_emplace(shape);
  if (is_new) {
    if (const auto theirs = theirs_.find(shape); theirs != theirs_.end()) {
      it->second = theirs->second;
    }
    for (const WeightedPodTerm& term : own_) {
      if (!SpeaksOf(catalog_, term, catalog_.shape(shape), /*of_placed=*/false)) continue;
      it->second.push_back({term.topology_key, term.weight});
    }
  }
  return it->second;
}

}  // namespace ebb
