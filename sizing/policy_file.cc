#include "sizing/policy_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/printable.h"
#include "platform/http_address.h"
#include "platform/settings_file.h"
#include "sizing/school_files.h"
#include "sizing/settings_reader.h"

namespace ebb {
namespace {

// The scalar keys of a pool, declared like the keys of policies.
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
      {"group", kText, "", ""},
      {"period", kInt, "", "", false, 0, 1e9},
      {"order", kText, "", ""},
      {"retries", kInt, "", "", false, 0, 1e9},
      {"stepTimeout", kInt, "", "", false, 1, 1e9},
      {"file", kText, "", ""},
      {"service", kText, "", ""},
  };
  return keys;
}

std::vector<std::string> KnownOfPool() {
  std::vector<std::string> known = KnownAfter(PoolKeys(), "");
  known.insert(known.end(), {"nodes", "options", "queries"});
  return known;
}

// Reads a map from text to text.
absl::Status ReadTexts(const std::string& where, const YAML::Node& node, std::string_view of_what,
                       const SettingsPlace& place, std::map<std::string, std::string>& texts) {
  const std::string wrong = fmt::format("is not a map of {}", of_what);
  if (!node.IsMap() || node.size() == 0) return place.Bad(node, where, wrong);
  for (const auto& each : node) {
    if (!each.first.IsScalar() || !each.second.IsScalar()) {
      return place.Bad(each.first, where, wrong);
    }
    texts[each.first.Scalar()] = each.second.Scalar();
  }
  return absl::OkStatus();
}

// "pool=web, zone=a".
std::string LabelsOf(const SizedPool& pool) {
  std::vector<std::string> labels;
  for (const auto& [key, value] : pool.nodes) labels.push_back(absl::StrCat(key, "=", value));
  return fmt::format("{}", fmt::join(labels, ", "));
}

// Adds the pools that the file alone cannot separate.
void AddConflicts(SizingFile& file) {
  for (auto one = file.pools.begin(); one != file.pools.end(); ++one) {
    for (auto other = file.pools.begin(); other != one; ++other) {
      if (std::ranges::includes(one->nodes, other->nodes) ||
          std::ranges::includes(other->nodes, one->nodes)) {
        file.conflicts.push_back(fmt::format(
            "pools {} and {}: all nodes with {} are nodes of both", other->name, one->name,
            LabelsOf(std::ssize(one->nodes) > std::ssize(other->nodes) ? *one : *other)));
      } else if (!one->group.empty() && one->group == other->group) {
        file.conflicts.push_back(
            fmt::format("pools {} and {}: both are group {}", other->name, one->name, one->group));
      }
    }
  }
}

// Reads one pool of a file.
class PoolReading {
 public:
  PoolReading(std::string where, const YAML::Node& node, const PolicyRegistry& registry,
              const SettingsPlace& place, SizedPool& pool, std::vector<std::string>& warnings)
      : where_(std::move(where)),
        node_(node),
        registry_(registry),
        place_(place),
        pool_(pool),
        warnings_(warnings) {}

  // With SettingsPlace::all_errors every error is appended: a step ends at its first wrong value,
  // and the next step still runs.
  absl::Status Read() {
    const auto* const all = place_.all_errors;
    const size_t before = all == nullptr ? 0 : all->size();
    if (absl::Status s = ReadKeys(); !s.ok()) return place_.GoOn(s);
    if (school_ == nullptr) return absl::OkStatus();
    for (auto step : {&PoolReading::ReadOptions, &PoolReading::ReadNodes, &PoolReading::TakePeriod,
                      &PoolReading::ReadQueries}) {
      if (absl::Status s = place_.GoOn((this->*step)()); !s.ok()) return s;
    }
    // With wrong options, making the policy would only repeat the errors.
    if (all != nullptr && all->size() > before) return absl::OkStatus();
    return MakePolicy();
  }

