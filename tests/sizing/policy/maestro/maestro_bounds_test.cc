// Bounds and refusals: steps 3 and 6 of a round.

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "sizing/policy/maestro/maestro.h"
#include "tests/sizing/policy/maestro_pool.h"

namespace ebb::maestro_bounds_test {
namespace {

using Bound = MaestroBound;
using Reason = MaestroReason;
using Refusal = MaestroRefusal;
using Status = MaestroStatus;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

MaestroPool Within(int64_t min, int64_t max) {
  MaestroPool pool;
  pool.options.min = min;
  pool.options.max = max;
  return pool;
}

void ExpectBounded(const MaestroBounded& bounded, int64_t amount, Bound bound) {
  EXPECT_EQ(bounded.amount, amount);
  EXPECT_EQ(bounded.bound, bound) << Name(bounded.bound);
}

// ---------------------------------------------------------------- bounds that decide

TEST(MaestroBoundsTest, FewerThanMinAreFilledUp) {
  MaestroPool pool = Within(5, 10);
  const MaestroDecision made = pool.Round(1, 3);
  EXPECT_EQ(made.reason, Reason::kBelowMin);
  EXPECT_EQ(made.available, 3);
  EXPECT_EQ(made.asked, 2);
  EXPECT_EQ(made.delta, 2);
  EXPECT_TRUE(made.checks.empty());
  EXPECT_EQ(made.decided_by, std::nullopt);
  EXPECT_EQ(pool.Round(1, 5).reason, Reason::kNone) << "min itself is enough";
}

TEST(MaestroBoundsTest, MoreThanMaxAreTakenAway) {
  MaestroPool pool = Within(5, 10);
  const MaestroDecision made = pool.Round(10, 13);
  EXPECT_EQ(made.reason, Reason::kAboveMax);
  EXPECT_EQ(made.asked, -3);
  EXPECT_EQ(made.delta, -3);
  EXPECT_TRUE(made.checks.empty());
  EXPECT_EQ(pool.Round(1, 10).reason, Reason::kNone) << "max itself may be had";
}

TEST(MaestroBoundsTest, BoundsOverrideTriggersAndCooldown) {
  MaestroPool pool = Within(5, 10);
  pool.options.up = {.cooldown = 1'000'000, .metrics_trigger = {LegacyTrigger(0, 100)}};
  pool.options.down = {.cooldown = 1'000'000, .metrics_trigger = {LegacyTrigger(100, -100)}};
  pool.state.last_scale_op_at = pool.now_s;
  EXPECT_EQ(pool.Round(0, 4).delta, 1);
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s) << "it counts as an operation";
  EXPECT_EQ(pool.Round(0, 11).delta, -1);
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s);
}

TEST(MaestroBoundsTest, CreatingRoomsCountTerminatingOnesDoNot) {
  MaestroPool pool = Within(5, 10);
  pool.observation.counts.rooms = {.creating = 2, .ready = 1, .occupied = 1, .terminating = 50};
  EXPECT_EQ(pool.Again().delta, 1);
}

TEST(MaestroBoundsTest, AMaxOf0IsNotABound) {
  MaestroPool pool = Within(0, 0);
  EXPECT_EQ(pool.Round(5, 1'000'000).reason, Reason::kNone);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 7)};
  EXPECT_EQ(pool.Round(5, 1'000'000).delta, 7);
}

TEST(MaestroBoundsTest, NoRoomNoMinNoAction) {
  MaestroPool pool = Within(0, 10);
  pool.options.up.metrics_trigger = {RoomTrigger(50)};
  pool.options.down.metrics_trigger = {RoomTrigger(50)};
  EXPECT_EQ(pool.Round(0, 0).reason, Reason::kNone);
  pool.options.min = 3;
  EXPECT_EQ(pool.Round(0, 0).delta, 3);
}

TEST(MaestroBoundsTest, ANegativeMinIsNotABound) {
  MaestroPool pool = Within(kLeast, 10);
  EXPECT_EQ(pool.Round(0, 0).reason, Reason::kNone);
  EXPECT_EQ(pool.Round(0, 11).delta, -1);
}

