#include "sizing/policy/clusterman/clusterman_capacity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "gtest/gtest.h"

namespace ebb::clusterman_capacity_test {
namespace {

using Outcome = ClustermanBalance::Outcome;

constexpr ClustermanLimits kLimits = {
    .min_capacity = 10, .max_capacity = 100, .max_weight_to_add = 20, .max_weight_to_remove = 5};

ClustermanConstraint ConstrainFrom(double current, double requested,
                                   const ClustermanConstrainOptions& options = {}) {
  return Constrain(requested, current, kLimits, options);
}

TEST(ClustermanConstrainTest, WithinTheLimitsTheRequestHolds) {
  EXPECT_EQ(ConstrainFrom(50, 60.5).capacity, 60.5);
  EXPECT_EQ(ConstrainFrom(50, 60.5).limit, ClustermanLimit::kNone);
  EXPECT_EQ(ConstrainFrom(50, 60.5).warning, "");
  EXPECT_EQ(ConstrainFrom(50, 45).capacity, 45);
}

TEST(ClustermanConstrainTest, EachLimitBindsAndIsNamed) {
  EXPECT_EQ(ConstrainFrom(50, 71).capacity, 70);
  EXPECT_EQ(ConstrainFrom(50, 71).limit, ClustermanLimit::kMaxWeightToAdd);
  EXPECT_EQ(ConstrainFrom(50, 40).capacity, 45);
  EXPECT_EQ(ConstrainFrom(50, 40).limit, ClustermanLimit::kMaxWeightToRemove);
  EXPECT_EQ(ConstrainFrom(90, 105).capacity, 100);
  EXPECT_EQ(ConstrainFrom(90, 105).limit, ClustermanLimit::kMaxCapacity);
  EXPECT_EQ(ConstrainFrom(12, 8).capacity, 10);
  EXPECT_EQ(ConstrainFrom(12, 8).limit, ClustermanLimit::kMinCapacity);
}

TEST(ClustermanConstrainTest, WarningsAreInTheProgramsWords) {
  EXPECT_EQ(ConstrainFrom(50, 97.321).warning,
            "Requested target capacity 97.321; restricting to 70 due to scaling limits.");
  EXPECT_EQ(ConstrainFrom(50, 200000, {.force = true}).warning,
            "Forcing target capacity to 200000 even though scaling limits would restrict to 70.");
}

TEST(ClustermanConstrainTest, ForceGivesTheRequestedCapacity) {
  EXPECT_EQ(ConstrainFrom(50, 200, {.force = true}).capacity, 200);
  EXPECT_EQ(ConstrainFrom(50, 200, {.force = true}).restricted, 70);
}

TEST(ClustermanConstrainTest, ARequestAboveTheMaximumMayShrink) {
  EXPECT_EQ(ConstrainFrom(104, 120).capacity, 100);
  EXPECT_EQ(ConstrainFrom(110, 120).capacity, 105);  // max_weight_to_remove limits the step.
}

TEST(ClustermanConstrainTest, ARequestBelowTheMinimumMayGrow) {
  EXPECT_EQ(ConstrainFrom(4, 2).capacity, 10);
}

TEST(ClustermanConstrainTest, ARequestForThePresentCapacityChangesNothingEvenOutOfBounds) {
  EXPECT_EQ(ConstrainFrom(150, 150).capacity, 150);
  EXPECT_EQ(ConstrainFrom(150, 150).warning, "");
}

TEST(ClustermanConstrainTest, AfterALossGroupsDoNotShrinkAndMayGrow) {
  EXPECT_EQ(ConstrainFrom(50, 48, {.no_scale_down = true}).capacity, 50);
  EXPECT_EQ(ConstrainFrom(50, 48, {.no_scale_down = true}).limit, ClustermanLimit::kNoScaleDown);
  EXPECT_EQ(ConstrainFrom(104, 120, {.no_scale_down = true}).capacity, 104);
  EXPECT_EQ(ConstrainFrom(50, 60, {.no_scale_down = true}).capacity, 60);
}

TEST(ClustermanConstrainTest, NoDecisionBreaksABoundOrARate) {
  Random random(16);
  for (int i = 0; i < 100000; ++i) {
    const auto draw = [&](uint64_t bound) { return static_cast<double>(random.Below(bound)) / 4; };
    ClustermanLimits limits;
    limits.min_capacity = static_cast<int64_t>(random.Below(20));
    limits.max_capacity = limits.min_capacity + static_cast<int64_t>(random.Below(20));
    limits.max_weight_to_add = static_cast<int64_t>(random.Below(20));
    limits.max_weight_to_remove = static_cast<int64_t>(random.Below(20));
    const double current = draw(160);
    const double requested = draw(240) - 10;
    const bool no_scale_down = random.Below(2) == 0;
    const double capacity =
        Constrain(requested, current, limits, {.no_scale_down = no_scale_down}).capacity;
    ASSERT_LE(capacity - current, limits.max_weight_to_add);
    ASSERT_LE(current - capacity, limits.max_weight_to_remove);
    if (no_scale_down) {
      ASSERT_GE(capacity, current);
    }
    const auto min = static_cast<double>(limits.min_capacity);
    const auto max = static_cast<double>(limits.max_capacity);
    // Outside its bounds only where it already was, and no further outside.
    if (capacity < min) {
      ASSERT_GE(capacity, current);
    }
    if (capacity > max) {
      ASSERT_LE(capacity, current);
    }
  }
}

ClustermanGroup Group(const std::string& id, double target, double min = 0, double max = 1000) {
  return {.id = id, .target_capacity = target, .min_capacity = min, .max_capacity = max};
}

std::map<std::string, double> Targets(const ClustermanBalance& balance) {
  std::map<std::string, double> targets;
  for (const ClustermanGroupTarget& target : balance.targets) {
    targets[target.group_id] = target.target;
  }
  return targets;
}

using Map = std::map<std::string, double>;

TEST(ClustermanCurrentTargetTest, StaleGroupsDoNotCountAndWithoutGroupsThereIsNoTarget) {
  ClustermanGroup stale = Group("b", 7);
  stale.is_stale = true;
  EXPECT_EQ(CurrentTarget({Group("a", 3), stale}), 3);
  EXPECT_EQ(CurrentTarget({stale}), std::nullopt);
  EXPECT_EQ(CurrentTarget({}), std::nullopt);
}

TEST(ClustermanBalanceTest, GrowthFillsTheSmallestAndShrinkingTakesFromTheLargest) {
  EXPECT_EQ(Targets(Balance({Group("a", 1), Group("b", 5), Group("c", 2)}, 12)),
            (Map{{"a", 4}, {"b", 5}, {"c", 3}}));
  EXPECT_EQ(Targets(Balance({Group("a", 1), Group("b", 5), Group("c", 2)}, 6)),
            (Map{{"a", 1}, {"b", 3}, {"c", 2}}));
}

TEST(ClustermanBalanceTest, TheFirstIdWinsTiesInBothDirections) {
  EXPECT_EQ(Targets(Balance({Group("b", 3), Group("a", 3)}, 7)), (Map{{"a", 4}, {"b", 3}}));
  EXPECT_EQ(Targets(Balance({Group("b", 3), Group("a", 3)}, 5)), (Map{{"a", 2}, {"b", 3}}));
}

TEST(ClustermanBalanceTest, TheSumReachesTheNextWholeNumber) {
  EXPECT_EQ(Targets(Balance({Group("a", 3)}, 4.1)), (Map{{"a", 5}}));
  EXPECT_EQ(Targets(Balance({Group("a", 6)}, 4.1)), (Map{{"a", 5}}));
  EXPECT_EQ(Targets(Balance({Group("a", 3)}, 3)), (Map{{"a", 3}}));
}

TEST(ClustermanBalanceTest, FractionsAreKept) {
  EXPECT_EQ(Targets(Balance({Group("a", 3.25)}, 5)), (Map{{"a", 5.25}}));
  EXPECT_EQ(Targets(Balance({Group("a", 6.25)}, 5)), (Map{{"a", 4.25}}));
}

TEST(ClustermanBalanceTest, NoGroupLeavesItsOwnBounds) {
  const ClustermanBalance up = Balance({Group("a", 1, 0, 2.5), Group("b", 1, 0, 3)}, 9);
  EXPECT_EQ(Targets(up), (Map{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(up.outcome, Outcome::kNoRoom);
  EXPECT_EQ(up.warning,
            "All resource groups are stale or constrained. The closest we could get to 9 is 5");
  const ClustermanBalance down = Balance({Group("a", 5, 3), Group("b", 5, 4)}, 2);
  EXPECT_EQ(Targets(down), (Map{{"a", 3}, {"b", 4}}));
}

TEST(ClustermanBalanceTest, AGroupOutsideItsBoundsIsNotPulledBack) {
  EXPECT_EQ(Targets(Balance({Group("a", 9, 0, 4), Group("b", 1)}, 12)), (Map{{"a", 9}, {"b", 3}}));
}

TEST(ClustermanBalanceTest, StaleGroupsFollowWithZero) {
  ClustermanGroup stale = Group("a", 7);
  stale.is_stale = true;
  const ClustermanBalance balance = Balance({stale, Group("b", 2)}, 4);
  EXPECT_EQ(Targets(balance), (Map{{"a", 0}, {"b", 4}}));
  EXPECT_EQ(balance.targets.back().group_id, "a");
  EXPECT_EQ(Balance({stale}, 4).outcome, Outcome::kAllStale);
}

TEST(ClustermanBalanceTest, AnExcessiveTargetIsRefusedAtOnce) {
  for (const double capacity : {1e15, -1e300, std::nan("")}) {
    EXPECT_EQ(Balance({Group("a", 2, -1e308, 1e308)}, capacity).outcome, Outcome::kTooManySteps);
  }
}

// As the program does it: sort the groups, take the first, add one unit.
Map SlowBalance(std::vector<ClustermanGroup> groups, double capacity) {
  double current = 0;
  for (const ClustermanGroup& group : groups) current += group.target_capacity;
  const int sign = capacity < current ? -1 : 1;
  const auto sum = [&] {
    double total = 0;
    for (const ClustermanGroup& group : groups) total += group.target_capacity;
    return total;
  };
  while (sum() * sign < std::ceil(capacity) * sign) {
    std::vector<ClustermanGroup*> open;
    for (ClustermanGroup& group : groups) {
      const double next = group.target_capacity + sign;
      if (next <= group.max_capacity && sign > 0) open.push_back(&group);
      if (next >= group.min_capacity && sign < 0) open.push_back(&group);
    }
    if (open.empty()) break;
    std::sort(open.begin(), open.end(), [&](const auto* a, const auto* b) {
      return std::pair(sign * a->target_capacity, a->id) <
             std::pair(sign * b->target_capacity, b->id);
    });
    open.front()->target_capacity += sign;
  }
  Map targets;
  for (const ClustermanGroup& group : groups) targets[group.id] = group.target_capacity;
  return targets;
}

TEST(ClustermanBalanceTest, AgreesWithASlowTwin) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    std::vector<ClustermanGroup> groups;
    const uint64_t count = 1 + random.Below(5);
    for (uint64_t g = 0; g < count; ++g) {
      const double target = static_cast<double>(random.Below(60)) / 4;
      const auto min = static_cast<double>(random.Below(5));
      const auto room = static_cast<double>(random.Below(20));
      groups.push_back(Group(std::to_string((g * 7) % 10), target, min, min + room));
    }
    const double capacity = static_cast<double>(random.Below(300)) / 4;
    ASSERT_EQ(Targets(Balance(groups, capacity)), SlowBalance(groups, capacity)) << i;
  }
}

TEST(ClustermanCloudSizeTest, AsgIsBoundedWithItsStaleInstancesAndCut) {
  ClustermanGroup group = Group("a", 5, 2, 10);
  EXPECT_EQ(CloudSize(group, 4.75), 4);
  EXPECT_EQ(CloudSize(group, 12), 10);
  EXPECT_EQ(CloudSize(group, 1), 2);
  group.stale_weight = 3;
  EXPECT_EQ(CloudSize(group, 4), 7);
  EXPECT_EQ(CloudSize(group, 8), 10);
}

TEST(ClustermanCloudSizeTest, SpotFleetIsCutOnly) {
  ClustermanGroup group = Group("a", 5, 2, 10);
  group.kind = ClustermanGroupKind::kSfr;
  EXPECT_EQ(CloudSize(group, 12.75), 12);
  EXPECT_EQ(CloudSize(group, std::nan("")), 0);
}

TEST(ClustermanConstrainTest, LimitsHaveNames) {
  EXPECT_EQ(Name(ClustermanLimit::kNone), "");
  EXPECT_EQ(Name(ClustermanLimit::kMinCapacity), "min_capacity");
  EXPECT_EQ(Name(ClustermanLimit::kMaxCapacity), "max_capacity");
  EXPECT_EQ(Name(ClustermanLimit::kMaxWeightToAdd), "max_weight_to_add");
  EXPECT_EQ(Name(ClustermanLimit::kMaxWeightToRemove), "max_weight_to_remove");
  EXPECT_EQ(Name(ClustermanLimit::kNoScaleDown), "prevent_scale_down_after_capacity_loss");
}

TEST(ClustermanConstrainTest, TheResultHasAllFiguresOfTheStep) {
  const ClustermanConstraint cut = ConstrainFrom(50, 71);
  EXPECT_EQ(cut.requested, 71);
  EXPECT_EQ(cut.ask, 21);
  EXPECT_EQ(cut.step, 20);
  EXPECT_EQ(cut.restricted, 70);
  EXPECT_EQ(ConstrainFrom(104, 120).limit, ClustermanLimit::kMaxCapacity);
  EXPECT_EQ(ConstrainFrom(104, 120).step, -4);
  EXPECT_EQ(ConstrainFrom(4, 2).limit, ClustermanLimit::kMinCapacity);
  EXPECT_EQ(ConstrainFrom(4, 2).step, 6);
  // A step that is exactly at a limit is not cut by it.
  EXPECT_EQ(ConstrainFrom(50, 70).limit, ClustermanLimit::kNone);
  EXPECT_EQ(ConstrainFrom(50, 45).limit, ClustermanLimit::kNone);
  EXPECT_EQ(ConstrainFrom(50, 45, {.force = true}).warning, "");
}

TEST(ClustermanCloudSizeTest, WholeNumbersAreThoseThatADoubleCounts) {
  ClustermanGroup group = Group("a", 5);
  group.kind = ClustermanGroupKind::kSfr;
  constexpr double kLargest = 9007199254740992.0;
  EXPECT_EQ(CloudSize(group, kLargest), int64_t{1} << 53);
  EXPECT_EQ(CloudSize(group, -kLargest), -(int64_t{1} << 53));
  EXPECT_EQ(CloudSize(group, kLargest + 2), 0);
  group.kind = ClustermanGroupKind::kAsg;
  group.stale_weight = 2.5;
  EXPECT_EQ(CloudSize(group, 4), 6);
}

TEST(ClustermanConstrainTest, TheLastLimitThatCutIsReported) {
  EXPECT_EQ(
      ConstrainFrom(110, 120),
      (ClustermanConstraint{
          .requested = 120,
          .ask = 10,
          .step = -5,
          .restricted = 105,
          .capacity = 105,
          .limit = ClustermanLimit::kMaxWeightToRemove,
          .warning = "Requested target capacity 120; restricting to 105 due to scaling limits."}));
  EXPECT_EQ(ConstrainFrom(110, 120, {.no_scale_down = true}).limit, ClustermanLimit::kNoScaleDown);
}

TEST(ClustermanConstrainTest, ARequestThatIsNotANumberChangesNothing) {
  const ClustermanConstraint nothing = ConstrainFrom(50, std::nan(""));
  EXPECT_EQ(nothing.step, 0);
  EXPECT_EQ(nothing.capacity, 50);
  EXPECT_EQ(nothing.limit, ClustermanLimit::kNone);
}

// Each group has room for three units, so Balance soon ends unless it refuses.
TEST(ClustermanBalanceTest, StepsTimesGroupsAreAHundredMillionAtMost) {
  const std::vector<ClustermanGroup> one = {Group("a", 0, 0, 3)};
  EXPECT_EQ(Balance(one, 1e8).outcome, Outcome::kNoRoom);
  EXPECT_EQ(Balance(one, 1e8 + 1).outcome, Outcome::kTooManySteps);
  const std::vector<ClustermanGroup> two = {Group("a", 0, 0, 3), Group("b", 0, 0, 3)};
  EXPECT_EQ(Balance(two, 5e7).outcome, Outcome::kNoRoom);
  EXPECT_EQ(Balance(two, 5e7 + 1).outcome, Outcome::kTooManySteps);
  EXPECT_EQ(Balance(two, -5e7).outcome, Outcome::kNoRoom);
  EXPECT_EQ(Balance(two, -5e7 - 1).outcome, Outcome::kTooManySteps);
}

}  // namespace
}  // namespace ebb::clusterman_capacity_test
