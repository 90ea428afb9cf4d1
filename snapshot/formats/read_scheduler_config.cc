#include "snapshot/formats/read_scheduler_config.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/yaml_documents.h"

namespace ebb {
namespace scheduler_config {
namespace {

using Json = nlohmann::json;
using Keys = std::initializer_list<std::string_view>;

constexpr std::string_view kGroup = "kubescheduler.config.k8s.io/";
constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
constexpr std::string_view kKind = "KubeSchedulerConfiguration";

// Plugins of kube-scheduler besides its filters.
constexpr std::string_view kOtherPlugins[] = {
    "PrioritySort",  "SchedulingGates", "DefaultPreemption", "NodeResourcesBalancedAllocation",
    "ImageLocality", "DefaultBinder",   "GangScheduling",    "DeferredPodScheduling"};
// Filters without a PreFilter.
constexpr std::string_view kOnlyFilters[] = {"NodeUnschedulable", "NodeName", "TaintToleration"};

constexpr std::string_view kPoints[] = {
    "preEnqueue", "queueSort",         "preFilter",      "filter",
    "postFilter", "preScore",          "score",          "reserve",
    "permit",     "preBind",           "bind",           "postBind",
    "multiPoint", "placementGenerate", "placementScore", "podGroupPostFilter"};

bool IsIn(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}
bool IsFilter(std::string_view name) { return IsIn(kSchedulerFilters, name); }

// Where a value stands, and the text to which problems with it are added.
class Place {
 public:
  Place(std::string path, std::string* problems) : path_(std::move(path)), problems_(problems) {}

  [[nodiscard]] Place At(std::string_view key) const {
    return {absl::StrCat(path_, path_.empty() ? "" : ".", Absl(key)), problems_};
  }
  [[nodiscard]] Place At(size_t index) const {
    return {absl::StrCat(path_, "[", index, "]"), problems_};
  }
  void Note(std::string_view what) const {
    absl::StrAppend(problems_, problems_->empty() ? "" : "; ", path_, ": ", Absl(what));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string* problems_;
};

// Null if the member is missing or null.
const Json* Find(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Notes what is not an object, and members other than `keys`.
bool IsObjectOf(const Json& value, Keys keys, const Place& place) {
  if (!value.is_object()) {
    place.Note("must be an object");
    return false;
  }
  for (const auto& [key, member] : value.items()) {
    if (!member.is_null() && std::ranges::find(keys, key) == keys.end()) {
      place.At(key).Note("is not a field that ebb knows");
    }
  }
  return true;
}

template <typename Visit>
void ForEach(const Json* list, const Place& place, Visit visit) {
  if (list == nullptr) return;
  if (!list->is_array()) return place.Note("must be a list");
  for (size_t i = 0; i < list->size(); ++i) visit((*list)[i], place.At(i));
}

std::string TextOf(const Json& object, std::string_view key, const Place& place) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  place.At(key).Note("must be a text");
  return "";
}

// A whole number in the range, or `absent`.
int64_t NumberOf(const Json& object, std::string_view key, int64_t absent, int64_t least,
                 int64_t most, const Place& place) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absent;
  if (value->is_number_integer()) {
    const auto number = value->get<int64_t>();
    if (number >= least && number <= most) return number;
  }
  place.At(key).Note(absl::StrCat("must be a whole number from ", least, " to ", most));
  return absent;
}

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

// Notes a plugin that ebb does not know.
bool CheckPlugin(const std::string& name, const Place& place) {
  if (IsFilter(name) || IsIn(kOtherPlugins, name)) return true;
  place.At("name").Note(
      absl::StrCat(name.empty() ? "the plugin" : name, " is not a plugin that ebb knows"));
  return false;
}

// Calls take(text) for each text of a list.
template <typename Take>
void ForEachText(const Json* list, const Place& place, Take take) {
  ForEach(list, place, [&](const Json& each, const Place& at) {
    if (!each.is_string()) return at.Note("must be a text");
    take(each.get<std::string>());
  });
}

// The plugins that a profile turns on and off at one extension point.
struct Point {
  std::vector<std::pair<std::string, int64_t>> enabled;  // Names and weights.
  std::set<std::string, std::less<>> disabled;

