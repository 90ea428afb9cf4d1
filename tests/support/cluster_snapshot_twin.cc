#include "tests/support/cluster_snapshot_twin.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb::test {
namespace {

std::optional<std::string_view> ValueOf(const objects::KeyValues& values, std::string_view key) {
  for (const auto& [k, value] : values) {
    if (k == key) return value;
  }
  return std::nullopt;
}

bool IsMatch(const objects::Requirement& requirement, const objects::KeyValues& labels) {
  const std::optional<std::string_view> value = ValueOf(labels, requirement.key);
  const bool listed =
      value && std::count(requirement.values.begin(), requirement.values.end(), *value) > 0;
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  if (requirement.op == "Exists") return value.has_value();
  return !value.has_value();  // DoesNotExist
}

bool IsMatch(const std::vector<objects::Requirement>& requirements,
             const objects::KeyValues& labels) {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const auto& requirement) { return IsMatch(requirement, labels); });
}

bool IsMatch(const objects::LabelSelector& selector, const objects::KeyValues& labels) {
  if (selector.nil) return false;
  for (const auto& [key, value] : selector.match_labels) {
    if (ValueOf(labels, key) != value) return false;
  }
  return IsMatch(selector.match_expressions, labels);
}

bool AsksForNothing(const objects::LabelSelector& selector) {
  return !selector.nil && selector.match_labels.empty() && selector.match_expressions.empty();
}

bool MayRunOn(const objects::Pod& pod, const objects::Node& node) {
  for (const auto& [key, value] : pod.node_selector) {
    if (ValueOf(node.meta.labels, key) != value) return false;
  }
  if (pod.required_node_affinity.nil) return true;
  const auto& terms = pod.required_node_affinity.terms;
  return std::any_of(terms.begin(), terms.end(), [&](const objects::NodeSelectorTerm& term) {
    return !term.match_expressions.empty() && IsMatch(term.match_expressions, node.meta.labels);
  });
}

bool Tolerates(const objects::Pod& pod, std::string_view key, std::string_view value,
               std::string_view effect) {
  for (const objects::Toleration& t : pod.tolerations) {
    const bool right_taint =
        (t.key.empty() || t.key == key) && (t.effect.empty() || t.effect == effect);
    if (right_taint && (t.op == "Exists" || t.value == value)) return true;
  }
  return false;
}

bool ToleratesAll(const objects::Pod& pod, const objects::Node& node, bool ghost) {
  for (const objects::Taint& taint : node.taints) {
    const bool matters = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    if (matters && !Tolerates(pod, taint.key, taint.value, taint.effect)) return false;
  }
  return !ghost || Tolerates(pod, "ToBeDeletedByClusterAutoscaler", "", "NoSchedule");
}

const objects::TopologySpreadConstraint& NthHard(const objects::Pod& pod, size_t n) {
  for (const auto& constraint : pod.spread) {
    if (constraint.when_unsatisfiable == "DoNotSchedule" && n-- == 0) return constraint;
  }
  std::abort();
}

std::set<std::string_view> ClaimsOf(const objects::Pod& pod) {
  std::set<std::string_view> claims;
  for (const objects::Volume& volume : pod.volumes) {
    if (volume.source == "persistentVolumeClaim") claims.insert(volume.claim_name);
  }
  return claims;
}

