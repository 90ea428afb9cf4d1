#include "tests/policies/maestro_panic.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace ebb {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// Whether more than `limit` percent of the `available` rooms are occupied.
bool OverLimit(int64_t occupied, int64_t available, int64_t limit) {
  return static_cast<__int128>(occupied) * 100 > static_cast<__int128>(available) * limit;
}

MaestroPanicReason Judge(const MaestroOptions& options, const MaestroObservation& observation,
                         int64_t now_s, const MaestroState& state, MaestroPanic* panic) {
  if (!options.enable_panic_scale) return MaestroPanicReason::kDisabled;
  if (options.max > 0 && options.min > options.max) return MaestroPanicReason::kInvalidOptions;
  const std::optional<int64_t> available = Available(observation.counts.rooms);
  if (!available) return MaestroPanicReason::kInvalidCounts;

  panic->available = *available;
  panic->limit = UpLimit(options.up.trigger);
  if (!OverLimit(observation.counts.rooms.occupied, *available, panic->limit)) {
    return MaestroPanicReason::kWithinLimit;
  }
  if (state.panic_locked_until && now_s < *state.panic_locked_until) {
    return MaestroPanicReason::kLocked;
  }
  if (options.up.delta > kLargest - *available) return MaestroPanicReason::kNoNumber;
  return MaestroPanicReason::kPanic;
}

}  // namespace

MaestroPanic Panic(const MaestroOptions& options, const MaestroObservation& observation,
                   int64_t now_s, MaestroState* state) {
  MaestroPanic panic;
  panic.reason = Judge(options, observation, now_s, *state, &panic);
  if (panic.reason != MaestroPanicReason::kPanic) return panic;

  const auto [amount, bound] = BoundUp(options, panic.available, options.up.delta);
  panic.bounded = std::max<int64_t>(amount, 0);
  panic.bound = bound;
  panic.refusal = RefuseCreation(options, observation);
  if (panic.refusal != MaestroRefusal::kNone || panic.bounded == 0) return panic;

  panic.delta = panic.bounded;
  int64_t until = kLargest;
  const int64_t timeout = std::max<int64_t>(options.key_timeout, 0);
  if (__builtin_add_overflow(now_s, timeout, &until)) until = kLargest;
  state->panic_locked_until = until;
  return panic;
}

void PanicEnded(MaestroState* state) { state->panic_locked_until.reset(); }

std::string_view Name(MaestroPanicReason reason) {
  switch (reason) {
    using enum MaestroPanicReason;
    case kPanic:
      return "panic";
    case kDisabled:
      return "disabled";
    case kWithinLimit:
      return "within_limit";
    case kLocked:
      return "locked";
    case kNoNumber:
      return "no_number";
    case kInvalidOptions:
      return "invalid_options";
    case kInvalidCounts:
      return "invalid_counts";
  }
  return "";
}

}  // namespace ebb