// ---------------------------------------------------------------- what is left of an amount

TEST(MaestroBoundsTest, GrowingStopsAtMax) {
  const MaestroOptions options = {.min = 5, .max = 10};
  ExpectBounded(BoundUp(options, 7, 2), 2, Bound::kNone);
  ExpectBounded(BoundUp(options, 7, 3), 3, Bound::kNone);
  ExpectBounded(BoundUp(options, 7, 4), 3, Bound::kMax);
  ExpectBounded(BoundUp(options, 10, 1), 0, Bound::kMax);
  ExpectBounded(BoundUp(options, 12, 1), 0, Bound::kMax);
  ExpectBounded(BoundUp(options, 10, -1), 0, Bound::kMax);  // A panic may ask for this.
  ExpectBounded(BoundUp({.min = 5}, 12, 1000), 1000, Bound::kNone);
  ExpectBounded(BoundUp({.max = -1}, 12, 1000), 1000, Bound::kNone);
}

TEST(MaestroBoundsTest, GrowingReachesMin) {
  const MaestroOptions options = {.min = 5, .max = 10};
  ExpectBounded(BoundUp(options, 2, 3), 3, Bound::kNone);
  ExpectBounded(BoundUp(options, 2, 2), 3, Bound::kMin);
  ExpectBounded(BoundUp(options, 0, 20), 10, Bound::kMax);
}

TEST(MaestroBoundsTest, ShrinkingStopsAtMin) {
  const MaestroOptions options = {.min = 5, .max = 10};
  ExpectBounded(BoundDown(options, 8, 2), 2, Bound::kNone);
  ExpectBounded(BoundDown(options, 8, 3), 3, Bound::kNone);
  ExpectBounded(BoundDown(options, 8, 4), 3, Bound::kMin);
  ExpectBounded(BoundDown(options, 5, 1), 0, Bound::kMin);
  ExpectBounded(BoundDown(options, 3, 1), 0, Bound::kMin);
  ExpectBounded(BoundDown({}, 3, 9), 9, Bound::kNone);  // Min 0 is no minimum.
}

TEST(MaestroBoundsTest, ShrinkingReachesMax) {
  const MaestroOptions options = {.min = 5, .max = 10};
  ExpectBounded(BoundDown(options, 13, 3), 3, Bound::kNone);
  ExpectBounded(BoundDown(options, 13, 2), 3, Bound::kMax);
  ExpectBounded(BoundDown({.min = 5}, 13, 2), 2, Bound::kNone);
}

TEST(MaestroBoundsTest, ExtremesDoNotOverflow) {
  ExpectBounded(BoundUp({.max = kMost}, 1, kMost - 1), kMost - 1, Bound::kNone);
  ExpectBounded(BoundUp({.min = kMost}, 0, 1), kMost, Bound::kMin);
  ExpectBounded(BoundUp({.min = kLeast}, 0, 1), 1, Bound::kNone);
  ExpectBounded(BoundDown({.min = 1}, kMost, kMost), kMost - 1, Bound::kMin);
  ExpectBounded(BoundDown({.max = 1}, kMost, 1), kMost - 1, Bound::kMax);
  ExpectBounded(BoundDown({.min = kLeast}, 0, kMost), kMost, Bound::kNone);
}

// ---------------------------------------------------------------- bounds of a decision

TEST(MaestroBoundsTest, TriggersAreBounded) {
  MaestroPool pool = Within(5, 10);
  pool.options.up.metrics_trigger = {LegacyTrigger(50, 9)};
  pool.options.down.metrics_trigger = {LegacyTrigger(50, -9)};
  const MaestroDecision up = pool.Round(7, 7);
  EXPECT_EQ(up.asked, 9);
  EXPECT_EQ(up.bounded, 3);
  EXPECT_EQ(up.bound, Bound::kMax);
  EXPECT_EQ(up.delta, 3);
  const MaestroDecision down = pool.Round(1, 9);
  EXPECT_EQ(down.asked, -9);
  EXPECT_EQ(down.bounded, -4);
  EXPECT_EQ(down.bound, Bound::kMin);
  EXPECT_EQ(down.delta, -4);
}

