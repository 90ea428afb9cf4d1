// Settings of policies: values by key, and lists.

#include "sizing/policy/policy_settings.h"

#include <cstdint>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::policy_settings_test {
namespace {

using ::testing::ElementsAre;

TEST(PolicySettingsTest, AValueIsReadOnlyAsWhatItIs) {
  PolicySettings settings;
  settings.Set("three", int64_t{2});
  settings.Set("three", int64_t{3});
  settings.Set("half", 0.5);
  double number = 1;
  settings.Read("three", number);
  EXPECT_EQ(number, 3) << "a whole number is a number";
  settings.Read("absent", number);
  EXPECT_EQ(number, 3);
  settings.Read("half", number);
  EXPECT_EQ(number, 0.5);
  int64_t whole = 7;
  settings.Read("half", whole);
  EXPECT_EQ(whole, 7);
  std::string text = "as it was";
  settings.Read("three", text);
  EXPECT_EQ(text, "as it was");
  std::optional<int64_t> maybe;
  settings.Read("absent", maybe);
  EXPECT_EQ(maybe, std::nullopt);
  settings.Read("three", maybe);
  EXPECT_EQ(maybe, 3);
}

TEST(PolicySettingsTest, AListHasAsManyTextsAsItCounts) {
  PolicySettings settings;
  EXPECT_FALSE(settings.HasList("jobs"));
  EXPECT_EQ(settings.Count("jobs"), 0u);
  settings.SetCount("jobs", 2);
  settings.Set("jobs[0]", "a");
  settings.Set("jobs[1]", "b");
  EXPECT_TRUE(settings.HasList("jobs"));
  EXPECT_THAT(settings.Texts("jobs"), ElementsAre("a", "b"));
  EXPECT_EQ(KeyOf("up.metricsTrigger[12].usage"), "up.metricsTrigger[].usage");
}

TEST(PolicySettingsTest, SetCountReplacesTheCountAndKeyOfDropsEveryIndex) {
  PolicySettings settings;
  settings.SetCount("jobs", 3);
  settings.SetCount("jobs", 1);
  EXPECT_EQ(settings.Count("jobs"), 1u);
  EXPECT_FALSE(settings.Has("jobs"));
  settings.Set("on", true);
  EXPECT_TRUE(settings.Has("on"));
  bool on = false;
  settings.Read("on", on);
  EXPECT_TRUE(on);
  EXPECT_EQ(KeyOf("plain.key"), "plain.key");
  EXPECT_EQ(KeyOf("a[1].b[22].c"), "a[].b[].c");
  EXPECT_EQ(KeyOf("scaled_jobs[0]"), "scaled_jobs[]");
}

}  // namespace
}  // namespace ebb::policy_settings_test
