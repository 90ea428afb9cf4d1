// Explanations for people, whether this process made them or a daemon.

#ifndef EBB_TOOLS_EXPLAIN_PRINT_H_
#define EBB_TOOLS_EXPLAIN_PRINT_H_

#include <iosfwd>

#include "service/session/wire_tables.h"
#include "tools/terminal.h"

namespace ebb {

// The answer to a call AS_TABLES.
void PrintExplanations(const v1alpha1::ExplainReply& reply, const Terminal& terminal,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_EXPLAIN_PRINT_H_
