#include "service/sizing/policy_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/settings_file.h"

namespace ebb {
namespace {

// The file, and where each key of one pool's options stands.
struct Place {
  const std::string& file;
  std::map<std::string, int> lines{};

  [[nodiscard]] absl::Status Bad(const YAML::Node& node, const std::string& path,
                                 std::string_view what) const {
    return BadAt(node.Mark().line, path, what);
  }
  [[nodiscard]] absl::Status BadAt(int line, const std::string& path, std::string_view what) const {
    return BadSetting(file, fmt::format("line {}: {}", line + 1, path), what);
  }
};

// Names that may stand after `prefix` ("" or "up.").
std::vector<std::string> KnownAfter(const std::vector<PolicyKey>& keys, const std::string& prefix) {
  std::set<std::string> names;
  for (const PolicyKey& key : keys) {
    if (!key.path.starts_with(prefix)) continue;
    const std::string rest = key.path.substr(prefix.size());
    names.insert(rest.substr(0, rest.find_first_of(".[")));
  }
  return {names.begin(), names.end()};
}

bool IsPrefix(const std::vector<PolicyKey>& keys, const std::string& prefix) {
  return std::ranges::any_of(keys,
                             [&](const PolicyKey& key) { return key.path.starts_with(prefix); });
}

// What is wrong with a scalar, or "".
std::string ReadScalar(const PolicyKey& key, const YAML::Node& node, PolicyValue& value) {
  if (!node.IsScalar()) return fmt::format("is not a value of type {}", Name(key.type));
  double number = 0;
  switch (key.type) {
    case PolicyValueType::kBool: {
      bool is = false;
      const std::string wrong = ReadBool(node, is);
      value = is;
      return wrong;
    }
    case PolicyValueType::kText:
      value = node.Scalar();
      return "";
    case PolicyValueType::kInt: {
      const std::optional<int64_t> read = AsInteger(node);
      if (!read) return Quoted(node) + " is not a whole number";
      value = *read;
      number = static_cast<double>(*read);
      break;
    }
    case PolicyValueType::kNumber: {
      const std::optional<double> read = AsReal(node);
      if (!read || std::isnan(*read)) return Quoted(node) + " is not a number";
      value = *read;
      number = *read;
      break;
    }
  }
  if (number < key.min) return fmt::format("{} is below {}", node.Scalar(), key.min);
  if (number > key.max) return fmt::format("{} is above {}", node.Scalar(), key.max);
  return "";
}

// Takes `node`, which stands at `path` of the options, into flat settings.
absl::Status Flatten(const std::vector<PolicyKey>& keys, const std::string& where,
                     const std::string& path, const YAML::Node& node, Place& place,
                     PolicySettings& settings) {
  place.lines[path] = node.Mark().line;
  const std::string at = path.empty() ? where : where + "." + path;
  const std::string pattern = KeyOf(path);
  for (const PolicyKey& key : keys) {
    if (key.path != pattern) continue;
    PolicyValue value;
    const std::string wrong = ReadScalar(key, node, value);
    if (!wrong.empty()) return place.Bad(node, at, wrong);
    settings.Set(path, std::move(value));
    return absl::OkStatus();
  }
  if (IsPrefix(keys, pattern + "[]")) {
    if (!node.IsSequence()) return place.Bad(node, at, "is not a list");
    settings.SetCount(path, node.size());
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string item = fmt::format("{}[{}]", path, i);
      absl::Status s = Flatten(keys, where, item, node[i], place, settings);
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }
  if (!node.IsMap()) return place.Bad(node, at, "is not a map");
  const std::string prefix = path.empty() ? "" : pattern + ".";
  for (const auto& field : node) {
    if (!field.first.IsScalar()) return place.Bad(field.first, at, "a key is not a scalar");
    const std::string& name = field.first.Scalar();
    const std::string deeper = path.empty() ? name : absl::StrCat(path, ".", name);
    const std::vector<std::string> known = KnownAfter(keys, prefix);
    if (std::ranges::find(known, name) == known.end()) {
      return place.Bad(field.first, absl::StrCat(where, ".", deeper), NoSuchField(name, known));
    }
    absl::Status s = Flatten(keys, where, deeper, field.second, place, settings);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// The first required key that is not there, or "".
std::string Missing(const std::vector<PolicyKey>& keys, const PolicySettings& settings) {
  for (const PolicyKey& key : keys) {
    if (!key.required) continue;
    const size_t list = key.path.find("[]");
    if (list == std::string::npos) {
      if (!settings.Has(key.path)) return key.path;
      continue;
    }
    const std::string name = key.path.substr(0, list);
    for (size_t i = 0; i < settings.Count(name); ++i) {
      const std::string path = fmt::format("{}[{}]{}", name, i, key.path.substr(list + 2));
      if (!settings.Has(path)) return path;
    }
  }
  return "";
}

absl::Status ReadOptions(const std::string& where, const YAML::Node& node,
                         const PolicyRegistry& registry, Place& place, SizedPool& pool) {
  PolicySettings settings;
  const PolicySchool& school = *registry.Find(pool.policy_name);
  absl::Status s = Flatten(school.keys, where, "", node, place, settings);
  if (!s.ok()) return s;
  const std::string missing = Missing(school.keys, settings);
  if (!missing.empty()) return place.Bad(node, where + "." + missing, "is required");
  std::vector<PolicyProblem> problems;
  pool.policy = school.make(settings, &problems);
  if (pool.policy != nullptr) return absl::OkStatus();
  const PolicyProblem problem =
      problems.empty() ? PolicyProblem{"", "makes no policy"} : problems[0];
  const auto line = place.lines.find(problem.path);
  return place.BadAt(line == place.lines.end() ? node.Mark().line : line->second,
                     problem.path.empty() ? where : where + "." + problem.path, problem.what);
}

// The keys of a pool, and of its `cloud`, are keys like those of policies.
const std::vector<PolicyKey>& PoolKeys() {
  using enum PolicyValueType;
  static const std::vector<PolicyKey> keys = {
      {"name", kText, "", "", true},
      {"policy", kText, "", "", true},
      {"cloud.min", kInt, "", "", true, 0, 1e9},
      {"cloud.max", kInt, "", "", true, 0, 1e9},
      {"cloud.desired", kInt, "", "", false, 0, 1e9},
      {"default", kBool, "", ""},
      {"signalPeriod", kInt, "", "", false, 0, 1e9},
  };
  return keys;
}

absl::Status ReadNodes(const std::string& where, const YAML::Node& node, const Place& place,
                       SizedPool& pool) {
  if (!node.IsMap() || node.size() == 0) {
    return place.Bad(node, where, "is not a map of labels");
  }
  for (const auto& label : node) {
    if (!label.first.IsScalar() || !label.second.IsScalar()) {
      return place.Bad(label.first, where, "is not a map of labels");
    }
    pool.nodes[label.first.Scalar()] = label.second.Scalar();
  }
  return absl::OkStatus();
}

absl::Status ReadPool(const std::string& where, const YAML::Node& node,
                      const PolicyRegistry& registry, Place& place, SizedPool& pool) {
  if (!node.IsMap()) return place.Bad(node, where, "is not a map");
  PolicySettings settings;
  const std::vector<PolicyKey>& keys = PoolKeys();
  for (const auto& field : node) {
    const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
    if (name == "nodes" || name == "options") continue;
    const std::vector<std::string> known = {"name",    "policy",  "nodes",       "cloud",
                                            "default", "options", "signalPeriod"};
    if (std::ranges::find(known, name) == known.end()) {
      return place.Bad(field.first, absl::StrCat(where, ".", name), NoSuchField(name, known));
    }
    absl::Status s = Flatten(keys, where, name, field.second, place, settings);
    if (!s.ok()) return s;
  }
  std::string missing = Missing(keys, settings);
  for (const char* name : {"nodes", "options"}) {
    if (missing.empty() && !node[name]) missing = name;
  }
  if (!missing.empty()) return place.Bad(node, where + "." + missing, "is required");
  settings.Read("name", pool.name);
  settings.Read("policy", pool.policy_name);
  settings.Read("cloud.min", pool.cloud.min);
  settings.Read("cloud.max", pool.cloud.max);
  settings.Read("cloud.desired", pool.desired);
  settings.Read("default", pool.is_default);
  settings.Read("signalPeriod", pool.signal_period_s);
  if (pool.name.empty()) return place.Bad(node["name"], where + ".name", "is not a name");
  if (pool.cloud.min > pool.cloud.max) {
    return place.Bad(node["cloud"], where + ".cloud.min", "is above max");
  }
  if (registry.Find(pool.policy_name) == nullptr) {
    return place.Bad(node["policy"], where + ".policy",
                     NoSuchField(pool.policy_name, registry.Names()));
  }
  absl::Status s = ReadNodes(where + ".nodes", node["nodes"], place, pool);
  if (!s.ok()) return s;
  return ReadOptions(where + ".options", node["options"], registry, place, pool);
}

}  // namespace

absl::StatusOr<std::vector<SizedPool>> ReadPolicyFile(const std::string& file,
                                                      const std::string& yaml,
                                                      const PolicyRegistry& registry) {
  std::vector<SizedPool> pools;
  const auto parse = [&](const YAML::Node& root) -> absl::Status {
    Place place{file};
    if (!root.IsMap()) return place.BadAt(0, "pools", "is required");
    for (const auto& field : root) {
      const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
      if (name != "pools") return place.Bad(field.first, name, NoSuchField(name, {"pools"}));
    }
    const YAML::Node list = root["pools"];
    if (!list || !list.IsSequence()) return place.BadAt(0, "pools", "is not a list");
    std::set<std::string> names;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string where = fmt::format("pools[{}]", i);
      place.lines.clear();
      SizedPool& pool = pools.emplace_back();
      absl::Status s = ReadPool(where, list[i], registry, place, pool);
      if (!s.ok()) return s;
      if (!names.insert(pool.name).second) {
        return place.Bad(list[i]["name"], where + ".name",
                         fmt::format("there are two pools of the name \"{}\"", pool.name));
      }
    }
    return absl::OkStatus();
  };
  absl::Status s = ParseSettings(file, yaml, parse);
  if (!s.ok()) return s;
  return pools;
}

}  // namespace ebb
