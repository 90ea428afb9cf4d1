#include "simulation/scheduler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "engine/pass/fits_word.h"
#include "predicates/filters.h"
#include "simulation/pod_terms.h"
#include "simulation/score_cache.h"
#include "snapshot/device_allocator.h"
#include "snapshot/devices.h"
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

std::optional<TextId> ZoneKey(const Catalog& catalog) { return catalog.symbols().Find(kZoneLabel); }

std::optional<TextId> HostnameKey(const Catalog& catalog) {
  return catalog.symbols().Find(kHostnameLabel);
}

// The node's value of a label.  `key`: nullopt if no object has the label.
std::optional<TextId> ValueOf(const Catalog& catalog, std::optional<TextId> key, NodeId node) {
  return key ? FindLabel(catalog.node(node).labels, *key) : std::nullopt;
}

// The arguments of one scoring, and the nodes to score.
struct Question {
  const ClusterSnapshot& snapshot;
  PodShapeId shape_id;
  const PodShape& shape;
  std::span<const NodeId> nodes;
  std::span<const NodeId> peers;
  const ScoreFacts* facts;  // Null: what they say is computed when needed.
  ScoreCache* cache;        // The same; with a cache there are facts.

  [[nodiscard]] const SchedulerProfile& profile() const {
    static const auto* const kDefault = new SchedulerProfile();
    const SchedulerProfile* const profile = snapshot.catalog().ProfileOf(shape);
    return profile == nullptr ? *kDefault : *profile;
  }
  [[nodiscard]] const ScoreWeights& weights() const { return profile().weights; }
};

// The scores of the nodes, plugin by plugin, and their sums.
struct Sums {
  std::vector<int64_t> totals;
  std::vector<NodeScore>* plugins = nullptr;  // Null: only totals are wanted.

  void Add(ScorePlugin plugin, int64_t weight, std::span<const int64_t> scores) {
    for (size_t i = 0; i < totals.size(); ++i) totals[i] += weight * scores[i];
    if (plugins == nullptr) return;
    for (size_t i = 0; i < totals.size(); ++i) {
      (*plugins)[i].weighted[static_cast<size_t>(plugin)] = weight * scores[i];
      (*plugins)[i].total += weight * scores[i];
    }
  }
};

ScoredAmounts Sum(const ScoredAmounts& a, const ScoredAmounts& b) {
  return {a[0] + b[0], a[1] + b[1]};
}

void AddResources(const Question& ask, Sums& sums) {
  const ScoredAmounts asked = {AmountOf(ask.shape.charge_requests, kCpu),
                               AmountOf(ask.shape.charge_requests, kMemory)};
  const ScoredAmounts counted = {ask.shape.scored_incoming.cpu_milli,
                                 ask.shape.scored_incoming.memory_bytes};
  const bool best_effort = asked[0] == 0 && asked[1] == 0;
  const FitScore& how = ask.profile().fit_score;
  std::vector<int64_t> fit(ask.nodes.size());
  std::vector<int64_t> balanced(ask.nodes.size());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeLoad load =
        ask.cache != nullptr ? ask.cache->Load(ask.nodes[i]) : LoadOf(ask.snapshot, ask.nodes[i]);
    fit[i] = ScoreOfFit(how, Sum(Sum(load.requested, load.defaults), counted), load.allocatable);
    if (best_effort) continue;
    balanced[i] = BalancedAllocationScore(BalanceOf(Sum(load.requested, asked), load.allocatable),
                                          load.balance);
  }
  sums.Add(ScorePlugin::kNodeResourcesFit, ask.weights().node_resources_fit, fit);
  sums.Add(ScorePlugin::kBalancedAllocation, ask.weights().balanced_allocation, balanced);
}

