#include "tests/support/filter_twin.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "snapshot/objects/quantity.h"
#include "tests/support/twin_labels.h"
#include "tests/support/volume_twin.h"

namespace ebb::test {
namespace {

using objects::KeyValues;
using objects::Text;
using twin::Find;
using twin::Has;
using twin::Matches;
using Amounts = std::map<std::string, __int128>;

bool IsEmpty(const objects::LabelSelector& selector) {
  return !selector.nil && selector.match_labels.empty() && selector.match_expressions.empty();
}

// --- Nodes

bool MatchesField(const objects::Requirement& field, Text node_name) {
  if (field.values.size() != 1 || (field.op != "In" && field.op != "NotIn")) return false;
  const Text value = field.key == "metadata.name" ? node_name : "";
  return (value == field.values[0]) == (field.op == "In");
}

bool MatchesTerm(const objects::NodeSelectorTerm& term, const objects::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const objects::Requirement& r : term.match_expressions) {
    if (!Matches(r, node.meta.labels, true).value_or(false)) return false;
  }
  for (const objects::Requirement& field : term.match_fields) {
    if (!MatchesField(field, node.meta.name)) return false;
  }
  return true;
}

bool MatchesNodeAffinity(const objects::Pod& pod, const objects::Node& node) {
  for (const auto& [key, value] : pod.node_selector) {
    if (Find(node.meta.labels, key) != value) return false;
  }
  if (pod.required_node_affinity.nil) return true;
  for (const objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
    if (MatchesTerm(term, node)) return true;
  }
  return false;
}

// The node names that PreFilter selects; nullopt: any node.
std::optional<std::set<Text>> NodeNames(const objects::Pod& pod) {
  std::set<Text> all;
  for (const objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
    std::optional<std::set<Text>> names;
    for (const objects::Requirement& field : term.match_fields) {
      if (field.key != "metadata.name" || field.op != "In") continue;
      const std::set<Text> more(field.values.begin(), field.values.end());
      if (!names) {
        names = more;
      } else {
        std::erase_if(*names, [&](Text name) { return !more.contains(name); });
      }
    }
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  if (pod.required_node_affinity.terms.empty()) return std::nullopt;
  return all;
}

bool Tolerates(const objects::Pod& pod, const objects::Taint& taint) {
  for (const objects::Toleration& t : pod.tolerations) {
    if (!t.effect.empty() && t.effect != taint.effect) continue;
    if (!t.key.empty() && t.key != taint.key) continue;
    if (t.op == "Exists") return true;
    if ((t.op.empty() || t.op == "Equal") && t.value == taint.value) return true;
  }
  return false;
}

bool ToleratesNode(const objects::Pod& pod, const objects::Node& node) {
  for (const objects::Taint& taint : node.taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (!Tolerates(pod, taint)) return false;
  }
  return true;
}

// --- Ports

struct Port {
  std::string address;
  std::string protocol;
  int64_t number;
};

std::vector<Port> HostPorts(const objects::Pod& pod) {
  std::vector<Port> ports;
  const auto add = [&](const objects::Container& container) {
    for (const objects::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      ports.push_back({port.host_ip.empty() ? "0.0.0.0" : std::string(port.host_ip),
                       port.protocol.empty() ? "TCP" : std::string(port.protocol), port.host_port});
    }
  };
  for (const objects::Container& container : pod.containers) add(container);
  for (const objects::Container& container : pod.init_containers) {
    if (container.restart_policy == "Always") add(container);
  }
  return ports;
}

// --- Requests, in billionths of a unit

constexpr int64_t kBillion = 1'000'000'000;

Amounts Sum(Amounts a, const Amounts& b) {
  for (const auto& [name, amount] : b) a[name] += amount;
  return a;
}

Amounts Max(Amounts a, const Amounts& b) {
  for (const auto& [name, amount] : b) a[name] = std::max(a[name], amount);
  return a;
}

Amounts ToAmounts(const objects::ResourceList& list) {
  Amounts amounts;
  for (const auto& [name, amount, excess] : list) {
    amounts[std::string(name)] = static_cast<__int128>(amount) * kBillion - excess;
  }
  return amounts;
}

Amounts RoundedUp(Amounts amounts) {
  for (auto& [name, amount] : amounts) amount = (amount + kBillion - 1) / kBillion * kBillion;
  return amounts;
}

// What a node offers.  An amount above the largest that the snapshot counts becomes 0.
Amounts Offers(const objects::Node& node) {
  Amounts amounts = ToAmounts(node.allocatable);
  for (auto& [name, amount] : amounts) {
    if (amount > (__int128{1} << 62) * kBillion) amount = 0;
  }
  return amounts;
}

Amounts ContainerRequests(const objects::Pod& pod, const objects::Container& container,
                          bool running) {
  const Amounts spec = ToAmounts(container.requests);
  if (!running) return spec;
  for (const objects::ContainerStatus& status : pod.container_statuses) {
    if (status.name != container.name || !status.has_resources) continue;
    const Amounts held = Max(ToAmounts(status.requests), ToAmounts(status.allocated));
    return pod.resize_infeasible ? held : Max(held, spec);
  }
  return spec;
}

bool IsPodLevel(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

// The sum over a list that may name a resource twice.
Amounts Claimed(const objects::Pod& pod) {
  Amounts sum;
  for (const objects::ResourceAmount& each : pod.claimed) sum = Sum(sum, ToAmounts({each}));
  return sum;
}

// The total over containers; `amount_of` returns the amounts of one container.
template <typename AmountOf>
Amounts Total(const objects::Pod& pod, AmountOf amount_of) {
  Amounts all;
  for (const objects::Container& c : pod.containers) all = Sum(all, amount_of(c));
  Amounts sidecars;
  Amounts peak;
  for (const objects::Container& c : pod.init_containers) {
    const Amounts with = Sum(sidecars, amount_of(c));
    peak = Max(peak, with);
    if (c.restart_policy == "Always") sidecars = with;
  }
  return Max(Sum(all, sidecars), peak);
}

// The requests that Kubernetes 1.37 and later charge for a pod on a node.
Amounts HeldFrom137(const objects::Pod& pod, bool pod_level_status) {
  const auto status_of = [&](const objects::Container& c) -> const objects::ContainerStatus* {
    for (const objects::ContainerStatus& status : pod.container_statuses) {
      if (status.name == c.name) return &status;
    }
    return nullptr;
  };
  const auto asked = [](const objects::Container& c) { return ToAmounts(c.requests); };
  const auto allocated = [&](const objects::Container& c) {
    const objects::ContainerStatus* const status = status_of(c);
    if (status != nullptr && !status->allocated.empty()) return ToAmounts(status->allocated);
    return pod.resize_infeasible ? Amounts() : asked(c);
  };
  const auto in_force = [&](const objects::Container& c) {
    const objects::ContainerStatus* const status = status_of(c);
    const bool says = status != nullptr && status->has_resources && !status->requests.empty();
    return says ? ToAmounts(status->requests) : allocated(c);
  };
  const bool of_pod = pod_level_status && pod.has_pod_status_resources;
  Amounts held;
  if (of_pod && !pod.pod_status_requests.empty() && !pod.pod_allocated.empty()) {
    held = Max(ToAmounts(pod.pod_status_requests), ToAmounts(pod.pod_allocated));
  } else {
    held = Sum(Max(Total(pod, allocated), Total(pod, in_force)), Claimed(pod));
  }
  if (!pod.resize_infeasible) held = Max(held, Sum(Total(pod, asked), Claimed(pod)));
  const auto names_pod_level = [](const objects::ResourceAmount& each) {
    return IsPodLevel(each.name);
  };
  if (pod.has_pod_resources && std::ranges::any_of(pod.pod_requests, names_pod_level)) {
    const bool spec_counts = !of_pod || !pod.resize_infeasible;
    Amounts level = spec_counts ? ToAmounts(pod.pod_requests) : Amounts();
    if (of_pod) {
      level = Max(level, Max(ToAmounts(pod.pod_status_requests), ToAmounts(pod.pod_allocated)));
    }
    for (const auto& [name, amount] : level) {
      if (IsPodLevel(name)) held[name] = amount;
    }
  }
  return RoundedUp(Sum(held, ToAmounts(pod.overhead)));
}

// `pod_level_status`: whether the status of pod-level resources counts for a running pod.
Amounts PodRequests(KubernetesVersion version, const objects::Pod& pod, bool running,
                    bool pod_level_status = true) {
  if (running && version == KubernetesVersion::k137) return HeldFrom137(pod, pod_level_status);
  Amounts base;
  for (const objects::Container& c : pod.containers) {
    base = Sum(base, ContainerRequests(pod, c, running));
  }
  Amounts sidecars;
  Amounts init_max;
  for (const objects::Container& c : pod.init_containers) {
    if (c.restart_policy == "Always") {
      sidecars = Sum(sidecars, ContainerRequests(pod, c, running));
      init_max = Max(init_max, sidecars);
    } else {
      init_max = Max(init_max, Sum(ToAmounts(c.requests), sidecars));
    }
  }
  Amounts total = Max(Sum(base, sidecars), init_max);
  if (running) total = Sum(total, Claimed(pod));
  if (pod.has_pod_resources) {
    Amounts level = ToAmounts(pod.pod_requests);
    if (running && pod_level_status && pod.has_pod_status_resources) {
      const Amounts held = Max(ToAmounts(pod.pod_status_requests), ToAmounts(pod.pod_allocated));
      level = pod.resize_infeasible ? held : Max(held, level);
    }
    for (const auto& [name, unused, excess] : pod.pod_requests) {
      if (IsPodLevel(name)) {
        total[std::string(name)] = level[std::string(name)];
      }
    }
  }
  return RoundedUp(Sum(total, ToAmounts(pod.overhead)));
}

// Whether a filter looks at the resource, among the names that RandomCluster uses.
bool IsFiltered(std::string_view name) { return name != "plain" && name != "pods"; }

// --- The filters

class Twin {
 public:
  Twin(const RawCluster& cluster, size_t pod, size_t node)
      : cluster_(cluster), asked_(pod), pod_(cluster.pods[pod]), node_(cluster.nodes[node]) {}

  TwinVerdict Explain() const {
    FilterVerdict verdict = PreFilter();
    if (!verdict.fits) return {.verdict = std::move(verdict), .by_prefilter = true};
    return {.verdict = Filters(), .by_prefilter = false};
  }

 private:
  static FilterVerdict No(Filter filter, std::string reason) {
    return {.fits = false, .filter = filter, .reasons = {std::move(reason)}};
  }

  FilterVerdict PreFilter() const {
    const std::optional<std::set<Text>> names = NodeNames(pod_);
    if (names && names->empty()) return No(Filter::kNodeAffinity, "pod affinity terms conflict");
    if (FilterVerdict volumes = twin::PreFilterVolumes(cluster_, pod_); !volumes.fits) {
      return volumes;
    }
    if (SpreadFails()) return {.fits = false, .filter = Filter::kPodTopologySpread, .reasons = {}};
    if (!TermsParse(pod_.affinity) || !TermsParse(pod_.anti_affinity)) {
      return {.fits = false, .filter = Filter::kInterPodAffinity, .reasons = {}};
    }
    if (names && !names->contains(node_.meta.name)) {
      return No(Filter::kNodeAffinity, "node(s) didn't satisfy plugin(s) [NodeAffinity]");
    }
    return {};
  }

  FilterVerdict Filters() const {
    if (node_.unschedulable &&
        !Tolerates(pod_, {"node.kubernetes.io/unschedulable", "", "NoSchedule"})) {
      return No(Filter::kNodeUnschedulable, "node(s) were unschedulable");
    }
    if (!ToleratesNode(pod_, node_)) {
      return No(Filter::kTaintToleration, "node(s) had untolerated taint(s)");
    }
    if (!MatchesNodeAffinity(pod_, node_)) {
      return No(Filter::kNodeAffinity, "node(s) didn't match Pod's node affinity/selector");
    }
    if (PortsConflict()) {
      return No(Filter::kNodePorts, "node(s) didn't have free ports for the requested pod ports");
    }
    if (std::vector<std::string> reasons = Shortages(); !reasons.empty()) {
      return {.fits = false, .filter = Filter::kNodeResourcesFit, .reasons = std::move(reasons)};
    }
    if (FilterVerdict volumes = VolumeVerdict(); !volumes.fits) return volumes;
    if (const std::string reason = SpreadReason(); !reason.empty()) {
      return No(Filter::kPodTopologySpread, reason);
    }
    if (const std::string reason = InterPodReason(); !reason.empty()) {
      return No(Filter::kInterPodAffinity, reason);
    }
    if (LacksFeature()) {
      return No(Filter::kNodeDeclaredFeatures, "node(s) didn't match Pod's required features");
    }
    if (IsOfAnotherOs()) {
      return No(Filter::kOperatingSystem,
                "node(s) run another operating system than the pod was made for");
    }
    return {};
  }

  // Calls visit(pod, node) for every pod on a node, except the pod of the question.
  template <typename Visit>
  void ForEachPlaced(Visit&& visit) const {
    for (size_t p = 0; p < cluster_.pods.size(); ++p) {
      const objects::Pod& pod = cluster_.pods[p];
      const Text where = pod.node_name.empty() ? pod.nominated_node_name : pod.node_name;
      for (const objects::Node& node : cluster_.nodes) {
        if (p != asked_ && node.meta.name == where) visit(pod, node);
      }
    }
  }
  template <typename Visit>
  void ForEachNeighbour(Visit&& visit) const {
    ForEachPlaced([&](const objects::Pod& pod, const objects::Node& node) {
      if (&node == &node_) visit(pod);
    });
  }

  bool PortsConflict() const {
    bool conflict = false;
    ForEachNeighbour([&](const objects::Pod& other) {
      for (const Port& a : HostPorts(pod_)) {
        for (const Port& b : HostPorts(other)) {
          if (a.number != b.number || a.protocol != b.protocol) continue;
          conflict |= a.address == b.address || a.address == "0.0.0.0" || b.address == "0.0.0.0";
        }
      }
    });
    return conflict;
  }

  std::vector<std::string> Shortages() const {
    Amounts used;
    int64_t pods = 0;
    ForEachNeighbour([&](const objects::Pod& other) {
      used = Sum(used, PodRequests(cluster_.version, other, true));
      ++pods;
    });
    Amounts allocatable = Offers(node_);
    std::vector<std::string> reasons;
    if ((pods + 1) * __int128{kBillion} > allocatable["pods"])
      reasons.emplace_back("Too many pods");
    for (const auto& [name, amount] : PodRequests(cluster_.version, pod_, false)) {
      if (IsFiltered(name) && amount > 0 && amount > allocatable[name] - used[name]) {
        reasons.push_back("Insufficient " + name);
      }
    }
    return reasons;
  }

  FilterVerdict VolumeVerdict() const {
    std::vector<const objects::Pod*> neighbours;
    std::vector<const objects::Pod*> others;
    ForEachNeighbour([&](const objects::Pod& other) { neighbours.push_back(&other); });
    ForEachPlaced(
        [&](const objects::Pod& other, const objects::Node&) { others.push_back(&other); });
    return twin::FilterVolumes(cluster_, pod_, node_, neighbours, others);
  }

  // Spread

  bool SpreadFails() const {
    for (const objects::TopologySpreadConstraint& c : pod_.spread) {
      if (c.when_unsatisfiable == "DoNotSchedule" && !Matches(c.label_selector, {})) return true;
    }
    return false;
  }

  bool HasAllKeys(const objects::Node& node) const {
    for (const objects::TopologySpreadConstraint& c : pod_.spread) {
      if (c.when_unsatisfiable != "DoNotSchedule") continue;
      if (!Find(node.meta.labels, c.topology_key)) return false;
    }
    return true;
  }

  bool Matches_(const objects::TopologySpreadConstraint& c, const objects::Pod& other) const {
    if (!*Matches(c.label_selector, other.meta.labels)) return false;
    for (const Text key : c.match_label_keys) {
      const std::optional<Text> mine = Find(pod_.meta.labels, key);
      if (mine && Find(other.meta.labels, key) != mine) return false;
    }
    return true;
  }

  // True if the constraint's selector matches no pod.
  bool CountsNoPod(const objects::TopologySpreadConstraint& c) const {
    for (const Text key : c.match_label_keys) {
      if (Find(pod_.meta.labels, key)) return false;
    }
    return IsEmpty(c.label_selector);
  }

  bool IsEligible(const objects::TopologySpreadConstraint& c, const objects::Node& node) const {
    return HasAllKeys(node) &&
           (!(c.node_affinity_policy.empty() || c.node_affinity_policy == "Honor") ||
            MatchesNodeAffinity(pod_, node)) &&
           (c.node_taints_policy != "Honor" || ToleratesNode(pod_, node));
  }

  std::string SpreadReason() const {
    for (const objects::TopologySpreadConstraint& c : pod_.spread) {
      if (c.when_unsatisfiable != "DoNotSchedule") continue;
      const std::optional<Text> domain = Find(node_.meta.labels, c.topology_key);
      if (!domain) {
        return "node(s) didn't match pod topology spread constraints (missing required label)";
      }
      std::map<Text, int64_t> counts;
      for (const objects::Node& node : cluster_.nodes) {
        if (IsEligible(c, node)) counts[*Find(node.meta.labels, c.topology_key)] += 0;
      }
      ForEachPlaced([&](const objects::Pod& other, const objects::Node& node) {
        if (IsEligible(c, node) && !CountsNoPod(c) && !other.meta.deletion_time &&
            other.meta.namespace_name == pod_.meta.namespace_name && Matches_(c, other)) {
          ++counts[*Find(node.meta.labels, c.topology_key)];
        }
      });
      int64_t min = std::numeric_limits<int32_t>::max();
      for (const auto& [value, count] : counts) min = std::min(min, count);
      if (static_cast<int64_t>(counts.size()) < c.min_domains.value_or(1)) min = 0;
      const int64_t self = Matches_(c, pod_) ? 1 : 0;
      const int64_t count = counts.contains(*domain) ? counts[*domain] : 0;
      if (count + self - min > c.max_skew) {
        return "node(s) didn't match pod topology spread constraints";
      }
    }
    return "";
  }

  // Affinity

  static bool TermsParse(const std::vector<objects::PodAffinityTerm>& terms) {
    for (const objects::PodAffinityTerm& term : terms) {
      if (!Matches(term.label_selector, {}) || !Matches(term.namespace_selector, {})) return false;
    }
    return true;
  }

  // `incoming`: the term belongs to the pod of the question.  Its selector chooses among the
  // namespaces that exist.  Until 1.36, surprisingly, it is then also tried on empty labels.
  bool NamespaceMatches(const objects::PodAffinityTerm& term, const objects::Pod& owner,
                        const objects::Pod& target, bool incoming) const {
    const Text name = target.meta.namespace_name;
    if (term.namespaces.empty() && term.namespace_selector.nil) {
      return name == owner.meta.namespace_name;
    }
    if (Has(term.namespaces, name)) return true;
    const bool as_empty =
        cluster_.version == KubernetesVersion::k136 || IsEmpty(term.namespace_selector);
    if (incoming && as_empty && *Matches(term.namespace_selector, {})) return true;
    for (const objects::Namespace& ns : cluster_.namespaces) {
      if (ns.meta.name == name) return *Matches(term.namespace_selector, ns.meta.labels);
    }
    return !incoming && *Matches(term.namespace_selector, {});
  }

  bool TermMatches(const objects::PodAffinityTerm& term, const objects::Pod& owner,
                   const objects::Pod& target, bool incoming) const {
    return NamespaceMatches(term, owner, target, incoming) &&
           *Matches(term.label_selector, target.meta.labels);
  }

  bool MatchesAllTerms(const objects::Pod& target) const {
    for (const objects::PodAffinityTerm& term : pod_.affinity) {
      if (!TermMatches(term, pod_, target, true)) return false;
    }
    return true;
  }

  static bool SameDomain(const objects::Node& a, const objects::Node& b, Text key) {
    const std::optional<Text> value = Find(a.meta.labels, key);
    return value && Find(b.meta.labels, key) == value;
  }

  bool AffinityHolds() const {
    bool all = true;
    bool anywhere = false;
    for (const objects::PodAffinityTerm& term : pod_.affinity) {
      if (!Find(node_.meta.labels, term.topology_key)) return false;
      bool here = false;
      ForEachPlaced([&](const objects::Pod& other, const objects::Node& node) {
        if (!MatchesAllTerms(other)) return;
        here |= SameDomain(node, node_, term.topology_key);
        anywhere |= Find(node.meta.labels, term.topology_key).has_value();
      });
      all &= here;
    }
    return all || (!anywhere && MatchesAllTerms(pod_));
  }

  std::string InterPodReason() const {
    if (!AffinityHolds()) return "node(s) didn't match pod affinity rules";
    bool mine = false;
    bool theirs = false;
    ForEachPlaced([&](const objects::Pod& other, const objects::Node& node) {
      for (const objects::PodAffinityTerm& term : pod_.anti_affinity) {
        mine |= SameDomain(node, node_, term.topology_key) && TermMatches(term, pod_, other, true);
      }
      if (!TermsParse(other.anti_affinity)) return;
      for (const objects::PodAffinityTerm& term : other.anti_affinity) {
        theirs |=
            SameDomain(node, node_, term.topology_key) && TermMatches(term, other, pod_, false);
      }
    });
    if (mine) return "node(s) didn't match pod anti-affinity rules";
    if (theirs) return "node(s) didn't satisfy existing pods anti-affinity rules";
    return "";
  }

  // Features

  bool LacksFeature() const {
    bool restarts = false;
    for (const objects::Container& c : pod_.containers) restarts |= c.restarts_all_containers;
    for (const objects::Container& c : pod_.init_containers) restarts |= c.restarts_all_containers;
    if (restarts && !Has(node_.declared_features, "RestartAllContainersOnContainerExits")) {
      return true;
    }
    if (cluster_.version == KubernetesVersion::k137 && pod_.has_bind_mount_options &&
        !Has(node_.declared_features, "VolumeBindMountOptions")) {
      return true;
    }
    return pod_.host_network && pod_.host_users == false &&
           !Has(node_.declared_features, "UserNamespacesHostNetworkSupport");
  }

  // Operating systems

  static Text OsOf(const objects::Node& node) {
    for (const Text key : {"kubernetes.io/os", "beta.kubernetes.io/os"}) {
      if (const std::optional<Text> value = Find(node.meta.labels, key)) return *value;
    }
    return node.operating_system;
  }

  static bool ChoosesOs(const objects::Pod& pod) {
    const auto is_os = [](Text key) {
      return key == "kubernetes.io/os" || key == "beta.kubernetes.io/os";
    };
    for (const auto& [key, value] : pod.node_selector) {
      if (is_os(key)) return true;
    }
    for (const objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
      bool chooses = false;
      for (const objects::Requirement& r : term.match_expressions) {
        chooses |= is_os(r.key) && (r.op == "In" || r.op == "NotIn");
      }
      if (!chooses) return false;
    }
    return !pod.required_node_affinity.terms.empty();
  }

  bool IsOfAnotherOs() const {
    Text os = pod_.os_name;
    if (os.empty() && !ChoosesOs(pod_)) {
      for (const objects::Node& node : cluster_.first_nodes) {
        if (node.meta.name == cluster_.homes[asked_]) os = OsOf(node);
      }
    }
    return cluster_.match_os && !os.empty() && !OsOf(node_).empty() && OsOf(node_) != os;
  }

  const RawCluster& cluster_;
  const size_t asked_;
  const objects::Pod& pod_;
  const objects::Node& node_;
};

}  // namespace

TwinVerdict TwinExplain(const RawCluster& cluster, size_t pod, size_t node) {
  return Twin(cluster, pod, node).Explain();
}

std::optional<double> TwinUtilization(const RawCluster& cluster, size_t node,
                                      std::string_view resource) {
  const objects::Node& there = cluster.nodes[node];
  const std::string name(resource);
  const __int128 allocatable = Offers(there)[name] / kBillion;
  if (allocatable == 0) return std::nullopt;
  __int128 requested = 0;
  for (const objects::Pod& pod : cluster.pods) {
    if ((pod.node_name.empty() ? pod.nominated_node_name : pod.node_name) != there.meta.name) {
      continue;
    }
    Amounts amounts =
        PodRequests(cluster.version, pod, /*running=*/true, /*pod_level_status=*/false);
    requested += std::min<__int128>(amounts[name] / kBillion, kUncountable);
  }
  const double scale = name == "cpu" ? 1 : 1000;
  return static_cast<double>(requested) * scale / (static_cast<double>(allocatable) * scale);
}

}  // namespace ebb::test
