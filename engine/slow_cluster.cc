#include "engine/slow_cluster.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "predicates/filters.h"
#include "snapshot/check.h"
#include "snapshot/text.h"

namespace ebb {
namespace {

std::optional<TextId> ValueOf(const LabelSet& labels, TextId key) {
  for (const Label& label : labels) {
    if (label.key == key) return label.value;
  }
  return std::nullopt;
}

template <typename T>
bool Contains(const std::vector<T>& list, T item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// strconv.ParseInt in base 10.
std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 19) return std::nullopt;
  __int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  using Limits = std::numeric_limits<int64_t>;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return static_cast<int64_t>(value);
}

int64_t AmountOf(const std::vector<ResourceQuantity>& list, ResourceId resource) {
  for (const ResourceQuantity& quantity : list) {
    if (quantity.resource == resource) return quantity.amount;
  }
  return 0;
}

bool Conflict(const HostPort& a, const HostPort& b, TextId any_ip) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return a.ip == b.ip || a.ip == any_ip || b.ip == any_ip;
}

bool UsesStorage(const PodShape& shape) { return !shape.claims.empty() || shape.volumes != 0; }

}  // namespace

SlowCluster::SlowCluster(const ClusterSnapshot& snapshot, int64_t now_s)
    : catalog_(snapshot.catalog()),
      now_s_(now_s),
      alive_(catalog_.nodes()),
      pods_on_(catalog_.nodes()),
      node_of_(catalog_.pods(), kNoNode),
      of_shape_(catalog_.pod_shapes()),
      domains_(catalog_.topology_keys().size()),
      eligible_(catalog_.registries().size()),
      shapes_(catalog_.tables().size()),
      repelled_by_(catalog_.pod_shapes()) {
  for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
    const NodeId node{n};
    alive_[n] = snapshot.Contains(node);
    if (!alive_[n]) continue;
    for (const PodId pod : snapshot.PodsOn(node)) {
      pods_on_[n].push_back(pod);
      node_of_[Index(pod)] = node;
    }
  }
  bool any_storage = false;
  for (uint32_t p = 0; p < catalog_.pods(); ++p) {
    of_shape_[Index(catalog_.shape_id(PodId{p}))].push_back(PodId{p});
    any_storage |= UsesStorage(catalog_.shape_of(PodId{p}));
  }
  if (any_storage) storage_ = snapshot;
}

void SlowCluster::Add(PodId pod, NodeId node) {
  EBB_CHECK(NodeOf(pod) == kNoNode);
  node_of_[Index(pod)] = node;
  pods_on_[Index(node)].push_back(pod);
  if (storage_) storage_->AddPod(pod, node);
}

void SlowCluster::Remove(PodId pod) {
  EBB_CHECK(NodeOf(pod) != kNoNode);
  std::vector<PodId>& pods = pods_on_[Index(NodeOf(pod))];
  pods.erase(std::find(pods.begin(), pods.end(), pod));
  node_of_[Index(pod)] = kNoNode;
  if (storage_) storage_->RemovePod(pod);
}

void SlowCluster::BeginRemoval(NodeId node) {
  while (!PodsOn(node).empty()) Remove(PodsOn(node).back());
  removing_ = node;
  if (storage_) storage_->SetGhost(node);
}

void SlowCluster::EndRemoval() {
  alive_[Index(removing_)] = false;
  for (uint32_t r = 0; r < eligible_.size(); ++r) {
    if (!eligible_[r] || !eligible_[r]->nodes[Index(removing_)]) continue;
    const TopologyKeyId key = catalog_.registries()[r].key;
    --eligible_[r]->present[DomainsOf(key).of[Index(removing_)]];
  }
  if (storage_) {
    storage_->ClearGhost();
    storage_->RemoveNode(removing_);
  }
  removing_ = kNoNode;
}

std::string SlowCluster::WhyNot(PodId pod, NodeId node) {
  const PodShapeId id = catalog_.shape_id(pod);
  const PodShape& shape = catalog_.shape(id);
  if (!shape.not_understood.empty()) {
    return absl::StrCat("it has a constraint that is not understood: ", shape.not_understood);
  }
  if (node == removing_) return "that node is the one that goes";
  if (const std::string_view why = WhyNotStatically(shape, node); !why.empty()) {
    return std::string(why);
  }
  if (std::string why = WhyNotForLoad(shape, node); !why.empty()) return why;
  if (std::string why = WhyNotForStorage(shape, node); !why.empty()) return why;
  if (const std::string_view why = WhyNotForSpread(shape, node); !why.empty()) {
    return std::string(why);
  }
  return std::string(WhyNotForNeighbours(shape, id, node));
}

