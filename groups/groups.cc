#include "groups/groups.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/plan/utilization.h"
#include "platform/settings_file.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// The group that a node's labels name.
struct LabelGroup {
  std::string_view identity;  // The label by which the group is identified.
  std::string_view name;      // The value of that label.
  friend auto operator<=>(const LabelGroup&, const LabelGroup&) = default;
};

// "label=value".
std::string Qualified(const LabelGroup& group) {
  return absl::StrCat(Absl(group.identity), "=", Absl(group.name));
}

// Whether `name` in a rule refers to the group.
bool IsCalled(std::string_view name, const LabelGroup& group) {
  if (name == group.name) return true;
  return name.size() == group.identity.size() + 1 + group.name.size() &&
         name.starts_with(group.identity) && name[group.identity.size()] == '=' &&
         name.ends_with(group.name);
}

// A UUID in its usual form of 36 characters.
bool IsUuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == '-' ? c == '-' : c != '-' && absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
}

// Labels of nodes that run the API server or etcd: kubeadm's, and those of RKE, k3s and MicroK8s.
constexpr std::array<std::string_view, 5> kControlPlaneLabels = {
    "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/etcd",
    "node.kubernetes.io/microk8s-controlplane"};

// The labels of one cluster's nodes.  Their keys are looked up once.
class Labels {
 public:
  using Key = std::optional<TextId>;  // Absent: no node has such a label.

  Labels(const Catalog& catalog, const GroupRules& rules)
      : catalog_(catalog), custom_(rules.group_label) {
    if (!custom_.empty()) custom_key_ = Find(custom_);
    for (size_t l = 0; l < kGroupLabels.size(); ++l) {
      keys_[l] = Find(kGroupLabels[l].key);
      if (keys_[l]) present_.push_back(&kGroupLabels[l]);
    }
    for (size_t l = 0; l < kGpuLabels.size(); ++l) gpu_keys_[l] = Find(kGpuLabels[l].key);
    std::ranges::transform(kControlPlaneLabels, control_plane_keys_.begin(),
                           [&](std::string_view key) { return Find(key); });
    if (rules.gpu_label) custom_gpu_key_ = Find(*rules.gpu_label);
    has_custom_gpu_ = rules.gpu_label.has_value();
    known_.resize(catalog.nodes());
    for (uint32_t n = 0; n < catalog.nodes() && !present_.empty(); ++n) {
      if (catalog.IsThere(NodeId{n})) known_[n] = FindKnownLabel(NodeId{n});
    }
  }

  [[nodiscard]] Key Find(std::string_view key) const { return catalog_.symbols().Find(key); }
  [[nodiscard]] std::optional<std::string_view> Value(NodeId node, Key key) const {
    if (!key) return std::nullopt;
    const std::optional<TextId> value = FindLabel(catalog_.node(node).labels, *key);
    if (!value) return std::nullopt;
    return catalog_.Text(*value);
  }

  // Why no autoscaler removes the node; kUnknown if one may remove it.
  [[nodiscard]] NoGroupReason Unmanaged(NodeId node) const {
    const auto has_label = [&](Key key) { return Value(node, key).has_value(); };
    if (std::ranges::any_of(control_plane_keys_, has_label)) return NoGroupReason::kControlPlane;
    if (Value(node, type_) == "virtual-kubelet" || HasTaint(node, virtual_kubelet_, "")) {
      return NoGroupReason::kVirtualKubelet;
    }
    if (Value(node, compute_type_) == "fargate" || HasTaint(node, compute_type_, "fargate")) {
      return NoGroupReason::kFargate;
    }
    return NoGroupReason::kUnknown;
  }

  [[nodiscard]] std::optional<LabelGroup> GroupOf(NodeId node) const {
    if (const auto value = Value(node, custom_key_).value_or(""); !value.empty()) {
      return LabelGroup{custom_, value};
    }
    const GroupLabel* const label = KnownLabel(node);
    if (label == nullptr) return std::nullopt;
    return LabelGroup{label->identity, *Value(node, keys_[label - kGroupLabels.data()])};
  }

  // The manager of the node itself, whatever group the node is in.
  [[nodiscard]] PoolManager ManagerOf(NodeId node) const {
    const GroupLabel* const label = KnownLabel(node);
    return label == nullptr ? PoolManager::kClusterAutoscaler : label->managed_by;
  }

  [[nodiscard]] bool HasNodePool(NodeId node) const {
    return !Value(node, node_pool_).value_or("").empty();
  }

  [[nodiscard]] bool HasGpuLabel(NodeId node) const {
    if (has_custom_gpu_) return Value(node, custom_gpu_key_).has_value();
    const GroupLabel* const label = KnownLabel(node);
    std::string_view provider = label == nullptr ? "" : label->provider;
    if (provider.empty()) provider = SchemeOfProviderId(node);
    for (size_t l = 0; l < kGpuLabels.size(); ++l) {
      if (kGpuLabels[l].provider != provider) continue;
      // GPUs that a driver allocates by resource claims do not count here.
      if (provider == "gce" && Value(node, gke_dra_) == "true") return false;
      return Value(node, gpu_keys_[l]).has_value();
    }
    return false;
  }

