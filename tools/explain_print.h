// Explanations (service/explain.h) for people.

#ifndef EBB_TOOLS_EXPLAIN_PRINT_H_
#define EBB_TOOLS_EXPLAIN_PRINT_H_

#include <iosfwd>
#include <span>

#include "service/plan_report.h"
#include "snapshot/ids.h"
#include "tools/terminal.h"

namespace ebb {

void PrintExplanations(const PlanReport& report, std::span<const NodeId> nodes,
                       const Terminal& terminal, std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_EXPLAIN_PRINT_H_
