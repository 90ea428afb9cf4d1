#include "simulation/scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "predicates/filters.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// How many feasible nodes are enough, as in kube-scheduler's numFeasibleNodesToFind
// (pkg/scheduler/schedule_one.go): minFeasibleNodesToFind, minFeasibleNodesPercentageToFind, and
// 50% less one for every 125 nodes.
constexpr size_t kNodesToFindMin = 100;
constexpr size_t kPercentToFindMin = 5;
constexpr size_t kPercentToFindMost = 50;
constexpr size_t kNodesAPercentLess = 125;

using Amounts = ScoredAmounts;

Amounts AllocatableOf(const ClusterSnapshot& snapshot, NodeId node) {
  return {snapshot.Allocatable(kCpu, node), snapshot.Allocatable(kMemory, node)};
}

Amounts RequestedOn(const ClusterSnapshot& snapshot, NodeId node, const Amounts& allocatable) {
  return {allocatable[0] - snapshot.Free(kCpu, node),
          allocatable[1] - snapshot.Free(kMemory, node)};
}

// What counts for containers that do not state their requests.
Amounts DefaultsOf(const PodShape& shape) {
  return {shape.scored_default.cpu_milli, shape.scored_default.memory_bytes};
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

std::optional<TextId> ZoneKey(const Catalog& catalog) { return catalog.symbols().Find(kZoneLabel); }

std::optional<TextId> HostnameKey(const Catalog& catalog) {
  return catalog.symbols().Find("kubernetes.io/hostname");
}

// The node's value of a label.  `key`: nullopt if no object has the label.
std::optional<TextId> ValueOf(const Catalog& catalog, std::optional<TextId> key, NodeId node) {
  return key ? FindLabel(catalog.node(node).labels, *key) : std::nullopt;
}

// The arguments of one scoring, and the nodes to score.
struct Question {
  const ClusterSnapshot& snapshot;
  const PodShape& shape;
  std::span<const NodeId> nodes;
  std::span<const NodeId> peers;
  const ScoreFacts* facts;
};

void Add(ScorePlugin plugin, int64_t weight, std::span<const int64_t> scores,
         std::vector<NodeScore>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i].weighted[static_cast<size_t>(plugin)] = weight * scores[i];
    sums[i].total += weight * scores[i];
  }
}

Amounts Sum(const Amounts& a, const Amounts& b) { return {a[0] + b[0], a[1] + b[1]}; }

void AddResources(const Question& ask, std::vector<NodeScore>& sums) {
  const Amounts asked = {AmountOf(ask.shape.charge_requests, kCpu),
                         AmountOf(ask.shape.charge_requests, kMemory)};
  const Amounts counted = {ask.shape.scored_incoming.cpu_milli,
                           ask.shape.scored_incoming.memory_bytes};
  const bool best_effort = asked[0] == 0 && asked[1] == 0;
  std::vector<int64_t> least(ask.nodes.size());
  std::vector<int64_t> balanced(ask.nodes.size());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeId node = ask.nodes[i];
    const Amounts allocatable = AllocatableOf(ask.snapshot, node);
    const Amounts requested = RequestedOn(ask.snapshot, node, allocatable);
    const Amounts defaults = DefaultsOn(ask.snapshot, node, ask.facts);
    least[i] = LeastAllocatedScore(Sum(Sum(requested, defaults), counted), allocatable);
    if (!best_effort) {
      balanced[i] = BalancedAllocationScore(Sum(requested, asked), requested, allocatable);
    }
  }
  Add(ScorePlugin::kNodeResourcesFit, ScoreWeights().node_resources_fit, least, sums);
  Add(ScorePlugin::kBalancedAllocation, ScoreWeights().balanced_allocation, balanced, sums);
}

void AddTaints(const Question& ask, std::vector<NodeScore>& sums) {
  const Catalog& catalog = ask.snapshot.catalog();
  const std::optional<TextId> prefer = catalog.symbols().Find("PreferNoSchedule");
  std::vector<int64_t> scores(ask.nodes.size());
  for (size_t i = 0; prefer && i < ask.nodes.size(); ++i) {
    scores[i] = IntolerableTaints(catalog.constraints(ask.shape.constraints),
                                  catalog.node(ask.nodes[i]).taints, *prefer);
  }
  NormalizeByMax(scores, /*reverse=*/true);
  Add(ScorePlugin::kTaintToleration, ScoreWeights().taint_toleration, scores, sums);
}

