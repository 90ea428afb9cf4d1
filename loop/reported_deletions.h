// ReportedDeletions: the state of an actuator's deletions, in the form that a round takes
// (RoundInput).
//
// Cost:    O(deletions).
// Threads: any.

#ifndef EBB_LOOP_REPORTED_DELETIONS_H_
#define EBB_LOOP_REPORTED_DELETIONS_H_

#include <vector>

#include "engine/actuation_status.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/started_deletions.h"
#include "loop/actuator.h"

namespace ebb {

struct ReportedDeletions {
  ActuationStatus in_progress;
  std::vector<EndedDeletion> ended;
  std::vector<ScaleEvent> failed;  // The deletions of `ended` that did not succeed.
};

ReportedDeletions ReportDeletions(const ActuatorStatus& status);

// Adds the deletions that could not begin to the results of `status`.  Drops those from `not_begun`
// that the actuator knows: the call was carried out, but its reply was lost.
void AddNotBegun(std::vector<DeletionResult>& not_begun, ActuatorStatus& status);

}  // namespace ebb

#endif  // EBB_LOOP_REPORTED_DELETIONS_H_
