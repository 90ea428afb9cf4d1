#include "sizing/policy_simulation/policy_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sizing/policy_simulation/school_pools.h"

namespace ebb::policy_simulation_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<SizedPool> Schools() {
  auto pools = ReadPolicyFile("schools", std::string(SchoolPools()), PolicyRegistry());
  EXPECT_TRUE(pools.ok()) << pools.status();
  return *std::move(pools);
}

const SizedPool& Of(const std::vector<SizedPool>& pools, std::string_view policy) {
  return *std::ranges::find(pools, policy, &SizedPool::policy_name);
}

TEST(LoadCurveTest, GeneratedLoadsAreWhatTheirNamesSay) {
  const auto day = LoadCurve::Generated("day", 100, 86400);
  EXPECT_EQ(day->At(6 * 3600), 150);  // Two in the afternoon.
  EXPECT_EQ(day->At(18 * 3600), 50);  // Two in the morning.
  EXPECT_EQ(day->most(), 150);
  const auto spike = LoadCurve::Generated("spike", 10, 7200);
  EXPECT_EQ(spike->At(0), 10);
  EXPECT_EQ(spike->At(3600), 20);
  EXPECT_EQ(spike->At(5700), 10);
  const auto ramp = LoadCurve::Generated("ramp", 100, 3600);
  EXPECT_EQ(ramp->At(0), 50);
  EXPECT_EQ(ramp->At(1800), 100);
  EXPECT_EQ(LoadCurve::Generated("wave", 1, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST(LoadCurveTest, ASeriesHoldsEachPointUntilTheNext) {
  const auto load = LoadCurve::FromSeries({{.at_s = 200, .pool = "a", .signal = "pods", .value = 3},
                                           {.at_s = 100, .pool = "a", .signal = "pods", .value = 5},
                                           {.at_s = 50, .pool = "b", .signal = "pods", .value = 9},
                                           {.at_s = 90, .pool = "a", .signal = "cpus", .value = 9}},
                                          "a");
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_EQ(load->At(0), 5);
  EXPECT_EQ(load->At(99), 5);
  EXPECT_EQ(load->At(100), 3);
  EXPECT_EQ(load->At(1'000'000), 3);
  EXPECT_EQ(LoadCurve::FromSeries({}, "a").status().code(), absl::StatusCode::kNotFound);
  for (const double value : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(LoadCurve::FromSeries({{.pool = "a", .signal = "pods", .value = value}}, "a")
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

class PolicySimulationTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PolicySimulationTest, ThePoolGrowsWithALoadThatGrowsAndShrinksWithOneThatShrinks) {
  const std::vector<SizedPool> pools = Schools();
  const SizedPool& pool = Of(pools, GetParam());
  PolicySimulationOptions options;
  options.duration_s = 6 * 3600;
  const LoadCurve up({{0, 20}, {3600, 100}});
  const auto grown = SimulatePolicy(pool, up, options);
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_GT(grown->nodes_at_last, grown->nodes_at_first);
  EXPECT_GE(grown->nodes_at_last, 10u);  // Ten pods fit on one node.
  EXPECT_EQ(grown->samples.back().pending, 0u);
  EXPECT_GT(grown->unmet_pod_hours, 0);
  EXPECT_FALSE(grown->failsafe);
  const LoadCurve down({{0, 100}, {3600, 20}});
  const auto shrunk = SimulatePolicy(pool, down, options);
  ASSERT_TRUE(shrunk.ok()) << shrunk.status();
  EXPECT_LT(shrunk->nodes_at_last, shrunk->nodes_at_first);
  EXPECT_GT(shrunk->nodes_removed, 0u);
  EXPECT_GT(shrunk->shrank, 0u);
  EXPECT_EQ(shrunk->samples.back().pending, 0u);
  EXPECT_FALSE(shrunk->failsafe);
}

TEST_P(PolicySimulationTest, TheBoundsOfTheCloudHold) {
  std::vector<SizedPool> pools = Schools();
  for (SizedPool& pool : pools) {
    if (pool.policy_name != GetParam()) continue;
    pool.cloud = {.min = 3, .max = 6};
    PolicySimulationOptions options;
    options.duration_s = 4 * 3600;
    const auto most = SimulatePolicy(pool, LoadCurve({{0, 30}, {600, 150}}), options);
    ASSERT_TRUE(most.ok()) << most.status();
    EXPECT_LE(most->nodes_most, 6u);
    const auto least = SimulatePolicy(pool, LoadCurve({{0, 30}, {600, 0}}), options);
    ASSERT_TRUE(least.ok()) << least.status();
    EXPECT_GE(least->nodes_at_last, 3u);
  }
}

TEST_P(PolicySimulationTest, TheSameArgumentsGiveTheSameResult) {
  const std::vector<SizedPool> pools = Schools();
  PolicySimulationOptions options;
  options.duration_s = 2 * 3600;
  const auto day = LoadCurve::Generated("day", 60, options.duration_s);
  const auto one = SimulatePolicy(Of(pools, GetParam()), *day, options);
  const auto again = SimulatePolicy(Of(pools, GetParam()), *day, options);
  ASSERT_TRUE(one.ok() && again.ok());
  EXPECT_EQ(one->node_hours, again->node_hours);
  EXPECT_EQ(one->unmet_pod_hours, again->unmet_pod_hours);
  EXPECT_EQ(one->evictions, again->evictions);
  EXPECT_EQ(one->log, again->log);
}

INSTANTIATE_TEST_SUITE_P(Schools, PolicySimulationTest,
                         ::testing::Values("clusterman", "escalator", "maestro", "replicator"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ebb::policy_simulation_test
