#include "sizing/pool_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sizing/signal_series.h"

namespace ebb {
namespace {

PolicyDecision Stale(const SizedPool& pool, const PolicyObservation& seen,
                     const std::vector<std::string>& stale, int64_t now_s) {
  PolicyDecision decision = Denied("signalPeriod", "stale signal");
  for (const std::string& name : stale) {
    decision.figures.push_back({fmt::format("signal {}, seconds old", name),
                                std::to_string(now_s - *seen.signals.find(name)->second.at_s)});
  }
  decision.figures.push_back({"signalPeriod", std::to_string(pool.signal_period_s)});
  return decision;
}

}  // namespace

PolicyDecision DecidePool(const SizedPool& pool, const PolicyObservation& seen, int64_t now_s,
                          PoolState& memory) {
  if (now_s < memory.at_s) return Denied("clock", "the time is before that of the last round");
  std::string forgotten;
  if (memory.policy != pool.policy_name) {
    if (!memory.state.empty()) {
      forgotten = fmt::format("what {} remembered of the pool is forgotten", memory.policy);
    }
    memory.policy = pool.policy_name;
    memory.state.clear();
  }
  memory.at_s = now_s;
  const std::vector<std::string> stale = StaleSignals(seen, pool.signal_period_s, now_s);
  PolicyDecision decision;
  if (memory.failsafe) {
    decision = Denied(kFailsafe, "in failsafe until an operator ends it");
    decision.figures.push_back({"failures in a row", std::to_string(memory.failures)});
  } else if (!stale.empty()) {
    decision = Stale(pool, seen, stale, now_s);
  } else {
    if (pool.policy->InFailsafe(memory.state)) pool.policy->SetFailsafe(false, &memory.state);
    decision = pool.policy->Decide(seen, now_s, &memory.state);
    memory.failsafe = pool.policy->InFailsafe(memory.state);
  }
  if (!forgotten.empty()) decision.warnings.push_back(forgotten);
  return decision;
}

PoolState& MemoryOf(const SizedPool& pool, SizingState& state) {
  const auto at = std::ranges::lower_bound(state.pools, pool.name, {}, &PoolState::pool);
  if (at != state.pools.end() && at->pool == pool.name) return *at;
  return *state.pools.insert(at, {.pool = pool.name, .policy = pool.policy_name});
}

}  // namespace ebb
