// Sizer: how many nodes pools should have, as a Loop (loop.h) asks before each of its rounds.
//
// Decide changes nothing but what the sizer itself remembers; the loop records that with its round,
// and then lets it Act.  A turn that could not record does not act; whatever was decided waits in
// the sizer's queues and is done in a later turn.
//
// Ownership: borrows what it is called with, during the call.
// Threads:   one at a time.

#ifndef EBB_LOOP_SIZER_H_
#define EBB_LOOP_SIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/actuation_status.h"
#include "loop/actuator.h"

namespace ebb {

// What came of one pool in a turn.
struct PoolTurn {
  std::string pool;
  std::string policy;   // Its name.
  int64_t nodes = 0;    // Without those that leave.
  int64_t delta = 0;    // What the policy asked for.
  int64_t leaving = 0;  // Nodes that were queued to go for it.
  std::string group;    // The actuator's name; empty: not known.
  int64_t grow_to = 0;  // Machines that the group is asked to have; 0: it does not grow.
  int64_t grow_by = 0;  // Those of them that are new.
  // Nodes, by name.
  std::vector<std::string> untaint = {};  // Serve again instead of new machines.
  std::vector<std::string> taint = {};    // Are tainted beside what delta says.
  std::vector<std::string> reap = {};     // Go because they were tainted, whatever delta says.
  std::string reason;                     // The policy's word.
  std::string denied_by;                  // Which check kept it from acting; empty: none.
  bool failsafe = false;
  friend bool operator==(const PoolTurn&, const PoolTurn&) = default;
};

struct SizingTurn {
  int64_t now_s = 0;
  std::vector<PoolTurn> pools;        // Those that were decided.
  std::vector<NodeInDeletion> leave;  // Nodes whose deletion Act is to begin.
  std::vector<std::string> members;   // All nodes of pools; their groups no round takes from.
  std::vector<std::string> log;       // Denials, failures and warnings, a line each.
};

struct Observation;  // loop/loop.h

class Sizer {
 public:
  virtual ~Sizer() = default;

  // `status`: how the actuator's deletions stand, with those results that this turn told.
  // Sets groups of `observed` so that a round over it leaves those of pools alone, and names their
  // nodes for one that is made elsewhere.
  virtual void Decide(Observation& observed, const ActuatorStatus& status, SizingTurn& turn) = 0;
  // Begins what was decided.
  virtual void Act(Actuator& actuator, SizingTurn& turn) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_SIZER_H_
