#include "snapshot/pod_shapes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/objects/disruption_protection.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/pod_columns.h"
#include "snapshot/objects/well_known_names.h"
#include "snapshot/workload_names.h"

namespace ebb {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kConfigSource = "kubernetes.io/config.source";
constexpr std::string_view kSafeToEvict = kSafeToEvictAnnotation;
constexpr std::string_view kSafeLocalVolumes = kSafeToEvictLocalVolumesAnnotation;
constexpr std::string_view kDaemonSetPod = "cluster-autoscaler.kubernetes.io/daemonset-pod";
constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
constexpr std::string_view kScheduleAnyway = "ScheduleAnyway";

// Seconds; the API server's default if the pod names none.
int64_t GracePeriodOf(const objects::Pod& pod) {
  return pod.termination_grace_period_s.value_or(30);
}

// Writes fields one after the other so that different fields always give different
// bytes: the length of every text and list is written first.
class KeyWriter {
 public:
  // Overwrites `key`.  Key() returns what was written so far.
  explicit KeyWriter(std::string& key)
      : key_(key), at_(key.data()), end_(key.data() + key.size()) {}

  [[nodiscard]] std::string_view Key() const {
    return {key_.data(), static_cast<size_t>(at_ - key_.data())};
  }

  // A small number, as nearly all are, takes one byte.
  void Number(int64_t value) {
    if (end_ - at_ < kNumberBytes) Grow(kNumberBytes);
    if (value >= 0 && value < kLong) {
      *at_++ = static_cast<char>(value);
      return;
    }
    *at_++ = static_cast<char>(kLong);
    std::memcpy(at_, &value, sizeof(value));
    at_ += sizeof(value);
  }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    if (end_ - at_ < static_cast<ptrdiff_t>(text.size())) Grow(text.size());
    at_ = std::copy(text.begin(), text.end(), at_);
  }
  template <typename List, typename Write>
  void Each(const List& list, Write&& write) {
    Number(static_cast<int64_t>(list.size()));
    for (const auto& item : list) write(item);
  }
  void Texts(const std::vector<std::string_view>& texts) {
    Each(texts, [this](std::string_view text) { Text(text); });
  }
  void KeyValues(const objects::KeyValues& values) {
    Each(values, [this](const objects::KeyValue& v) {
      Text(v.key);
      Text(v.value);
    });
  }
  void Requirement(const objects::Requirement& requirement) {
    Text(requirement.key);
    Text(requirement.op);
    Texts(requirement.values);
  }
  void Requirements(const std::vector<objects::Requirement>& requirements) {
    Each(requirements, [this](const objects::Requirement& r) { Requirement(r); });
  }
  void Selector(const objects::LabelSelector& selector) {
    Number(selector.nil);
    KeyValues(selector.match_labels);
    Requirements(selector.match_expressions);
  }
  void AffinityTerm(const objects::PodAffinityTerm& term) {
    Selector(term.label_selector);
    Texts(term.namespaces);
    Selector(term.namespace_selector);
    Text(term.topology_key);
  }
  void AffinityTerms(const std::vector<objects::PodAffinityTerm>& terms) {
    Each(terms, [this](const objects::PodAffinityTerm& term) { AffinityTerm(term); });
  }
  void Amounts(const objects::ResourceList& list) {
    Each(list, [this](const objects::ResourceAmount& each) {
      Text(each.name);
      Number(each.amount);
      Number(each.excess);
    });
  }
  // Writes resources by name, because a builder may change their ids later.
  void Amounts(const Requests& requests, const Catalog& catalog) {
    Each(requests, [&](const ResourceQuantity& quantity) {
      Number(static_cast<int64_t>(Index(catalog.resource_name(quantity.resource))));
      Number(quantity.amount);
    });
  }
  void NodeTerm(const objects::NodeSelectorTerm& term) {
    Requirements(term.match_expressions);
    Requirements(term.match_fields);
  }
  void Preferred(const std::vector<objects::PreferredNodeTerm>& terms) {
    Each(terms, [this](const objects::PreferredNodeTerm& preferred) {
      Number(preferred.weight);
      NodeTerm(preferred.term);
    });
  }
  void Preferred(const std::vector<objects::PreferredPodTerm>& terms) {
    Each(terms, [this](const objects::PreferredPodTerm& preferred) {
      Number(preferred.weight);
      AffinityTerm(preferred.term);
    });
  }
  void Constraints(const objects::Pod& pod) {
    Number(pod.has_node_selector);
    KeyValues(pod.node_selector);
    Number(pod.required_node_affinity.nil);
    Each(pod.required_node_affinity.terms,
         [this](const objects::NodeSelectorTerm& term) { NodeTerm(term); });
    Each(pod.tolerations, [this](const objects::Toleration& toleration) {
      Text(toleration.key);
      Text(toleration.op);
      Text(toleration.value);
      Text(toleration.effect);
    });
  }

 private:
  static constexpr int64_t kLong = 0xff;  // Marks a number of eight bytes.
  static constexpr ptrdiff_t kNumberBytes = 1 + sizeof(int64_t);

  [[gnu::noinline]] void Grow(size_t bytes) {
    const auto size = static_cast<size_t>(at_ - key_.data());
    // Doubled, and room for the next fields, so that long keys rarely allocate.  Not tuned.
    key_.resize(2 * size + bytes + 256);
    at_ = key_.data() + size;
    end_ = key_.data() + key_.size();
  }

  std::string& key_;
  char* at_;
  char* end_;
};

bool MattersToRules(std::string_view annotation) {
  return annotation == kMirror || annotation == kConfigSource || annotation == kSafeToEvict ||
         annotation == kSafeLocalVolumes || annotation == kDaemonSetPod ||
         annotation == kDoNotDisruptAnnotation || annotation == kDoNotEvictAnnotation;
}

constexpr int64_t kOddSize = -1;

// A gang of a pod.
struct GangName {
  GangKind kind = GangKind::kPodGroup;
  objects::Text name;
  objects::Text group;  // LeaderWorkerSet: each group of the set is a gang of its own.
  int64_t size = 0;     // As kGangSizeKeys declare it; 0: not declared.  Or kOddSize.
  friend bool operator==(const GangName&, const GangName&) = default;
};

// The size that the pod declares for its gang of this kind; 0: none; kOddSize: what it declares is
// not a positive number.
int64_t DeclaredSize(const objects::Pod& pod, GangKind kind) {
  int64_t found = 0;
  for (const auto& [key, of_kind] : kGangSizeKeys) {
    if (of_kind != kind) continue;
    for (const auto* const map : {&pod.meta.annotations, &pod.meta.labels}) {
      const auto text = FindValue(*map, key);
      if (!text) continue;
      const std::optional<int64_t> size = ParseInt64(*text);
      if (size && *size > 0) return *size;
      found = kOddSize;
    }
  }
  return found;
}

