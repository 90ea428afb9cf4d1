// SizingState: what sizing policies remember of their pools, and the nodes that are on their way
// out, as data by name.  A StateStore keeps it beside the state of rounds.
//
// Lists are sorted by pool, and those of queues by the order in which their nodes came.

#ifndef EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_
#define EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct PoolState {
  std::string pool;
  std::string policy;      // Its name; a state is of one policy.
  std::string state = {};  // The policy's own text (policy.h); empty: that of a new pool.
  int64_t at_s = 0;        // Of the last round.
  // Steps in a row that failed, whatever the policy; a success ends the row.
  int64_t failures = 0;
  // No action until an operator ends it.
  bool failsafe = false;
  // The machines that the group was asked for and that have not all come: it is to have `grow_to`,
  // of which `grow_by` are made after `grow_since_s`.  0: there are none.
  int64_t grow_to = 0;
  int64_t grow_by = 0;
  int64_t grow_since_s = 0;
  friend bool operator==(const PoolState&, const PoolState&) = default;
};

// In which queue a node waits.
enum class NodeQueue : uint8_t { kDrain, kTerminate };

// A node is in one queue, once.
struct QueuedNode {
  std::string node;
  std::string uid = {};  // Empty: not known.
  std::string pool = {};
  NodeQueue queue = NodeQueue::kDrain;
  int64_t since_s = 0;   // When it came into this queue.
  int64_t attempts = 0;  // That failed, in this queue.
  int64_t retry_s = 0;   // Not worked on before.
  friend bool operator==(const QueuedNode&, const QueuedNode&) = default;
};

struct SizingState {
  std::vector<PoolState> pools;
  std::vector<QueuedNode> queue;
  friend bool operator==(const SizingState&, const SizingState&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_