  [[nodiscard]] bool Selects(const GroupRule& rule, NodeId node,
                             const std::optional<LabelGroup>& group) const {
    if (rule.node_selector.empty()) {
      return (group && IsCalled(rule.group.name, *group)) ||
             IsCalledOtherwise(rule.group.name, node) || IsMachineOfRule(rule, node);
    }
    return std::ranges::all_of(rule.node_selector, [&](const auto& label) {
      return Value(node, Find(label.first)) == label.second;
    });
  }

  // Whether the machine's name, and no label, puts the node into the rule's group.  Such a group is
  // a group of its own: to the autoscaler, two instance groups of one node pool are two groups.
  [[nodiscard]] bool IsMachineOfRule(const GroupRule& rule, NodeId node) const {
    if (!rule.cloud) return false;
    const NodeInfo& info = catalog_.node(node);
    return IsMachineOf(*rule.cloud, {.name = catalog_.Text(info.name),
                                     .provider_id = catalog_.Text(info.provider_id),
                                     .zone = Value(node, zone_).value_or("")});
  }

 private:
  [[nodiscard]] bool Counts(const GroupLabel& label, NodeId node) const {
    const auto value = Value(node, keys_[static_cast<size_t>(&label - kGroupLabels.data())]);
    if (!value || value->empty()) return false;
    return label.only_scheme.empty() || label.only_scheme == SchemeOfProviderId(node);
  }

  [[nodiscard]] const GroupLabel* KnownLabel(NodeId node) const { return known_[Index(node)]; }

  [[nodiscard]] const GroupLabel* FindKnownLabel(NodeId node) const {
    for (const GroupLabel* const label : present_) {
      if (Counts(*label, node)) return label;
    }
    return nullptr;
  }

  // Whether another label of the node's provider has the value `name` (such as the id of a pool),
  // or `name` is an Auto Scaling group that EKS, eksctl or kOps made.
  [[nodiscard]] bool IsCalledOtherwise(std::string_view name, NodeId node) const {
    const GroupLabel* const known = KnownLabel(node);
    if (known == nullptr || known->managed_by == PoolManager::kKarpenter) return false;
    for (const GroupLabel* const label : present_) {
      if (label->provider.empty() || label->provider != known->provider || !Counts(*label, node)) {
        continue;
      }
      const std::string_view value = *Value(node, keys_[label - kGroupLabels.data()]);
      if (IsCalled(name, {label->key, value})) return true;
    }
    return IsAutoScalingGroup(name, node);
  }

  // EKS's eks-NODEGROUP-UUID, eksctl's eksctl-CLUSTER-nodegroup-NODEGROUP-NodeGroup-TEXT or kOps's
  // INSTANCEGROUP.CLUSTER.
  [[nodiscard]] bool IsAutoScalingGroup(std::string_view name, NodeId node) const {
    if (const auto group = Value(node, eks_group_)) {
      const std::string prefix = absl::StrCat("eks-", Absl(*group), "-");
      if (name.starts_with(prefix) && IsUuid(name.substr(prefix.size()))) return true;
    }
    const auto instance_group = Value(node, kops_group_);
    if (instance_group && name.starts_with(absl::StrCat(Absl(*instance_group), "."))) return true;
    const auto cluster = Value(node, eksctl_cluster_);
    const auto group = Value(node, eksctl_group_);
    return cluster && group &&
           name.starts_with(
               absl::StrCat("eksctl-", Absl(*cluster), "-nodegroup-", Absl(*group), "-NodeGroup-"));
  }

  // An empty `value` matches any value.
  [[nodiscard]] bool HasTaint(NodeId node, Key key, std::string_view value) const {
    if (!key) return false;
    return std::ranges::any_of(catalog_.node(node).taints, [&](const Taint& taint) {
      return taint.key == *key && (value.empty() || catalog_.Text(taint.value) == value);
    });
  }

  // "aws" of "aws:///eu-west-1a/i-0123".
  [[nodiscard]] std::string_view SchemeOfProviderId(NodeId node) const {
    const std::string_view id = catalog_.Text(catalog_.node(node).provider_id);
    const size_t end = id.find("://");
    return end == std::string_view::npos ? "" : id.substr(0, end);
  }

  const Catalog& catalog_;
  const std::string& custom_;
  Key custom_key_;
  std::array<Key, kGroupLabels.size()> keys_;
  std::vector<const GroupLabel*> present_;  // Entries of kGroupLabels that have a key, in order.
  std::vector<const GroupLabel*> known_;    // By NodeId: FindKnownLabel(), found once.
  std::array<Key, kGpuLabels.size()> gpu_keys_;
  bool has_custom_gpu_ = false;
  Key custom_gpu_key_;
  std::array<Key, kControlPlaneLabels.size()> control_plane_keys_;
  const Key node_pool_ = Find(kNodePoolLabel);
  const Key type_ = Find("type");
  const Key virtual_kubelet_ = Find("virtual-kubelet.io/provider");
  const Key compute_type_ = Find("eks.amazonaws.com/compute-type");
  const Key gke_dra_ = Find("cloud.google.com/gke-gpu-dra-driver");
  const Key zone_ = Find("topology.kubernetes.io/zone");
  const Key eks_group_ = Find("eks.amazonaws.com/nodegroup");
  const Key kops_group_ = Find("kops.k8s.io/instancegroup");
  const Key eksctl_cluster_ = Find("alpha.eksctl.io/cluster-name");
  const Key eksctl_group_ = Find("alpha.eksctl.io/nodegroup-name");
};

