// `ebb frontier INPUT...`: the best plan for each number of pods evicted
// (search/frontier.h).

#ifndef EBB_CLI_COMMANDS_FRONTIER_COMMAND_H_
#define EBB_CLI_COMMANDS_FRONTIER_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/plan_command.h"
#include "cli/print/progress.h"
#include "planning/plan_query.h"
#include "platform/clock.h"
#include "platform/file_identity.h"
#include "search/frontier.h"
#include "snapshot/import/input_warning.h"

namespace CLI {
class App;
}

namespace ebb {

// What the command prints.
struct FrontierStory {
  std::string title;
  std::vector<InputWarning> warnings;
  std::optional<std::string> currency;  // Absent: no prices were given.
  std::vector<FrontierPoint> points;
};
// `nodes`: how many nodes the cluster has.
FrontierStory StoryOf(std::vector<FrontierPoint> points, size_t nodes,
                      std::vector<InputWarning> warnings, std::optional<std::string> currency);

struct FrontierCommand {
  PlanCommand plan;  // What to plan: input, groups, prices and the flags of a pass.
  std::string budget = "5s";
  uint64_t iterations = 30;
  uint64_t seed = 1;
  std::string output = "table";
  std::string report;  // A file for the page of HTML; empty: no page.

  void AddTo(CLI::App& app);
  // Runs over files, or with --watch-file over the watched cluster.  For --server, call
  // FrontierAtServer (remote.h) instead.  Returns the exit code: 0, or 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;

  // Returns the search that the flags request, for a command that began at `start`.
  [[nodiscard]] SearchQuery SearchFrom(Clock::time_point start) const;
  // Every file that the flags name.
  [[nodiscard]] std::vector<UsedFile> Files() const;
  // Prints the story and writes the page.  Returns the exit code.
  int Print(const FrontierStory& story, std::ostream& out, std::ostream& err) const;

 private:
  // Writes the page, if one is wanted.  Returns the exit code.
  int WritePage(const FrontierStory& story, std::ostream& err) const;
  int Over(LoadedCluster& cluster, const GroupRules& rules, const PlanCommand::Loaded& loaded,
           Progress& progress, std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_FRONTIER_COMMAND_H_
