// `ebb plan --state FILE`: one round of the planner over time instead of a plan over a dump.
// `ebb replay RECORD`: runs recorded rounds again.
//
// A round continues from the round before (engine/scale_down/round.h): FILE holds timers,
// cooldowns, hints, counters and whatever else must survive.  A node with the taint
// ToBeDeletedByClusterAutoscaler, not older than five minutes, counts as being deleted.  --events
// FILE adds events that a dump does not show (round_events.h).  --record FILE also saves the
// round's input and decision.
//
// Errors: exit code 1.  The state stays as it was, except for a counter of errors.
// If the clock jumped, the round only waits: exit code 3.  The state records the jump.

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

// Returns the exit code: 0 round made, 1 bad input, kExitClockJumped, or with --exit-code that of
// the plan.
int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err);

struct ReplayCommand {
  std::string record;
  std::string report;  // A file for a page about the rounds; empty: none.

  void AddTo(CLI::App& app);
  // Returns the exit code: 0 if every decision is the same, byte by byte; 1 if one differs, or if
  // the record cannot be read.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_ROUND_COMMAND_H_