// --- What depends on pod and node alone ----------------------------------------

bool SlowCluster::Tolerates(const Constraints& constraints, std::string_view key,
                            std::string_view value, std::string_view effect) const {
  for (const Constraints::Toleration& toleration : constraints.tolerations) {
    if (toleration.effect != kNoText && Text(toleration.effect) != effect) continue;
    if (toleration.key != kNoText && Text(toleration.key) != key) continue;
    if (toleration.exists || Text(toleration.value) == value) return true;
  }
  return false;
}

bool SlowCluster::ToleratesTaintsOf(const Constraints& constraints, NodeId node) const {
  for (const Taint& taint : catalog_.node(node).taints) {
    const std::string_view effect = Text(taint.effect_text);
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    if (!Tolerates(constraints, Text(taint.key), Text(taint.value), effect)) return false;
  }
  return true;
}

bool SlowCluster::Holds(const LabelRequirement& requirement, const LabelSet& labels) const {
  const std::optional<TextId> value = ValueOf(labels, requirement.key);
  const auto number = [&]() { return value ? ParseInteger(Text(*value)) : std::nullopt; };
  switch (requirement.op) {
    case Operator::kIn:
      return value && ebb::Contains(requirement.values, *value);
    case Operator::kNotIn:
      return !value || !ebb::Contains(requirement.values, *value);
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value.has_value();
    case Operator::kGt:
      return number() && *number() > requirement.bound;
    case Operator::kLt:
      return number() && *number() < requirement.bound;
  }
  return false;
}

// nodeSelector and required node affinity.
bool SlowCluster::IsAffine(const Constraints& constraints, const NodeInfo& info) const {
  for (const Label& wanted : constraints.node_selector) {
    if (ValueOf(info.labels, wanted.key) != wanted.value) return false;
  }
  if (!constraints.has_node_affinity) return true;
  for (const NodeSelectorTerm& term : constraints.terms) {
    bool all = !term.matches_nothing;
    for (const LabelRequirement& requirement : term.labels) {
      all = all && Holds(requirement, info.labels);
    }
    for (const NodeSelectorTerm::NameRequirement& requirement : term.names) {
      all = all && (requirement.name == info.name) == (requirement.op == Operator::kIn);
    }
    if (all) return true;
  }
  return false;
}

std::string_view SlowCluster::WhyNotStatically(const PodShape& shape, NodeId node) const {
  const NodeInfo& info = catalog_.node(node);
  const Constraints& constraints = catalog_.constraints(shape.constraints);
  if (info.unschedulable &&
      !Tolerates(constraints, "node.kubernetes.io/unschedulable", "", "NoSchedule")) {
    return "NodeUnschedulable: node(s) were unschedulable";
  }
  if (!ToleratesTaintsOf(constraints, node)) {
    return "TaintToleration: node(s) had untolerated taint(s)";
  }
  if (!IsAffine(constraints, info)) {
    return "NodeAffinity: node(s) didn't match Pod's node affinity/selector";
  }
  const auto declares = [&](std::string_view feature) {
    return std::any_of(info.declared_features.begin(), info.declared_features.end(),
                       [&](TextId declared) { return Text(declared) == feature; });
  };
  if ((shape.needs_restart_all_containers && !declares("RestartAllContainersOnContainerExits")) ||
      (shape.needs_host_network_user_namespaces && !declares("UserNamespacesHostNetworkSupport"))) {
    return "NodeDeclaredFeatures: node(s) didn't match Pod's required features";
  }
  return "";
}

// --- What depends on the pods of the node --------------------------------------

std::string SlowCluster::WhyNotForLoad(const PodShape& shape, NodeId node) const {
  const std::vector<PodId>& pods = PodsOn(node);
  const NodeInfo& info = catalog_.node(node);
  if (static_cast<int64_t>(pods.size()) + 1 > AmountOf(info.allocatable, kPods)) {
    return "NodeResourcesFit: Too many pods";
  }
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (resource == kPods || amount <= 0) continue;
    __int128 taken = 0;
    for (const PodId pod : pods)
      taken += AmountOf(catalog_.shape_of(pod).charge_requests, resource);
    if (amount > AmountOf(info.allocatable, resource) - taken) {
      return absl::StrCat("NodeResourcesFit: Insufficient ", Absl(catalog_.ResourceName(resource)));
    }
  }
  if (shape.host_ports.empty()) return "";
  const TextId any_ip = catalog_.symbols().Find("0.0.0.0").value_or(kNoText);
  for (const PodId pod : pods) {
    for (const HostPort& theirs : catalog_.shape_of(pod).host_ports) {
      for (const HostPort& ours : shape.host_ports) {
        if (Conflict(theirs, ours, any_ip)) {
          return "NodePorts: node(s) didn't have free ports for the requested pod ports";
        }
      }
    }
  }
  return "";
}

