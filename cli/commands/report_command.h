// `ebb report INPUT...`: one page with every answer about a cluster: the plan with its bound and
// its trials, what keeps the other nodes, and the best plan for each number of evictions.

#ifndef EBB_CLI_COMMANDS_REPORT_COMMAND_H_
#define EBB_CLI_COMMANDS_REPORT_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/commands/plan_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct ReportCommand {
  PlanCommand plan;  // What to plan: input, groups, prices and the flags of a pass.
  std::string output = "ebb-report.html";
  std::string budget = "2s";  // Of the searches of the frontier.
  uint32_t trials = 20;
  size_t limit = 50;  // How many blockers are tried.

  void AddTo(CLI::App& app);
  // Returns the exit code: 0, or 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_REPORT_COMMAND_H_
