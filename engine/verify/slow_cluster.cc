#include "engine/verify/slow_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "predicates/filters.h"
#include "snapshot/device_allocator.h"
#include "snapshot/devices.h"

namespace ebb {
namespace {

// Whether the scheduler of the pod runs this filter.
bool Runs(const Constraints& constraints, std::string_view filter) {
  if (constraints.filters_off == 0) return true;
  const auto* const at = std::ranges::find(kSchedulerFilters, filter);
  return (constraints.filters_off >> (at - std::begin(kSchedulerFilters)) & 1) == 0;
}

constexpr std::string_view kDevicesUnknown =
    "DynamicResources: a pod whose claims are not known may use the devices";

// Devices are judged as storage is.
bool HasStorage(const PodShape& shape) {
  return !shape.claims.empty() || shape.volumes != 0 || !shape.device_claims.empty();
}

}  // namespace

SlowCluster::SlowCluster(const ClusterSnapshot& snapshot, int64_t now_s)
    : catalog_(&snapshot.catalog()),
      now_s_(now_s),
      matches_os_(snapshot.matches_os()),
      matches_(*catalog_),
      alive_(catalog_->nodes()),
      pods_on_(catalog_->nodes()),
      node_of_(catalog_->pods(), kNoNode),
      needs_(catalog_->pod_shapes()),
      open_(catalog_->nodes()),
      loads_(catalog_->nodes()),
      domains_(catalog_->topology_keys().size()),
      eligible_(catalog_->registries().size()),
      tallies_(catalog_->tables().size()),
      tallied_in_(catalog_->pod_shapes()) {
  EBB_DCHECK(snapshot.depth() == 0);
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    const NodeId node{n};
    alive_[n] = snapshot.Contains(node);
    if (!alive_[n]) continue;
    open_[n] = IsOpen(catalog_->node(node));
    const std::span<const PodId> pods = snapshot.PodsOn(node);
    pods_on_[n].assign(pods.begin(), pods.end());
    for (const PodId pod : pods) node_of_[Index(pod)] = node;
  }
  bool any_storage = false;
  bool any_claims = false;
  for (uint32_t s = 0; s < catalog_->pod_shapes(); ++s) {
    needs_[s] = NeedsOf(catalog_->shape(PodShapeId{s}));
    any_storage |= needs_[s].storage;
    any_claims |= !catalog_->shape(PodShapeId{s}).resource_claims.empty();
  }
  if (any_storage) storage_ = snapshot;
  if (!any_claims) return;
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    if (std::ranges::any_of(pods_on_[n], [&](PodId pod) { return UsesUnknownDevices(pod); })) {
      unknown_devices_.push_back(NodeId{n});
    }
  }
}

bool SlowCluster::UsesUnknownDevices(PodId pod) const {
  const PodShape& shape = catalog_->shape_of(pod);
  return std::ranges::any_of(shape.resource_claims, [&](const PodResourceClaimInfo& claim) {
    return !catalog_->devices().IsAllocated(shape.namespace_name, claim.claim_name);
  });
}

SlowCluster::Needs SlowCluster::NeedsOf(const PodShape& shape) const {
  Needs needs;
  needs.rare = !shape.host_ports.empty();
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (Index(resource) < kFixedResources && resource != kPods) needs.fit[Index(resource)] = amount;
    needs.rare |= Index(resource) >= kFixedResources;
  }
  for (const auto& [resource, amount] : shape.charge_requests) {
    if (Index(resource) < kFixedResources) needs.charge[Index(resource)] = amount;
    needs.rare |= Index(resource) >= kFixedResources;
  }
  needs.plain = !needs.rare;
  for (uint32_t r = 0; r < kFixedResources; ++r) {
    if (ResourceId{r} == kPods) continue;
    needs.plain &= needs.fit[r] == needs.charge[r] && needs.charge[r] >= 0;
  }
  const Constraints& constraints = catalog_->constraints(shape.constraints);
  needs.selective = constraints.has_added_affinity || !constraints.node_selector.empty() ||
                    constraints.has_node_affinity || shape.needs_restart_all_containers ||
                    shape.needs_host_network_user_namespaces || shape.needs_bind_mount_options ||
                    (matches_os_ && constraints.os != kNoText);
  needs.storage = HasStorage(shape);
  needs.spread = !shape.spread.empty();
  needs.terms = !shape.affinity.empty() || !shape.anti_affinity.empty();
  return needs;
}

