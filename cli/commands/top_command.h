// `ebb top`: the plan by group of nodes, on a terminal as long as the cluster changes.
//
//   ebb top INPUT...          a dump; read again when a file changes
//   ebb top --server unix:S   a daemon, asked every --interval
//   ebb top [--context C]     the cluster of the kubeconfig, fetched as `ebb dump` does
//
// On a terminal, keys: q ends it, n shows or hides nodes, the arrows (or j and k), space and b
// scroll.  Otherwise, and with --once, prints one frame and ends.

#ifndef EBB_CLI_COMMANDS_TOP_COMMAND_H_
#define EBB_CLI_COMMANDS_TOP_COMMAND_H_

#include <functional>
#include <iosfwd>
#include <string>

#include "cli/commands/dump_command.h"
#include "cli/commands/plan_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct TopCommand {
  PlanCommand plan;  // What to plan: input, groups, prices and the flags of a pass.
  DumpCommand dump;  // The kubeconfig, if there is no other source.
  std::string interval = "5s";
  bool nodes = false;
  bool once = false;

  void AddTo(CLI::App& app);
  // Asks a daemon for a plan and prints it: PlanAtServer (cli/remote.h).
  using AskServer =
      std::function<int(const PlanCommand& plan, std::ostream& out, std::ostream& err)>;
  // Returns the exit code: 0, or that of `ebb plan` or `ebb dump` if the first frame fails.
  int Run(const AskServer& ask_server, std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_TOP_COMMAND_H_
