// ScaleDownState: the state of ScaleDown (round.h) that must survive a restart, as text and times
// (seconds since the Unix epoch).  It owns its data and uses no ids, so that it can be stored
// (state_store.h).
//
// Equal states have equal bytes: every list is sorted, except `skipped`, whose order is part of the
// state.

#ifndef EBB_ENGINE_SCALE_DOWN_SCALE_DOWN_STATE_H_
#define EBB_ENGINE_SCALE_DOWN_SCALE_DOWN_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/actuation_status.h"
#include "engine/pass/planner_memory.h"
#include "engine/plan/limits.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/started_deletions.h"
#include "engine/scale_down/unneeded.h"

namespace ebb {

struct ScaleDownState {
  struct SkippedNode {
    std::string node;
    int64_t since_s = 0;
    friend bool operator==(const SkippedNode&, const SkippedNode&) = default;
  };
  int64_t rounds = 0;
  int64_t latest_s = 0;  // The time of the last round whose time was accepted.
  // The time of the last round, if it jumped and was not accepted.
  std::optional<int64_t> jump_s;
  UnneededLimit::State limit;
  std::vector<UnneededTimers::Timer> timers;
  std::vector<SkippedNode> skipped;  // In the order in which they are tried next.
  bool resume = false;               // Whether `skipped` is tried first: a deadline cut the pass.
  ActuationStatus actuation;         // Including the evictions that still count.
  std::vector<StartedDeletions::Deletion> started;
  std::vector<Cooldowns::Last> cooldowns;
  PlannerMemory planner;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_SCALE_DOWN_STATE_H_