// "" if `table` counts exactly what `expected` says, in the domains of the nodes that exist; else
// the difference.
std::string CompareTable(const ClusterSnapshot& snapshot, TableId id, std::string_view key,
                         const std::map<std::string_view, uint32_t>& expected) {
  const Catalog& catalog = snapshot.catalog();
  const TopologyKey& topology = catalog.topology_key(catalog.tables()[Index(id)].key);
  // All labels that no node has share one key.
  if (topology.values.empty() && !expected.empty()) return absl::StrCat(Absl(key), ": no domains");
  if (!topology.values.empty() && catalog.Text(topology.label) != key) {
    return absl::StrCat("table ", Index(id), " is by ", Absl(catalog.Text(topology.label)),
                        ", not by ", Absl(key));
  }
  uint32_t total = 0;
  for (uint32_t d = 0; d < topology.values.size(); ++d) {
    const std::string_view value = catalog.Text(topology.values[d]);
    const auto it = expected.find(value);
    const uint32_t wanted = it == expected.end() ? 0 : it->second;
    const uint32_t counted = snapshot.topology().Count(id, DomainId{d});
    total += wanted;
    if (counted != wanted) {
      return absl::StrCat("table ", Index(id), " ", Absl(key), "=", Absl(value), ": ", counted,
                          ", should be ", wanted);
    }
  }
  if (snapshot.topology().Total(id) == total) return "";
  return absl::StrCat("table ", Index(id), " total ", snapshot.topology().Total(id), ", should be ",
                      total);
}

}  // namespace

SnapshotTwin::SnapshotTwin(std::shared_ptr<const TwinObjects> objects)
    : objects_(std::move(objects)) {
  std::map<std::string_view, int> by_name;
  for (size_t n = 0; n < objects_->nodes.size(); ++n) {
    by_name[objects_->nodes[n].meta.name] = static_cast<int>(n);
    AddNode(static_cast<int>(n));
  }
  for (size_t p = 0; p < objects_->pods.size(); ++p) {
    const auto it = by_name.find(objects_->pods[p].node_name);
    if (it != by_name.end()) AddPod(static_cast<int>(p), it->second);
  }
}

void SnapshotTwin::AddPod(int pod, int node) { now_.pods_on.at(node).push_back(pod); }

// As the scheduler's NodeInfo does: the last pod moves to the place of the removed pod.
void SnapshotTwin::RemovePod(int pod) {
  std::vector<int>& pods = now_.pods_on.at(NodeOf(pod));
  *std::find(pods.begin(), pods.end(), pod) = pods.back();
  pods.pop_back();
}

void SnapshotTwin::MovePod(int pod, int node) {
  RemovePod(pod);
  AddPod(pod, node);
}

void SnapshotTwin::RemoveNode(int node) {
  now_.pods_on.erase(node);
  if (now_.ghost == node) now_.ghost = -1;
}

void SnapshotTwin::AddNode(int node) { now_.pods_on[node]; }
void SnapshotTwin::SetGhost(int node) { now_.ghost = node; }
void SnapshotTwin::ClearGhost() { now_.ghost = -1; }
void SnapshotTwin::Fork() { below_.push_back(now_); }

void SnapshotTwin::Revert() {
  now_ = std::move(below_.back());
  below_.pop_back();
}

void SnapshotTwin::Commit() { below_.pop_back(); }

int SnapshotTwin::NodeOf(int pod) const {
  for (const auto& [node, pods] : now_.pods_on) {
    if (std::count(pods.begin(), pods.end(), pod) > 0) return node;
  }
  return -1;
}

int64_t SnapshotTwin::FreeOf(int node, std::string_view resource) const {
  const auto amount = [&](const objects::ResourceList& list) {
    int64_t sum = 0;
    for (const auto& [name, value, _] : list) sum += name == resource ? value : 0;
    return sum;
  };
  int64_t free = amount(objects_->nodes[node].allocatable);
  const auto it = now_.pods_on.find(node);
  if (it == now_.pods_on.end()) return free;
  for (const int pod : it->second) {
    free -= resource == "pods" ? 1 : amount(objects_->pods[pod].containers[0].requests);
  }
  return free;
}

template <typename Counts>
std::map<std::string_view, uint32_t> SnapshotTwin::CountByDomain(std::string_view key,
                                                                 Counts&& counts) const {
  std::map<std::string_view, uint32_t> result;
  for (const auto& [node, pods] : now_.pods_on) {
    const std::optional<std::string_view> value = ValueOf(objects_->nodes[node].meta.labels, key);
    if (!value) continue;
    for (const int pod : pods) result[*value] += counts(objects_->pods[pod], node);
  }
  return result;
}