void SlowCluster::Add(PodId pod, NodeId node) {
  EBB_CHECK(NodeOf(pod) == kNoNode);
  node_of_[Index(pod)] = node;
  pods_on_[Index(node)].push_back(pod);
  if (loads_[Index(node)]) Charge(pod, node, *loads_[Index(node)]);
  Count(catalog_->shape_id(pod), node, +1);
  if (storage_) storage_->AddPod(pod, node);
}

void SlowCluster::BeginRemoval(NodeId node) {
  for (const PodId pod : std::exchange(pods_on_[Index(node)], {})) {
    node_of_[Index(pod)] = kNoNode;
    Count(catalog_->shape_id(pod), node, -1);
    if (storage_) storage_->RemovePod(pod);
  }
  loads_[Index(node)].reset();
  removing_ = node;
  if (storage_) storage_->SetGhost(node);
}

void SlowCluster::LeaveDomains(NodeId node) {
  for (uint32_t r = 0; r < eligible_.size(); ++r) {
    if (!eligible_[r] || !eligible_[r]->nodes[Index(node)]) continue;
    const uint32_t domain = DomainsOf(catalog_->registries()[r].key).of[Index(node)];
    if (--eligible_[r]->present[domain] > 0) continue;
    --eligible_[r]->domains;
    for (const TableId table : eligible_[r]->tallied) {
      Tally& tally = *tallies_[Index(table)];
      tally.ChangeDomains(tally.In(domain), -1);
    }
  }
}

void SlowCluster::RejoinDomains(NodeId node) {
  for (uint32_t r = 0; r < eligible_.size(); ++r) {
    if (!eligible_[r] || !eligible_[r]->nodes[Index(node)]) continue;
    const uint32_t domain = DomainsOf(catalog_->registries()[r].key).of[Index(node)];
    if (eligible_[r]->present[domain]++ > 0) continue;
    ++eligible_[r]->domains;
    for (const TableId table : eligible_[r]->tallied) {
      Tally& tally = *tallies_[Index(table)];
      tally.ChangeDomains(tally.In(domain), +1);
    }
  }
}

void SlowCluster::EndRemoval() {
  alive_[Index(removing_)] = false;
  LeaveDomains(removing_);
  if (storage_) {
    storage_->ClearGhost();
    storage_->RemoveNode(removing_);
  }
  removing_ = kNoNode;
}

std::string SlowCluster::WhyNot(PodId pod, NodeId node) {
  if (node == removing_) return "that node is the one that goes";
  if (std::string why = WhyNotByNode(pod, node); !why.empty()) return why;
  const PodShapeId id = catalog_->shape_id(pod);
  const PodShape& shape = catalog_->shape(id);
  if (std::string why = WhyNotForLoad(shape, id, node); !why.empty()) return why;
  if (needs_[Index(id)].storage) {
    if (std::string why = WhyNotForStorage(shape, node); !why.empty()) return why;
  }
  return std::string(WhyNotByOthers(pod, node));
}

std::string SlowCluster::WhyNotByNode(PodId pod, NodeId node) const {
  const PodShapeId id = catalog_->shape_id(pod);
  const PodShape& shape = catalog_->shape(id);
  if (!shape.not_understood.empty()) {
    return absl::StrCat("it has a constraint that is not understood: ", shape.not_understood);
  }
  if (!needs_[Index(id)].selective && open_[Index(node)]) return "";
  return std::string(WhyNotStatically(shape, node));
}

std::string_view SlowCluster::WhyNotByOthers(PodId pod, NodeId node) {
  const PodShapeId id = catalog_->shape_id(pod);
  const PodShape& shape = catalog_->shape(id);
  if (needs_[Index(id)].spread) {
    if (const std::string_view why = WhyNotForSpread(shape, node); !why.empty()) return why;
  }
  if (shape.ignores_pod_affinity) return "";
  if (!needs_[Index(id)].terms && RepelledBy(id).empty()) return "";
  return WhyNotForNeighbours(shape, id, node);
}

