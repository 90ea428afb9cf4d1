#include "options/round_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "options/option_field.h"

namespace ebb::round_options_test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr std::string_view kSchedulerConfig =
    R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"})";

// JSON pointers to all values that are not objects.
std::vector<Json::json_pointer> Leaves(const Json& json) {
  std::vector<Json::json_pointer> leaves;
  const Json flat = json.flatten();
  for (const auto& [path, unused] : flat.items()) leaves.emplace_back(path);
  return leaves;
}

// Another valid value for the field.
Json Changed(const Json& options, const Json::json_pointer& leaf) {
  const Json& value = options[leaf];
  if (leaf.back() == "unhealthyPods") return "evict";
  if (leaf.back() == "rules") return "karpenter";
  if (value.is_array()) return Json::array({"custom"});
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 1;
  if (value.is_number_float()) return value.get<double>() + 0.25;
  if (value.is_array()) return Json::array({"example.com/x", "example.com/y"});
  static const auto* const others =
      new std::map<std::string, std::string>{{"autoscaler", "fewest-pods"},
                                             {"must-fit", "best-effort"},
                                             {"kept", "lost"},
                                             {"anew", "keep-timer"},
                                             {"always", "before-deletion"},
                                             {"auto", "1.37"},
                                             {"follow", "ignore"},
                                             {"keep", "ignore"},
                                             {"none", "cpu=7.5%,per=zone"},
                                             {"", std::string(kSchedulerConfig)}};
  return others->at(value.get<std::string>());
}

