#include "engine/scale_down/state_clock.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace ebb::state_clock_test {
namespace {

TEST(SetClockTest, TimesAfterItBecomeItAndAreListed) {
  ScaleDownState state;
  state.latest_s = 5000;
  state.jump_s = 9000;
  state.timers = {{"a", "", 900, true}, {"b", "", 4000, true}};
  state.skipped = {{"c", 4001}};
  state.started = {{"d", "", StartedDeletions::Phase::kRequested, 4002}};
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

TEST(SetClockTest, EveryTimeThatMovedIsNamed) {
  ScaleDownState state;
  state.latest_s = 2000;
  state.timers = {{"a", "", 2001, true}, {"now", "", 1000, true}};
  state.skipped = {{"b", 2002}};
  state.started = {{"c", "", StartedDeletions::Phase::kRunning, 2003}};
  state.actuation.recent_evictions = {{"ns", "p", "", 2004}};
  state.cooldowns = {{"", 2005, 2006, 2007}, {"g", 2008, 2009, 2010}};
  state.limit.latest_update_s = 2011;
  std::string listed;
  for (const ClockChange& change : SetClock(state, 1000)) {
    EXPECT_EQ(change.to_s, 1000);
    listed += std::to_string(change.from_s) + " " + change.what + "\n";
  }
  EXPECT_EQ(listed,
            "2000 last round\n"
            "2001 timer of node a\n"
            "2002 first skip of node b\n"
            "2003 deletion of node c\n"
            "2004 eviction of pod ns/p\n"
            "2005 last scale-up\n"
            "2006 last deletion\n"
            "2007 last failed deletion\n"
            "2008 last scale-up of group g\n"
            "2009 last deletion of group g\n"
            "2010 last failed deletion of group g\n"
            "2011 last pass\n");
}

}  // namespace
}  // namespace ebb::state_clock_test
