#include "sizing/policy/maestro/maestro.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/policies/maestro_panic.h"
#include "tests/sizing/policy/maestro_pool.h"

namespace ebb::maestro_test {
namespace {

using Reason = MaestroReason;
using Status = MaestroStatus;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

MaestroPool WithUp(std::vector<MaestroTrigger> triggers) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = std::move(triggers);
  return pool;
}

MaestroPool WithDown(std::vector<MaestroTrigger> triggers) {
  MaestroPool pool;
  pool.options.down.metrics_trigger = std::move(triggers);
  return pool;
}

// A trigger type whose utilization and delta a test sets as signals.
MaestroPolicyType Signalled(const std::string& name) {
  const auto signal = [](const MaestroCounts& counts, const std::string& key) {
    const auto found = counts.signals.find(key);
    return found == counts.signals.end() ? 0 : found->second;
  };
  return {
      .delta = [=](const MaestroTrigger&, const MaestroCounts& counts) -> std::optional<int64_t> {
        return static_cast<int64_t>(signal(counts, name + " delta"));
      },
      .utilization =
          [=](const MaestroCounts& counts) { return static_cast<float>(signal(counts, name)); }};
}

MaestroTrigger WithLimit(MaestroTrigger trigger, int64_t limit) {
  trigger.limit = limit;
  return trigger;
}

// ---------------------------------------------------------------- worked examples

TEST(MaestroTest, RoomsAreAddedUntilTheUsageIsMet) {
  MaestroPool pool = WithUp({RoomTrigger(50)});
  const MaestroDecision made = pool.Round(9, 10);
  EXPECT_EQ(made.reason, Reason::kTrigger);
  EXPECT_EQ(made.delta, 8) << "9 of 18 are 50 %";
  EXPECT_EQ(made.now_s, pool.now_s);
  EXPECT_EQ(made.available, 10);
  EXPECT_EQ(made.asked, 8);
  EXPECT_EQ(made.bounded, 8);
  EXPECT_EQ(made.bound, MaestroBound::kNone);
  EXPECT_EQ(made.decided_by, 0U);
  ASSERT_EQ(made.checks.size(), 1U);
  EXPECT_EQ(made.checks[0].type, "room");
  EXPECT_EQ(made.checks[0].utilization, 0.9F);
  EXPECT_EQ(made.checks[0].delta, 8);
  EXPECT_FALSE(made.checks[0].limit_hit);
  EXPECT_FALSE(made.checks[0].cooldown);
}

TEST(MaestroTest, RoomsGoUntilTheUsageIsMet) {
  MaestroPool pool = WithDown({RoomTrigger(80)});
  const MaestroDecision made = pool.Round(4, 10);
  EXPECT_EQ(made.reason, Reason::kTrigger);
  EXPECT_EQ(made.delta, -5) << "4 of 5 are 80 %";
  EXPECT_EQ(made.decided_by, 1U) << "after the idle one of the up list";
  EXPECT_EQ(made.checks[1].direction, MaestroDirection::kDown);
  EXPECT_EQ(made.checks[1].index, 0U);
}

TEST(MaestroTest, CpuAndMemory) {
  MaestroPool pool = WithUp(
      {{.type = "cpu", .usage = 50, .limit = 999}, {.type = "mem", .usage = 50, .limit = 999}});
  pool.observation.counts.containers = {{.cpu_usage_milli = 10,
                                         .cpu_request_milli = 100,
                                         .mem_usage_bytes = 3,
                                         .mem_request_bytes = 4}};
  const MaestroDecision made = pool.Round(0, 10);
  EXPECT_EQ(made.delta, 5) << "ceil(0.75 / 0.5 * 10) - 10";
  EXPECT_EQ(made.decided_by, 1U);
}

TEST(MaestroTest, AMissingDownShrinksBelow80Percent) {
  MaestroPool pool;
  pool.options = {};
  for (int i = 0; i < 48; ++i) EXPECT_EQ(pool.Round(4, 10).reason, Reason::kNone) << i;
  EXPECT_EQ(pool.Round(4, 10).delta, -5) << "49 of 60 points are more than 80 %";
}

TEST(MaestroTest, TheOldTriggerHasTheRoomFormulaAndNotItsDelta) {
  MaestroPool pool;
  pool.options.up = {.delta = 1, .trigger = {.usage = 50, .limit = 100, .delta = 1}};
  EXPECT_EQ(pool.Round(9, 10).delta, 8);
}

// ---------------------------------------------------------------- order of triggers

TEST(MaestroTest, TheFirstThatMatchesDecides) {
  MaestroPool pool = WithUp({LegacyTrigger(90, 1), LegacyTrigger(50, 2), LegacyTrigger(40, 3)});
  const MaestroDecision made = pool.Round(6, 10);
  EXPECT_EQ(made.delta, 2);
  EXPECT_EQ(made.decided_by, 1U);
  EXPECT_EQ(made.checks.size(), 2U) << "the third is not tried";
  EXPECT_FALSE(made.checks[0].matched);
  EXPECT_EQ(made.checks[0].delta, std::nullopt);
  EXPECT_EQ(pool.Round(10, 10).delta, 1);
}

TEST(MaestroTest, AMatchWithoutADeltaOfItsDirectionIsIgnored) {
  MaestroPool up = WithUp({LegacyTrigger(50, 0), LegacyTrigger(50, -4), LegacyTrigger(50, 2)});
  const MaestroDecision made = up.Round(6, 10);
  EXPECT_EQ(made.delta, 2);
  EXPECT_TRUE(made.checks[0].matched);
  EXPECT_EQ(made.checks[0].delta, 0);
  EXPECT_TRUE(made.checks[1].matched);
  MaestroPool down = WithDown({LegacyTrigger(50, 0), LegacyTrigger(50, 4), LegacyTrigger(50, -2)});
  EXPECT_EQ(down.Round(4, 10).delta, -2);
}

// The program's own example: use of 70 %, up trigger at 75 %, earlier points above it.
TEST(MaestroTest, OldPointsDoNotGrowAPoolThatIsLargeEnoughNow) {
  MaestroPool pool = WithUp({RoomTrigger(75, 50, 3)});
  pool.fails = true;
  pool.Round(9, 10);
  pool.Round(9, 10);
  const MaestroDecision made = pool.Round(7, 10);
  EXPECT_TRUE(made.checks[0].matched);
  EXPECT_EQ(made.checks[0].delta, -1);
  EXPECT_EQ(made.reason, Reason::kNone);
  EXPECT_EQ(pool.state.status, Status::kInSync);
}

TEST(MaestroTest, UpIsTriedBeforeDown) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = {LegacyTrigger(40, 1)};
  pool.options.down.metrics_trigger = {LegacyTrigger(60, -1)};
  EXPECT_EQ(pool.Round(5, 10).delta, 1);
  EXPECT_EQ(pool.Round(3, 10).delta, -1);
}

