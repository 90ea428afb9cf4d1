#include "service/round_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "service/round_events.h"
#include "service/round_record.h"
#include "tests/support/source_dir.h"

namespace ebb::round_options_test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// The places of all values that are no objects.
std::vector<Json::json_pointer> Leaves(const Json& json) {
  std::vector<Json::json_pointer> leaves;
  const Json flat = json.flatten();
  for (const auto& [path, unused] : flat.items()) leaves.emplace_back(path);
  return leaves;
}

// Another value that the field may have.
Json Changed(const Json& value) {
  if (value.is_array()) return Json::array({"custom"});
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 1;
  if (value.is_number_float()) return value.get<double>() + 0.25;
  if (value.is_array()) return Json::array({"example.com/x", "example.com/y"});
  static const auto* const others = new std::map<std::string, std::string>{
      {"autoscaler", "fewest-pods"}, {"must-fit", "best-effort"},   {"kept", "lost"},
      {"anew", "keep-timer"},        {"always", "before-deletion"}, {"auto", "1.37"}};
  return others->at(value.get<std::string>());
}

std::string ErrorOf(const Json& json) {
  const auto parsed = ParseOptions("r.db: round 3", json);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(RoundOptionsTest, EveryFieldThatIsChangedComesBackAndNoOther) {
  const Json defaults = OptionsJson({});
  const auto leaves = Leaves(defaults);
  EXPECT_EQ(leaves.size(), 45u);
  for (const auto& leaf : leaves) {
    Json changed = defaults;
    changed[leaf] = Changed(defaults[leaf]);
    const auto options = ParseOptions("r.db: round 3", changed);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(OptionsJson(*options), changed) << leaf;
  }
}

// Each name with the field that it is the name of.
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
  down.recent_eviction_ttl_s = 21;
  down.displaced_pods = DisplacedPods::kBestEffort;
  down.skipped_timer = SkippedTimer::kLost;
  down.returned_node = ReturnedNode::kKeepsTimer;
  down.verify = VerifyPlans::kBeforeDeletion;
  down.unneeded_limit = false;
  EXPECT_EQ(OptionsJson(options), Json::parse(R"({
    "candidateOrder": "least-utilized",
    "load": {"expendablePodsPriorityCutoff": -7, "assumeComplete": true,
              "bypassedSchedulerNames": ["custom"], "matchOs": false,
              "kubernetesVersion": "1.37"},
    "readiness": {"startupTaints": ["a", "b"], "startupTaintPrefixes": ["c/"],
                  "csiNodeAware": true},
    "scaleDown": {
      "planner": {
        "scaleDownUtilizationThreshold": 0.1, "scaleDownGpuUtilizationThreshold": 0.2,
        "scaleDownUnreadyEnabled": false, "ignoreDaemonsetsUtilization": true,
        "ignoreMirrorPodsUtilization": true, "unremovableNodeRecheckTimeoutSeconds": 1,
        "minNodesPerPass": 2,
        "drain": {
          "skipNodesWithSystemPods": false, "skipNodesWithLocalStorage": true,
          "skipNodesWithCustomControllerPods": false, "minReplicaCount": 3,
          "blockingSystemPodDisruptionTimeoutSeconds": 4}},
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
      "verify": "before-deletion", "unneededLimit": false}})"));
}

TEST(RoundOptionsTest, FieldThatIsMissingIsRefusedByItsName) {
  const Json defaults = OptionsJson({});
  for (const auto& leaf : Leaves(defaults)) {
    if (leaf.back() == "matchOs" || leaf.back() == "kubernetesVersion") continue;  // See below.
    Json without = defaults;
    without[leaf.parent_pointer()].erase(leaf.back());
    if (defaults[leaf].is_array()) {  // Records are older than lists.
      EXPECT_EQ(ErrorOf(without), "") << leaf;
      continue;
    }
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
  EXPECT_EQ(
      error("/scaleDown/planner/drain/newRule", true),
      "r.db: round 3: options.scaleDown.planner.drain.newRule: is not an option that this ebb "
      "knows; the options here are skipNodesWithSystemPods, skipNodesWithLocalStorage, "
      "skipNodesWithCustomControllerPods, minReplicaCount, "
      "blockingSystemPodDisruptionTimeoutSeconds");
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
  EXPECT_THAT(error("/candidateOrder", "none"),
              HasSubstr("is not one of autoscaler, fewest-pods, "));
  EXPECT_EQ(error("/scaleDown/budgets", 7),
            "r.db: round 3: options.scaleDown.budgets: is not an object");
  EXPECT_EQ(ErrorOf(Json::array()), "r.db: round 3: options: is not an object");
}

// docs/options.md has a row for each option, with its default.
TEST(RoundOptionsTest, TheDocsNameEveryOptionWithItsDefault) {
  std::ifstream file(SourceDir() + "/docs/options.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `"))
      rows.push_back(line.substr(0, line.find(" | ", line.find(" | ") + 1)));
  }
  std::vector<std::string> want;
  const Json defaults = OptionsJson({});
  for (const auto& leaf : Leaves(defaults)) {
    std::string path = leaf.to_string().substr(1);
    std::ranges::replace(path, '/', '.');
    want.push_back("| `" + path + "` | `" + defaults[leaf].dump() + "`");
  }
  EXPECT_EQ(rows, want);
}

// --- What a record says of a round ----------------------------------------------------

std::string TextWith(const std::string& place, const Json& value) {
  Json json = Json::parse(ArgumentsText({}, {}, {}, {}, std::nullopt));
  json[Json::json_pointer(place)] = value;
  return json.dump();
}

