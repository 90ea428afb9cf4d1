// What a state file remembers (sqlite_state.h), for people and as data.
//
// Threads: pure, but for `out`.

#ifndef EBB_TOOLS_STATE_PRINT_H_
#define EBB_TOOLS_STATE_PRINT_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/deletion_report.h"
#include "engine/scale_down_state.h"

namespace ebb {

struct ShownState {
  std::optional<ScaleDownState> state;  // Absent: no round was made yet.
  DeletionReport reported;              // For the next round.
};

// A table per kind of thing; those without a row are left out.
void PrintState(const ShownState& shown, std::ostream& out);

// An object of version "ebb.state/v1".  `reported` has the form of an --events file
// (round_events.h), and every list is there, also an empty one, except in `reported`.
nlohmann::ordered_json StateJson(const ShownState& shown);

}  // namespace ebb

#endif  // EBB_TOOLS_STATE_PRINT_H_
