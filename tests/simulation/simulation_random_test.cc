#include "gtest/gtest.h"
#include "tests/simulation/random_loop.h"
#include "tests/support/random_seed.h"

namespace ebb::simulation_random_test {
namespace {

TEST(SimulationRandomTest, InvariantsHoldInRandomClustersWithFaults) {
  const uint64_t first = test::RandomSeed();
  SimulationCounts all;
  uint64_t rounds = 0;
  uint64_t restarts = 0;
  for (uint64_t seed = first; seed < first + 25; ++seed) {
    const test::RandomLoopResult result = test::RunRandomLoop(seed, 60);
    ASSERT_EQ(result.wrong, "") << "EBB_TEST_SEED=" << seed << "\n" << result.trace;
    rounds += result.rounds;
    restarts += result.restarts;
    all.evictions += result.counts.evictions;
    all.pdb_refusals += result.counts.pdb_refusals;
    all.fault_refusals += result.counts.fault_refusals;
    all.nodes_deleted += result.counts.nodes_deleted;
    all.deletions_failed += result.counts.deletions_failed;
    all.nodes_vanished += result.counts.nodes_vanished;
    all.nodes_added += result.counts.nodes_added;
  }
  // Else nothing was tried.
  EXPECT_GT(rounds, 1000);
  EXPECT_GT(restarts, 0);
  EXPECT_GT(all.evictions, 100);
  EXPECT_GT(all.pdb_refusals, 0);
  EXPECT_GT(all.fault_refusals, 0);
  EXPECT_GT(all.nodes_deleted, 50);
  EXPECT_GT(all.deletions_failed, 10);
  EXPECT_GT(all.nodes_vanished, 0);
  EXPECT_GT(all.nodes_added, 0);
}

TEST(SimulationRandomTest, ASeedReplaysARunExactly) {
  const uint64_t first = test::RandomSeed();
  for (uint64_t seed = first; seed < first + 5; ++seed) {
    EXPECT_EQ(test::RunRandomLoop(seed, 40).trace, test::RunRandomLoop(seed, 40).trace);
  }
  EXPECT_NE(test::RunRandomLoop(first, 40).trace, test::RunRandomLoop(first + 1, 40).trace);
}

}  // namespace
}  // namespace ebb::simulation_random_test