TEST(MaestroTest, AnIgnoredMatchDoesNotPreventDown) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = {LegacyTrigger(40, -1)};
  pool.options.down.metrics_trigger = {LegacyTrigger(60, -2)};
  EXPECT_EQ(pool.Round(5, 10).delta, -2);
}

// ---------------------------------------------------------------- cooldown

TEST(MaestroTest, MoreThanTheCooldownMustHavePassed) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.options.up.cooldown = 30;
  pool.state.last_scale_op_at = pool.now_s;
  for (int i = 1; i <= 3; ++i) {
    const MaestroDecision made = pool.Round(9, 10);
    EXPECT_EQ(made.reason, Reason::kCooldown) << i;
    EXPECT_EQ(made.delta, 0) << i;
    EXPECT_EQ(made.asked, 0) << i;
    EXPECT_EQ(made.decided_by, std::nullopt) << i;
    EXPECT_TRUE(made.checks[0].cooldown) << i;
    EXPECT_EQ(made.checks[0].delta, 1) << i;
    EXPECT_EQ(pool.state.status, Status::kSubdimensioned) << i;
  }
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger) << "40 s, after 30 exactly";
}

TEST(MaestroTest, ACooldownOf0LastsTheSecondItself) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.state.last_scale_op_at = pool.now_s + kMaestroPeriod;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kCooldown);
  pool.options.up.cooldown = -1;
  --pool.now_s;
  pool.state.last_scale_op_at = pool.now_s + kMaestroPeriod;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger) << "0 is more than -1";
}

TEST(MaestroTest, BothDirectionsShareTheTimeAndHaveTheirOwnLength) {
  MaestroPool pool;
  pool.options.up = {.cooldown = 100, .metrics_trigger = {LegacyTrigger(50, 1)}};
  pool.options.down = {.cooldown = 15, .metrics_trigger = {LegacyTrigger(50, -1)}};
  EXPECT_EQ(pool.Round(9, 10).delta, 1);
  EXPECT_EQ(pool.Round(1, 10).reason, Reason::kCooldown) << "10 s after growing";
  EXPECT_EQ(pool.state.status, Status::kOverdimensioned);
  EXPECT_EQ(pool.Round(1, 10).delta, -1);
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kCooldown) << "10 s after shrinking";
}

