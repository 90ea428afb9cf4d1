#include "cli/flags/option_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/plan_command.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/help_text.h"
#include "cli/rounds/run_flags.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "session/wire_what_if.h"

namespace ebb::option_flags_test {
namespace {

using testing::HasSubstr;

// Parses flags of `ebb plan`.  Returns the error, or "".
std::string Parse(const std::vector<std::string>& flags, PlanCommand& command) {
  CLI::App app;
  command.AddTo(app);
  std::vector<std::string> words(flags.rbegin(), flags.rend());  // The order that CLI11 needs.
  words.emplace_back("-");
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

RoundOptions Options(const std::vector<std::string>& flags) {
  PlanCommand command;
  EXPECT_EQ(Parse(flags, command), "");
  return command.options;
}

std::string Error(const std::string& flag) {
  PlanCommand command;
  return Parse({flag}, command);
}

ValueKind KindOfFlag(OptionKind kind) {
  switch (kind) {
    case OptionKind::kSwitch:
      return ValueKind::kSwitch;
    case OptionKind::kWholeNumber:
      return ValueKind::kWholeNumber;
    case OptionKind::kSeconds:
      return ValueKind::kDuration;
    case OptionKind::kFraction:
    case OptionKind::kPercent:
      return ValueKind::kNumber;
    case OptionKind::kMinimum:
      return ValueKind::kMinMax;
    case OptionKind::kChoice:
      return ValueKind::kChoice;
    case OptionKind::kNames:
    case OptionKind::kKeys:
    case OptionKind::kText:
      break;
    case OptionKind::kFile:
      return ValueKind::kMaybeEmptyText;
  }
  return ValueKind::kText;
}

TEST(OptionFlagsTest, PlanAndRunHaveTheFlagOfEveryRowWithItsKind) {
  CLI::App plan_app;
  PlanCommand plan;
  plan.AddTo(plan_app);
  CLI::App run_app;
  RunFlags run;
  run.AddTo(run_app);
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    for (const OptionFlag* const flag : {&field.row.flag, &field.row.old}) {
      if (flag->name.empty()) continue;
      SCOPED_TRACE(flag->name);
      for (const CLI::App* const app : {&plan_app, &run_app}) {
        const CLI::Option* const option = app->get_option_no_throw("--" + std::string(flag->name));
        ASSERT_NE(option, nullptr);
        EXPECT_NE(option->get_group(), kHiddenGroup);
        EXPECT_THAT(option->get_description(), testing::StartsWith(std::string(flag->help)));
        EXPECT_EQ(KindOf(*option), KindOfFlag(field.kind));
      }
    }
  }
}

TEST(OptionFlagsTest, TheDefaultThatHelpShowsIsTheDefault) {
  CLI::App app;
  PlanCommand command;
  command.AddTo(app);
  const nlohmann::ordered_json defaults = OptionsJson(command.options);
  RoundOptions options;
  size_t shown = 0;
  for (const OptionField& field : FieldsOf(options)) {
    if (field.row.flag.name.empty()) continue;
    const std::string name = "--" + std::string(field.row.flag.name);
    const std::string value = app.get_option(name)->get_default_str();
    if (value.empty()) continue;
    ++shown;
    EXPECT_EQ(OptionsJson(Options({name + "=" + value})), defaults) << name;
  }
  EXPECT_GT(shown, 20u);
}

TEST(OptionFlagsTest, AMissingFlagHasTheDefaultOfTheMemberOrOfTheCommandLine) {
  RoundOptions usual;
  usual.scale_down.planner.min_nodes_per_pass = 1;
  EXPECT_EQ(OptionsJson(Options({})), OptionsJson(usual));
}

TEST(OptionFlagsTest, ValuesAreReadByTheirKinds) {
  const RoundOptions options =
      Options({"--scale-down-unneeded-time=90s", "--scale-down-unready-time", "1500ms",
               "--cores-total=3:9", "--memory-total=2:7", "--returned-nodes=keep-timer",
               "--kubernetes-version=1.37", "--min-nodes-per-pass=4", "--match-os=false",
               "--bypassed-scheduler-names=a,b", "--startup-taint=x", "--startup-taint=y",
               "--max-total-unready-percentage=12.5", "--expendable-pods-priority-cutoff=-7"});
  EXPECT_EQ(options.scale_down.deletion.scale_down_unneeded_time_s, 90);
  EXPECT_EQ(options.scale_down.deletion.scale_down_unready_time_s, 2);
  EXPECT_EQ(options.scale_down.deletion.minimums.cores, 3);
  EXPECT_EQ(options.scale_down.deletion.minimums.memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(options.scale_down.returned_node, ReturnedNode::kKeepsTimer);
  EXPECT_EQ(options.load.kubernetes_version, KubernetesVersion::k137);
  EXPECT_EQ(options.scale_down.planner.min_nodes_per_pass, 4u);
  EXPECT_FALSE(options.load.match_os);
  EXPECT_EQ(options.load.bypassed_schedulers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.readiness.startup_taints, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(options.scale_down.max_total_unready_percentage, 12.5);
  EXPECT_EQ(options.load.expendable_pods_priority_cutoff, -7);
}

TEST(OptionFlagsTest, TheLastOfARepeatedFlagCounts) {
  const RoundOptions options =
      Options({"--scale-down-unneeded-time=90s", "--scale-down-unneeded-time=1m", "--nodes-min=3",
               "--nodes-min=4", "--returned-nodes=keep-timer", "--returned-nodes=anew"});
  EXPECT_EQ(options.scale_down.deletion.scale_down_unneeded_time_s, 60);
  EXPECT_EQ(options.scale_down.deletion.minimums.nodes, 4);
  EXPECT_EQ(options.scale_down.returned_node, ReturnedNode::kRestarts);
}

TEST(OptionFlagsTest, AnEarlierNameCountsWhereTheNewOneIsNotGiven) {
  const auto limit = [](const std::vector<std::string>& flags) {
    return Options(flags).scale_down.budgets.max_scale_down_parallelism;
  };
  EXPECT_EQ(limit({"--max-empty-bulk-delete=4"}), 4);
  EXPECT_EQ(limit({"--max-empty-bulk-delete=4", "--max-scale-down-parallelism=6"}), 6);
  EXPECT_EQ(limit({"--max-scale-down-parallelism=6", "--max-empty-bulk-delete=4"}), 6);
  EXPECT_EQ(Options({"--ignore-taint=x", "--startup-taint=y"}).readiness.startup_taints,
            (std::vector<std::string>{"y", "x"}));
}

TEST(OptionFlagsTest, WrongValuesAreErrorsThatNameTheFlagAndWhatItTakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"--match-os=maybe", "--match-os: \"maybe\" is not true or false"},
      {"--min-replica-count=-1",
       "--min-replica-count: \"-1\" is not a whole number from 0 to 1000000"},
      {"--nodes-min=1e3", "--nodes-min: \"1e3\" is not a whole number from 0 to 1000000000"},
      {"--max-scale-down-parallelism=0",
       "--max-scale-down-parallelism: \"0\" is not a whole number from 1 to 1000000"},
      {"--expendable-pods-priority-cutoff=2147483648",
       "is not a whole number from -2147483648 to 2147483647"},
      {"--clock-jump-max=5",
       "--clock-jump-max: \"5\" is not a duration such as 30s or 1h30m, from 0s to 876000h"},
      {"--scale-down-utilization-threshold=1.5",
       "--scale-down-utilization-threshold: \"1.5\" is not a number from 0 to 1"},
      {"--max-total-unready-percentage=101",
       "--max-total-unready-percentage: \"101\" is not a number from 0 to 100"},
      {"--cores-total=5:1",
       "--cores-total: \"5:1\" is not a range such as 8:320000, 0 to 1000000000 each"},
      {"--returned-nodes=anw",
       "--returned-nodes: \"anw\" is not one of anew, keep-timer; did you mean anew?"},
      {"--kubernetes-version=1.38",
       "--kubernetes-version: \"1.38\" is not one of auto, 1.36, 1.37; did you mean 1.36?"},
  };
  for (const auto& [flag, message] : cases) EXPECT_THAT(Error(flag), HasSubstr(message)) << flag;
}

TEST(OptionFlagsTest, TextsAreAsTheyWereGivenOrAsHelpShowsThem) {
  PlanCommand command;
  ASSERT_EQ(Parse({"--scale-down-unneeded-time=90s"}, command), "");
  EXPECT_EQ(TextOf("scale-down-unneeded-time", command.given), "90s");
  EXPECT_EQ(TextOf("scale-down-delay-after-add", command.given), "10m");
  EXPECT_EQ(TextOf("memory-total", command.given), "0:6400000");
  EXPECT_EQ(TextOf("min-nodes-per-pass", command.given), "1");
}

TEST(OptionFlagsTest, FlagsOfRoundsDoNotCountInAPlan) {
  RoundOptions options = Options(
      {"--min-nodes-per-pass=7", "--min-replica-count=2", "--unremovable-node-recheck-timeout=1s"});
  options = WithoutFlagsOfRounds(options);
  EXPECT_EQ(options.scale_down.planner.min_nodes_per_pass, 0u);
  EXPECT_EQ(options.scale_down.planner.unremovable_node_recheck_timeout_s, 300);
  EXPECT_EQ(options.scale_down.planner.drain.min_replica_count, 2);
  EXPECT_TRUE(CountsInPlans("max-empty-bulk-delete"));
  EXPECT_FALSE(CountsInPlans("min-nodes-per-pass"));
}

// What-if files take these flags (docs/what-if.md), and the daemon knows the field of each.
TEST(OptionFlagsTest, ACallOfWhatIfKnowsEveryFlagThatAFileOfChangesTakes) {
  PlanCommand command;
  CLI::App app;
  command.AddPlanFlags(app);
  command.questions.AddTo(app);
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name == "help" || name.starts_with("stable"))
        continue;  // "--what-if" excludes "--stable".
      EXPECT_TRUE(FieldOfFlag(name).has_value()) << name;
    }
  }
  EXPECT_FALSE(FieldOfFlag("max-drain-parallelism").has_value()) << "a flag of rounds";
}

TEST(OptionFlagsTest, EarlierNamesAreWarnedOfAsTheTableSays) {
  std::ostringstream err;
  WarnOfOldFlags({{"max-empty-bulk-delete", "4"}, {"ignore-taint", "x"}}, err);
  EXPECT_EQ(err.str(),
            "ebb: warning: --max-empty-bulk-delete is old; use --max-scale-down-parallelism\n");
}

TEST(DurationFlagTextTest, IsShortAndReadableByGo) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0s"},     {1, "1s"},    {60, "1m"},
                                                   {90, "1m30s"}, {3600, "1h"}, {5400, "1h30m"},
                                                   {3601, "1h1s"}};
  for (const auto& [seconds, text] : cases) {
    EXPECT_EQ(DurationFlagText(seconds), text);
    EXPECT_EQ(DurationSeconds(text), seconds);
  }
}

}  // namespace
}  // namespace ebb::option_flags_test