// What defines a group: its rule, if that selects nodes by labels; otherwise its label; or neither,
// for the group of all nodes.
struct GroupKey {
  const GroupRule* rule = nullptr;
  LabelGroup label;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

// Decides the group of each node.
class Grouping {
 public:
  Grouping(const Catalog& catalog, const GroupRules& rules)
      : rules_(rules), labels_(catalog, rules) {
    for (uint32_t n = 0; n < catalog.nodes() && one_group_; ++n) {
      const NodeId node{n};
      if (!catalog.IsThere(node)) continue;
      if (labels_.Unmanaged(node) != NoGroupReason::kUnknown) continue;
      const std::optional<LabelGroup> label = labels_.GroupOf(node);
      const GroupRule* const rule = RuleOf(node, label);
      one_group_ = !label && (rule == nullptr || !rule->autoscaled);
    }
  }

  [[nodiscard]] const Labels& labels() const { return labels_; }

  struct Place {
    // kUnknown: the node is in a group; otherwise why it is in no group.
    NoGroupReason none = NoGroupReason::kUnknown;
    const GroupRule* rule = nullptr;
    GroupKey key;
  };
  [[nodiscard]] Place PlaceOf(NodeId node) const {
    Place place;
    place.none = labels_.Unmanaged(node);
    if (place.none != NoGroupReason::kUnknown) return place;
    const std::optional<LabelGroup> label = LabelOf(node);
    place.rule = RuleOf(node, label);
    if (place.rule != nullptr && !place.rule->autoscaled) {
      place.none = NoGroupReason::kExcluded;
    } else if (place.rule != nullptr && MakesAGroup(*place.rule, node, label)) {
      place.key.rule = place.rule;
    } else if (label) {
      place.key.label = *label;
    } else {
      place.none = NoGroupReason::kNoLabel;
    }
    return place;
  }

  // The group that the node's labels name, or the group of all nodes.
  [[nodiscard]] std::optional<LabelGroup> LabelOf(NodeId node) const {
    const std::optional<LabelGroup> label = labels_.GroupOf(node);
    return label || !one_group_ ? label : LabelGroup{"", kGroupOfAll};
  }

 private:
  // Whether the nodes that the rule selects form a group for that reason alone.
  [[nodiscard]] bool MakesAGroup(const GroupRule& rule, NodeId node,
                                 const std::optional<LabelGroup>& label) const {
    return !rule.node_selector.empty() ||
           (!(label && IsCalled(rule.group.name, *label)) && labels_.IsMachineOfRule(rule, node));
  }

  [[nodiscard]] const GroupRule* RuleOf(NodeId node, const std::optional<LabelGroup>& label) const {
    for (const GroupRule& rule : rules_.rules) {
      if (labels_.Selects(rule, node, label)) return &rule;
    }
    return nullptr;
  }

  const GroupRules& rules_;
  Labels labels_;
  bool one_group_ = true;  // No node has a group label.
};

struct Members {
  const GroupRule* rule = nullptr;
  PoolManager managed_by = PoolManager::kClusterAutoscaler;
  std::vector<NodeId> nodes;
};

// A name for each group: the name of its rule, or the value of its label, qualified with the label
// where another group would have the same name.
std::map<std::string, const Members*> NamesOf(const std::map<GroupKey, Members>& groups) {
  std::map<std::string_view, size_t> wanted;
  for (const auto& [key, members] : groups) {
    ++wanted[key.rule != nullptr ? std::string_view(key.rule->group.name) : key.label.name];
  }
  std::map<std::string, const Members*> names;
  const auto add = [&](std::string name, const Members& members) {
    while (!names.emplace(name, &members).second) name += '\'';
  };
  for (const auto& [key, members] : groups) {  // Names of rules are distinct already.
    if (key.rule != nullptr) add(key.rule->group.name, members);
  }
  for (const auto& [key, members] : groups) {
    if (key.rule != nullptr) continue;
    add(wanted[key.label.name] > 1 ? Qualified(key.label) : std::string(key.label.name), members);
  }
  return names;
}

// --- Warnings -----------------------------------------------------------------------

// Collects the warnings about the rules of a file.
class RuleChecker {
 public:
  RuleChecker(const Catalog& catalog, const GroupRules& rules)
      : catalog_(catalog), rules_(rules), grouping_(catalog, rules) {}

  absl::Status CheckMinimums() && {
    Match();
    if (!unruled_) return absl::OkStatus();
    std::string lost;
    for (size_t r = 0; r < rules_.rules.size(); ++r) {
      const GroupRule& rule = rules_.rules[r];
      if (!rule.size_from_flag || rule.group.min_size == 0) continue;
      if (matches_[r].nodes > 0 || matches_[r].unmanaged > 0) continue;
      absl::StrAppend(&lost, lost.empty() ? "" : "\n", Lost(r));
    }
    return lost.empty() ? absl::OkStatus() : absl::FailedPreconditionError(lost);
  }

