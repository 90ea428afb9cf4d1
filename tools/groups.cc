#include "tools/groups.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "snapshot/text.h"
#include "tools/cli.h"
#include "tools/duration.h"

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

// Reads one value of a group; what it returns is what is wrong with it.
using Reader = std::function<std::string(const YAML::Node& value, GroupRule& rule)>;

std::string Quoted(const YAML::Node& value) {
  return value.IsScalar() ? absl::StrCat("\"", value.Scalar(), "\"") : "this";
}

template <typename T>
std::optional<T> As(const YAML::Node& value) {
  T result;
  if (!value.IsScalar() || !YAML::convert<T>::decode(value, result)) return std::nullopt;
  return result;
}

Reader Size(int64_t NodeGroup::* field) {
  return [field](const YAML::Node& value, GroupRule& rule) -> std::string {
    const std::optional<int64_t> size = As<int64_t>(value);
    if (!size || *size < 0) return absl::StrCat(Quoted(value), " is not a number of nodes");
    rule.group.*field = *size;
    return "";
  };
}

Reader Fraction(std::optional<double> NodeGroup::* field) {
  return [field](const YAML::Node& value, GroupRule& rule) -> std::string {
    const std::optional<double> fraction = As<double>(value);
    if (!fraction || !(*fraction >= 0 && *fraction <= 1)) {
      return absl::StrCat(Quoted(value), " is not a fraction between 0 and 1");
    }
    rule.group.*field = *fraction;
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
    const std::optional<bool> is = As<bool>(value);
    if (!is) return absl::StrCat(Quoted(value), " is neither true nor false");
    set(rule, *is);
    return "";
  };
}

std::string ReadName(const YAML::Node& value, GroupRule& rule) {
  if (!value.IsScalar() || value.Scalar().empty()) return "is not a name";
  rule.group.name = value.Scalar();
  return "";
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

const std::map<std::string, Reader>& Readers() {
  static const auto* const readers = new std::map<std::string, Reader>{
      {"name", ReadName},
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

absl::Status Bad(std::string_view file, std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(file), ": ", Absl(where), where.empty() ? "" : ": ", Absl(what)));
}

std::string UnknownField(const std::string& field, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(field, known);
  return absl::StrCat("no such field", nearest.empty() ? "" : "; did you mean ", nearest,
                      nearest.empty() ? "" : "?");
}

absl::StatusOr<GroupRule> ParseRule(const std::string& file, size_t index, const YAML::Node& node) {
  std::string where = absl::StrCat("nodeGroups[", index, "]");
  if (!node.IsMap()) return Bad(file, where, "is not a map");
  if (node["name"] && node["name"].IsScalar()) {
    absl::StrAppend(&where, " (", node["name"].Scalar(), ")");
  }
  std::vector<std::string> known;
  for (const auto& [name, reader] : Readers()) known.push_back(name);
  GroupRule rule;
  for (const auto& field : node) {
    if (!field.first.IsScalar()) return Bad(file, where, "a field's name is not a scalar");
    const std::string& name = field.first.Scalar();
    const std::string path = absl::StrCat(where, ".", name);
    const auto reader = Readers().find(name);
    if (reader == Readers().end()) return Bad(file, path, UnknownField(name, known));
    if (const std::string wrong = reader->second(field.second, rule); !wrong.empty()) {
      return Bad(file, path, wrong);
    }
  }
  if (rule.group.name.empty()) return Bad(file, where, "has no name");
  if (rule.group.min_size > rule.group.max_size) {
    return Bad(file, absl::StrCat(where, ".minSize"),
               absl::StrCat(rule.group.min_size, " is more than maxSize, ", rule.group.max_size));
  }
  return rule;
}

absl::StatusOr<GroupRules> ParseDocument(const std::string& file, const YAML::Node& root) {
  GroupRules rules;
  if (!root.IsMap()) return Bad(file, "", "is not a map with nodeGroups");
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
          return Bad(file, absl::StrCat("nodeGroups[", i, "] (", rule->group.name, ")"),
                     "occurs twice");
        }
        rules.rules.push_back(*std::move(rule));
      }
    } else if (name == "groupLabel" || name == "nodeGroups") {
      return Bad(file, name, name == "groupLabel" ? "is not a label's key" : "is not a list");
    } else {
      return Bad(file, name, UnknownField(name, {"groupLabel", "nodeGroups"}));
    }
  }
  return rules;
}

}  // namespace

absl::StatusOr<GroupRules> ParseGroups(const std::string& name, const std::string& yaml) {
  try {
    return ParseDocument(name, YAML::Load(yaml));
  } catch (const YAML::Exception& e) {
    return Bad(name, absl::StrCat("line ", e.mark.line + 1), e.msg);
  }
}

absl::StatusOr<GroupRules> ReadGroupFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  return ParseGroups(path, text.str());
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