TEST(MaestroTest, ACooldownHitLetsLaterTriggersBeTriedButNotDown) {
  MaestroPool pool;
  pool.options.up = {.cooldown = 100, .metrics_trigger = {LegacyTrigger(40, 1), RoomTrigger(70)}};
  pool.options.down.metrics_trigger = {LegacyTrigger(60, -1)};
  pool.state.last_scale_op_at = pool.now_s;
  const MaestroDecision made = pool.Round(5, 10);
  EXPECT_EQ(made.reason, Reason::kCooldown);
  EXPECT_EQ(made.checks.size(), 2U);
  EXPECT_FALSE(made.checks[1].matched);
  EXPECT_EQ(pool.state.status, Status::kSubdimensioned);
}

TEST(MaestroTest, ANewPoolIsInCooldownFromItsCreation) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.options.up.cooldown = 600;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger) << "never scaled";
  pool.state = {.last_scale_op_at = pool.now_s};
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kCooldown);
}

TEST(MaestroTest, AClockThatWentBackIsCooldown) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.state.last_scale_op_at = pool.now_s + 100'000;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kCooldown);
  pool.state.last_scale_op_at = kLeast;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger) << "longer ago than 64 bits can count";
  pool.state.last_scale_op_at = kMost;
  pool.now_s = -100;
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kCooldown);
}

// ---------------------------------------------------------------- limit

TEST(MaestroTest, AtTheLimitCooldownDoesNotMatter) {
  MaestroPool pool = WithUp({WithLimit(LegacyTrigger(50, 2), 90)});
  pool.options.up.cooldown = 1000;
  pool.state.last_scale_op_at = pool.now_s;
  EXPECT_EQ(pool.Round(899, 1000).reason, Reason::kCooldown);
  const MaestroDecision made = pool.Round(9, 10);
  EXPECT_EQ(made.reason, Reason::kLimit) << "0.9 of 32 bits each: at it is enough";
  EXPECT_EQ(made.delta, 2);
  EXPECT_EQ(made.decided_by, 0U);
  EXPECT_TRUE(made.checks[0].limit_hit);
  EXPECT_FALSE(made.checks[0].cooldown);
  EXPECT_FALSE(made.checks[0].matched);
  EXPECT_EQ(made.checks[0].points, 0) << "nor are points looked at";
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s) << "it is an operation as any other";
}

TEST(MaestroTest, ALimitNeedsNoMatch) {
  MaestroPool pool = WithUp({WithLimit(RoomTrigger(50, 100, 30), 0)});
  EXPECT_EQ(pool.Round(8, 10).reason, Reason::kNone);
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kLimit) << "0 is 90";
}

TEST(MaestroTest, ALaterTriggersLimitDecidesAfterACooldownHit) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1), WithLimit(LegacyTrigger(100, 7), 60)});
  pool.options.up.cooldown = 1000;
  pool.state.last_scale_op_at = pool.now_s;
  const MaestroDecision made = pool.Round(6, 10);
  EXPECT_EQ(made.reason, Reason::kLimit);
  EXPECT_EQ(made.delta, 7);
  EXPECT_EQ(made.decided_by, 1U);
}

TEST(MaestroTest, AnEarlierTriggerDecidesBeforeALimit) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1), WithLimit(LegacyTrigger(100, 7), 60)});
  EXPECT_EQ(pool.Round(6, 10).delta, 1);
}

TEST(MaestroTest, ALimitWithADeltaOf0IsTheEnd) {
  MaestroPool pool = WithUp({WithLimit(LegacyTrigger(50, 0), 60), LegacyTrigger(50, 5)});
  pool.options.down.metrics_trigger = {LegacyTrigger(100, -3)};
  const MaestroDecision made = pool.Round(6, 10);
  EXPECT_EQ(made.reason, Reason::kLimit);
  EXPECT_EQ(made.delta, 0);
  EXPECT_EQ(made.checks.size(), 1U) << "neither later triggers nor down";
  EXPECT_EQ(pool.state.status, Status::kSubdimensioned);
  EXPECT_EQ(pool.state.last_scale_op_at, 0) << "there was no operation";
}

TEST(MaestroTest, ALimitWithADeltaBelow0TakesRoomsAway) {
  MaestroPool pool = WithUp({WithLimit(RoomTrigger(80), 60)});
  pool.options.down.cooldown = 1000;
  pool.state.last_scale_op_at = pool.now_s;
  const MaestroDecision made = pool.Round(6, 10);
  EXPECT_EQ(made.reason, Reason::kLimit);
  EXPECT_EQ(made.asked, -3) << "round((6 - 8) / 0.8), away from zero";
  EXPECT_EQ(made.delta, -3);
  EXPECT_EQ(pool.state.status, Status::kInSync);
}

