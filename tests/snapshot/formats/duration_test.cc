#include "snapshot/formats/duration.h"

#include <gtest/gtest.h>

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

TEST(ParseDurationTest, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "10", "m", "-5m", "1d", "1h30", "1.h.", "ten", "1e3s", " 1s", "+"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ParseDurationTest, RefusesWhatDoesNotFitIntoNanoseconds) {
  EXPECT_TRUE(ParseDuration("2562047h"));
  EXPECT_FALSE(ParseDuration("2562048h"));
  EXPECT_FALSE(ParseDuration("99999999999999999999999999h"));
}

}  // namespace
}  // namespace ebb::duration_test
