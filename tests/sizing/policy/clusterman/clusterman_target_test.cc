#include "sizing/policy/clusterman/clusterman_target.h"

#include <cmath>
#include <limits>

#include "base/random.h"
#include "gtest/gtest.h"

namespace ebb::clusterman_target_test {
namespace {

constexpr int64_t kNow = 1'000'000;
constexpr int64_t kWeek = 7 * 24 * 60 * 60;
using Rule = ClustermanTargetRule;

// 100 of every resource, a target of 100 that has joined, setpoint 0.8, margin 0.1.
ClustermanTargetInput Pool(const ClustermanRequest& request) {
  return {.setpoint = {.setpoint = 0.8, .target_capacity_margin = 0.1},
          .total = {100, 100, 100, 100},
          .request = request,
          .current = 100,
          .non_orphan_fulfilled = 100};
}

ClustermanRequest Cpus(double cpus) { return {cpus, std::nullopt, std::nullopt, std::nullopt}; }

ClustermanTarget Compute(const ClustermanTargetInput& input) {
  return ComputeClustermanTarget(input, kNow);
}

TEST(ClustermanTargetTest, WorkedExampleScalesFrom100To120) {
  const ClustermanTarget target = Compute(Pool(Cpus(96)));
  EXPECT_EQ(target.rule, Rule::kScaled);
  EXPECT_DOUBLE_EQ(target.capacity, 120);
  EXPECT_DOUBLE_EQ(target.change, 0.2);
  EXPECT_EQ(target.most_constrained, ClustermanResource::kCpus);
  EXPECT_DOUBLE_EQ(target.usage, 0.96);
}

TEST(ClustermanTargetTest, WithoutARequestTheTargetStays) {
  const ClustermanTarget target = Compute(Pool({}));
  EXPECT_EQ(target.rule, Rule::kNoRequest);
  EXPECT_EQ(target.capacity, 100);
}

TEST(ClustermanTargetTest, RequestOfZerosAndNothingIsZeroEvenOfExcludedResources) {
  ClustermanTargetInput pool = Pool({0, std::nullopt, 0, std::nullopt});
  pool.setpoint.excluded_resources = {ClustermanResource::kCpus, ClustermanResource::kDisk};
  EXPECT_EQ(Compute(pool).rule, Rule::kZeroRequest);
  EXPECT_EQ(Compute(pool).capacity, 0);
}

TEST(ClustermanTargetTest, ChangeOfExactlyTheMarginActs) {
  ClustermanTargetInput pool = Pool(Cpus(100));
  pool.setpoint = {.setpoint = 0.5, .target_capacity_margin = 1.0};
  EXPECT_EQ(Compute(pool).rule, Rule::kScaled);
  EXPECT_EQ(Compute(pool).capacity, 200);
  pool.setpoint.target_capacity_margin = std::nextafter(1.0, 2.0);
  EXPECT_EQ(Compute(pool).rule, Rule::kWithinMargin);
  EXPECT_EQ(Compute(pool).capacity, 100);
}

TEST(ClustermanTargetTest, ScalesWhatHasJoinedAndNotTheTarget) {
  ClustermanTargetInput pool = Pool(Cpus(80));
  pool.non_orphan_fulfilled = 50;
  EXPECT_DOUBLE_EQ(Compute(pool).capacity, 50);
  EXPECT_DOUBLE_EQ(Compute(pool).change, 0.5);
}

TEST(ClustermanTargetTest, LargestUseDecidesAndTheFirstOfEqualOnes) {
  EXPECT_EQ(Compute(Pool({10, 90, 20, 30})).most_constrained, ClustermanResource::kMem);
  EXPECT_EQ(Compute(Pool({10, 90, 90, 30})).most_constrained, ClustermanResource::kMem);
  EXPECT_EQ(Compute(Pool({10, 90, 90, 91})).most_constrained, ClustermanResource::kGpus);
}

TEST(ClustermanTargetTest, LargestUseWinsOverALargerChangeDownwards) {
  const ClustermanTarget target = Compute(Pool({1, 81, std::nullopt, std::nullopt}));
  EXPECT_EQ(target.most_constrained, ClustermanResource::kMem);
  EXPECT_EQ(target.rule, Rule::kWithinMargin);
}

TEST(ClustermanTargetTest, ExcludedResourceDoesNotDecide) {
  ClustermanTargetInput pool = Pool({10, 90, 20, 30});
  pool.setpoint.excluded_resources = {ClustermanResource::kMem};
  EXPECT_EQ(Compute(pool).most_constrained, ClustermanResource::kGpus);
}

TEST(ClustermanTargetTest, AResourceThatThePoolLacksHasNoUtilization) {
  ClustermanTargetInput pool = Pool({50, std::nullopt, std::nullopt, 4});
  pool.total[3] = 0;
  EXPECT_EQ(Compute(pool).most_constrained, ClustermanResource::kCpus);
  pool.request = {std::nullopt, std::nullopt, std::nullopt, 4};
  EXPECT_EQ(Compute(pool).rule, Rule::kScaled);
  EXPECT_EQ(Compute(pool).capacity, 0);
}

TEST(ClustermanTargetTest, RequestOfExcludedResourcesOnlyHasNoTarget) {
  ClustermanTargetInput pool = Pool(Cpus(50));
  pool.setpoint.excluded_resources = {ClustermanResource::kCpus};
  EXPECT_EQ(Compute(pool).rule, Rule::kNoUsableResource);
  EXPECT_EQ(Compute(pool).capacity, 100);
}

TEST(ClustermanTargetTest, WaitsWhileNothingHasJoined) {
  ClustermanTargetInput pool = Pool(Cpus(96));
  pool.non_orphan_fulfilled = 0;
  EXPECT_EQ(Compute(pool).rule, Rule::kWaitForNodes);
  EXPECT_EQ(Compute(pool).capacity, 100);
}

// Ten capacities above 0; only the last five count.
ClustermanHistory History() {
  ClustermanHistory history;
  for (int64_t i = 0; i < 10; ++i) {
    history.non_orphan_fulfilled_capacity.push_back({kNow - 1000 + i * 60, i < 5 ? 1000.0 : 10.0});
    history.total[0].push_back({kNow - 1000 + i * 60, i < 5 ? 1.0 : 40.0});
  }
  return history;
}

ClustermanTargetInput EmptyPool(const ClustermanRequest& request,
                                const ClustermanHistory* history) {
  ClustermanTargetInput pool = Pool(request);
  pool.current = 0;
  pool.history = history;
  return pool;
}

TEST(ClustermanTargetTest, EmptyPoolIsSizedByItsLastFivePoints) {
  const ClustermanHistory history = History();
  const ClustermanTarget target = Compute(EmptyPool(Cpus(32), &history));
  EXPECT_EQ(target.rule, Rule::kFromHistory);
  EXPECT_DOUBLE_EQ(target.capacity, 32 / 4.0 / 0.8);
}

TEST(ClustermanTargetTest, EmptyPoolIsSizedByExcludedResourcesToo) {
  const ClustermanHistory history = History();
  ClustermanTargetInput pool = EmptyPool(Cpus(32), &history);
  pool.setpoint.excluded_resources = {ClustermanResource::kCpus};
  EXPECT_DOUBLE_EQ(Compute(pool).capacity, 10);
}

TEST(ClustermanTargetTest, EmptyPoolIsSizedEvenIfSomethingHasJoined) {
  const ClustermanHistory history = History();
  ClustermanTargetInput pool = EmptyPool(Cpus(32), &history);
  pool.non_orphan_fulfilled = 7;
  EXPECT_EQ(Compute(pool).rule, Rule::kFromHistory);
}

TEST(ClustermanTargetTest, TotalsOutsideTheSpanOfTheCapacitiesDoNotCount) {
  ClustermanHistory history = History();
  history.total[0].push_back({kNow - 1000 + 9 * 60 + 1, 1e6});
  EXPECT_DOUBLE_EQ(Compute(EmptyPool(Cpus(32), &history)).capacity, 10);
  history.total[0].back().at_s -= 1;  // A point in the last second of the span counts.
  EXPECT_LT(Compute(EmptyPool(Cpus(32), &history)).capacity, 1);
}

TEST(ClustermanTargetTest, HistoryOfOtherResourcesOnlyGivesZero) {
  const ClustermanHistory history = History();
  const ClustermanTarget target =
      Compute(EmptyPool({std::nullopt, 5, std::nullopt, std::nullopt}, &history));
  EXPECT_EQ(target.rule, Rule::kFromHistory);
  EXPECT_EQ(target.capacity, 0);
}

TEST(ClustermanTargetTest, AnEmptyPoolWithoutHistoryGetsOne) {
  const ClustermanHistory none;
  ClustermanHistory no_total = History();
  no_total.total = {};
  for (const ClustermanHistory* const history :
       {static_cast<const ClustermanHistory*>(nullptr), &none,
        static_cast<const ClustermanHistory*>(&no_total)}) {
    EXPECT_EQ(Compute(EmptyPool(Cpus(32), history)).rule, Rule::kNoHistory);
    EXPECT_EQ(Compute(EmptyPool(Cpus(32), history)).capacity, 1);
  }
}

TEST(ClustermanTargetTest, HistoryCountsForAWeek) {
  ClustermanHistory history;
  history.non_orphan_fulfilled_capacity = {{kNow - kWeek, 10}};
  history.total[0] = {{kNow - kWeek, 40}};
  EXPECT_EQ(Compute(EmptyPool(Cpus(32), &history)).rule, Rule::kFromHistory);
  EXPECT_EQ(ComputeClustermanTarget(EmptyPool(Cpus(32), &history), kNow + 1).rule,
            Rule::kNoHistory);
}

TEST(ClustermanTargetTest, PointsThatAreNotNumbersDoNotCount) {
  ClustermanHistory history = History();
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -4.0, 0.0}) {
    history.non_orphan_fulfilled_capacity.push_back({kNow - 1, value});
    history.total[0].push_back({kNow - 1, value});
  }
  EXPECT_DOUBLE_EQ(Compute(EmptyPool(Cpus(32), &history)).capacity, 10);
}