// The gangs that a pod names, in the order of kGangKeys, each once.
std::vector<GangName> GangsOf(const objects::Pod& pod) {
  std::vector<GangName> gangs;
  const auto add = [&](GangName gang) {
    gang.size = DeclaredSize(pod, gang.kind);
    if (std::ranges::find(gangs, gang) == gangs.end()) gangs.push_back(gang);
  };
  if (!pod.scheduling_group.empty()) {
    add({.kind = GangKind::kPodGroup, .name = pod.scheduling_group, .group = {}});
  }
  for (const auto& [key, kind] : kGangKeys) {
    for (const auto* const map : {&pod.meta.labels, &pod.meta.annotations}) {
      const auto name = FindValue(*map, key);
      if (!name || name->empty()) continue;
      GangName gang = {.kind = kind, .name = *name, .group = {}};
      if (kind == GangKind::kLeaderWorkerSet) {
        gang.group =
            FindValue(pod.meta.labels, "leaderworkerset.sigs.k8s.io/group-index").value_or("");
      }
      add(gang);
    }
  }
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    if (owner.kind == "RayCluster" && owner.api_version.starts_with("ray.io/")) {
      add({.kind = GangKind::kRayCluster, .name = owner.name, .group = {}});
    }
  }
  return gangs;
}

// The name by which the catalog knows the gang.
TextId InternName(const GangName& gang, Symbols& symbols) {
  return gang.group.empty() ? symbols.Intern(gang.name)
                            : symbols.Intern(absl::StrCat(Absl(gang.name), "/", Absl(gang.group)));
}

void WriteOwnership(KeyWriter& write, const objects::Pod& pod) {
  const objects::ObjectMeta& meta = pod.meta;
  write.Text(meta.namespace_name);
  write.KeyValues(meta.labels);
  for (const auto& [key, value] : meta.annotations) {
    if (!MattersToRules(key)) continue;
    write.Text(key);
    write.Text(value);
  }
  write.Each(meta.owners, [&](const objects::OwnerReference& owner) {
    write.Text(owner.api_version);
    write.Text(owner.kind);
    write.Text(owner.name);
    write.Text(owner.uid);
    write.Number(owner.controller);
  });
  write.Number(meta.deletion_time.has_value());
  const std::optional<DisruptionProtection> protection = ProtectionOf(pod);
  write.Number(protection ? protection->ends.value_or(0) : 0);
  write.Each(GangsOf(pod), [&](const GangName& gang) {
    write.Number(static_cast<int64_t>(gang.kind));
    write.Text(gang.name);
    write.Text(gang.group);
    write.Number(gang.size);
  });
  write.Number(pod.priority.has_value());
  write.Number(pod.priority.value_or(0));
  write.Number(GracePeriodOf(pod));
  write.Text(pod.restart_policy);
  write.Text(pod.phase);
}

// Writes every amount that SumPodRequests (pod_requests.h) reads.
void WriteAmounts(KeyWriter& write, const objects::Pod& pod) {
  const auto container = [&](const objects::Container& each) {
    write.Text(each.name);
    write.Amounts(each.requests);
  };
  write.Each(pod.containers, container);
  write.Each(pod.init_containers, container);
  write.Amounts(pod.overhead);
  write.Number(pod.has_pod_resources);
  write.Amounts(pod.pod_requests);
  write.Each(pod.container_statuses, [&](const objects::ContainerStatus& status) {
    write.Text(status.name);
    write.Number(status.has_resources);
    write.Amounts(status.requests);
    write.Amounts(status.allocated);
  });
  write.Number(pod.resize_infeasible);
  write.Number(pod.has_pod_status_resources);
  write.Amounts(pod.pod_status_requests);
  write.Amounts(pod.pod_allocated);
  write.Amounts(pod.claimed);
}

void WriteNeeds(KeyWriter& write, const objects::Pod& pod) {
  const auto container = [&](const objects::Container& c) {
    write.Text(c.image);
    write.Text(c.restart_policy);
    write.Number(c.restarts_all_containers);
    write.Each(c.ports, [&](const objects::ContainerPort& port) {
      write.Text(port.host_ip);
      write.Number(port.host_port);
      write.Text(port.protocol);
    });
  };
  write.Constraints(pod);
  write.AffinityTerms(pod.affinity);
  write.AffinityTerms(pod.anti_affinity);
  write.Preferred(pod.preferred_nodes);
  write.Preferred(pod.preferred_affinity);
  write.Preferred(pod.preferred_anti_affinity);
  write.Each(pod.spread, [&](const objects::TopologySpreadConstraint& spread) {
    write.Number(spread.max_skew);
    write.Text(spread.topology_key);
    write.Text(spread.when_unsatisfiable);
    write.Selector(spread.label_selector);
    write.Texts(spread.match_label_keys);
    write.Number(spread.min_domains.value_or(-1));
    write.Text(spread.node_affinity_policy);
    write.Text(spread.node_taints_policy);
  });
  write.Each(pod.containers, container);
  write.Each(pod.init_containers, container);
  write.Number(pod.host_network);
  write.Number(pod.host_users.value_or(true));
  write.Text(pod.os_name);
  write.Number(pod.has_bind_mount_options);
  bool ephemeral = false;
  write.Number(std::ranges::count_if(pod.volumes, std::not_fn(OnlyProvidesData)));
  for (const objects::Volume& volume : pod.volumes) {
    if (OnlyProvidesData(volume)) continue;
    write.Text(volume.name);
    write.Text(volume.source);
    write.Text(volume.medium);
    write.Text(volume.claim_name);
    write.Text(volume.id);
    write.Text(volume.pool);
    write.Texts(volume.monitors);
    write.Text(volume.driver);
    write.Number(volume.read_only);
    ephemeral |= volume.source == "ephemeral";
  }
  if (ephemeral) {  // Their claims are named after the pod, and the pod must own them.
    write.Text(pod.meta.name);
    write.Text(pod.meta.uid);
  }
  write.Each(pod.resource_claims, [&](const objects::PodResourceClaim& claim) {
    write.Text(claim.name);
    write.Text(claim.claim_name);
    write.Text(claim.template_name);
  });
  write.Text(pod.not_understood);
  const bool on_node = !pod.node_name.empty();
  write.Number(on_node);
  write.Number(on_node ? 0 : static_cast<int64_t>(pod.spec_digest));
  write.Text(pod.scheduler_name);
}

void WriteHeld(KeyWriter& write, const HeldRequests& held, const Catalog& catalog) {
  write.Amounts(held.charge, catalog);
  if (held.counts_otherwise) write.Amounts(held.counted, catalog);
  write.Number(held.scored_default.cpu_milli);
  write.Number(held.scored_default.memory_bytes);
}