bool SlowCluster::DependsOnOthers(PodId pod) {
  const PodShapeId id = catalog_->shape_id(pod);
  return needs_[Index(id)].spread || needs_[Index(id)].terms || !RepelledBy(id).empty();
}

void SlowCluster::TallyFor(PodId pod) {
  const PodShapeId id = catalog_->shape_id(pod);
  const PodShape& shape = catalog_->shape(id);
  for (const SpreadConstraint& constraint : shape.spread) TallyOf(constraint.table);
  for (const AffinityTerm& term : shape.affinity) TallyOf(term.table);
  for (const AntiAffinityTerm& term : shape.anti_affinity) TallyOf(term.table);
  for (const TableId table : RepelledBy(id)) TallyOf(table);
}

// --- Continuing --------------------------------------------------------------------

void SlowCluster::Follow(const Catalog& catalog, int64_t now_s) {
  catalog_ = &catalog;
  now_s_ = now_s;
  matches_ = SlowMatches(catalog);
  storage_.reset();
  of_shape_.clear();
  node_of_.resize(catalog.pods(), kNoNode);
  for (auto s = static_cast<uint32_t>(needs_.size()); s < catalog.pod_shapes(); ++s) {
    LearnShape(PodShapeId{s});
  }
}

void SlowCluster::LearnShape(PodShapeId id) {
  const PodShape& shape = catalog_->shape(id);
  needs_.push_back(NeedsOf(shape));
  std::vector<TableId>& tallied_in = tallied_in_.emplace_back();
  for (uint32_t t = 0; t < tallies_.size(); ++t) {
    if (tallies_[t] && Counts(TableId{t}, id)) tallied_in.push_back(TableId{t});
  }
  if (repelled_by_.empty()) return;
  std::vector<TableId>& repelled_by = repelled_by_.emplace_back();
  for (uint32_t t = 0; t < catalog_->tables().size(); ++t) {
    const CounterTable& table = catalog_->tables()[t];
    if (table.kind != TableKind::kExistingAnti) continue;
    if (Counts(TableId{t}, id)) having_[t].push_back(id);
    if (matches_.IsMatch(table.matchers, shape)) repelled_by.push_back(TableId{t});
  }
}

// Whether the table counts pods of the shape.
bool SlowCluster::Counts(TableId id, PodShapeId of) const {
  const CounterTable& table = catalog_->tables()[Index(id)];
  const PodShape& shape = catalog_->shape(of);
  if (table.kind == TableKind::kExistingAnti) {
    return std::ranges::any_of(shape.anti_affinity,
                               [&](const AntiAffinityTerm& term) { return term.repelling == id; });
  }
  if (table.kind == TableKind::kSpread && shape.terminating) return false;
  return matches_.IsMatch(table.matchers, shape);
}

void SlowCluster::SetPods(NodeId node, std::span<const PodShapeId> were,
                          std::span<const PodId> pods) {
  std::vector<PodId>& held = pods_on_[Index(node)];
  EBB_CHECK(held.size() == were.size());
  std::optional<Load>& load = loads_[Index(node)];
  const auto change = [&](PodShapeId shape, int sign) {
    Count(shape, node, sign);
    if (!load) return;
    if (needs_[Index(shape)].rare) return load.reset();
    for (size_t r = 0; r < kFixedResources; ++r) {
      load->left[r] -= static_cast<__int128>(sign) * needs_[Index(shape)].charge[r];
    }
  };
  const auto is_same = [&](size_t h, size_t p) {
    return h < held.size() && p < pods.size() && held[h] == pods[p] &&
           were[h] == catalog_->shape_id(pods[p]);
  };
  const auto goes = [&](size_t h) {
    change(were[h], -1);
    // The pod may be on another node by now.
    if (NodeOf(held[h]) == node) node_of_[Index(held[h])] = kNoNode;
  };
  // Where a pod has gone, the pods behind it have moved up.
  size_t h = 0;
  size_t p = 0;
  while (is_same(h, p) || is_same(h + 1, p)) {
    if (!is_same(h, p)) goes(h++);
    ++h;
    ++p;
  }
  for (; h < held.size(); ++h) goes(h);
  for (; p < pods.size(); ++p) {
    change(catalog_->shape_id(pods[p]), +1);
    node_of_[Index(pods[p])] = node;
  }
  held.assign(pods.begin(), pods.end());
}