 private:
  [[nodiscard]] std::string At(std::string_view key) const {
    return fmt::format("{}.{}", where_, key);
  }
  [[nodiscard]] absl::Status BadKey(const char* key, std::string_view what) const {
    const YAML::Node at = node_[key];
    return place_.Bad(at ? at : node_, At(key), what);
  }

  absl::Status ReadKeys() {
    if (!node_.IsMap()) return place_.Bad(node_, where_, "is not a map");
    const std::vector<std::string> known = KnownOfPool();
    PolicySettings settings;
    for (const auto& field : node_) {
      const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
      if (std::ranges::find(known, name) == known.end()) {
        const absl::Status wrong = place_.Bad(field.first, At(name), NoSuchField(name, known));
        if (absl::Status s = place_.GoOn(wrong); !s.ok()) return s;
        continue;
      }
      if (name == "nodes" || name == "options" || name == "queries") continue;
      absl::Status s = ReadSettings(PoolKeys(), where_, name, field.second, UnknownKeys::kRefuse,
                                    place_, settings);
      if (!s.ok()) return s;
    }
    std::vector<std::string> missing = MissingKeys(PoolKeys(), settings);
    if (!node_["options"] && !settings.Has("file")) missing.emplace_back("options");
    for (const std::string& key : missing) {
      const absl::Status wrong = place_.Bad(node_, At(key), "is required");
      if (absl::Status s = place_.GoOn(wrong); !s.ok()) return s;
    }
    return TakeKeys(settings);
  }

  absl::Status TakeKeys(const PolicySettings& settings) {
    settings.Read("name", pool_.name);
    settings.Read("policy", pool_.policy_name);
    settings.Read("cloud.min", pool_.cloud.min);
    settings.Read("cloud.max", pool_.cloud.max);
    settings.Read("cloud.desired", pool_.desired);
    settings.Read("default", pool_.is_default);
    settings.Read("signalPeriod", pool_.signal_period_s);
    settings.Read("group", pool_.group);
    settings.Read("period", pool_.period_s);
    settings.Read("retries", pool_.retries);
    settings.Read("stepTimeout", pool_.step_timeout_s);
    settings.Read("file", file_);
    settings.Read("service", service_);
    std::string order = "policy";
    settings.Read("order", order);
    if (order != "policy" && order != "planner") return BadKey("order", "is not policy or planner");
    pool_.planners_order = order == "planner";
    if (pool_.name.empty() && settings.Has("name")) return BadKey("name", "is not a name");
    if (pool_.cloud.min > pool_.cloud.max) {
      return place_.Bad(node_["cloud"], At("cloud.min"), "is above max");
    }
    if (!settings.Has("policy")) return absl::OkStatus();  // The missing key is reported already.
    school_ = registry_.Find(pool_.policy_name);
    if (school_ == nullptr) {
      std::vector<PolicyProblem> problems;
      registry_.Make(pool_.policy_name, {}, &problems);
      return BadKey("policy", problems[0].what);
    }
    if (!service_.empty() && (file_.empty() || pool_.policy_name != "clusterman")) {
      return BadKey("service", "is not used here; expected only with policy clusterman and a file");
    }
    return absl::OkStatus();
  }

  absl::Status ReadFile(const std::string& path, SchoolFile kind) {
    const size_t folder = place_.file.rfind('/');
    const bool is_whole = path.starts_with('/') || folder == std::string::npos;
    SettingsPlace other{.file = is_whole ? path : place_.file.substr(0, folder + 1) + path,
                        .all_errors = place_.all_errors};
    const absl::StatusOr<std::string> yaml = ReadWholeFile(other.file);
    if (!yaml.ok()) return yaml.status();
    absl::Status s = ReadSchoolFile(*school_, kind, pool_.name, *yaml, other, settings_);
    for (const std::string& passed_over : other.passed_over) Warn(passed_over);
    // If only one file has options, problems that the policy finds are reported at their place
    // there.
    if (s.ok()) options_place_ = std::move(other);
    return s;
  }