bool SnapshotTwin::IsEligible(const objects::Pod& pod,
                              const objects::TopologySpreadConstraint& constraint, int node) const {
  const objects::Node& info = objects_->nodes[node];
  for (const auto& each : pod.spread) {
    if (each.when_unsatisfiable != "DoNotSchedule") continue;
    if (!ValueOf(info.meta.labels, each.topology_key)) return false;
  }
  if (constraint.node_affinity_policy != "Ignore" && !MayRunOn(pod, info)) return false;
  return constraint.node_taints_policy != "Honor" || ToleratesAll(pod, info, now_.ghost == node);
}

bool SnapshotTwin::TermMeans(const objects::PodAffinityTerm& term, TermOf whose,
                             std::string_view owner_namespace, const objects::Pod& pod) const {
  const std::string_view ns = pod.meta.namespace_name;
  bool in_namespace = std::count(term.namespaces.begin(), term.namespaces.end(), ns) > 0;
  if (term.namespaces.empty() && term.namespace_selector.nil) in_namespace = ns == owner_namespace;
  objects::KeyValues namespace_labels;
  for (const objects::Namespace& each : objects_->namespaces) {
    if (each.meta.name == ns) namespace_labels = each.meta.labels;
  }
  in_namespace |= IsMatch(term.namespace_selector, namespace_labels);
  // The selector of an incoming pod's term first becomes a list of the namespaces that exist, and
  // is then also compared with empty labels.
  if (whose == TermOf::kIncoming) in_namespace |= IsMatch(term.namespace_selector, {});
  return in_namespace && IsMatch(term.label_selector, pod.meta.labels);
}

std::string SnapshotTwin::CompareNode(const ClusterSnapshot& snapshot, int node) const {
  const NodeId id{static_cast<uint32_t>(node)};
  const std::string name(objects_->nodes[node].meta.name);
  if (snapshot.Contains(id) != Contains(node)) {
    return absl::StrCat(name, Contains(node) ? " is gone" : " is there");
  }
  if (snapshot.IsGhost(id) != (now_.ghost == node)) return absl::StrCat(name, ": ghost");
  std::vector<int> pods;
  for (const PodId pod : snapshot.PodsOn(id)) pods.push_back(static_cast<int>(Index(pod)));
  const auto it = now_.pods_on.find(node);
  if (pods != (it == now_.pods_on.end() ? std::vector<int>() : it->second)) {
    return absl::StrCat(name, ": pods, or their order");
  }
  for (const int pod : pods) {
    if (snapshot.NodeOf(PodId{static_cast<uint32_t>(pod)}) != id) {
      return absl::StrCat(name, ": pod ", pod, " is listed and placed elsewhere");
    }
  }
  const Catalog& catalog = snapshot.catalog();
  for (uint32_t r = 0; r < catalog.resources(); ++r) {
    const std::string_view resource = catalog.ResourceName(ResourceId{r});
    const int64_t free = snapshot.Free(ResourceId{r}, id);
    if (free != FreeOf(node, resource)) {
      return absl::StrCat(name, ": ", free, " free of ", Absl(resource), ", should be ",
                          FreeOf(node, resource));
    }
  }
  return "";
}

