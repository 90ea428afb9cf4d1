// `ebb run`: the loop over a simulated cluster, days of virtual time in seconds; over a live
// cluster, through an actuator plugin (run_live.h); or over the cluster of a dump, printing what it
// would do.
//
//   ebb run --simulate --nodes 1000 --hours 24 [--seed S] [--report F.html]
//   ebb run --actuator unix:plugin.sock --socket ebb.sock --state-folder states
//   ebb run --actuator unix:plugin.sock --server unix:ebb.sock
//   ebb run --input all.json --dry-run
//
// A simulation runs its load a second time without scale-down, for comparison.

#ifndef EBB_CLI_ROUNDS_RUN_COMMAND_H_
#define EBB_CLI_ROUNDS_RUN_COMMAND_H_

#include <iosfwd>

#include "cli/rounds/run_flags.h"

namespace CLI {
class App;
}

namespace ebb {

struct RunCommand {
  RunFlags flags;

  void AddTo(CLI::App& app) { flags.AddTo(app); }
  // Returns the exit code: 0, 1 for bad input, 2 for wrong usage.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_COMMAND_H_