void SetHeld(const HeldRequests& held, PodShape& shape) {
  shape.charge_requests = held.charge;
  shape.counts_otherwise = held.counts_otherwise;
  shape.counted_requests = held.counted;
  shape.scored_default = held.scored_default;
}

CpuAndMemory CpuAndMemoryIn(const objects::ResourceList& list) {
  CpuAndMemory amounts;
  for (const objects::ResourceAmount& each : list) {
    if (each.name == "cpu") amounts.cpu_milli = each.amount;
    if (each.name == "memory") amounts.memory_bytes = each.amount;
  }
  return amounts;
}

// Larger amounts are no recommendation, and sums of them might not fit.
constexpr int64_t kVpaAmountMax = int64_t{1} << 50;

CpuAndMemory Sum(const CpuAndMemory& a, const CpuAndMemory& b) {
  return {a.cpu_milli + b.cpu_milli, a.memory_bytes + b.memory_bytes};
}

void SetAmount(ResourceId resource, int64_t amount, Requests& requests) {
  const auto at = std::ranges::lower_bound(requests, resource, {}, &ResourceQuantity::resource);
  if (at != requests.end() && at->resource == resource) {
    at->amount = amount;
  } else {
    requests.insert(at, {resource, amount});
  }
}

SafeToEvict ParseSafeToEvict(const objects::Pod& pod) {
  const std::optional<std::string_view> value = FindValue(pod.meta.annotations, kSafeToEvict);
  if (!value) return SafeToEvict::kUnset;
  if (*value == "true") return SafeToEvict::kTrue;
  if (*value == "false") return SafeToEvict::kFalse;
  if (*value == "on-completion") return SafeToEvict::kOnCompletion;
  return SafeToEvict::kOther;
}

// The names in an annotation.  As in the autoscaler, it is split at commas and names are not
// trimmed.
absl::flat_hash_set<std::string_view> NamesIn(std::string_view annotation) {
  absl::flat_hash_set<std::string_view> names;
  while (true) {
    const size_t comma = annotation.find(',');
    names.insert(annotation.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    annotation.remove_prefix(comma + 1);
  }
}

bool BlocksWithLocalStorage(const objects::Pod& pod) {
  const auto is_local = [](const objects::Volume& volume) {
    return volume.source == "hostPath" ||
           (volume.source == "emptyDir" && volume.medium != "Memory");
  };
  if (std::ranges::none_of(pod.volumes, is_local)) return false;
  const std::optional<std::string_view> annotation =
      FindValue(pod.meta.annotations, kSafeLocalVolumes);
  if (!annotation) return true;
  const absl::flat_hash_set<std::string_view> safe = NamesIn(*annotation);
  return std::ranges::any_of(pod.volumes, [&](const objects::Volume& volume) {
    return is_local(volume) && !safe.contains(volume.name);
  });
}

PodPhase ParsePhase(std::string_view phase) {
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Pending") return PodPhase::kPending;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kOther;
}

RestartPolicy ParseRestartPolicy(std::string_view policy) {
  if (policy == "OnFailure") return RestartPolicy::kOnFailure;
  if (policy == "Never") return RestartPolicy::kNever;
  return RestartPolicy::kAlways;
}

void CompileOwnership(Symbols& symbols, const objects::Pod& pod, PodShape& shape) {
  shape.namespace_name = symbols.Intern(pod.meta.namespace_name);
  shape.labels = InternLabels(pod.meta.labels, symbols);
  shape.has_priority = pod.priority.has_value();
  shape.priority = static_cast<int32_t>(pod.priority.value_or(0));
  shape.phase = ParsePhase(pod.phase);
  shape.restart_policy = ParseRestartPolicy(pod.restart_policy);
  shape.terminating = pod.meta.deletion_time.has_value();
  shape.grace_period_s = GracePeriodOf(pod);
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    shape.owners.push_back({symbols.Intern(owner.api_version), symbols.Intern(owner.kind),
                            symbols.Intern(owner.name), symbols.Intern(owner.uid)});
    if (owner.controller && !shape.has_controller) {
      shape.has_controller = true;
      shape.controller = shape.owners.back();
      shape.controller_kind = OwnerKindOf(owner.kind);
    }
  }
  shape.mirror = FindValue(pod.meta.annotations, kMirror).has_value();
  shape.static_pod = FindValue(pod.meta.annotations, kConfigSource).value_or("api") != "api";
  shape.daemonset_annotation = FindValue(pod.meta.annotations, kDaemonSetPod) == "true";
  shape.safe_to_evict = ParseSafeToEvict(pod);
  shape.blocks_with_local_storage = BlocksWithLocalStorage(pod);
  shape.has_empty_dir = std::ranges::any_of(
      pod.volumes, [](const objects::Volume& volume) { return volume.source == "emptyDir"; });
  if (shape.safe_to_evict == SafeToEvict::kOther) {
    shape.safe_to_evict_text = symbols.Intern(*FindValue(pod.meta.annotations, kSafeToEvict));
  }
  if (const auto protection = ProtectionOf(pod)) {
    shape.do_not_disrupt = true;
    shape.do_not_disrupt_until = protection->ends.value_or(PodShape::kForEver);
    shape.do_not_disrupt_unstarted = protection->start_unknown;
  }
}

void AddPorts(Symbols& symbols, const objects::Container& container, PodShape& shape) {
  for (const objects::ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    shape.host_ports.push_back({symbols.Intern(port.host_ip.empty() ? "0.0.0.0" : port.host_ip),
                                symbols.Intern(port.protocol.empty() ? "TCP" : port.protocol),
                                static_cast<int32_t>(port.host_port)});
  }
}

void CompileContainers(Symbols& symbols, const objects::Pod& pod, PodShape& shape) {
  for (const objects::Container& container : pod.containers) {
    AddPorts(symbols, container, shape);
    shape.needs_restart_all_containers |= container.restarts_all_containers;
  }
  for (const objects::Container& container : pod.init_containers) {
    if (container.restart_policy == "Always") AddPorts(symbols, container, shape);
    shape.needs_restart_all_containers |= container.restarts_all_containers;
  }
  shape.needs_host_network_user_namespaces = pod.host_network && pod.host_users == false;
  shape.needs_bind_mount_options = pod.has_bind_mount_options;
}

void NotUnderstood(std::string_view field, const absl::Status& why, PodShape& shape) {
  shape.not_understood = absl::StrCat(Absl(field), ": ", why.message());
}