bool SlowCluster::MayRunAsFarAsUnderstood(PodId pod, NodeId node) {
  const PodShapeId id = catalog_->shape_id(pod);
  const PodShape& shape = catalog_->shape(id);
  // A field with a selector that the scheduler cannot parse either, such as
  // "spec.affinity.podAffinity: ...".
  for (const char* field : {"spec.affinity.podAffinity: ", "spec.affinity.podAntiAffinity: ",
                            "spec.topologySpreadConstraints: "}) {
    if (shape.not_understood.find(field) == 0) return false;
  }
  return !needs_[Index(id)].storage && shape.affinity.empty() &&
         WhyNotStatically(shape, node).empty() && WhyNotForLoad(shape, id, node).empty();
}

// --- Checks that depend only on pod and node -------------------------------------

bool SlowCluster::Tolerates(const Constraints& constraints, std::string_view key,
                            std::string_view value, std::string_view effect) const {
  for (const Constraints::Toleration& toleration : constraints.tolerations) {
    if (toleration.effect != kNoText && Text(toleration.effect) != effect) continue;
    if (toleration.key != kNoText && Text(toleration.key) != key) continue;
    if (toleration.exists || Text(toleration.value) == value) return true;
  }
  return false;
}

// The effect PreferNoSchedule does not keep pods away.
bool SlowCluster::KeepsPodsAway(const Taint& taint) const {
  const std::string_view effect = Text(taint.effect_text);
  return effect == "NoSchedule" || effect == "NoExecute";
}

bool SlowCluster::ToleratesTaintsOf(const Constraints& constraints, NodeId node) const {
  for (const Taint& taint : catalog_->node(node).taints) {
    if (!KeepsPodsAway(taint)) continue;
    if (!Tolerates(constraints, Text(taint.key), Text(taint.value), Text(taint.effect_text))) {
      return false;
    }
  }
  return true;
}

bool SlowCluster::IsOpen(const NodeInfo& info) const {
  return !info.unschedulable && std::ranges::none_of(info.taints, [&](const Taint& taint) {
    return KeepsPodsAway(taint);
  });
}

// Evaluates nodeSelector and required node affinity.
bool SlowCluster::IsAffine(const Constraints& constraints, const NodeInfo& info) const {
  for (const Label& wanted : constraints.node_selector) {
    if (SlowMatches::ValueOf(info.labels, wanted.key) != wanted.value) return false;
  }
  if (!constraints.has_node_affinity) return true;
  return AnyHolds(constraints.terms, info);
}

bool SlowCluster::AnyHolds(const std::vector<NodeSelectorTerm>& terms, const NodeInfo& info) const {
  for (const NodeSelectorTerm& term : terms) {
    bool all = !term.matches_nothing;
    for (const LabelRequirement& requirement : term.labels) {
      all = all && matches_.Holds(requirement, info.labels);
    }
    for (const NodeSelectorTerm::NameRequirement& requirement : term.names) {
      all = all && (requirement.name == info.name) == (requirement.op == Operator::kIn);
    }
    if (all) return true;
  }
  return false;
}

std::string_view SlowCluster::WhyNotStatically(const PodShape& shape, NodeId node) const {
  const NodeInfo& info = catalog_->node(node);
  const Constraints& constraints = catalog_->constraints(shape.constraints);
  const auto runs = [&](std::string_view filter) { return Runs(constraints, filter); };
  if (info.unschedulable && runs("NodeUnschedulable") &&
      !Tolerates(constraints, "node.kubernetes.io/unschedulable", "", "NoSchedule")) {
    return "NodeUnschedulable: node(s) were unschedulable";
  }
  if (runs("TaintToleration") && !ToleratesTaintsOf(constraints, node)) {
    return "TaintToleration: node(s) had untolerated taint(s)";
  }
  if (runs("NodeAffinity") &&
      (!IsAffine(constraints, info) ||
       (constraints.has_added_affinity && !AnyHolds(constraints.added_terms, info)))) {
    return "NodeAffinity: node(s) didn't match Pod's node affinity/selector";
  }
  const auto declares = [&](std::string_view feature) {
    return std::any_of(info.declared_features.begin(), info.declared_features.end(),
                       [&](TextId declared) { return Text(declared) == feature; });
  };
  const bool declared = runs("NodeDeclaredFeatures");
  if (declared &&
      ((shape.needs_restart_all_containers && !declares("RestartAllContainersOnContainerExits")) ||
       (shape.needs_host_network_user_namespaces &&
        !declares("UserNamespacesHostNetworkSupport")))) {
    return "NodeDeclaredFeatures: node(s) didn't match Pod's required features";
  }
  if (declared && shape.needs_bind_mount_options &&
      ToString(catalog_->kubernetes_version()) == "1.37" && !declares("VolumeBindMountOptions")) {
    return "NodeDeclaredFeatures: node(s) didn't match Pod's required features";
  }
  if (matches_os_ && !Text(constraints.os).empty() && !Text(info.os).empty() &&
      Text(constraints.os) != Text(info.os)) {
    return "OperatingSystem: node(s) run another operating system than the pod was made for";
  }
  return "";
}