std::string SnapshotTwin::CompareSpread(const ClusterSnapshot& snapshot, int pod) const {
  const objects::Pod& raw = objects_->pods[pod];
  const PodShape& shape = snapshot.catalog().shape_of(PodId{static_cast<uint32_t>(pod)});
  for (size_t c = 0; c < shape.spread.size(); ++c) {
    const objects::TopologySpreadConstraint& constraint = NthHard(raw, c);
    objects::LabelSelector selector = constraint.label_selector;  // A nil selector stays nil.
    for (const objects::Text key : constraint.match_label_keys) {
      if (const auto value = ValueOf(raw.meta.labels, key)) {
        selector.match_labels.push_back({key, *value});
      }
    }
    const std::map<std::string_view, uint32_t> counts =
        CountByDomain(constraint.topology_key, [&](const objects::Pod& other, int node) {
          return !AsksForNothing(selector) && !other.meta.deletion_time &&
                 other.meta.namespace_name == raw.meta.namespace_name &&
                 IsMatch(selector, other.meta.labels) && IsEligible(raw, constraint, node);
        });
    std::set<std::string_view> domains;
    for (const auto& [node, pods] : now_.pods_on) {
      if (!IsEligible(raw, constraint, node)) continue;
      domains.insert(*ValueOf(objects_->nodes[node].meta.labels, constraint.topology_key));
    }
    uint32_t min = domains.empty() ? 0 : std::numeric_limits<uint32_t>::max();
    for (const std::string_view domain : domains) {
      const auto it = counts.find(domain);
      min = std::min(min, it == counts.end() ? 0 : it->second);
    }
    const TableId table = shape.spread[c].table;
    const std::string difference = CompareTable(snapshot, table, constraint.topology_key, counts);
    if (!difference.empty()) return absl::StrCat("spread ", c, ": ", difference);
    if (snapshot.topology().Domains(snapshot.catalog(), table) != domains.size()) {
      return absl::StrCat("spread ", c, ": ",
                          snapshot.topology().Domains(snapshot.catalog(), table),
                          " domains, should be ", domains.size());
    }
    if (snapshot.topology().MinCount(table) != min) {
      return absl::StrCat("spread ", c, ": minimum ", snapshot.topology().MinCount(table),
                          ", should be ", min);
    }
    if (shape.spread[c].self_match != IsMatch(selector, raw.meta.labels)) {
      return absl::StrCat("spread ", c, ": self match ", shape.spread[c].self_match);
    }
  }
  return "";
}

std::string SnapshotTwin::CompareAffinity(const ClusterSnapshot& snapshot, int pod) const {
  const objects::Pod& raw = objects_->pods[pod];
  const PodShape& shape = snapshot.catalog().shape_of(PodId{static_cast<uint32_t>(pod)});
  if (shape.affinity.size() != raw.affinity.size() ||
      shape.anti_affinity.size() != raw.anti_affinity.size()) {
    return "number of affinity terms";
  }
  const auto means_all = [&](const objects::Pod& other) {
    return std::all_of(raw.affinity.begin(), raw.affinity.end(), [&](const auto& term) {
      return TermMeans(term, TermOf::kIncoming, raw.meta.namespace_name, other);
    });
  };
  for (size_t t = 0; t < raw.affinity.size(); ++t) {
    const std::string_view key = raw.affinity[t].topology_key;
    const std::string difference = CompareTable(
        snapshot, shape.affinity[t].table, key,
        CountByDomain(key, [&](const objects::Pod& other, int) { return means_all(other); }));
    if (!difference.empty()) return absl::StrCat("affinity ", t, ": ", difference);
  }
  if (!raw.affinity.empty() && shape.matches_own_affinity != means_all(raw)) {
    return "matches_own_affinity";
  }
  for (size_t t = 0; t < raw.anti_affinity.size(); ++t) {
    const objects::PodAffinityTerm& term = raw.anti_affinity[t];
    const std::string difference =
        CompareTable(snapshot, shape.anti_affinity[t].table, term.topology_key,
                     CountByDomain(term.topology_key, [&](const objects::Pod& other, int) {
                       return TermMeans(term, TermOf::kIncoming, raw.meta.namespace_name, other);
                     }));
    if (!difference.empty()) return absl::StrCat("anti-affinity ", t, ": ", difference);
  }
  return "";
}

