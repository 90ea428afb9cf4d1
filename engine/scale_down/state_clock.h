// SetClock: corrects a state after its clock was set back.
//
// A clock that was ahead leaves times in a state that lie in the future once the clock is right
// again: timers would start only then, and cooldowns would last until then.  SetClock sets each
// such time to the current time, so that its full duration counts from now.  A node may then wait
// longer than necessary, never shorter.

#ifndef EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_
#define EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scale_down/scale_down_state.h"

namespace ebb {

// A time that was changed.
struct ClockChange {
  std::string what;  // "timer of node a"
  int64_t from_s = 0;
  int64_t to_s = 0;
};

// Sets every time of the state that lies after `now_s` to `now_s`, and forgets a jump of the clock.
// Drops nodes from the unremovable cache whose entries expire after `now_s`, so that they are tried
// again.  Returns the changed times.
std::vector<ClockChange> SetClock(ScaleDownState& state, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_STATE_CLOCK_H_
