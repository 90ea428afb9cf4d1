#include "engine/scale_down/cooldown.h"

#include <optional>
#include <vector>

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

TEST(CooldownsTest, WithoutEventsNothingIsHeldBack) { EXPECT_FALSE(Cooldowns(kOptions).Active(0)); }

TEST(CooldownsTest, EachKindOfEventHoldsBackForItsOwnTime) {
  EXPECT_TRUE(After(ScaleEventKind::kScaleUp).Active(1599));
  EXPECT_FALSE(After(ScaleEventKind::kScaleUp).Active(1600));
  EXPECT_TRUE(After(ScaleEventKind::kDeletion).Active(1019));
  EXPECT_FALSE(After(ScaleEventKind::kDeletion).Active(1020));
  EXPECT_TRUE(After(ScaleEventKind::kFailedDeletion).Active(1179));
  EXPECT_FALSE(After(ScaleEventKind::kFailedDeletion).Active(1180));
}

TEST(CooldownsTest, TheHoldThatLastsLongestIsNamed) {
  Cooldowns cooldowns = After(ScaleEventKind::kScaleUp);
  cooldowns.Note({ScaleEventKind::kFailedDeletion, "group", 1500});
  cooldowns.Note({ScaleEventKind::kDeletion, "group", 1500});
  const auto failed = cooldowns.HoldAt(1510);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->kind, ScaleEventKind::kFailedDeletion);
  EXPECT_EQ(failed->at_s, 1500);
  EXPECT_EQ(failed->until_s, 1680);
  const auto added = After(ScaleEventKind::kScaleUp).HoldAt(1599);
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(added->kind, ScaleEventKind::kScaleUp);
  EXPECT_EQ(added->until_s, 1600);
  EXPECT_FALSE(cooldowns.HoldAt(1680).has_value());
}

TEST(CooldownsTest, DelayOfZeroHoldsNothingBack) {
  EXPECT_FALSE(After(ScaleEventKind::kDeletion, {}).Active(1000));
}

TEST(CooldownsTest, TheLatestEventCountsInAnyOrderOfReports) {
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

TEST(CooldownsTest, AnEventIsKeptForItsGroupAndForAll) {
  using Last = Cooldowns::Last;
  Cooldowns cooldowns(kOptions);
  cooldowns.Note({ScaleEventKind::kScaleUp, "group", 1000});
  cooldowns.Note({ScaleEventKind::kDeletion, "other", 2000});
  cooldowns.Note({ScaleEventKind::kDeletion, "", 1500});
  cooldowns.Note({ScaleEventKind::kFailedDeletion, "", 3000});
  EXPECT_EQ(cooldowns.Save(), (std::vector<Last>{{"", 1000, 2000, 3000},
                                                 {"group", 1000, std::nullopt, std::nullopt},
                                                 {"other", std::nullopt, 2000, std::nullopt}}));
}

TEST(CooldownsTest, EachKindHoldsBackItsGroupForItsOwnTime) {
  CooldownOptions options = kOptions;
  options.scale_down_delay_type_local = true;
  const struct {
    ScaleEventKind kind;
    int64_t over_s;
  } cases[] = {{ScaleEventKind::kScaleUp, 1600},
               {ScaleEventKind::kDeletion, 1020},
               {ScaleEventKind::kFailedDeletion, 1180}};
  for (const auto& [kind, over_s] : cases) {
    const Cooldowns cooldowns = After(kind, options);
    EXPECT_TRUE(cooldowns.ActiveFor("group", over_s - 1));
    EXPECT_FALSE(cooldowns.ActiveFor("group", over_s));
    EXPECT_FALSE(cooldowns.ActiveFor("", over_s - 1)) << "a node of no group";
    EXPECT_FALSE(cooldowns.Active(over_s + 100'000));
  }
}

// After the clock was set back, events lie in the future.
TEST(CooldownsTest, WithoutADelayFutureEventsHoldNothingBack) {
  for (const int64_t delay_s : {0, -50}) {
    const CooldownOptions options = {.scale_down_delay_after_add_s = delay_s,
                                     .scale_down_delay_after_delete_s = delay_s,
                                     .scale_down_delay_after_failure_s = delay_s};
    for (const ScaleEventKind kind :
         {ScaleEventKind::kScaleUp, ScaleEventKind::kDeletion, ScaleEventKind::kFailedDeletion}) {
      EXPECT_FALSE(After(kind, options).Active(900)) << delay_s;
    }
  }
}

TEST(CooldownsTest, RestoringReplacesAllEvents) {
  Cooldowns cooldowns = After(ScaleEventKind::kScaleUp);
  cooldowns.Restore({});
  EXPECT_FALSE(cooldowns.Active(1001));
  EXPECT_TRUE(cooldowns.Save().empty());
}

}  // namespace
}  // namespace ebb::cooldown_test