absl::StatusOr<PendingAffinityTerm> CompileTerm(const objects::PodAffinityTerm& from,
                                                Symbols& symbols) {
  PendingAffinityTerm term;
  absl::StatusOr<Selector> selector = CompileSelector(from.label_selector, symbols);
  if (!selector.ok()) return selector.status();
  absl::StatusOr<Selector> namespaces = CompileSelector(from.namespace_selector, symbols);
  if (!namespaces.ok()) return namespaces.status();
  term.selector = *std::move(selector);
  for (const objects::Text name : from.namespaces) term.namespaces.push_back(symbols.Intern(name));
  term.has_namespace_selector = !from.namespace_selector.nil;
  term.namespace_selector = *std::move(namespaces);
  term.topology_key = symbols.Intern(from.topology_key);
  return term;
}

// Returns no terms if one of them does not parse: the scheduler then drops the others too.
std::vector<PendingAffinityTerm> CompileTerms(const std::vector<objects::PodAffinityTerm>& from,
                                              std::string_view field, Symbols& symbols,
                                              PodShape& shape) {
  std::vector<PendingAffinityTerm> terms;
  for (const objects::PodAffinityTerm& each : from) {
    absl::StatusOr<PendingAffinityTerm> term = CompileTerm(each, symbols);
    if (!term.ok()) {
      NotUnderstood(field, term.status(), shape);
      return {};
    }
    terms.push_back(*std::move(term));
  }
  return terms;
}

// Adds the pod's values for matchLabelKeys to the selector, as the scheduler does.  A nil
// selector still matches nothing.
void AddMatchLabelKeys(const objects::TopologySpreadConstraint& from, const PodShape& shape,
                       Symbols& symbols, Selector& selector) {
  for (const objects::Text text : from.match_label_keys) {
    const TextId key = symbols.Intern(text);
    const std::optional<TextId> value = FindLabel(shape.labels, key);
    if (!value) continue;
    selector.requirements.push_back({.key = key, .op = Operator::kIn, .values = {*value}});
  }
}

absl::StatusOr<PendingSpread> ParseSpread(const objects::TopologySpreadConstraint& from,
                                          Symbols& symbols, const PodShape& shape) {
  absl::StatusOr<Selector> selector = CompileSelector(from.label_selector, symbols);
  if (!selector.ok()) return selector.status();
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  PendingSpread spread{
      .selector = *std::move(selector),
      .topology_key = symbols.Intern(from.topology_key),
      .max_skew = static_cast<int32_t>(std::clamp<int64_t>(from.max_skew, 0, kMax)),
      .min_domains =
          static_cast<int32_t>(std::clamp<int64_t>(from.min_domains.value_or(1), 1, kMax)),
      .honor_affinity = from.node_affinity_policy.empty() || from.node_affinity_policy == "Honor",
      .honor_taints = from.node_taints_policy == "Honor"};
  AddMatchLabelKeys(from, shape, symbols, spread.selector);
  return spread;
}

std::optional<PendingSpread> CompileSpread(const objects::TopologySpreadConstraint& from,
                                           Symbols& symbols, PodShape& shape) {
  if (from.when_unsatisfiable != kDoNotSchedule) {
    if (from.when_unsatisfiable != kScheduleAnyway) {
      shape.not_understood = absl::StrCat("spec.topologySpreadConstraints.whenUnsatisfiable: \"",
                                          Absl(from.when_unsatisfiable), "\" is not known");
    }
    return std::nullopt;
  }
  absl::StatusOr<PendingSpread> spread = ParseSpread(from, symbols, shape);
  if (spread.ok()) return *std::move(spread);
  NotUnderstood("spec.topologySpreadConstraints", spread.status(), shape);
  return std::nullopt;
}

// Ignores constraints that do not parse, because they keep the pod off no node.
std::vector<SoftSpread> CompileSoftSpread(const objects::Pod& pod, Symbols& symbols,
                                          const PodShape& shape) {
  std::vector<SoftSpread> constraints;
  for (const objects::TopologySpreadConstraint& from : pod.spread) {
    if (from.when_unsatisfiable != kScheduleAnyway) continue;
    absl::StatusOr<PendingSpread> spread = ParseSpread(from, symbols, shape);
    if (!spread.ok()) continue;
    constraints.push_back({.selector = std::move(spread->selector),
                           .topology_key = spread->topology_key,
                           .max_skew = spread->max_skew,
                           .honor_affinity = spread->honor_affinity,
                           .honor_taints = spread->honor_taints});
  }
  return constraints;
}

void AddWeighted(int64_t weight, const PendingAffinityTerm& from, TextId own_namespace,
                 std::vector<WeightedPodTerm>& terms) {
  WeightedPodTerm& term = terms.emplace_back(WeightedPodTerm{
      weight, from.selector, from.namespaces, from.namespace_selector, from.topology_key});
  if (from.namespaces.empty() && !from.has_namespace_selector) {
    term.namespaces.push_back(own_namespace);
  }
}

// Adds no terms if one of them does not parse, as for required terms.  The reader has then already
// marked the pod as not understood.
void AddPreferred(const std::vector<objects::PreferredPodTerm>& preferred, int64_t sign,
                  Symbols& symbols, TextId own_namespace, std::vector<WeightedPodTerm>& terms) {
  const size_t before = terms.size();
  for (const auto& [weight, from] : preferred) {
    const absl::StatusOr<PendingAffinityTerm> term = CompileTerm(from, symbols);
    if (!term.ok()) {
      terms.resize(before);
      return;
    }
    AddWeighted(sign * weight, *term, own_namespace, terms);
  }
}

// The name as a node's status has it.  Source: imagelocality, normalizedImageName.
TextId ImageNamed(objects::Text name, Symbols& symbols) {
  constexpr auto npos = objects::Text::npos;
  const size_t tag = name.rfind(':');
  const size_t slash = name.rfind('/');
  const bool has_tag = tag != npos && (slash == npos || tag > slash);
  return symbols.Intern(has_tag ? std::string(name) : std::string(name) + ":latest");
}

void CompileImages(const objects::Pod& pod, Symbols& symbols, Preferences& preferences) {
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    for (const objects::Container& each : *containers) {
      ++preferences.containers;
      if (!each.image.empty()) preferences.images.push_back(ImageNamed(each.image, symbols));
    }
  }
  for (const objects::Volume& volume : pod.volumes) {
    if (volume.source == "image") preferences.images.push_back(ImageNamed(volume.id, symbols));
  }
}