  std::vector<InputWarning> Run() && {
    CheckGroupLabel();
    Match();
    for (size_t r = 0; r < rules_.rules.size(); ++r) {
      if (matches_[r].nodes == 0) {
        MatchesNothing(r);
      } else {
        CheckOverlap(r);
        CheckNames(r);
      }
    }
    CheckSizes();
    return std::move(warnings_);
  }

 private:
  struct Matches {
    size_t nodes = 0;
    size_t unmanaged = 0;  // Nodes that the rule selects and that can be in no group.
    size_t lost = 0;       // Nodes that an earlier rule claimed.
    NodeId first_lost = kNoNode;
    std::set<size_t> lost_to;
    std::set<LabelGroup> groups;  // For a rule that finds groups by name.
  };

  template <typename... Parts>
  void Warn(std::string_view code, const Parts&... parts) {
    warnings_.push_back({.code = std::string(code),
                         .message = absl::StrCat(rules_.file, ": ", parts...),
                         .command = ""});
  }
  [[nodiscard]] std::string Name(size_t rule) const {
    return absl::StrCat("nodeGroups[", rule, "] (", Printable(rules_.rules[rule].group.name), ")");
  }

  // Explains why rule r, which sets a minimum, applies to no node.
  [[nodiscard]] std::string Lost(size_t r) const {
    constexpr size_t kNamesMax = 5;
    const NodeGroup& group = rules_.rules[r].group;
    const std::vector<std::string> names = GroupNames();
    std::string known;
    for (size_t i = 0; i < names.size() && i < kNamesMax; ++i) {
      absl::StrAppend(&known, i == 0 ? "" : ", ", Printable(names[i]));
    }
    if (names.size() > kNamesMax) {
      absl::StrAppend(&known, " and ", names.size() - kNamesMax, " more");
    }
    const std::string meant = DidYouMean(group.name, names);
    return absl::StrCat(rules_.file, ": ", Name(r), ": no node is in a group of that name", meant,
                        meant.empty() ? ", so" : " So", " its minimum of ", group.min_size,
                        " would protect no node; the groups of this cluster are: ", known,
                        "; a file for --node-groups can tell the group's nodes by labels, or give "
                        "0 as its minimum");
  }

  void Match() {
    matches_.resize(rules_.rules.size());
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      const NodeId node{n};
      if (!catalog_.IsThere(node)) continue;
      const bool managed = grouping_.labels().Unmanaged(node) == NoGroupReason::kUnknown;
      const std::optional<LabelGroup> label =
          managed ? grouping_.LabelOf(node) : grouping_.labels().GroupOf(node);
      std::optional<size_t> first;
      for (size_t r = 0; r < rules_.rules.size(); ++r) {
        if (!grouping_.labels().Selects(rules_.rules[r], node, label)) continue;
        Matches& matches = matches_[r];
        if (!managed) {
          ++matches.unmanaged;
          continue;
        }
        ++matches.nodes;
        if (rules_.rules[r].node_selector.empty() && label) matches.groups.insert(*label);
        if (!first) {
          first = r;
        } else {
          if (matches.lost++ == 0) matches.first_lost = node;
          matches.lost_to.insert(*first);
        }
      }
      unruled_ = unruled_ || (managed && label && !first);
    }
  }

  void CheckGroupLabel() {
    if (rules_.group_label.empty() || Count(rules_.group_label) > 0) return;
    Warn("NodeGroupLabelUnknown", "groupLabel: no node has the label ",
         Printable(rules_.group_label), DidYouMean(rules_.group_label, AllKeys()));
  }

  void MatchesNothing(size_t r) {
    const GroupRule& rule = rules_.rules[r];
    constexpr const char* kCode = "NodeGroupRuleMatchesNothing";
    if (matches_[r].unmanaged > 0) {
      Warn(kCode, Name(r),
           ": all nodes that it matches are control plane, virtual kubelets or Fargate nodes, "
           "which are in no group");
      return;
    }
    if (rule.node_selector.empty()) {
      Warn(kCode, Name(r), ": no node is in a group of that name",
           DidYouMean(rule.group.name, GroupNames()));
      return;
    }
    for (const auto& [key, value] : rule.node_selector) {
      const std::string label = absl::StrCat(Printable(key), "=", Printable(value));
      if (Count(key) == 0) {
        Warn(kCode, Name(r), ".nodeSelector: no node has the label ", Printable(key),
             DidYouMean(key, AllKeys()));
        return;
      }
      if (const std::vector<std::string> values = ValuesOf(key); !Contains(values, value)) {
        Warn(kCode, Name(r), ".nodeSelector: no node has the label ", label,
             DidYouMean(value, values));
        return;
      }
    }
    Warn(kCode, Name(r), ".nodeSelector: no node has all of its labels");
  }

