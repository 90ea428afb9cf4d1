// Explanations for people, whether this process made them or a daemon.

#ifndef EBB_CLI_PRINT_EXPLAIN_PRINT_H_
#define EBB_CLI_PRINT_EXPLAIN_PRINT_H_

#include <iosfwd>

#include "cli/print/terminal.h"
#include "session/wire_tables.h"

namespace ebb {

// The answer to a call AS_TABLES.
void PrintExplanations(const v1alpha1::ExplainReply& reply, const Terminal& terminal,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_EXPLAIN_PRINT_H_