  [[nodiscard]] const int64_t* WeightOf(std::string_view name) const {
    for (const auto& [each, weight] : enabled) {
      if (each == name) return &weight;
    }
    return nullptr;
  }
  [[nodiscard]] bool Disables(std::string_view name) const {
    return disabled.contains("*") || disabled.contains(name);
  }
};

Point ReadPoint(const Json* value, const Place& place) {
  Point point;
  if (value == nullptr || !IsObjectOf(*value, {"enabled", "disabled"}, place)) return point;
  ForEach(Find(*value, "enabled"), place.At("enabled"), [&](const Json& each, const Place& at) {
    if (!IsObjectOf(each, {"name", "weight"}, at)) return;
    std::string name = TextOf(each, "name", at);
    const int64_t weight = NumberOf(each, "weight", 0, 0, kInt32Max, at);
    CheckPlugin(name, at);
    point.enabled.emplace_back(std::move(name), weight);
  });
  ForEach(Find(*value, "disabled"), place.At("disabled"), [&](const Json& each, const Place& at) {
    if (IsObjectOf(each, {"name", "weight"}, at)) point.disabled.insert(TextOf(each, "name", at));
  });
  return point;
}

// The plugins of a profile by extension point.  Source: mergePluginSet and expandMultiPointPlugins:
// what a point enables itself counts most, then what it disables, then multiPoint.
class Plugins {
 public:
  Plugins(const Json* value, const Place& place) {
    if (value != nullptr && value->is_object()) {
      for (const auto& [key, member] : value->items()) {
        if (!IsIn(kPoints, key)) place.At(key).Note("is not an extension point that ebb knows");
      }
    } else if (value != nullptr) {
      place.Note("must be an object");
    }
    for (size_t i = 0; i < std::size(kPoints); ++i) {
      points_[i] =
          ReadPoint(value == nullptr ? nullptr : Find(*value, kPoints[i]), place.At(kPoints[i]));
    }
  }

  [[nodiscard]] bool IsOn(std::string_view name, std::string_view point) const {
    return At(point).WeightOf(name) != nullptr || (!At(point).Disables(name) && IsOnInAll(name));
  }
  // 0: the plugin does not score.
  [[nodiscard]] int64_t ScoreWeight(std::string_view name, int64_t by_default) const {
    if (!IsOn(name, "score")) return 0;
    const int64_t* weight = At("score").WeightOf(name);
    if (weight == nullptr) weight = At("multiPoint").WeightOf(name);
    if (weight == nullptr) return by_default;
    return std::max<int64_t>(*weight, 1);
  }

 private:
  [[nodiscard]] const Point& At(std::string_view point) const {
    return points_[static_cast<size_t>(std::ranges::find(kPoints, point) - std::begin(kPoints))];
  }
  [[nodiscard]] bool IsOnInAll(std::string_view name) const {
    const Point& all = At("multiPoint");
    return all.WeightOf(name) != nullptr || !all.Disables(name);
  }

  std::array<Point, std::size(kPoints)> points_;
};

void ReadPlugins(const Json* value, const Place& place, SchedulerProfile& profile) {
  const Plugins plugins(value, place);
  for (size_t i = 0; i < std::size(kSchedulerFilters); ++i) {
    const std::string_view name = kSchedulerFilters[i];
    const auto bit = static_cast<FilterSet>(1 << i);
    const bool filters = plugins.IsOn(name, "filter");
    const bool pre_filters = IsIn(kOnlyFilters, name) ? filters : plugins.IsOn(name, "preFilter");
    if (!filters) profile.filters_off |= bit;
    if (!pre_filters) profile.pre_filters_off |= bit;
    if (filters && !pre_filters) {
      place.Note(absl::StrCat(Absl(name), " is off at preFilter and on at filter, where it fails"));
    }
  }
  if ((profile.filters_off & kNodeResourcesFitFilter) != 0) {
    place.Note("NodeResourcesFit is off, and ebb moves pods only to nodes with room");
  }
  ScoreWeights& weights = profile.weights;
  const auto set = [&](std::string_view name, int64_t& weight) {
    weight = plugins.ScoreWeight(name, weight);
  };
  set("TaintToleration", weights.taint_toleration);
  set("NodeAffinity", weights.node_affinity);
  set("PodTopologySpread", weights.pod_topology_spread);
  set("InterPodAffinity", weights.inter_pod_affinity);
  set("NodeResourcesFit", weights.node_resources_fit);
  set("NodeResourcesBalancedAllocation", weights.balanced_allocation);
  set("ImageLocality", weights.image_locality);
  set("DynamicResources", weights.dynamic_resources);
}

// Reads the arguments of plugins into a profile.
class Arguments {
 public:
  Arguments(SchedulerConfig& config, SchedulerProfile& profile)
      : config_(config), profile_(profile) {}

