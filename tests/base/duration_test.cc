#include "base/duration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ebb::duration_test {
namespace {

using std::chrono::nanoseconds;

TEST(ParseDurationTest, AcceptsWhatGoAccepts) {
  EXPECT_EQ(ParseDuration("0"), nanoseconds(0));
  EXPECT_EQ(ParseDuration("10m"), std::chrono::minutes(10));
  EXPECT_EQ(ParseDuration("1h30m"), std::chrono::minutes(90));
  EXPECT_EQ(ParseDuration("1.5s"), std::chrono::milliseconds(1500));
  EXPECT_EQ(ParseDuration(".5h"), std::chrono::minutes(30));
  EXPECT_EQ(ParseDuration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(ParseDuration("3us"), nanoseconds(3000));
  EXPECT_EQ(ParseDuration("+7ns"), nanoseconds(7));
}

TEST(ParseDurationTest, PartsOfEveryUnitAreAddedUp) {
  EXPECT_EQ(ParseDuration("1h1m1s1ms1us1ns"), nanoseconds(3'661'001'001'001));
  EXPECT_EQ(ParseDuration("3\u00b5s"), nanoseconds(3000));  // The micro sign; below, the letter mu.
  EXPECT_EQ(ParseDuration("3\u03bcs"), nanoseconds(3000));
  EXPECT_EQ(ParseDuration("1.25ms1.5us"), nanoseconds(1'251'500));
  EXPECT_EQ(ParseDuration("0.0000000001h"), nanoseconds(360));
  EXPECT_EQ(ParseDuration("0.0000000000019h"), nanoseconds(6));
  EXPECT_EQ(ParseDuration("0." + std::string(30, '9') + "s"), nanoseconds(999'999'999));
  EXPECT_EQ(ParseDuration("2.s"), std::chrono::seconds(2));
}

TEST(ParseDurationTest, RejectsTextsThatAreNotDurations) {
  for (const char* text : {"", "10", "m", "-5m", "1d", "1h30", "1.h.", "ten", "1e3s", " 1s", "+"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ParseDurationTest, RejectsDurationsThatOverflowNanoseconds) {
  EXPECT_TRUE(ParseDuration("2562047h"));
  EXPECT_FALSE(ParseDuration("2562048h"));
  EXPECT_FALSE(ParseDuration("99999999999999999999999999h"));
  EXPECT_EQ(ParseDuration("9223372036854775807ns"), nanoseconds(INT64_MAX));
  EXPECT_FALSE(ParseDuration("9223372036854775808ns"));
  EXPECT_EQ(ParseDuration("9223372036854775806ns1ns"), nanoseconds(INT64_MAX));
  EXPECT_FALSE(ParseDuration("9223372036854775807ns1ns"));
}

// Symptom: one answer had "630 s", "10 min 30 s", "3 hours" and "2036 ms".
TEST(DurationTextTest, HasTheTwoLargestUnits) {
  EXPECT_EQ(DurationText(int64_t{0}), "0 s");
  EXPECT_EQ(DurationText(int64_t{45}), "45 s");
  EXPECT_EQ(DurationText(int64_t{60}), "1 min");
  EXPECT_EQ(DurationText(int64_t{630}), "10 min 30 s");
  EXPECT_EQ(DurationText(int64_t{3600}), "1 h");
  EXPECT_EQ(DurationText(int64_t{3605}), "1 h");
  EXPECT_EQ(DurationText(int64_t{47 * 3600 + 59 * 60}), "47 h 59 min");
  EXPECT_EQ(DurationText(int64_t{48 * 3600}), "2 d");
  EXPECT_EQ(DurationText(int64_t{51 * 3600}), "2 d 3 h");
  EXPECT_EQ(DurationText(int64_t{-5}), "0 s");
}

TEST(DurationTextTest, FractionsOfASecondAreShownOnlyForShortDurations) {
  const auto text = [](double seconds) {
    return DurationText(std::chrono::duration<double>(seconds));
  };
  EXPECT_EQ(text(0), "0 s");
  EXPECT_EQ(text(0.00003), "under 0.1 ms");
  EXPECT_EQ(text(0.00012), "0.1 ms");
  EXPECT_EQ(text(0.0084), "8.4 ms");
  EXPECT_EQ(text(0.0571), "57 ms");
  EXPECT_EQ(text(0.9994), "999 ms");
  EXPECT_EQ(text(0.9996), "1 s");
  EXPECT_EQ(text(2.036), "2 s");
  EXPECT_EQ(text(2.36), "2.4 s");
  EXPECT_EQ(text(9.96), "10 s");
  EXPECT_EQ(text(61.4), "1 min 1 s");
  EXPECT_EQ(text(-1), "0 s");
}

}  // namespace
}  // namespace ebb::duration_test
