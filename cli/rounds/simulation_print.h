// What `ebb run --simulate` tells: a table, the same as JSON, and a page with curves.
//
// The page is one file of HTML with its style and its drawings (SVG) in it, and no script: it
// fetches nothing.
//
// Threads: pure functions.

#ifndef EBB_CLI_ROUNDS_SIMULATION_PRINT_H_
#define EBB_CLI_ROUNDS_SIMULATION_PRINT_H_

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/rounds/run_pools.h"
#include "simulation/simulation.h"

namespace ebb {

struct SimulationStory {
  std::string title;                                         // "1,000 nodes, 24 hours"
  std::vector<std::pair<std::string, std::string>> options;  // Name and value.
  double hours = 0;
  SimulationResult with;
  SimulationResult without;  // The same load, and no scale-down.
  PoolStories pools = {};    // Of --pools; empty: there are none.
};

void PrintSimulation(const SimulationStory& story, std::ostream& out);

// One object, of version "ebb.run.simulate/v1".  A pool's `decisions` are the rounds of its policy
// that were not as the one before.
std::string SimulationJson(const SimulationStory& story);

std::string SimulationPage(const SimulationStory& story);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_SIMULATION_PRINT_H_
