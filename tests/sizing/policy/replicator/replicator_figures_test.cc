#include "sizing/policy/replicator/replicator_figures.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb::replicator_figures_test {
namespace {

using Client = ReplicatorAllocation::Client;
using Metric = ReplicatorMetric;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

ReplicatorNode Node(const std::string& id, ReplicatorResources capacity,
                    ReplicatorResources used = {}) {
  return {.id = id,
          .address = id,
          .capacity = capacity,
          .allocations = {{.job = "filler", .resources = used}}};
}

// One node with this capacity and this use.
ReplicatorFigures Of(ReplicatorResources capacity, ReplicatorResources used) {
  return Figures({Node("a", capacity, used)}, {}, 0);
}

TEST(ReplicatorFiguresTest, OnlyWhatRunsAndIsMeantToRunIsUsed) {
  ReplicatorNode node = Node("a", {1000, 1000, 1000}, {1, 1, 1});
  node.allocations.push_back({.resources = {10, 10, 10}, .client = Client::kPending});
  node.allocations.push_back({.resources = {100, 100, 100}, .desired_run = false});
  node.allocations.push_back({.resources = {1000, 1000, 1000}, .client = Client::kOther});
  EXPECT_EQ(Figures({node}, {}, 0).used, (ReplicatorResources{1, 1, 1}));
}

TEST(ReplicatorFiguresTest, ReserveIsEachTaskOfARegisteredJobThatRunsHere) {
  ReplicatorNode node = Node("a", {1000, 1000, 1000});
  node.allocations = {{.job = "runs"},
                      {.job = "runs"},
                      {.job = "waits", .client = Client::kPending},
                      {.job = "unregistered"}};
  const std::vector<ReplicatorJob> jobs = {
      {.id = "runs", .groups = {{{1, 2, 3}, {10, 20, 30}}, {{100, 200, 300}}}},
      {.id = "waits", .groups = {{{5, 5, 5}}}},
      {.id = "elsewhere", .groups = {{{7, 7, 7}}}}};
  EXPECT_EQ(Figures({node}, jobs, 0).reserve, (ReplicatorResources{111, 222, 333}));
}

TEST(ReplicatorFiguresTest, AllowedIsCapacityWithoutReserveAndFaultTolerance) {
  ReplicatorNode a = Node("a", {1000, 8000, 8000}, {200, 0, 0});
  const ReplicatorNode b = Node("b", {1001, 8000, 8000}, {300, 0, 0});
  a.allocations.push_back({.job = "web"});
  const ReplicatorFigures figures = Figures({a, b}, {{.id = "web", .groups = {{{70, 0, 0}}}}}, 1);
  EXPECT_EQ(figures.metric, Metric::kCpu);
  EXPECT_EQ(figures.average, 1000) << "2001 / 2";
  EXPECT_EQ(figures.allowed, 2001 - 70 - 1000);
  EXPECT_EQ(figures.sim_allowed, 2001 - 1000 - 70 - 1000);
  EXPECT_EQ(figures.consumed, 500);
}

TEST(ReplicatorFiguresTest, MoreFaultToleranceThanNodesAllowsLessThanNothing) {
  EXPECT_EQ(Figures({Node("a", {1000, 0, 0}, {1, 0, 0})}, {}, 5).allowed, -4000);
}

TEST(ReplicatorFiguresTest, LargestShareLeadsAndTiesGoCpuDiskMemory) {
  const ReplicatorResources each = {100, 100, 100};
  EXPECT_EQ(Of(each, {9, 8, 7}).metric, Metric::kCpu);
  EXPECT_EQ(Of(each, {8, 9, 7}).metric, Metric::kMemory);
  EXPECT_EQ(Of(each, {7, 8, 9}).metric, Metric::kDisk);
  EXPECT_EQ(Of(each, {9, 9, 9}).metric, Metric::kCpu);
  EXPECT_EQ(Of(each, {9, 9, 8}).metric, Metric::kCpu);
  EXPECT_EQ(Of(each, {8, 9, 9}).metric, Metric::kDisk);
  EXPECT_EQ(Of(each, {0, 0, 0}).metric, Metric::kNone);
}

TEST(ReplicatorFiguresTest, ZeroCapacityIsInfiniteOrNoNumber) {
  EXPECT_EQ(Of({100, 0, 100}, {50, 1, 50}).metric, Metric::kMemory) << "infinite";
  EXPECT_EQ(Of({100, 0, 100}, {50, 0, 0}).metric, Metric::kCpu) << "a later NaN never replaces";
  EXPECT_EQ(Of({0, 100, 100}, {0, 50, 0}).metric, Metric::kNoNumber) << "a first NaN stays";
  EXPECT_EQ(Of({0, 100, 100}, {1, 50, 0}).metric, Metric::kCpu);
  EXPECT_TRUE(std::isnan(Of({0, 100, 100}, {0, 50, 0}).used_percent[0]));
  EXPECT_TRUE(std::isinf(Of({0, 100, 100}, {1, 50, 0}).used_percent[0]));
}

TEST(ReplicatorFiguresTest, FiguresAreThoseOfTheLeadingResource) {
  const ReplicatorFigures memory = Of({100, 200, 300}, {0, 20, 0});
  EXPECT_EQ(memory.allowed, 200);
  EXPECT_EQ(memory.consumed, 20);
  const ReplicatorFigures disk = Of({100, 200, 300}, {1, 2, 30});
  EXPECT_EQ(disk.metric, Metric::kDisk);
  EXPECT_EQ(disk.allowed, 300);
  EXPECT_EQ(disk.consumed, 30);
  EXPECT_EQ(Of({100, 200, 300}, {}).allowed, 100) << "none: cpu";
}

TEST(ReplicatorFiguresTest, ExactlyWhatIsAllowedLeadsOut) {
  EXPECT_EQ(Of({100, 0, 0}, {99, 0, 0}).direction, ReplicatorDirection::kIn);
  EXPECT_EQ(Of({100, 0, 0}, {100, 0, 0}).direction, ReplicatorDirection::kOut);
  EXPECT_EQ(Of({100, 0, 0}, {101, 0, 0}).direction, ReplicatorDirection::kOut);
}

TEST(ReplicatorFiguresTest, AnIdlePoolLeadsInEvenIfLittleIsAllowed) {
  EXPECT_EQ(Figures({Node("a", {100, 100, 100})}, {}, 7).direction, ReplicatorDirection::kIn);
}

TEST(ReplicatorFiguresTest, NinetyPercentAfterOneNodeLessIsDenied) {
  const auto denies = [](int64_t used) {
    return SimulationDenies(
        Figures({Node("a", {1000, 0, 0}, {used, 0, 0}), Node("b", {1000, 0, 0})}, {}, 0));
  };
  EXPECT_FALSE(denies(899));
  EXPECT_TRUE(denies(900));
  EXPECT_TRUE(denies(1000));
}

TEST(ReplicatorFiguresTest, IdlePoolIsDeniedOnlyWhenNothingIsLeft) {
  const auto denies = [](int64_t fault_tolerance) {
    return SimulationDenies(
        Figures({Node("a", {1000, 0, 0}), Node("b", {1000, 0, 0})}, {}, fault_tolerance));
  };
  EXPECT_FALSE(denies(0));
  EXPECT_TRUE(denies(1)) << "0 >= 0";
  EXPECT_TRUE(denies(2));
}

TEST(ReplicatorFiguresTest, TheSimulationOfDiskUsesDisk) {
  const ReplicatorFigures figures =
      Figures({Node("a", {1000, 0, 1000}, {1, 0, 950}), Node("b", {1000, 0, 1000}, {})}, {}, 0);
  EXPECT_EQ(figures.metric, Metric::kDisk);
  EXPECT_EQ(figures.sim_allowed, 1000);
  EXPECT_TRUE(SimulationDenies(figures));
}

std::string Least(const std::vector<ReplicatorNode>& nodes,
                  const std::string& protected_node = "") {
  const ReplicatorFigures figures = Figures(nodes, {}, 0);
  const std::optional<size_t> least = LeastAllocated(figures, protected_node);
  return least ? nodes[*least].id : "none";
}

TEST(ReplicatorFiguresTest, LeastAllocatedHasTheSmallestShareOfTheMetric) {
  const ReplicatorResources each = {100, 1000, 1000};
  EXPECT_EQ(Least({Node("a", each, {30, 1, 1}), Node("b", each, {20, 9, 9}),
                   Node("c", each, {25, 5, 5})}),
            "b");
  EXPECT_EQ(
      Least({Node("a", {1000, 100, 1000}, {1, 30, 9}), Node("b", {1000, 100, 1000}, {9, 20, 1})}),
      "b");
  EXPECT_EQ(
      Least({Node("a", {1000, 1000, 100}, {1, 9, 30}), Node("b", {1000, 1000, 100}, {9, 1, 20})}),
      "b");
}

TEST(ReplicatorFiguresTest, NodeOfNoUseIsLeastAllocated) {
  const ReplicatorResources each = {100, 100, 100};
  EXPECT_EQ(Least({Node("a", each, {0, 0, 0}), Node("b", each, {20, 0, 0})}), "a");
}

TEST(ReplicatorFiguresTest, EqualSharesGoByNameInAnyOrder) {
  const ReplicatorResources each = {100, 100, 100};
  const ReplicatorNode a = Node("a", each, {20, 0, 0});
  const ReplicatorNode b = Node("b", each, {20, 0, 0});
  EXPECT_EQ(Least({a, b}), "a");
  EXPECT_EQ(Least({b, a}), "a");
  EXPECT_EQ(Least({Node("b", each), Node("a", each)}), "a") << "nothing used";
}

TEST(ReplicatorFiguresTest, ProtectedNodeIsNeverChosen) {
  const ReplicatorResources each = {100, 100, 100};
  EXPECT_EQ(Least({Node("a", each, {1, 0, 0}), Node("b", each, {9, 0, 0})}, "a"), "b");
  EXPECT_EQ(Least({Node("a", each)}, "a"), "none");
}

TEST(ReplicatorFiguresTest, NoNodeIsChosenByAShareThatIsNotANumber) {
  EXPECT_EQ(Least({Node("a", {0, 100, 100}, {0, 50, 0}), Node("b", {0, 100, 100}, {0, 5, 0})}),
            "none");
}

TEST(ReplicatorFiguresTest, SumsAndProductsStayInRange) {
  const ReplicatorFigures figures =
      Figures({Node("a", {kMost, 1, 1}, {kMost, 0, 0}), Node("b", {kMost, 1, 1}, {kMost, 0, 0})},
              {}, kMost);
  EXPECT_EQ(figures.total.cpu, kMost);
  EXPECT_EQ(figures.used.cpu, kMost);
  EXPECT_LE(figures.allowed, 0);
  EXPECT_EQ(figures.direction, ReplicatorDirection::kOut);
}

TEST(ReplicatorFiguresTest, SaturatedArithmeticStopsAtTheEnds) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(SaturatedAdd(2, 3), 5);
  EXPECT_EQ(SaturatedAdd(kMost, 1), kMost);
  EXPECT_EQ(SaturatedAdd(kLeast, -1), kLeast);
  EXPECT_EQ(SaturatedSubtract(2, 3), -1);
  EXPECT_EQ(SaturatedSubtract(kLeast, 1), kLeast);
  EXPECT_EQ(SaturatedSubtract(kMost, -1), kMost);
  EXPECT_EQ(SaturatedMultiply(-2, 3), -6);
  EXPECT_EQ(SaturatedMultiply(kMost, 2), kMost);
  EXPECT_EQ(SaturatedMultiply(kMost, -2), kLeast);
  EXPECT_EQ(SaturatedMultiply(kLeast, kLeast), kMost);
}

