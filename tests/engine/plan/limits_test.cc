#include "engine/plan/limits.h"

#include <limits>
#include <optional>

#include "gtest/gtest.h"

namespace ebb::limits_test {
namespace {

TEST(UnneededLimitTest, FirstPassIsBoundedByTwiceTheParallelism) {
  UnneededLimit limit(600, 10);
  EXPECT_EQ(limit.Next(1000, 0), 20u);
}

TEST(UnneededLimitTest, GrowsByTwiceTheParallelismUpToWhatFitsIntoTheUnneededTime) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  EXPECT_EQ(limit.Next(1010, 20), 40u);
  EXPECT_EQ(limit.Next(1020, 600), 610u);
  EXPECT_EQ(limit.Next(1030, 5000), 610u);
}

TEST(UnneededLimitTest, ShortestIntervalOfTheWholeLifeCounts) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  limit.Next(1001, 0);
  EXPECT_EQ(limit.Next(1061, 100000), 6010u);  // Still one second.
}

TEST(UnneededLimitTest, IntervalAboveTheUnneededTimeDoesNotCount) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  EXPECT_EQ(limit.Next(9000, 100), 20u);
}

TEST(UnneededLimitTest, UnneededTimeOfZeroNeverGrows) {
  UnneededLimit limit(0, 3);
  EXPECT_EQ(limit.Next(1000, 0), 6u);
  EXPECT_EQ(limit.Next(1010, 6), 6u);
}

TEST(UnneededLimitTest, RepeatedInstantIsNotADivisionByZero) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  EXPECT_EQ(limit.Next(1000, 1000), 1020u);
}

TEST(UnneededLimitTest, ClockThatRunsBackwardsCountsAsTheSameInstant) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  EXPECT_EQ(limit.Next(900, 7), 27u);
}

TEST(UnneededLimitTest, HugeParallelismDoesNotOverflow) {
  UnneededLimit limit(600, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(limit.Next(1000, 5), static_cast<size_t>(std::numeric_limits<int64_t>::max()));
}

TEST(UnneededLimitTest, ARestoredLimitContinuesWhereTheOriginalStopped) {
  UnneededLimit before(600, 10);
  before.Next(1000, 0);
  before.Next(1010, 20);
  UnneededLimit after(600, 10);
  after.Restore(before.state());
  EXPECT_EQ(after.Next(1070, 900), before.Next(1070, 900));
}

TEST(UnneededLimitTest, WithAnUnneededTimeOfZeroARepeatedInstantLeavesGrowthAlone) {
  for (const int64_t unneeded_time_s : {0, -5}) {  // A negative time counts as 0.
    UnneededLimit limit(unneeded_time_s, 3);
    EXPECT_EQ(limit.Next(1000, 0), 6u);
    EXPECT_EQ(limit.Next(1000, 100), 106u);
  }
}

TEST(UnneededLimitTest, WithNegativeParallelismTheLimitIsZero) {
  UnneededLimit limit(600, -5);
  EXPECT_EQ(limit.Next(1000, 7), 0u);
}

TEST(UnneededLimitTest, AnIntervalBeyondTheUnneededTimeIsOneRound) {
  UnneededLimit limit(600, 10);
  limit.Restore({.latest_update_s = std::nullopt, .min_interval_s = 1000});
  EXPECT_EQ(limit.Next(1000, 100), 20u);
  EXPECT_EQ(limit.state().min_interval_s, 1000);
  EXPECT_EQ(limit.state().latest_update_s, 1000);
}

TEST(UnneededLimitTest, TheShortestIntervalIsKeptAndLongerOnesAreNot) {
  UnneededLimit limit(600, 10);
  limit.Next(1000, 0);
  EXPECT_EQ(limit.state().min_interval_s, std::nullopt);
  limit.Next(1600, 0);
  EXPECT_EQ(limit.state().min_interval_s, std::nullopt) << "as long as the unneeded time";
  limit.Next(2199, 0);
  EXPECT_EQ(limit.state().min_interval_s, 599);
  limit.Next(2499, 0);
  EXPECT_EQ(limit.state().min_interval_s, 300);
  limit.Next(2899, 0);
  EXPECT_EQ(limit.state().min_interval_s, 300);
}

}  // namespace
}  // namespace ebb::limits_test
