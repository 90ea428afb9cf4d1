#include "sizing/policy/replicator/replicator_options.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::replicator_options_test {
namespace {

using Problem = ReplicatorProblem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ReplicatorKeys kRequired = {{"replicator_enabled", "true"},
                                  {"replicator_worker_pool", "web"},
                                  {"replicator_region", "eu-west-1"},
                                  {"replicator_notification_uid", "REP1"},
                                  {"replicator_provider", "aws"}};

ReplicatorKeys With(ReplicatorKeys keys, const std::string& key, const std::string& text) {
  keys[key] = text;
  return keys;
}

ReplicatorKeys Without(ReplicatorKeys keys, const std::string& key) {
  keys.erase(key);
  return keys;
}

std::variant<ReplicatorOptions, Problem> Read(
    const ReplicatorKeys& keys, const std::map<std::string, ReplicatorKeys>& stored = {}) {
  return ReadReplicatorKeys("n1", keys, stored);
}

ReplicatorOptions Options(const ReplicatorKeys& keys) {
  const auto read = Read(keys);
  EXPECT_TRUE(std::holds_alternative<ReplicatorOptions>(read));
  const auto* options = std::get_if<ReplicatorOptions>(&read);
  return options != nullptr ? *options : ReplicatorOptions{};
}

Problem ProblemOf(const ReplicatorKeys& keys,
                  const std::map<std::string, ReplicatorKeys>& stored = {}) {
  const auto read = Read(keys, stored);
  EXPECT_TRUE(std::holds_alternative<Problem>(read));
  const auto* problem = std::get_if<Problem>(&read);
  return problem != nullptr ? *problem : Problem{.kind = Problem::Kind::kNotConfigured};
}

TEST(ReplicatorOptionsTest, RequiredKeysAloneGiveTheDefaults) {
  const ReplicatorOptions options = Options(kRequired);
  EXPECT_TRUE(options.replicator_enabled);
  EXPECT_EQ(options.replicator_worker_pool, "web");
  EXPECT_EQ(options.replicator_region, "eu-west-1");
  EXPECT_EQ(options.replicator_notification_uid, "REP1");
  EXPECT_EQ(options.replicator_provider, "aws");
  EXPECT_EQ(options.replicator_cooldown, 300);
  EXPECT_EQ(options.replicator_node_fault_tolerance, 1);
  EXPECT_EQ(options.replicator_retry_threshold, 3);
  EXPECT_EQ(options.replicator_scaling_threshold, 3);
  EXPECT_EQ(options.replicator_min, std::nullopt);
  EXPECT_EQ(options.replicator_max, std::nullopt);
  EXPECT_EQ(options.replicator_scale_factor, 1);
}

TEST(ReplicatorOptionsTest, EveryOptionalKeyIsRead) {
  ReplicatorKeys keys = kRequired;
  keys.insert({{"replicator_cooldown", "10"},
               {"replicator_node_fault_tolerance", "20"},
               {"replicator_retry_threshold", "30"},
               {"replicator_scaling_threshold", "40"},
               {"replicator_min", "50"},
               {"replicator_max", "60"},
               {"replicator_scale_factor", "70"}});
  const ReplicatorOptions options = Options(keys);
  EXPECT_EQ(options.replicator_cooldown, 10);
  EXPECT_EQ(options.replicator_node_fault_tolerance, 20);
  EXPECT_EQ(options.replicator_retry_threshold, 30);
  EXPECT_EQ(options.replicator_scaling_threshold, 40);
  EXPECT_EQ(options.replicator_min, 50);
  EXPECT_EQ(options.replicator_max, 60);
  EXPECT_EQ(options.replicator_scale_factor, 70);
}

TEST(ReplicatorOptionsTest, WholeNumbersAreReadAsGoReadsThem) {
  const std::map<std::string, int64_t> numbers = {{"0", 0},
                                                  {"00", 0},
                                                  {"300", 300},
                                                  {"-5", -5},
                                                  {"+7", 7},
                                                  {"0x10", 16},
                                                  {"0XfF", 255},
                                                  {"-0x10", -16},
                                                  {"010", 8},
                                                  {"0o17", 15},
                                                  {"0b101", 5},
                                                  {"1_000", 1000},
                                                  {"0_7", 7},
                                                  {"0x_1f", 31},
                                                  {"9223372036854775807", INT64_MAX},
                                                  {"-9223372036854775808", INT64_MIN}};
  for (const auto& [text, number] : numbers) {
    const auto read = ParseGoInt(text);
    ASSERT_TRUE(std::holds_alternative<int64_t>(read)) << text;
    EXPECT_EQ(std::get<int64_t>(read), number) << text;
  }
}

TEST(ReplicatorOptionsTest, TextsThatGoRejectsAreNotNumbers) {
  for (const char* text : {"",  " 7", "7 ",  "300.0", "abc", "08", "0x", "0xg",  "0b2",  "1e3",
                           "-", "+",  "--1", "+-1",   "-+1", "_1", "1_", "1__0", "0x-1", "0_"}) {
    const auto read = ParseGoInt(text);
    ASSERT_TRUE(std::holds_alternative<Problem::Text>(read)) << text;
    EXPECT_EQ(std::get<Problem::Text>(read), Problem::Text::kNotInt) << text;
  }
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "0xffffffffffffffff"}) {
    const auto read = ParseGoInt(text);
    ASSERT_TRUE(std::holds_alternative<Problem::Text>(read)) << text;
    EXPECT_EQ(std::get<Problem::Text>(read), Problem::Text::kOutOfRange) << text;
  }
}

