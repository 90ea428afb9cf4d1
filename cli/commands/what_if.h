// `ebb plan INPUT... --what-if FILE`: prints the plan for the cluster as it is beside the plan with
// the changes of FILE (what_if/what_if_file.h).

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

// Returns the exit code: 0, 1 for bad input, 2 for wrong usage.
int RunWhatIf(const PlanCommand& command, std::ostream& out, std::ostream& err);
// The content of the file.
struct WhatIfQuestion {
  WhatIf what_if;
  PlanCommand changed;  // As if the file's options had been given as flags after the others.
};
// Errors: InvalidArgument, naming the file and the field.
absl::StatusOr<WhatIfQuestion> ReadQuestion(const PlanCommand& command);

// Answers over `cluster`, a version of `live`.  Applies the changes to `live`.
int WhatIfOver(const PlanCommand& command, const WhatIfQuestion& question, LoadedCluster& cluster,
               LiveCluster& live, std::ostream& out, std::ostream& err);

// Returns false and prints an error if -o is not a format of a comparison, or if flags about cost
// contradict each other.
bool CompareFlagsFit(const PlanCommand& command, std::ostream& err);
// Prints the notes of ApplyWhatIf, each as a warning on its own line.
void PrintNotes(std::span<const std::string> notes, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_WHAT_IF_H_
