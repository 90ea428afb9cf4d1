#include "engine/simulation/scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "predicates/filters.h"

namespace ebb {
namespace {

constexpr size_t kNodesToFindMin = 100;

int64_t AmountOf(const Requests& requests, ResourceId resource) {
  for (const ResourceQuantity& each : requests) {
    if (each.resource == resource) return each.amount;
  }
  return 0;
}

using Amounts = ScoredAmounts;

Amounts AllocatableOf(const ClusterSnapshot& snapshot, NodeId node) {
  return {snapshot.Allocatable(kCpu, node), snapshot.Allocatable(kMemory, node)};
}

Amounts RequestedOn(const ClusterSnapshot& snapshot, NodeId node, const Amounts& allocatable) {
  return {allocatable[0] - snapshot.Free(kCpu, node),
          allocatable[1] - snapshot.Free(kMemory, node)};
}

// What a pod that asks for nothing adds where LeastAllocated counts it.
Amounts DefaultsOf(const PodShape& shape) {
  return {AmountOf(shape.charge_requests, kCpu) == 0 ? kDefaultCpuRequestMilli : 0,
          AmountOf(shape.charge_requests, kMemory) == 0 ? kDefaultMemoryRequestBytes : 0};
}

Amounts DefaultsOn(const ClusterSnapshot& snapshot, NodeId node, const ScoreFacts* facts) {
  const Catalog& catalog = snapshot.catalog();
  Amounts sum{};
  for (const PodId pod : snapshot.PodsOn(node)) {
    const Amounts defaults = facts != nullptr ? facts->defaults[Index(catalog.shape_id(pod))]
                                              : DefaultsOf(catalog.shape_of(pod));
    sum[0] += defaults[0];
    sum[1] += defaults[1];
  }
  return sum;
}

std::optional<TextId> ZoneKey(const Catalog& catalog) {
  return catalog.symbols().Find("topology.kubernetes.io/zone");
}

std::optional<TextId> ZoneOf(const Catalog& catalog, std::optional<TextId> key, NodeId node) {
  return key ? FindLabel(catalog.node(node).labels, *key) : std::nullopt;
}

void AddWeighted(std::span<const int64_t> scores, int64_t weight, std::vector<int64_t>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += weight * scores[i];
}

void AddResources(const ClusterSnapshot& snapshot, const PodShape& shape,
                  std::span<const NodeId> nodes, const ScoreFacts* facts,
                  std::vector<int64_t>& sums) {
  const ScoreWeights weights;
  const Amounts asked = {AmountOf(shape.charge_requests, kCpu),
                         AmountOf(shape.charge_requests, kMemory)};
  const bool best_effort = asked[0] == 0 && asked[1] == 0;
  const Amounts counted = {asked[0] == 0 ? kDefaultCpuRequestMilli : asked[0],
                           asked[1] == 0 ? kDefaultMemoryRequestBytes : asked[1]};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Amounts allocatable = AllocatableOf(snapshot, nodes[i]);
    const Amounts requested = RequestedOn(snapshot, nodes[i], allocatable);
    const Amounts defaults = DefaultsOn(snapshot, nodes[i], facts);
    const Amounts with_pod = {requested[0] + defaults[0] + counted[0],
                              requested[1] + defaults[1] + counted[1]};
    sums[i] += weights.node_resources_fit * LeastAllocatedScore(with_pod, allocatable);
    if (best_effort) continue;
    const Amounts exact = {requested[0] + asked[0], requested[1] + asked[1]};
    sums[i] += weights.balanced_allocation * BalancedAllocationScore(exact, allocatable);
  }
}

void AddTaints(const ClusterSnapshot& snapshot, const PodShape& shape,
               std::span<const NodeId> nodes, std::vector<int64_t>& sums) {
  const Catalog& catalog = snapshot.catalog();
  const std::optional<TextId> prefer = catalog.symbols().Find("PreferNoSchedule");
  std::vector<int64_t> scores(nodes.size());
  for (size_t i = 0; prefer && i < nodes.size(); ++i) {
    scores[i] = IntolerableTaints(catalog.constraints(shape.constraints),
                                  catalog.node(nodes[i]).taints, *prefer);
  }
  NormalizeByMax(scores, /*reverse=*/true);
  AddWeighted(scores, ScoreWeights().taint_toleration, sums);
}

// The defaults of the profile: 3 by node and 5 by zone, ScheduleAnyway.
void AddDefaultSpread(const ClusterSnapshot& snapshot, std::span<const NodeId> nodes,
                      std::span<const NodeId> peers, const ScoreFacts* facts,
                      std::vector<int64_t>& sums) {
  const Catalog& catalog = snapshot.catalog();
  const std::optional<TextId> zone_key = facts != nullptr ? std::nullopt : ZoneKey(catalog);
  const auto zone_of = [&](NodeId node) {
    return facts != nullptr ? facts->zones[Index(node)] : ZoneOf(catalog, zone_key, node);
  };
  absl::flat_hash_map<NodeId, int64_t> on_node;
  absl::flat_hash_map<TextId, int64_t> in_zone;
  for (const NodeId node : nodes) {
    if (const auto zone = zone_of(node)) in_zone.try_emplace(*zone, 0);
  }
  for (const NodeId peer : peers) {
    ++on_node[peer];
    const auto zone = zone_of(peer);
    if (zone && in_zone.contains(*zone)) ++in_zone[*zone];
  }
  std::vector<int64_t> scores(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto here = on_node.find(nodes[i]);
    double score = SpreadScore(here == on_node.end() ? 0 : here->second, 3, nodes.size());
    if (const auto zone = zone_of(nodes[i]))
      score += SpreadScore(in_zone[*zone], 5, in_zone.size());
    scores[i] = static_cast<int64_t>(std::round(score));
  }
  NormalizeSpread(scores);
  AddWeighted(scores, ScoreWeights().pod_topology_spread, sums);
}

}  // namespace