// Whether the pod's node selector and required node affinity match.
bool IsAffine(const Question& ask, NodeId node) {
  const Catalog& catalog = ask.snapshot.catalog();
  const NodeInfo& info = catalog.node(node);
  return MatchesNodeAffinity(catalog.constraints(ask.shape.constraints), info.name, info.labels,
                             catalog.symbols());
}

// Whether the profile's defaults spread the pod: the scheduler knows a selector of its controller.
bool IsSpreadByDefault(const Catalog& catalog, const PodShape& shape) {
  const std::string_view group = catalog.Text(shape.controller.api_version);
  switch (shape.controller_kind) {
    case OwnerKind::kReplicaSet:
    case OwnerKind::kStatefulSet:
      return group == "apps/v1";
    case OwnerKind::kReplicationController:
      return group == "v1";
    default:
      return false;
  }
}

// Adds the defaults of the profile: max_skew 3 by node and 5 by zone, ScheduleAnyway.  Nodes
// without a zone form one zone when pods are counted, and no zone when nodes are scored.
void AddDefaultSpread(const Question& ask, std::vector<NodeScore>& sums) {
  const Catalog& catalog = ask.snapshot.catalog();
  const std::optional<TextId> hostname_key = HostnameKey(catalog);
  const std::optional<TextId> zone_key = ask.facts != nullptr ? std::nullopt : ZoneKey(catalog);
  const auto zone_of = [&](NodeId node) {
    return ask.facts != nullptr ? ask.facts->zones[Index(node)] : ValueOf(catalog, zone_key, node);
  };
  absl::flat_hash_map<NodeId, int64_t> on_node;
  absl::flat_hash_map<TextId, int64_t> in_zone;
  for (const NodeId node : ask.nodes) in_zone.try_emplace(zone_of(node).value_or(kNoText), 0);
  for (const NodeId peer : ask.peers) ++on_node[peer];
  for (const auto& [node, pods] : on_node) {
    const auto zone = in_zone.find(zone_of(node).value_or(kNoText));
    if (zone != in_zone.end() && IsAffine(ask, node)) zone->second += pods;
  }
  std::vector<int64_t> scores(ask.nodes.size());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeId node = ask.nodes[i];
    const auto here = on_node.find(node);
    double score = 0;
    if (ValueOf(catalog, hostname_key, node)) {
      score += SpreadScore(here == on_node.end() ? 0 : here->second, 3, ask.nodes.size());
    }
    if (const auto zone = zone_of(node)) score += SpreadScore(in_zone[*zone], 5, in_zone.size());
    scores[i] = static_cast<int64_t>(std::round(score));
  }
  NormalizeSpread(scores);
  Add(ScorePlugin::kPodTopologySpread, ScoreWeights().pod_topology_spread, scores, sums);
}

// Counts the pods on a node that a constraint selects.
class SpreadCounter {
 public:
  SpreadCounter(const ClusterSnapshot& snapshot, const SoftSpread& constraint, TextId in_namespace)
      : snapshot_(snapshot), constraint_(constraint), namespace_(in_namespace) {}

  int64_t On(NodeId node) {
    if (constraint_.selector.MatchesEverything()) return 0;  // As in the scheduler.
    const Catalog& catalog = snapshot_.catalog();
    return std::ranges::count_if(snapshot_.PodsOn(node), [&](PodId pod) {
      const auto [it, is_new] = counted_.try_emplace(catalog.shape_id(pod));
      if (is_new) it->second = Counts(catalog.shape_of(pod));
      return it->second;
    });
  }

 private:
  [[nodiscard]] bool Counts(const PodShape& shape) const {
    return !shape.terminating && shape.namespace_name == namespace_ &&
           constraint_.selector.Matches(shape.labels);
  }

  const ClusterSnapshot& snapshot_;
  const SoftSpread& constraint_;
  TextId namespace_;
  absl::flat_hash_map<PodShapeId, bool> counted_;
};

// A ScheduleAnyway constraint and its counts.
struct SpreadDomains {
  const SoftSpread& constraint;
  bool by_hostname;
  SpreadCounter counter;
  absl::flat_hash_map<TextId, int64_t> pods;  // By value of the key, for the scored nodes.
};

bool PassesPolicies(const Question& ask, const SoftSpread& constraint, NodeId node) {
  const Catalog& catalog = ask.snapshot.catalog();
  return (!constraint.honor_affinity || IsAffine(ask, node)) &&
         (!constraint.honor_taints ||
          ToleratesAll(catalog.constraints(ask.shape.constraints), catalog.node(node).taints));
}