std::string SlowCluster::WhyNotForStorage(const PodShape& shape, NodeId node) const {
  if (!UsesStorage(shape)) return "";
  const FilterVerdict verdict = Explain(*storage_, shape, node);
  if (verdict.fits) return "";
  return absl::StrCat(Absl(FilterName(verdict.filter)), ": ",
                      verdict.reasons.empty() ? "" : verdict.reasons.front());
}

// --- What depends on the pods of all nodes -------------------------------------

bool SlowCluster::IsMatch(const PodMatcher& matcher, const PodShape& shape) const {
  if (!matcher.all_namespaces && !ebb::Contains(matcher.namespaces, shape.namespace_name)) {
    return false;
  }
  if (matcher.selector.nothing) return false;
  for (const LabelRequirement& requirement : matcher.selector.requirements) {
    if (!Holds(requirement, shape.labels)) return false;
  }
  return true;
}

bool SlowCluster::IsMatch(const CounterTable& table, const PodShape& shape) const {
  for (const PodMatcher& matcher : table.matchers) {
    if (!IsMatch(matcher, shape)) return false;
  }
  return true;
}

const SlowCluster::Domains& SlowCluster::DomainsOf(TopologyKeyId key) {
  std::optional<Domains>& domains = domains_[Index(key)];
  if (domains) return *domains;
  domains.emplace();
  absl::flat_hash_map<TextId, uint32_t> by_value;
  const TextId label = catalog_.topology_key(key).label;
  for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
    const std::optional<TextId> value = ValueOf(catalog_.node(NodeId{n}).labels, label);
    domains->of.push_back(
        value ? by_value.try_emplace(*value, static_cast<uint32_t>(by_value.size())).first->second
              : kNone);
  }
  domains->count = by_value.size();
  return *domains;
}

const SlowCluster::Eligible& SlowCluster::EligibleFor(RegistryId id) {
  std::optional<Eligible>& eligible = eligible_[Index(id)];
  if (eligible) return *eligible;
  const DomainRegistry& registry = catalog_.registries()[Index(id)];
  const Constraints& constraints = catalog_.constraints(registry.constraints);
  const Domains& domains = DomainsOf(registry.key);
  eligible.emplace();
  eligible->nodes.resize(catalog_.nodes());
  eligible->present.resize(domains.count);
  for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
    bool all = domains.of[n] != kNone;
    for (const TopologyKeyId key : registry.required_keys) {
      all = all && DomainsOf(key).of[n] != kNone;
    }
    if (registry.honor_affinity) all = all && IsAffine(constraints, catalog_.node(NodeId{n}));
    if (registry.honor_taints) all = all && ToleratesTaintsOf(constraints, NodeId{n});
    eligible->nodes[n] = all;
    if (all && Contains(NodeId{n})) ++eligible->present[domains.of[n]];
  }
  return *eligible;
}

// Whether `node` is there and counts, which the node that goes may do no longer.
bool SlowCluster::Includes(RegistryId id, const Eligible& eligible, NodeId node) const {
  if (!Contains(node) || !eligible.nodes[Index(node)]) return false;
  const DomainRegistry& registry = catalog_.registries()[Index(id)];
  return node != removing_ || !registry.honor_taints ||
         Tolerates(catalog_.constraints(registry.constraints), "ToBeDeletedByClusterAutoscaler",
                   absl::StrCat(now_s_), "NoSchedule");
}

const std::vector<PodShapeId>& SlowCluster::ShapesOf(TableId id) {
  std::optional<std::vector<PodShapeId>>& shapes = shapes_[Index(id)];
  if (shapes) return *shapes;
  shapes.emplace();
  const CounterTable& table = catalog_.tables()[Index(id)];
  for (uint32_t s = 0; s < catalog_.pod_shapes(); ++s) {
    const PodShape& shape = catalog_.shape(PodShapeId{s});
    const bool counts = table.kind == TableKind::kExistingAnti ? ebb::Contains(shape.feeds, id)
                                                               : IsMatch(table, shape);
    if (counts) shapes->push_back(PodShapeId{s});
  }
  return *shapes;
}

