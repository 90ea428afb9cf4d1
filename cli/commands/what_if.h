// `ebb plan INPUT... --what-if FILE`: the plan as things are, beside the plan with changes
// (what_if/what_if_file.h).

#ifndef EBB_CLI_COMMANDS_WHAT_IF_H_
#define EBB_CLI_COMMANDS_WHAT_IF_H_

#include <iosfwd>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "cli/commands/plan_command.h"
#include "planning/live_cluster.h"
#include "snapshot/import/load_cluster.h"
#include "what_if/what_if_file.h"

namespace ebb {

// The exit code: 0, 1 bad input, 2 usage.
int RunWhatIf(const PlanCommand& command, std::ostream& out, std::ostream& err);
// What the file asks.
struct WhatIfQuestion {
  WhatIf what_if;
  PlanCommand changed;  // With the file's options, as if its flags had been given after the others.
};
// Errors: InvalidArgument, naming the file and the field.
absl::StatusOr<WhatIfQuestion> ReadQuestion(const PlanCommand& command);

// Over `cluster`, a version of `live`, which is changed.
int WhatIfOver(const PlanCommand& command, const WhatIfQuestion& question, LoadedCluster& cluster,
               LiveCluster& live, std::ostream& out, std::ostream& err);

// False: -o is no form of a comparison, or flags on cost do not go together; told.
bool CompareFlagsFit(const PlanCommand& command, std::ostream& err);
// A warning a line (ApplyWhatIf).
void PrintNotes(std::span<const std::string> notes, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_WHAT_IF_H_
