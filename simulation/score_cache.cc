#include "simulation/score_cache.h"

#include <algorithm>

#include "base/check.h"
#include "predicates/static_nodes.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

ScoredAmounts DefaultsOf(const PodShape& shape) {
  return {shape.scored_default.cpu_milli, shape.scored_default.memory_bytes};
}

ScoredAmounts AllocatableOf(const NodeInfo& node) {
  return {AmountOf(node.allocatable, kCpu), AmountOf(node.allocatable, kMemory)};
}

ScoredAmounts RequestedOn(const ClusterSnapshot& snapshot, NodeId node,
                          const ScoredAmounts& allocatable) {
  return {allocatable[0] - snapshot.Free(kCpu, node),
          allocatable[1] - snapshot.Free(kMemory, node)};
}

void Add(const ScoredAmounts& amounts, int64_t sign, ScoredAmounts& sum) {
  sum[0] += sign * amounts[0];
  sum[1] += sign * amounts[1];
}

// The nodes of the cluster for which `applies` returns true.
template <typename Applies>
NodeSet NodesWhere(const ClusterSnapshot& snapshot, Applies&& applies) {
  NodeSet nodes(snapshot.catalog().nodes());
  snapshot.alive().ForEach([&](NodeId node) {
    if (applies(snapshot.catalog().node(node))) nodes.Insert(node);
  });
  return nodes;
}

}  // namespace

ScoreFacts::ScoreFacts(const Catalog& catalog)
    : attracting(catalog), with_hostname(catalog.nodes()), soft_tainted(catalog.nodes()) {
  for (uint32_t shape = 0; shape < catalog.pod_shapes(); ++shape) {
    defaults.push_back(DefaultsOf(catalog.shape(PodShapeId{shape})));
  }
  const std::optional<TextId> zone = catalog.symbols().Find(kZoneLabel);
  const std::optional<TextId> hostname = catalog.symbols().Find(kHostnameLabel);
  const std::optional<TextId> soft = catalog.symbols().Find("PreferNoSchedule");
  absl::flat_hash_map<TextId, uint32_t> zone_numbers;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeInfo& node = catalog.node(NodeId{n});
    const TextId in = (zone ? FindLabel(node.labels, *zone) : std::nullopt).value_or(kNoText);
    const auto next = static_cast<uint32_t>(zone_names.size());
    const auto [known, is_new] = zone_numbers.try_emplace(in, next);
    zones.push_back(known->second);
    if (is_new) zone_names.push_back(in);
    allocatable.push_back(AllocatableOf(node));
    if (hostname && FindLabel(node.labels, *hostname)) with_hostname.Insert(NodeId{n});
    const auto is_soft = [&](const Taint& taint) { return taint.effect_text == *soft; };
    if (soft && std::ranges::any_of(node.taints, is_soft)) soft_tainted.Insert(NodeId{n});
    has_images |= !node.images.empty();
  }
}

PlacedShapes::PlacedShapes(const ClusterSnapshot& snapshot)
    : nodes(snapshot.catalog().pod_shapes()) {
  const Catalog& catalog = snapshot.catalog();
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : snapshot.PodsOn(node)) {
      std::vector<NodeId>& of_shape = nodes[Index(catalog.shape_id(pod))];
      if (of_shape.empty()) {
        of_namespace[catalog.shape_of(pod).namespace_name].push_back(catalog.shape_id(pod));
      }
      of_shape.push_back(node);
    }
  });
}

NodeLoad LoadOf(const ClusterSnapshot& snapshot, NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  NodeLoad load{.allocatable = AllocatableOf(catalog.node(node)),
                .requested = {},
                .defaults = {},
                .balance = 0};
  load.requested = RequestedOn(snapshot, node, load.allocatable);
  load.balance = BalanceOf(load.requested, load.allocatable);
  for (const PodId pod : snapshot.PodsOn(node)) {
    Add(DefaultsOf(catalog.shape_of(pod)), 1, load.defaults);
  }
  return load;
}

const NodeImage* FindImage(const NodeInfo& node, TextId name) {
  const auto at = std::ranges::lower_bound(node.images, name, {}, &NodeImage::name);
  return at != node.images.end() && at->name == name ? &*at : nullptr;
}

