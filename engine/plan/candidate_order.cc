#include "engine/plan/candidate_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "engine/plan/utilization.h"
#include "predicates/drainability.h"

namespace ebb {
namespace {

// What a node still has to do before it can be removed, as far as kAutoscaler distinguishes.
enum Load : size_t { kEmpty, kOnCompletionOnly, kPodsToMove, kLoads };

// Computes the Load of a node.  Gives the verdict of GetPodsToMove without budgets and controllers,
// but stops at the first pod that must move or that blocks.
class Loads {
 public:
  Loads(const ClusterSnapshot& snapshot, const DrainOptions& options, int64_t now_s)
      : snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        options_(options),
        now_s_(now_s),
        of_shapes_(catalog_.pod_shapes()) {}

  Load Of(NodeId node) {
    Load load = kEmpty;
    for (const PodId pod : snapshot_.PodsOn(node)) {
      const ShapeLoad of_shape = OfShape(catalog_.shape_id(pod));
      if (of_shape == ShapeLoad::kNone) continue;
      if (of_shape == ShapeLoad::kPodsToMove) return kPodsToMove;
      const DrainVerdict verdict = ApplyDrainRulesAlone(catalog_, pod, options_, now_s_);
      if (verdict.outcome == DrainOutcome::kSkip) continue;
      if (verdict.outcome != DrainOutcome::kWaitForCompletion) return kPodsToMove;
      load = kOnCompletionOnly;
    }
    return load;
  }

 private:
  // What the shape of a pod alone says about its load.
  enum class ShapeLoad : uint8_t { kUnknown, kNone, kPodsToMove, kAskTheRules };

  // The verdict on a shape, computed once for each shape.
  ShapeLoad OfShape(PodShapeId id) {
    ShapeLoad& load = of_shapes_[Index(id)];
    if (load != ShapeLoad::kUnknown) return load;
    const PodShape& shape = catalog_.shape(id);
    if (shape.mirror || IsDaemonSetPod(catalog_, shape)) {
      load = ShapeLoad::kNone;
    } else if (shape.terminating || shape.safe_to_evict == SafeToEvict::kOnCompletion) {
      load = ShapeLoad::kAskTheRules;
    } else {  // No rule says kSkip or kWaitForCompletion.
      load = ShapeLoad::kPodsToMove;
    }
    return load;
  }

  const ClusterSnapshot& snapshot_;
  const Catalog& catalog_;
  const DrainOptions& options_;
  int64_t now_s_;
  std::vector<ShapeLoad> of_shapes_;  // By PodShapeId.
};

void SortAsAutoscaler(const ClusterSnapshot& snapshot, const DrainOptions& options, int64_t now_s,
                      const NodeSet* was_unneeded, std::vector<NodeId>& candidates) {
  Loads loads(snapshot, options, now_s);
  std::array<std::vector<NodeId>, 2 * kLoads> ranks;
  for (const NodeId node : candidates) {
    const bool before = was_unneeded != nullptr && was_unneeded->Contains(node);
    ranks[2 * loads.Of(node) + (before ? 0 : 1)].push_back(node);
  }
  candidates.clear();
  for (const std::vector<NodeId>& rank : ranks) {
    candidates.insert(candidates.end(), rank.begin(), rank.end());
  }
}

template <typename KeyOf>
void SortBy(KeyOf&& key_of, std::vector<NodeId>& candidates) {
  std::vector<std::pair<double, NodeId>> keyed;
  keyed.reserve(candidates.size());
  for (const NodeId node : candidates) keyed.emplace_back(key_of(node), node);
  std::ranges::stable_sort(keyed, {}, &std::pair<double, NodeId>::first);
  for (size_t i = 0; i < keyed.size(); ++i) candidates[i] = keyed[i].second;
}

constexpr double kLast = std::numeric_limits<double>::infinity();

void SortByPods(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                const DrainOptions& options, int64_t now_s, std::vector<NodeId>& candidates) {
  PdbTracker pdbs(snapshot.catalog());
  DrainRules rules(snapshot.catalog(), options, pdbs, now_s);
  PodsToMove pods;
  const auto pods_to_move = [&](NodeId node) {
    rules.GetPodsToMove(snapshot.PodsOn(node), pods, groups.ManagerOf(node));
    return pods.blocked() ? kLast : static_cast<double>(pods.move.size());
  };
  SortBy(pods_to_move, candidates);
}

void SortByUtilization(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                       const PlannerOptions& options, int64_t now_s,
                       std::vector<NodeId>& candidates) {
  const auto utilization_of = [&](NodeId node) {
    const UtilizationOptions counted{.ignore_daemonsets = options.ignore_daemonsets_utilization,
                                     .ignore_mirror_pods = options.ignore_mirror_pods_utilization,
                                     .gpu_label = groups.HasGpuLabel(node)};
    const std::optional<Utilization> utilization =
        CalculateUtilization(snapshot, node, counted, now_s);
    if (!utilization) return kLast;
    // NaN means 0/0, which sorts as 0.
    return utilization->utilization == utilization->utilization ? utilization->utilization : 0;
  };
  SortBy(utilization_of, candidates);
}

}  // namespace

void SortCandidates(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlannerOptions& options, CandidateOrder order, int64_t now_s,
                    const NodeSet* was_unneeded, std::vector<NodeId>& candidates) {
  switch (order) {
    case CandidateOrder::kAutoscaler:
      return SortAsAutoscaler(snapshot, options.drain, now_s, was_unneeded, candidates);
    case CandidateOrder::kInput:
      break;
    case CandidateOrder::kFewestPods:
      SortByPods(snapshot, groups, options.drain, now_s, candidates);
      break;
    case CandidateOrder::kLeastUtilized:
      SortByUtilization(snapshot, groups, options, now_s, candidates);
      break;
  }
  if (was_unneeded == nullptr) return;
  std::ranges::stable_partition(candidates,
                                [&](NodeId node) { return was_unneeded->Contains(node); });
}

void MoveToFront(std::span<const NodeId> first, size_t nodes, std::vector<NodeId>& candidates) {
  NodeSet rest(nodes);
  for (const NodeId node : candidates) rest.Insert(node);
  std::vector<NodeId> ordered;
  ordered.reserve(candidates.size());
  const auto take = [&](NodeId node) {
    if (!rest.Contains(node)) return;
    ordered.push_back(node);
    rest.Erase(node);
  };
  std::ranges::for_each(first, take);
  std::ranges::for_each(candidates, take);
  candidates = std::move(ordered);
}

}  // namespace ebb