TEST(ReplicatorOptionsTest, OnlyGosSpellingsOfTrueAndFalseAreRead) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_EQ(ParseWeakBool(text), true) << text;
  }
  for (const char* text : {"", "0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(ParseWeakBool(text), false) << text;
  }
  for (const char* text : {"yes", "no", "tRUE", " true", "2", "on"}) {
    EXPECT_EQ(ParseWeakBool(text), std::nullopt) << text;
  }
}

TEST(ReplicatorOptionsTest, KeyInAnotherLetterCaseCountsOnlyWhereItsOwnIsAbsent) {
  EXPECT_EQ(Options(With(kRequired, "REPLICATOR_COOLDOWN", "88")).replicator_cooldown, 88);
  EXPECT_EQ(Options(With(With(kRequired, "REPLICATOR_COOLDOWN", "88"), "replicator_cooldown", "60"))
                .replicator_cooldown,
            60);
}

TEST(ReplicatorOptionsTest, OtherSpellingOfCooldownCountsOnlyWhereCooldownIsAbsent) {
  const ReplicatorKeys keys = With(kRequired, "replicator_cool_down", "77");
  EXPECT_EQ(Options(keys).replicator_cooldown, 77);
  EXPECT_EQ(Options(With(keys, "replicator_cooldown", "60")).replicator_cooldown, 60);
  EXPECT_EQ(Options(With(keys, "REPLICATOR_COOLDOWN", "88")).replicator_cooldown, 88);
}

TEST(ReplicatorOptionsTest, UnknownKeysAreIgnored) {
  EXPECT_EQ(Options(With(kRequired, "replicator_unheard_of", "x")), Options(kRequired));
}

TEST(ReplicatorOptionsTest, AKeyWithAnyTextIsPresent) {
  ReplicatorKeys keys;
  for (const auto& [key, text] : kRequired) keys[key] = "";
  EXPECT_FALSE(Options(keys).replicator_enabled);
  EXPECT_EQ(Options(keys).replicator_worker_pool, "");
}

TEST(ReplicatorOptionsTest, NodeWithoutAnyRequiredKeyIsNotConfigured) {
  EXPECT_EQ(ProblemOf({{"replicator_cooldown", "10"}}).kind, Problem::Kind::kNotConfigured);
  EXPECT_EQ(ProblemOf({}).kind, Problem::Kind::kNotConfigured);
}

TEST(ReplicatorOptionsTest, MissingKeysAreNamedWhereThePoolIsUnknown) {
  const Problem problem =
      ProblemOf(Without(Without(kRequired, "replicator_worker_pool"), "replicator_region"));
  EXPECT_EQ(problem.kind, Problem::Kind::kMissingKeys);
  EXPECT_FALSE(problem.stored);
  EXPECT_THAT(problem.keys, ElementsAre("replicator_region", "replicator_worker_pool"));
}

