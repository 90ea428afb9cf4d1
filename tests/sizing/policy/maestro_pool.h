// A pool of rooms of which tests of Maestro play one round after another.

#ifndef EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_
#define EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sizing/policy/maestro/maestro.h"

namespace ebb {

inline constexpr int64_t kMaestroStart = 1'000'000;
inline constexpr int64_t kMaestroPeriod = 10;

// Looks at the newest `window` + 1 points; its limit is out of reach.
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
  // Neither list does anything as long as a test puts no other trigger there; an empty one would
  // be the old trigger's.
  MaestroPool() {
    options.up = {.metrics_trigger = {LegacyTrigger(1000, 0)}};
    options.down = {.metrics_trigger = {LegacyTrigger(0, 0)}};
    options.auto_scaling_period = kMaestroPeriod;
  }

  // One period later, with so many rooms of which none is being created.
  MaestroDecision Round(int64_t occupied, int64_t available) {
    observation.counts.rooms = {.ready = available - occupied, .occupied = occupied};
    return Again();
  }

  // One period later, with rooms as they are.
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
  bool fails = false;  // Operations do.
};

}  // namespace ebb

#endif  // EBB_TESTS_SIZING_POLICY_MAESTRO_POOL_H_
