// Explanations (service/explain.h) for people.

#ifndef EBB_TOOLS_EXPLAIN_PRINT_H_
#define EBB_TOOLS_EXPLAIN_PRINT_H_

#include <iosfwd>
#include <span>

#include "service/plan_report.h"
#include "service/what_if/counterfactual.h"
#include "snapshot/ids.h"
#include "tools/terminal.h"

namespace ebb {

// `remedies`: one for each node, or none.
void PrintExplanations(const PlanReport& report, std::span<const NodeId> nodes,
                       std::span<const Counterfactual> remedies, const Terminal& terminal,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_EXPLAIN_PRINT_H_
