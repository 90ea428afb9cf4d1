// Maestro's panic: adds rooms at once when an occupied room takes the pool over its limit.
// Deprecated in Maestro, and off by default.
//
//   const MaestroPanic panic = Panic(options, observation, now_s, &state);
//   if (panic.delta != 0) {
//     Scale(panic.delta);
//     PanicEnded(&state);
//   }
//
// Call Panic whenever a room reports that it is occupied.  It panics if the percentage of occupied
// rooms is above the old trigger's limit (even if metricsTrigger is given) and no other panic is
// running.  It ignores cooldown and max_scale_up_amount, and sets neither the status nor the time
// of the last operation.
//
// Units, threads: as in maestro.h.
// Errors:  none.  Options whose min exceeds max, and negative counts, give decisions without
//          action.
// Source:  Maestro v9.16, controller, status of a room.  On purpose otherwise: an up.delta below 0
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
  kLocked,    // Another panic is running.
  kNoNumber,  // up.delta is too large to add.
  kInvalidOptions,
  kInvalidCounts,
};
std::string_view Name(MaestroPanicReason reason);

struct MaestroPanic {
  MaestroPanicReason reason = MaestroPanicReason::kDisabled;
  int64_t delta = 0;  // Rooms to add now; may be 0 even with kPanic.
  MaestroRefusal refusal = MaestroRefusal::kNone;

  // The figures of the computation.
  int64_t available = 0;
  int64_t limit = 0;    // Percent.
  int64_t bounded = 0;  // Rooms, before a refusal.
  MaestroBound bound = MaestroBound::kNone;
};

// `observation` includes the room that is occupied now.  If there are rooms to add, the pool is
// locked until PanicEnded(), but for at most key_timeout seconds.
MaestroPanic Panic(const MaestroOptions& options, const MaestroObservation& observation,
                   int64_t now_s, MaestroState* state);

// Call it when the rooms of a panic exist or have failed.  Do not call it for a panic that had no
// rooms to add: that would release the lock of another panic.
void PanicEnded(MaestroState* state);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_MAESTRO_PANIC_H_