  void CheckOverlap(size_t r) {
    const Matches& matches = matches_[r];
    if (matches.lost == 0) return;
    std::string others;
    for (const size_t other : matches.lost_to) {
      absl::StrAppend(&others, others.empty() ? "" : ", ", Name(other));
    }
    const std::string nodes = Count(matches.lost, "node", "nodes");
    if (matches.lost == matches.nodes) {
      Warn("NodeGroupRuleShadowed", Name(r), ": applies to no node; earlier rules take its ", nodes,
           ": ", others);
      return;
    }
    Warn("NodeGroupRulesOverlap", Name(r), ": rules before it take ", nodes, " of ", matches.nodes,
         ", ", Printable(catalog_.NodeName(matches.first_lost)),
         matches.lost > 1 ? " and more: " : ": ", others);
  }

  void CheckNames(size_t r) {
    const std::set<LabelGroup>& groups = matches_[r].groups;
    if (groups.size() < 2) return;
    std::string names;
    for (const LabelGroup& group : groups) {
      absl::StrAppend(&names, names.empty() ? "" : " or ", Printable(Qualified(group)));
    }
    Warn("NodeGroupNameAmbiguous", Name(r), ": counts for each of ", groups.size(),
         " groups of that name; say ", names, " for one of them");
  }

  // Warns about groups below their minimum.  The planner treats such a group as being at its
  // minimum.
  void CheckSizes() {
    for (const NodeGroup& group : AssignGroups(catalog_, rules_).groups) {
      if (group.min_size <= group.target_size) continue;
      Warn("NodeGroupBelowMinSize", "group ", Printable(group.name), ": minSize, ", group.min_size,
           ", is above its size, ", Count(static_cast<size_t>(group.target_size), "node", "nodes"),
           ", so that none of its nodes can go");
    }
  }

  [[nodiscard]] static bool Contains(const std::vector<std::string>& list,
                                     const std::string& item) {
    return std::ranges::find(list, item) != list.end();
  }
  static std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
    const std::string nearest = Nearest(word, known);
    return nearest.empty() ? "" : absl::StrCat("; did you mean ", Printable(nearest), "?");
  }
  [[nodiscard]] size_t Count(const std::string& key) const { return ValuesOf(key).size(); }
  static std::string Count(size_t n, const char* one, const char* many) {
    return absl::StrCat(n, " ", n == 1 ? one : many);
  }

  [[nodiscard]] std::vector<std::string> ValuesOf(const std::string& key) const {
    const Labels::Key id = grouping_.labels().Find(key);
    std::set<std::string> values;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      if (const auto value = grouping_.labels().Value(NodeId{n}, id)) values.emplace(*value);
    }
    return {values.begin(), values.end()};
  }
  [[nodiscard]] std::vector<std::string> AllKeys() const {
    std::set<std::string> keys;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      for (const Label& label : catalog_.node(NodeId{n}).labels) {
        keys.emplace(catalog_.Text(label.key));
      }
    }
    return {keys.begin(), keys.end()};
  }
  [[nodiscard]] std::vector<std::string> GroupNames() const {
    std::set<std::string> names;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      if (!catalog_.IsThere(NodeId{n})) continue;
      if (grouping_.labels().Unmanaged(NodeId{n}) != NoGroupReason::kUnknown) continue;
      if (const auto label = grouping_.LabelOf(NodeId{n})) names.emplace(label->name);
    }
    return {names.begin(), names.end()};
  }

  const Catalog& catalog_;
  const GroupRules& rules_;
  const Grouping grouping_;
  std::vector<Matches> matches_;  // By index of the rule.
  bool unruled_ = false;          // Some group has a node that no rule selects.
  std::vector<InputWarning> warnings_;
};

// --- The file -----------------------------------------------------------------------

using Reader = FieldReader<GroupRule>;

Reader Size(int64_t NodeGroup::* field) {
  return [field](const YAML::Node& value, GroupRule& rule) -> std::string {
    const std::optional<int64_t> size = AsInteger(value);
    if (!size || *size < 0) return absl::StrCat(Quoted(value), " is not a number of nodes");
    rule.group.*field = *size;
    return "";
  };
}

Reader Fraction(std::optional<double> NodeGroup::* field) {
  return [field](const YAML::Node& value, GroupRule& rule) -> std::string {
    const std::optional<double> fraction = AsReal(value);
    if (!fraction || !(*fraction >= 0 && *fraction <= 1)) {
      return absl::StrCat(Quoted(value), " is not a fraction between 0 and 1");
    }
    rule.group.*field = fraction;
    return "";
  };
}

Reader Seconds(std::optional<int64_t> NodeGroup::* field) {
  return [field](const YAML::Node& value, GroupRule& rule) -> std::string {
    const auto duration = value.IsScalar() ? ParseDuration(value.Scalar()) : std::nullopt;
    if (!duration) return absl::StrCat(Quoted(value), " is not a duration such as 10m");
    rule.group.*field = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
    return "";
  };
}

template <typename Set>
Reader Bool(Set set) {
  return [set](const YAML::Node& value, GroupRule& rule) -> std::string {
    bool is = false;
    std::string wrong = ReadBool(value, is);
    if (wrong.empty()) set(rule, is);
    return wrong;
  };
}

std::string ReadTargetSize(const YAML::Node& value, GroupRule& rule) {
  rule.has_target_size = true;
  return Size(&NodeGroup::target_size)(value, rule);
}