TEST(ReplicatorOptionsTest, RequiredKeyInAnotherLetterCaseIsMissing) {
  const Problem problem =
      ProblemOf(With(Without(kRequired, "replicator_region"), "REPLICATOR_REGION", "eu-west-1"));
  EXPECT_EQ(problem.kind, Problem::Kind::kNothingStored);
  EXPECT_THAT(problem.keys, ElementsAre("replicator_region"));
}

TEST(ReplicatorOptionsTest, StoredConfigurationReplacesTheNodesEntirely) {
  const ReplicatorKeys node = {{"replicator_worker_pool", "web"}, {"replicator_cooldown", "10"}};
  const std::map<std::string, ReplicatorKeys> stored = {
      {"web", With(kRequired, "replicator_scaling_threshold", "9")}};
  const auto read = Read(node, stored);
  ASSERT_TRUE(std::holds_alternative<ReplicatorOptions>(read));
  EXPECT_EQ(std::get<ReplicatorOptions>(read).replicator_scaling_threshold, 9);
  EXPECT_EQ(std::get<ReplicatorOptions>(read).replicator_cooldown, 300) << "merged";
}

TEST(ReplicatorOptionsTest, TheStoredConfigurationIsNotReadIfNoKeyIsMissing) {
  const auto read = Read(kRequired, {{"web", With(kRequired, "replicator_cooldown", "9")}});
  EXPECT_EQ(std::get<ReplicatorOptions>(read).replicator_cooldown, 300);
}

TEST(ReplicatorOptionsTest, StoredConfigurationMustBeComplete) {
  const ReplicatorKeys node = {{"replicator_worker_pool", "web"}};
  EXPECT_EQ(ProblemOf(node).kind, Problem::Kind::kNothingStored);
  EXPECT_EQ(ProblemOf(node, {{"web", {}}}).kind, Problem::Kind::kNothingStored);
  const Problem problem = ProblemOf(node, {{"web", Without(kRequired, "replicator_provider")}});
  EXPECT_EQ(problem.kind, Problem::Kind::kMissingKeys);
  EXPECT_TRUE(problem.stored);
  EXPECT_THAT(problem.keys, ElementsAre("replicator_provider"));
}

TEST(ReplicatorOptionsTest, TheErrorNamesAllUndecodableKeys) {
  ReplicatorKeys keys = With(kRequired, "replicator_enabled", "yes");
  keys = With(keys, "replicator_cool_down", "300.0");
  keys = With(keys, "replicator_min", "99999999999999999999");
  const Problem problem = ProblemOf(keys);
  EXPECT_EQ(problem.kind, Problem::Kind::kUndecodable);
  EXPECT_THAT(
      problem.undecodable,
      ElementsAre(Problem::Undecodable{"replicator_cooldown", "300.0", Problem::Text::kNotInt},
                  Problem::Undecodable{"replicator_enabled", "yes", Problem::Text::kNotBool},
                  Problem::Undecodable{"replicator_min", "99999999999999999999",
                                       Problem::Text::kOutOfRange}));
  const std::string text = Describe(problem);
  for (const char* part : {"n1", "replicator_cooldown", "\"300.0\"", "replicator_min", "yes"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ReplicatorOptionsTest, DifferingKeysAreThoseOfTheFieldsThatDiffer) {
  const ReplicatorOptions a = Options(kRequired);
  ReplicatorOptions b = a;
  EXPECT_THAT(DifferingKeys(a, b), IsEmpty());
  b.replicator_enabled = false;
  b.replicator_cooldown = 1;
  b.replicator_region = "";
  b.replicator_max = 3;
  EXPECT_THAT(DifferingKeys(a, b), ElementsAre("replicator_cooldown", "replicator_enabled",
                                               "replicator_max", "replicator_region"));
}

TEST(ReplicatorOptionsTest, DefaultsOfANamedPoolHaveNoProblem) {
  EXPECT_THAT(Problems(Options(kRequired)), IsEmpty());
}

TEST(ReplicatorOptionsTest, EachSenselessValueIsAProblem) {
  const auto problems = [](auto change) {
    ReplicatorOptions options{.replicator_worker_pool = "web"};
    change(options);
    return Problems(options);
  };
  using Options = ReplicatorOptions;
  EXPECT_THAT(problems([](Options& o) { o.replicator_worker_pool = ""; }),
              ElementsAre(HasSubstr("replicator_worker_pool")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_cooldown = -1; }),
              ElementsAre(HasSubstr("replicator_cooldown")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_node_fault_tolerance = -1; }),
              ElementsAre(HasSubstr("replicator_node_fault_tolerance")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_scaling_threshold = -1; }),
              ElementsAre(HasSubstr("replicator_scaling_threshold")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_retry_threshold = -1; }),
              ElementsAre(HasSubstr("replicator_retry_threshold")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_retry_threshold = 0; }),
              ElementsAre(HasSubstr("replicator_retry_threshold")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_scale_factor = 0; }),
              ElementsAre(HasSubstr("replicator_scale_factor")));
  EXPECT_THAT(problems([](Options& o) { o.replicator_min = -1; }),
              ElementsAre(HasSubstr("replicator_min")));
  EXPECT_THAT(problems([](Options& o) {
                o.replicator_min = 4;
                o.replicator_max = 3;
              }),
              ElementsAre(HasSubstr("above replicator_max")));
  EXPECT_THAT(problems([](Options& o) {
                o.replicator_min = 3;
                o.replicator_max = 3;
              }),
              IsEmpty());
}

