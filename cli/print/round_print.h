// A round (rounds/round_report.h) for people.

#ifndef EBB_CLI_PRINT_ROUND_PRINT_H_
#define EBB_CLI_PRINT_ROUND_PRINT_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "cli/print/plan_print.h"
#include "cli/print/terminal.h"
#include "rounds/round_outcome.h"

namespace ebb {

// Prints the part after the plan's table: the round's status, what is deleted now, what waits.
void PrintRound(const nlohmann::ordered_json& json, const Terminal& terminal, std::ostream& out);

// Prints a round in any format of a plan.  The format kName prints the nodes to delete now.
void PrintRoundOutcome(const RoundOutcome& round, PlanFormat format, const PrintOptions& options,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_ROUND_PRINT_H_