ScoreFacts::ScoreFacts(const Catalog& catalog) {
  for (uint32_t shape = 0; shape < catalog.pod_shapes(); ++shape) {
    defaults.push_back(DefaultsOf(catalog.shape(PodShapeId{shape})));
  }
  const std::optional<TextId> key = ZoneKey(catalog);
  for (uint32_t node = 0; node < catalog.nodes(); ++node) {
    zones.push_back(ZoneOf(catalog, key, NodeId{node}));
  }
}

size_t NodesToFind(size_t nodes) {
  if (nodes < kNodesToFindMin) return nodes;
  const size_t percent = nodes / 125 >= 45 ? 5 : 50 - nodes / 125;
  return std::max(kNodesToFindMin, nodes * percent / 100);
}

std::vector<NodeId> SimulatedScheduler::Feasible(const ClusterSnapshot& snapshot,
                                                 const PodShape& shape, const NodeSet* closed) {
  std::vector<NodeId> nodes;
  nodes.reserve(snapshot.nodes());
  snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  std::vector<NodeId> feasible;
  if (nodes.empty() || !PreFilter(snapshot, shape).fits) return feasible;
  const size_t enough = NodesToFind(nodes.size());
  size_t looked_at = 0;
  for (; looked_at < nodes.size() && feasible.size() < enough; ++looked_at) {
    const NodeId node = nodes[(next_start_ + looked_at) % nodes.size()];
    if (closed != nullptr && closed->Contains(node)) continue;
    if (StaticFits(snapshot, shape, node) && DynamicFits(snapshot, shape, node)) {
      feasible.push_back(node);
    }
  }
  next_start_ = (next_start_ + looked_at) % nodes.size();
  return feasible;
}

std::vector<int64_t> SimulatedScheduler::Score(const ClusterSnapshot& snapshot, PodId pod,
                                               std::span<const NodeId> nodes,
                                               std::span<const NodeId> peers,
                                               const ScoreFacts* facts) {
  const PodShape& shape = snapshot.catalog().shape_of(pod);
  std::vector<int64_t> sums(nodes.size());
  AddResources(snapshot, shape, nodes, facts, sums);
  AddTaints(snapshot, shape, nodes, sums);
  // A pod with constraints of its own has no ScheduleAnyway ones that are known.
  if (shape.spread.empty() && shape.has_controller) {
    AddDefaultSpread(snapshot, nodes, peers, facts, sums);
  }
  return sums;
}

NodeId SimulatedScheduler::Choose(const ClusterSnapshot& snapshot, PodId pod,
                                  std::span<const NodeId> peers, const NodeSet* closed) {
  const std::vector<NodeId> nodes = Feasible(snapshot, snapshot.catalog().shape_of(pod), closed);
  if (nodes.empty()) return kNoNode;
  if (nodes.size() == 1) return nodes[0];
  const std::vector<int64_t> scores = Score(snapshot, pod, nodes, peers, facts_);
  const int64_t best = *std::ranges::max_element(scores);
  const auto ties = static_cast<uint64_t>(std::ranges::count(scores, best));
  uint64_t skip = random_.Below(ties);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (scores[i] == best && skip-- == 0) return nodes[i];
  }
  return kNoNode;  // Not reached: one of the ties is it.
}

}  // namespace ebb
