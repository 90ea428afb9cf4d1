#include "service/options/round_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "service/old_round_flags.h"
#include "service/round_record.h"

namespace ebb::round_options_test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// --- What a record says of a round ----------------------------------------------------

std::string TextWith(const std::string& place, const Json& value) {
  Json json = Json::parse(ArgumentsText({}, {}, {}, std::nullopt));
  json[Json::json_pointer(place)] = value;
  return json.dump();
}

TEST(RoundRecordTest, ArgumentsComeBack) {
  RoundOptions options;
  options.scale_down.budgets.max_drain_parallelism = 7;
  RoundTexts texts;
  texts.groups = {"groups.yaml", "nodeGroups: [{name: a, minSize: 1}]"};
  texts.group_sizes = {{.name = "b", .min_size = 2, .max_size = 9}};
  texts.events = {"events.yaml", "unreadyNodes: [n1]"};
  const auto back = ParseArguments(
      "r.db: round 1", ArgumentsText(options, texts, {{"Code", "message", "command"}}, 5));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->settings.options.scale_down.budgets.max_drain_parallelism, 7);
  ASSERT_EQ(back->settings.groups.rules.size(), 2u);
  EXPECT_EQ(back->settings.groups.rules[0].group.min_size, 1);
  EXPECT_EQ(back->settings.groups.rules[1].group.name, "b");
  EXPECT_EQ(back->settings.groups.rules[1].group.min_size, 2);
  EXPECT_EQ(back->settings.groups.rules[1].group.max_size, 9);
  EXPECT_EQ(back->settings.events.unready, std::vector<std::string>{"n1"});
  ASSERT_EQ(back->warnings.size(), 1u);
  EXPECT_EQ(back->warnings[0].message, "message");
  EXPECT_EQ(back->deadline_question, 5);
  EXPECT_EQ(back->rules, kRecordRules);
}

TEST(RoundRecordTest, OptionsOfTheFirstVersionKnowNoStartupTaints) {
  Json json = Json::parse(ArgumentsText({}, {}, {}, std::nullopt));
  json["optionsVersion"] = 1;
  json["options"].erase("readiness");
  const auto back = ParseArguments("r.db: round 1", json.dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->settings.groups.readiness, ReadinessRules());
}

TEST(RoundRecordTest, StartupTaintsAndTheStartupTimeReachTheGroups) {
  RoundOptions options;
  options.readiness.startup_taints = {"example.com/agent"};
  options.scale_down.max_node_startup_time_s = 60;
  const auto back = ParseArguments("r", ArgumentsText(options, {}, {}, std::nullopt));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->settings.groups.readiness, options.readiness);
  EXPECT_EQ(back->settings.groups.max_node_startup_time_s, 60);
}

TEST(RoundRecordTest, DeadlineThatNeverCameIsAnotherThanNone) {
  const auto never = ParseArguments("r", ArgumentsText({}, {}, {}, 0));
  const auto none = ParseArguments("r", ArgumentsText({}, {}, {}, std::nullopt));
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
  EXPECT_EQ(error(TextWith("/optionsVersion", 3)),
            "r.db: round 1: its options are of version 3, this ebb knows 2");
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
  const Json whole = Json::parse(ArgumentsText({}, {}, {}, std::nullopt));
  for (const auto& [member, unused] : whole.items()) {
    Json without = whole;
    without.erase(member);
    EXPECT_FALSE(ParseArguments("r", without.dump()).ok()) << member;
  }
}

// --- Records of before ----------------------------------------------------------------

TEST(OldRoundFlagsTest, RoundWithoutFlagsHadTheirDefaults) {
  const auto old = ReadOldFlags("r", Json::object());
  ASSERT_TRUE(old.ok());
  RoundOptions defaults;
  defaults.scale_down.planner.min_nodes_per_pass = 1;
  EXPECT_EQ(OptionsJson(old->options), OptionsJson(defaults));
  EXPECT_FALSE(old->has_deadline);
}

TEST(OldRoundFlagsTest, OfSeveralValuesTheLastCountsAndTheNewNameBeatsTheOld) {
  const auto old = ReadOldFlags("r", Json::parse(R"({
    "max-scale-down-parallelism": ["4"], "max-empty-bulk-delete": ["2"],
    "scale-down-unneeded-time": ["5m", "1m30s"], "nodes": ["1:2:a", "3:4:b"],
    "scale-down-simulation-timeout": ["10us"], "memory-total": ["2:9"]})"));
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->options.scale_down.budgets.max_scale_down_parallelism, 4);
  EXPECT_EQ(old->options.scale_down.deletion.scale_down_unneeded_time_s, 90);
  EXPECT_EQ(old->options.scale_down.deletion.minimums.memory_bytes, int64_t{2} << 30);
  ASSERT_EQ(old->group_sizes.size(), 2u);
  EXPECT_EQ(old->group_sizes[1].name, "b");
  EXPECT_EQ(old->group_sizes[1].max_size, 4);
  EXPECT_TRUE(old->has_deadline);
}

TEST(OldRoundFlagsTest, WhatIsNoFlagOrNoValueOfItIsRefused) {
  const auto error = [](const char* flags) {
    return std::string(ReadOldFlags("r.db: round 1", Json::parse(flags)).status().message());
  };
  EXPECT_EQ(error(R"({"nonsense": ["1"]})"),
            "r.db: round 1: flags: --nonsense: is not a flag of a round");
  for (const char* flags :
       {R"({"nodes-min": "1"})", R"({"nodes-min": [1]})", R"({"nodes-min": ["-1"]})",
        R"({"nodes-min": ["x"]})", R"({"nodes": ["1:2"]})", R"({"nodes": ["x:2:a"]})",
        R"({"scale-down-unneeded-time": ["5"]})", R"({"displaced-pods": ["no"]})",
        R"({"scale-down-utilization-threshold": ["1.5"]})", R"({"cores-total": [":"]})",
        R"({"scale-down-unready-enabled": ["yes"]})",
        R"({"expendable-pods-priority-cutoff": ["9999999999"]})"}) {
    EXPECT_THAT(error(flags), HasSubstr("r.db: round 1: flags: --")) << flags;
  }
}

}  // namespace
}  // namespace ebb::round_options_test
