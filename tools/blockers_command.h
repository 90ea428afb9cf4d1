// `ebb blockers INPUT...`: what keeps nodes over the whole cluster, ranked by how many more nodes
// go without it (service/what_if/blockers.h).

#ifndef EBB_TOOLS_BLOCKERS_COMMAND_H_
#define EBB_TOOLS_BLOCKERS_COMMAND_H_

#include <cstddef>
#include <iosfwd>
#include <string>

#include "tools/plan_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct BlockersCommand {
  PlanCommand plan;  // What is planned: input, groups and the flags of a pass.
  std::string output = "table";
  size_t limit = 50;

  void AddTo(CLI::App& app);
  // The exit code: 0, 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_BLOCKERS_COMMAND_H_