// --- Checks that depend on the pods of the node ----------------------------------

void SlowCluster::Charge(PodId pod, NodeId node, Load& load) const {
  const PodShapeId id = catalog_->shape_id(pod);
  const Needs& needs = needs_[Index(id)];
  for (size_t r = 0; r < kFixedResources; ++r) load.left[r] -= needs.charge[r];
  if (catalog_->shape(id).vpa != kNoText) {
    // needs.charge has what the pod takes after a move; it may take something else here.
    for (const ResourceId resource : {kCpu, kMemory, kEphemeralStorage}) {
      load.left[Index(resource)] +=
          needs.charge[Index(resource)] - AmountOf(catalog_->ChargeOn(pod, node), resource);
    }
  }
  if (!needs.rare) return;
  if (load.rare == nullptr) load.rare = std::make_unique<Load::Rare>();
  for (const auto& [resource, amount] : catalog_->shape(id).charge_requests) {
    if (Index(resource) >= kFixedResources) load.rare->taken[resource] += amount;
  }
  for (const HostPort& port : catalog_->shape(id).host_ports) {
    load.rare->ports[{port.port, port.protocol}].insert(port.ip);
  }
}

SlowCluster::Load& SlowCluster::LoadOf(NodeId node) {
  std::optional<Load>& load = loads_[Index(node)];
  if (load) return *load;
  load.emplace();
  const std::vector<ResourceQuantity>& allocatable = catalog_->node(node).allocatable;
  for (uint32_t r = 0; r < kFixedResources; ++r) {
    load->left[r] = AmountOf(allocatable, ResourceId{r});
  }
  load->slots = AmountOf(allocatable, kPods);
  for (const PodId pod : PodsOn(node)) Charge(pod, node, *load);
  return *load;
}

std::string SlowCluster::WhyNotForLoad(const PodShape& shape, PodShapeId id, NodeId node) {
  return WhyNotForLoad(shape, id, node, PodsOn(node).size(), LoadOf(node));
}

// Beside `pods` other pods, which take `load`.
std::string SlowCluster::WhyNotForLoad(const PodShape& shape, PodShapeId id, NodeId node,
                                       size_t pods, const Load& load) const {
  if (static_cast<int64_t>(pods) + 1 > load.slots) return "NodeResourcesFit: Too many pods";
  const Needs& needs = needs_[Index(id)];
  for (uint32_t r = 0; r < kFixedResources; ++r) {
    if (needs.fit[r] > 0 && needs.fit[r] > load.left[r]) {
      return absl::StrCat("NodeResourcesFit: Insufficient ",
                          Absl(catalog_->ResourceName(ResourceId{r})));
    }
  }
  return needs.rare ? WhyNotForRareLoad(shape, node, load) : "";
}

std::string SlowCluster::WhyNotByRoom(std::span<const PodId> pods, NodeId node) {
  const Load& before = LoadOf(node);
  Load load{.left = before.left, .slots = before.slots, .rare = nullptr};
  if (before.rare != nullptr) load.rare = std::make_unique<Load::Rare>(*before.rare);
  size_t others = PodsOn(node).size();
  for (const PodId pod : pods) {
    const PodShapeId id = catalog_->shape_id(pod);
    std::string why = WhyNotForLoad(catalog_->shape(id), id, node, others++, load);
    if (!why.empty()) return why;
    Charge(pod, node, load);
  }
  return "";
}

