#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace ebb::parallel_test {
namespace {

class ParallelTest : public ::testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Threads, ParallelTest, ::testing::Values(1, 2, 8));

TEST_P(ParallelTest, ForCallsTheBodyOnceForEachIndex) {
  const Parallelism parallelism(GetParam());
  for (const size_t count : {0u, 1u, 2u, 7u, 1000u}) {
    std::vector<int> calls(count);
    parallelism.For(count, [&](size_t index, size_t) { ++calls[index]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST_P(ParallelTest, CallsWithTheSameSlotDoNotOverlap) {
  const Parallelism parallelism(GetParam());
  std::vector<std::atomic<int>> inside(parallelism.threads());
  std::atomic<int> overlaps = 0;
  parallelism.For(200, [&](size_t, size_t slot) {
    ASSERT_LT(slot, parallelism.threads());
    if (inside[slot].fetch_add(1) != 0) ++overlaps;
    std::this_thread::yield();
    inside[slot].fetch_sub(1);
  });
  EXPECT_EQ(overlaps, 0);
}

TEST_P(ParallelTest, ForWithinForIsDoneToo) {
  const Parallelism parallelism(GetParam());
  std::vector<std::vector<int>> calls(20, std::vector<int>(30));
  parallelism.For(
      20, [&](size_t i, size_t) { parallelism.For(30, [&](size_t j, size_t) { ++calls[i][j]; }); });
  for (const std::vector<int>& row : calls) EXPECT_EQ(row, std::vector<int>(30, 1));
}

TEST_P(ParallelTest, ItemsComeBackInTheOrderOfPushWithTheirWorkDone) {
  const Parallelism parallelism(GetParam());
  WorkAhead<std::unique_ptr<int>> ahead(parallelism,
                                        [](std::unique_ptr<int>& item) { *item *= 2; });
  int popped = 0;
  for (int i = 0; i < 5000; ++i) {
    ahead.Push(std::make_unique<int>(i));
    if (ahead.size() > 2 * parallelism.threads()) {
      ASSERT_EQ(*ahead.Pop(), 2 * popped++);
    }
  }
  while (ahead.size() > 0) ASSERT_EQ(*ahead.Pop(), 2 * popped++);
  EXPECT_EQ(popped, 5000);
}

TEST_P(ParallelTest, WorkIsNeverTouchedAfterItsQueueIsGone) {
  const Parallelism parallelism(GetParam());
  for (int round = 0; round < 200; ++round) {
    auto alive = std::make_unique<std::atomic<int>>(1);
    std::atomic<int> wrong = 0;
    {
      WorkAhead<int> ahead(parallelism, [&](int& item) {
        if (alive->load() != 1) ++wrong;
        ++item;
      });
      for (int i = 0; i < 10; ++i) ahead.Push(i);
    }
    *alive = 0;
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ParallelOneThreadTest, RunsInTheCallerInOrder) {
  const Parallelism parallelism(1);
  std::vector<size_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  parallelism.For(100, [&](size_t index, size_t slot) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(slot, 0u);
    order.push_back(index);
  });
  std::vector<size_t> wanted(100);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(order, wanted);
}

TEST(ParallelManyThreadsTest, OtherThreadsThanTheCallerRunTasks) {
  const Parallelism parallelism(2);
  std::atomic<int> met = 0;
  // Each of the two calls waits for the other, so they must run on different threads.
  parallelism.For(2, [&](size_t, size_t) {
    ++met;
    while (met.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(met, 2);
}

}  // namespace
}  // namespace ebb::parallel_test
