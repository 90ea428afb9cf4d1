#include "sizing/school_files.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "platform/settings_file.h"
#include "sizing/policy/maestro/maestro_options.h"

namespace ebb {
namespace {

constexpr std::string_view kServiceKeys[] = {
    "autoscaling.setpoint",
    "autoscaling.target_capacity_margin",
    "autoscaling.excluded_resources[]",
    "exclude_daemonset_pods",
};

struct FileReading {
  const std::vector<PolicyKey>& keys;
  SettingsPlace& place;
  PolicySettings& settings;

  absl::Status Take(const std::string& where, const std::string& path, const YAML::Node& node) {
    return ReadSettings(keys, where, path, node, UnknownKeys::kSkip, place, settings);
  }
};

absl::Status ReadEscalator(FileReading& to, std::string_view pool, const YAML::Node& root) {
  const YAML::Node groups = root["node_groups"];
  if (!groups || !groups.IsSequence()) {
    return to.place.BadAt(0, "node_groups", "is not a list");
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const YAML::Node& group = groups[i];
    const bool named = group.IsMap() && group["name"] && group["name"].IsScalar() &&
                       group["name"].Scalar() == pool;
    if (named || groups.size() == 1) {
      return to.Take(fmt::format("node_groups[{}]", i), "", group);
    }
  }
  return to.place.Bad(groups, "node_groups",
                      fmt::format("has no group of the name \"{}\", the pool's", pool));
}

bool UsesRequests(const PolicySettings& settings) {
  for (const char* const list : {"up.metricsTrigger", "down.metricsTrigger"}) {
    for (size_t i = 0; i < settings.Count(list); ++i) {
      std::string type;
      settings.Read(fmt::format("{}[{}].type", list, i), type);
      if (type == "cpu" || type == "mem") return true;
    }
  }
  return false;
}

// The requests of a scheduler with one container, or of each of its containers.
std::vector<MaestroRequests> RequestsOf(const YAML::Node& root) {
  const auto text = [](const YAML::Node& node, const char* key) {
    if (!node.IsMap() || !node["requests"] || !node["requests"].IsMap()) return std::string();
    const YAML::Node value = node["requests"][key];
    return value && value.IsScalar() ? value.Scalar() : std::string();
  };
  const YAML::Node containers = root["containers"];
  if (!containers || !containers.IsSequence()) {
    return {{.cpu = text(root, "cpu"), .memory = text(root, "memory")}};
  }
  std::vector<MaestroRequests> requests;
  for (const YAML::Node& each : containers) {
    const bool named = each.IsMap() && each["name"] && each["name"].IsScalar();
    requests.push_back({.container = named ? each["name"].Scalar() : "?",
                        .cpu = text(each, "cpu"),
                        .memory = text(each, "memory")});
  }
  return requests;
}

absl::Status ReadMaestro(FileReading& to, const YAML::Node& root) {
  const YAML::Node section = root["autoscaling"];
  if (!section) return to.place.BadAt(0, "autoscaling", "is required");
  if (absl::Status s = to.Take("autoscaling", "", section); !s.ok()) return s;
  if (!UsesRequests(to.settings)) return absl::OkStatus();
  MaestroOptions options;
  for (const char* const list : {"up.metricsTrigger", "down.metricsTrigger"}) {
    for (size_t i = 0; i < to.settings.Count(list); ++i) {
      to.settings.Read(fmt::format("{}[{}].type", list, i),
                       options.up.metrics_trigger.emplace_back().type);
    }
  }
  const std::vector<std::string> problems = RequestProblems(options, RequestsOf(root));
  for (const std::string& problem : problems) {
    // "requests.cpu: must be set for triggers of type cpu"
    const size_t key_end = problem.rfind(": ");
    const absl::Status wrong =
        to.place.BadAt(0, problem.substr(0, key_end), problem.substr(key_end + 2));
    if (absl::Status s = to.place.GoOn(wrong); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ReadClusterman(FileReading& to, SchoolFile kind, const YAML::Node& root) {
  const YAML::Node signal = kind == SchoolFile::kPool ? root["autoscale_signal"] : YAML::Node();
  if (!signal || !signal.IsMap() || !signal["parameters"] || !signal["parameters"].IsSequence()) {
    return to.Take("", "", root);
  }
  // The program has a list of maps; ebb's settings have one map.
  YAML::Node one(YAML::NodeType::Map);
  for (const auto& field : signal) {
    if (field.first.Scalar() != "parameters") one[field.first.Scalar()] = field.second;
  }
  for (const YAML::Node& each : signal["parameters"]) {
    if (!each.IsMap()) {
      return to.place.Bad(each, "autoscale_signal.parameters", "is not a list of maps");
    }
    for (const auto& parameter : each) {
      one["parameters"][parameter.first.Scalar()] = parameter.second;
    }
  }
  YAML::Node whole(YAML::NodeType::Map);
  for (const auto& field : root) {
    const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
    whole[name] = name == "autoscale_signal" ? one : field.second;
  }
  return to.Take("", "", whole);
}

}  // namespace

absl::Status ReadSchoolFile(const PolicySchool& school, SchoolFile kind, std::string_view pool,
                            const std::string& yaml, SettingsPlace& place,
                            PolicySettings& settings) {
  place.follows = school.follows;
  place.others = school.others;
  std::vector<PolicyKey> keys;
  for (const PolicyKey& key : school.keys) {
    const bool of_service = std::ranges::find(kServiceKeys, key.path) != std::end(kServiceKeys);
    if (kind == SchoolFile::kPool || of_service) keys.push_back(key);
  }
  FileReading to{keys, place, settings};
  return ParseSettings(place.file, yaml, [&](const YAML::Node& root) -> absl::Status {
    if (!root.IsMap()) return place.BadAt(0, "file", "is not a map");
    if (school.name == "escalator") return ReadEscalator(to, pool, root);
    if (school.name == "maestro") return ReadMaestro(to, root);
    if (school.name == "clusterman") return ReadClusterman(to, kind, root);
    return place.BadAt(0, "file",
                       fmt::format("{} has no configuration files: give options", school.name));
  });
}

}  // namespace ebb
