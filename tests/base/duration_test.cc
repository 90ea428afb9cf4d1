#include "base/duration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ebb::duration_test {
namespace {

using std::chrono::nanoseconds;

TEST(ParseDurationTest, TakesWhatGoTakes) {
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
  EXPECT_EQ(ParseDuration("3\u00b5s"), nanoseconds(3000));  // The micro sign, and the letter mu.
  EXPECT_EQ(ParseDuration("3\u03bcs"), nanoseconds(3000));
  EXPECT_EQ(ParseDuration("1.25ms1.5us"), nanoseconds(1'251'500));
  EXPECT_EQ(ParseDuration("0.0000000001h"), nanoseconds(360));
  EXPECT_EQ(ParseDuration("0.0000000000019h"), nanoseconds(6));
  EXPECT_EQ(ParseDuration("0." + std::string(30, '9') + "s"), nanoseconds(999'999'999));
  EXPECT_EQ(ParseDuration("2.s"), std::chrono::seconds(2));
}

TEST(ParseDurationTest, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "10", "m", "-5m", "1d", "1h30", "1.h.", "ten", "1e3s", " 1s", "+"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ParseDurationTest, RefusesWhatDoesNotFitIntoNanoseconds) {
  EXPECT_TRUE(ParseDuration("2562047h"));
  EXPECT_FALSE(ParseDuration("2562048h"));
  EXPECT_FALSE(ParseDuration("99999999999999999999999999h"));
  EXPECT_EQ(ParseDuration("9223372036854775807ns"), nanoseconds(INT64_MAX));
  EXPECT_FALSE(ParseDuration("9223372036854775808ns"));
  EXPECT_EQ(ParseDuration("9223372036854775806ns1ns"), nanoseconds(INT64_MAX));
  EXPECT_FALSE(ParseDuration("9223372036854775807ns1ns"));
}

}  // namespace
}  // namespace ebb::duration_test
