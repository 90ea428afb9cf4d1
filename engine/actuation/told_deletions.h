// ToldDeletions: how an actuator's deletions stand, as a round is told of them (RoundInput).
//
// Cost:    O(deletions).
// Threads: any.

#ifndef EBB_ENGINE_ACTUATION_TOLD_DELETIONS_H_
#define EBB_ENGINE_ACTUATION_TOLD_DELETIONS_H_

#include <vector>

#include "engine/actuation/actuator.h"
#include "engine/actuation_status.h"
#include "engine/cooldown.h"
#include "engine/started_deletions.h"

namespace ebb {

struct ToldDeletions {
  ActuationStatus in_progress;
  std::vector<EndedDeletion> ended;
  std::vector<ScaleEvent> failed;  // Of `ended`, those that did not succeed.
};

ToldDeletions TellDeletions(const ActuatorStatus& status);

// Takes deletions that could not begin for ended ones.  Forgets those of which the actuator knows:
// the call was carried out, and its answer lost.
void AddNotBegun(std::vector<DeletionResult>& not_begun, ActuatorStatus& status);

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_TOLD_DELETIONS_H_