TEST(ClustermanTargetTest, ForgettingChangesNoAnswer) {
  Random random(16);
  for (int i = 0; i < 2000; ++i) {
    ClustermanHistory history;
    const auto fill = [&](std::vector<ClustermanPoint>& points) {
      int64_t at_s = kNow - kWeek - 5000;
      while (at_s < kNow) {
        points.push_back({at_s, static_cast<double>(random.Below(4))});
        at_s += 20000 + static_cast<int64_t>(random.Below(150000));
      }
    };
    fill(history.non_orphan_fulfilled_capacity);
    for (auto& points : history.total) fill(points);
    ClustermanHistory less = history;
    Forget(kNow, less);
    for (const int64_t later_s : {int64_t{0}, int64_t{90000}, kWeek, 2 * kWeek}) {
      const ClustermanRequest request = {10, 20, 30, 40};
      ASSERT_EQ(ComputeClustermanTarget(EmptyPool(request, &history), kNow + later_s),
                ComputeClustermanTarget(EmptyPool(request, &less), kNow + later_s));
    }
    EXPECT_LT(less.non_orphan_fulfilled_capacity.size(),
              history.non_orphan_fulfilled_capacity.size());
  }
}

TEST(ClustermanTargetTest, TimesAtTheEndsOfTimeDoNotOverflow) {
  const ClustermanHistory history = History();
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ComputeClustermanTarget(EmptyPool(Cpus(1), &history), kFirst).rule, Rule::kNoHistory);
  EXPECT_EQ(ComputeClustermanTarget(EmptyPool(Cpus(1), &history), kLast).rule, Rule::kNoHistory);
}

