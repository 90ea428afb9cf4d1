// Questions with --server: the daemon's answer, printed as the command's own.
//
// With INPUT the session's cluster becomes that of the input, and the flags its settings.  The
// answer is about that input: where another client loads or changes the session before the question
// is answered, the command fails.
// Without, the question is about the cluster that is there, with the session's settings unless
// some flag says otherwise.
//
// While the session is being filled (its first resync has not ended) the command waits for
// --wait at most, says so on standard error, and then fails.
//
// The exit code: as that of the command without --server.

#ifndef EBB_TOOLS_REMOTE_H_
#define EBB_TOOLS_REMOTE_H_

#include <iosfwd>

#include "tools/blockers_command.h"
#include "tools/filter_command.h"
#include "tools/frontier_command.h"
#include "tools/plan_command.h"

namespace ebb {

int PlanAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err);
// `ebb plan --what-if`.
int WhatIfAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err);
int BlockersAtServer(const BlockersCommand& command, std::ostream& out, std::ostream& err);
int FrontierAtServer(const FrontierCommand& command, std::ostream& out, std::ostream& err);
int FilterAtServer(const FilterCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_REMOTE_H_