std::string ErrorOf(const Json& json) {
  const auto parsed = ParseOptions("r.db: round 3", json);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(RoundOptionsTest, AChangedFieldSurvivesJsonAndChangesNoOther) {
  const Json defaults = OptionsJson({});
  const auto leaves = Leaves(defaults);
  EXPECT_EQ(leaves.size(), 54u);
  for (const auto& leaf : leaves) {
    Json changed = defaults;
    changed[leaf] = Changed(defaults, leaf);
    const auto options = ParseOptions("r.db: round 3", changed);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(OptionsJson(*options), changed) << leaf;
  }
}

// Checks each name against the field of that name.
TEST(RoundOptionsTest, NamesAreThoseOfTheFields) {
  RoundOptions options;
  options.candidate_order = CandidateOrder::kLeastUtilized;
  options.load.expendable_pods_priority_cutoff = -7;
  options.load.assume_complete = true;
  options.load.bypassed_schedulers = {"custom"};
  options.readiness = {
      .startup_taints = {"a", "b"}, .startup_taint_prefixes = {"c/"}, .csi_node_aware = true};
  options.load.match_os = false;
  options.load.kubernetes_version = KubernetesVersion::k137;
  ScaleDownOptions& down = options.scale_down;
  down.planner = {.scale_down_utilization_threshold = 0.1,
                  .scale_down_gpu_utilization_threshold = 0.2,
                  .scale_down_unready_enabled = false,
                  .ignore_daemonsets_utilization = true,
                  .ignore_mirror_pods_utilization = true,
                  .unremovable_node_recheck_timeout_s = 1,
                  .min_nodes_per_pass = 2,
                  .drain = {.skip_nodes_with_system_pods = false,
                            .skip_nodes_with_local_storage = true,
                            .skip_nodes_with_custom_controller_pods = false,
                            .min_replica_count = 3,
                            .blocking_system_pod_disruption_timeout_s = 4}};
  down.deletion = {.scale_down_unneeded_time_s = 5,
                   .scale_down_unready_time_s = 6,
                   .minimums = {.cores = 7, .memory_bytes = 8, .nodes = 9},
                   .groups_have_templates = false};
  down.budgets = {.max_scale_down_parallelism = 10, .max_drain_parallelism = 11};
  down.cooldown = {.scale_down_delay_after_add_s = 12,
                   .scale_down_delay_after_delete_s = 13,
                   .scale_down_delay_after_failure_s = 14,
                   .scale_down_delay_type_local = true};
  down.ok_total_unready_count = 15;
  down.max_total_unready_percentage = 16.5;
  down.max_node_startup_time_s = 17;
  down.clock_jump_max_s = 18;
  down.max_bulk_soft_taint_count = 19;
  down.node_deletion_candidate_ttl_s = 20;
  down.planner.headroom = {.cpu = 0.05, .memory = 0.025, .per = HeadroomPer::kGroup};
  down.planner.drain.gangs = Gangs::kIgnore;
  options.rules = RuleSet::kKarpenter;
  options.load.vpa = VpaRule::kIgnore;
  ASSERT_TRUE(options.load.ReadScheduler(kSchedulerConfig).ok());
  options.load.unhealthy_pods = UnhealthyPods::kEvict;
  down.recent_eviction_ttl_s = 21;
  down.displaced_pods = DisplacedPods::kBestEffort;
  down.skipped_timer = SkippedTimer::kLost;
  down.returned_node = ReturnedNode::kKeepsTimer;
  down.verify = VerifyPlans::kBeforeDeletion;
  down.unneeded_limit = false;
  down.stable = {.on = true, .margin = 0.22, .greedy_every = 23};
  Json expected = Json::parse(R"({
    "candidateOrder": "least-utilized",
    "load": {"expendablePodsPriorityCutoff": -7, "assumeComplete": true,
              "bypassedSchedulerNames": ["custom"], "matchOs": false,
              "kubernetesVersion": "1.37", "vpa": "ignore", "unhealthyPods": "evict"},
    "readiness": {"startupTaints": ["a", "b"], "startupTaintPrefixes": ["c/"],
                  "csiNodeAware": true},
    "rules": "karpenter",
    "scaleDown": {
      "planner": {
        "scaleDownUtilizationThreshold": 0.1, "scaleDownGpuUtilizationThreshold": 0.2,
        "scaleDownUnreadyEnabled": false, "ignoreDaemonsetsUtilization": true,
        "ignoreMirrorPodsUtilization": true, "unremovableNodeRecheckTimeoutSeconds": 1,
        "minNodesPerPass": 2, "headroom": "cpu=5%,memory=2.5%,per=group",
        "drain": {
          "skipNodesWithSystemPods": false, "skipNodesWithLocalStorage": true,
          "skipNodesWithCustomControllerPods": false, "minReplicaCount": 3,
          "blockingSystemPodDisruptionTimeoutSeconds": 4, "gangs": "ignore"}},
      "deletion": {
        "scaleDownUnneededTimeSeconds": 5, "scaleDownUnreadyTimeSeconds": 6,
        "minimums": {"cores": 7, "memoryBytes": 8, "nodes": 9}, "groupsHaveTemplates": false},
      "budgets": {"maxScaleDownParallelism": 10, "maxDrainParallelism": 11},
      "cooldown": {
        "scaleDownDelayAfterAddSeconds": 12, "scaleDownDelayAfterDeleteSeconds": 13,
        "scaleDownDelayAfterFailureSeconds": 14, "scaleDownDelayTypeLocal": true},
      "okTotalUnreadyCount": 15, "maxTotalUnreadyPercentage": 16.5,
      "maxNodeStartupTimeSeconds": 17, "clockJumpMaxSeconds": 18, "maxBulkSoftTaintCount": 19,
      "nodeDeletionCandidateTtlSeconds": 20, "recentEvictionTtlSeconds": 21,
      "displacedPods": "best-effort", "skippedTimer": "lost", "returnedNode": "keep-timer",
      "stable": {"on": true, "margin": 0.22, "greedyEvery": 23},
      "verify": "before-deletion", "unneededLimit": false}})");
  expected["load"]["schedulerConfig"] = std::string(kSchedulerConfig);
  EXPECT_EQ(OptionsJson(options), expected);
}

