// RunDry: the loop over a cluster as a dump tells it, on the wall clock, that only says what it
// would do (record_actuator.h).  What it would have done counts as done in the rounds that follow.
//
//   int code = RunDry({.inputs = {"all.json"}, .scale_down = options}, out, err);
//
// It ends at SIGTERM or SIGINT, within the turn that it is in; there is nothing to take back.
// Prints: a line a deed on `out`, and on `err` a line for each turn that begins deletions or in
//         which something failed, and one for what is decided of a pool, when it changes.  The
//         line before the first turn says when evicted pods run again, the last one how many nodes
//         would be gone.
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
  LoopOptions loop = {};                           // Without what turns are told to.
  OwnRoundsOptions rounds = {};                    // Without advice.
  std::optional<RoundAdvisorOptions> advice = {};  // Absent: rounds plan as ever.
  Sizer* sizer = nullptr;                          // Null: no pool is sized.
  std::string log = "text";                        // "json": an object a turn; "none": nothing.
};

int RunDry(const DryRunOptions& options, std::ostream& out, std::ostream& err);

// The same over any cluster.
void RunDryLoop(ClusterSource& cluster, ScaleDown& scale_down, OwnRoundsOptions rounds,
                LoopOptions options, LoopClock& clock, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_DRY_RUN_H_