// Null if the pod has no preferences.
std::shared_ptr<const Preferences> CompilePreferences(
    const objects::Pod& pod, const std::vector<PendingAffinityTerm>& required, Symbols& symbols,
    const PodShape& shape) {
  Preferences all;
  all.spread = CompileSoftSpread(pod, symbols, shape);
  for (const auto& [weight, from] : pod.preferred_nodes) {
    all.nodes.push_back({weight, CompileNodeTerm(from, symbols)});
  }
  const TextId own_namespace = shape.namespace_name;
  AddPreferred(pod.preferred_affinity, 1, symbols, own_namespace, all.pods);
  AddPreferred(pod.preferred_anti_affinity, -1, symbols, own_namespace, all.pods);
  for (const PendingAffinityTerm& term : required) {
    AddWeighted(1, term, own_namespace, all.required);
  }
  CompileImages(pod, symbols, all);
  const bool none = all.spread.empty() && all.nodes.empty() && all.pods.empty() &&
                    all.required.empty() && all.images.empty();
  return none ? nullptr : std::make_shared<const Preferences>(std::move(all));
}

// The workloads whose VerticalPodAutoscaler may change the pod, by kind and name: its controller,
// and the controllers behind that one.  If the input does not show the one behind a ReplicaSet or
// Job, a Deployment or CronJob, whose name follows from the one that it gives.
std::vector<std::pair<TextId, TextId>> WorkloadsOf(const Catalog& catalog, const PodShape& shape) {
  using enum objects::ControllerKind;
  constexpr std::pair<std::string_view, objects::ControllerKind> kRead[] = {
      {"ReplicaSet", kReplicaSet},
      {"StatefulSet", kStatefulSet},
      {"DaemonSet", kDaemonSet},
      {"Job", kJob},
      {"ReplicationController", kReplicationController}};
  constexpr size_t kMost = 4;  // A chain that is longer is a circle.
  std::vector<std::pair<TextId, TextId>> all = {{shape.controller.kind, shape.controller.name}};
  while (all.size() < kMost) {
    const std::string_view kind = catalog.Text(all.back().first);
    const auto* const read = std::ranges::find(
        kRead, kind, &std::pair<std::string_view, objects::ControllerKind>::first);
    if (read == std::end(kRead)) return all;
    const ControllerStatus* const status =
        catalog.FindController(read->second, shape.namespace_name, all.back().second);
    if (status != nullptr && status->owner_name != kNoText) {
      all.emplace_back(status->owner_kind, status->owner_name);
      continue;
    }
    if (all.size() > 1) return all;
    const std::string_view name =
        kind == "Job" ? CronJobOf(catalog, shape) : DeploymentOf(catalog, shape);
    const auto behind = catalog.symbols().Find(kind == "Job" ? "CronJob" : "Deployment");
    const auto own = catalog.symbols().Find(name);
    if (!name.empty() && behind && own) all.emplace_back(*behind, *own);
    return all;
  }
  return all;
}

}  // namespace

// The webhook of VerticalPodAutoscalers has already changed a pod that waits for a node.  It leaves
// pod-level resources alone.
ContainerAsks PodShapes::AskOf(const objects::Pod& pod, const Requests& fit, Symbols& symbols) {
  ContainerAsks asks;
  const bool is_controlled = std::ranges::any_of(pod.meta.owners, [](const auto& owner) {
    return owner.controller && owner.kind != "DaemonSet";
  });
  if (!is_controlled || pod.node_name.empty() || pod.has_pod_resources) return asks;
  const auto is_large = [](const CpuAndMemory& amounts) {
    return amounts.cpu_milli > kVpaAmountMax || amounts.memory_bytes > kVpaAmountMax;
  };
  // A pod that asks for so much is no pod of a VerticalPodAutoscaler.
  if (is_large({AmountOf(fit, kCpu), AmountOf(fit, kMemory)})) return asks;
  CpuAndMemory together;  // What runs when all init containers have ended.
  CpuAndMemory peak;      // While the init containers run.
  for (const objects::Container& each : pod.init_containers) {
    const CpuAndMemory amounts = CpuAndMemoryIn(each.requests);
    if (is_large(amounts)) return {};
    peak.cpu_milli = std::max(peak.cpu_milli, together.cpu_milli + amounts.cpu_milli);
    peak.memory_bytes = std::max(peak.memory_bytes, together.memory_bytes + amounts.memory_bytes);
    if (each.restart_policy == "Always") together = Sum(together, amounts);
  }
  for (const objects::Container& each : pod.containers) {
    const CpuAndMemory amounts = CpuAndMemoryIn(each.requests);
    if (is_large(amounts)) return {};
    asks.containers.emplace_back(symbols.Intern(each.name), amounts);
    together = Sum(together, amounts);
  }
  asks.init = {peak.cpu_milli - together.cpu_milli, peak.memory_bytes - together.memory_bytes};
  return asks;
}

PodShapeId PodShapes::Intern(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                             TextId node_os) {
  if (node_os != kNoText && !TakesOsOfNode(pod)) node_os = kNoText;
  KeyWriter write(key_);
  WriteOwnership(write, pod);
  WriteNeeds(write, pod);
  write.Number(static_cast<int64_t>(Index(node_os)));
  // A VerticalPodAutoscaler changes what each container asks for.
  if (pod.containers.size() > 1) {
    write.Each(pod.containers, [&](const objects::Container& each) {
      write.Text(each.name);
      write.Amounts(each.requests);
    });
  } else if (!pod.containers.empty()) {
    write.Text(pod.containers.front().name);
  }
  write.Amounts(requests.fit, catalog);
  write.Number(requests.scored_incoming.cpu_milli);
  write.Number(requests.scored_incoming.memory_bytes);
  WriteHeld(write, requests.held, catalog);
  if (requests.held_137) WriteHeld(write, *requests.held_137, catalog);
  if (auto it = shapes_.find(write.Key()); it != shapes_.end()) return it->second;

  const PodShapeId id{static_cast<uint32_t>(catalog.shapes_.size())};
  shapes_.emplace(write.Key(), id);
  PendingTopology topology;
  catalog.shapes_.push_back(Compile(catalog, pod, requests, node_os, topology));
  pending_.push_back(std::move(topology));
  asks_.push_back(AskOf(pod, requests.fit, *catalog.symbols_));
  if (requests.held_137) {
    held_137_.emplace(id, *requests.held_137);
    if (holds_by_137_) SetHeld(*requests.held_137, catalog.shapes_.back());
  }
  return id;
}

PodShapeId PodShapes::OnNodeWith(TextId node_os, PodShapeId id, Catalog& catalog) {
  const ConstraintsId constraints = catalog.shape(id).constraints;
  const Constraints& asks = catalog.constraints(constraints);
  if (asks.os != kNoText || asks.names_os) return id;
  const PodShapeId next{static_cast<uint32_t>(catalog.shapes_.size())};
  const auto [found, is_new] = shapes_on_os_.try_emplace({id, node_os}, next);
  if (!is_new) return found->second;
  const ConstraintsId next_constraints{static_cast<uint32_t>(catalog.constraints_.size())};
  const auto [of_os, are_new] =
      constraints_on_os_.try_emplace({constraints, node_os}, next_constraints);
  if (are_new) {
    catalog.constraints_.push_back(Constraints(asks));
    catalog.constraints_.back().os = node_os;
  }
  PodShape shape = catalog.shape(id);
  shape.constraints = of_os->second;
  shape.fit_class = InternFitClass(catalog, shape.constraints, shape.fit_requests);
  catalog.shapes_.push_back(std::move(shape));
  pending_.push_back(PendingTopology(pending_[Index(id)]));
  asks_.push_back(ContainerAsks(asks_[Index(id)]));
  return next;
}

