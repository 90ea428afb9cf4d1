#include "sizing/policy/escalator/escalator_figures.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace ebb::escalator_figures_test {
namespace {

using Rule = EscalatorRule;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

EscalatorOptions Thresholds() {
  return {.scale_up_threshold_percent = 70,
          .taint_upper_capacity_threshold_percent = 40,
          .taint_lower_capacity_threshold_percent = 20,
          .slow_node_removal_rate = 1,
          .fast_node_removal_rate = 3};
}

EscalatorAsk AskAt(double cpu, double memory, int64_t untainted = 10) {
  return Ask(Thresholds(), {.cpu = cpu, .memory = memory}, {}, {}, untainted);
}

TEST(EscalatorFiguresTest, TheHigherOfCpuAndMemoryCounts) {
  EXPECT_EQ(AskAt(10, 10), (EscalatorAsk{Rule::kFast, -3}));
  EXPECT_EQ(AskAt(10, 30), (EscalatorAsk{Rule::kSlow, -1}));
  EXPECT_EQ(AskAt(50, 10), (EscalatorAsk{Rule::kBetween, 0}));
  EXPECT_EQ(AskAt(10, 77), (EscalatorAsk{Rule::kGrow, 1}));
}

TEST(EscalatorFiguresTest, AllThresholdsAreStrict) {
  EXPECT_EQ(AskAt(20, 0).rule, Rule::kSlow);
  EXPECT_EQ(AskAt(40, 0).rule, Rule::kBetween);
  EXPECT_EQ(AskAt(70, 0).rule, Rule::kBetween);
  EXPECT_EQ(AskAt(70.000001, 0), (EscalatorAsk{Rule::kGrow, 1}));
  EXPECT_EQ(AskAt(19.999999, 0).rule, Rule::kFast);
}

TEST(EscalatorFiguresTest, GrowthIsRoundedUp) {
  EXPECT_EQ(AskAt(84, 0, 10).delta, 2);  // (84 - 70) / 70 * 10 = 2.
  EXPECT_EQ(AskAt(0, 85, 10).delta, 3);
  EXPECT_EQ(AskAt(250, 0, 2).delta, 6);  // 5.14: the worked example.
}

TEST(EscalatorFiguresTest, FromZeroTheRememberedSizeCounts) {
  const EscalatorPercents from_zero{.cpu = kEscalatorFromZero, .memory = kEscalatorFromZero};
  const auto ask = [&](EscalatorResources requests, EscalatorResources node) {
    return Ask(Thresholds(), from_zero, requests, node, 0);
  };
  // 1800 / 1000 / 70 * 100 = 2.571: the worked example.
  EXPECT_EQ(ask({1800, 0}, {1000, 1000}), (EscalatorAsk{Rule::kFromZero, 3}));
  EXPECT_EQ(ask({1800, 3000}, {1000, 1000}), (EscalatorAsk{Rule::kFromZero, 5}));
  EXPECT_EQ(ask({1800, 0}, {}), (EscalatorAsk{Rule::kFirst, 1}));
  EXPECT_EQ(ask({1800, 0}, {1000, 0}), (EscalatorAsk{Rule::kFirst, 1}));
  EXPECT_EQ(ask({}, {1000, 1000}), (EscalatorAsk{Rule::kFromZero, 0}));
}

// Exactly 25, 5 and 3 nodes are missing, but the program's order of operations yields one more.
TEST(EscalatorFiguresTest, OperationsAreInTheProgramsOrder) {
  const auto ask = [](int64_t requested_milli, int64_t nodes) {
    const EscalatorSums sums{.requests = {requested_milli, 0}, .capacity = {1000 * nodes, 1000}};
    return Ask(Thresholds(), Percents(sums, nodes), sums.requests, {1000, 1000}, nodes).delta;
  };
  EXPECT_EQ(ask(23800, 9), 26);
  EXPECT_EQ(ask(4900, 2), 6);
  const EscalatorSums memory{.requests = {0, 23800}, .capacity = {9000, 9000}};
  EXPECT_EQ(Ask(Thresholds(), Percents(memory, 9), memory.requests, {1000, 1000}, 9).delta, 26);
  const EscalatorPercents from_zero{.cpu = kEscalatorFromZero, .memory = kEscalatorFromZero};
  EXPECT_EQ(Ask(Thresholds(), from_zero, {2100, 0}, {1000, 1000}, 0).delta, 4);
  EXPECT_EQ(Ask(Thresholds(), from_zero, {0, 2100}, {1000, 1000}, 0).delta, 4);
}

TEST(EscalatorFiguresTest, ANegativeRateGrows) {
  EscalatorOptions options = Thresholds();
  options.slow_node_removal_rate = -2;
  EXPECT_EQ(Ask(options, {.cpu = 30}, {}, {}, 5), (EscalatorAsk{Rule::kSlow, 2}));
  options.slow_node_removal_rate = -kLargest - 1;
  EXPECT_EQ(Ask(options, {.cpu = 30}, {}, {}, 5).delta, kLargest);
}

TEST(EscalatorFiguresTest, GrowthSaturates) {
  EXPECT_EQ(AskAt(1e300, 0).delta, kLargest);
  EXPECT_EQ(Ask(Thresholds(), {.cpu = kEscalatorFromZero, .memory = kEscalatorFromZero},
                {kLargest, kLargest}, {1, 1}, 0)
                .delta,
            kLargest);
}

TEST(EscalatorFiguresTest, PercentsAreRequestsOverCapacity) {
  const EscalatorPercents percents =
      Percents({.requests = {5000, 300}, .capacity = {2000, 1200}}, 2);
  EXPECT_EQ(percents.cpu, 250);
  EXPECT_EQ(percents.memory, 25);
}

TEST(EscalatorFiguresTest, MemoryIsDividedInThousandthsOfBytes) {
  // 9007199254740993 (2^53 + 1) is rounded in another way if it is first multiplied by 1000.
  const int64_t large = 9007199254740993;
  const EscalatorPercents percents = Percents({.requests = {0, large}, .capacity = {1, 3}}, 1);
  EXPECT_EQ(percents.memory, 9007199254740993000.0 / 3000.0 * 100);
  EXPECT_EQ(Percents({.requests = {0, kLargest}, .capacity = {1, kLargest}}, 1).memory, 100);
}

TEST(EscalatorFiguresTest, WithoutCapacityUtilizationIsZeroTheLargestOrAnError) {
  EXPECT_EQ(Percents({}, 0), EscalatorPercents{});
  EXPECT_TRUE(Percents({.requests = {1, 0}}, 0).IsFromZero());
  EXPECT_TRUE(Percents({.requests = {0, 1}}, 0).IsFromZero());
  EXPECT_TRUE(Percents({}, 1).divides_by_zero);
  EXPECT_TRUE(Percents({.capacity = {0, 5}}, 1).divides_by_zero);
  EXPECT_TRUE(Percents({.capacity = {5, 0}}, 1).divides_by_zero);
  EXPECT_FALSE(Percents({.capacity = {5, 5}}, 1).divides_by_zero);
}

// Two nodes of 1000m and 100 bytes; each test adds the group's pods.
struct Cluster {
  Cluster() {
    observation.nodes = {{.name = "a", .allocatable = {1000, 100}, .labels = {{"k", "v"}}},
                         {.name = "b", .allocatable = {1000, 100}, .labels = {{"k", "v"}}}};
  }