// Nodes that lack the key of some constraint are neither counted nor scored.
void AddSoftSpread(const Question& ask, std::vector<NodeScore>& sums) {
  const Catalog& catalog = ask.snapshot.catalog();
  const std::optional<TextId> hostname = HostnameKey(catalog);
  std::vector<SpreadDomains> all;
  for (const SoftSpread& each : ask.shape.preferences->spread) {
    all.push_back(
        {each, each.topology_key == hostname, {ask.snapshot, each, ask.shape.namespace_name}, {}});
  }
  const auto value_of = [&](NodeId node, const SpreadDomains& domains) {
    return FindLabel(catalog.node(node).labels, domains.constraint.topology_key);
  };
  const auto has_all = [&](NodeId node) {
    return std::ranges::all_of(
        all, [&](const SpreadDomains& each) { return value_of(node, each).has_value(); });
  };
  size_t scored = 0;
  for (const NodeId node : ask.nodes) {
    if (!has_all(node)) continue;
    ++scored;
    for (SpreadDomains& each : all) each.pods.try_emplace(*value_of(node, each), 0);
  }
  ask.snapshot.alive().ForEach([&](NodeId node) {
    if (!has_all(node)) return;
    for (SpreadDomains& each : all) {
      const auto domain = each.pods.find(*value_of(node, each));
      if (each.by_hostname || domain == each.pods.end()) continue;
      if (PassesPolicies(ask, each.constraint, node)) domain->second += each.counter.On(node);
    }
  });
  std::vector<int64_t> scores(ask.nodes.size(), -1);
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeId node = ask.nodes[i];
    if (!has_all(node)) continue;
    double score = 0;
    for (SpreadDomains& each : all) {
      const int64_t pods =
          each.by_hostname ? each.counter.On(node) : each.pods.at(*value_of(node, each));
      score +=
          SpreadScore(pods, each.constraint.max_skew, each.by_hostname ? scored : each.pods.size());
    }
    scores[i] = static_cast<int64_t>(std::round(score));
  }
  NormalizeSpread(scores);
  Add(ScorePlugin::kPodTopologySpread, ScoreWeights().pod_topology_spread, scores, sums);
}

// Shapes with terms about other pods.
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

// Whether a term selects the pod.  `of_placed`: the term belongs to a placed pod.  For terms of
// placed pods, a namespace without an object has no labels.  For terms of the pod to be placed, the
// scheduler replaces the namespace selector by the namespaces that it selects
// (mergeAffinityTermNamespacesIfNotEmpty).  But in 1.36 it then still evaluates the selector
// without the labels of the pod's namespace, so a selector that matches an empty label set selects
// all pods.  In every version a selector without requirements selects all.
bool SpeaksOf(const Catalog& catalog, const WeightedPodTerm& term, const PodShape& pod,
              bool of_placed) {
  if (!term.selector.Matches(pod.labels)) return false;
  if (std::ranges::find(term.namespaces, pod.namespace_name) != term.namespaces.end()) return true;
  const LabelSet* labels = catalog.FindNamespaceLabels(pod.namespace_name);
  if (labels != nullptr && term.namespace_selector.Matches(*labels)) return true;
  const bool asked_without = catalog.kubernetes_version() < KubernetesVersion::k137;
  const bool all = asked_without || term.namespace_selector.MatchesEverything();
  return (of_placed ? labels == nullptr : all) && term.namespace_selector.Matches({});
}

// What each pod of a shape adds to the score of the nodes in its domain.
struct KeyWeight {
  TextId topology_key;
  int64_t weight;
};

class AffinityWeights {
 public:
  explicit AffinityWeights(const Question& ask) : ask_(ask) {
    const Catalog& catalog = ask.snapshot.catalog();
    if (ask.shape.preferences) own_ = ask.shape.preferences->pods;
    for (const PodShapeId shape :
         ask.facts != nullptr ? ask.facts->attracting : AttractingShapes(catalog)) {
      const Preferences& theirs = *catalog.shape(shape).preferences;
      for (const auto* terms : {&theirs.required, &theirs.pods}) {
        for (const WeightedPodTerm& term : *terms) {
          if (!SpeaksOf(catalog, term, ask.shape, /*of_placed=*/true)) continue;
          theirs_[shape].push_back({term.topology_key, term.weight});
        }
      }
    }
  }

  // No placed pod counts.
  [[nodiscard]] bool empty() const { return own_.empty() && theirs_.empty(); }