TEST(RoundOptionsTest, FieldThatIsMissingIsRefusedByItsName) {
  const Json defaults = OptionsJson({});
  for (const auto& leaf : Leaves(defaults)) {
    Json without = defaults;
    without[leaf.parent_pointer()].erase(leaf.back());
    EXPECT_THAT(ErrorOf(without), HasSubstr(leaf.back() + ": is missing"));
  }
}

TEST(RoundOptionsTest, FieldThatIsUnknownOrWrongIsRefusedByItsPlace) {
  const Json defaults = OptionsJson({});
  const auto error = [&](const std::string& place, const Json& value) {
    Json wrong = defaults;
    wrong[Json::json_pointer(place)] = value;
    return ErrorOf(wrong);
  };
  EXPECT_EQ(error("/load/schedulerConfig", 7),
            "r.db: round 3: options.load.schedulerConfig: is not a text");
  EXPECT_EQ(
      error("/load/schedulerConfig", "kind: Pod\napiVersion: v1\n"),
      "r.db: round 3: options.load.schedulerConfig: is not a KubeSchedulerConfiguration; kind "
      "is \"Pod\", apiVersion is \"v1\"");
  EXPECT_EQ(
      error("/scaleDown/planner/drain/newRule", true),
      "r.db: round 3: options.scaleDown.planner.drain.newRule: is not an option that this ebb "
      "knows; the options here are skipNodesWithSystemPods, skipNodesWithLocalStorage, "
      "skipNodesWithCustomControllerPods, minReplicaCount, "
      "blockingSystemPodDisruptionTimeoutSeconds, gangs");
  EXPECT_THAT(error("/scaleDown/budgets/maxDrainParalelism", 1),
              HasSubstr("knows; did you mean maxDrainParallelism?"));
  EXPECT_EQ(error("/scaleDown/budgets/maxDrainParallelism", -1),
            "r.db: round 3: options.scaleDown.budgets.maxDrainParallelism: is not from 0 to "
            "1000000000");
  EXPECT_EQ(error("/load/expendablePodsPriorityCutoff", UINT64_MAX),
            "r.db: round 3: options.load.expendablePodsPriorityCutoff: is not from -2147483648 to "
            "2147483647");
  EXPECT_THAT(error("/scaleDown/clockJumpMaxSeconds", 1.5), HasSubstr("is not a whole number"));
  EXPECT_THAT(error("/scaleDown/planner/scaleDownUtilizationThreshold", 1.01),
              HasSubstr("is not from 0 to 1"));
  EXPECT_THAT(error("/scaleDown/planner/scaleDownUtilizationThreshold", "x"),
              HasSubstr("is not a number"));
  EXPECT_THAT(error("/scaleDown/unneededLimit", 1), HasSubstr("is neither true nor false"));
  EXPECT_THAT(error("/readiness/startupTaints", "x"), HasSubstr("is not a list of texts"));
  EXPECT_THAT(error("/readiness/startupTaints", Json::array({1})),
              HasSubstr("is not a list of texts"));
  for (const char* wrong :
       {"", "cpu=10", "cpu=-5%", "cpu=100%", "disk=5%", "per=zone", "cpu=5%,per=x"}) {
    EXPECT_EQ(error("/scaleDown/planner/headroom", wrong),
              "r.db: round 3: options.scaleDown.planner.headroom: is not of the form "
              "cpu=10%,memory=10%,per=zone")
        << wrong;
  }
  EXPECT_THAT(error("/candidateOrder", "none"),
              HasSubstr("is not one of autoscaler, fewest-pods, "));
  EXPECT_EQ(error("/scaleDown/budgets", 7),
            "r.db: round 3: options.scaleDown.budgets: is not an object");
  EXPECT_EQ(ErrorOf(Json::array()), "r.db: round 3: options: is not an object");
}

// --- The table ---------------------------------------------------------------------------

