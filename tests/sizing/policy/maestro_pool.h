// A pool of rooms, with which tests of Maestro run one round after another.

#ifndef EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_
#define EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sizing/policy/maestro/maestro.h"

namespace ebb {

inline constexpr int64_t kMaestroStart = 1'000'000;
inline constexpr int64_t kMaestroPeriod = 10;

// Looks at the newest `window` + 1 points; its limit is never reached.
inline MaestroTrigger RoomTrigger(int64_t usage, int64_t threshold, int64_t window) {
  return {.type = "room",
          .usage = usage,
          .threshold = threshold,
          .time = window * kMaestroPeriod,
          .limit = 1000};
}

// Acts at its first point beyond `usage`.
inline MaestroTrigger RoomTrigger(int64_t usage) { return RoomTrigger(usage, 0, 0); }

inline MaestroTrigger LegacyTrigger(int64_t usage, int64_t delta) {
  return {.type = "legacy", .usage = usage, .limit = 1000, .delta = delta};
}

struct MaestroPool {
  // Neither list has an effect until a test replaces its trigger.  An empty list would use the old
  // trigger.
  MaestroPool() {
    options.up = {.metrics_trigger = {LegacyTrigger(1000, 0)}};
    options.down = {.metrics_trigger = {LegacyTrigger(0, 0)}};
    options.auto_scaling_period = kMaestroPeriod;
  }

  // One round, a period later, with these numbers of rooms; none is being created.
  MaestroDecision Round(int64_t occupied, int64_t available) {
    observation.counts.rooms = {.ready = available - occupied, .occupied = occupied};
    return Again();
  }

  // One round, a period later, with the present rooms.
  MaestroDecision Again() {
    now_s += kMaestroPeriod;
    MaestroDecision made = Decide(options, types, observation, now_s, &state);
    if (!fails) Succeeded(made, &state);
    return made;
  }

  MaestroOptions options;
  MaestroTypes types;
  MaestroObservation observation;
  MaestroState state;  // Never scaled.
  int64_t now_s = kMaestroStart;
  bool fails = false;  // Whether operations fail.
};

}  // namespace ebb

#endif  // EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_