  const std::vector<KeyWeight>& Of(PodShapeId shape) {
    const auto [it, is_new] = all_.try_emplace(shape);
    if (is_new) {
      if (const auto theirs = theirs_.find(shape); theirs != theirs_.end()) {
        it->second = theirs->second;
      }
      const Catalog& catalog = ask_.snapshot.catalog();
      for (const WeightedPodTerm& term : own_) {
        if (!SpeaksOf(catalog, term, catalog.shape(shape), /*of_placed=*/false)) continue;
        it->second.push_back({term.topology_key, term.weight});
      }
    }
    return it->second;
  }

 private:
  const Question& ask_;
  std::span<const WeightedPodTerm> own_;
  absl::flat_hash_map<PodShapeId, std::vector<KeyWeight>> theirs_;
  absl::flat_hash_map<PodShapeId, std::vector<KeyWeight>> all_;
};

// Adds the pod's preferred terms, and those preferred and required affinity terms of placed pods
// that select it; hardPodAffinityWeight is 1.
void AddPodAffinity(const Question& ask, std::vector<NodeScore>& sums) {
  AffinityWeights weights(ask);
  if (weights.empty()) return;
  const Catalog& catalog = ask.snapshot.catalog();
  absl::flat_hash_map<TextId, absl::flat_hash_map<TextId, int64_t>> sum_of;  // By key and value.
  ask.snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : ask.snapshot.PodsOn(node)) {
      for (const auto& [key, weight] : weights.Of(catalog.shape_id(pod))) {
        const auto value = FindLabel(catalog.node(node).labels, key);
        if (value) sum_of[key][*value] += weight;
      }
    }
  });
  std::vector<int64_t> scores(ask.nodes.size());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    for (const auto& [key, by_value] : sum_of) {
      const auto value = FindLabel(catalog.node(ask.nodes[i]).labels, key);
      const auto at = value ? by_value.find(*value) : by_value.end();
      if (at != by_value.end()) scores[i] += at->second;
    }
  }
  NormalizeAffinity(scores);
  Add(ScorePlugin::kInterPodAffinity, ScoreWeights().inter_pod_affinity, scores, sums);
}

void AddNodeAffinity(const Question& ask, std::vector<NodeScore>& sums) {
  if (!ask.shape.preferences || ask.shape.preferences->nodes.empty()) return;
  const Catalog& catalog = ask.snapshot.catalog();
  std::vector<int64_t> scores(ask.nodes.size());
  std::vector<PreferredTerm> terms;
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeInfo& node = catalog.node(ask.nodes[i]);
    terms.clear();
    for (const auto& [weight, term] : ask.shape.preferences->nodes) {
      terms.push_back({weight, MatchesNodeTerm(term, node.name, node.labels, catalog.symbols())});
    }
    scores[i] = PreferredTermsScore(terms);
  }
  NormalizeByMax(scores, /*reverse=*/false);
  Add(ScorePlugin::kNodeAffinity, ScoreWeights().node_affinity, scores, sums);
}

const NodeImage* FindImage(const NodeInfo& node, TextId name) {
  const auto at = std::ranges::lower_bound(node.images, name, {}, &NodeImage::name);
  return at != node.images.end() && at->name == name ? &*at : nullptr;
}

// If nodes report different sizes of an image, that of the first node counts.
void AddImages(const Question& ask, std::vector<NodeScore>& sums) {
  if (!ask.shape.preferences || ask.shape.preferences->images.empty()) return;
  const Catalog& catalog = ask.snapshot.catalog();
  absl::flat_hash_map<TextId, ImageOnNode> images;
  for (const TextId name : ask.shape.preferences->images) images.try_emplace(name);
  int64_t all_nodes = 0;
  ask.snapshot.alive().ForEach([&](NodeId node) {
    ++all_nodes;
    if (catalog.node(node).images.empty()) return;
    for (auto& [name, image] : images) {
      const NodeImage* const found = FindImage(catalog.node(node), name);
      if (found == nullptr) continue;
      if (image.nodes++ == 0) image.size_bytes = found->size_bytes;
    }
  });
  if (std::ranges::all_of(images, [](const auto& each) { return each.second.nodes == 0; })) return;
  std::vector<int64_t> scores(ask.nodes.size());
  std::vector<ImageOnNode> here;
  // Since 1.37 image volumes count too.  Every container of a real pod has an image.
  const Preferences& wanted = *ask.shape.preferences;
  const bool of_containers = catalog.kubernetes_version() < KubernetesVersion::k137;
  const int64_t images_asked =
      of_containers ? wanted.containers
                    : std::max<int64_t>(wanted.containers, std::ssize(wanted.images));
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    here.clear();
    for (const TextId name : ask.shape.preferences->images) {
      if (FindImage(catalog.node(ask.nodes[i]), name) != nullptr) here.push_back(images[name]);
    }
    scores[i] = ImageLocalityScore(here, all_nodes, images_asked);
  }
  Add(ScorePlugin::kImageLocality, ScoreWeights().image_locality, scores, sums);
}

}  // namespace