const std::vector<TableId>& SlowCluster::RepelledBy(PodShapeId id) {
  std::optional<std::vector<TableId>>& tables = repelled_by_[Index(id)];
  if (tables) return *tables;
  tables.emplace();
  for (uint32_t t = 0; t < catalog_.tables().size(); ++t) {
    const CounterTable& table = catalog_.tables()[t];
    if (table.kind == TableKind::kExistingAnti && IsMatch(table, catalog_.shape(id))) {
      tables->push_back(TableId{t});
    }
  }
  return *tables;
}

std::pair<size_t, size_t> SlowCluster::CountPods(TableId table, TopologyKeyId key,
                                                 uint32_t domain) {
  const Domains& domains = DomainsOf(key);
  std::pair<size_t, size_t> count{0, 0};
  for (const PodShapeId shape : ShapesOf(table)) {
    for (const PodId pod : of_shape_[Index(shape)]) {
      if (NodeOf(pod) == kNoNode) continue;
      const uint32_t there = domains.of[Index(NodeOf(pod))];
      if (there == kNone) continue;
      ++count.second;
      if (there == domain) ++count.first;
    }
  }
  return count;
}

std::string_view SlowCluster::WhyNotForSpread(const PodShape& shape, NodeId node) {
  for (const SpreadConstraint& constraint : shape.spread) {
    const Domains& domains = DomainsOf(constraint.key);
    const uint32_t here = domains.of[Index(node)];
    if (here == kNone) {
      return "PodTopologySpread: node(s) didn't match pod topology spread constraints (missing "
             "required label)";
    }
    const RegistryId registry = catalog_.tables()[Index(constraint.table)].registry;
    const Eligible& eligible = EligibleFor(registry);
    std::vector<int64_t> counts(domains.count);
    for (const PodShapeId id : ShapesOf(constraint.table)) {
      if (catalog_.shape(id).terminating) continue;
      for (const PodId pod : of_shape_[Index(id)]) {
        const NodeId there = NodeOf(pod);
        if (there == kNoNode || !Includes(registry, eligible, there)) continue;
        ++counts[domains.of[Index(there)]];
      }
    }
    // The node that goes may be the only one of its domain and count no longer.
    const bool less_one = removing_ != kNoNode && eligible.nodes[Index(removing_)] &&
                          !Includes(registry, eligible, removing_);
    int64_t registered = 0;
    int64_t min = std::numeric_limits<int64_t>::max();
    for (uint32_t d = 0; d < domains.count; ++d) {
      const bool loses_one = less_one && domains.of[Index(removing_)] == d;
      if (eligible.present[d] == (loses_one ? 1 : 0)) continue;
      ++registered;
      min = std::min(min, counts[d]);
    }
    if (registered < constraint.min_domains) min = 0;
    if (counts[here] + (constraint.self_match ? 1 : 0) - min > constraint.max_skew) {
      return "PodTopologySpread: node(s) didn't match pod topology spread constraints";
    }
  }
  return "";
}

std::string_view SlowCluster::WhyNotForNeighbours(const PodShape& shape, PodShapeId id,
                                                  NodeId node) {
  bool all_near = true;
  bool any_anywhere = false;
  bool matches_itself = true;
  for (const AffinityTerm& term : shape.affinity) {
    const uint32_t here = DomainsOf(term.key).of[Index(node)];
    if (here == kNone) return "InterPodAffinity: node(s) didn't match pod affinity rules";
    const auto [near, anywhere] = CountPods(term.table, term.key, here);
    all_near = all_near && near > 0;
    any_anywhere = any_anywhere || anywhere > 0;
    matches_itself = matches_itself && IsMatch(catalog_.tables()[Index(term.table)], shape);
  }
  if (!all_near && (any_anywhere || !matches_itself)) {
    return "InterPodAffinity: node(s) didn't match pod affinity rules";
  }
  for (const AffinityTerm& term : shape.anti_affinity) {
    const uint32_t here = DomainsOf(term.key).of[Index(node)];
    if (here != kNone && CountPods(term.table, term.key, here).first > 0) {
      return "InterPodAffinity: node(s) didn't match pod anti-affinity rules";
    }
  }
  for (const TableId table : RepelledBy(id)) {
    const TopologyKeyId key = catalog_.tables()[Index(table)].key;
    const uint32_t here = DomainsOf(key).of[Index(node)];
    if (here != kNone && CountPods(table, key, here).first > 0) {
      return "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules";
    }
  }
  return "";
}

}  // namespace ebb