  void Read(const Json& entry, const Place& place) {
    if (!IsObjectOf(entry, {"name", "args"}, place)) return;
    const std::string name = TextOf(entry, "name", place);
    if (!CheckPlugin(name, place)) return;
    const Json* const args = Find(entry, "args");
    if (args == nullptr) return;
    const Place at = place.At("args");
    const std::string version = TextOf(*args, "apiVersion", at);
    if (!version.empty() && version != kApiVersion) {
      return at.At("apiVersion").Note(absl::StrCat(version, " is not ", Absl(kApiVersion)));
    }
    if (name == "PodTopologySpread") return ReadSpread(*args, at);
    if (name == "NodeAffinity") return ReadAffinity(*args, at);
    if (name == "NodeResourcesFit") return ReadFit(*args, at);
    if (name == "NodeResourcesBalancedAllocation") return ReadBalanced(*args, at);
    if (name == "InterPodAffinity") return ReadPodAffinity(*args, at);
    // The arguments of these decide neither where a pod may run nor how a node scores.
    if (name == "DefaultPreemption") {
      IsObjectOf(*args,
                 {"apiVersion", "kind", "minCandidateNodesPercentage", "minCandidateNodesAbsolute"},
                 at);
    } else if (name == "VolumeBinding") {
      if (IsObjectOf(*args, {"apiVersion", "kind", "bindTimeoutSeconds", "shape"}, at) &&
          Find(*args, "shape") != nullptr) {
        NotScored(at.At("shape"));
      }
    } else if (name == "DynamicResources") {
      IsObjectOf(*args, {"apiVersion", "kind", "filterTimeout", "bindingTimeout"}, at);
    } else {
      IsObjectOf(*args, {"apiVersion", "kind"}, at);
    }
  }

 private:
  objects::Text Keep(std::string text) { return config_.texts.emplace_back(std::move(text)); }
  void NotScored(const Place& place) { profile_.not_scored.push_back(place.path()); }

  void ReadSpread(const Json& args, const Place& place) {
    if (!IsObjectOf(args, {"apiVersion", "kind", "defaultConstraints", "defaultingType"}, place)) {
      return;
    }
    const std::string type = TextOf(args, "defaultingType", place);
    const Json* const constraints = Find(args, "defaultConstraints");
    if (type == "List") {
      profile_.lists_spread = true;
    } else if (!type.empty() && type != "System") {
      return place.At("defaultingType").Note(absl::StrCat(type, " is not System or List"));
    } else if (constraints != nullptr && !constraints->empty()) {
      return place.At("defaultConstraints").Note("must be empty unless defaultingType is List");
    }
    ForEach(constraints, place.At("defaultConstraints"),
            [this](const Json& each, const Place& at) { ReadConstraint(each, at); });
  }

