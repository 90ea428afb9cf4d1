// `ebb frontier INPUT...`: the best plan for each number of pods evicted
// (engine/search/frontier.h).

#ifndef EBB_TOOLS_FRONTIER_COMMAND_H_
#define EBB_TOOLS_FRONTIER_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tools/plan_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct FrontierCommand {
  PlanCommand plan;  // What is planned: input, groups, prices and the flags of a pass.
  std::string budget = "5s";
  uint64_t iterations = 30;
  uint64_t seed = 1;
  std::string output = "table";
  std::string report;  // A page; empty: none.

  void AddTo(CLI::App& app);
  // The exit code: 0, 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_FRONTIER_COMMAND_H_
