#include "tests/policies/maestro_panic.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace ebb::maestro_panic_test {
namespace {

using Reason = MaestroPanicReason;

constexpr int64_t kNow = 1'000'000;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// All of 10 rooms are occupied; a panic adds 3.
struct Pool {
  Pool() {
    options.enable_panic_scale = true;
    options.up.delta = 3;
    Rooms(10, 10);
  }

  void Rooms(int64_t occupied, int64_t available) {
    observation.counts.rooms = {.ready = available - occupied, .occupied = occupied};
  }
  MaestroPanic At(int64_t now_s) { return Panic(options, observation, now_s, &state); }
  Reason ReasonOf(int64_t occupied, int64_t available) {
    Rooms(occupied, available);
    state = {};
    return At(kNow).reason;
  }

  MaestroOptions options;
  MaestroObservation observation;
  MaestroState state;
};

TEST(MaestroPanicTest, OverTheLimitRoomsAreAddedAtOnce) {
  Pool pool;
  const MaestroPanic panic = pool.At(kNow);
  EXPECT_EQ(panic.reason, Reason::kPanic);
  EXPECT_EQ(panic.delta, 3);
  EXPECT_EQ(panic.available, 10);
  EXPECT_EQ(panic.limit, 90);
  EXPECT_EQ(panic.bounded, 3);
  EXPECT_EQ(panic.bound, MaestroBound::kNone);
  EXPECT_EQ(panic.refusal, MaestroRefusal::kNone);
}

TEST(MaestroPanicTest, OffUnlessEnabled) {
  Pool pool;
  pool.options.enable_panic_scale = false;
  EXPECT_EQ(pool.At(kNow).reason, Reason::kDisabled);
  EXPECT_EQ(pool.state, MaestroState());
}

TEST(MaestroPanicTest, TheLimitItselfIsWithin) {
  Pool pool;
  EXPECT_EQ(pool.ReasonOf(9, 10), Reason::kWithinLimit);
  EXPECT_EQ(pool.ReasonOf(901, 1000), Reason::kPanic);
  EXPECT_EQ(pool.ReasonOf(900, 1000), Reason::kWithinLimit);
  EXPECT_EQ(pool.ReasonOf(0, 0), Reason::kWithinLimit);
  EXPECT_EQ(pool.ReasonOf(1, 1), Reason::kPanic);
}

TEST(MaestroPanicTest, CreatingRoomsCountTerminatingOnesDoNot) {
  Pool pool;
  pool.observation.counts.rooms = {.creating = 2, .occupied = 10};
  EXPECT_EQ(pool.At(kNow).reason, Reason::kWithinLimit);
  pool.observation.counts.rooms = {.occupied = 10, .terminating = 2};
  EXPECT_EQ(pool.At(kNow).reason, Reason::kPanic);
}

TEST(MaestroPanicTest, TheLimitIsThatOfTheOldTriggerEvenIfThereAreOthers) {
  Pool pool;
  pool.options.up.metrics_trigger = {{.type = "room", .usage = 10, .limit = 20}};
  EXPECT_EQ(pool.ReasonOf(9, 10), Reason::kWithinLimit) << "90, not 20";
  pool.options.up.trigger.limit = 50;
  EXPECT_EQ(pool.ReasonOf(6, 10), Reason::kPanic);
  EXPECT_EQ(pool.ReasonOf(5, 10), Reason::kWithinLimit);
  pool.options.up.trigger.limit = -1;
  EXPECT_EQ(pool.ReasonOf(9, 10), Reason::kWithinLimit) << "90 again";
  EXPECT_EQ(pool.ReasonOf(10, 10), Reason::kPanic);
}

TEST(MaestroPanicTest, KnowsNeitherCooldownNorMaxScaleUpAmount) {
  Pool pool;
  pool.options.up.cooldown = 1000;
  pool.options.max_scale_up_amount = 1;
  pool.state.last_scale_op_at = kNow;
  EXPECT_EQ(pool.At(kNow).delta, 3);
}

TEST(MaestroPanicTest, ChangesNeitherStatusNorTimeNorPoints) {
  Pool pool;
  pool.state = {.status = MaestroStatus::kOverdimensioned,
                .last_scale_op_at = 7,
                .points = {{"room", {{0.5F}}}}};
  MaestroState expected = pool.state;
  expected.panic_locked_until = kNow + 60;
  EXPECT_EQ(pool.At(kNow).delta, 3);
  EXPECT_EQ(pool.state, expected);
}

TEST(MaestroPanicTest, BoundsHold) {
  Pool pool;
  pool.options.max = 12;
  MaestroPanic panic = pool.At(kNow);
  EXPECT_EQ(panic.delta, 2);
  EXPECT_EQ(panic.bound, MaestroBound::kMax);

  pool.state = {};
  pool.options.max = 10;
  panic = pool.At(kNow);
  EXPECT_EQ(panic.reason, Reason::kPanic);
  EXPECT_EQ(panic.delta, 0);
  EXPECT_EQ(pool.state, MaestroState()) << "nothing acts, nothing is locked";

  pool.options.max = 0;
  pool.options.min = 20;
  panic = pool.At(kNow);
  EXPECT_EQ(panic.delta, 10);
  EXPECT_EQ(panic.bound, MaestroBound::kMin);
}

TEST(MaestroPanicTest, ADeltaOf0OrLessAddsNothing) {
  for (const int64_t delta : {int64_t{0}, int64_t{-1}, kLeast}) {
    Pool pool;
    pool.options.up.delta = delta;
    const MaestroPanic panic = pool.At(kNow);
    EXPECT_EQ(panic.reason, Reason::kPanic) << delta;
    EXPECT_EQ(panic.delta, 0) << delta;
    EXPECT_EQ(pool.state.panic_locked_until, std::nullopt) << delta;
  }
}

TEST(MaestroPanicTest, RefusedAsAnyCreation) {
  Pool pool;
  pool.observation.pending_pods = 1;
  MaestroPanic panic = pool.At(kNow);
  EXPECT_EQ(panic.refusal, MaestroRefusal::kPendingPods);
  EXPECT_EQ(panic.bounded, 3);
  EXPECT_EQ(panic.delta, 0);
  EXPECT_EQ(pool.state.panic_locked_until, std::nullopt);

  pool.observation = {.counts = pool.observation.counts, .image_error_pods = 1};
  EXPECT_EQ(pool.At(kNow).refusal, MaestroRefusal::kImageError);
  pool.options.prevent_rooms_creation_with_error = false;
  EXPECT_EQ(pool.At(kNow).delta, 3);
}

// ---------------------------------------------------------------- lock

TEST(MaestroPanicTest, OnePanicActsAtATime) {
  Pool pool;
  pool.At(kNow);
  const MaestroState locked = pool.state;
  const MaestroPanic second = pool.At(kNow + 59);
  EXPECT_EQ(second.reason, Reason::kLocked);
  EXPECT_EQ(second.delta, 0);
  EXPECT_EQ(pool.state, locked) << "nor does it prolong the lock";
}

TEST(MaestroPanicTest, TheLockEndsWithItsTimeout) {
  Pool pool;
  pool.At(kNow);
  EXPECT_EQ(pool.At(kNow + 60).reason, Reason::kPanic);
  EXPECT_EQ(pool.state.panic_locked_until, kNow + 120);
}

TEST(MaestroPanicTest, TheLockEndsWithItsPanic) {
  Pool pool;
  pool.At(kNow);
  PanicEnded(&pool.state);
  EXPECT_EQ(pool.state, MaestroState());
  EXPECT_EQ(pool.At(kNow).reason, Reason::kPanic);
}

TEST(MaestroPanicTest, WithinTheLimitTheLockDoesNotMatter) {
  Pool pool;
  pool.At(kNow);
  pool.Rooms(9, 10);
  EXPECT_EQ(pool.At(kNow).reason, Reason::kWithinLimit);
}

TEST(MaestroPanicTest, KeyTimeoutIsTheLocksLife) {
  Pool pool;
  pool.options.key_timeout = 5;
  pool.At(kNow);
  EXPECT_EQ(pool.At(kNow + 4).reason, Reason::kLocked);
  EXPECT_EQ(pool.At(kNow + 5).reason, Reason::kPanic);
  for (const int64_t none : {int64_t{0}, int64_t{-1}, kLeast}) {
    pool.state = {};
    pool.options.key_timeout = none;
    EXPECT_EQ(pool.At(-5).reason, Reason::kPanic) << none;
    EXPECT_EQ(pool.At(-5).reason, Reason::kPanic) << none;
  }
}

TEST(MaestroPanicTest, ALockBeyondTimeIsForever) {
  Pool pool;
  pool.options.key_timeout = kMost;
  pool.At(kNow);
  EXPECT_EQ(pool.state.panic_locked_until, kMost);
  EXPECT_EQ(pool.At(kMost - 1).reason, Reason::kLocked);
}

// ---------------------------------------------------------------- bad input

TEST(MaestroPanicTest, BadInputGivesNoAction) {
  Pool pool;
  pool.options.min = 3;
  pool.options.max = 2;
  EXPECT_EQ(pool.At(kNow).reason, Reason::kInvalidOptions);
  EXPECT_EQ(pool.At(kNow).delta, 0);
  pool.options.max = 3;
  EXPECT_EQ(pool.At(kNow).reason, Reason::kPanic);

  pool.options.max = 0;
  EXPECT_EQ(pool.ReasonOf(10, 9), Reason::kInvalidCounts) << "ready rooms below 0";
  EXPECT_EQ(pool.ReasonOf(-1, 10), Reason::kInvalidCounts);
  pool.observation.counts.rooms = {.ready = kMost, .occupied = 1};
  EXPECT_EQ(pool.At(kNow).reason, Reason::kInvalidCounts);
  EXPECT_EQ(pool.state, MaestroState());
}

TEST(MaestroPanicTest, LargeNumbersAreComparedExactly) {
  Pool pool;
  pool.options.up.delta = 1;
  constexpr int64_t kTenth = kMost / 10;
  EXPECT_EQ(pool.ReasonOf(9 * kTenth, 10 * kTenth), Reason::kWithinLimit);
  EXPECT_EQ(pool.ReasonOf(9 * kTenth + 1, 10 * kTenth), Reason::kPanic);
  pool.options.up.trigger.limit = kMost;
  EXPECT_EQ(pool.ReasonOf(10, 10), Reason::kWithinLimit);
}

TEST(MaestroPanicTest, AnExcessiveDeltaGivesNoAction) {
  Pool pool;
  pool.options.up.delta = kMost - 10;
  EXPECT_EQ(pool.At(kNow).delta, kMost - 10);
  pool.state = {};
  pool.options.up.delta = kMost - 9;
  EXPECT_EQ(pool.At(kNow).reason, Reason::kNoNumber);
  EXPECT_EQ(pool.At(kNow).delta, 0);
  EXPECT_EQ(pool.state, MaestroState());
}

TEST(MaestroPanicTest, ReasonsHaveNames) {
  std::string names;
  for (const Reason reason :
       {Reason::kPanic, Reason::kDisabled, Reason::kWithinLimit, Reason::kLocked, Reason::kNoNumber,
        Reason::kInvalidOptions, Reason::kInvalidCounts}) {
    names += std::string(Name(reason)) + " ";
  }
  EXPECT_EQ(names, "panic disabled within_limit locked no_number invalid_options invalid_counts ");
}

}  // namespace
}  // namespace ebb::maestro_panic_test