std::string ReadSelector(const YAML::Node& value, GroupRule& rule) {
  if (!value.IsMap() || value.size() == 0) return "is not a map of labels";
  for (const auto& label : value) {
    if (!label.first.IsScalar() || !label.second.IsScalar()) return "is not a map of labels";
    rule.node_selector.emplace_back(label.first.Scalar(), label.second.Scalar());
  }
  return "";
}

const FieldReaders<GroupRule>& Readers() {
  static const auto* const readers = new FieldReaders<GroupRule>{
      {"name",
       [](const YAML::Node& value, GroupRule& rule) { return ReadName(value, rule.group.name); }},
      {"nodeSelector", ReadSelector},
      {"minSize",
       [](const YAML::Node& value, GroupRule& rule) {
         rule.group.minimum_is_known = true;
         return Size(&NodeGroup::min_size)(value, rule);
       }},
      {"maxSize", Size(&NodeGroup::max_size)},
      {"targetSize", ReadTargetSize},
      {"atomic", Bool([](GroupRule& rule, bool is) { rule.group.atomic = is; })},
      {"autoscaled", Bool([](GroupRule& rule, bool is) { rule.autoscaled = is; })},
      {"scaleDownUtilizationThreshold", Fraction(&NodeGroup::scale_down_utilization_threshold)},
      {"scaleDownGpuUtilizationThreshold",
       Fraction(&NodeGroup::scale_down_gpu_utilization_threshold)},
      {"scaleDownUnneededTime", Seconds(&NodeGroup::scale_down_unneeded_time_s)},
      {"scaleDownUnreadyTime", Seconds(&NodeGroup::scale_down_unready_time_s)},
      {"ignoreDaemonSetsUtilization",
       Bool([](GroupRule& rule, bool is) { rule.group.ignore_daemonsets_utilization = is; })},
  };
  return *readers;
}

absl::StatusOr<GroupRule> ParseRule(const std::string& file, size_t index, const YAML::Node& node) {
  std::string where = absl::StrCat("nodeGroups[", index, "]");
  if (node.IsMap() && node["name"] && node["name"].IsScalar()) {
    absl::StrAppend(&where, " (", node["name"].Scalar(), ")");
  }
  GroupRule rule;
  if (absl::Status s = ReadFields(file, where, node, Readers(), rule); !s.ok()) return s;
  if (rule.group.name.empty()) return BadSetting(file, where, "has no name");
  if (rule.group.min_size > rule.group.max_size) {
    return BadSetting(
        file, absl::StrCat(where, ".minSize"),
        absl::StrCat(rule.group.min_size, " is more than maxSize, ", rule.group.max_size));
  }
  return rule;
}

// What is wrong with `value` as the key of a label, or "".
std::string ReadLabelKey(const YAML::Node& value, std::string& key) {
  if (!value.IsScalar() || value.Scalar().empty()) return "is not a label's key";
  key = value.Scalar();
  return "";
}

absl::Status ParseRules(const std::string& file, const YAML::Node& list, GroupRules& rules) {
  if (!list.IsSequence()) return BadSetting(file, "nodeGroups", "is not a list");
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    absl::StatusOr<GroupRule> rule = ParseRule(file, i, list[i]);
    if (!rule.ok()) return rule.status();
    if (!names.insert(rule->group.name).second) {
      return BadSetting(file, absl::StrCat("nodeGroups[", i, "] (", rule->group.name, ")"),
                        "occurs twice");
    }
    rules.rules.push_back(*std::move(rule));
  }
  return absl::OkStatus();
}

absl::Status ParseDocument(const std::string& file, const YAML::Node& root, GroupRules& rules) {
  if (!root.IsMap()) return BadSetting(file, "", "is not a map with nodeGroups");
  for (const auto& field : root) {
    const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
    std::string wrong;
    if (name == "groupLabel") {
      wrong = ReadLabelKey(field.second, rules.group_label);
    } else if (name == "gpuLabel") {
      wrong = ReadLabelKey(field.second, rules.gpu_label.emplace());
    } else if (name == "nodeGroups") {
      if (absl::Status s = ParseRules(file, field.second, rules); !s.ok()) return s;
    } else {
      wrong = NoSuchField(name, {"groupLabel", "gpuLabel", "nodeGroups"});
    }
    if (!wrong.empty()) return BadSetting(file, name, wrong);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml) {
  GroupRules rules;
  rules.file = name;
  absl::Status status = ParseSettings(
      name, yaml, [&](const YAML::Node& root) { return ParseDocument(name, root, rules); });
  if (!status.ok()) return status;
  return rules;
}

absl::StatusOr<GroupRules> ReadGroupFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  return ParseGroups(path, *text);
}

