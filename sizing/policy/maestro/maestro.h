// Maestro: triggers, tried in order over recent points of utilization.  Decide is one round.
//
//   const MaestroDecision made = Decide(options, types, observation, now_s, &state);
//   if (made.delta != 0 && Scale(made.delta)) Succeeded(made, &state);
//
// Order of a round:
//  1.  Points: for each type that a trigger has, the present utilization is added at the front of
//     the type's list.  The list is cut to one point more than the window of the last trigger of
//     that type (up triggers first, then down triggers).  Lists belong to types, not to triggers or
//     directions, and points do not expire.
//  2. If the pool is being created or terminated, the round ends here.
//  3.  With fewer rooms than min or more than max, the difference is asked for, whatever triggers
//     and cooldown say.
//  4. Unless max is reached, the up triggers are tried in order:
//     - If utilization is at or above the limit, the trigger decides at once, even in cooldown, and
//       whatever the sign of its delta: at 0 nothing happens, below 0 rooms are removed.
//     - A match with a delta above 0 decides if more than the cooldown has passed; otherwise the
//       next trigger is tried.  A match with any other delta is ignored.
//  5. If no up trigger reached its limit or matched, and there are more rooms than min, the down
//     triggers are tried in the same way, without limits and with deltas below 0.
//  6.  Bounds are applied: min and max, and on growth also max_scale_up_amount.  Then the operation
//     may be refused as a whole: growth because of pending pods or image errors, shrinking because
//     of too few ready rooms.
//
// A trigger of window n = time / period looks at its newest n + 1 points, or at all if there are
// fewer.  It matches if 100 times the number of points beyond its usage exceeds threshold * n.  A
// window that is not full yet may match.  A utilization of NaN is a point that is not beyond any
// usage.
//
// Units:   seconds since the Unix epoch, rooms, percent; utilization as a fraction, a 32-bit float.
// Cost:    O(triggers * points + containers).
// Errors:  none.  Options with Problems(), negative counts, and deltas that are not numbers or do
//          not fit in 64 bits give decisions without action, which do not change the status.  With
//          such options or counts no point is recorded either.
// Threads: none.
// Source:  Maestro v9.16, watcher (one round) and controller (bounds).  On purpose otherwise: a
//          delta that is NaN or overflows makes a round without action (there it may crash the
//          watcher), and a failed scale-down removes no ready room.

#ifndef EBB_SIZING_POLICY_MAESTRO_MAESTRO_H_
#define EBB_SIZING_POLICY_MAESTRO_MAESTRO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/maestro/maestro_options.h"
#include "sizing/policy/maestro/maestro_types.h"

namespace ebb {

// What a policy sees of a pool in one round.
struct MaestroObservation {
  MaestroCounts counts = {};
  int64_t pending_pods = 0;      // If there are any, no room is created.
  int64_t image_error_pods = 0;  // Pods that cannot pull an image.
};

enum class MaestroStatus : uint8_t {
  kInSync,
  kSubdimensioned,   // An up trigger matches.
  kOverdimensioned,  // A down trigger matches.
  kCreating,         // The caller sets and ends kCreating and kTerminating.
  kTerminating,
};
std::string_view Name(MaestroStatus status);

// NaN equals NaN here, so that a state equals its copy.
struct MaestroPoint {
  float utilization = 0;
  bool operator==(const MaestroPoint& other) const;
};

// State that must survive from round to round and across restarts.
struct MaestroState {
  MaestroStatus status = MaestroStatus::kInSync;
  // When the last successful operation of a round began; for a new pool, the pool's creation.
  // Manual operations and panics do not count.
  int64_t last_scale_op_at = 0;
  std::map<std::string, std::vector<MaestroPoint>> points = {};  // By type, newest first.
  // A panic is running until this time at the latest.
  std::optional<int64_t> panic_locked_until = {};

  bool operator==(const MaestroState&) const = default;
};

enum class MaestroDirection : uint8_t { kUp, kDown };
std::string_view Name(MaestroDirection direction);

// Why a round asked for rooms, or for none.
enum class MaestroReason : uint8_t {
  kNone,   // No trigger matched with a delta in its direction.
  kState,  // The pool is being created or terminated.
  kBelowMin,
  kAboveMax,
  kLimit,
  kTrigger,
  kCooldown,  // Some triggers matched, all of them in cooldown.
  kNoNumber,  // A needed delta is not a number, or does not fit in 64 bits.
  kInvalidOptions,
  kInvalidCounts,
};
std::string_view Name(MaestroReason reason);

// Which bound changed the number of rooms.
enum class MaestroBound : uint8_t { kNone, kMin, kMax, kMaxScaleUpAmount };
std::string_view Name(MaestroBound bound);

// Why an operation is refused as a whole.
enum class MaestroRefusal : uint8_t { kNone, kPendingPods, kImageError, kTooFewReady };
std::string_view Name(MaestroRefusal refusal);

// A point that this round recorded.
struct MaestroSample {
  std::string type = {};
  float utilization = 0;
  int64_t kept = 0;  // The maximum length of the list now.
};

// A trigger that the round tried.
struct MaestroCheck {
  MaestroDirection direction = MaestroDirection::kUp;
  size_t index = 0;  // In the list of its direction.
  std::string type = {};
  float utilization = 0;
  bool limit_hit = false;
  // Not set if limit_hit:
  int64_t window = 0;
  int64_t points = 0;  // The number of points in the window.
  int64_t beyond = 0;  // The number of points above (up) or below (down) the usage.
  bool matched = false;
  // Only if limit_hit or matched; absent also if it is not a number.
  std::optional<int64_t> delta = {};
  bool cooldown = false;  // Matched, with a delta in its direction, but in cooldown.
};

struct MaestroDecision {
  MaestroReason reason = MaestroReason::kNone;
  int64_t delta = 0;  // Rooms to add (above 0) or ready rooms to remove (below 0) now.
  MaestroRefusal refusal = MaestroRefusal::kNone;  // Why delta is 0 although `bounded` is not.

  // The figures of the computation.
  int64_t now_s = 0;
  int64_t available = 0;
  int64_t asked = 0;    // Before step 6.
  int64_t bounded = 0;  // Before refusal.
  MaestroBound bound = MaestroBound::kNone;
  // kLimit, kTrigger, kNoNumber: the index in `checks` of the trigger that decided.
  std::optional<size_t> decided_by = {};
  std::vector<MaestroSample> samples = {};  // By type.
  std::vector<MaestroCheck> checks = {};    // In the order in which they were tried.
};

// One round.
MaestroDecision Decide(const MaestroOptions& options, const MaestroTypes& types,
                       const MaestroObservation& observation, int64_t now_s, MaestroState* state);

// Reports that the operation of `decision` succeeded.  Without this call it counts as failed.  Not
// needed if the bounds left nothing to do.
void Succeeded(const MaestroDecision& decision, MaestroState* state);

// Bounds an operation that adds `amount` rooms to `available`.  REQUIRES: the sum fits in 64 bits.
struct MaestroBounded {
  int64_t amount;
  MaestroBound bound;
};
MaestroBounded BoundUp(const MaestroOptions& options, int64_t available, int64_t amount);
// Bounds an operation that removes `amount` rooms.
MaestroBounded BoundDown(const MaestroOptions& options, int64_t available, int64_t amount);

// Whether, and why, no room can be created now.
MaestroRefusal RefuseCreation(const MaestroOptions& options, const MaestroObservation& observation);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_H_
