// A round (rounds/round_report.h) for people.

#ifndef EBB_CLI_PRINT_ROUND_PRINT_H_
#define EBB_CLI_PRINT_ROUND_PRINT_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "cli/print/plan_print.h"
#include "cli/print/terminal.h"
#include "rounds/round_outcome.h"

namespace ebb {

// What follows the plan's table: status, what goes now, what waits.
void PrintRound(const nlohmann::ordered_json& json, const Terminal& terminal, std::ostream& out);

// A round that was made, in any of the forms of a plan; as names: the nodes that are to be
// deleted now.
void PrintRoundOutcome(const RoundOutcome& round, PlanFormat format, const PrintOptions& options,
                       std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_ROUND_PRINT_H_