TEST(ReplicatorOptionsTest, EveryProblemNamesItsNode) {
  for (int kind = 0; kind <= static_cast<int>(Problem::Kind::kNodesDisagree); ++kind) {
    const Problem problem{.kind = static_cast<Problem::Kind>(kind), .node = "node-17"};
    EXPECT_THAT(Describe(problem), HasSubstr("node-17")) << kind;
  }
}

TEST(ReplicatorOptionsTest, EachProblemIsASentenceOfItsOwn) {
  using Kind = Problem::Kind;
  Problem problem{.kind = Kind::kNotConfigured,
                  .node = "n1",
                  .pool = "web",
                  .keys = {"a", "b"},
                  .provider = "gce",
                  .nodes = {"x", "y"}};
  problem.undecodable = {{"k", "x", Problem::Text::kNotBool},
                         {"l", "y", Problem::Text::kNotInt},
                         {"m", "9", Problem::Text::kOutOfRange}};
  const auto text = [&](Kind kind, bool stored = false) {
    problem.kind = kind;
    problem.stored = stored;
    return Describe(problem);
  };
  EXPECT_EQ(text(Kind::kNotConfigured), "node n1: has no replicator_ keys");
  EXPECT_EQ(text(Kind::kMissingKeys), "node n1: lacks a, b");
  EXPECT_EQ(text(Kind::kMissingKeys, true),
            "node n1, pool web: the stored configuration lacks a, b");
  EXPECT_EQ(text(Kind::kNothingStored),
            "node n1, pool web: lacks a, b, and no configuration of the pool is stored");
  EXPECT_EQ(text(Kind::kUndecodable),
            "node n1: k: \"x\" is not true or false; l: \"y\" is not a whole number; "
            "m: \"9\" is too large a number");
  EXPECT_EQ(text(Kind::kNoProvider), "node n1, pool web: replicator_provider is empty");
  EXPECT_EQ(text(Kind::kUnknownProvider),
            "node n1, pool web: replicator_provider: \"gce\" is unknown; there is aws");
  EXPECT_EQ(text(Kind::kNoRegion), "node n1, pool web: replicator_region is empty");
  EXPECT_EQ(text(Kind::kNodesDisagree),
            "node n1, pool web: its a, b differ from those of x, y; they hold for the pool now");
}

