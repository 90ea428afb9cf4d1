// AdvanceDeletions: what is due of the deletions that run.
//
// A node waits after its taint, so that schedulers see it; then it is drained; when it is drained
// it is deleted.  Nodes of an atomic group wait for each other before any is deleted.  A deletion
// that failed is rolled back, and with it all of its atomic group that are not being deleted yet;
// those that drain meanwhile are when they have drained, as their group cannot be whole any more.
//
// It keeps nothing: all that it decides follows from the actuator's status, and so a process that
// is restarted goes on where the one before was.
//
// Cost:    O(running deletions), and the actuator's calls.
// Threads: not thread-safe.
// Source:  cluster-autoscaler core/scaledown/actuation group_deletion_scheduler.go, delay.go.

#ifndef EBB_ENGINE_ACTUATION_DELETION_STEPS_H_
#define EBB_ENGINE_ACTUATION_DELETION_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/actuation/actuator.h"

namespace ebb {

struct DeletionStepOptions {
  int64_t node_delete_delay_after_taint_s = 5;
};

// The calls that failed, a line each: what they were for is tried again the next time, as it is
// still due.
std::vector<std::string> AdvanceDeletions(Actuator& actuator, const ActuatorStatus& status,
                                          const DeletionStepOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_DELETION_STEPS_H_
