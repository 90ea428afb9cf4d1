// `ebb plan --watch-file F`: plans over a cluster as it changes.
//
// Each F gives what `kubectl get pods -A -w --output-watch-events -o json` prints, of one kind,
// from a pipe or a file.  A plan is made whenever no event came for a while, and at the end.  INPUT
// is loaded first, if there is one.
//
// Errors: an event that cannot be taken is told and passed over, and becomes a warning of
//         every plan to come: --strict ends with it.  A cluster that cannot be planned for yet
//         waits for more.

#ifndef EBB_TOOLS_WATCH_COMMAND_H_
#define EBB_TOOLS_WATCH_COMMAND_H_

#include <iosfwd>

#include "tools/plan_command.h"

namespace ebb {

// The exit code: that of the last plan; 1 where none could be made.
int RunWatch(const PlanCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_WATCH_COMMAND_H_