  EscalatorPod& Add(const char* node, EscalatorRequest request, EscalatorPhase phase) {
    observation.pods.push_back({.node = node,
                                .containers = {request},
                                .phase = phase,
                                .scheduled = *node != '\0',
                                .node_selector = {{"k", "v"}}});
    return observation.pods.back();
  }

  [[nodiscard]] EscalatorSums Sums() const {
    const EscalatorOptions options{.name = "g", .label_key = "k", .label_value = "v"};
    EscalatorGroup group = Select(options, observation);
    Classify(observation, /*dry_mode=*/false, {}, &group);
    return Sum(observation, group);
  }

  EscalatorObservation observation;
};

TEST(EscalatorFiguresTest, RequestsAreOfAllPodsAndCapacityOfUntaintedNodes) {
  Cluster cluster;
  cluster.observation.nodes[1].taint = "1";
  cluster.Add("a", {300, 10}, EscalatorPhase::kRunning);
  cluster.Add("b", {200, 20}, EscalatorPhase::kRunning);
  cluster.Add("", {100, 5}, EscalatorPhase::kPending);
  const EscalatorSums sums = cluster.Sums();
  EXPECT_EQ(sums.requests, (EscalatorResources{600, 35}));
  EXPECT_EQ(sums.capacity, (EscalatorResources{1000, 100}));
  EXPECT_EQ(sums.largest_free, (EscalatorResources{700, 90}));
  EXPECT_EQ(sums.largest_pending, (EscalatorResources{100, 5}));
}

TEST(EscalatorFiguresTest, CpuAndMemoryAreLargestEachAlone) {
  Cluster cluster;
  cluster.Add("a", {900, 10}, EscalatorPhase::kRunning);
  cluster.Add("b", {100, 80}, EscalatorPhase::kRunning);
  cluster.Add("", {700, 1}, EscalatorPhase::kPending);
  cluster.Add("", {1, 70}, EscalatorPhase::kPending);
  const EscalatorSums sums = cluster.Sums();
  EXPECT_EQ(sums.largest_free, (EscalatorResources{900, 90}));
  EXPECT_EQ(sums.largest_pending, (EscalatorResources{700, 70}));
  EXPECT_FALSE(IsStarving(sums));  // Although no pod of 700m fits together with its memory.
}

TEST(EscalatorFiguresTest, OnlyScheduledPodsUseANode) {
  Cluster cluster;
  cluster.observation.nodes.pop_back();
  cluster.Add("a", {100, 1}, EscalatorPhase::kPending);
  cluster.Add("a", {10, 1}, EscalatorPhase::kRunning).scheduled = false;
  cluster.Add("a", {20, 1}, EscalatorPhase::kUnknown);
  EXPECT_EQ(cluster.Sums().largest_free, (EscalatorResources{900, 99}));
}

TEST(EscalatorFiguresTest, ABoundPendingPodMayStarveToo) {
  Cluster cluster;
  cluster.Add("a", {1000, 1}, EscalatorPhase::kRunning);
  cluster.Add("b", {600, 1}, EscalatorPhase::kPending);
  EXPECT_TRUE(IsStarving(cluster.Sums()));  // It asks for 600m, and only 400m are free beside it.
}

TEST(EscalatorFiguresTest, APodThatFitsExactlyDoesNotStarve) {
  EXPECT_FALSE(IsStarving({.largest_pending = {5, 5}, .largest_free = {5, 5}}));
  EXPECT_TRUE(IsStarving({.largest_pending = {6, 5}, .largest_free = {5, 5}}));
  EXPECT_TRUE(IsStarving({.largest_pending = {5, 6}, .largest_free = {5, 5}}));
}

TEST(EscalatorFiguresTest, AnOverfullNodeHasNothingFree) {
  Cluster cluster;
  cluster.observation.nodes.pop_back();
  cluster.Add("a", {5000, 5000}, EscalatorPhase::kRunning);
  EXPECT_EQ(cluster.Sums().largest_free, EscalatorResources{});
}

TEST(EscalatorFiguresTest, SumsSaturate) {
  Cluster cluster;
  for (EscalatorNode& node : cluster.observation.nodes) node.allocatable = {kLargest, kLargest};
  cluster.Add("a", {kLargest, kLargest}, EscalatorPhase::kRunning);
  cluster.Add("a", {kLargest, kLargest}, EscalatorPhase::kRunning);
  const EscalatorSums sums = cluster.Sums();
  EXPECT_EQ(sums.requests, (EscalatorResources{kLargest, kLargest}));
  EXPECT_EQ(Percents(sums, 2).Max(), 100);
}

TEST(EscalatorFiguresTest, RulesHaveNames) {
  EXPECT_EQ(Name(Rule::kBetween), "between");
  EXPECT_EQ(Name(Rule::kFast), "fast");
  EXPECT_EQ(Name(Rule::kSlow), "slow");
  EXPECT_EQ(Name(Rule::kGrow), "grow");
  EXPECT_EQ(Name(Rule::kFromZero), "from_zero");
  EXPECT_EQ(Name(Rule::kFirst), "first");
}

TEST(EscalatorFiguresTest, OneNodeWithoutItsMemoryIsTheFirstAgain) {
  const EscalatorPercents from_zero{.cpu = kEscalatorFromZero, .memory = kEscalatorFromZero};
  EXPECT_EQ(Ask(Thresholds(), from_zero, {1800, 0}, {0, 1000}, 0), (EscalatorAsk{Rule::kFirst, 1}));
  EXPECT_EQ(Ask(Thresholds(), from_zero, {7, 7}, {1, 1}, 0), (EscalatorAsk{Rule::kFromZero, 10}));
}

// Problems() rejects these options, but the arithmetic can handle them.
TEST(EscalatorFiguresTest, GrowthThatIsNotANumberIsZeroAndShrinkingSaturates) {
  EscalatorOptions options;
  EXPECT_EQ(Ask(options, {.cpu = 5, .memory = 5}, {}, {}, 0), (EscalatorAsk{Rule::kGrow, 0}));
  options.scale_up_threshold_percent = -1;
  EXPECT_EQ(Ask(options, {.cpu = 1e300, .memory = 1e300}, {}, {}, 10),
            (EscalatorAsk{Rule::kGrow, -kLargest - 1}));
}

}  // namespace
}  // namespace ebb::escalator_figures_test
