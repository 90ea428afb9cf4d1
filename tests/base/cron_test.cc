#include "base/cron.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/rfc3339.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::cron_test {
namespace {

using ::testing::HasSubstr;

std::string Next(std::string_view cron, std::string_view after) {
  const absl::StatusOr<CronSchedule> schedule = CronSchedule::Parse(cron);
  if (!schedule.ok()) return std::string(schedule.status().message());
  const std::optional<int64_t> next = schedule->Next(ParseRfc3339(after).value());
  return next ? FormatRfc3339(*next) : "never";
}

TEST(CronTest, TheNextTimeIsTheFirstThatAllFieldsName) {
  // 2026-11-28 is a Saturday.
  constexpr std::string_view kNow = "2026-11-28T12:34:56Z";
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"* * * * *", "2026-11-28T12:35:00Z"},
      {"*/15 * * * *", "2026-11-28T12:45:00Z"},
      {"30 9 * * *", "2026-11-29T09:30:00Z"},
      {"0 9 * * mon-fri", "2026-11-30T09:00:00Z"},
      {"0 9 * * MON-FRI", "2026-11-30T09:00:00Z"},
      {"0 0 1 * *", "2026-12-01T00:00:00Z"},
      {"0 0 29 feb *", "2028-02-29T00:00:00Z"},
      {"5,10 22-23 * 12 *", "2026-12-01T22:05:00Z"},
      {"3/20 * * * *", "2026-11-28T12:43:00Z"},
      {"0 12 ? * ?", "2026-11-29T12:00:00Z"},
      {"@hourly", "2026-11-28T13:00:00Z"},
      {"@daily", "2026-11-29T00:00:00Z"},
      {"@midnight", "2026-11-29T00:00:00Z"},
      {"@weekly", "2026-11-29T00:00:00Z"},
      {"@monthly", "2026-12-01T00:00:00Z"},
      {"@yearly", "2027-01-01T00:00:00Z"},
      {"@annually", "2027-01-01T00:00:00Z"},
      {"@every 1h30m", "2026-11-28T14:04:56Z"},
      {"0 0 31 2 *", "never"},
  };
  for (const auto& [cron, next] : cases) EXPECT_EQ(Next(cron, kNow), next) << cron;
}

TEST(CronTest, ATimeThatIsDueIsNotAfterItself) {
  EXPECT_EQ(Next("0 9 * * *", "2026-11-28T09:00:00Z"), "2026-11-29T09:00:00Z");
  EXPECT_EQ(Next("0 9 * * *", "2026-11-28T08:59:59Z"), "2026-11-28T09:00:00Z");
}

TEST(CronTest, EitherDayFieldIsEnoughUnlessOneIsAStar) {
  // The 13th, and each Friday.
  EXPECT_EQ(Next("0 0 13 * fri", "2026-11-28T00:00:00Z"), "2026-12-04T00:00:00Z");
  EXPECT_EQ(Next("0 0 13 * *", "2026-11-28T00:00:00Z"), "2026-12-13T00:00:00Z");
  EXPECT_EQ(Next("0 0 * * fri", "2026-11-28T00:00:00Z"), "2026-12-04T00:00:00Z");
  // A star with a step restricts like a list.
  EXPECT_EQ(Next("0 0 */10 * fri", "2026-11-28T00:00:00Z"), "2026-12-01T00:00:00Z");
}

TEST(CronTest, WhatIsNoExpressionIsNamed) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "has 0 fields; expected 5"},
      {"0 9 * *", "has 4 fields; expected 5"},
      {"60 * * * *", "minute \"60\": must be within 0-59"},
      {"0 9-8 * * *", "hour \"9-8\": must be within 0-23"},
      {"0 0 0 * *", "day of month \"0\": must be within 1-31"},
      {"0 0 * * 7", "day of week \"7\": must be within 0-6"},
      {"0 0 * foo *", "month \"foo\": is not a number"},
      {"0 0 * -1 *", "month \"-1\": is not a number"},
      {"*/0 * * * *", "needs a step of at least 1"},
      {"1/2/3 * * * *", "has several slashes"},
      {"1-2-3 * * * *", "has several hyphens"},
      {"1- * * * *", "is not a range of numbers"},
      {"@fortnightly", "has 1 fields; expected 5"},
      {"@every soon", "is not a duration"},
      {"TZ=UTC 0 9 * * *", "has 6 fields; expected 5"},
  };
  for (const auto& [cron, error] : cases) {
    EXPECT_THAT(Next(cron, "2026-11-28T00:00:00Z"), HasSubstr(error)) << cron;
  }
}

}  // namespace
}  // namespace ebb::cron_test
