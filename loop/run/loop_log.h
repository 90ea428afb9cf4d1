// One line for each turn of a loop (loop.h), and one for each of its events that matter to an
// operator.
//
//   2026-06-01T12:00:00Z round 12 ScaleDownNodeDeleteStarted: 200 nodes, 0 pods pending,
//       5 unneeded, 58 unremovable (40 NotEnoughPdb, 18 NoPlaceToMovePods; looked at again from
//       2026-06-01T12:01:12Z to 2026-06-01T12:04:30Z), 1 in deletion, 2 begin
//   2026-06-01T12:00:00Z begin n7: drain, 12 pods
//   2026-06-01T12:00:00Z ended n3
//   2026-06-01T12:00:00Z pool web, escalator: 2 nodes, +6 (up), group web is to have 8 machines
//   2026-06-01T12:00:00Z no round: session prod: no client feeds it: ...
//
// In JSON each turn is one object with all of these.
//
// Threads: pure.

#ifndef EBB_LOOP_RUN_LOOP_LOG_H_
#define EBB_LOOP_RUN_LOOP_LOG_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "loop/loop.h"

namespace ebb {

// Each line ends with a newline.
std::string TurnAsText(const LoopTurn& turn);
std::string TurnAsJson(const LoopTurn& turn);

// "58 unremovable (40 NotEnoughPdb, 18 NoPlaceToMovePods; 40 of them looked at again at
// 2026-06-01T12:01:12Z)", and the same as data.
std::string UnremovableAsText(const UnremovableNodes& nodes);
nlohmann::ordered_json UnremovableAsJson(const UnremovableNodes& nodes);

// "pool web, escalator: 2 nodes, stays (cooldown); denied by lock"
std::string PoolAsText(const PoolTurn& pool);
// Adds the decision of the pool and its result to an object that names the pool.
void AddPoolTurn(const PoolTurn& pool, nlohmann::ordered_json& json);

}  // namespace ebb

#endif  // EBB_LOOP_RUN_LOOP_LOG_H_