TEST(ReplicatorOptionsTest, SenselessValuesGiveTheseErrors) {
  ReplicatorOptions options{.replicator_cooldown = -1,
                            .replicator_node_fault_tolerance = -2,
                            .replicator_retry_threshold = 0,
                            .replicator_scaling_threshold = -4,
                            .replicator_scale_factor = -5};
  options.replicator_min = -6;
  options.replicator_max = -7;
  EXPECT_THAT(
      Problems(options),
      ElementsAre("replicator_worker_pool: a pool needs a name",
                  "replicator_cooldown: -1 is below 0",
                  "replicator_node_fault_tolerance: -2 is below 0",
                  "replicator_scaling_threshold: -4 is below 0", "replicator_min: -6 is below 0",
                  "replicator_max: -7 is below 0", "replicator_scale_factor: -5 adds no node",
                  "replicator_min: -6 is above replicator_max, -7",
                  "replicator_retry_threshold: 0 puts the pool into failsafe at once"));
  options = {.replicator_worker_pool = "web",
             .replicator_cooldown = 0,
             .replicator_node_fault_tolerance = 0,
             .replicator_retry_threshold = 1,
             .replicator_scaling_threshold = 0,
             .replicator_scale_factor = 1};
  options.replicator_min = options.replicator_max = 0;
  EXPECT_THAT(Problems(options), IsEmpty());
}

TEST(ReplicatorOptionsTest, EveryKeyThatDiffersIsNamed) {
  const ReplicatorOptions a = Options(kRequired);
  ReplicatorOptions b = a;
  b.replicator_worker_pool = b.replicator_notification_uid = b.replicator_provider = "other";
  b.replicator_node_fault_tolerance = b.replicator_retry_threshold = 9;
  b.replicator_scaling_threshold = b.replicator_scale_factor = 9;
  b.replicator_min = 9;
  EXPECT_THAT(DifferingKeys(a, b),
              ElementsAre("replicator_min", "replicator_node_fault_tolerance",
                          "replicator_notification_uid", "replicator_provider",
                          "replicator_retry_threshold", "replicator_scale_factor",
                          "replicator_scaling_threshold", "replicator_worker_pool"));
}

TEST(ReplicatorOptionsTest, OneDigitAfterAPrefixIsANumber) {
  const std::map<std::string, int64_t> numbers = {{"0x1", 1}, {"0Xa", 10}, {"0b1", 1}, {"0B0", 0},
                                                  {"0o7", 7}, {"0O7", 7},  {"07", 7}};
  for (const auto& [text, number] : numbers) {
    const auto read = ParseGoInt(text);
    ASSERT_TRUE(std::holds_alternative<int64_t>(read)) << text;
    EXPECT_EQ(std::get<int64_t>(read), number) << text;
  }
}

TEST(ReplicatorOptionsTest, AProblemHasItsNodeItsPoolAndItsKeys) {
  EXPECT_EQ(ProblemOf({}), (Problem{.kind = Problem::Kind::kNotConfigured, .node = "n1"}));
  EXPECT_EQ(
      ProblemOf(Without(kRequired, "replicator_worker_pool")),
      (Problem{
          .kind = Problem::Kind::kMissingKeys, .node = "n1", .keys = {"replicator_worker_pool"}}));
  const ReplicatorKeys regionless = Without(kRequired, "replicator_region");
  EXPECT_EQ(ProblemOf(regionless), (Problem{.kind = Problem::Kind::kNothingStored,
                                            .node = "n1",
                                            .pool = "web",
                                            .keys = {"replicator_region"}}));
  EXPECT_EQ(ProblemOf(regionless, {{"web", Without(kRequired, "replicator_provider")}}),
            (Problem{.kind = Problem::Kind::kMissingKeys,
                     .node = "n1",
                     .pool = "web",
                     .stored = true,
                     .keys = {"replicator_provider"}}));
  const Problem::Undecodable max{"replicator_max", "x", Problem::Text::kNotInt};
  EXPECT_EQ(
      ProblemOf(With(kRequired, "replicator_max", "x")),
      (Problem{
          .kind = Problem::Kind::kUndecodable, .node = "n1", .pool = "web", .undecodable = {max}}));
}

}  // namespace
}  // namespace ebb::replicator_options_test