TEST(MaestroTest, ADownTriggersLimitIsIgnored) {
  MaestroPool pool = WithDown({WithLimit(LegacyTrigger(50, -1), 10)});
  EXPECT_EQ(pool.Round(6, 10).reason, Reason::kNone);
  EXPECT_FALSE(pool.Round(4, 10).checks[1].limit_hit);
}

TEST(MaestroTest, NoRoomIsNotAtALimit) {
  MaestroPool pool = WithUp({WithLimit(LegacyTrigger(50, 1), 1)});
  EXPECT_EQ(pool.Round(0, 0).reason, Reason::kNone);
}

// ---------------------------------------------------------------- status

TEST(MaestroTest, WhileCreatedOrTerminatedNothingHappens) {
  for (const Status status : {Status::kCreating, Status::kTerminating}) {
    MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
    pool.options.min = 5;
    pool.state.status = status;
    for (const int64_t available : {3, 10}) {
      const MaestroDecision made = pool.Round(available, available);
      EXPECT_EQ(made.reason, Reason::kState);
      EXPECT_EQ(made.delta, 0);
      EXPECT_EQ(made.asked, 0);
      EXPECT_TRUE(made.checks.empty());
      EXPECT_EQ(pool.state.status, status);
      EXPECT_EQ(pool.state.last_scale_op_at, 0);
    }
  }
}

TEST(MaestroTest, WithoutAMatchThePoolIsInSync) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  for (const Status status : {Status::kSubdimensioned, Status::kOverdimensioned}) {
    pool.state.status = status;
    EXPECT_EQ(pool.Round(5, 10).reason, Reason::kNone);
    EXPECT_EQ(pool.state.status, Status::kInSync);
  }
}

TEST(MaestroTest, AfterAnAttemptThePoolIsInSync) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.state.status = Status::kSubdimensioned;
  pool.Round(6, 10);
  EXPECT_EQ(pool.state.status, Status::kInSync);
  pool.state.status = Status::kSubdimensioned;
  pool.observation.pending_pods = 1;
  pool.Round(6, 10);
  EXPECT_EQ(pool.state.status, Status::kInSync) << "also if it failed";
}

TEST(MaestroTest, OnlySuccessfulOperationsAreRemembered) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.options.up.cooldown = 1000;
  pool.fails = true;
  EXPECT_EQ(pool.Round(6, 10).delta, 1);
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
  EXPECT_EQ(pool.state.status, Status::kInSync);
  pool.fails = false;
  EXPECT_EQ(pool.Round(6, 10).delta, 1) << "tried again at once";
  EXPECT_EQ(pool.state.last_scale_op_at, pool.now_s) << "when the round began";
  EXPECT_EQ(pool.Round(6, 10).reason, Reason::kCooldown);
}

TEST(MaestroTest, SuccessWithoutAnOperationIsIgnored) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.Round(1, 10);
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
}

TEST(MaestroTest, APanicLeavesTheCooldownAlone) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.options.enable_panic_scale = true;
  pool.options.up.delta = 1;
  pool.options.up.cooldown = 1000;
  pool.observation.counts.rooms = {.occupied = 10};
  ASSERT_EQ(Panic(pool.options, pool.observation, pool.now_s, &pool.state).delta, 1);
  const std::optional<int64_t> locked = pool.state.panic_locked_until;
  EXPECT_EQ(pool.Again().reason, Reason::kTrigger) << "nor does its lock hold a round";
  EXPECT_EQ(pool.state.panic_locked_until, locked);
}

// ---------------------------------------------------------------- types that users add

TEST(MaestroTest, AddedTypesAreTriedAsTheOthers) {
  MaestroPool pool = WithUp({{.type = "queue", .usage = 50, .limit = 200}});
  ASSERT_TRUE(pool.types.Add("queue", Signalled("queue")));
  pool.observation.counts.signals = {{"queue", 0.75}, {"queue delta", 4}};
  MaestroDecision made = pool.Round(0, 10);
  EXPECT_EQ(made.reason, Reason::kTrigger);
  EXPECT_EQ(made.delta, 4);
  EXPECT_EQ(made.checks[0].utilization, 0.75F);
  EXPECT_EQ(pool.state.points.at("queue").size(), 1U);

  pool.options.up.cooldown = 1000;
  EXPECT_EQ(pool.Round(0, 10).reason, Reason::kCooldown);
  pool.observation.counts.signals["queue"] = 2;
  EXPECT_EQ(pool.Round(0, 10).reason, Reason::kLimit);
  pool.observation.counts.signals["queue"] = 0.5;
  EXPECT_EQ(pool.Round(0, 10).reason, Reason::kNone);
}

}  // namespace
}  // namespace ebb::maestro_test