void SetGroupSizes(std::span<const GroupSize> sizes, GroupRules& rules) {
  absl::flat_hash_map<std::string, size_t> rule_of;
  for (size_t i = 0; i < rules.rules.size(); ++i) {
    rule_of.try_emplace(rules.rules[i].group.name, i);
  }
  for (const GroupSize& size : sizes) {
    const std::optional<CloudGroupName> cloud = ReadCloudGroupName(size.name);
    const std::string& name = cloud ? cloud->name : size.name;
    // Instance groups of two zones may have one name.
    const std::string key = cloud && !cloud->zone.empty()
                                ? absl::StrCat(cloud->project, "/", cloud->zone, "/", name)
                                : name;
    const auto in_file = rule_of.find(name);
    const auto [at, is_new] = in_file != rule_of.end()
                                  ? std::pair(in_file, false)
                                  : rule_of.try_emplace(key, rules.rules.size());
    if (is_new) {
      rules.rules.emplace_back().group.name = name;
      if (!rules.file.ends_with("--nodes"))
        rules.file += rules.file.empty() ? "--nodes" : " with --nodes";
    }
    NodeGroup& group = rules.rules[at->second].group;
    group.min_size = size.min_size;
    group.minimum_is_known = true;
    group.max_size = size.max_size;
    rules.rules[at->second].cloud = cloud;
    rules.rules[at->second].size_from_flag = true;
  }
}

std::string_view ToText(NoGroupReason reason) {
  switch (reason) {
    case NoGroupReason::kControlPlane:
      return "control plane";
    case NoGroupReason::kVirtualKubelet:
      return "a virtual kubelet";
    case NoGroupReason::kFargate:
      return "a Fargate node";
    case NoGroupReason::kNoLabel:
      return "in no node group: others have a group label or rule, and this one has none";
    case NoGroupReason::kExcluded:
      return "excluded by the groups file";
    case NoGroupReason::kUnknown:
      break;
  }
  return "";
}

namespace {

// Whose rules hold for the node.
PoolManager ManagerOf(const Labels& labels, RuleSet rule_set, NodeId node) {
  if (rule_set == RuleSet::kKarpenter) return PoolManager::kKarpenterRules;
  const bool by_karpenter = rule_set != RuleSet::kAutoscaler && labels.HasNodePool(node);
  return by_karpenter ? PoolManager::kKarpenterRules : labels.ManagerOf(node);
}

}  // namespace

NodeGroups AssignGroups(const Catalog& catalog, const GroupRules& rules) {
  const Grouping grouping(catalog, rules);
  NodeGroups groups;
  groups.group_of.assign(catalog.nodes(), kNoGroup);
  groups.no_group_reason.assign(catalog.nodes(), NoGroupReason::kUnknown);
  groups.gpu_label.assign(catalog.nodes(), false);
  groups.ebb_consolidates = rules.rule_set == RuleSet::kDelegated;
  std::map<GroupKey, Members> by_key;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (!catalog.IsThere(node)) continue;
    const Grouping::Place place = grouping.PlaceOf(node);
    groups.no_group_reason[n] = place.none;
    groups.gpu_label[n] = grouping.labels().HasGpuLabel(node);
    if (place.none != NoGroupReason::kUnknown) continue;
    Members& members = by_key[place.key];
    members.rule = place.rule;
    members.managed_by =
        std::max(members.managed_by, ManagerOf(grouping.labels(), rules.rule_set, node));
    members.nodes.push_back(node);
  }
  for (const auto& [name, members] : NamesOf(by_key)) {
    NodeGroup group = members->rule != nullptr ? members->rule->group : NodeGroup{};
    group.name = name;
    group.managed_by = members->managed_by;
    // It has no minimum; but a caller may fix its size, so that none of its nodes goes.
    if (group.FollowsKarpenter() && group.min_size != group.max_size) {
      group.min_size = 0;
      group.minimum_is_known = true;
    }
    if (members->rule == nullptr || !members->rule->has_target_size) {
      group.target_size = static_cast<int64_t>(members->nodes.size());
    }
    const GroupId id{static_cast<uint32_t>(groups.groups.size())};
    groups.groups.push_back(std::move(group));
    for (const NodeId node : members->nodes) groups.group_of[Index(node)] = id;
  }
  FindNotReady(catalog, rules, groups);
  return groups;
}

namespace {

// Source: cluster-autoscaler utils/taints/taints.go IsStartupTaint.
class StartupTaints {
 public:
  StartupTaints(const Catalog& catalog, const ReadinessRules& rules)
      : catalog_(catalog), rules_(rules) {}

  [[nodiscard]] bool HasOne(NodeId node) const {
    return std::ranges::any_of(catalog_.node(node).taints,
                               [&](const Taint& taint) { return IsOne(catalog_.Text(taint.key)); });
  }

 private:
  [[nodiscard]] bool IsOne(std::string_view key) const {
    if (key.starts_with(kStartupTaintPrefix) || key.starts_with(kIgnoreTaintPrefix)) return true;
    return std::ranges::find(rules_.startup_taints, key) != rules_.startup_taints.end() ||
           std::ranges::any_of(rules_.startup_taint_prefixes,
                               [&](const std::string& prefix) { return key.starts_with(prefix); });
  }

