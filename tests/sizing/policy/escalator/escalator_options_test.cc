#include "sizing/policy/escalator/escalator_options.h"

#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace ebb::escalator_options_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

EscalatorOptions Good() {
  return {.name = "g",
          .label_key = "k",
          .label_value = "v",
          .cloud_provider_group_name = "asg",
          .min_nodes = 1,
          .max_nodes = 10,
          .scale_up_threshold_percent = 70,
          .taint_upper_capacity_threshold_percent = 40,
          .taint_lower_capacity_threshold_percent = 20,
          .slow_node_removal_rate = 1,
          .fast_node_removal_rate = 2,
          .soft_delete_grace_period = "5m",
          .hard_delete_grace_period = "10m",
          .scale_up_cool_down_period = "2m",
          .unhealthy_node_grace_period = "3m",
          .health_check_newest_nodes_percent = 50};
}

// The keys of all problems, such as "name label_key ".
std::string Keys(const EscalatorOptions& options) {
  std::string keys;
  for (const EscalatorProblem& problem : Problems(options)) keys += std::string(problem.key) + " ";
  return keys;
}

// The only problem of good options after `change`.
template <typename Change>
std::string Problem(Change change) {
  EscalatorOptions options = Good();
  change(options);
  const std::vector<EscalatorProblem> problems = Problems(options);
  if (problems.empty()) return "";
  return problems.size() == 1 ? std::string(problems[0].text) : "several";
}

TEST(EscalatorOptionsTest, GoodOptionsHaveNoProblem) { EXPECT_EQ(Keys(Good()), ""); }

TEST(EscalatorOptionsTest, NothingHasADefault) {
  EXPECT_EQ(Keys({}),
            "name label_key label_value cloud_provider_group_name "
            "taint_upper_capacity_threshold_percent taint_lower_capacity_threshold_percent "
            "scale_up_threshold_percent taint_lower_capacity_threshold_percent "
            "taint_upper_capacity_threshold_percent soft_delete_grace_period "
            "hard_delete_grace_period soft_delete_grace_period hard_delete_grace_period "
            "soft_delete_grace_period scale_up_cool_down_period scale_up_cool_down_period ");
}

TEST(EscalatorOptionsTest, ThresholdsMustRiseStrictly) {
  EXPECT_EQ(Problem([](auto& o) { o.taint_lower_capacity_threshold_percent = 40; }),
            "taint_lower_capacity_threshold_percent must be less than "
            "taint_upper_capacity_threshold_percent");
  EXPECT_EQ(Problem([](auto& o) { o.taint_upper_capacity_threshold_percent = 70; }),
            "taint_upper_capacity_threshold_percent must be less than scale_up_threshold_percent");
  EXPECT_EQ(Problem([](auto& o) { o.taint_upper_capacity_threshold_percent = 69; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.taint_lower_capacity_threshold_percent = 1; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.taint_lower_capacity_threshold_percent = 0; }),
            "taint_lower_capacity_threshold_percent must be larger than 0");
}

TEST(EscalatorOptionsTest, BoundsAreCheckedUnlessBothAreZero) {
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = o.max_nodes = 0; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = o.max_nodes = 5; }),
            "min_nodes must be less than max_nodes");
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = 9; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = -1; }), "min_nodes must be not less than 0");
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = -2, o.max_nodes = 0; }), "several");
}

TEST(EscalatorOptionsTest, RatesMayBeEqualAndNegative) {
  EXPECT_EQ(Problem([](auto& o) { o.slow_node_removal_rate = 2; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.slow_node_removal_rate = -3; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.slow_node_removal_rate = 3; }),
            "slow_node_removal_rate must be less than fast_node_removal_rate");
}

TEST(EscalatorOptionsTest, GracePeriodsMustDiffer) {
  EXPECT_EQ(Problem([](auto& o) { o.soft_delete_grace_period = "600s"; }),
            "soft_delete_grace_period must be less than hard_delete_grace_period");
  EXPECT_EQ(Problem([](auto& o) { o.soft_delete_grace_period = "9m59.999999999s"; }), "");
}

TEST(EscalatorOptionsTest, ABadCoolDownIsReportedWithItsOwnKey) {
  EscalatorOptions options = Good();
  options.scale_up_cool_down_period = "5";
  EXPECT_EQ(Keys(options), "scale_up_cool_down_period ");
  EXPECT_TRUE(Problems(options)[0].text.starts_with("soft_delete_grace_period failed"));
}