// Compares, for each domain, how many terms of placed pods keep `pod` out of it.
std::string SnapshotTwin::CompareRepulsion(const ClusterSnapshot& snapshot, int pod) const {
  const objects::Pod& raw = objects_->pods[pod];
  using Domain = std::pair<std::string_view, std::string_view>;
  std::map<Domain, uint32_t> wanted;
  for (const auto& [node, pods] : now_.pods_on) {
    for (const int other : pods) {
      const objects::Pod& owner = objects_->pods[other];
      for (const objects::PodAffinityTerm& term : owner.anti_affinity) {
        const auto value = ValueOf(objects_->nodes[node].meta.labels, term.topology_key);
        if (value && TermMeans(term, TermOf::kPlaced, owner.meta.namespace_name, raw)) {
          ++wanted[{term.topology_key, *value}];
        }
      }
    }
  }
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(PodId{static_cast<uint32_t>(pod)});
  std::map<Domain, uint32_t> counted;
  for (const auto& [table, key_id] : shape.repelled_by) {
    const TopologyKey& key = catalog.topology_key(key_id);
    for (uint32_t d = 0; d < key.values.size(); ++d) {
      const uint32_t count = snapshot.topology().Count(table, DomainId{d});
      if (count > 0) counted[{catalog.Text(key.label), catalog.Text(key.values[d])}] += count;
    }
  }
  return counted == wanted ? "" : "repelled_by";
}

std::string SnapshotTwin::CompareClaims(const ClusterSnapshot& snapshot) const {
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> uses;
  for (const objects::Pod& pod : objects_->pods) {
    for (const std::string_view claim : ClaimsOf(pod)) uses[{pod.meta.namespace_name, claim}];
  }
  for (const auto& [node, pods] : now_.pods_on) {
    for (const int pod : pods) {
      const objects::Pod& raw = objects_->pods[pod];
      for (const std::string_view claim : ClaimsOf(raw)) ++uses[{raw.meta.namespace_name, claim}];
    }
  }
  const Catalog& catalog = snapshot.catalog();
  for (const auto& [claim, count] : uses) {
    const std::optional<ClaimId> id = catalog.FindClaim(*catalog.symbols().Find(claim.first),
                                                        *catalog.symbols().Find(claim.second));
    if (!id || snapshot.ClaimUses(*id) != count) {
      return absl::StrCat("uses of claim ", Absl(claim.first), "/", Absl(claim.second));
    }
  }
  return "";
}

std::string SnapshotTwin::CompareDigest(const ClusterSnapshot& snapshot, int node, int pod) const {
  size_t placed = 0;
  for (const auto& [_, pods] : now_.pods_on) placed += pods.size();
  if (snapshot.nodes() != now_.pods_on.size()) return "number of nodes";
  if (snapshot.placed_pods() != placed) return "number of pods";
  if (snapshot.depth() != depth()) return "depth";
  const NodeId ghost = now_.ghost < 0 ? kNoNode : NodeId{static_cast<uint32_t>(now_.ghost)};
  if (snapshot.ghost() != ghost) return "ghost";
  const int at = NodeOf(pod);
  const NodeId wanted = at < 0 ? kNoNode : NodeId{static_cast<uint32_t>(at)};
  if (snapshot.NodeOf(PodId{static_cast<uint32_t>(pod)}) != wanted) {
    return absl::StrCat("place of pod ", Absl(objects_->pods[pod].meta.name));
  }
  return CompareNode(snapshot, node);
}

std::string SnapshotTwin::Compare(const ClusterSnapshot& snapshot) const {
  size_t position = 0;
  for (int n = 0; n < static_cast<int>(objects_->nodes.size()); ++n) {
    if (std::string difference = CompareNode(snapshot, n); !difference.empty()) return difference;
    if (!Contains(n)) continue;
    const NodeId id{static_cast<uint32_t>(n)};
    if (snapshot.PositionOf(id) != position || snapshot.NodeAt(position) != id) {
      return absl::StrCat("position of ", Absl(objects_->nodes[n].meta.name));
    }
    ++position;
  }
  for (int p = 0; p < static_cast<int>(objects_->pods.size()); ++p) {
    for (const auto compare : {&SnapshotTwin::CompareSpread, &SnapshotTwin::CompareAffinity,
                               &SnapshotTwin::CompareRepulsion}) {
      if (const std::string difference = (this->*compare)(snapshot, p); !difference.empty()) {
        return absl::StrCat("pod ", Absl(objects_->pods[p].meta.name), ": ", difference);
      }
    }
    if (const std::string difference = CompareDigest(snapshot, 0, p); !difference.empty()) {
      return difference;
    }
  }
  return CompareClaims(snapshot);
}

}  // namespace ebb::test