  const Catalog& catalog_;
  const ReadinessRules& rules_;
};

// Whether a GPU driver has ResourceSlices for the node: then ebb does not wait for a device plugin.
bool HasGpuSlices(const Catalog& catalog, NodeId node) {
  const Storage::DevicePools* const has = catalog.storage().PoolsOf(catalog.node(node).name);
  return has != nullptr && std::ranges::any_of(*has, [](const auto& pool) {
           return pool.first.first.find("gpu") != std::string::npos;
         });
}

// The number of device pools that the node has, by driver.
std::map<std::string_view, size_t> PoolsByDriver(const Catalog& catalog, NodeId node) {
  std::map<std::string_view, size_t> pools;
  const Storage::DevicePools* const has = catalog.storage().PoolsOf(catalog.node(node).name);
  if (has == nullptr) return pools;
  for (const auto& [pool, slices] : *has) ++pools[pool.first];
  return pools;
}

// Nodes with fewer pools of some driver than every other node of the group that has pools of it.
// `nodes`: the nodes of one group that may be ready.
std::vector<NodeId> LackingPools(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  std::vector<std::map<std::string_view, size_t>> pools;
  // By driver, for nodes that have pools of it.
  std::map<std::string_view, std::vector<size_t>> counts;
  for (const NodeId node : nodes) {
    for (const auto& [driver, count] : pools.emplace_back(PoolsByDriver(catalog, node))) {
      counts[driver].push_back(count);
    }
  }
  std::vector<NodeId> lacking;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const bool lacks = std::ranges::any_of(counts, [&](const auto& of_driver) {
      const auto own = pools[n].find(of_driver.first);
      const size_t has = own == pools[n].end() ? 0 : own->second;
      const auto others =
          std::ranges::count_if(of_driver.second, [&](size_t count) { return count > has; });
      const std::ptrdiff_t self = own == pools[n].end() ? 0 : 1;
      return others > 0 && others == std::ssize(of_driver.second) - self;
    });
    if (lacks) lacking.push_back(nodes[n]);
  }
  return lacking;
}

// Nodes that lack a CSI driver which every other node of the group has.  Nodes without a CSINode
// are not compared.
std::vector<NodeId> LackingDrivers(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  std::map<TextId, size_t> counts;
  std::vector<std::pair<NodeId, const CsiNodeInfo*>> known;
  for (const NodeId node : nodes) {
    const CsiNodeInfo* const csi = catalog.storage().FindCsiNode(catalog.node(node).name);
    if (csi == nullptr) continue;
    known.emplace_back(node, csi);
    for (const TextId driver : csi->drivers) ++counts[driver];
  }
  std::vector<NodeId> lacking;
  for (const auto& [node, csi] : known) {
    const bool lacks = std::ranges::any_of(counts, [&](const auto& driver) {
      return driver.second + 1 == known.size() &&
             !std::ranges::binary_search(csi->drivers, driver.first);
    });
    if (lacks) lacking.push_back(node);
  }
  return lacking;
}

}  // namespace

// Source: cluster-autoscaler core/static_autoscaler.go obtainNodeLists, which checks only nodes
// that are ready and schedulable.
void FindNotReady(const Catalog& catalog, const GroupRules& rules, NodeGroups& groups) {
  groups.max_node_startup_time_s = rules.max_node_startup_time_s;
  groups.not_ready.assign(catalog.nodes(), NotReadyReason::kNone);
  const StartupTaints taints(catalog, rules.readiness);
  std::vector<std::vector<NodeId>> ready_of(groups.groups.size());
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (!catalog.IsThere(node)) continue;
    const NodeInfo& info = catalog.node(node);
    if (!info.ready || info.unschedulable) continue;
    if (groups.HasGpuLabel(node) && !HasGpus(catalog, node) && !HasGpuSlices(catalog, node)) {
      groups.not_ready[n] = NotReadyReason::kNoGpus;
    } else if (taints.HasOne(node)) {
      groups.not_ready[n] = NotReadyReason::kStartupTaint;
    } else if (groups.Of(node) != kNoGroup) {
      ready_of[Index(groups.Of(node))].push_back(node);
    }
  }
  for (const std::vector<NodeId>& nodes : ready_of) {
    if (rules.readiness.csi_node_aware) {
      for (const NodeId node : LackingDrivers(catalog, nodes)) {
        groups.not_ready[Index(node)] = NotReadyReason::kNoCsiDriver;
      }
    }
    if (!catalog.storage().HasPools()) continue;
    for (const NodeId node : LackingPools(catalog, nodes)) {
      groups.not_ready[Index(node)] = NotReadyReason::kNoDevicePools;
    }
  }
}

std::vector<InputWarning> GroupWarnings(const Catalog& catalog, const GroupRules& rules) {
  if (rules.rules.empty() && rules.group_label.empty()) return {};
  return RuleChecker(catalog, rules).Run();
}

void AddGroupWarnings(const Catalog& catalog, const GroupRules& rules,
                      std::vector<InputWarning>& warnings) {
  std::ranges::move(GroupWarnings(catalog, rules), std::back_inserter(warnings));
}

absl::Status CheckMinimums(const Catalog& catalog, const GroupRules& rules) {
  if (std::ranges::none_of(rules.rules, &GroupRule::size_from_flag)) return absl::OkStatus();
  return RuleChecker(catalog, rules).CheckMinimums();
}

const GroupRule* FindRule(const GroupRules& rules, std::string_view name) {
  const size_t equals = name.find('=');
  for (const GroupRule& rule : rules.rules) {
    if (rule.group.name == name) return &rule;
    const bool by_name = rule.node_selector.empty() && equals != std::string_view::npos;
    if (by_name && rule.group.name == name.substr(equals + 1)) return &rule;
  }
  return nullptr;
}

}  // namespace ebb
