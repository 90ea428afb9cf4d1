// DecidePool: one round of a pool, from what is remembered of it to what is to be remembered.
//
// A pool in failsafe does nothing, whatever its policy.  PoolState::failsafe is the one that
// counts: a policy that enters failsafe by its own rules sets it, and one whose pool was cleared
// there is cleared before it decides.  A signal that is older than the pool's signalPeriod is not
// acted upon, and a time before the last round's is no round.  What another policy remembered of
// the pool is forgotten, but for failsafe.
//
// The policy's state is afterwards in `memory`, which the caller stores before it acts.
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

// What is remembered of a pool; a new one is put at its place.
PoolState& MemoryOf(const SizedPool& pool, SizingState& state);

}  // namespace ebb

#endif  // EBB_SIZING_POOL_ROUND_H_
