// Sizer: decides how many nodes pools should have.  A Loop (loop.h) calls it before each of its
// rounds.
//
// Decide changes only the sizer's own state.  The loop persists that state with its round, and then
// calls Act.  If the state could not be persisted, Act is not called; the decisions stay in the
// sizer's queues and are carried out in a later turn.
//
// Ownership: borrows its arguments during a call.
// Threads:   one at a time.

#ifndef EBB_LOOP_SIZER_H_
#define EBB_LOOP_SIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/actuation_status.h"
#include "loop/actuator.h"

namespace ebb {

// The result of a turn for one pool.
struct PoolTurn {
  std::string pool;
  std::string policy;   // Its name.
  int64_t nodes = 0;    // Without nodes that are leaving.
  int64_t delta = 0;    // The change that the policy asked for.
  int64_t leaving = 0;  // Nodes that were queued for removal because of delta.
  std::string group;    // The actuator's name for it; empty: unknown.
  // The number of machines that the group is asked to have; 0: it does not grow.
  int64_t grow_to = 0;
  int64_t grow_by = 0;  // How many of these are new.
  // Nodes, by name.
  std::vector<std::string> untaint = {};  // To be used again instead of new machines.
  std::vector<std::string> taint = {};    // To be tainted, in addition to what delta says.
  // To be removed because they were tainted, whatever delta says.
  std::vector<std::string> reap = {};
  std::string reason;     // The policy's explanation.
  std::string denied_by;  // The check that prevented an action; empty: no check did.
  bool failsafe = false;
  friend bool operator==(const PoolTurn&, const PoolTurn&) = default;
};

struct SizingTurn {
  int64_t now_s = 0;
  std::vector<PoolTurn> pools;        // The pools that were decided about.
  std::vector<NodeInDeletion> leave;  // Nodes whose deletion Act will begin.
  std::vector<std::string> members;   // All nodes of pools; rounds must not shrink their groups.
  std::vector<std::string> log;       // Denials, failures and warnings, a line each.
};

struct Observation;  // loop/rounds.h

class Sizer {
 public:
  virtual ~Sizer() = default;

  // `status`: the actuator's deletions, with the results that this turn has read.  Changes the
  // groups of `observed` so that a round over it does not shrink the groups of pools, and lists the
  // nodes of pools in turn.members for a round that is made elsewhere.
  virtual void Decide(Observation& observed, const ActuatorStatus& status, SizingTurn& turn) = 0;
  // Begins what was decided.
  virtual void Act(Actuator& actuator, SizingTurn& turn) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_SIZER_H_
