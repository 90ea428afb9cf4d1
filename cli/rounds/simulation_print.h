// The result of `ebb run --simulate`: as a table, as JSON, and as a page with curves.
//
// The page is that of reports (report/html_page.h), with the parts of a Story.
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
#include "simulation/simulated_input.h"
#include "simulation/simulation.h"

namespace ebb {

struct SimulationStory {
  std::string title;                                         // "1,000 nodes, 24 hours"
  std::vector<std::pair<std::string, std::string>> options;  // Name and value.
  double hours = 0;
  SimulationResult with;
  SimulationResult without;  // The same load without scale-down.
  PoolStories pools = {};    // Empty without --pools.
  std::string model = {};    // A sentence on the load of a dump's cluster; may be empty.
  // What the simulation of a dump leaves out or simplifies.
  std::vector<SimulatedGap> gaps = {};
};

void PrintSimulation(const SimulationStory& story, std::ostream& out);

// One object, of version "ebb.run.simulate/v1".  A pool's `decisions` are the rounds of its policy
// that differ from the round before.
std::string SimulationJson(const SimulationStory& story);

std::string SimulationPage(const SimulationStory& story);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_SIMULATION_PRINT_H_
