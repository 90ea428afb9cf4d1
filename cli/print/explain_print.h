// Explanations for people, from a daemon's reply or from the same message made in this process.

#ifndef EBB_CLI_PRINT_EXPLAIN_PRINT_H_
#define EBB_CLI_PRINT_EXPLAIN_PRINT_H_

#include <iosfwd>

#include "cli/print/terminal.h"
#include "session/wire_tables.h"

namespace ebb {

// Prints the reply to a call with the form AS_TABLES.
void PrintExplanations(const v1alpha1::ExplainReply& reply, const Terminal& terminal,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_EXPLAIN_PRINT_H_
