// `ebb plan --state FILE`: one round of the planner over time instead of a plan over
// a dump, and `ebb replay RECORD`, which runs recorded rounds again.
//
// A round goes on where the one before stopped (engine/scale_down/round.h): FILE holds timers,
// cooldowns, hints, counters and what else must survive.  Nodes that carry the taint
// ToBeDeletedByClusterAutoscaler, not older than five minutes, are being deleted; what
// a dump does not show, --events FILE tells (round_events.h).
// --record FILE also writes what a round was given and what it decided.
//
// Errors: exit code 1; the state stays as it was, a counter of errors apart.
// A round that waits because the clock jumped: exit code 3; it is remembered.

#ifndef EBB_CLI_ROUNDS_ROUND_COMMAND_H_
#define EBB_CLI_ROUNDS_ROUND_COMMAND_H_

#include <iosfwd>
#include <string>

#include "cli/commands/plan_command.h"
#include "options/round_options.h"

namespace CLI {
class App;
}

namespace ebb {

constexpr int kExitClockJumped = 3;

// The exit code: 0 round made, 1 bad input, kExitClockJumped, or with --exit-code that of the plan.
int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err);

struct ReplayCommand {
  std::string record;

  void AddTo(CLI::App& app);
  // 0: every decision is the same bytes; 1: one is not, or the record is unreadable.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_ROUND_COMMAND_H_
