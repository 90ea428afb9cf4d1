// The contents of a state file (sqlite_state.h) as tables and as JSON.
//
// Threads: pure, except for `out`.

#ifndef EBB_CLI_PRINT_STATE_PRINT_H_
#define EBB_CLI_PRINT_STATE_PRINT_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/scale_down/deletion_report.h"
#include "engine/scale_down/scale_down_state.h"

namespace ebb {

struct ShownState {
  std::optional<ScaleDownState> state;  // Absent: no round was made yet.
  DeletionReport reported;              // For the next round.
};

// Prints one table for each kind of record, without empty tables.
void PrintState(const ShownState& shown, std::ostream& out);

// An object of version "ebb.state/v1".  Its `reported` has the form of an --events file
// (round_events.h).  All other lists are present even if they are empty.
nlohmann::ordered_json StateJson(const ShownState& shown);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_STATE_PRINT_H_
