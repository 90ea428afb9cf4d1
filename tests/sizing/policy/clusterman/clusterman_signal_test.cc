#include "sizing/policy/clusterman/clusterman_signal.h"

#include <limits>

#include "gtest/gtest.h"

namespace ebb::clusterman_signal_test {
namespace {

constexpr ClustermanAmounts kTotal = {100, 200, 300, 0};
constexpr ClustermanAmounts kAllocated = {40, 50, 60, 1};
constexpr double kMargin = 0.1;

ClustermanPod Pod(const ClustermanAmounts& requests, double age_s = 30) {
  return {.name = "pod",
          .requests = requests,
          .age_s = age_s,
          .safe_to_evict = {},
          .batch_safe_to_evict = {}};
}

ClustermanRequest Request(const ClustermanPendingPodsOptions& options,
                          const std::vector<ClustermanPod>& pods) {
  return PendingPods(options, kMargin, kTotal, kAllocated, pods);
}

TEST(ClustermanPodRequestsTest, AContainerWithoutRequestsCountsLikeInTheProgram) {
  EXPECT_EQ(ClustermanPodRequests({{}}), (ClustermanAmounts{0.1, 200, 0, 0}));
  EXPECT_EQ(
      ClustermanPodRequests({{2, 500, 7, 1}, {std::nullopt, 100, std::nullopt, std::nullopt}}),
      (ClustermanAmounts{2.1, 600, 7, 1}));
  EXPECT_EQ(ClustermanPodRequests({}), ClustermanAmounts{});
}

TEST(ClustermanPendingPodsTest, FirstVersionAddsWhatWaitsTwice) {
  EXPECT_EQ(Request({}, {Pod({1, 2, 3, 4}), Pod({10, 0, 0, 0})}),
            (ClustermanRequest{62, 54, 66, 9}));
  EXPECT_EQ(Request({}, {}), AsRequest(kAllocated));
}

TEST(ClustermanPendingPodsTest, FirstVersionDoesNotLookAtAges) {
  EXPECT_EQ(Request({.pending_pods_multiplier = 1, .pending_pods_max_scheduling_seconds = 60},
                    {Pod({1, 0, 0, 0}, 1000)}),
            (ClustermanRequest{41, 50, 60, 1}));
}

TEST(ClustermanPendingPodsTest, SecondVersionGoesBeyondAllThereIs) {
  const ClustermanPendingPodsOptions v2{.pending_pods_multiplier = 1, .v2 = true};
  EXPECT_EQ(Request(v2, {Pod({20, 1, 0, 0})}), (ClustermanRequest{120, 201, 300, 0}));
  EXPECT_EQ(Request(v2, {Pod({1, 500, 0, 0})}), (ClustermanRequest{110, 220, 330, 0}));
  EXPECT_EQ(Request(v2, {Pod({10, 500, 0, 0})}), (ClustermanRequest{110, 700, 300, 0}));
  EXPECT_EQ(Request(v2, {}), AsRequest(kAllocated));
}

TEST(ClustermanPendingPodsTest, SecondVersionDropsPodsThatWaitTooLong) {
  const ClustermanPendingPodsOptions v2{
      .pending_pods_multiplier = 1, .pending_pods_max_scheduling_seconds = 60, .v2 = true};
  EXPECT_EQ(Request(v2, {Pod({20, 0, 0, 0}, 61)}), AsRequest(kAllocated));
  EXPECT_EQ(Request(v2, {Pod({20, 0, 0, 0}, 60)})[0], 120);
}

TEST(ClustermanPendingPodsTest, APodThatWaitsTooLongDoesNotBlockTheNext) {
  const ClustermanPendingPodsOptions v2{
      .pending_pods_multiplier = 1, .pending_pods_max_scheduling_seconds = 60, .v2 = true};
  EXPECT_EQ(Request(v2, {Pod({20, 0, 0, 0}, 61), Pod({30, 1, 0, 0}, 60), Pod({5, 2, 0, 0}, 0)}),
            (ClustermanRequest{135, 203, 300, 0}));
}

}  // namespace
}  // namespace ebb::clusterman_signal_test