TEST(ReplicatorFiguresTest, APoolWithoutNodesDoesNotCrash) {
  const ReplicatorFigures figures = Figures({}, {}, 1);
  EXPECT_EQ(figures.allowed, 0);
  EXPECT_EQ(LeastAllocated(figures, ""), std::nullopt);
}

TEST(ReplicatorFiguresTest, MetricsAndDirectionsHaveNames) {
  EXPECT_EQ(Name(Metric::kNone), "None");
  EXPECT_EQ(Name(Metric::kCpu), "CPU");
  EXPECT_EQ(Name(Metric::kMemory), "Memory");
  EXPECT_EQ(Name(Metric::kDisk), "Disk");
  EXPECT_EQ(Name(Metric::kNoNumber), "");
  EXPECT_EQ(Name(ReplicatorDirection::kIn), "In");
  EXPECT_EQ(Name(ReplicatorDirection::kOut), "Out");
}

TEST(ReplicatorFiguresTest, SharesAreOfWhatThePoolUses) {
  const ReplicatorFigures figures = Figures(
      {Node("a", {100, 100, 100}, {10, 5, 4}), Node("b", {100, 300, 100}, {30, 15, 0})}, {}, 0);
  EXPECT_EQ(figures.nodes, 2);
  EXPECT_EQ(figures.total, (ReplicatorResources{200, 400, 200}));
  EXPECT_EQ(figures.used, (ReplicatorResources{40, 20, 4}));
  EXPECT_EQ(figures.used_percent, (ReplicatorPercents{20, 5, 2}));
  ASSERT_EQ(figures.shares.size(), 2u);
  EXPECT_EQ(figures.shares[0].id, "a");
  EXPECT_EQ(figures.shares[0].of_pool_use, (ReplicatorPercents{25, 25, 100}));
  EXPECT_EQ(figures.shares[1].of_pool_use, (ReplicatorPercents{75, 75, 0}));
  EXPECT_EQ(figures.sim_percent, 40);  // 40 of the 100 that are left without one of two nodes.
}

}  // namespace
}  // namespace ebb::replicator_figures_test
