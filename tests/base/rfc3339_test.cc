#include "base/rfc3339.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

namespace ebb::rfc3339_test {
namespace {

TEST(Rfc3339Test, TimesCountFromTheEpoch) {
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseRfc3339("2026-06-01T12:00:00Z"), 1780315200);
  EXPECT_EQ(ParseRfc3339("1969-12-31T23:59:59Z"), -1);
  EXPECT_EQ(ParseRfc3339("2024-02-29T00:00:00Z"), 1709164800);
}

TEST(Rfc3339Test, OffsetsAreSubtractedAndFractionsDropped) {
  EXPECT_EQ(ParseRfc3339("1970-01-01T02:00:00+02:00"), 0);
  EXPECT_EQ(ParseRfc3339("1969-12-31T19:30:00-04:30"), 0);
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:01.999999Z"), 1);
}

TEST(Rfc3339Test, EveryDayOfFourHundredYearsIsOneAfterTheLast) {
  int64_t expected = *ParseRfc3339("1900-01-01T00:00:00Z");
  int days = 0;
  for (int year = 1900; year < 2300; ++year) {
    for (int month = 1; month <= 12; ++month) {
      for (int day = 1; day <= 31; ++day) {
        char text[64];
        std::snprintf(text, sizeof(text), "%04d-%02d-%02dT00:00:00Z", year, month, day);
        const std::optional<int64_t> time = ParseRfc3339(text);
        if (!time.has_value()) continue;  // The month does not have this day.
        ASSERT_EQ(*time, expected) << text;
        expected += 86400;
        ++days;
      }
    }
  }
  EXPECT_EQ(days, 146097);
}

TEST(Rfc3339Test, TheFirstAndTheLastYearAndTheLargestOffsetsAreAccepted) {
  EXPECT_EQ(ParseRfc3339("0000-01-01T00:00:00Z"), -62167219200);
  EXPECT_EQ(ParseRfc3339("0001-01-01T00:00:00Z"), -62135596800);
  EXPECT_EQ(ParseRfc3339("9999-12-31T23:59:59Z"), 253402300799);
  EXPECT_EQ(ParseRfc3339("1970-01-01T23:59:00+23:59"), 0);
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:00-00:01"), 60);
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:00+00:60"), std::nullopt);
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:00x00:00"), std::nullopt);
  EXPECT_EQ(ParseRfc3339("1970-01-00T00:00:00Z"), std::nullopt);
}

TEST(Rfc3339Test, ATimeIsWrittenAsItIsRead) {
  for (const std::string_view text :
       {"1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-06-01T12:34:56Z",
        "2024-02-29T01:02:03Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    EXPECT_EQ(FormatRfc3339(ParseRfc3339(text).value()), text);
  }
}

TEST(Rfc3339Test, TextsThatAreNotTimesAreRejected) {
  for (const std::string_view text :
       {"", "yesterday", "2026-06-01", "2026-06-01T12:00:00", "2026-06-01 12:00:00Z",
        "2026-6-1T12:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-06-31T00:00:00Z", "2026-06-01T24:00:00Z",
        "2026-06-01T12:60:00Z", "2026-06-01T12:00:60Z", "2026-06-01T12:00:00.Z",
        "2026-06-01T12:00:00+2:00", "2026-06-01T12:00:00Zjunk", "-026-06-01T12:00:00Z",
        "2026-06-01T12:00:00+24:00"}) {
    EXPECT_EQ(ParseRfc3339(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ebb::rfc3339_test