void SlowCluster::AddTo(Sum& sum, PodShapeId shape, int sign) const {
  const Needs& needs = needs_[Index(shape)];
  for (size_t r = 0; r < kFixedResources; ++r)
    sum.taken[r] += static_cast<__int128>(sign) * needs.charge[r];
  sum.pods += static_cast<size_t>(sign);
  if (!needs.plain) sum.not_plain += static_cast<size_t>(sign);
}

bool SlowCluster::HasRoomFor(const Sum& sum, NodeId node) {
  const Load& load = LoadOf(node);
  if (static_cast<int64_t>(PodsOn(node).size() + sum.pods) > load.slots) return false;
  for (uint32_t r = 0; r < kFixedResources; ++r) {
    // A node may be short of a resource that none of the pods requests.
    if (ResourceId{r} != kPods && sum.taken[r] > 0 && sum.taken[r] > load.left[r]) return false;
  }
  return true;
}

std::string SlowCluster::WhyNotForRareLoad(const PodShape& shape, NodeId node,
                                           const Load& load) const {
  static const auto* const kNothing = new Load::Rare();
  const Load::Rare& rare = load.rare == nullptr ? *kNothing : *load.rare;
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (Index(resource) < kFixedResources || amount <= 0) continue;
    const auto taken = rare.taken.find(resource);
    const __int128 left = __int128{AmountOf(catalog_->node(node).allocatable, resource)} -
                          (taken == rare.taken.end() ? 0 : taken->second);
    if (amount > left) {
      return absl::StrCat("NodeResourcesFit: Insufficient ",
                          Absl(catalog_->ResourceName(resource)));
    }
  }
  const TextId any_ip = catalog_->symbols().Find("0.0.0.0").value_or(kNoText);
  if (!Runs(catalog_->constraints(shape.constraints), "NodePorts")) return "";
  for (const HostPort& port : shape.host_ports) {
    const auto held = rare.ports.find({port.port, port.protocol});
    if (held == rare.ports.end()) continue;
    if (port.ip == any_ip || held->second.contains(any_ip) || held->second.contains(port.ip)) {
      return "NodePorts: node(s) didn't have free ports for the requested pod ports";
    }
  }
  return "";
}

std::string SlowCluster::WhyNotForStorage(const PodShape& shape, NodeId node) const {
  const FilterVerdict verdict = Explain(*storage_, shape, node);
  if (verdict.fits) {
    return std::string(MayTakeUnknownDevices(shape, node) ? kDevicesUnknown : "");
  }
  return absl::StrCat(Absl(FilterName(verdict.filter)), ": ",
                      verdict.reasons.empty() ? "" : verdict.reasons.front());
}

bool SlowCluster::MayTakeUnknownDevices(const PodShape& shape, NodeId node) const {
  std::vector<std::vector<HeldDevice>> found;
  if (unknown_devices_.empty() || shape.device_claims.empty() ||
      !FindDevices(*catalog_, storage_->devices(), shape, node, &found)) {
    return false;
  }
  const Devices& devices = catalog_->devices();
  for (const std::vector<HeldDevice>& of_claim : found) {
    for (const HeldDevice& held : of_claim) {
      const DeviceInfo& device = devices.device(held.info);
      const SliceInfo& slice = devices.slice(device.slice);
      const DeviceReach& reach = slice.per_device_nodes ? device.reach : slice.reach;
      for (const NodeId other : unknown_devices_) {
        const NodeInfo& info = catalog_->node(other);
        if (reach.Matches({info.name, info.labels}, catalog_->symbols())) return true;
      }
    }
  }
  return false;
}

// --- Checks that depend on the pods of all nodes ---------------------------------

const SlowCluster::Domains& SlowCluster::DomainsOf(TopologyKeyId key) {
  std::optional<Domains>& domains = domains_[Index(key)];
  if (domains) return *domains;
  domains.emplace();
  absl::flat_hash_map<TextId, uint32_t> by_value;
  const TextId label = catalog_->topology_key(key).label;
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    const std::optional<TextId> value =
        SlowMatches::ValueOf(catalog_->node(NodeId{n}).labels, label);
    domains->of.push_back(
        value ? by_value.try_emplace(*value, static_cast<uint32_t>(by_value.size())).first->second
              : kNone);
  }
  domains->count = by_value.size();
  return *domains;
}

