// RunDry: the loop over the cluster of a dump, on the wall clock.  It only prints what it would do
// (record_actuator.h).  Later rounds treat what it would have done as done.
//
//   int code = RunDry({.inputs = {"all.json"}, .scale_down = options}, out, err);
//
// It ends at SIGTERM or SIGINT, within the current turn; there is nothing to roll back.
// Prints: on `out` one line for each action.  On `err` one line for each turn that begins deletions
//         or in which something failed, and one line for each pool whose decision has changed.  The
//         first line explains when evicted pods count as running again; the last line reports how
//         many nodes would be gone.
// Errors: exit code 1: the dump cannot be read.
// Threads: one.

#ifndef EBB_CLI_ROUNDS_DRY_RUN_H_
#define EBB_CLI_ROUNDS_DRY_RUN_H_

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "engine/scale_down/round.h"
#include "groups/groups.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "loop/run/round_advisor.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

struct DryRunOptions {
  std::vector<std::string> inputs;
  LoadOptions load = {};
  GroupRules groups = {};
  ScaleDownOptions scale_down = {};
  LoopOptions loop = {};                           // Without on_turn.
  OwnRoundsOptions rounds = {};                    // Without advice.
  std::optional<RoundAdvisorOptions> advice = {};  // Absent: rounds plan as the autoscaler does.
  Sizer* sizer = nullptr;                          // Null: no pool is sized.
  std::string log = "text";  // "json": one object for each turn; "none": no log.
};

int RunDry(const DryRunOptions& options, std::ostream& out, std::ostream& err);

// The same loop over any cluster.
void RunDryLoop(ClusterSource& cluster, ScaleDown& scale_down, OwnRoundsOptions rounds,
                LoopOptions options, LoopClock& clock, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_DRY_RUN_H_