TEST(MaestroBoundsTest, AtMaxNoUpTriggerIsTried) {
  MaestroPool pool = Within(0, 10);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 9)};
  pool.options.down.metrics_trigger = {LegacyTrigger(1000, -1)};
  const MaestroDecision made = pool.Round(10, 10);
  ASSERT_EQ(made.checks.size(), 1U);
  EXPECT_EQ(made.checks[0].direction, MaestroDirection::kDown);
  EXPECT_EQ(pool.Round(9, 9).asked, 9);
}

TEST(MaestroBoundsTest, WithMaxBelow0NoUpTriggerIsTried) {
  MaestroPool pool = Within(0, -1);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 9)};
  const MaestroDecision made = pool.Round(10, 10);
  EXPECT_EQ(made.reason, Reason::kNone);
  ASSERT_EQ(made.checks.size(), 1U);
  EXPECT_EQ(made.checks[0].direction, MaestroDirection::kDown);
}

TEST(MaestroBoundsTest, AtMinNoDownTriggerIsTried) {
  MaestroPool pool = Within(5, 10);
  pool.options.down.metrics_trigger = {LegacyTrigger(1000, -1)};
  EXPECT_EQ(pool.Round(0, 5).checks.size(), 1U);
  EXPECT_EQ(pool.Round(0, 6).delta, -1);
}

TEST(MaestroBoundsTest, ARoundAddsMaxScaleUpAmountAtMost) {
  MaestroPool pool = Within(0, 1000);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 300)};
  EXPECT_EQ(pool.Round(0, 1).bound, Bound::kNone);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 301)};
  const MaestroDecision made = pool.Round(0, 1);
  EXPECT_EQ(made.asked, 301);
  EXPECT_EQ(made.delta, 300);
  EXPECT_EQ(made.bound, Bound::kMaxScaleUpAmount);
  pool.options.min = 500;
  EXPECT_EQ(pool.Round(0, 1).delta, 300) << "min is no exception";
  EXPECT_EQ(pool.Round(0, 3000).delta, -2000) << "shrinking knows no such bound";
}

TEST(MaestroBoundsTest, MaxScaleUpAmountComesAfterMax) {
  MaestroPool pool = Within(0, 10);
  pool.options.max_scale_up_amount = 4;
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 9)};
  EXPECT_EQ(pool.Round(0, 5).bound, Bound::kMaxScaleUpAmount);
  EXPECT_EQ(pool.Round(0, 6).bound, Bound::kMax) << "4 are left anyway";
  EXPECT_EQ(pool.Round(0, 7).delta, 3);
}

TEST(MaestroBoundsTest, AnOperationWithNothingLeftToDoSucceeds) {
  MaestroPool pool = Within(0, 10);
  pool.options.max_scale_up_amount = 0;
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, 9)};
  pool.fails = true;  // The operation does not succeed.
  const MaestroDecision made = pool.Round(0, 5);
  EXPECT_EQ(made.reason, Reason::kTrigger);
  EXPECT_EQ(made.asked, 9);
  EXPECT_EQ(made.bounded, 0);
  EXPECT_EQ(made.delta, 0);
  EXPECT_EQ(made.refusal, Refusal::kNone);
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s);
  EXPECT_EQ(pool.state.status, Status::kInSync);
}

// ---------------------------------------------------------------- refusals

TEST(MaestroBoundsTest, NothingIsCreatedBesidePendingPods) {
  MaestroPool pool = Within(5, 0);
  pool.observation.pending_pods = 1;
  const MaestroDecision made = pool.Round(0, 3);
  EXPECT_EQ(made.reason, Reason::kBelowMin);
  EXPECT_EQ(made.bounded, 2);
  EXPECT_EQ(made.refusal, Refusal::kPendingPods);
  EXPECT_EQ(made.delta, 0);
  EXPECT_EQ(pool.state.last_scale_op_at, 0) << "it failed";
  EXPECT_EQ(pool.state.status, Status::kInSync);
}

