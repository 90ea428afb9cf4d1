// Points, windows and matches: steps 1 and 4 of a round.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/maestro/maestro.h"
#include "tests/sizing/policy/maestro_pool.h"

namespace ebb::maestro_points_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Reason = MaestroReason;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

MaestroPool WithUp(MaestroTrigger trigger) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = {std::move(trigger)};
  return pool;
}

MaestroPool WithDown(MaestroTrigger trigger) {
  MaestroPool pool;
  pool.options.down.metrics_trigger = {std::move(trigger)};
  return pool;
}

std::vector<float> Points(const MaestroPool& pool, const std::string& type = "room") {
  std::vector<float> points;
  if (!pool.state.points.contains(type)) return points;
  for (const MaestroPoint point : pool.state.points.at(type)) points.push_back(point.utilization);
  return points;
}

// Returns how many rounds at full use, after `low` rounds without use, it takes to add rooms.
int RoundsUntilUp(MaestroPool pool, int low) {
  for (int i = 0; i < low; ++i) pool.Round(0, 10);
  for (int i = 1; i <= 100; ++i) {
    if (pool.Round(10, 10).delta > 0) return i;
  }
  return 0;
}

// ---------------------------------------------------------------- lists

TEST(MaestroPointsTest, EachRoundPutsOnePointBeforeTheOthers) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 5));
  pool.Round(1, 10);
  pool.Round(2, 10);
  pool.Round(3, 10);
  EXPECT_THAT(Points(pool), ElementsAre(0.3F, 0.2F, 0.1F));
}

TEST(MaestroPointsTest, AListHasItsWindowAndOneMore) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 2));
  for (int i = 1; i <= 6; ++i) pool.Round(i, 10);
  EXPECT_THAT(Points(pool), ElementsAre(0.6F, 0.5F, 0.4F));
}

TEST(MaestroPointsTest, ListsBelongToTypes) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = {
      RoomTrigger(100, 100, 3), RoomTrigger(90, 100, 3), {.type = "cpu", .time = 10, .limit = 999}};
  pool.options.down.metrics_trigger = {RoomTrigger(0, 100, 3)};
  pool.observation.counts.containers = {{.cpu_usage_milli = 1, .cpu_request_milli = 4}};
  const MaestroDecision made = pool.Round(5, 10);
  EXPECT_THAT(Points(pool, "room"), ElementsAre(0.5F)) << "once, however many triggers";
  EXPECT_THAT(Points(pool, "cpu"), ElementsAre(0.25F));
  EXPECT_THAT(pool.state.points, SizeIs(2));
  ASSERT_THAT(made.samples, SizeIs(2));
  EXPECT_EQ(made.samples[0].type, "cpu");
  EXPECT_EQ(made.samples[0].utilization, 0.25F);
  EXPECT_EQ(made.samples[0].kept, 2);
  EXPECT_EQ(made.samples[1].type, "room");
  EXPECT_EQ(made.samples[1].kept, 4);
}

TEST(MaestroPointsTest, LegacyHasItsOwnListOfTheSameUtilization) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 1));
  pool.Round(5, 10);
  pool.Round(6, 10);
  EXPECT_THAT(Points(pool, "room"), ElementsAre(0.6F, 0.5F));
  EXPECT_THAT(Points(pool, "legacy"), ElementsAre(0.6F)) << "window 0 of the idle triggers";
}

TEST(MaestroPointsTest, TheLastTriggerOfATypeCutsItsList) {
  const auto kept = [](std::vector<MaestroTrigger> up, std::vector<MaestroTrigger> down) {
    MaestroPool pool;
    pool.options.up.metrics_trigger = std::move(up);
    pool.options.down.metrics_trigger = std::move(down);
    for (int i = 0; i < 20; ++i) pool.Round(5, 10);
    return Points(pool).size();
  };
  const MaestroTrigger longer = RoomTrigger(100, 100, 9);
  const MaestroTrigger shorter = RoomTrigger(100, 100, 3);
  const MaestroTrigger idle = LegacyTrigger(0, 0);
  EXPECT_EQ(kept({longer, shorter}, {idle}), 4U) << "not the longest";
  EXPECT_EQ(kept({shorter, longer}, {idle}), 10U);
  EXPECT_EQ(kept({longer}, {RoomTrigger(0, 100, 3)}), 4U) << "down after up";
  EXPECT_EQ(kept({shorter}, {RoomTrigger(0, 100, 9)}), 10U);
}

