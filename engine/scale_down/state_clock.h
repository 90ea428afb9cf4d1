// Setting the clock of a state back.
//
// A clock that was wrong leaves times in a state that lie in the future once it is
// right again: timers that would start only then, cooldowns that would hold until then.
// Each is set to the right time, so that it counts in full from here on: a node may wait
// longer than necessary, never shorter.

#ifndef EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_
#define EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scale_down/scale_down_state.h"

namespace ebb {

// A time that was moved.
struct ClockChange {
  std::string what;  // "timer of node a"
  int64_t from_s = 0;
  int64_t to_s = 0;
};

// Moves every time of the state that lies after `now_s` to it and forgets jumps that
// were seen.  Nodes that were found unremovable until after `now_s` are looked at again.
std::vector<ClockChange> SetClock(ScaleDownState& state, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_
