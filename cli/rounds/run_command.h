// `ebb run`: the loop.  Over a simulated cluster, for days of virtual time in seconds; over a live
// one, through an actuator plugin (run_live.h); or over that of a dump, saying what it would do.
//
//   ebb run --simulate --nodes 1000 --hours 24 [--seed S] [--report F.html]
//   ebb run --actuator unix:plugin.sock --socket ebb.sock --state-folder states
//   ebb run --actuator unix:plugin.sock --server unix:ebb.sock
//   ebb run --input all.json --dry-run
//
// A simulated load is simulated a second time without scale-down, for comparing.

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
  // The exit code: 0, 1 bad input, 2 wrong usage.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_COMMAND_H_