SlowCluster::Eligible& SlowCluster::EligibleFor(RegistryId id) {
  std::optional<Eligible>& eligible = eligible_[Index(id)];
  if (eligible) return *eligible;
  const DomainRegistry& registry = catalog_->registries()[Index(id)];
  const Constraints& constraints = catalog_->constraints(registry.constraints);
  const Domains& domains = DomainsOf(registry.key);
  eligible.emplace();
  eligible->nodes.resize(catalog_->nodes());
  eligible->present.resize(domains.count);
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    bool all = domains.of[n] != kNone;
    for (const TopologyKeyId key : registry.required_keys) {
      all = all && DomainsOf(key).of[n] != kNone;
    }
    if (registry.honor_affinity) all = all && IsAffine(constraints, catalog_->node(NodeId{n}));
    if (registry.honor_taints) all = all && ToleratesTaintsOf(constraints, NodeId{n});
    eligible->nodes[n] = all;
    if (!all || !Contains(NodeId{n})) continue;
    if (++eligible->present[domains.of[n]] == 1) ++eligible->domains;
  }
  return *eligible;
}

// Whether the registry ignores a node that is tainted as in deletion.
bool SlowCluster::SkipsTainted(RegistryId id) const {
  const DomainRegistry& registry = catalog_->registries()[Index(id)];
  return registry.honor_taints &&
         !Tolerates(catalog_->constraints(registry.constraints), "ToBeDeletedByClusterAutoscaler",
                    absl::StrCat(now_s_), "NoSchedule");
}

// Finds the shapes that have the terms of kExistingAnti, and the shapes that these terms repel.
void SlowCluster::FindRepelling() {
  having_.resize(catalog_->tables().size());
  repelled_by_.resize(catalog_->pod_shapes());
  for (uint32_t s = 0; s < catalog_->pod_shapes(); ++s) {
    for (const AntiAffinityTerm& term : catalog_->shape(PodShapeId{s}).anti_affinity) {
      std::vector<PodShapeId>& having = having_[Index(term.repelling)];
      // Equal terms of one shape count as one.
      if (having.empty() || having.back() != PodShapeId{s}) having.push_back(PodShapeId{s});
    }
  }
  for (uint32_t t = 0; t < catalog_->tables().size(); ++t) {
    const CounterTable& table = catalog_->tables()[t];
    if (table.kind != TableKind::kExistingAnti) continue;
    for (const PodShapeId shape : matches_.Find(table.matchers)) {
      repelled_by_[Index(shape)].push_back(TableId{t});
    }
  }
}

const std::vector<TableId>& SlowCluster::RepelledBy(PodShapeId id) {
  if (repelled_by_.empty()) FindRepelling();
  return repelled_by_[Index(id)];
}

const std::vector<PodId>& SlowCluster::PodsOf(PodShapeId shape) {
  if (of_shape_.empty()) {
    of_shape_.resize(catalog_->pod_shapes());
    for (uint32_t p = 0; p < catalog_->pods(); ++p) {
      of_shape_[Index(catalog_->shape_id(PodId{p}))].push_back(PodId{p});
    }
  }
  return of_shape_[Index(shape)];
}

// The shapes that the table counts: matching ones; for kExistingAnti, shapes with the term.
std::vector<PodShapeId> SlowCluster::ShapesOf(TableId id) {
  const CounterTable& table = catalog_->tables()[Index(id)];
  if (table.kind == TableKind::kExistingAnti) return having_[Index(id)];
  std::vector<PodShapeId> shapes = matches_.Find(table.matchers);
  if (table.kind == TableKind::kSpread) {
    std::erase_if(shapes, [&](PodShapeId shape) { return catalog_->shape(shape).terminating; });
  }
  return shapes;
}

const SlowCluster::Tally& SlowCluster::TallyOf(TableId id) {
  std::optional<Tally>& tally = tallies_[Index(id)];
  if (tally) return *tally;
  tally.emplace();
  const CounterTable& table = catalog_->tables()[Index(id)];
  if (table.kind == TableKind::kSpread) {
    Eligible& eligible = EligibleFor(table.registry);
    eligible.tallied.push_back(id);
    tally->ChangeDomains(0, static_cast<int64_t>(eligible.domains));
  }
  for (const PodShapeId shape : ShapesOf(id)) {
    tallied_in_[Index(shape)].push_back(id);
    for (const PodId pod : PodsOf(shape)) {
      if (NodeOf(pod) != kNoNode) CountIn(id, NodeOf(pod), +1);
    }
  }
  return *tally;
}