TEST(OptionTableTest, RowsWithAPathAreTheFieldsOfTheFormInItsOrder) {
  RoundOptions options;
  std::vector<std::string> paths;
  for (const OptionField& field : FieldsOf(options)) {
    if (!field.path.empty()) paths.push_back("/" + field.path);
  }
  for (std::string& path : paths) std::ranges::replace(path, '.', '/');
  std::vector<std::string> leaves;
  for (const auto& leaf : Leaves(OptionsJson(options))) leaves.push_back(leaf.to_string());
  EXPECT_EQ(paths, leaves);
}

TEST(OptionTableTest, EveryRowIsWhole) {
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    const OptionRow& row = field.row;
    SCOPED_TRACE(field.path.empty() ? std::string(row.flag.name) : field.path);
    EXPECT_EQ(field.path.empty(), row.decides.empty()) << "docs/options.md has the form's options";
    EXPECT_EQ(row.flag.name.empty(), row.flag.help.empty());
    EXPECT_EQ(row.old.name.empty(), row.old.help.empty());
    EXPECT_FALSE(row.flag.name.empty() && (row.in_autoscaler || !row.old.name.empty()));
    EXPECT_FALSE(row.old.name.empty() && row.warns_of_old);
    EXPECT_EQ(field.kind == OptionKind::kMinimum, row.growth_max > 0);
    if (const auto* const choice = std::get_if<OptionChoice>(&field.value)) {
      EXPECT_FALSE(choice->get().empty()) << "a value without a word";
      for (const std::string& word : choice->words) {
        EXPECT_THAT(std::string(row.decides), HasSubstr("`" + word + "`"));
      }
    }
  }
}

bool Contains(const OptionRange& range, int64_t value) {
  return range.min <= value && value <= range.max;
}

TEST(OptionTableTest, EveryRangeHasTheDefault) {
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    SCOPED_TRACE(field.path);
    int64_t value = 0;
    if (const auto* const whole = std::get_if<int64_t*>(&field.value)) value = **whole;
    if (const auto* const size = std::get_if<size_t*>(&field.value)) {
      value = static_cast<int64_t>(**size);
    }
    if (const auto* const real = std::get_if<double*>(&field.value)) {
      value = static_cast<int64_t>(**real);
    }
    EXPECT_TRUE(Contains(field.range, value)) << value;
    for (const OptionFlag* const flag : {&field.row.flag, &field.row.old}) {
      EXPECT_TRUE(!flag->range || Contains(*flag->range, value)) << flag->name;
      EXPECT_TRUE(Contains(field.range, flag->of_command.value_or(value))) << flag->name;
    }
  }
}

TEST(OptionTableTest, ValuesAreComparedAndCopiedByRow) {
  RoundOptions from;
  RoundOptions to;
  const Json defaults = OptionsJson(from);
  for (const auto& leaf : Leaves(defaults)) {
    Json changed = defaults;
    changed[leaf] = Changed(defaults, leaf);
    from = *ParseOptions("x", changed);
    to = RoundOptions();
    const std::vector<OptionField> a = FieldsOf(from);
    const std::vector<OptionField> b = FieldsOf(to);
    size_t others = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (SameValue(a[i], b[i])) continue;
      ++others;
      CopyValue(a[i], b[i]);
    }
    EXPECT_EQ(others, 1u) << leaf;
    EXPECT_EQ(OptionsJson(to), changed) << leaf;
  }
}

TEST(OptionTableTest, SameLoadComparesOnlyFieldsOfTheForm) {
  LoadOptions a;
  LoadOptions b;
  b.strict = b.allow_incomplete = true;
  b.limits.bytes_max = 7;
  EXPECT_TRUE(SameLoad(a, b));
  b.match_os = false;
  EXPECT_FALSE(SameLoad(a, b));
}

}  // namespace
}  // namespace ebb::round_options_test