ScoreCache::ScoreCache(const ClusterSnapshot& snapshot, const ScoreFacts& facts,
                       const PlacedShapes& placed)
    : snapshot_(snapshot), facts_(facts), placed_(placed), loads_(snapshot.catalog().nodes()) {
  EBB_DCHECK(snapshot.depth() == 0 && snapshot.ghost() == kNoNode);
  const Catalog& catalog = snapshot.catalog();
  snapshot.alive().ForEach([&](NodeId node) {
    NodeLoad& load = loads_[Index(node)];
    load.allocatable = facts_.allocatable[Index(node)];
    for (const PodId pod : snapshot.PodsOn(node)) {
      Add(facts_.defaults[Index(catalog.shape_id(pod))], 1, load.defaults);
    }
    Renew(node);
  });
}

void ScoreCache::Renew(NodeId node) {
  NodeLoad& load = loads_[Index(node)];
  load.requested = RequestedOn(snapshot_, node, load.allocatable);
  load.balance = BalanceOf(load.requested, load.allocatable);
}

void ScoreCache::OnAdd(PodId pod, NodeId node) {
  EBB_DCHECK(snapshot_.NodeOf(pod) == node);
  const PodShapeId shape = snapshot_.catalog().shape_id(pod);
  Add(facts_.defaults[Index(shape)], 1, loads_[Index(node)].defaults);
  Renew(node);
  log_.push_back({shape, node, 1});
}

void ScoreCache::OnRemove(PodId pod, NodeId node) {
  EBB_DCHECK(snapshot_.NodeOf(pod) == kNoNode);
  const PodShapeId shape = snapshot_.catalog().shape_id(pod);
  Add(facts_.defaults[Index(shape)], -1, loads_[Index(node)].defaults);
  Renew(node);
  log_.push_back({shape, node, -1});
}

const NodeSet& ScoreCache::Statics(PodShapeId shape) {
  const Catalog& catalog = snapshot_.catalog();
  const auto [it, is_new] = statics_.try_emplace(StaticClassOf(catalog, shape));
  if (is_new) it->second = StaticNodes(snapshot_, catalog.shape(shape), snapshot_.alive());
  return it->second;
}

const NodeSet& ScoreCache::Affine(ConstraintsId constraints) {
  const auto [it, is_new] = affine_.try_emplace(constraints);
  if (is_new) {
    const Catalog& catalog = snapshot_.catalog();
    it->second = NodesWhere(snapshot_, [&](const NodeInfo& node) {
      return MatchesNodeAffinity(catalog.constraints(constraints), node.name, node.labels,
                                 catalog.symbols());
    });
  }
  return it->second;
}

const NodeSet& ScoreCache::Tolerated(ConstraintsId constraints) {
  const auto [it, is_new] = tolerated_.try_emplace(constraints);
  if (is_new) {
    it->second = NodesWhere(snapshot_, [&](const NodeInfo& node) {
      return ToleratesAll(snapshot_.catalog().constraints(constraints), node.taints);
    });
  }
  return it->second;
}

const std::vector<TextId>& ScoreCache::ValuesOf(TextId key) {
  const auto [it, is_new] = values_.try_emplace(key);
  if (is_new) {
    const Catalog& catalog = snapshot_.catalog();
    it->second.resize(catalog.nodes(), kNoLabel);
    snapshot_.alive().ForEach([&](NodeId node) {
      it->second[Index(node)] = FindLabel(catalog.node(node).labels, key).value_or(kNoLabel);
    });
  }
  return it->second;
}

const ImageOnNode& ScoreCache::Image(TextId name) {
  const auto [it, is_new] = images_.try_emplace(name);
  if (is_new) {
    ImageOnNode& image = it->second;
    snapshot_.alive().ForEach([&](NodeId node) {
      const NodeImage* const found = FindImage(snapshot_.catalog().node(node), name);
      if (found != nullptr && image.nodes++ == 0) image.size_bytes = found->size_bytes;
    });
  }
  return it->second;
}

// --- Affinity ----------------------------------------------------------------------------------

const SumsOfKeys* ScoreCache::AffinityOf(PodShapeId shape) {
  auto it = affinity_.find(shape);
  if (it == affinity_.end()) {
    const Catalog& catalog = snapshot_.catalog();
    const PodShape& of = catalog.shape(shape);
    AffinityTable made{
        .weights = AffinityWeights(catalog, of, facts_.attracting.For(of.namespace_name)),
        .sums = {}};
    it = affinity_.emplace(shape, std::move(made)).first;
    AddPlaced(it->second);
  }
  AffinityTable& table = it->second;
  if (table.weights.empty()) return nullptr;
  for (; table.applied < log_.size(); ++table.applied) Apply(log_[table.applied], table);
  return &table.sums;
}

