// Commands with --server: a daemon answers, and the command prints the reply as its own.
//
// With INPUT, the session's cluster is replaced by the input and its settings by the flags.  The
// answer is about that input: if another client loads or changes the session before the question is
// answered, the command fails.
// Without INPUT, the question is about the session's current cluster, with the session's settings
// unless flags override them.
//
// While the session is being filled (its first resync has not ended), the command prints a message
// on standard error and waits, at most for --wait; then it fails.
//
// Each function returns the exit code of the command without --server.

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