  void ReadConstraint(const Json& from, const Place& place) {
    // matchLabelKeys has no effect: the deduced selector replaces what it would add.
    if (!IsObjectOf(from,
                    {"maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "matchLabelKeys",
                     "nodeAffinityPolicy", "nodeTaintsPolicy"},
                    place)) {
      return;
    }
    SchedulerProfile::Spread spread;
    spread.max_skew = static_cast<int32_t>(NumberOf(from, "maxSkew", 0, 1, kInt32Max, place));
    if (spread.max_skew == 0 && Find(from, "maxSkew") == nullptr) {
      place.At("maxSkew").Note("is missing");
    }
    spread.topology_key = TextOf(from, "topologyKey", place);
    if (spread.topology_key.empty()) place.At("topologyKey").Note("is missing");
    spread.min_domains = static_cast<int32_t>(NumberOf(from, "minDomains", 1, 1, kInt32Max, place));
    const std::string action = TextOf(from, "whenUnsatisfiable", place);
    spread.hard = action == "DoNotSchedule";
    if (!spread.hard && action != "ScheduleAnyway") {
      place.At("whenUnsatisfiable").Note("must be DoNotSchedule or ScheduleAnyway");
    }
    const auto honors = [&](std::string_view key, bool by_default) {
      const std::string policy = TextOf(from, key, place);
      if (!policy.empty() && policy != "Honor" && policy != "Ignore") {
        place.At(key).Note("must be Honor or Ignore");
      }
      return policy.empty() ? by_default : policy == "Honor";
    };
    spread.honor_affinity = honors("nodeAffinityPolicy", true);
    spread.honor_taints = honors("nodeTaintsPolicy", false);
    profile_.spread.push_back(std::move(spread));
  }

  void ReadAffinity(const Json& args, const Place& place) {
    if (!IsObjectOf(args, {"apiVersion", "kind", "addedAffinity"}, place)) return;
    const Json* const added = Find(args, "addedAffinity");
    if (added == nullptr) return;
    constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const Place at = place.At("addedAffinity");
    if (!IsObjectOf(*added, {kRequired, kPreferred}, at)) return;
    if (const Json* const required = Find(*added, kRequired);
        required != nullptr && IsObjectOf(*required, {"nodeSelectorTerms"}, at.At(kRequired))) {
      profile_.added_affinity.nil = false;
      ForEach(Find(*required, "nodeSelectorTerms"), at.At(kRequired).At("nodeSelectorTerms"),
              [&](const Json& term, const Place& where) {
                profile_.added_affinity.terms.push_back(ReadTerm(term, where));
              });
    }
    ForEach(Find(*added, kPreferred), at.At(kPreferred), [&](const Json& each, const Place& where) {
      if (!IsObjectOf(each, {"weight", "preference"}, where)) return;
      const Json* const term = Find(each, "preference");
      profile_.added_preferences.push_back({.weight = NumberOf(each, "weight", 1, 1, 100, where),
                                            .term = term == nullptr
                                                        ? objects::NodeSelectorTerm()
                                                        : ReadTerm(*term, where.At("preference"))});
    });
  }

  objects::NodeSelectorTerm ReadTerm(const Json& from, const Place& place) {
    objects::NodeSelectorTerm term;
    if (!IsObjectOf(from, {"matchExpressions", "matchFields"}, place)) return term;
    const auto read = [&](std::string_view key, std::vector<objects::Requirement>& to) {
      ForEach(Find(from, key), place.At(key), [&](const Json& each, const Place& at) {
        if (!IsObjectOf(each, {"key", "operator", "values"}, at)) return;
        objects::Requirement& requirement = to.emplace_back();
        requirement.key = Keep(TextOf(each, "key", at));
        requirement.op = Keep(TextOf(each, "operator", at));
        ForEachText(Find(each, "values"), at.At("values"),
                    [&](std::string text) { requirement.values.push_back(Keep(std::move(text))); });
      });
    };
    read("matchExpressions", term.match_expressions);
    read("matchFields", term.match_fields);
    return term;
  }

  void ReadFit(const Json& args, const Place& place) {
    if (!IsObjectOf(
            args,
            {"apiVersion", "kind", "ignoredResources", "ignoredResourceGroups", "scoringStrategy"},
            place)) {
      return;
    }
    const auto names = [&](std::string_view key, std::vector<std::string>& to) {
      ForEachText(Find(args, key), place.At(key),
                  [&](std::string text) { to.push_back(std::move(text)); });
    };
    names("ignoredResources", profile_.ignored_resources);
    names("ignoredResourceGroups", profile_.ignored_groups);
    const Json* const strategy = Find(args, "scoringStrategy");
    if (strategy != nullptr) ReadStrategy(*strategy, place.At("scoringStrategy"));
  }