TEST(EscalatorOptionsTest, HealthKeysMatterOnlyWithAGracePeriod) {
  EXPECT_EQ(Problem([](auto& o) { o.health_check_newest_nodes_percent = 0; }),
            "health_check_newest_nodes_percent must be greater than 0");
  EXPECT_EQ(Problem([](auto& o) { o.health_check_newest_nodes_percent = 101; }),
            "health_check_newest_nodes_percent must be less than or equal to 100");
  EXPECT_EQ(Problem([](auto& o) { o.health_check_newest_nodes_percent = 100; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.max_unhealthy_nodes_percent = 100; }),
            "max_unhealthy_nodes_percent must be less than 100");
  EXPECT_EQ(Problem([](auto& o) { o.max_unhealthy_nodes_percent = -1; }),
            "max_unhealthy_nodes_percent must be greater than or equal to 0");
  EXPECT_EQ(Problem([](auto& o) { o.unhealthy_node_grace_period = "0s"; }),
            "unhealthy_node_grace_period failed to parse into a time.Duration. check your "
            "formatting.");
  EXPECT_EQ(Problem([](auto& o) {
              o.unhealthy_node_grace_period = "";
              o.health_check_newest_nodes_percent = 0;
              o.max_unhealthy_nodes_percent = 500;
            }),
            "");
}

TEST(EscalatorOptionsTest, AMaxNodeAgeMayBeNegativeButMustBeADuration) {
  for (const char* age : {"", "0", "-1h", "24h"}) {
    EXPECT_EQ(Problem([&](auto& o) { o.max_node_age = age; }), "") << age;
  }
  EXPECT_TRUE(Problem([](auto& o) { o.max_node_age = "1d"; }).starts_with("max_node_age failed"));
}

TEST(EscalatorOptionsTest, NamesOfEffectsAndLifecyclesAreExact) {
  EXPECT_EQ(Problem([](auto& o) { o.taint_effect = "noexecute"; }),
            "taint_effect must be valid kubernetes taint");
  EXPECT_EQ(Problem([](auto& o) { o.taint_effect = "PreferNoSchedule"; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.aws_lifecycle = "Spot"; }),
            "aws.lifecycle must be 'on-demand' or 'spot' if provided.");
  EXPECT_EQ(Problem([](auto& o) { o.aws_lifecycle = "spot"; }), "");
}

