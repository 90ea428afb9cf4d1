#include "service/round_options.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"

namespace ebb {

static_assert(kOptionSecondsMax <= kLongestDurationS, "the engine would refuse what a flag takes");

namespace {

using Json = nlohmann::ordered_json;

// --- The table of fields --------------------------------------------------------------
//
// One function a struct.  The structured binding names every field of the struct: with one
// more or one less it does not compile.  `fields` is an OptionsWriter or an OptionsReader.

template <typename Fields>
void Visit(DrainOptions& options, Fields& fields) {
  auto& [system_pods, local_storage, custom_controller_pods, min_replica_count, timeout_s] =
      options;
  fields.Switch("skipNodesWithSystemPods", system_pods);
  fields.Switch("skipNodesWithLocalStorage", local_storage);
  fields.Switch("skipNodesWithCustomControllerPods", custom_controller_pods);
  fields.Count("minReplicaCount", min_replica_count);
  fields.Seconds("blockingSystemPodDisruptionTimeoutSeconds", timeout_s);
}

template <typename Fields>
void Visit(PlannerOptions& options, Fields& fields) {
  auto& [threshold, gpu_threshold, unready, ignore_daemonsets, ignore_mirror_pods,
         recheck_timeout_s, min_nodes_per_pass, drain] = options;
  fields.Number("scaleDownUtilizationThreshold", threshold, 1);
  fields.Number("scaleDownGpuUtilizationThreshold", gpu_threshold, 1);
  fields.Switch("scaleDownUnreadyEnabled", unready);
  fields.Switch("ignoreDaemonsetsUtilization", ignore_daemonsets);
  fields.Switch("ignoreMirrorPodsUtilization", ignore_mirror_pods);
  fields.Seconds("unremovableNodeRecheckTimeoutSeconds", recheck_timeout_s);
  fields.Count("minNodesPerPass", min_nodes_per_pass);
  fields.Struct("drain", drain);
}

template <typename Fields>
void Visit(ClusterMinimums& minimums, Fields& fields) {
  auto& [cores, memory_bytes, nodes] = minimums;
  fields.Count("cores", cores);
  fields.Integer("memoryBytes", memory_bytes, 0, kOptionCountMax << 30);
  fields.Count("nodes", nodes);
}

template <typename Fields>
void Visit(DeletionOptions& options, Fields& fields) {
  auto& [unneeded_time_s, unready_time_s, minimums, groups_have_templates] = options;
  fields.Seconds("scaleDownUnneededTimeSeconds", unneeded_time_s);
  fields.Seconds("scaleDownUnreadyTimeSeconds", unready_time_s);
  fields.Struct("minimums", minimums);
  fields.Switch("groupsHaveTemplates", groups_have_templates);
}

template <typename Fields>
void Visit(DeletionBudgets& budgets, Fields& fields) {
  auto& [max_scale_down_parallelism, max_drain_parallelism] = budgets;
  fields.Count("maxScaleDownParallelism", max_scale_down_parallelism);
  fields.Count("maxDrainParallelism", max_drain_parallelism);
}

template <typename Fields>
void Visit(CooldownOptions& options, Fields& fields) {
  auto& [after_add_s, after_delete_s, after_failure_s, type_local] = options;
  fields.Seconds("scaleDownDelayAfterAddSeconds", after_add_s);
  fields.Seconds("scaleDownDelayAfterDeleteSeconds", after_delete_s);
  fields.Seconds("scaleDownDelayAfterFailureSeconds", after_failure_s);
  fields.Switch("scaleDownDelayTypeLocal", type_local);
}

template <typename Fields>
void Visit(ScaleDownOptions& options, Fields& fields) {
  auto& [planner, deletion, budgets, cooldown, ok_unready_count, max_unready_percentage,
         startup_time_s, clock_jump_max_s, soft_taint_count, candidate_ttl_s, eviction_ttl_s,
         displaced_pods, skipped_timer, returned_node, verify, unneeded_limit] = options;
  fields.Struct("planner", planner);
  fields.Struct("deletion", deletion);
  fields.Struct("budgets", budgets);
  fields.Struct("cooldown", cooldown);
  fields.Count("okTotalUnreadyCount", ok_unready_count);
  fields.Number("maxTotalUnreadyPercentage", max_unready_percentage, 100);
  fields.Seconds("maxNodeStartupTimeSeconds", startup_time_s);
  fields.Seconds("clockJumpMaxSeconds", clock_jump_max_s);
  fields.Count("maxBulkSoftTaintCount", soft_taint_count);
  fields.Seconds("nodeDeletionCandidateTtlSeconds", candidate_ttl_s);
  fields.Seconds("recentEvictionTtlSeconds", eviction_ttl_s);
  fields.OneOf("displacedPods", displaced_pods, kDisplacedPodsWords);
  fields.OneOf("skippedTimer", skipped_timer, kSkippedTimerWords);
  fields.OneOf("returnedNode", returned_node, kReturnedNodeWords);
  fields.OneOf("verify", verify, kVerifyPlansWords);
  fields.Switch("unneededLimit", unneeded_limit);
}

template <typename Fields>
void Visit(LoadOptions& options, Fields& fields) {
  auto& [priority_cutoff, limits, use, strict, assume_complete, allow_incomplete, bypassed,
         match_os, version] = options;
  static_cast<void>(limits);
  static_cast<void>(use);
  static_cast<void>(strict);
  static_cast<void>(allow_incomplete);
  fields.Integer("expendablePodsPriorityCutoff", priority_cutoff,
                 std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  fields.Switch("assumeComplete", assume_complete);
  fields.Texts("bypassedSchedulerNames", bypassed);
  // Rounds that were recorded before these options were made by the rules that were all then.
  fields.Switch("matchOs", match_os, /*absent=*/false);
  fields.OneOf("kubernetesVersion", version, kKubernetesVersionWords,
               /*absent=*/std::optional(KubernetesVersion::k136));
}

template <typename Fields>
void Visit(ReadinessRules& rules, Fields& fields) {
  auto& [startup_taints, startup_taint_prefixes, csi_node_aware] = rules;
  fields.Texts("startupTaints", startup_taints);
  fields.Texts("startupTaintPrefixes", startup_taint_prefixes);
  fields.Switch("csiNodeAware", csi_node_aware);
}

template <typename Fields>
void Visit(RoundOptions& options, Fields& fields) {
  auto& [scale_down, candidate_order, readiness, load] = options;
  fields.OneOf("candidateOrder", candidate_order, kCandidateOrderWords);
  fields.Struct("load", load);
  fields.Struct("readiness", readiness);
  fields.Struct("scaleDown", scale_down);
}

// --- What goes over it ----------------------------------------------------------------

class OptionsWriter {
 public:
  explicit OptionsWriter(Json& json) : json_(json) {}

  void Switch(const char* name, bool value, std::optional<bool> /*absent*/ = std::nullopt) {
    json_[name] = value;
  }
  template <typename Number>
  void Count(const char* name, Number value) {
    json_[name] = value;
  }
  void Seconds(const char* name, int64_t value) { json_[name] = value; }
  void Integer(const char* name, int64_t value, int64_t /*min*/, int64_t /*max*/) {
    json_[name] = value;
  }
  void Number(const char* name, double value, double /*max*/) { json_[name] = value; }
  void Texts(const char* name, const std::vector<std::string>& value) { json_[name] = value; }
  template <typename Enum, size_t kSize>
  void OneOf(const char* name, Enum value, const Word<Enum> (&words)[kSize],
             const std::type_identity_t<std::optional<Enum>>& /*absent*/ = std::nullopt) {
    for (const Word<Enum>& word : words) {
      if (word.value == value) json_[name] = word.text;
    }
  }
  template <typename Options>
  void Struct(const char* name, Options& value) {
    Json json = Json::object();
    OptionsWriter writer(json);
    Visit(value, writer);
    json_[name] = std::move(json);
  }

 private:
  Json& json_;
};

class OptionsReader {
 public:
  // `path` stands before the names of fields in errors.
  OptionsReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  // "scaleDown.budgets.maxDrainParallelism: -1 is not from 0 to 1000000000", of the first
  // field that is wrong; empty where none is.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  // `absent` is the value where the form does not have the field; without it that is wrong.
  void Switch(const char* name, bool& value, std::optional<bool> absent = std::nullopt) {
    if (absent && !json_.contains(name)) {
      value = *absent;
      return;
    }
    const Json* const json = Find(name);
    if (json == nullptr) return;
    if (!json->is_boolean()) return Wrong(name, "is neither true nor false");
    value = json->get<bool>();
  }
  template <typename Number>
  void Count(const char* name, Number& value) {
    auto number = static_cast<int64_t>(value);
    Integer(name, number, 0, kOptionCountMax);
    value = static_cast<Number>(number);
  }
  void Seconds(const char* name, int64_t& value) { Integer(name, value, 0, kOptionSecondsMax); }
  void Integer(const char* name, int64_t& value, int64_t min, int64_t max) {
    const Json* const json = Find(name);
    if (json == nullptr) return;
    if (!json->is_number_integer()) return Wrong(name, "is not a whole number");
    const auto number = json->get<int64_t>();
    const bool wrapped = json->is_number_unsigned() && number < 0;  // Above 2^63.
    if (wrapped || number < min || number > max) {
      return Wrong(name, absl::StrCat("is not from ", min, " to ", max));
    }
    value = number;
  }
  void Number(const char* name, double& value, double max) {
    const Json* const json = Find(name);
    if (json == nullptr) return;
    if (!json->is_number()) return Wrong(name, "is not a number");
    const auto number = json->get<double>();
    if (!(number >= 0 && number <= max)) {
      return Wrong(name, absl::StrCat("is not from 0 to ", max));
    }
    value = number;
  }
  // A list that is missing is empty: records are older than these fields.
  void Texts(const char* name, std::vector<std::string>& value) {
    if (!json_.contains(name)) return;
    const Json* const json = Find(name);
    if (json == nullptr) return;
    const auto is_text = [](const Json& each) { return each.is_string(); };
    if (!json->is_array() || !std::ranges::all_of(*json, is_text)) {
      return Wrong(name, "is not a list of texts");
    }
    value = json->get<std::vector<std::string>>();
  }
  template <typename Enum, size_t kSize>
  void OneOf(const char* name, Enum& value, const Word<Enum> (&words)[kSize],
             const std::type_identity_t<std::optional<Enum>>& absent = std::nullopt) {
    if (absent && !json_.contains(name)) {
      value = *absent;
      return;
    }
    const Json* const json = Find(name);
    if (json == nullptr) return;
    const std::string text = json->is_string() ? json->get<std::string>() : "";
    const std::optional<Enum> found = ValueOf(words, text);
    if (!found) {
      return Wrong(name, absl::StrCat("is not one of ", absl::StrJoin(TextsOf(words), ", ")));
    }
    value = *found;
  }
  template <typename Options>
  void Struct(const char* name, Options& value) {
    const Json* const json = Find(name);
    if (json == nullptr) return;
    OptionsReader reader(*json, absl::StrCat(path_, name, "."));
    reader.Read(value);
    if (wrong_.empty()) wrong_ = reader.wrong();
  }

  // All fields of an object, which may hold no others.
  template <typename Options>
  void Read(Options& options) {
    if (!json_.is_object()) {
      wrong_ = absl::StrCat(path_.substr(0, path_.size() - 1), ": is not an object");
      return;
    }
    Visit(options, *this);
    if (!wrong_.empty() || found_.size() == json_.size()) return;
    for (const auto& [name, unused] : json_.items()) {
      if (std::ranges::find(found_, name) == found_.end()) {
        return Wrong(Printable(name),
                     absl::StrCat("is not an option that this ebb knows", Hint(name)));
      }
    }
  }

 private:
  const Json* Find(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) {
      Wrong(name, "is missing");
      return nullptr;
    }
    found_.emplace_back(name);
    return &*found;
  }
  [[nodiscard]] std::string Hint(std::string_view unknown) const {
    const std::string nearest = Nearest(unknown, found_);
    if (!nearest.empty()) return absl::StrCat("; did you mean ", nearest, "?");
    return absl::StrCat("; the options here are ", absl::StrJoin(found_, ", "));
  }
  void Wrong(std::string_view name, std::string_view how) {
    if (wrong_.empty()) wrong_ = absl::StrCat(Absl(path_), Absl(name), ": ", Absl(how));
  }

  const Json& json_;
  std::string path_;
  std::vector<std::string> found_;
  std::string wrong_;
};

}  // namespace

Json OptionsJson(const RoundOptions& options) {
  RoundOptions copy = options;  // The table's functions may change what they visit.
  Json json = Json::object();
  OptionsWriter writer(json);
  Visit(copy, writer);
  return json;
}

absl::StatusOr<RoundOptions> ParseOptions(const std::string& where, const Json& json) {
  RoundOptions options;
  OptionsReader reader(json, "options.");
  reader.Read(options);
  if (!reader.wrong().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", reader.wrong()));
  }
  return options;
}

}  // namespace ebb
