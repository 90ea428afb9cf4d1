// ToldDeletions: how an actuator's deletions stand, as a round is told of them (RoundInput).
//
// Cost:    O(deletions).
// Threads: any.

#ifndef EBB_LOOP_TOLD_DELETIONS_H_
#define EBB_LOOP_TOLD_DELETIONS_H_

#include <vector>

#include "engine/actuation_status.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/started_deletions.h"
#include "loop/actuator.h"

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

#endif  // EBB_LOOP_TOLD_DELETIONS_H_