void AddTaints(const Question& ask, Sums& sums) {
  const Catalog& catalog = ask.snapshot.catalog();
  const std::optional<TextId> prefer = catalog.symbols().Find("PreferNoSchedule");
  std::vector<int64_t> scores(ask.nodes.size());
  for (size_t i = 0; prefer && i < ask.nodes.size(); ++i) {
    if (ask.facts != nullptr && !ask.facts->soft_tainted.Contains(ask.nodes[i])) continue;
    scores[i] = IntolerableTaints(catalog.constraints(ask.shape.constraints),
                                  catalog.node(ask.nodes[i]).taints, *prefer);
  }
  NormalizeByMax(scores, /*reverse=*/true);
  sums.Add(ScorePlugin::kTaintToleration, ask.weights().taint_toleration, scores);
}

// Whether the pod's node selector and required node affinity match.
bool IsAffine(const Question& ask, NodeId node) {
  if (ask.cache != nullptr) return ask.cache->Affine(ask.shape.constraints).Contains(node);
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
void AddDefaultSpread(const Question& ask, Sums& sums) {
  constexpr int32_t kSkewByNode = 3;
  constexpr int32_t kSkewByZone = 5;
  const Catalog& catalog = ask.snapshot.catalog();
  const ScoreFacts* const facts = ask.facts;
  const std::optional<TextId> hostname_key = facts != nullptr ? std::nullopt : HostnameKey(catalog);
  const std::optional<TextId> zone_key = facts != nullptr ? std::nullopt : ZoneKey(catalog);
  const auto has_hostname = [&](NodeId node) {
    return facts != nullptr ? facts->with_hostname.Contains(node)
                            : ValueOf(catalog, hostname_key, node).has_value();
  };
  struct Zone {
    TextId name = kNoText;
    bool has_nodes = false;  // Nodes that are scored.
    int64_t pods = 0;
    // The score of a node without pods of the controller, without and with a hostname.
    std::array<int64_t, 2> of_empty{};
  };
  std::vector<Zone> zones;
  if (facts != nullptr) {
    for (const TextId name : facts->zone_names) zones.push_back({.name = name});
  }
  absl::flat_hash_map<TextId, uint32_t> numbers;  // Without facts: of the zones.
  const auto zone_of = [&](NodeId node) -> Zone& {
    if (facts != nullptr) return zones[facts->zones[Index(node)]];
    const TextId name = ValueOf(catalog, zone_key, node).value_or(kNoText);
    const auto [it, is_new] = numbers.try_emplace(name, static_cast<uint32_t>(zones.size()));
    if (is_new) zones.push_back({.name = name});
    return zones[it->second];
  };
  for (const NodeId node : ask.nodes) zone_of(node).has_nodes = true;
  absl::flat_hash_map<NodeId, int64_t> on_node;
  NodeSet with_peers(catalog.nodes());
  for (const NodeId peer : ask.peers) {
    ++on_node[peer];
    with_peers.Insert(peer);
  }
  for (const auto& [node, pods] : on_node) {
    if (IsAffine(ask, node)) zone_of(node).pods += pods;
  }
  const double weight_by_node = SpreadWeight(ask.nodes.size());
  const double weight_by_zone =
      SpreadWeight(static_cast<size_t>(std::ranges::count(zones, true, &Zone::has_nodes)));
  const auto score_of = [&](bool with_hostname, int64_t pods, const Zone& zone) {
    double score = 0;
    if (with_hostname) score += SpreadScore(pods, kSkewByNode, weight_by_node);
    if (zone.name != kNoText) score += SpreadScore(zone.pods, kSkewByZone, weight_by_zone);
    return static_cast<int64_t>(std::round(score));
  };
  for (Zone& zone : zones) {
    if (zone.has_nodes) zone.of_empty = {score_of(false, 0, zone), score_of(true, 0, zone)};
  }
  std::vector<int64_t> scores(ask.nodes.size());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    const NodeId node = ask.nodes[i];
    const Zone& zone = zone_of(node);
    scores[i] = with_peers.Contains(node) ? score_of(has_hostname(node), on_node.at(node), zone)
                                          : zone.of_empty[has_hostname(node) ? 1 : 0];
  }
  NormalizeSpread(scores);
  sums.Add(ScorePlugin::kPodTopologySpread, ask.weights().pod_topology_spread, scores);
}

