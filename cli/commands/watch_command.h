// --watch-file F: repeats a question while the cluster changes.
//
// Each F contains what `kubectl get pods -A -w --output-watch-events -o json` prints for one kind;
// it is a pipe or a file.  The question is asked whenever no event has come for a while, and at the
// end.  INPUT, if given, is loaded first.
//
// Errors: an event that cannot be applied is reported and skipped.  It also becomes a warning of
//         every later plan, so that --strict ends the command.  If the cluster cannot be planned
//         for yet, the command waits for more events.  The command ends if no event came within
//         --scale-down-simulation-timeout, or if the first --max-object-bytes bytes of a file have
//         no event.

#ifndef EBB_CLI_COMMANDS_WATCH_COMMAND_H_
#define EBB_CLI_COMMANDS_WATCH_COMMAND_H_

#include <functional>
#include <iosfwd>
#include <string>

#include "cli/commands/plan_command.h"

namespace ebb {

// The question that is repeated.
struct WatchQuestion {
  std::string output = "table";  // As -o: decides what is printed between two answers.
  // Prints the answer about `cluster`, a version of `live`.  It must not change `live`: for trying
  // changes it makes a copy (LiveCluster::Copy).  Returns the exit code.
  std::function<int(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                    const PlanCommand::Loaded& loaded)>
      ask;
};

// Uses the input, the watched files and the groups of `command`.
// Returns the exit code of the last answer; 1 if no answer could be given.
int RunWatch(const PlanCommand& command, const WatchQuestion& question, std::ostream& out,
             std::ostream& err);

// `ebb plan --watch-file`.
int RunPlanWatch(const PlanCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_WATCH_COMMAND_H_