// A shorter trigger of the same type cuts the list: with threshold 80 and n = 9, four points are
// too few.
TEST(MaestroPointsTest, ALongWindowStarvesBesideAShortOne) {
  MaestroPool pool = WithUp(RoomTrigger(80, 80, 9));
  EXPECT_EQ(RoundsUntilUp(pool, 0), 8);
  pool.options.down.metrics_trigger = {RoomTrigger(0, 100, 3)};
  EXPECT_EQ(RoundsUntilUp(pool, 0), 0);
}

TEST(MaestroPointsTest, PointsSurvivePauses) {
  MaestroPool pool = WithUp(RoomTrigger(80, 100, 2));
  pool.Round(10, 10);
  pool.Round(10, 10);
  pool.now_s += 1'000'000;
  EXPECT_EQ(pool.Round(10, 10).reason, Reason::kTrigger);
}

TEST(MaestroPointsTest, PointsAreKeptInEveryKindOfRound) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 9));
  pool.options.min = 5;
  pool.options.max = 10;
  pool.Round(1, 4);
  pool.Round(1, 20);
  pool.state.status = MaestroStatus::kCreating;
  pool.Round(1, 10);
  pool.state.status = MaestroStatus::kTerminating;
  pool.Round(1, 8);
  EXPECT_THAT(Points(pool), ElementsAre(0.125F, 0.1F, 0.05F, 0.25F));
}

TEST(MaestroPointsTest, ListsOfTypesThatNoTriggerHasAnyMoreStay) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 9));
  pool.Round(5, 10);
  pool.options.up.metrics_trigger = {LegacyTrigger(1000, 0)};
  pool.Round(6, 10);
  EXPECT_THAT(Points(pool), ElementsAre(0.5F));
}

TEST(MaestroPointsTest, APointThatIsNotANumberIsKeptAndEqualsItself) {
  MaestroPool pool = WithUp(RoomTrigger(100, 100, 9));
  pool.Round(0, 0);
  ASSERT_THAT(Points(pool), SizeIs(1));
  EXPECT_TRUE(std::isnan(Points(pool)[0]));
  const MaestroState copy = pool.state;
  EXPECT_EQ(copy, pool.state);
  EXPECT_EQ(MaestroPoint{0.5F}, MaestroPoint{0.5F});
  EXPECT_FALSE(MaestroPoint{0.5F} == MaestroPoint{kNoUtilization});
  EXPECT_FALSE(MaestroPoint{0.5F} == MaestroPoint{0.25F});
}

// ---------------------------------------------------------------- what is beyond

TEST(MaestroPointsTest, AboveIsStrict) {
  MaestroPool pool = WithUp(RoomTrigger(80));
  EXPECT_EQ(pool.Round(8, 10).checks[0].beyond, 0) << "0.8 of 32 bits each";
  EXPECT_EQ(pool.Round(801, 1000).checks[0].beyond, 1);
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger);
}

TEST(MaestroPointsTest, BelowIsStrict) {
  MaestroPool pool = WithDown(RoomTrigger(60));
  EXPECT_EQ(pool.Round(6, 10).checks.back().beyond, 0) << "0.6 of 32 bits each";
  EXPECT_EQ(pool.Round(599, 1000).checks.back().beyond, 1);
  EXPECT_EQ(pool.Round(5, 10).reason, Reason::kTrigger);
}

TEST(MaestroPointsTest, NotANumberIsBeyondNoThreshold) {
  MaestroPool up = WithUp(RoomTrigger(-100, 0, 9));
  EXPECT_EQ(up.Round(0, 0).checks[0].beyond, 0);
  EXPECT_EQ(up.Round(0, 0).checks[0].points, 2) << "yet it is a point";
  MaestroPool down = WithDown(RoomTrigger(1000, 0, 9));
  down.options.min = -1;
  const MaestroDecision made = down.Round(0, 0);
  EXPECT_EQ(made.checks.back().direction, MaestroDirection::kDown);
  EXPECT_EQ(made.checks.back().beyond, 0);
}

// ---------------------------------------------------------------- what matches

// With threshold 80 and n = 10, more than 8 points must be beyond the usage.
TEST(MaestroPointsTest, MoreThanTheThresholdMustBeBeyond) {
  MaestroPool pool = WithUp(RoomTrigger(80, 80, 10));
  for (int i = 0; i < 8; ++i) {
    const MaestroDecision made = pool.Round(10, 10);
    EXPECT_EQ(made.reason, Reason::kNone) << i;
    EXPECT_FALSE(made.checks[0].matched) << i;
  }
  const MaestroDecision made = pool.Round(10, 10);
  EXPECT_EQ(made.reason, Reason::kTrigger) << "9 points of a window that is not full";
  EXPECT_EQ(made.checks[0].window, 10);
  EXPECT_EQ(made.checks[0].points, 9);
  EXPECT_EQ(made.checks[0].beyond, 9);
  EXPECT_TRUE(made.checks[0].matched);
}

