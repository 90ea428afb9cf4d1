// Maestro's panic: rooms are added at once when an occupation takes the pool over its limit.
// Deprecated there, and off by default.
//
//   const MaestroPanic panic = Panic(options, observation, now_s, &state);
//   if (panic.delta != 0) {
//     Scale(panic.delta);
//     PanicEnded(&state);
//   }
//
// Asked whenever a room reports that it is occupied.  Panics if occupied rooms are more than the
// old trigger's limit (also where metricsTrigger is given) and no other panic acts.  Knows neither
// cooldown nor max_scale_up_amount, and sets neither status nor time of the last operation.
//
// Units, threads: those of maestro.h.
// Errors:  none: options whose min exceeds max and negative counts are decisions without action.
// Source:  Maestro v9.16, controller, a room's status.  On purpose otherwise: an up.delta below 0
//          adds nothing (there it crashes the worker).

#ifndef EBB_TESTS_POLICIES_MAESTRO_PANIC_H_
#define EBB_TESTS_POLICIES_MAESTRO_PANIC_H_

#include <cstdint>
#include <string_view>

#include "sizing/policy/maestro/maestro.h"

namespace ebb {

enum class MaestroPanicReason : uint8_t {
  kPanic,
  kDisabled,  // enable_panic_scale is off.
  kWithinLimit,
  kLocked,    // Another one acts.
  kNoNumber,  // up.delta is too large to count with.
  kInvalidOptions,
  kInvalidCounts,
};
std::string_view Name(MaestroPanicReason reason);

struct MaestroPanic {
  MaestroPanicReason reason = MaestroPanicReason::kDisabled;
  int64_t delta = 0;  // Rooms to add now; with kPanic too it may be 0.
  MaestroRefusal refusal = MaestroRefusal::kNone;

  // What it was computed from.
  int64_t available = 0;
  int64_t limit = 0;    // Percent.
  int64_t bounded = 0;  // Rooms, before refusal.
  MaestroBound bound = MaestroBound::kNone;
};

// `observation` includes the room that is occupied now.  With rooms to add, the pool is locked
// until PanicEnded(), but for key_timeout seconds at most.
MaestroPanic Panic(const MaestroOptions& options, const MaestroObservation& observation,
                   int64_t now_s, MaestroState* state);

// The rooms of a panic that had some to add are there, or it failed.  Not to be called for one that
// had none: another's lock would end.
void PanicEnded(MaestroState* state);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_MAESTRO_PANIC_H_
