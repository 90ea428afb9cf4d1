#include "cli/flags/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/command_line.h"
#include "tests/support/sanitized.h"

namespace ebb::flag_values_test {
namespace {

using ::testing::HasSubstr;

// Calls `visit` with the path of each command ("import", "openb") and each of its options.
void ForEachOption(
    const CLI::App& app, std::vector<std::string> path,
    const std::function<void(const std::vector<std::string>&, const CLI::Option&)>& visit) {
  for (const CLI::Option* option : app.get_options()) visit(path, *option);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> deeper = path;
    deeper.push_back(sub->get_name());
    ForEachOption(*sub, deeper, visit);
  }
}

bool HasNoValue(const CLI::Option& option) {  // These flags print something and end the program.
  return option.get_name() == "--help" || option.get_name() == "--version";
}

// Values that a kind never accepts, whatever its range.
std::vector<std::string> BadValues(ValueKind kind) {
  const std::vector<std::string> numbers = {"nan",
                                            "NaN",
                                            "inf",
                                            "-inf",
                                            "infinity",
                                            "-0",
                                            "0x1",
                                            "0X1F",
                                            "1e999",
                                            "-1e999",
                                            "1x",
                                            "1 ",
                                            " 1",
                                            "one",
                                            "1,5",
                                            "1_0",
                                            "--1",
                                            "1..2",
                                            "99999999999999999999",
                                            "",
                                            "1e-9x",
                                            "1\n",
                                            "0b1",
                                            "+1",
                                            "0o7"};
  switch (kind) {
    case ValueKind::kWholeNumber: {
      std::vector<std::string> bad = numbers;
      for (const char* more : {"1.5", "1e3", "007", "00"}) bad.emplace_back(more);
      return bad;
    }
    case ValueKind::kNumber:
      return numbers;
    case ValueKind::kDuration:
      return {"nan", "inf",  "10",    "-1s",  "1",       "s",
              "1x",  "1h x", "0x1s",  "1e3s", "876001h", "9999999999999999999h",
              "",    "10 m", "1h-1m", "-0s"};
    case ValueKind::kTime:
      return {"now",
              "0",
              "2026-01-02",
              "2026-13-02T03:04:05Z",
              "2026-02-30T03:04:05Z",
              "1969-12-31T23:59:59Z",
              "0001-01-01T00:00:00Z",
              "99999-01-01T00:00:00Z",
              "",
              "2026-01-02T03:04:05",
              "2026-01-02T03:04:05Z x",
              "nan"};
    case ValueKind::kMinMax:
      return {"1",     "1:",    ":1",   "2:1", "-1:5", "0x1:5", "1:nan",
              "1:inf", "1:2:3", "1:2x", "",    "1: 2", "01:2",  "0:99999999999999999999",
              "-0:1"};
    case ValueKind::kGroupSize:
      return {"1",
              "1:2",
              "1:2:",
              ":2:n",
              "2:1:n",
              "-1:5:n",
              "0x1:5:n",
              "1:nan:n",
              "n:1:2",
              "1:2:a:b",
              "1:2:cpx31:fsn1:",
              "1:2:cpx31::n",
              "1:2:a:b:c:d",
              "1:2:https://host/",
              "1:2:path/",
              "",
              "1:99999999999999999999:n"};
    case ValueKind::kNodesOrGroupSize:
      return {"1.5", "0x1", "1:2", "1:2:", ":2:n", "2:1:n", "-1:5:n", "1:nan:n", "n:1:2", ""};
    case ValueKind::kBytes: {
      std::vector<std::string> bad = numbers;
      for (const char* more :
           {"0", "0GiB", "GiB", "1XB", "1 GiB", "1.5GiB", "1048577TiB", "-1KB"}) {
        bad.emplace_back(more);
      }
      return bad;
    }
    case ValueKind::kGpuTotal:
      return {"", "gpu", "gpu:1", "gpu:2:1", ":1:2", "gpu:-1:2", "gpu:1:nan", "gpu:1:2:3"};
    case ValueKind::kPriceRule:
      return {"", "spot", "spot=", "spot=-1", "spot=1.5", "spot=nan", "half=0.5", "discount=20%"};
    case ValueKind::kSwitch:
      return {"2", "yes", "on", "nan", "-1", "truee", "tRUE", "0x1"};
    case ValueKind::kChoice:
      return {"", "no-such-choice", "nan", "1"};
    case ValueKind::kFile:
    case ValueKind::kNode:
    case ValueKind::kText:
      return {""};
    case ValueKind::kMaybeEmptyText:
      return {};
  }
  return {};
}

struct WholeCommandLine : CommandLine {
  WholeCommandLine() {
    AddAutoscalerFlags("plan");
    AddAutoscalerFlags("run");
  }
};

struct Answer {
  int code;
  std::string err;
};

Answer Ebb(std::vector<std::string> words) {
  words.insert(words.begin(), "ebb");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(static_cast<int>(argv.size()), argv.data(), in, out, err);
  return {code, err.str()};
}

// The command line with this value for the option and nothing else.  CLI11 checks values before it
// checks whether required options are missing.
std::vector<std::string> With(const CLI::App& root, std::vector<std::string> path,
                              const CLI::Option& option, const std::string& value) {
  const CLI::App* command = &root;
  for (const std::string& name : path) command = command->get_subcommand(name);
  if (KindOf(option) == ValueKind::kSwitch) {
    path.push_back(option.get_name() + "=" + value);
  } else if (option.get_positional()) {
    path.emplace_back("--");
    for (const CLI::Option* before : command->get_options()) {
      if (before == &option) break;
      if (!before->get_positional()) continue;
      const std::vector<std::string> choices = ChoicesOf(*before);
      path.push_back(choices.empty() ? "file" : choices.front());
    }
    path.push_back(value);
  } else {
    path.push_back(option.get_name());
    path.push_back(value);
  }
  return path;
}

TEST(FlagValuesTest, EveryOptionOfEveryCommandDescribesItsValue) {
  const WholeCommandLine line;
  size_t options = 0;
  ForEachOption(
      *line.app, {}, [&](const std::vector<std::string>& path, const CLI::Option& option) {
        if (HasNoValue(option)) return;
        ++options;
        EXPECT_TRUE(KindOf(option).has_value())
            << ::testing::PrintToString(path) << " " << option.get_name()
            << " has no checker; give it one of cli/flags/flag_values.h";
        EXPECT_EQ(KindOf(option) == ValueKind::kSwitch, option.get_items_expected_max() == 0)
            << option.get_name() << ": flags without a value, and only they, are switches";
      });
  EXPECT_GT(options, 50u);
}

// Gives each bad value to the checker, and the first of them also to the command.
TEST(FlagValuesTest, EveryOptionOfEveryCommandRefusesBadValuesAndNamesItsRange) {
  const WholeCommandLine line;
  int shown = 0;
  ForEachOption(
      *line.app, {}, [&](const std::vector<std::string>& path, const CLI::Option& option) {
        if (HasNoValue(option) || !KindOf(option)) return;
        const ValueKind kind = *KindOf(option);
        const std::vector<std::string> values = BadValues(kind);
        const CLI::Validator& checker = *const_cast<CLI::Option&>(option).get_validator(0);
        for (const std::string& bad : values) {
          SCOPED_TRACE(option.get_name() + " " + bad);
          const std::string wrong = checker(bad);
          EXPECT_THAT(wrong,
                      ::testing::AnyOf(HasSubstr("is not a"), HasSubstr("is not one of"),
                                       HasSubstr("is not true or false"), HasSubstr("is empty")));
          if (kind == ValueKind::kWholeNumber || kind == ValueKind::kNumber) {
            EXPECT_THAT(wrong, HasSubstr("from " + RangeOf(option)));
          }
        }
        if (values.empty() || (test::kSanitized && shown++ % 5 != 0)) return;
        const Answer answer = Ebb(With(*line.app, path, option, values.front()));
        EXPECT_EQ(answer.code, 2) << answer.err;
        EXPECT_THAT(answer.err, HasSubstr(option.get_name() + ": " + checker(values.front())));
      });
}

TEST(FlagValuesTest, EveryRangeAcceptsItsEndsAndNothingBeyond) {
  const WholeCommandLine line;
  ForEachOption(*line.app, {}, [&](const std::vector<std::string>&, const CLI::Option& option) {
    if (KindOf(option) != ValueKind::kWholeNumber) return;
    SCOPED_TRACE(option.get_name());
    auto& asked = const_cast<CLI::Option&>(option);
    const CLI::Validator& checker = *asked.get_validator(0);
    const std::string range = RangeOf(option);
    const std::string min = range.substr(0, range.find(' '));
    const std::string max = range.substr(range.rfind(' ') + 1);
    EXPECT_EQ(checker(min), "");
    EXPECT_EQ(checker(max), "");
    EXPECT_NE(checker(std::to_string(std::stoll(min) - 1)), "");
    EXPECT_NE(checker(max + "0"), "");
  });
}

TEST(FlagValuesTest, EachKindAcceptsItsValuesAndRejectsOthers) {
  EXPECT_EQ(values::WholeNumber(-10, 5)("-10"), "");
  EXPECT_EQ(values::WholeNumber(-10, 5)("-11"), "\"-11\" is not a whole number from -10 to 5");
  EXPECT_EQ(values::WholeNumber(0, UINT64_MAX)("18446744073709551615"), "");
  EXPECT_EQ(values::Number(0, 1)("nan"), "\"nan\" is not a number from 0 to 1");
  for (const char* good : {"0", "1", "0.5", ".5", "1e-3", "1."}) {
    EXPECT_EQ(values::Number(0, 1)(good), "") << good;
  }
  EXPECT_EQ(values::Duration()("876000h"), "");
  EXPECT_EQ(values::MinMax(9)("0:9"), "");
  EXPECT_NE(values::MinMax(9)("0:10"), "");
  EXPECT_EQ(values::Choice({"table", "json"})("jsno"),
            "\"jsno\" is not one of table, json; did you mean json?");
  EXPECT_EQ(ParseBytes("16GiB"), uint64_t{16} << 30);
  EXPECT_EQ(ParseBytes("500mb"), 500'000'000u);
  EXPECT_EQ(values::Time()("9999-12-31T23:59:59Z"), "");
  EXPECT_EQ(values::Choice({"a"})("\x1b[2J"), "\"\\x1b[2J\" is not one of a");
}

TEST(FlagValuesTest, APartOfASecondCountsAsOne) {
  EXPECT_EQ(DurationSeconds("500ms"), 1);
  EXPECT_EQ(DurationSeconds("0s"), 0);
  EXPECT_EQ(DurationSeconds("1m30s"), 90);
}

TEST(FlagValuesTest, TheLastOfARepeatedFlagCounts) {
  EXPECT_THAT(Ebb({"plan", "no-such-file", "--threads", "1", "--threads", "2"}).err,
              HasSubstr("no-such-file: "));
}

TEST(FlagValuesTest, AShareMayBeAPercentage) {
  for (const auto& [given, read] : {std::pair("5%", "0.05"), std::pair("100%", "1"),
                                    std::pair("0.2", "0.2"), std::pair("0", "0")}) {
    std::string text = given;
    EXPECT_EQ(values::Share()(text), "") << given;
    EXPECT_EQ(text, read);
  }
  for (std::string bad : {"101%", "%", "5 %", "-1%", "2", "nan%"}) {
    EXPECT_THAT(values::Share()(bad), HasSubstr("is not a number from 0 to 1")) << bad;
  }
}

}  // namespace
}  // namespace ebb::flag_values_test