  void ReadStrategy(const Json& from, const Place& place) {
    if (!IsObjectOf(from, {"type", "resources", "requestedToCapacityRatio"}, place)) return;
    FitScore& score = profile_.fit_score;
    const std::string type = TextOf(from, "type", place);
    using enum FitScore::Strategy;
    if (type == "MostAllocated") {
      score.strategy = kMostAllocated;
    } else if (type == "RequestedToCapacityRatio") {
      score.strategy = kRequestedToCapacityRatio;
    } else if (type != "LeastAllocated" && !type.empty()) {
      place.At("type").Note(absl::StrCat(type, " is not a strategy that ebb knows"));
    }
    const Json* const resources = Find(from, "resources");
    if (resources != nullptr && !resources->empty()) {
      score.cpu_weight = score.memory_weight = 0;
      ForEach(resources, place.At("resources"), [&](const Json& each, const Place& at) {
        if (!IsObjectOf(each, {"name", "weight"}, at)) return;
        const std::string name = TextOf(each, "name", at);
        const int64_t weight = std::max<int64_t>(NumberOf(each, "weight", 1, 0, 100, at), 1);
        if (name == "cpu") {
          score.cpu_weight = weight;
        } else if (name == "memory") {
          score.memory_weight = weight;
        } else {
          NotScored(at.At("name"));
        }
      });
    }
    const Json* const ratio = Find(from, "requestedToCapacityRatio");
    const Place at = place.At("requestedToCapacityRatio");
    if (ratio != nullptr && IsObjectOf(*ratio, {"shape"}, at)) {
      ForEach(Find(*ratio, "shape"), at.At("shape"), [&](const Json& each, const Place& where) {
        if (!IsObjectOf(each, {"utilization", "score"}, where)) return;
        score.shape.emplace_back(NumberOf(each, "utilization", 0, 0, 100, where),
                                 NumberOf(each, "score", 0, 0, 10, where));
      });
    }
    if (score.strategy != kRequestedToCapacityRatio) return;
    const auto rises = [](const auto& a, const auto& b) { return a.first >= b.first; };
    if (score.shape.empty() ||
        std::ranges::adjacent_find(score.shape, rises) != score.shape.end()) {
      at.At("shape").Note("must have points of rising utilization");
    }
  }

  void ReadBalanced(const Json& args, const Place& place) {
    if (!IsObjectOf(args, {"apiVersion", "kind", "resources"}, place)) return;
    std::set<std::string> scored;
    ForEach(Find(args, "resources"), place.At("resources"), [&](const Json& each, const Place& at) {
      if (IsObjectOf(each, {"name", "weight"}, at)) scored.insert(TextOf(each, "name", at));
    });
    if (!scored.empty() && scored != std::set<std::string>{"cpu", "memory"}) {
      NotScored(place.At("resources"));
    }
  }

  void ReadPodAffinity(const Json& args, const Place& place) {
    if (!IsObjectOf(
            args,
            {"apiVersion", "kind", "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"},
            place)) {
      return;
    }
    if (NumberOf(args, "hardPodAffinityWeight", 1, 0, 100, place) != 1) {
      NotScored(place.At("hardPodAffinityWeight"));
    }
    const Json* const ignores = Find(args, "ignorePreferredTermsOfExistingPods");
    if (ignores != nullptr && *ignores != false) {
      NotScored(place.At("ignorePreferredTermsOfExistingPods"));
    }
  }

