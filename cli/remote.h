// Questions with --server: the daemon's answer, printed as the command's own.
//
// With INPUT the session's cluster becomes that of the input, and the flags its settings.
// Without, the question is about the cluster that is there, with the session's settings unless
// some flag says otherwise.
//
// While the session is being filled (its first resync has not ended) the command waits for
// --wait at most, says so on standard error, and then fails.
//
// The exit code: as that of the command without --server.

#ifndef EBB_CLI_REMOTE_H_
#define EBB_CLI_REMOTE_H_

#include <iosfwd>

#include "cli/commands/blockers_command.h"
#include "cli/commands/filter_command.h"
#include "cli/commands/frontier_command.h"
#include "cli/commands/plan_command.h"

namespace ebb {

int PlanAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err);
// `ebb plan --what-if`.
int WhatIfAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err);
int BlockersAtServer(const BlockersCommand& command, std::ostream& out, std::ostream& err);
int FrontierAtServer(const FrontierCommand& command, std::ostream& out, std::ostream& err);
int FilterAtServer(const FilterCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_REMOTE_H_