// The pods that were placed at first.
void ScoreCache::AddPlaced(AffinityTable& table) {
  const auto add = [&](PodShapeId shape) {
    if (table.weights.Of(shape).empty()) return;
    for (const NodeId node : placed_.nodes[Index(shape)]) Apply({shape, node, 1}, table);
  };
  if (table.weights.only_theirs()) {
    for (const auto& [shape, weights] : table.weights.theirs()) add(shape);
    return;
  }
  for (uint32_t shape = 0; shape < placed_.nodes.size(); ++shape) {
    if (!placed_.nodes[shape].empty()) add(PodShapeId{shape});
  }
}

void ScoreCache::Apply(const Change& change, AffinityTable& table) {
  for (const auto& [key, weight] : table.weights.Of(change.shape)) {
    const TextId value = ValuesOf(key)[Index(change.node)];
    if (value != kNoLabel) table.sums[key][value] += change.sign * weight;
  }
}

// --- Spread ------------------------------------------------------------------------------------

const std::vector<ScoreCache::SpreadSums>& ScoreCache::SpreadOf(PodShapeId shape) {
  const PodShape& of = snapshot_.catalog().shape(shape);
  const auto [it, is_new] = spread_.try_emplace(shape);
  SpreadTable& table = it->second;
  if (is_new) {
    FindCounted(of, table);
    AddPlaced(of, table);
  }
  for (; table.applied < log_.size(); ++table.applied) Apply(log_[table.applied], of, table);
  return table.sums;
}

// Nodes that lack the key of some constraint are not counted.  A constraint by hostname counts the
// pods on each node that is scored, whatever its policies.
void ScoreCache::FindCounted(const PodShape& shape, SpreadTable& table) {
  const Catalog& catalog = snapshot_.catalog();
  const std::vector<SoftSpread>& constraints = shape.preferences->spread;
  NodeSet has_all = snapshot_.alive();
  for (const SoftSpread& each : constraints) {
    const std::vector<TextId>& values = ValuesOf(each.topology_key);
    snapshot_.alive().ForEach([&](NodeId node) {
      if (values[Index(node)] == kNoLabel) has_all.Erase(node);
    });
  }
  const std::optional<TextId> hostname = catalog.symbols().Find(kHostnameLabel);
  for (const SoftSpread& each : constraints) {
    NodeSet& counted = table.counted.emplace_back(has_all);
    SpreadSums& sums = table.sums.emplace_back();
    sums.by_hostname = each.topology_key == hostname;
    if (sums.by_hostname) {
      sums.on_node.resize(catalog.nodes());
      continue;
    }
    for (size_t w = 0; w < counted.words().size(); ++w) {
      if (each.honor_affinity) counted.words()[w] &= Affine(shape.constraints).words()[w];
      if (each.honor_taints) counted.words()[w] &= Tolerated(shape.constraints).words()[w];
    }
  }
}

void ScoreCache::AddPlaced(const PodShape& shape, SpreadTable& table) {
  const auto shapes = placed_.of_namespace.find(shape.namespace_name);
  if (shapes == placed_.of_namespace.end()) return;
  for (const PodShapeId placed : shapes->second) {
    for (const NodeId node : placed_.nodes[Index(placed)]) Apply({placed, node, 1}, shape, table);
  }
}

void ScoreCache::Apply(const Change& change, const PodShape& of, SpreadTable& table) {
  const std::vector<SoftSpread>& constraints = of.preferences->spread;
  const auto [it, is_new] = table.counts.try_emplace(change.shape);
  if (is_new) {
    const PodShape& placed = snapshot_.catalog().shape(change.shape);
    for (uint32_t c = 0; c < constraints.size(); ++c) {
      if (CountsForSpread(constraints[c], of.namespace_name, placed)) it->second.push_back(c);
    }
  }
  for (const uint32_t c : it->second) {
    if (!table.counted[c].Contains(change.node)) continue;
    SpreadSums& sums = table.sums[c];
    if (sums.by_hostname) {
      sums.on_node[Index(change.node)] += change.sign;
    } else {
      sums.of_value[ValuesOf(constraints[c].topology_key)[Index(change.node)]] += change.sign;
    }
  }
}

}  // namespace ebb