// Counts the pods on a node that a constraint selects.
class SpreadCounter {
 public:
  SpreadCounter(const ClusterSnapshot& snapshot, const SoftSpread& constraint, TextId in_namespace)
      : snapshot_(snapshot), constraint_(constraint), namespace_(in_namespace) {}

  int64_t On(NodeId node) {
    if (constraint_.selector.MatchesEverything()) return 0;
    const Catalog& catalog = snapshot_.catalog();
    return std::ranges::count_if(snapshot_.PodsOn(node), [&](PodId pod) {
      const auto [it, is_new] = counted_.try_emplace(catalog.shape_id(pod));
      if (is_new) it->second = CountsForSpread(constraint_, namespace_, catalog.shape_of(pod));
      return it->second;
    });
  }

 private:
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

// The nodes that have every key, and their values of each.
class SpreadValues {
 public:
  SpreadValues(const Question& ask, std::span<const SoftSpread> constraints) : ask_(ask) {
    for (const SoftSpread& each : constraints) {
      keys_.push_back(each.topology_key);
      columns_.push_back(ask.cache != nullptr ? &ask.cache->ValuesOf(each.topology_key) : nullptr);
    }
  }
  // kNoLabel: the node lacks the key.
  [[nodiscard]] TextId Of(NodeId node, size_t constraint) const {
    if (columns_[constraint] != nullptr) return (*columns_[constraint])[Index(node)];
    return ValueOf(ask_.snapshot.catalog(), keys_[constraint], node).value_or(kNoLabel);
  }
  [[nodiscard]] bool HasAll(NodeId node) const {
    for (size_t c = 0; c < keys_.size(); ++c) {
      if (Of(node, c) == kNoLabel) return false;
    }
    return true;
  }

 private:
  const Question& ask_;
  std::vector<TextId> keys_;                         // By constraint.
  std::vector<const std::vector<TextId>*> columns_;  // The same; null: there is no cache.
};

// Counts the pods of every domain of the scored nodes.
void CountDomains(const Question& ask, const SpreadValues& values,
                  std::vector<SpreadDomains>& all) {
  if (ask.cache != nullptr) {
    const std::vector<ScoreCache::SpreadSums>& sums = ask.cache->SpreadOf(ask.shape_id);
    for (size_t c = 0; c < all.size(); ++c) {
      for (auto& [value, pods] : all[c].pods) {
        const auto known = sums[c].of_value.find(value);
        pods = known == sums[c].of_value.end() ? 0 : known->second;
      }
    }
    return;
  }
  ask.snapshot.alive().ForEach([&](NodeId node) {
    if (!values.HasAll(node)) return;
    for (size_t c = 0; c < all.size(); ++c) {
      const auto domain = all[c].pods.find(values.Of(node, c));
      if (all[c].by_hostname || domain == all[c].pods.end()) continue;
      if (PassesPolicies(ask, all[c].constraint, node)) domain->second += all[c].counter.On(node);
    }
  });
}

// Nodes that lack the key of some constraint are neither counted nor scored.
void AddSoftSpread(const Question& ask, Sums& sums) {
  const std::optional<TextId> hostname = HostnameKey(ask.snapshot.catalog());
  const SpreadValues values(ask, ask.shape.preferences->spread);
  std::vector<SpreadDomains> all;
  for (const SoftSpread& each : ask.shape.preferences->spread) {
    all.push_back(
        {each, each.topology_key == hostname, {ask.snapshot, each, ask.shape.namespace_name}, {}});
  }
  size_t scored = 0;
  for (const NodeId node : ask.nodes) {
    if (!values.HasAll(node)) continue;
    ++scored;
    for (size_t c = 0; c < all.size(); ++c) all[c].pods.try_emplace(values.Of(node, c), 0);
  }
  CountDomains(ask, values, all);
  const auto pods_of = [&](NodeId node, size_t c) {
    if (!all[c].by_hostname) return all[c].pods.at(values.Of(node, c));
    if (ask.cache == nullptr) return all[c].counter.On(node);
    return ask.cache->SpreadOf(ask.shape_id)[c].on_node[Index(node)];
  };
  std::vector<double> weights;
  for (const SpreadDomains& each : all) {
    weights.push_back(SpreadWeight(each.by_hostname ? scored : each.pods.size()));
  }
  std::vector<int64_t> scores(ask.nodes.size(), -1);
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    if (!values.HasAll(ask.nodes[i])) continue;
    double score = 0;
    for (size_t c = 0; c < all.size(); ++c) {
      score += SpreadScore(pods_of(ask.nodes[i], c), all[c].constraint.max_skew, weights[c]);
    }
    scores[i] = static_cast<int64_t>(std::round(score));
  }
  NormalizeSpread(scores);
  sums.Add(ScorePlugin::kPodTopologySpread, ask.weights().pod_topology_spread, scores);
}

