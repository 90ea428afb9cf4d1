#include "snapshot/import/input_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace ebb::input_warning_test {
namespace {

using ::testing::ElementsAre;

std::vector<InputWarning> Two() {
  return {{"NoBudgets", "there is none", "kubectl get pdb -A"}, {"Odd", "it is odd", ""}};
}

std::vector<std::string> CodesOf(const std::vector<InputWarning>& warnings) {
  std::vector<std::string> codes;
  for (const InputWarning& warning : warnings) codes.push_back(warning.code);
  return codes;
}

TEST(InputWarningTest, AWarningIsALineThatEndsWithWhatToTry) {
  EXPECT_EQ(WarningText(Two()[0]), "warning: there is none; try `kubectl get pdb -A`");
  EXPECT_EQ(WarningText(Two()[1]), "warning: it is odd");
  std::ostringstream out;
  PrintInputWarnings(Two(), out);
  EXPECT_EQ(out.str(),
            "ebb: warning: there is none; try `kubectl get pdb -A`\nebb: warning: it is odd\n");
}

TEST(InputWarningTest, AdviceWithoutACommandIsText) {
  const InputWarning warning{
      .code = "NoBudgets", .message = "there is none", .command = "", .advice = "feed them"};
  EXPECT_EQ(WarningText(warning), "warning: there is none; feed them");
  const nlohmann::ordered_json json = InputWarningsJson({&warning, 1});
  EXPECT_EQ(json.dump(),
            R"([{"code":"NoBudgets","message":"there is none","advice":"feed them"}])");
  EXPECT_EQ(InputWarningsFrom(json).at(0).advice, "feed them");
}

TEST(InputWarningTest, JsonWithoutACommandIsReadBack) {
  const nlohmann::ordered_json json = InputWarningsJson(Two());
  EXPECT_EQ(json.dump(),
            R"([{"code":"NoBudgets","message":"there is none","command":"kubectl get pdb -A"},)"
            R"({"code":"Odd","message":"it is odd"}])");
  const std::vector<InputWarning> back = InputWarningsFrom(json);
  ASSERT_EQ(back.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].code, Two()[i].code);
    EXPECT_EQ(back[i].message, Two()[i].message);
    EXPECT_EQ(back[i].command, Two()[i].command);
  }
  EXPECT_EQ(InputWarningsJson({}).dump(), "[]");
}

TEST(InputWarningTest, JsonThatIsNotAWarningIsLeftOut) {
  EXPECT_TRUE(InputWarningsFrom(nlohmann::ordered_json::parse(R"({"code":"a"})")).empty());
  EXPECT_TRUE(InputWarningsFrom(nlohmann::ordered_json::parse(R"({"x":{"code":"a"}})")).empty());
  EXPECT_TRUE(InputWarningsFrom({}).empty());
  const std::vector<InputWarning> read = InputWarningsFrom(nlohmann::ordered_json::parse(
      R"([5,{"code":"a","message":7,"command":null},"x",{"code":"b"}])"));
  EXPECT_THAT(CodesOf(read), ElementsAre("a", "b"));
  EXPECT_EQ(read[0].message, "");
  EXPECT_EQ(read[0].command, "");
}

TEST(NewWarningsTest, AWarningIsNewUntilTheNextCallAndOnceItWentAway) {
  const InputWarning a{"a", "1 thing", ""};
  const InputWarning more{"a", "2 things", ""};
  const InputWarning b{"b", "other", ""};
  NewWarnings warnings;
  const auto among = [&warnings](const std::vector<InputWarning>& all) {
    return CodesOf(warnings.Among(all));
  };
  EXPECT_THAT(among({a}), ElementsAre("a"));
  EXPECT_THAT(among({more, b}), ElementsAre("b"));
  EXPECT_THAT(among({b}), ElementsAre());
  EXPECT_THAT(among({a, b}), ElementsAre("a")) << "it was gone";
  EXPECT_THAT(among({}), ElementsAre());
  EXPECT_THAT(among({b, a}), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace ebb::input_warning_test
