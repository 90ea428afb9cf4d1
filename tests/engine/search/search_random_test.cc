// Searches over random clusters: never worse than greedy, the same at any number of threads, within
// every limit, verified, and the snapshot as it was.

#include "gtest/gtest.h"
#include "tests/engine/search/random_search.h"
#include "tests/support/sanitized.h"

namespace ebb::search_random_test {
namespace {

TEST(SearchRandomTest, WhatIsFoundHolds) {
  int64_t greedy = 0;
  int64_t best = 0;
  for (uint64_t seed = 1; seed <= test::Rounds(300); ++seed) {
    const test::RandomSearchResult result = test::RunRandomSearch(seed);
    ASSERT_EQ(result.wrong, "") << "seed " << seed;
    greedy += result.greedy;
    best += result.best;
  }
  // The clusters leave something to be found.
  EXPECT_GT(best, greedy + greedy / 20);
}

}  // namespace
}  // namespace ebb::search_random_test