// What placed pods add, by topology key and value.  nullopt: no placed pod counts.
std::optional<SumsOfKeys> AffinitySums(const Question& ask) {
  const Catalog& catalog = ask.snapshot.catalog();
  AffinityWeights weights(catalog, ask.shape,
                          ask.facts != nullptr ? ask.facts->attracting.For(ask.shape.namespace_name)
                                               : AttractingShapes(catalog));
  if (weights.empty()) return std::nullopt;
  SumsOfKeys sums;
  ask.snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : ask.snapshot.PodsOn(node)) {
      for (const auto& [key, weight] : weights.Of(catalog.shape_id(pod))) {
        const auto value = FindLabel(catalog.node(node).labels, key);
        if (value) sums[key][*value] += weight;
      }
    }
  });
  return sums;
}

// Adds the pod's preferred terms, and those preferred and required affinity terms of placed pods
// that select it.
void AddPodAffinity(const Question& ask, Sums& sums) {
  std::optional<SumsOfKeys> counted;
  const SumsOfKeys* sums_of_keys = nullptr;
  if (ask.cache != nullptr) {
    sums_of_keys = ask.cache->AffinityOf(ask.shape_id);
  } else if (counted = AffinitySums(ask); counted) {
    sums_of_keys = &*counted;
  }
  if (sums_of_keys == nullptr) return;
  const Catalog& catalog = ask.snapshot.catalog();
  std::vector<int64_t> scores(ask.nodes.size());
  for (const auto& [key, by_value] : *sums_of_keys) {
    const std::vector<TextId>* const values =
        ask.cache != nullptr ? &ask.cache->ValuesOf(key) : nullptr;
    for (size_t i = 0; i < ask.nodes.size(); ++i) {
      const NodeId node = ask.nodes[i];
      const TextId value = values != nullptr ? (*values)[Index(node)]
                                             : ValueOf(catalog, key, node).value_or(kNoLabel);
      const auto at = value != kNoLabel ? by_value.find(value) : by_value.end();
      if (at != by_value.end()) scores[i] += at->second;
    }
  }
  NormalizeAffinity(scores);
  sums.Add(ScorePlugin::kInterPodAffinity, ask.weights().inter_pod_affinity, scores);
}

void AddNodeAffinity(const Question& ask, Sums& sums) {
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
  sums.Add(ScorePlugin::kNodeAffinity, ask.weights().node_affinity, scores);
}

// The images that the pod asks for, as far as nodes have them.
absl::flat_hash_map<TextId, ImageOnNode> ImagesOf(const Question& ask) {
  const Catalog& catalog = ask.snapshot.catalog();
  absl::flat_hash_map<TextId, ImageOnNode> images;
  for (const TextId name : ask.shape.preferences->images) images.try_emplace(name);
  if (ask.cache != nullptr) {
    for (auto& [name, image] : images) image = ask.cache->Image(name);
    return images;
  }
  ask.snapshot.alive().ForEach([&](NodeId node) {
    if (catalog.node(node).images.empty()) return;
    for (auto& [name, image] : images) {
      const NodeImage* const found = FindImage(catalog.node(node), name);
      if (found == nullptr) continue;
      if (image.nodes++ == 0) image.size_bytes = found->size_bytes;
    }
  });
  return images;
}

