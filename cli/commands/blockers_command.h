// `ebb blockers INPUT...`: what keeps nodes over the whole cluster, ranked by how many more nodes
// go without it (what_if/blockers.h).

#ifndef EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_
#define EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "cli/commands/plan_command.h"
#include "cli/print/progress.h"
#include "planning/live_cluster.h"
#include "snapshot/import/input_warning.h"
#include "what_if/blockers.h"

namespace CLI {
class App;
}

namespace ebb {

struct BlockersCommand {
  PlanCommand plan;  // What is planned: input, groups and the flags of a pass.
  std::string output = "table";
  size_t limit = 50;

  void AddTo(CLI::App& app);
  // Over files, or with --watch-file over what is watched; with --server it is BlockersAtServer
  // (remote.h) that is wanted.
  // The exit code: 0, 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;
  // Prints what was found.  `currency`: absent, no prices were given.
  void Print(const Blockers& found, std::span<const InputWarning> warnings,
             const std::optional<std::string>& currency, std::ostream& out) const;

 private:
  // Over `cluster`, a version of `live`, in which changes are tried.
  int Over(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
           const PlanCommand::Loaded& loaded, Progress& progress, std::ostream& out,
           std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_