TEST(MaestroBoundsTest, ImageErrorsRefuseUnlessTheyAreToBeIgnored) {
  MaestroPool pool = Within(5, 0);
  pool.observation.image_error_pods = 1;
  EXPECT_EQ(pool.Round(0, 3).refusal, Refusal::kImageError);
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
  pool.options.prevent_rooms_creation_with_error = false;
  EXPECT_EQ(pool.Round(0, 3).delta, 2);
  pool.observation.pending_pods = 1;
  EXPECT_EQ(pool.Round(0, 3).refusal, Refusal::kPendingPods) << "these refuse all the same";
}

TEST(MaestroBoundsTest, ARefusalIsReportedBeforeAZeroAmount) {
  MaestroPool pool = Within(5, 0);
  pool.options.max_scale_up_amount = 0;
  pool.observation.pending_pods = 1;
  EXPECT_EQ(pool.Round(0, 3).refusal, Refusal::kPendingPods);
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
}

TEST(MaestroBoundsTest, PodsThatWaitDoNotKeepRoomsFromGoing) {
  MaestroPool pool = Within(0, 5);
  pool.observation.pending_pods = 1;
  pool.observation.image_error_pods = 1;
  EXPECT_EQ(pool.Round(0, 7).delta, -2);
}

TEST(MaestroBoundsTest, OnlyReadyRoomsGo) {
  MaestroPool pool = Within(0, 5);
  pool.observation.counts.rooms = {.creating = 3, .ready = 1, .occupied = 3, .terminating = 9};
  MaestroDecision made = pool.Again();
  EXPECT_EQ(made.asked, -2);
  EXPECT_EQ(made.bounded, -2);
  EXPECT_EQ(made.refusal, Refusal::kTooFewReady);
  EXPECT_EQ(made.delta, 0) << "not even the one";
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
  EXPECT_EQ(pool.state.status, Status::kInSync);

  pool.observation.counts.rooms = {.creating = 3, .ready = 2, .occupied = 2};
  made = pool.Again();
  EXPECT_EQ(made.refusal, Refusal::kNone);
  EXPECT_EQ(made.delta, -2);
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s);
}

// The program loses the rooms that it picked.
TEST(MaestroBoundsTest, AFailedScaleDownLosesNoRoom) {
  MaestroPool pool = Within(0, 5);
  pool.Round(6, 7);
  pool.Round(6, 7);
  EXPECT_EQ(pool.Round(5, 7).delta, -2);
}

TEST(MaestroBoundsTest, ReadyRoomsAreCountedAfterBounds) {
  MaestroPool pool = Within(5, 0);
  pool.options.down.metrics_trigger = {LegacyTrigger(1000, -9)};
  EXPECT_EQ(pool.Round(6, 7).refusal, Refusal::kTooFewReady);
  EXPECT_EQ(pool.Round(5, 7).delta, -2);
}

TEST(MaestroBoundsTest, CreationIsRefusedForAReason) {
  const auto refuse = [](bool prevent, int64_t pending, int64_t errors) {
    return RefuseCreation({.prevent_rooms_creation_with_error = prevent},
                          {.pending_pods = pending, .image_error_pods = errors});
  };
  EXPECT_EQ(refuse(true, 0, 0), Refusal::kNone);
  EXPECT_EQ(refuse(true, 1, 1), Refusal::kPendingPods);
  EXPECT_EQ(refuse(true, 0, 1), Refusal::kImageError);
  EXPECT_EQ(refuse(false, 0, 1), Refusal::kNone);
  EXPECT_EQ(refuse(true, -1, -1), Refusal::kNone);
}

}  // namespace
}  // namespace ebb::maestro_bounds_test