TEST(EscalatorOptionsTest, DurationsAreReadAsGoDoes) {
  const std::pair<const char*, int64_t> kRead[] = {
      {"0", 0},
      {"+0", 0},
      {"5s", 5 * kSecond},
      {"-5s", -5 * kSecond},
      {"+1.5m", 90 * kSecond},
      {"1h30m", 5400 * kSecond},
      {"90s500ms", 90 * kSecond + kSecond / 2},
      {".5s", kSecond / 2},
      {"1.s", kSecond},
      {"0.0000000019s", 1},  // Truncated, not rounded.
      {"1us", 1000},
      {"1\xC2\xB5s", 1000},
      {"1\xCE\xBCs", 1000},
      {"1ns1ns", 2},
      {"0.33333333333333333333h", 1200 * kSecond},  // Digits that do not fit are ignored.
      {"9223372036854775807ns", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808ns", std::numeric_limits<int64_t>::min()},
  };
  for (const auto& [text, ns] : kRead) {
    EXPECT_EQ(ParseGoDuration(text), ns) << text;
  }
  for (const char* text : {"",
                           "-",
                           "+",
                           "5",
                           "x",
                           "s",
                           ".s",
                           "1 s",
                           " 1s",
                           "1s ",
                           "1d",
                           "--1s",
                           "1sm",
                           "1.2.3s",
                           "1M",
                           "9223372036854775808ns",
                           "-9223372036854775809ns",
                           "2562048h",
                           "9223372036s1h",
                           "99999999999999999999s",
                           "1\xC2s"}) {
    EXPECT_EQ(ParseGoDuration(text), std::nullopt) << text;
  }
}

TEST(EscalatorOptionsTest, AnInvalidDurationCountsAsZero) {
  EscalatorOptions options = Good();
  options.soft_delete_grace_period = "10";
  const EscalatorDurations durations = Durations(options);
  EXPECT_EQ(durations.soft_delete_ns, 0);
  EXPECT_EQ(durations.hard_delete_ns, 600 * kSecond);
  EXPECT_EQ(durations.cool_down_ns, 120 * kSecond);
  EXPECT_EQ(durations.max_node_age_ns, 0);
  EXPECT_TRUE(durations.HasHealth());
}

TEST(EscalatorOptionsTest, EveryProblemHasTheProgramsWords) {
  std::string texts;
  for (const EscalatorProblem& problem : Problems(EscalatorOptions())) {
    texts += std::string(problem.text) + "\n";
  }
  EXPECT_EQ(
      texts,
      "name cannot be empty\n"
      "label_key cannot be empty\n"
      "label_value cannot be empty\n"
      "cloud_provider_group_name cannot be empty\n"
      "taint_upper_capacity_threshold_percent must be larger than 0\n"
      "taint_lower_capacity_threshold_percent must be larger than 0\n"
      "scale_up_threshold_percent must be larger than 0\n"
      "taint_lower_capacity_threshold_percent must be less than "
      "taint_upper_capacity_threshold_percent\n"
      "taint_upper_capacity_threshold_percent must be less than scale_up_threshold_percent\n"
      "soft_delete_grace_period must not be empty\n"
      "hard_delete_grace_period must not be empty\n"
      "soft_delete_grace_period failed to parse into a time.Duration. check your formatting.\n"
      "hard_delete_grace_period failed to parse into a time.Duration. check your formatting.\n"
      "soft_delete_grace_period must be less than hard_delete_grace_period\n"
      "scale_up_cool_down_period must not be empty\n"
      "soft_delete_grace_period failed to parse into a time.Duration. check your formatting.\n");
  EXPECT_EQ(Problem([](auto& o) { o.max_node_age = "1d"; }),
            "max_node_age failed to parse into a time.Duration. Set to '0' or '' to disable, or a "
            "positive Go duration to enable.");
}

TEST(EscalatorOptionsTest, TheSmallestAndTheLargestThatIsAllowedHasNoProblem) {
  EXPECT_EQ(Problem([](auto& o) { o.min_nodes = 0, o.max_nodes = 1; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.health_check_newest_nodes_percent = 1; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.max_unhealthy_nodes_percent = 99; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.unhealthy_node_grace_period = "1ns"; }), "");
  EXPECT_EQ(Problem([](auto& o) { o.scale_up_cool_down_period = "1ns"; }), "");
  EXPECT_EQ(Problem([](auto& o) {
              o.taint_lower_capacity_threshold_percent = 1;
              o.taint_upper_capacity_threshold_percent = 2;
              o.scale_up_threshold_percent = 3;
            }),
            "");
  for (const char* effect : {"", "NoSchedule", "NoExecute"}) {
    EXPECT_EQ(Problem([&](auto& o) { o.taint_effect = effect; }), "") << effect;
  }
  EXPECT_EQ(Problem([](auto& o) { o.aws_lifecycle = "on-demand"; }), "");
}

TEST(EscalatorOptionsTest, EachThresholdIsLargerThanZeroByItself) {
  EscalatorOptions options = Good();
  options.taint_lower_capacity_threshold_percent = 0;
  options.taint_upper_capacity_threshold_percent = 1;
  EXPECT_EQ(Keys(options), "taint_lower_capacity_threshold_percent ");
  options.taint_lower_capacity_threshold_percent = -1;
  options.taint_upper_capacity_threshold_percent = 0;
  options.scale_up_threshold_percent = 1;
  EXPECT_EQ(Keys(options),
            "taint_upper_capacity_threshold_percent taint_lower_capacity_threshold_percent ");
}

TEST(EscalatorOptionsTest, AMaximumAloneIsCheckedToo) {
  EscalatorOptions options = Good();
  options.min_nodes = 0;
  options.max_nodes = -1;
  EXPECT_EQ(Keys(options), "min_nodes max_nodes ");
}

TEST(EscalatorOptionsTest, NoPartOfADurationMayBeTooLong) {
  EXPECT_EQ(ParseGoDuration("9223372036.854775807s"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseGoDuration("9223372036.854775808s"), std::nullopt);
  EXPECT_EQ(ParseGoDuration("9223372036.9s"), std::nullopt);
  // The sum of the parts would wrap around to 0.
  EXPECT_EQ(ParseGoDuration("-9223372036854775808ns2562047.9h"), std::nullopt);
  EXPECT_EQ(ParseGoDuration("2562047h"), int64_t{2562047} * 3600 * kSecond);
}

}  // namespace
}  // namespace ebb::escalator_options_test
