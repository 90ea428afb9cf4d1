// A loop over a random cluster with random faults, held to what may never be.
//
//   EXPECT_EQ(RunRandomLoop(seed, 200).wrong, "");
//
// Everything follows from the seed: a run that finds something finds it again.

#ifndef EBB_TESTS_SIMULATION_RANDOM_LOOP_H_
#define EBB_TESTS_SIMULATION_RANDOM_LOOP_H_

#include <cstdint>
#include <string>

#include "simulation/simulated_cluster.h"

namespace ebb::test {

struct RandomLoopResult {
  std::string wrong;  // Empty: nothing.  Begins with the turn.
  std::string trace;  // What happened, a line each.
  SimulationCounts counts;
  uint64_t rounds = 0;
  uint64_t restarts = 0;
};

// Turns of a loop; the process is restarted now and then, and ends in the end.  After each turn:
// no pod was evicted against its budget, no node is tainted without a deletion under way, every
// controller has its pods or is about to make them, the snapshot and the state are sound.
RandomLoopResult RunRandomLoop(uint64_t seed, int turns);

}  // namespace ebb::test

#endif  // EBB_TESTS_SIMULATION_RANDOM_LOOP_H_