  SchedulerConfig& config_;
  SchedulerProfile& profile_;
};

void ReadProfile(const Json& from, const std::string& path, bool is_v1, SchedulerConfig& config) {
  SchedulerProfile profile;
  profile.place = path;
  const Place place(path, &profile.not_understood);
  profile.name = TextOf(from, "schedulerName", place);
  if (profile.name.empty()) profile.name = kDefaultScheduler;
  if (const std::optional<uint32_t> other = config.FindProfile(profile.name)) {
    place.At("schedulerName").Note("occurs twice");
    config.profiles[*other].not_understood = profile.not_understood;
    return;
  }
  // An older version may mean something else by the same fields.
  if (is_v1 &&
      IsObjectOf(from, {"schedulerName", "plugins", "pluginConfig", "percentageOfNodesToScore"},
                 place)) {
    ReadPlugins(Find(from, "plugins"), place.At("plugins"), profile);
    Arguments arguments(config, profile);
    ForEach(Find(from, "pluginConfig"), place.At("pluginConfig"),
            [&](const Json& each, const Place& at) { arguments.Read(each, at); });
    if (Find(from, "percentageOfNodesToScore") != nullptr) {
      profile.not_scored.push_back(path + ".percentageOfNodesToScore");
    }
  }
  config.profiles.push_back(std::move(profile));
}

absl::Status ReadConfig(const Json& from, SchedulerConfig& config) {
  const auto text = [&](std::string_view key) {
    const Json* const value = Find(from, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
  };
  const std::string version = text("apiVersion");
  if (text("kind") != kKind || !version.starts_with(kGroup)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a KubeSchedulerConfiguration; kind is \"", text("kind"),
                     "\", apiVersion is \"", version, "\""));
  }
  const bool is_v1 = version == kApiVersion;
  std::string problems;  // Of all profiles.
  const Place place("", &problems);
  if (!is_v1) {
    place.At("apiVersion")
        .Note(absl::StrCat(version, " is another version than ", Absl(kApiVersion)));
  } else {
    IsObjectOf(from,
               {"apiVersion", "kind", "metadata", "parallelism", "leaderElection",
                "clientConnection", "healthzBindAddress", "metricsBindAddress", "enableProfiling",
                "enableContentionProfiling", "percentageOfNodesToScore", "podInitialBackoffSeconds",
                "podMaxBackoffSeconds", "profiles", "extenders", "delayCacheUntilActive"},
               place);
  }
  ForEach(Find(from, "extenders"), place.At("extenders"), [](const Json&, const Place& at) {
    at.Note("ebb does not ask extenders, which may refuse nodes");
  });
  ForEach(Find(from, "profiles"), place.At("profiles"),
          [&](const Json& each, const Place& at) { ReadProfile(each, at.path(), is_v1, config); });
  if (config.profiles.empty()) {
    config.profiles.emplace_back().name = kDefaultScheduler;
  }
  for (SchedulerProfile& profile : config.profiles) {
    if (problems.empty()) break;
    profile.not_understood =
        absl::StrCat(problems, profile.not_understood.empty() ? "" : "; ", profile.not_understood);
  }
  if (Find(from, "percentageOfNodesToScore") != nullptr) {
    config.profiles.front().not_scored.emplace_back("percentageOfNodesToScore");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace scheduler_config

absl::StatusOr<std::shared_ptr<SchedulerConfig>> ParseSchedulerConfig(std::string_view text) {
  if (FirstInvalidUtf8(text) != text.size()) {
    return absl::InvalidArgumentError("is not text in UTF-8");
  }
  if (const auto odd = FindOddCharacter(text)) {
    return absl::InvalidArgumentError(absl::StrCat("line ", odd->line, ": has ", Absl(odd->what)));
  }
  auto config = std::make_shared<SchedulerConfig>();
  config->source = text;
  size_t documents = 0;
  absl::Status read = VisitYamlDocuments(
      "the scheduler's configuration", text, YamlReaders::kBoth,
      [&](const YamlDocument& document) -> absl::Status {
        if (document.json.empty() || document.json == "null") return absl::OkStatus();
        if (++documents > 1) {
          return absl::InvalidArgumentError("has more than one document");
        }
        const auto json = nlohmann::json::parse(document.json, nullptr, /*allow_exceptions=*/false);
        if (json.is_discarded()) return absl::InvalidArgumentError("is not JSON");
        return scheduler_config::ReadConfig(json, *config);
      });
  if (!read.ok()) return read;
  if (documents == 0) return absl::InvalidArgumentError("is empty");
  return config;
}

absl::StatusOr<std::shared_ptr<const SchedulerConfig>> SchedulerConfigIn(
    const ObjectSink::Unevaluated& object) {
  if (object.text.empty()) return nullptr;
  absl::StatusOr<std::shared_ptr<SchedulerConfig>> config = ParseSchedulerConfig(object.text);
  if (!config.ok()) return config.status();
  if ((*config)->SaysNothing()) return nullptr;
  (*config)->of_input = true;
  return *std::move(config);
}

}  // namespace ebb