// If nodes report different sizes of an image, that of the first node counts.
void AddImages(const Question& ask, Sums& sums) {
  if (!ask.shape.preferences || ask.shape.preferences->images.empty()) return;
  if (ask.facts != nullptr && !ask.facts->has_images) return;
  const Catalog& catalog = ask.snapshot.catalog();
  const absl::flat_hash_map<TextId, ImageOnNode> images = ImagesOf(ask);
  if (std::ranges::all_of(images, [](const auto& each) { return each.second.nodes == 0; })) return;
  std::vector<int64_t> scores(ask.nodes.size());
  std::vector<ImageOnNode> here;
  // Since 1.37 image volumes count too.  Every container of a real pod has an image.
  const Preferences& wanted = *ask.shape.preferences;
  const bool of_containers = catalog.kubernetes_version() < KubernetesVersion::k137;
  const int64_t images_asked =
      of_containers ? wanted.containers
                    : std::max<int64_t>(wanted.containers, std::ssize(wanted.images));
  const auto all_nodes = static_cast<int64_t>(ask.snapshot.nodes());
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    here.clear();
    for (const TextId name : wanted.images) {
      if (FindImage(catalog.node(ask.nodes[i]), name) != nullptr) here.push_back(images.at(name));
    }
    scores[i] = ImageLocalityScore(here, all_nodes, images_asked);
  }
  sums.Add(ScorePlugin::kImageLocality, ask.weights().image_locality, scores);
}

// Prefers nodes where early alternatives of firstAvailable are allocated.  Alternatives of claims
// that are allocated count nothing: they are the same on all nodes.
void AddDevices(const Question& ask, Sums& sums) {
  const Devices& devices = ask.snapshot.catalog().devices();
  const auto has_alternatives = [&](DeviceClaimId id) {
    return !ask.snapshot.devices().claim(id).allocated &&
           std::ranges::any_of(devices.claim(id).requests, &DeviceRequestInfo::first_available);
  };
  if (std::ranges::none_of(ask.shape.device_claims, has_alternatives)) return;
  constexpr int64_t kAlternativesMax = 8;  // FirstAvailableDeviceRequestMaxSize
  std::vector<int64_t> scores(ask.nodes.size());
  std::vector<std::vector<HeldDevice>> found;
  for (size_t i = 0; i < ask.nodes.size(); ++i) {
    if (!FindDevices(ask.snapshot.catalog(), ask.snapshot.devices(), ask.shape, ask.nodes[i],
                     &found)) {
      continue;
    }
    for (size_t c = 0; c < found.size(); ++c) {
      const DeviceClaimInfo& claim = devices.claim(ask.shape.device_claims[c]);
      for (size_t d = 0; d < found[c].size(); ++d) {
        const HeldDevice& held = found[c][d];
        // The devices of a request follow each other, and are of one alternative.
        const bool is_first = d == 0 || found[c][d - 1].request != held.request;
        if (!is_first || !claim.requests[held.request].first_available) continue;
        scores[i] += kAlternativesMax - held.alternative;
      }
    }
  }
  NormalizeByMax(scores, /*reverse=*/false);
  sums.Add(ScorePlugin::kDynamicResources, ask.weights().dynamic_resources, scores);
}

void AddAll(const Question& ask, Sums& sums) {
  AddResources(ask, sums);
  AddTaints(ask, sums);
  AddNodeAffinity(ask, sums);
  AddPodAffinity(ask, sums);
  AddImages(ask, sums);
  AddDevices(ask, sums);
  // The pod's own constraints, including hard ones, replace the defaults.
  if (ask.shape.preferences && !ask.shape.preferences->spread.empty()) {
    AddSoftSpread(ask, sums);
  } else if (!ask.shape.has_own_spread && !ask.profile().lists_spread &&
             IsSpreadByDefault(ask.snapshot.catalog(), ask.shape)) {
    AddDefaultSpread(ask, sums);
  }
}

}  // namespace

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
    case ScorePlugin::kDynamicResources:
      return "DynamicResources";
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

