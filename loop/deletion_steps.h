// AdvanceDeletions: moves each running deletion to its next phase when that is due.
//
// A node waits after it was tainted, so that schedulers see the taint.  Then it is drained, and
// then deleted.  Nodes of an atomic group wait for each other before any of them is deleted.  A
// failed deletion is rolled back.  If it belongs to an atomic group, all nodes of the group that
// are not being deleted yet are rolled back too, because the group can no longer be removed as a
// whole; a node that is draining is rolled back after its drain.
//
// It keeps no state: all decisions follow from the actuator's status, so a restarted process
// continues where the previous one stopped.
//
// Cost:    O(running deletions), and the actuator's calls.
// Threads: not thread-safe.
// Source:  cluster-autoscaler core/scaledown/actuation group_deletion_scheduler.go, delay.go.

#ifndef EBB_LOOP_DELETION_STEPS_H_
#define EBB_LOOP_DELETION_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "loop/actuator.h"

namespace ebb {

struct DeletionStepOptions {
  int64_t node_delete_delay_after_taint_s = 5;
};

// Returns one line for each call that failed.  The call is made again next time, because it is
// still due.
std::vector<std::string> AdvanceDeletions(Actuator& actuator, const ActuatorStatus& status,
                                          const DeletionStepOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_LOOP_DELETION_STEPS_H_