TEST(MaestroPointsTest, AFullWindowHasOnePointMore) {
  const MaestroPool pool = WithUp(RoomTrigger(80, 80, 10));
  EXPECT_EQ(RoundsUntilUp(pool, 30), 9);
  MaestroPool full = pool;
  for (int i = 0; i < 2; ++i) full.Round(0, 10);
  for (int i = 0; i < 8; ++i) full.Round(10, 10);
  const MaestroDecision made = full.Round(10, 10);
  EXPECT_EQ(made.checks[0].points, 11);
  EXPECT_EQ(made.checks[0].beyond, 9);
  EXPECT_EQ(made.reason, Reason::kTrigger);
}

TEST(MaestroPointsTest, OldPointsAreForgotten) {
  MaestroPool pool = WithUp(RoomTrigger(80, 80, 10));
  for (int i = 0; i < 8; ++i) pool.Round(10, 10);
  for (int i = 0; i < 3; ++i) pool.Round(0, 10);
  EXPECT_EQ(pool.Round(10, 10).checks[0].beyond, 8) << "the first of nine has left";
}

TEST(MaestroPointsTest, Threshold100NeedsAllPointsAndOneMoreThanTheWindow) {
  EXPECT_EQ(RoundsUntilUp(WithUp(RoomTrigger(80, 100, 10)), 0), 11);
  EXPECT_EQ(RoundsUntilUp(WithUp(RoomTrigger(80, 100, 10)), 30), 11);
}

TEST(MaestroPointsTest, Threshold0NeedsOnePoint) {
  MaestroPool pool = WithUp(RoomTrigger(80, 0, 10));
  EXPECT_EQ(pool.Round(8, 10).reason, Reason::kNone) << "not none";
  EXPECT_EQ(pool.Round(10, 10).reason, Reason::kTrigger);
  EXPECT_EQ(pool.Round(0, 10).checks[0].matched, true) << "whichever";
}

TEST(MaestroPointsTest, ThresholdsBeyondTheListNeverMatch) {
  EXPECT_EQ(RoundsUntilUp(WithUp(RoomTrigger(80, 110, 10)), 30), 0) << "11 * 100 = 110 * 10";
  EXPECT_EQ(RoundsUntilUp(WithUp(RoomTrigger(80, 109, 10)), 30), 11);
}

TEST(MaestroPointsTest, ThresholdsBelow0MatchWithoutAPointBeyond) {
  MaestroPool pool = WithUp(RoomTrigger(80, -1, 10));
  const MaestroDecision made = pool.Round(0, 10);
  EXPECT_TRUE(made.checks[0].matched);
  EXPECT_EQ(made.reason, Reason::kNone) << "of a delta below 0";
}

TEST(MaestroPointsTest, AWindowOf0ReadsThisRoundOnly) {
  MaestroPool pool = WithUp(RoomTrigger(80, 100, 0));
  EXPECT_EQ(pool.Round(10, 10).reason, Reason::kTrigger);
  EXPECT_EQ(pool.Round(0, 10).reason, Reason::kNone);
  pool.options.up.metrics_trigger[0].time = kMaestroPeriod - 1;
  EXPECT_EQ(pool.Round(10, 10).checks[0].window, 0);
}

TEST(MaestroPointsTest, ATriggerReadsItsOwnWindowOfALongerList) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = {RoomTrigger(80, 100, 2), RoomTrigger(100, 100, 9)};
  for (int i = 0; i < 5; ++i) pool.Round(0, 10);
  pool.Round(10, 10);
  pool.Round(10, 10);
  const MaestroDecision made = pool.Round(10, 10);
  EXPECT_EQ(made.checks[0].points, 3);
  EXPECT_EQ(made.reason, Reason::kTrigger);
  EXPECT_THAT(Points(pool), SizeIs(8));
}

// ---------------------------------------------------------------- numbers out of bounds

TEST(MaestroPointsTest, ProductsDoNotOverflow) {
  MaestroPool pool =
      WithUp({.type = "room", .usage = 80, .threshold = kMost, .time = kMost, .limit = 1000});
  pool.options.auto_scaling_period = 1;
  MaestroDecision made = pool.Round(10, 10);
  EXPECT_FALSE(made.checks[0].matched);
  EXPECT_EQ(made.checks[0].window, kMost);
  EXPECT_EQ(made.samples.back().kept, kMost);
  pool.options.up.metrics_trigger[0].threshold = kLeast;
  EXPECT_TRUE(pool.Round(10, 10).checks[0].matched);
}

}  // namespace
}  // namespace ebb::maestro_points_test
