#include "cli/flags/fail_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace ebb::fail_if_test {
namespace {

using ::testing::HasSubstr;

// A plan of 200 nodes that saves 1.50 USD of 20 USD an hour.
const std::vector<GateValue> kPlan = {
    {"nodes", 200},       {"pods", 4000},       {"removed", 10, 200}, {"kept", 190, 200},
    {"moved", 100, 4000}, {"pending", 0, 4000}, {"saved", 1.5, 20},   {"cost", 20}};

struct Outcome {
  int code = 0;
  std::string said;
};

Outcome Judge(const std::vector<std::string>& conditions,
              const std::vector<GateValue>& values = kPlan,
              std::span<const GateFigure> figures = PlanFigures()) {
  const FailIf fail_if{.conditions = conditions};
  std::ostringstream err;
  if (!fail_if.Fit(figures, "ebb plan", err)) return {2, err.str()};
  const int code = fail_if.ExitCode(figures, values, "USD", 0, err);
  return {code, err.str()};
}

TEST(FailIfTest, AConditionHoldsExactlyAtItsLimit) {
  EXPECT_EQ(Judge({"removed<10"}).code, 0);
  EXPECT_EQ(Judge({"removed<=10"}).code, kGateExit);
  EXPECT_EQ(Judge({"removed>10"}).code, 0);
  EXPECT_EQ(Judge({"removed>=10"}).code, kGateExit);
  EXPECT_EQ(Judge({"removed=10"}).code, kGateExit);
  EXPECT_EQ(Judge({"removed==10"}).code, kGateExit);
  EXPECT_EQ(Judge({"removed!=10"}).code, 0);
  EXPECT_EQ(Judge({" removed > +9.5 "}).code, kGateExit);
}

TEST(FailIfTest, TheMessageHasTheValueAndTheLimit) {
  EXPECT_EQ(Judge({"removed>3"}).said,
            "ebb: --fail-if removed>3: removed is 10, and the limit is 3\n");
  EXPECT_EQ(Judge({"removed>3%"}).said,
            "ebb: --fail-if removed>3%: removed is 5.0% of the nodes, and the limit is 3.0%\n");
  EXPECT_EQ(Judge({"saved>100/month"}).said,
            "ebb: --fail-if saved>100/month: saved is 1,095.00 USD/month, and the limit is 100.00 "
            "USD/month\n");
}

TEST(FailIfTest, MoneyIsPerHourUnlessAPeriodIsGiven) {
  EXPECT_EQ(Judge({"saved>1.4"}).code, kGateExit);
  EXPECT_EQ(Judge({"saved>1.6"}).code, 0);
  EXPECT_EQ(Judge({"saved>35/day"}).code, kGateExit);
  EXPECT_EQ(Judge({"saved>37/day"}).code, 0);
  EXPECT_EQ(Judge({"saved>1094 USD/month"}).code, kGateExit);
  EXPECT_EQ(Judge({"saved>1096USD/month"}).code, 0);
  EXPECT_EQ(Judge({"saved>13139/year"}).code, kGateExit);
  EXPECT_EQ(Judge({"saved>13141/year"}).code, 0);
  EXPECT_EQ(Judge({"saved>7%"}).code, kGateExit);
  EXPECT_EQ(Judge({"saved>8%"}).code, 0);
}

TEST(FailIfTest, EveryConditionThatHoldsIsPrinted) {
  const Outcome outcome = Judge({"removed>3", "kept<3", "moved>=100"});
  EXPECT_EQ(outcome.code, kGateExit);
  EXPECT_THAT(outcome.said, HasSubstr("removed>3"));
  EXPECT_THAT(outcome.said, HasSubstr("moved>=100"));
  EXPECT_THAT(outcome.said, Not(HasSubstr("kept")));
}

TEST(FailIfTest, AFigureThatIsNotKnownFailsWithAReasonAndNotSilently) {
  std::vector<GateValue> values = kPlan;
  values[6] = {"saved", {}, {}, "no prices were given"};
  const Outcome outcome = Judge({"saved<100/month", "removed>3"}, values);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, HasSubstr("saved is not known: no prices were given"));
  values[6] = {"saved", 1.5, {}, "the cost is not known"};
  EXPECT_EQ(Judge({"saved>1"}, values).code, kGateExit);
  EXPECT_EQ(Judge({"saved>1%"}, values).code, 1);
}

TEST(FailIfTest, AnotherCurrencyThanThatOfThePricesIsAnError) {
  const Outcome outcome = Judge({"saved<100 EUR/month"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, HasSubstr("the prices are in USD, not in EUR"));
}

TEST(FailIfTest, AnUnknownFigureIsNamedWithTheListAndAUnitMustFit) {
  const Outcome outcome = Judge({"node>3"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.said, HasSubstr("node is not a figure; expected one of nodes, pods, removed, "
                                      "kept, moved, pending, saved, cost"));
  EXPECT_THAT(Judge({"removed>3/month"}).said, HasSubstr("removed is a count; its only unit is %"));
  EXPECT_THAT(Judge({"nodes>3 USD"}).said, HasSubstr("nodes is a count; leave out the unit"));
  EXPECT_THAT(Judge({"cost>3%"}).said, HasSubstr("cost is not a share of anything"));
  EXPECT_EQ(Judge({"kept>3"}, kPlan, ComparisonFigures()).code, 2);
}

TEST(FailIfTest, AChangeOfNothingIsBeyondEveryShare) {
  const std::vector<GateValue> values = {{"nodes", 0, 0},        {"removed", 5, 0},
                                         {"moved", -3, 10},      {"saved", {}},
                                         {"before-alone", 0, 0}, {"after-alone", 0, 0}};
  EXPECT_EQ(Judge({"nodes>0%"}, values, ComparisonFigures()).code, 0);
  EXPECT_EQ(Judge({"removed>1000%"}, values, ComparisonFigures()).code, kGateExit);
  const Outcome less = Judge({"moved<-2"}, values, ComparisonFigures());
  EXPECT_EQ(less.code, kGateExit);
  EXPECT_THAT(less.said, HasSubstr("moved is -3, and the limit is -2"));
}

TEST(FailIfTest, TextThatIsNotAConditionIsRefused) {
  for (const char* text :
       {"removed", "removed>", ">3", "removed>x", "removed>1e3", "removed>nan", "removed>3/week",
        "removed>3%%", "removed=>3", "removed>3 4", "removed>0x10", "removed>--3", "!3", ""}) {
    CLI::App app;
    FailIf fail_if;
    fail_if.AddTo(app, "Output");
    std::vector<std::string> words = {text, "--fail-if"};
    EXPECT_THROW(app.parse(words), CLI::ParseError) << text;
  }
  CLI::App app;
  FailIf fail_if;
  fail_if.AddTo(app, "Output");
  app.parse(std::vector<std::string>{"kept<3", "--fail-if", "removed>-3%", "--fail-if"});
  EXPECT_THAT(fail_if.conditions, ::testing::ElementsAre("removed>-3%", "kept<3"));
  EXPECT_TRUE(fail_if.Names("kept"));
  EXPECT_FALSE(fail_if.Names("saved"));
}

}  // namespace
}  // namespace ebb::fail_if_test