// Looks at the nodes in their order, from the one where the last search ended, around to it again.
std::vector<NodeId> SimulatedScheduler::Feasible(const ClusterSnapshot& snapshot, PodShapeId id,
                                                 const NodeSet* closed) {
  std::vector<NodeId> feasible;
  const size_t all = snapshot.nodes();
  const PodShape& shape = snapshot.catalog().shape(id);
  if (all == 0 || !PreFilter(snapshot, shape).fits) return feasible;
  const NodeSet* const statics = cache_ != nullptr ? &cache_->Statics(id) : nullptr;
  const ShortCuts cuts = ShortCutsOf(PartsOf(snapshot.catalog(), shape));
  const auto takes = [&](NodeId node) {
    if (statics == nullptr && !StaticFits(snapshot, shape, node)) return false;
    if (!cuts.topology_alone) return DynamicFits(snapshot, shape, node);
    return !snapshot.IsGhost(node) && (cuts.requests_alone || TopologyFits(snapshot, shape, node));
  };
  const size_t enough = NodesToFind(all);
  const size_t first = next_start_ % all;
  const size_t start = Index(snapshot.NodeAt(first));
  const uint64_t before_start = (uint64_t{1} << (start % kNodesPerWord)) - 1;
  const std::span<const uint64_t> alive = snapshot.alive().words();
  next_start_ = first;  // If all nodes are looked at.
  for (size_t i = 0; i <= alive.size(); ++i) {
    const size_t w = (start / kNodesPerWord + i) % alive.size();
    uint64_t bits = alive[w];
    if (i == 0) bits &= ~before_start;
    if (i == alive.size()) bits &= before_start;
    if (closed != nullptr) bits &= ~closed->words()[w];
    if (statics != nullptr) bits &= statics->words()[w];
    if (bits != 0) bits &= FitsWord(snapshot, shape, w);
    for (; bits != 0; bits &= bits - 1) {
      const NodeId node{static_cast<uint32_t>(w * kNodesPerWord + std::countr_zero(bits))};
      if (!takes(node)) continue;
      feasible.push_back(node);
      if (feasible.size() < enough) continue;
      next_start_ = (snapshot.PositionOf(node) + 1) % all;
      return feasible;
    }
  }
  return feasible;
}

std::vector<NodeScore> SimulatedScheduler::Score(const ClusterSnapshot& snapshot, PodId pod,
                                                 std::span<const NodeId> nodes,
                                                 std::span<const NodeId> peers,
                                                 const ScoreFacts* facts) {
  const PodShapeId shape = snapshot.catalog().shape_id(pod);
  std::vector<NodeScore> scores(nodes.size());
  Sums sums{.totals = std::vector<int64_t>(nodes.size()), .plugins = &scores};
  AddAll({.snapshot = snapshot,
          .shape_id = shape,
          .shape = snapshot.catalog().shape(shape),
          .nodes = nodes,
          .peers = peers,
          .facts = facts,
          .cache = nullptr},
         sums);
  return scores;
}

NodeId SimulatedScheduler::Choose(const ClusterSnapshot& snapshot, PodId pod,
                                  std::span<const NodeId> peers, const NodeSet* closed) {
  EBB_DCHECK(snapshot.NodeOf(pod) == kNoNode);
  const PodShapeId shape = snapshot.catalog().shape_id(pod);
  const std::vector<NodeId> nodes = Feasible(snapshot, shape, closed);
  if (nodes.empty()) return kNoNode;
  if (nodes.size() == 1) return nodes[0];
  Sums sums{.totals = std::vector<int64_t>(nodes.size())};
  AddAll({.snapshot = snapshot,
          .shape_id = shape,
          .shape = snapshot.catalog().shape(shape),
          .nodes = nodes,
          .peers = peers,
          .facts = cache_ != nullptr ? &cache_->facts() : nullptr,
          .cache = cache_},
         sums);
  const int64_t best = *std::ranges::max_element(sums.totals);
  uint64_t skip = random_.Below(static_cast<uint64_t>(std::ranges::count(sums.totals, best)));
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (sums.totals[i] == best && skip-- == 0) return nodes[i];
  }
  return kNoNode;  // Not reached: one of the ties is returned above.
}

}  // namespace ebb
