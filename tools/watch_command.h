// --watch-file F: a question about a cluster as it changes.
//
// Each F gives what `kubectl get pods -A -w --output-watch-events -o json` prints, of one kind,
// from a pipe or a file.  The question is asked whenever no event came for a while, and at the end.
// INPUT is loaded first, if there is one.
//
// Errors: an event that cannot be taken is told and passed over, and becomes a warning of
//         every plan to come: --strict ends with it.  A cluster that cannot be planned for yet
//         waits for more.  The command ends where no event came within
//         --scale-down-simulation-timeout, or a file's first --max-object-bytes bytes hold none.

#ifndef EBB_TOOLS_WATCH_COMMAND_H_
#define EBB_TOOLS_WATCH_COMMAND_H_

#include <functional>
#include <iosfwd>
#include <string>

#include "tools/plan_command.h"

namespace ebb {

// What is asked again and again.
struct WatchQuestion {
  std::string output = "table";  // As -o: decides what stands between two answers.
  // Prints the answer about `cluster`, which is a version of `live`; to change that one it makes a
  // copy (LiveCluster::Copy).  Returns the exit code.
  std::function<int(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                    const PlanCommand::Loaded& loaded)>
      ask;
};

// Of `command` the input, the watched files and the groups.
// The exit code: that of the last answer; 1 where none could be given.
int RunWatch(const PlanCommand& command, const WatchQuestion& question, std::ostream& out,
             std::ostream& err);

// `ebb plan --watch-file`.
int RunPlanWatch(const PlanCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_WATCH_COMMAND_H_
