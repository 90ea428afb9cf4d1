#include "engine/cooldown.h"

#include "gtest/gtest.h"

namespace ebb::cooldown_test {
namespace {

constexpr CooldownOptions kOptions = {.scale_down_delay_after_add_s = 600,
                                      .scale_down_delay_after_delete_s = 20,
                                      .scale_down_delay_after_failure_s = 180};

Cooldowns After(ScaleEventKind kind, const CooldownOptions& options = kOptions) {
  Cooldowns cooldowns(options);
  cooldowns.Note({kind, "group", 1000});
  return cooldowns;
}

TEST(CooldownsTest, NothingHappenedSoNothingIsHeldBack) {
  EXPECT_FALSE(Cooldowns(kOptions).Active(0));
}

TEST(CooldownsTest, EachKindOfEventHoldsBackForItsOwnTime) {
  EXPECT_TRUE(After(ScaleEventKind::kScaleUp).Active(1599));
  EXPECT_FALSE(After(ScaleEventKind::kScaleUp).Active(1600));
  EXPECT_TRUE(After(ScaleEventKind::kDeletion).Active(1019));
  EXPECT_FALSE(After(ScaleEventKind::kDeletion).Active(1020));
  EXPECT_TRUE(After(ScaleEventKind::kFailedDeletion).Active(1179));
  EXPECT_FALSE(After(ScaleEventKind::kFailedDeletion).Active(1180));
}

TEST(CooldownsTest, DelayOfZeroHoldsNothingBack) {
  EXPECT_FALSE(After(ScaleEventKind::kDeletion, {}).Active(1000));
}

TEST(CooldownsTest, LatestEventCountsWhateverTheOrderOfTelling) {
  Cooldowns cooldowns = After(ScaleEventKind::kScaleUp);
  cooldowns.Note({ScaleEventKind::kScaleUp, "group", 500});
  EXPECT_TRUE(cooldowns.Active(1599));
}

TEST(CooldownsTest, LocalDelayHoldsBackItsGroupAlone) {
  CooldownOptions options = kOptions;
  options.scale_down_delay_type_local = true;
  const Cooldowns cooldowns = After(ScaleEventKind::kScaleUp, options);
  EXPECT_FALSE(cooldowns.Active(1001));
  EXPECT_TRUE(cooldowns.ActiveFor("group", 1001));
  EXPECT_FALSE(cooldowns.ActiveFor("other", 1001));
}

TEST(CooldownsTest, GlobalDelayLeavesCandidatesAlone) {
  EXPECT_FALSE(After(ScaleEventKind::kScaleUp).ActiveFor("group", 1001));
}

TEST(CooldownsTest, RestoredEventsHoldBackAsBefore) {
  Cooldowns restored(kOptions);
  restored.Restore(After(ScaleEventKind::kFailedDeletion).Save());
  EXPECT_TRUE(restored.Active(1179));
  EXPECT_FALSE(restored.Active(1180));
}

}  // namespace
}  // namespace ebb::cooldown_test
