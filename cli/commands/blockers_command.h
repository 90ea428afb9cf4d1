// `ebb blockers INPUT...`: what keeps nodes over the whole cluster, ranked by how many more nodes
// go without it (what_if/blockers.h).

#ifndef EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_
#define EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/plan_command.h"
#include "cli/print/progress.h"
#include "planning/live_cluster.h"
#include "snapshot/import/input_warning.h"
#include "what_if/blockers.h"
#include "what_if/lower_requests.h"
#include "what_if/pod_usage.h"

namespace CLI {
class App;
}

namespace ebb {

struct BlockersCommand {
  PlanCommand plan;  // What to plan: input, groups and the flags of a pass.
  std::string output = "table";
  size_t limit = 50;
  size_t sets = 10;
  std::vector<std::string> usage;  // FILE, cpu=FILE or memory=FILE.
  LowerRequestsOptions lower;

  void AddTo(CLI::App& app);
  // Runs over files, or with --watch-file over the watched cluster.  For --server, call
  // BlockersAtServer (remote.h) instead.  Returns the exit code: 0, or 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;
  // Prints the blockers found.  `currency` is absent if no prices were given; `requests` is null
  // without --usage.
  void Print(const Blockers& found, const LowerRequests* requests,
             std::span<const InputWarning> warnings, const std::optional<std::string>& currency,
             std::ostream& out) const;

 private:
  absl::StatusOr<PodUsage> ReadUsage() const;
  // The files of the command.
  std::vector<UsedFile> Files() const;
  // Runs over `cluster`, a version of `live`.  Tries changes in `live`.
  int Over(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
           const PlanCommand::Loaded& loaded, Progress& progress, std::ostream& out,
           std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_BLOCKERS_COMMAND_H_