TEST(ClustermanTargetTest, RulesHaveNames) {
  EXPECT_EQ(Name(Rule::kNoRequest), "no request");
  EXPECT_EQ(Name(Rule::kZeroRequest), "request of zero");
  EXPECT_EQ(Name(Rule::kFromHistory), "empty pool, sized by its history");
  EXPECT_EQ(Name(Rule::kNoHistory), "empty pool without history");
  EXPECT_EQ(Name(Rule::kWaitForNodes), "waiting for nodes to join");
  EXPECT_EQ(Name(Rule::kScaled), "scaled to the setpoint");
  EXPECT_EQ(Name(Rule::kWithinMargin), "within the margin");
  EXPECT_EQ(Name(Rule::kNoUsableResource), "every requested resource is excluded");
}

TEST(ClustermanTargetTest, EmptyPoolIsSizedByTheResourceThatNeedsMost) {
  ClustermanHistory history = History();
  for (size_t i : {1u, 2u}) history.total[i] = history.total[0];
  // Each resource has 4 per unit of weight.
  const ClustermanTargetInput pool = EmptyPool({8, 64, 32, 1000}, &history);
  EXPECT_DOUBLE_EQ(Compute(pool).capacity, 64 / 4.0 / 0.8);
}

TEST(ClustermanTargetTest, ForgetDropsOnlyPointsBeforeTheFirstThatCounts) {
  ClustermanHistory history = History();
  Forget(kNow, history);
  ASSERT_EQ(history.non_orphan_fulfilled_capacity.size(), 5u);
  EXPECT_EQ(history.non_orphan_fulfilled_capacity.front().at_s, kNow - 1000 + 5 * 60);
  EXPECT_EQ(history.total[0].size(), 5u);
  // Without a capacity point, totals are kept for a week.
  history.non_orphan_fulfilled_capacity.clear();
  history.total[0] = {{kNow - kWeek - 1, 1}, {kNow - kWeek, 2}};
  Forget(kNow, history);
  ASSERT_EQ(history.total[0].size(), 1u);
  EXPECT_EQ(history.total[0].front().value, 2);
}

TEST(ClustermanTargetTest, AnEmptyPoolIsSizedByALaterResourceIfAnEarlierOneIsAbsent) {
  ClustermanHistory history = History();
  history.total[1] = history.total[0];
  history.total[0].clear();
  const ClustermanTargetInput pool = EmptyPool({32, 8, std::nullopt, std::nullopt}, &history);
  EXPECT_DOUBLE_EQ(Compute(pool).capacity, 8 / 4.0 / 0.8);
  // The total is so small that a unit of weight holds 0 of it.
  history.total[0] = history.total[1];
  for (ClustermanPoint& point : history.total[0]) point.value = 5e-324;
  EXPECT_EQ(Compute(pool).rule, Rule::kFromHistory);
  EXPECT_DOUBLE_EQ(Compute(pool).capacity, 8 / 4.0 / 0.8);
  history.total[1].clear();
  EXPECT_EQ(Compute(pool).rule, Rule::kNoHistory);
}

}  // namespace
}  // namespace ebb::clusterman_target_test
