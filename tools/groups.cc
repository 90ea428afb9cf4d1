#include "tools/groups.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "snapshot/text.h"
#include "tools/duration.h"
#include "tools/settings_file.h"

namespace ebb {
namespace {

std::optional<std::string_view> LabelOf(const Catalog& catalog, NodeId node, std::string_view key) {
  const std::optional<TextId> id = catalog.symbols().Find(key);
  if (!id) return std::nullopt;
  const std::optional<TextId> value = FindLabel(catalog.node(node).labels, *id);
  if (!value) return std::nullopt;
  return catalog.Text(*value);
}

std::string_view GroupNameOf(const Catalog& catalog, NodeId node, std::string_view first_label) {
  if (!first_label.empty()) {
    if (const auto value = LabelOf(catalog, node, first_label); value && !value->empty()) {
      return *value;
    }
  }
  for (const std::string_view label : kGroupLabels) {
    if (const auto value = LabelOf(catalog, node, label); value && !value->empty()) return *value;
  }
  return "default";
}

bool Selects(const GroupRule& rule, const Catalog& catalog, NodeId node, std::string_view name) {
  if (rule.node_selector.empty()) return rule.group.name == name;
  for (const auto& [key, value] : rule.node_selector) {
    if (LabelOf(catalog, node, key) != value) return false;
  }
  return true;
}

const GroupRule* RuleOf(const GroupRules& rules, const Catalog& catalog, NodeId node,
                        std::string_view name) {
  for (const GroupRule& rule : rules.rules) {
    if (Selects(rule, catalog, node, name)) return &rule;
  }
  return nullptr;
}

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
      {"minSize", Size(&NodeGroup::min_size)},
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

absl::Status ParseDocument(const std::string& file, const YAML::Node& root, GroupRules& rules) {
  if (!root.IsMap()) return BadSetting(file, "", "is not a map with nodeGroups");
  for (const auto& field : root) {
    const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
    if (name == "groupLabel" && field.second.IsScalar()) {
      rules.group_label = field.second.Scalar();
    } else if (name == "nodeGroups" && field.second.IsSequence()) {
      std::set<std::string> names;
      for (size_t i = 0; i < field.second.size(); ++i) {
        absl::StatusOr<GroupRule> rule = ParseRule(file, i, field.second[i]);
        if (!rule.ok()) return rule.status();
        if (!names.insert(rule->group.name).second) {
          return BadSetting(file, absl::StrCat("nodeGroups[", i, "] (", rule->group.name, ")"),
                            "occurs twice");
        }
        rules.rules.push_back(*std::move(rule));
      }
    } else if (name == "groupLabel" || name == "nodeGroups") {
      return BadSetting(file, name,
                        name == "groupLabel" ? "is not a label's key" : "is not a list");
    } else {
      return BadSetting(file, name, NoSuchField(name, {"groupLabel", "nodeGroups"}));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml) {
  GroupRules rules;
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

bool IsControlPlane(const Catalog& catalog, NodeId node) {
  return LabelOf(catalog, node, "node-role.kubernetes.io/control-plane").has_value() ||
         LabelOf(catalog, node, "node-role.kubernetes.io/master").has_value();
}

NodeGroups AssignGroups(const Catalog& catalog, const GroupRules& rules) {
  struct Members {
    const GroupRule* rule = nullptr;
    std::vector<NodeId> nodes;
  };
  std::map<std::string, Members, std::less<>> by_name;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (IsControlPlane(catalog, node)) continue;
    const std::string_view label = GroupNameOf(catalog, node, rules.group_label);
    const GroupRule* rule = RuleOf(rules, catalog, node, label);
    Members& members = by_name[rule != nullptr ? rule->group.name : std::string(label)];
    members.rule = rule;
    members.nodes.push_back(node);
  }
  NodeGroups groups;
  groups.group_of.assign(catalog.nodes(), kNoGroup);
  for (const auto& [name, members] : by_name) {
    if (members.rule != nullptr && !members.rule->autoscaled) continue;
    NodeGroup group = members.rule != nullptr ? members.rule->group : NodeGroup{};
    group.name = name;
    if (members.rule == nullptr || !members.rule->has_target_size) {
      group.target_size = static_cast<int64_t>(members.nodes.size());
    }
    const GroupId id{static_cast<uint32_t>(groups.groups.size())};
    groups.groups.push_back(std::move(group));
    for (const NodeId node : members.nodes) groups.group_of[Index(node)] = id;
  }
  return groups;
}

}  // namespace ebb