void PodShapes::HoldBy137(Catalog& catalog) {
  holds_by_137_ = true;
  for (const auto& [id, held] : held_137_) SetHeld(held, catalog.shapes_[Index(id)]);
}

namespace {

// For a pod without a node, room is kept as if the scheduler's configuration was understood.
void RefuseByProfile(const std::string& why, PodShape& shape) {
  std::string& text = shape.on_node ? shape.not_understood : shape.ignored;
  if (text.empty()) text = absl::StrCat("scheduler configuration: ", why);
}

// What the scheduler's helper.DefaultSelector deduces for a pod.
struct DefaultSelector {
  Selector selector;
  std::string missing;  // The object that the catalog lacks; empty: none.
};

std::optional<objects::ControllerKind> SpreadingController(const Catalog& catalog,
                                                           const PodShape& shape) {
  if (!shape.has_controller) return std::nullopt;
  const std::string_view api_version = catalog.Text(shape.controller.api_version);
  switch (shape.controller_kind) {
    case OwnerKind::kReplicaSet:
      if (api_version == "apps/v1") return objects::ControllerKind::kReplicaSet;
      return std::nullopt;
    case OwnerKind::kStatefulSet:
      if (api_version == "apps/v1") return objects::ControllerKind::kStatefulSet;
      return std::nullopt;
    case OwnerKind::kReplicationController:
      if (api_version == "v1") return objects::ControllerKind::kReplicationController;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

DefaultSelector DeduceSelector(const Catalog& catalog, const PodShape& shape) {
  DefaultSelector deduced;
  std::map<TextId, TextId> labels;
  for (const Services::Service& each : catalog.storage().services().In(shape.namespace_name)) {
    if (!SelectsLabels(each.selector, shape.labels)) continue;
    for (const Label& label : each.selector) labels[label.key] = label.value;
  }
  for (const auto& [key, value] : labels) {
    deduced.selector.requirements.push_back({.key = key, .op = Operator::kIn, .values = {value}});
  }
  const std::optional<objects::ControllerKind> kind = SpreadingController(catalog, shape);
  if (!kind) {
    // Every cluster has the Service default/kubernetes.
    if (catalog.storage().services().empty()) deduced.missing = "Services";
    return deduced;
  }
  const ControllerStatus* const controller =
      catalog.FindController(*kind, shape.namespace_name, shape.controller.name);
  if (controller == nullptr) {
    deduced.missing = absl::StrCat(Absl(catalog.Text(shape.controller.kind)), " ",
                                   Absl(catalog.Text(shape.namespace_name)), "/",
                                   Absl(catalog.Text(shape.controller.name)));
  } else if (!controller->selector.nothing) {
    deduced.selector.requirements.insert(deduced.selector.requirements.end(),
                                         controller->selector.requirements.begin(),
                                         controller->selector.requirements.end());
  }
  return deduced;
}

}  // namespace

void PodShapes::ApplyProfiles(Catalog& catalog, size_t first_shape, bool all_known) {
  if (catalog.scheduler_ == nullptr) return;
  for (size_t s = first_shape; s < catalog.shapes_.size(); ++s) {
    ApplyProfile(catalog, PodShapeId{static_cast<uint32_t>(s)}, all_known);
  }
}

void PodShapes::ApplyProfile(Catalog& catalog, PodShapeId id, bool all_known) {
  const SchedulerConfig& config = *catalog.scheduler_;
  PodShape& shape = catalog.shapes_[Index(id)];
  const auto found = config.FindProfile(catalog.Text(shape.scheduler_name));
  if (!found) return;
  shape.profile = *found;
  const SchedulerProfile& profile = config.profiles[*found];
  if (!profile.not_understood.empty()) RefuseByProfile(profile.not_understood, shape);
  const bool spreads = (profile.filters_off & kPodTopologySpreadFilter) == 0;
  if (profile.lists_spread && !shape.has_own_spread) {
    SpreadByDefault(catalog, profile, id, all_known || !spreads);
  }
  if (!spreads) pending_[Index(id)].spread.clear();
  shape.ignores_pod_affinity = (profile.filters_off & kInterPodAffinityFilter) != 0;
  std::erase_if(shape.fit_requests, [&](const ResourceQuantity& each) {
    return profile.IgnoresResource(catalog.ResourceName(each.resource));
  });
  const Constraints& own = catalog.constraints(shape.constraints);
  const auto refuse_without = [&](FilterSet filter, std::string_view what) {
    if ((profile.filters_off & filter) == 0) return;
    RefuseByProfile(absl::StrCat(profile.place, ".plugins.filter.disabled: ", Absl(what)), shape);
  };
  // The kubelet refuses a pod that a scheduler without these filters has moved wrongly.
  if (shape.on_node && (own.has_node_selector || own.has_node_affinity)) {
    refuse_without(kNodeAffinityFilter, "NodeAffinity is off, and the pod chooses nodes");
  }
  if (shape.on_node && !shape.host_ports.empty()) {
    refuse_without(kNodePortsFilter, "NodePorts is off, and the pod has host ports");
  }
  const FilterSet half_off = profile.filters_off & ~profile.pre_filters_off;
  if ((half_off & kNodeAffinityFilter) != 0 && own.only_named_nodes) {
    refuse_without(kNodeAffinityFilter,
                   "NodeAffinity is off at filter and not at preFilter, which names nodes");
  }
  // VolumeZone and NodeVolumeLimits rely on the claims that VolumeBinding has checked.
  if ((profile.pre_filters_off & kVolumeBindingFilter) != 0 && shape.volumes != 0) {
    RefuseByProfile(
        absl::StrCat(profile.place, ".plugins: VolumeBinding is off, and the pod has volumes"),
        shape);
  }
  if (!shape.resource_claims.empty()) {
    refuse_without(kDynamicResourcesFilter, "DynamicResources is off, and the pod has claims");
  }
  if (profile.filters_off != 0 || profile.pre_filters_off != 0 || !profile.added_affinity.nil) {
    const ConstraintsId next{static_cast<uint32_t>(catalog.constraints_.size())};
    const auto [of, is_new] =
        constraints_of_profile_.try_emplace({shape.constraints, shape.profile}, next);
    if (is_new) {
      Constraints constraints = own;
      constraints.filters_off = profile.filters_off;
      constraints.pre_filters_off = profile.pre_filters_off;
      AddAffinity(profile.added_affinity, *catalog.symbols_, constraints);
      catalog.constraints_.push_back(std::move(constraints));
    }
    shape.constraints = of->second;
  }
  shape.fit_class = InternFitClass(catalog, shape.constraints, shape.fit_requests);
  if (profile.added_preferences.empty()) return;
  Preferences preferences = shape.preferences ? *shape.preferences : Preferences();
  for (const auto& [weight, term] : profile.added_preferences) {
    preferences.nodes.push_back({weight, CompileNodeTerm(term, *catalog.symbols_)});
  }
  shape.preferences = std::make_shared<const Preferences>(std::move(preferences));
}

// Source: podtopologyspread/common.go, buildDefaultConstraints.
void PodShapes::SpreadByDefault(Catalog& catalog, const SchedulerProfile& profile, PodShapeId id,
                                bool all_known) {
  PodShape& shape = catalog.shapes_[Index(id)];
  if (profile.spread.empty()) return;
  const DefaultSelector deduced = DeduceSelector(catalog, shape);
  if (!deduced.missing.empty() && !all_known) {
    return RefuseByProfile(
        absl::StrCat(
            profile.place,
            ".pluginConfig.args.defaultConstraints: the scheduler deduces a selector from ",
            deduced.missing, ", which the input lacks"),
        shape);
  }
  if (deduced.selector.requirements.empty()) return;
  std::vector<SoftSpread> soft;
  for (const SchedulerProfile::Spread& each : profile.spread) {
    const TextId key = catalog.symbols_->Intern(each.topology_key);
    if (each.hard) {
      pending_[Index(id)].spread.push_back({.selector = deduced.selector,
                                            .topology_key = key,
                                            .max_skew = each.max_skew,
                                            .min_domains = each.min_domains,
                                            .honor_affinity = each.honor_affinity,
                                            .honor_taints = each.honor_taints});
    } else {
      soft.push_back({.selector = deduced.selector,
                      .topology_key = key,
                      .max_skew = each.max_skew,
                      .honor_affinity = each.honor_affinity,
                      .honor_taints = each.honor_taints});
    }
  }
  if (soft.empty()) return;
  Preferences preferences = shape.preferences ? *shape.preferences : Preferences();
  preferences.spread = std::move(soft);
  shape.preferences = std::make_shared<const Preferences>(std::move(preferences));
}

bool SpreadDependsOn(const Catalog& catalog, const PodShape& shape) {
  const SchedulerProfile* const profile = catalog.ProfileOf(shape);
  return profile != nullptr && !profile->spread.empty() && !shape.has_own_spread;
}

std::optional<PodShapeId> PodShapes::FindAlike(const objects::Pod& pod, TextId node_os) {
  KeyWriter write(alike_key_);
  WriteOwnership(write, pod);
  WriteNeeds(write, pod);
  write.Number(static_cast<int64_t>(Index(node_os)));
  WriteAmounts(write, pod);
  alike_size_ = write.Key().size();
  const auto it = alike_.find(write.Key());
  return it == alike_.end() ? std::nullopt : std::optional(it->second);
}

void PodShapes::RememberAlike(PodShapeId shape) {
  // In a cluster with more kinds of pods, the most recent ones are remembered.  More spare summing
  // the amounts of a pod more often, and take memory.  Not tuned: other values were not compared.
  constexpr size_t kRemembered = 4096;
  if (alike_.size() == kRemembered) alike_.clear();
  alike_.emplace(alike_key_.substr(0, alike_size_), shape);
}

void PodShapes::FollowVpas(Catalog& catalog, size_t first_shape) {
  const RoomObjects& room = catalog.storage_->room();
  if (!room.HasVpas()) return;
  for (size_t s = first_shape; s < catalog.shapes_.size(); ++s) {
    const ContainerAsks& asks = asks_[s];
    PodShape& shape = catalog.shapes_[s];
    if (!shape.has_controller) continue;
    const RoomObjects::Vpa* vpa = nullptr;
    for (const auto& [kind, name] : WorkloadsOf(catalog, shape)) {
      const RoomObjects::Vpa* const found = room.FindVpa(shape.namespace_name, kind, name);
      if (found == nullptr) continue;
      catalog.vpa_targets_.insert({shape.namespace_name, kind, name});
      if (vpa == nullptr) vpa = found;
    }
    if (vpa != nullptr && !asks.containers.empty()) FollowVpa(catalog, *vpa, asks, shape);
  }
}

void PodShapes::FollowVpa(Catalog& catalog, const RoomObjects::Vpa& vpa, const ContainerAsks& asks,
                          PodShape& shape) {
  if (!vpa.has_recommendation || !vpa.not_understood.empty()) {
    if (shape.not_understood.empty()) {
      shape.not_understood =
          absl::StrCat("VerticalPodAutoscaler ", Absl(catalog.Text(shape.namespace_name)), "/",
                       Absl(catalog.Text(vpa.name)), ": ",
                       vpa.not_understood.empty() ? "status.recommendation: is missing or empty"
                                                  : vpa.not_understood,
                       ", so what the pod will ask for is unknown");
    }
    return;
  }
  CpuAndMemory more;  // Than the containers ask for now.
  for (const auto& [name, now] : asks.containers) {
    const RoomObjects::Vpa::Target* const target = vpa.Find(name);
    if (target == nullptr) continue;
    more.cpu_milli +=
        std::min(target->cpu_milli.value_or(now.cpu_milli), kVpaAmountMax) - now.cpu_milli;
    more.memory_bytes +=
        std::min(target->memory_bytes.value_or(now.memory_bytes), kVpaAmountMax) - now.memory_bytes;
  }
  Requests next = shape.fit_requests;
  const auto change = [&](ResourceId resource, int64_t by, int64_t init) {
    // The pod asks for what its containers ask for together, or for `init` more.
    const int64_t amount =
        AmountOf(next, resource) - std::max<int64_t>(init, 0) + std::max(by, init);
    if (amount > 0) return SetAmount(resource, amount, next);
    std::erase_if(next, [&](const ResourceQuantity& q) { return q.resource == resource; });
  };
  change(kCpu, more.cpu_milli, asks.init.cpu_milli);
  change(kMemory, more.memory_bytes, asks.init.memory_bytes);
  const Requests home = shape.charge_requests;
  Requests charge = next;
  for (const ResourceQuantity& q : home) {
    if (q.resource != kCpu && q.resource != kMemory) SetAmount(q.resource, q.amount, charge);
  }
  if (next == shape.fit_requests && charge == home) return;
  shape.vpa = vpa.name;
  shape.home_requests = home;
  shape.charge_requests = std::move(charge);
  shape.fit_requests = std::move(next);
  shape.scored_incoming = {AmountOf(shape.fit_requests, kCpu),
                           AmountOf(shape.fit_requests, kMemory)};
  shape.fit_class = InternFitClass(catalog, shape.constraints, shape.fit_requests);
}

void PodShapes::FindGroups(Catalog& catalog) {
  for (Gang& gang : catalog.gangs_) {
    const RoomObjects::Group* const group =
        catalog.storage_->room().FindGroup(gang.kind, gang.namespace_name, gang.name);
    if (group == nullptr) continue;
    gang.has_object = true;
    gang.one_by_one = !group->whole;
    gang.min_count = group->min_count;
    gang.not_understood = group->not_understood;
  }
}

PodShape PodShapes::Compile(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                            TextId node_os, PendingTopology& topology) {
  Symbols& symbols = *catalog.symbols_;
  PodShape shape;
  const bool may_ignore = pod.node_name.empty() && !SchedulerFailsOn(pod.not_understood);
  (may_ignore ? shape.ignored : shape.not_understood) = pod.not_understood;
  if (pod.node_name.empty()) shape.spec_digest = pod.spec_digest;
  CompileOwnership(symbols, pod, shape);
  shape.scheduler_name = symbols.Intern(pod.scheduler_name);
  shape.on_node = !pod.node_name.empty();
  shape.has_own_spread = !pod.spread.empty();
  InternGangs(catalog, pod, shape);
  CompileContainers(symbols, pod, shape);
  CompileClaims(catalog, pod, shape);
  shape.volumes = catalog.storage_->AddVolumesOf(pod, symbols);
  for (const auto& [name, claim_name, template_name] : pod.resource_claims) {
    shape.resource_claims.push_back(
        {symbols.Intern(name), symbols.Intern(claim_name), symbols.Intern(template_name)});
  }
  shape.fit_requests = requests.fit;
  shape.scored_incoming = requests.scored_incoming;
  SetHeld(requests.held, shape);
  shape.constraints = InternConstraints(catalog, pod, node_os);
  shape.fit_class = InternFitClass(catalog, shape.constraints, requests.fit);
  topology.affinity = CompileTerms(pod.affinity, "spec.affinity.podAffinity", symbols, shape);
  topology.anti_affinity =
      CompileTerms(pod.anti_affinity, "spec.affinity.podAntiAffinity", symbols, shape);
  for (const objects::TopologySpreadConstraint& constraint : pod.spread) {
    if (auto spread = CompileSpread(constraint, symbols, shape)) {
      topology.spread.push_back(*std::move(spread));
    }
  }
  shape.preferences = CompilePreferences(pod, topology.affinity, symbols, shape);
  return shape;
}

void PodShapes::InternGangs(Catalog& catalog, const objects::Pod& pod, PodShape& shape) {
  for (const GangName& of : GangsOf(pod)) {
    const TextId name = InternName(of, *catalog.symbols_);
    const TextId namespace_name = catalog.symbols_->Intern(pod.meta.namespace_name);
    const auto next = static_cast<uint32_t>(catalog.gangs_.size());
    const auto [it, is_new] = gangs_.try_emplace({of.kind, namespace_name, name}, next);
    if (is_new) {
      catalog.gangs_.push_back({.kind = of.kind,
                                .namespace_name = namespace_name,
                                .name = name,
                                .one_by_one = of.kind == GangKind::kLabels});
    }
    Gang& gang = catalog.gangs_[it->second];
    if (of.size == kOddSize && !gang.has_object) {
      gang.not_understood = "the declared size is not a positive number";
    }
    shape.gangs.push_back(it->second);
    shape.gang_sizes.push_back(std::max<int64_t>(of.size, 0));
  }
}

bool PodShapes::NamesGang(const objects::Pod& pod) { return !GangsOf(pod).empty(); }

void PodShapes::CountLeftOut(Catalog& catalog, const objects::Pod& pod, int64_t pods) {
  Symbols& symbols = *catalog.symbols_;
  for (const GangName& of : GangsOf(pod)) {
    GangLeftOut& left_out =
        catalog
            .left_out_[{of.kind, symbols.Intern(pod.meta.namespace_name), InternName(of, symbols)}];
    int64_t& count = pod.phase == "Succeeded" ? left_out.pods.succeeded
                     : pod.phase == "Failed"  ? left_out.pods.failed
                                              : left_out.pods.expendable;
    count += pods;
    if (of.size > 0) left_out.sizes[of.size] += pods;
    // A Job whose pods have failed or are expendable does not run.
    if (of.kind != GangKind::kJobSet || pod.phase != "Succeeded") continue;
    for (const objects::OwnerReference& owner : pod.meta.owners) {
      if (owner.controller) left_out.jobs[symbols.Intern(owner.name)] += pods;
    }
  }
}

// Collects the claims that spec.volumes names.  An ephemeral volume's claim does not count
// as a use: the scheduler looks at persistentVolumeClaim only.
void PodShapes::CompileClaims(Catalog& catalog, const objects::Pod& pod, PodShape& shape) {
  Symbols& symbols = *catalog.symbols_;
  absl::flat_hash_set<ClaimId> known;
  for (const objects::Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim") continue;
    const TextId name = symbols.Intern(volume.claim_name);
    const ClaimId next{static_cast<uint32_t>(catalog.claims_.size())};
    const ClaimId claim =
        catalog.claims_.try_emplace({shape.namespace_name, name}, next).first->second;
    if (known.insert(claim).second) shape.claims.push_back(claim);
  }
}

ConstraintsId PodShapes::InternConstraints(Catalog& catalog, const objects::Pod& pod,
                                           TextId node_os) {
  std::string key;
  KeyWriter write(key);
  write.Constraints(pod);
  write.Text(pod.os_name);
  write.Number(static_cast<int64_t>(Index(node_os)));
  const ConstraintsId id{static_cast<uint32_t>(catalog.constraints_.size())};
  const auto [it, added] = constraints_.try_emplace(write.Key(), id);
  if (added) {
    Constraints constraints = CompileConstraints(pod, *catalog.symbols_);
    if (node_os != kNoText) constraints.os = node_os;
    catalog.constraints_.push_back(std::move(constraints));
  }
  return it->second;
}

FitClassId PodShapes::InternFitClass(Catalog& catalog, ConstraintsId constraints,
                                     const Requests& fit_requests) {
  std::string key;
  KeyWriter write(key);
  write.Number(static_cast<int64_t>(Index(constraints)));
  write.Amounts(fit_requests, catalog);
  const FitClassId id{static_cast<uint32_t>(catalog.fit_classes_)};
  const auto [it, added] = fit_classes_.try_emplace(write.Key(), id);
  if (added) ++catalog.fit_classes_;
  return it->second;
}

}  // namespace ebb