  absl::Status ReadOptions() {
    if (!service_.empty()) {
      if (absl::Status s = ReadFile(service_, SchoolFile::kService); !s.ok()) return s;
    }
    if (!file_.empty()) {
      if (absl::Status s = ReadFile(file_, SchoolFile::kPool); !s.ok()) return s;
    }
    const YAML::Node options = node_["options"];
    if (options) {
      SettingsPlace here{
          .file = place_.file, .follows = school_->follows, .all_errors = place_.all_errors};
      absl::Status s = ReadSettings(school_->keys, At("options"), "", options, UnknownKeys::kRefuse,
                                    here, settings_);
      if (!s.ok()) return s;
      if (file_.empty()) options_place_ = std::move(here);
    }
    options_where_ = file_.empty() ? At("options") : "";
    for (const std::string& missing : MissingKeys(school_->keys, settings_)) {
      if (absl::Status s = place_.GoOn(MissingOption(missing)); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  [[nodiscard]] absl::Status MissingOption(const std::string& missing) const {
    // An item of a list must be completed in the file that has the list; other keys may be given
    // beside `file`.
    if (file_.empty() || missing.find('[') != std::string::npos) {
      return BadOption({missing, "is required"});
    }
    return place_.Bad(node_, At("options." + missing),
                      fmt::format("is required, and {} does not say it: beside file, give {}",
                                  Printable(file_), AsOptions(missing)));
  }

  // "options: {a: {b: ...}}"
  static std::string AsOptions(const std::string& path) {
    std::string text = "options: {";
    size_t deep = 1;
    for (const char each : path) {
      if (each == '.') ++deep;
      text += each == '.' ? std::string(": {") : std::string(1, each);
    }
    return text + ": ..." + std::string(deep, '}');
  }

  // Reports the problem at the line of its option, or else at the line of all options.
  [[nodiscard]] absl::Status BadOption(const PolicyProblem& problem) const {
    const auto line = options_place_.lines.find(problem.path);
    const auto all = options_place_.lines.find("");
    int at = all == options_place_.lines.end() ? 0 : all->second;
    if (line != options_place_.lines.end()) at = line->second;
    std::string path = options_where_;
    if (!path.empty() && !problem.path.empty()) path += '.';
    path += problem.path;
    return options_place_.BadAt(at, path.empty() ? "options" : path, problem.what);
  }

  absl::Status ReadNodes() {
    std::string key;
    std::string value;
    settings_.Read("label_key", key);
    settings_.Read("label_value", value);
    if (node_["nodes"]) {
      absl::Status s = ReadTexts(At("nodes"), node_["nodes"], "labels", place_, pool_.nodes);
      const auto label = pool_.nodes.find(key);
      if (s.ok() && !key.empty() && (label == pool_.nodes.end() || label->second != value)) {
        Warn(
            fmt::format("its nodes are those with {}, and {} counts pods that ask for {}={} "
                        "(label_key, label_value)",
                        LabelsOf(pool_), pool_.policy_name, key, value));
      }
      return s;
    }
    if (key.empty()) return place_.Bad(node_, At("nodes"), "is required");
    pool_.nodes[key] = value;
    return absl::OkStatus();
  }

  // Uses the school's own period unless the file gives one.
  absl::Status TakePeriod() {
    if (school_->period_s == nullptr) return absl::OkStatus();
    const int64_t own_s = school_->period_s(settings_);
    if (!node_["period"]) {
      pool_.period_s = own_s;
    } else if (pool_.period_s != own_s && !school_->period_key.empty()) {
      Warn(
          fmt::format("period is {}, {} is {}: rounds are as far apart as `period` says, and the "
                      "policy counts by {}",
                      DurationText(pool_.period_s), school_->period_key, DurationText(own_s),
                      school_->period_key));
    }
    return absl::OkStatus();
  }

  void Warn(std::string_view what) {
    warnings_.push_back(fmt::format("pool {}: {}", pool_.name, what));
  }

  absl::Status ReadQueries() {
    if (!node_["queries"]) return absl::OkStatus();
    return ReadTexts(At("queries"), node_["queries"], "queries by signal", place_, pool_.queries);
  }

  absl::Status MakePolicy() {
    std::vector<PolicyProblem> problems;
    pool_.policy = school_->make(settings_, &problems);
    if (pool_.policy != nullptr) return absl::OkStatus();
    if (problems.empty()) problems.push_back({"", "makes no policy"});
    for (const PolicyProblem& problem : problems) {
      if (absl::Status s = place_.GoOn(BadOption(problem)); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  const std::string where_;
  const YAML::Node node_;
  const PolicyRegistry& registry_;
  SettingsPlace place_;
  SizedPool& pool_;
  std::vector<std::string>& warnings_;
  const PolicySchool* school_ = nullptr;
  std::string file_;
  std::string service_;
  PolicySettings settings_;
  SettingsPlace options_place_{};
  std::string options_where_;
};

absl::Status ReadPools(const YAML::Node& list, const PolicyRegistry& registry,
                       const SettingsPlace& place, SizingFile& file) {
  if (!list.IsSequence()) return place.Bad(list, "pools", "is not a list");
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("pools[{}]", i);
    SizedPool& pool = file.pools.emplace_back();
    absl::Status s = PoolReading(where, list[i], registry, place, pool, file.warnings).Read();
    if (!s.ok()) return s;
    if (!names.insert(pool.name).second && !pool.name.empty()) {
      s = place.GoOn(place.Bad(list[i]["name"], where + ".name",
                               fmt::format("two pools have the name \"{}\"", pool.name)));
      if (!s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAddress(const YAML::Node& url, const std::string& where,
                          const SettingsPlace& place) {
  const absl::StatusOr<HttpAddress> address = ParseHttpAddress(url.Scalar());
  if (address.ok()) return absl::OkStatus();
  return place.Bad(url, where, std::string(address.status().message()));
}

absl::Status ReadNotifier(const std::string& where, const YAML::Node& node, SettingsPlace& place,
                          NotifierSettings& notifier) {
  using enum PolicyValueType;
  static const std::vector<PolicyKey> keys = {
      {"log", kBool, "", ""},
      {"webhook.url", kText, "", ""},
      {"webhook.retries", kInt, "", "", false, 0, 100},
      {"webhook.timeout", kInt, "", "", false, 1, 600},
      {"exec.command[]", kText, "", ""},
      {"exec.timeout", kInt, "", "", false, 1, 600},
  };
  PolicySettings settings;
  absl::Status s = ReadSettings(keys, where, "", node, UnknownKeys::kRefuse, place, settings);
  if (!s.ok()) return s;
  if (node.size() != 1) return place.Bad(node, where, "is not one of log, webhook and exec");
  if (node["webhook"]) {
    notifier.kind = NotifierSettings::Kind::kWebhook;
    settings.Read("webhook.url", notifier.url);
    settings.Read("webhook.retries", notifier.retries);
    settings.Read("webhook.timeout", notifier.timeout_s);
    const YAML::Node url = node["webhook"]["url"];
    if (notifier.url.empty()) return place.Bad(node, where + ".webhook.url", "is required");
    if (absl::Status s = CheckAddress(url, where + ".webhook.url", place); !s.ok()) return s;
  }
  if (node["exec"]) {
    notifier.kind = NotifierSettings::Kind::kExec;
    notifier.command = settings.Texts("exec.command");
    settings.Read("exec.timeout", notifier.timeout_s);
    const bool none = notifier.command.empty() || notifier.command[0].empty();
    if (none) return place.Bad(node, where + ".exec.command", "is required");
  }
  return absl::OkStatus();
}

absl::Status ReadNotifications(const YAML::Node& list, SettingsPlace& place,
                               std::vector<NotifierSettings>& notifications) {
  if (!list.IsSequence()) return place.Bad(list, "notifications", "is not a list");
  for (size_t i = 0; i < list.size(); ++i) {
    absl::Status s = ReadNotifier(fmt::format("notifications[{}]", i), list[i], place,
                                  notifications.emplace_back());
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// Reads what the file has besides its pools.
absl::Status ReadRest(const YAML::Node& root, SettingsPlace& place, SizingFile& file) {
  using enum PolicyValueType;
  static const std::vector<PolicyKey> keys = {
      {"prometheus.url", kText, "", ""},
      {"prometheus.timeout", kInt, "", "", false, 1, 600},
      {"discover.prefix", kText, "", ""},
  };
  PolicySettings settings;
  for (const char* const name : {"prometheus", "discover"}) {
    if (!root[name]) continue;
    absl::Status s =
        ReadSettings(keys, "", name, root[name], UnknownKeys::kRefuse, place, settings);
    if (!s.ok()) return s;
  }
  settings.Read("prometheus.url", file.prometheus.url);
  settings.Read("prometheus.timeout", file.prometheus.timeout_s);
  if (root["prometheus"] && file.prometheus.url.empty()) {
    return place.Bad(root["prometheus"], "prometheus.url", "is required");
  }
  if (root["prometheus"]) {
    absl::Status s = CheckAddress(root["prometheus"]["url"], "prometheus.url", place);
    if (!s.ok()) return s;
  }
  if (root["discover"]) {
    settings.Read("discover.prefix", file.discover_prefix.emplace());
  }
  if (!root["notifications"]) return absl::OkStatus();
  return ReadNotifications(root["notifications"], place, file.notifications);
}

}  // namespace

absl::StatusOr<SizingFile> ReadSizingFile(const std::string& file, const std::string& yaml,
                                          const PolicyRegistry& registry,
                                          std::vector<std::string>* all_errors) {
  SizingFile read;
  const auto parse = [&](const YAML::Node& root) -> absl::Status {
    SettingsPlace place{.file = file, .all_errors = all_errors};
    if (!root.IsMap()) return place.BadAt(0, "pools", "is required");
    const std::vector<std::string> known = {"pools", "notifications", "prometheus", "discover"};
    for (const auto& field : root) {
      const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
      if (std::ranges::find(known, name) == known.end()) {
        absl::Status s = place.GoOn(place.Bad(field.first, name, NoSuchField(name, known)));
        if (!s.ok()) return s;
      }
    }
    if (!root["pools"] && !root["discover"]) return place.BadAt(0, "pools", "is not a list");
    if (absl::Status s = place.GoOn(ReadRest(root, place, read)); !s.ok()) return s;
    return root["pools"] ? ReadPools(root["pools"], registry, place, read) : absl::OkStatus();
  };
  if (absl::Status s = ParseSettings(file, yaml, parse); !s.ok()) return s;
  if (all_errors != nullptr && !all_errors->empty()) return read;
  AddConflicts(read);
  for (size_t i = 0; i < read.pools.size(); ++i) {
    if (read.pools[i].queries.empty() || !read.prometheus.url.empty()) continue;
    return BadSetting(file, fmt::format("pools[{}].queries", i), "needs prometheus.url");
  }
  return read;
}

absl::StatusOr<std::vector<SizedPool>> ReadPolicyFile(const std::string& file,
                                                      const std::string& yaml,
                                                      const PolicyRegistry& registry) {
  absl::StatusOr<SizingFile> read = ReadSizingFile(file, yaml, registry);
  if (!read.ok()) return read.status();
  return std::move(read->pools);
}

std::string NoNodes(const SizedPool& pool) {
  return absl::StrCat("no node has the labels ", LabelsOf(pool));
}

}  // namespace ebb
