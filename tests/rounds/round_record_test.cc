#include "rounds/round_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options/round_options.h"
#include "rounds/round_events.h"

namespace ebb::round_record_test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// --- The arguments of a round in a record -----------------------------------------------

std::string TextWith(const std::string& place, const Json& value) {
  Json json = Json::parse(ArgumentsText({}, {}, {}, {}, std::nullopt));
  json[Json::json_pointer(place)] = value;
  return json.dump();
}

TEST(RoundRecordTest, ArgumentsAreReadBack) {
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

// A daemon's round has no file of events: the record stores the reports to it as this text.
TEST(RoundRecordTest, AReportIsReadBackFromItsText) {
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

TEST(RoundRecordTest, DamagedRecordsAndOtherVersionsAreRejectedWithTheirRound) {
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
            "r.db: round 1: its arguments are damaged: more is unknown to this version of ebb");
  for (const char* member : {"/rules", "/optionsVersion", "/options", "/nodeGroups", "/groupSizes",
                             "/events", "/warnings", "/deadlineQuestion"}) {
    for (const Json& value : {Json(true), Json({{"a", 1}}), Json({Json({{"group", "x"}})})}) {
      // Warnings that are not objects with texts are left out.
      if (std::string(member) == "/warnings" && value.is_array()) continue;
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

}  // namespace
}  // namespace ebb::round_record_test
