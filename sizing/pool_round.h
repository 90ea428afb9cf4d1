// DecidePool: one round of a pool, over the state that is kept of it.
//
// A pool in failsafe does nothing, whatever its policy says.  PoolState::failsafe decides: a policy
// that enters failsafe by its own rules sets it, and when an operator has cleared it, the policy's
// own failsafe is cleared before the policy decides.  The pool does not act on a signal older than
// its signalPeriod, nor at a time before the last round.  If the pool has a new policy, the state
// of the old policy is dropped, except failsafe.
//
// DecidePool leaves the policy's new state in `memory`.  The caller stores it before it acts.
//
// Cost:    that of the policy's Decide.
// Threads: pure.

#ifndef EBB_SIZING_POOL_ROUND_H_
#define EBB_SIZING_POOL_ROUND_H_

#include <cstdint>
#include <string_view>

#include "engine/scale_down/sizing_state.h"
#include "sizing/policy/policy.h"
#include "sizing/policy_file.h"

namespace ebb {

inline constexpr std::string_view kFailsafe = "failsafe";

PolicyDecision DecidePool(const SizedPool& pool, const PolicyObservation& seen, int64_t now_s,
                          PoolState& memory);

// The stored state of a pool; if the pool has no state, inserts a new one in order of name.
PoolState& MemoryOf(const SizedPool& pool, SizingState& state);

}  // namespace ebb

#endif  // EBB_SIZING_POOL_ROUND_H_
