#include "engine/state_clock.h"

#include <optional>

#include "gtest/gtest.h"

namespace ebb::state_clock_test {
namespace {

TEST(SetClockTest, TimesAfterItBecomeItAndAreListed) {
  ScaleDownState state;
  state.latest_s = 5000;
  state.jump_s = 9000;
  state.timers = {{"a", "", 900, true}, {"b", "", 4000, true}};
  state.skipped = {{"c", 4001}};
  state.started = {{"d", "", StartedDeletions::Phase::kAskedFor, 4002}};
  state.actuation.recent_evictions = {{"ns", "p", "", 4003}};
  state.cooldowns = {{"", 4004, std::nullopt, 999}, {"g", std::nullopt, 4005, std::nullopt}};
  state.limit.latest_update_s = 5000;
  state.planner.unremovable.resize(2);
  state.planner.unremovable[0].node = "e";
  state.planner.unremovable[0].until_s = 5300;
  state.planner.unremovable[1].node = "f";
  state.planner.unremovable[1].until_s = 1000;

  const std::vector<ClockChange> changes = SetClock(state, 1000);
  EXPECT_EQ(state.latest_s, 1000);
  EXPECT_EQ(state.jump_s, std::nullopt);
  EXPECT_EQ(state.timers[0].since_s, 900);
  EXPECT_EQ(state.timers[1].since_s, 1000);
  EXPECT_EQ(state.skipped[0].since_s, 1000);
  EXPECT_EQ(state.started[0].at_s, 1000);
  EXPECT_EQ(state.actuation.recent_evictions[0].evicted_at_s, 1000);
  EXPECT_EQ(state.cooldowns[0].scale_up_s, 1000);
  EXPECT_EQ(state.cooldowns[0].failed_deletion_s, 999);
  EXPECT_EQ(state.cooldowns[1].deletion_s, 1000);
  EXPECT_EQ(state.limit.latest_update_s, 1000);
  ASSERT_EQ(state.planner.unremovable.size(), 1u);
  EXPECT_EQ(state.planner.unremovable[0].node, "f");

  ASSERT_EQ(changes.size(), 8u);
  EXPECT_EQ(changes[1].what, "timer of node b");
  EXPECT_EQ(changes[1].from_s, 4000);
  EXPECT_EQ(changes[1].to_s, 1000);
  EXPECT_EQ(changes[4].what, "eviction of pod ns/p");
  EXPECT_EQ(changes[6].what, "last deletion of group g");
}

TEST(SetClockTest, LaterClockChangesNothing) {
  ScaleDownState state;
  state.latest_s = 5000;
  state.timers = {{"a", "", 4000, true}};
  EXPECT_TRUE(SetClock(state, 5000).empty());
  EXPECT_EQ(state.latest_s, 5000);
  EXPECT_EQ(state.timers[0].since_s, 4000);
}

}  // namespace
}  // namespace ebb::state_clock_test