void SlowCluster::Count(PodShapeId shape, NodeId node, int sign) {
  for (const TableId table : tallied_in_[Index(shape)]) CountIn(table, node, sign);
}

void SlowCluster::CountIn(TableId id, NodeId node, int sign) {
  const CounterTable& table = catalog_->tables()[Index(id)];
  const uint32_t domain = DomainsOf(table.key).of[Index(node)];
  if (domain == kNone) return;
  const bool spread = table.kind == TableKind::kSpread;
  if (spread && !EligibleFor(table.registry).nodes[Index(node)]) return;
  Tally& tally = *tallies_[Index(id)];
  const int64_t before = tally.In(domain);
  tally.anywhere += sign;
  tally.by_domain[domain] = before + sign;
  if (!spread) return;
  tally.ChangeDomains(before, -1);
  tally.ChangeDomains(before + sign, +1);
}

std::string_view SlowCluster::WhyNotForSpread(const PodShape& shape, NodeId node) {
  for (const SpreadConstraint& constraint : shape.spread) {
    const Domains& domains = DomainsOf(constraint.key);
    const uint32_t here = domains.of[Index(node)];
    if (here == kNone) {
      return "PodTopologySpread: node(s) didn't match pod topology spread constraints (missing "
             "required label)";
    }
    const RegistryId registry = catalog_->tables()[Index(constraint.table)].registry;
    const Eligible& eligible = EligibleFor(registry);
    const Tally& tally = TallyOf(constraint.table);
    size_t registered = eligible.domains;
    auto least = tally.domains_with.begin();
    // The node that is being removed has no pods any more.  If it is the only node of its domain,
    // the domain may no longer count.
    if (removing_ != kNoNode && eligible.nodes[Index(removing_)] && SkipsTainted(registry)) {
      const uint32_t its = domains.of[Index(removing_)];
      if (eligible.present[its] == 1) {
        --registered;
        if (least->first == tally.In(its) && least->second == 1) ++least;
      }
    }
    const bool too_few =
        registered == 0 || registered < static_cast<size_t>(constraint.min_domains);
    const int64_t min = too_few ? 0 : least->first;
    if (tally.In(here) + (constraint.self_match ? 1 : 0) - min > constraint.max_skew) {
      return "PodTopologySpread: node(s) didn't match pod topology spread constraints";
    }
  }
  return "";
}

bool SlowCluster::MatchesItself(const PodShape& shape) const {
  return std::all_of(shape.affinity.begin(), shape.affinity.end(), [&](const AffinityTerm& term) {
    return matches_.IsMatch(catalog_->tables()[Index(term.table)].matchers, shape);
  });
}

std::string_view SlowCluster::WhyNotForNeighbours(const PodShape& shape, PodShapeId id,
                                                  NodeId node) {
  bool all_near = true;
  bool any_anywhere = false;
  for (const AffinityTerm& term : shape.affinity) {
    const uint32_t here = DomainsOf(term.key).of[Index(node)];
    if (here == kNone) return "InterPodAffinity: node(s) didn't match pod affinity rules";
    const Tally& tally = TallyOf(term.table);
    all_near = all_near && tally.In(here) > 0;
    any_anywhere = any_anywhere || tally.anywhere > 0;
  }
  if (!all_near && (any_anywhere || !MatchesItself(shape))) {
    return "InterPodAffinity: node(s) didn't match pod affinity rules";
  }
  const auto is_near = [&](TableId table) {
    const uint32_t here = DomainsOf(catalog_->tables()[Index(table)].key).of[Index(node)];
    return here != kNone && TallyOf(table).In(here) > 0;
  };
  for (const AntiAffinityTerm& term : shape.anti_affinity) {
    if (is_near(term.table)) {
      return "InterPodAffinity: node(s) didn't match pod anti-affinity rules";
    }
  }
  for (const TableId table : RepelledBy(id)) {
    if (is_near(table)) {
      return "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules";
    }
  }
  return "";
}

}  // namespace ebb
