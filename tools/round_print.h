// A round (service/round_report.h) for people.

#ifndef EBB_TOOLS_ROUND_PRINT_H_
#define EBB_TOOLS_ROUND_PRINT_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "tools/terminal.h"

namespace ebb {

// What follows the plan's table: status, what goes now, what waits.
void PrintRound(const nlohmann::ordered_json& json, const Terminal& terminal, std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_ROUND_PRINT_H_
