// `ebb policy simulate`: pools under their policies, over the same load, side by side.
//
// Errors:  exit code 1: something cannot be read or written.
// Threads: runs as many simulations at a time as the machine has processors.

#ifndef EBB_CLI_POLICIES_POLICY_SIMULATE_H_
#define EBB_CLI_POLICIES_POLICY_SIMULATE_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "sizing/policy_simulation/policy_simulation.h"

namespace ebb {

struct PolicySimulateRequest {
  std::string file = {};    // Empty: one pool for each school.
  std::string series = {};  // Empty: `load` decides.
  std::string load = "day";
  int64_t pods = 60;
  int64_t hours = 24;
  uint64_t seed = 1;
  std::string report = {};
  std::string output = "table";
};

int SimulatePools(const PolicySimulateRequest& request, std::ostream& out, std::ostream& err);

// A page with the curves: one file of HTML that fetches nothing.
std::string PolicySimulationPage(const std::string& title,
                                 const std::vector<PolicySimulationResult>& results);

}  // namespace ebb

#endif  // EBB_CLI_POLICIES_POLICY_SIMULATE_H_