TEST(RoundRecordTest, ArgumentsComeBack) {
  RoundOptions options;
  options.scale_down.budgets.max_drain_parallelism = 7;
  RoundTexts texts;
  texts.groups = {"groups.yaml", "nodeGroups: [{name: a, minSize: 1}]"};
  texts.group_sizes = {{.name = "b", .min_size = 2, .max_size = 9}};
  DeletionReport report;
  report.unready = {"n1"};
  const auto back = ParseArguments(
      "r.db: round 1", ArgumentsText(options, texts, report, {{"Code", "message", "command"}}, 5));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->settings.options.scale_down.budgets.max_drain_parallelism, 7);
  ASSERT_EQ(back->settings.groups.rules.size(), 2u);
  EXPECT_EQ(back->settings.groups.rules[0].group.min_size, 1);
  EXPECT_EQ(back->settings.groups.rules[1].group.name, "b");
  EXPECT_EQ(back->settings.groups.rules[1].group.min_size, 2);
  EXPECT_EQ(back->settings.groups.rules[1].group.max_size, 9);
  EXPECT_EQ(back->settings.report, report);
  ASSERT_EQ(back->warnings.size(), 1u);
  EXPECT_EQ(back->warnings[0].message, "message");
  EXPECT_EQ(back->deadline_question, 5);
}

// A daemon's round has no file of events: what was reported to it goes through this text.
TEST(RoundRecordTest, AReportComesBackFromItsText) {
  DeletionReport report;
  report.scale_ups = {{.group = "g", .at_s = 1780315200}, {.group = "1.5", .at_s = std::nullopt}};
  report.in_progress = {{.node = "n1", .group = "g", .drained = true},
                        {.node = "0x10", .group = "", .drained = std::nullopt}};
  report.results = {{.node = "n2", .group = "", .result = "FailedToDelete", .at_s = 1780315201}};
  report.evictions = {
      {.pod = {.namespace_name = "default", .name = "web-1", .uid = "u"}, .at_s = std::nullopt},
      {.pod = {.namespace_name = "x",
               .name = "db",
               .uid = "u2",
               .object = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"db",)"
                         R"("namespace":"x","uid":"u2"},"spec":{"priority":7}})"},
       .at_s = 1780315202}};
  report.unready = {"true", "n5"};
  report.unregistered = {{.group = "g", .count = 2}};
  const auto back = ParseEvents("r", EventsText(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, report);
  EXPECT_EQ(EventsText({}), "");
}

TEST(RoundRecordTest, StartupTaintsAndTheStartupTimeReachTheGroups) {
  RoundOptions options;
  options.readiness.startup_taints = {"example.com/agent"};
  options.scale_down.max_node_startup_time_s = 60;
  const auto back = ParseArguments("r", ArgumentsText(options, {}, {}, {}, std::nullopt));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->settings.groups.readiness, options.readiness);
  EXPECT_EQ(back->settings.groups.max_node_startup_time_s, 60);
}

TEST(RoundRecordTest, DeadlineThatNeverCameIsAnotherThanNone) {
  const auto never = ParseArguments("r", ArgumentsText({}, {}, {}, {}, 0));
  const auto none = ParseArguments("r", ArgumentsText({}, {}, {}, {}, std::nullopt));
  EXPECT_EQ(never->deadline_question, 0);
  EXPECT_EQ(none->deadline_question, std::nullopt);
}

TEST(RoundRecordTest, WhatIsDamagedOrFromALaterEbbIsRefusedWithItsRound) {
  const auto error = [](const std::string& text) {
    const auto parsed = ParseArguments("r.db: round 1", text);
    return parsed.ok() ? "" : std::string(parsed.status().message());
  };
  EXPECT_EQ(error("7"), "r.db: round 1: its arguments are damaged: they are not a JSON object");
  EXPECT_EQ(error(TextWith("/rules", 7)),
            "r.db: round 1: was made by a later ebb (rules 7, this one knows 6)");
  EXPECT_EQ(error(TextWith("/rules", 5)),
            "r.db: round 1: was made by an earlier ebb (rules 5, this one knows 6)");
  EXPECT_EQ(error(TextWith("/optionsVersion", 3)),
            "r.db: round 1: its options are of version 3, this ebb knows 2");
  EXPECT_EQ(error(TextWith("/optionsVersion", 1)),
            "r.db: round 1: its options are of version 1, this ebb knows 2");
  EXPECT_EQ(error(TextWith("/more", 1)),
            "r.db: round 1: its arguments are damaged: more is nothing that this ebb knows");
  for (const char* member : {"/rules", "/optionsVersion", "/options", "/nodeGroups", "/groupSizes",
                             "/events", "/warnings", "/deadlineQuestion"}) {
    for (const Json& value : {Json(true), Json({{"a", 1}}), Json({Json({{"group", "x"}})})}) {
      if (std::string(member) == "/warnings" && value.is_array()) continue;  // Left out.
      EXPECT_THAT(error(TextWith(member, value)), HasSubstr("r.db: round 1: ")) << member << value;
    }
  }
}

TEST(RoundRecordTest, MemberThatIsMissingIsRefused) {
  const Json whole = Json::parse(ArgumentsText({}, {}, {}, {}, std::nullopt));
  for (const auto& [member, unused] : whole.items()) {
    Json without = whole;
    without.erase(member);
    EXPECT_FALSE(ParseArguments("r", without.dump()).ok()) << member;
  }
}

TEST(RoundOptionsTest, RoundsFromBeforeVersionsWereToldApartHadTheRulesOfThen) {
  Json json = OptionsJson(RoundOptions());
  json["load"].erase("matchOs");
  json["load"].erase("kubernetesVersion");
  const absl::StatusOr<RoundOptions> options = ParseOptions("x", json);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_FALSE(options->load.match_os);
  EXPECT_EQ(options->load.kubernetes_version, KubernetesVersion::k136);
}

}  // namespace
}  // namespace ebb::round_options_test