ScoreFacts::ScoreFacts(const Catalog& catalog) {
  for (uint32_t shape = 0; shape < catalog.pod_shapes(); ++shape) {
    defaults.push_back(DefaultsOf(catalog.shape(PodShapeId{shape})));
  }
  attracting = AttractingShapes(catalog);
  const std::optional<TextId> key = ZoneKey(catalog);
  for (uint32_t node = 0; node < catalog.nodes(); ++node) {
    zones.push_back(ValueOf(catalog, key, NodeId{node}));
  }
}

std::string_view ScorePluginName(ScorePlugin plugin) {
  switch (plugin) {
    case ScorePlugin::kTaintToleration:
      return "TaintToleration";
    case ScorePlugin::kNodeAffinity:
      return "NodeAffinity";
    case ScorePlugin::kNodeResourcesFit:
      return "NodeResourcesFit";
    case ScorePlugin::kPodTopologySpread:
      return "PodTopologySpread";
    case ScorePlugin::kInterPodAffinity:
      return "InterPodAffinity";
    case ScorePlugin::kBalancedAllocation:
      return "NodeResourcesBalancedAllocation";
    case ScorePlugin::kImageLocality:
      return "ImageLocality";
  }
  return "";
}

std::vector<NodeId> PeersOf(const ClusterSnapshot& snapshot, PodId pod) {
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(pod);
  std::vector<NodeId> peers;
  if (!shape.has_controller) return peers;
  const auto is_peer = [&](const PodShape& other) {
    return other.has_controller && !other.terminating &&
           other.namespace_name == shape.namespace_name &&
           other.controller.kind == shape.controller.kind &&
           other.controller.name == shape.controller.name &&
           other.controller.uid == shape.controller.uid;
  };
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId other : snapshot.PodsOn(node)) {
      if (other != pod && is_peer(catalog.shape_of(other))) peers.push_back(node);
    }
  });
  return peers;
}

size_t NodesToFind(size_t nodes) {
  if (nodes < kNodesToFindMin) return nodes;
  const size_t less = std::min(nodes / kNodesAPercentLess, kPercentToFindMost - kPercentToFindMin);
  const size_t percent = kPercentToFindMost - less;
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

std::vector<NodeScore> SimulatedScheduler::Score(const ClusterSnapshot& snapshot, PodId pod,
                                                 std::span<const NodeId> nodes,
                                                 std::span<const NodeId> peers,
                                                 const ScoreFacts* facts) {
  const Question ask{.snapshot = snapshot,
                     .shape = snapshot.catalog().shape_of(pod),
                     .nodes = nodes,
                     .peers = peers,
                     .facts = facts};
  std::vector<NodeScore> sums(nodes.size());
  AddResources(ask, sums);
  AddTaints(ask, sums);
  AddNodeAffinity(ask, sums);
  AddPodAffinity(ask, sums);
  AddImages(ask, sums);
  // The pod's own constraints, including hard ones, replace the defaults.
  if (ask.shape.preferences && !ask.shape.preferences->spread.empty()) {
    AddSoftSpread(ask, sums);
  } else if (ask.shape.spread.empty() && IsSpreadByDefault(snapshot.catalog(), ask.shape)) {
    AddDefaultSpread(ask, sums);
  }
  return sums;
}

NodeId SimulatedScheduler::Choose(const ClusterSnapshot& snapshot, PodId pod,
                                  std::span<const NodeId> peers, const NodeSet* closed) {
  EBB_DCHECK(snapshot.NodeOf(pod) == kNoNode);
  const std::vector<NodeId> nodes = Feasible(snapshot, snapshot.catalog().shape_of(pod), closed);
  if (nodes.empty()) return kNoNode;
  if (nodes.size() == 1) return nodes[0];
  const std::vector<NodeScore> scores = Score(snapshot, pod, nodes, peers, facts_);
  const int64_t best = std::ranges::max_element(scores, {}, &NodeScore::total)->total;
  const auto ties = static_cast<uint64_t>(std::ranges::count(scores, best, &NodeScore::total));
  uint64_t skip = random_.Below(ties);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (scores[i].total == best && skip-- == 0) return nodes[i];
  }
  return kNoNode;  // Not reached: one of the ties is returned above.
}

}  // namespace ebb
