// Maestro: triggers tried in order, over points of utilization in time; one round.
//
//   const MaestroDecision made = Decide(options, types, observation, now_s, &state);
//   if (made.delta != 0 && Scale(made.delta)) Succeeded(made, &state);
//
// Order of a round:
//  1. Points: for each type that a trigger has, the present utilization is put before its list,
//     which is cut to the window of the last trigger of that type (up first, then down) plus one.
//     Lists belong to types, not to triggers or directions, and have no expiry.
//  2. A pool that is created or terminated: no more than that.
//  3. Fewer rooms than min, more than max: the difference, whatever triggers and cooldown say.
//  4. Unless max is reached, the up triggers in their order:
//     - utilization at or above the limit decides at once, in cooldown as well, whatever the sign
//       of its delta: at 0 nothing happens, below 0 rooms go;
//     - a match with a delta above 0 decides if more than the cooldown has passed, else the next
//       trigger is tried.  One with another delta counts as none.
//  5. If none of them had a limit or match, and min is exceeded: the down triggers in the same
//     way, without limits and with deltas below 0.
//  6. Bounds: min and max, on growing also max_scale_up_amount; then what refuses an operation as
//     a whole: pending pods or image errors on growing, too few ready rooms on shrinking.
//
// A trigger of window n = time / period looks at its newest n + 1 points, or at as many as there
// are.  It matches if those beyond its usage, times 100, exceed threshold * n.  A window that is
// not full yet may match; utilization that is no number is a point that is beyond nothing.
//
// Units:   seconds since the Unix epoch, rooms, percent; utilization as a fraction of 32 bits.
// Cost:    O(triggers * points + containers).
// Errors:  none: options with Problems(), negative counts and deltas that are no number of 64 bits
//          are decisions without action that change no status.  With such options or counts no
//          point is kept either.
// Threads: none.
// Source:  Maestro v9.16, watcher (one round) and controller (bounds).  On purpose otherwise: a
//          delta that is no number, or overflows, is a round without action (there it may crash
//          the watcher), and a scale-down that fails loses no ready room.

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

// What one round sees of a pool.
struct MaestroObservation {
  MaestroCounts counts = {};
  int64_t pending_pods = 0;      // Any: nothing is created.
  int64_t image_error_pods = 0;  // Those that wait for an image in vain.
};

enum class MaestroStatus : uint8_t {
  kInSync,
  kSubdimensioned,   // An up trigger matches.
  kOverdimensioned,  // A down trigger matches.
  kCreating,         // Both are set by others, and end by them.
  kTerminating,
};
std::string_view Name(MaestroStatus status);

// One that is no number equals another, so that a state equals its copy.
struct MaestroPoint {
  float utilization = 0;
  bool operator==(const MaestroPoint& other) const;
};

// What stays from round to round and across restarts.
struct MaestroState {
  MaestroStatus status = MaestroStatus::kInSync;
  // When the last operation of a round that went well began; for a new pool, its creation.  Those
  // by hand and by panic do not count.
  int64_t last_scale_op_at = 0;
  std::map<std::string, std::vector<MaestroPoint>> points = {};  // By type, newest first.
  // A panic acts until then at the latest (the program scales so; ebb does not).
  std::optional<int64_t> panic_locked_until = {};

  bool operator==(const MaestroState&) const = default;
};

enum class MaestroDirection : uint8_t { kUp, kDown };
std::string_view Name(MaestroDirection direction);

// What a round came to.
enum class MaestroReason : uint8_t {
  kNone,   // No trigger matched with a delta of its direction.
  kState,  // The pool is being created or terminated.
  kBelowMin,
  kAboveMax,
  kLimit,
  kTrigger,
  kCooldown,  // Some matched, all of them in cooldown.
  kNoNumber,  // A delta that is needed is no number, or too large to count with.
  kInvalidOptions,
  kInvalidCounts,
};
std::string_view Name(MaestroReason reason);

// What made the rooms asked for fewer or more.
enum class MaestroBound : uint8_t { kNone, kMin, kMax, kMaxScaleUpAmount };
std::string_view Name(MaestroBound bound);

// Why an operation would fail as a whole.
enum class MaestroRefusal : uint8_t { kNone, kPendingPods, kImageError, kTooFewReady };
std::string_view Name(MaestroRefusal refusal);

// A point of this round.
struct MaestroSample {
  std::string type = {};
  float utilization = 0;
  int64_t kept = 0;  // Most points that the list has now.
};

// A trigger that was looked at.
struct MaestroCheck {
  MaestroDirection direction = MaestroDirection::kUp;
  size_t index = 0;  // In its list.
  std::string type = {};
  float utilization = 0;
  bool limit_hit = false;
  // Unless limit_hit:
  int64_t window = 0;
  int64_t points = 0;  // Those looked at.
  int64_t beyond = 0;  // Those of them above (up) or below (down) the usage.
  bool matched = false;
  // If limit_hit or matched; absent also if it is no number.
  std::optional<int64_t> delta = {};
  bool cooldown = false;  // Matched, with a delta of its direction, but too early.
};

struct MaestroDecision {
  MaestroReason reason = MaestroReason::kNone;
  int64_t delta = 0;  // Rooms to add (above 0) or, ready ones, to take away (below 0) now.
  MaestroRefusal refusal = MaestroRefusal::kNone;  // Why it is 0 though `bounded` is not.

  // What it was computed from.
  int64_t now_s = 0;
  int64_t available = 0;
  int64_t asked = 0;    // Before step 6.
  int64_t bounded = 0;  // Before refusal.
  MaestroBound bound = MaestroBound::kNone;
  // kLimit, kTrigger, kNoNumber: which of `checks` decided.
  std::optional<size_t> decided_by = {};
  std::vector<MaestroSample> samples = {};  // By type.
  std::vector<MaestroCheck> checks = {};    // In the order of trial.
};

// One round.
MaestroDecision Decide(const MaestroOptions& options, const MaestroTypes& types,
                       const MaestroObservation& observation, int64_t now_s, MaestroState* state);

// The operation of `decision` ended without error; without this call, it failed.  An operation that
// bounds left nothing to do for needs none.
void Succeeded(const MaestroDecision& decision, MaestroState* state);

// `amount` more rooms than `available`, within bounds; REQUIRES: their sum has 64 bits.
struct MaestroBounded {
  int64_t amount;
  MaestroBound bound;
};
MaestroBounded BoundUp(const MaestroOptions& options, int64_t available, int64_t amount);
// As many fewer.
MaestroBounded BoundDown(const MaestroOptions& options, int64_t available, int64_t amount);

// Why no room can be created now.
MaestroRefusal RefuseCreation(const MaestroOptions& options, const MaestroObservation& observation);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_H_
