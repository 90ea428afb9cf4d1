// SizingState: what sizing policies remember about their pools, and the nodes that are queued for
// removal.  Plain data, by name.  A StateStore keeps it next to the state of rounds.
//
// Pools are sorted by name; a queue keeps the order in which its nodes were added.

#ifndef EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_
#define EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct PoolState {
  std::string pool;
  std::string policy;      // Its name; a state belongs to one policy.
  std::string state = {};  // Text of the policy (policy.h); empty: the state of a new pool.
  int64_t at_s = 0;        // The time of the last round.
  // Consecutive failed steps, of any policy; a success resets it.
  int64_t failures = 0;
  // True: no action is taken until an operator ends the failsafe.
  bool failsafe = false;
  // A request for machines that have not all arrived.  The group is to have `grow_to` nodes; the
  // cloud creates `grow_by` of them after `grow_since_s`.  0: no such request.
  int64_t grow_to = 0;
  int64_t grow_by = 0;
  int64_t grow_since_s = 0;
  friend bool operator==(const PoolState&, const PoolState&) = default;
};

// The queue in which a node waits.
enum class NodeQueue : uint8_t { kDrain, kTerminate };

// A node is in one queue only, and once.
struct QueuedNode {
  std::string node;
  std::string uid = {};  // Empty: unknown.
  std::string pool = {};
  NodeQueue queue = NodeQueue::kDrain;
  int64_t since_s = 0;   // When it was added to this queue.
  int64_t attempts = 0;  // Failed attempts in this queue.
  int64_t retry_s = 0;   // No attempt is made before this time.
  friend bool operator==(const QueuedNode&, const QueuedNode&) = default;
};

struct SizingState {
  std::vector<PoolState> pools;
  std::vector<QueuedNode> queue;
  friend bool operator==(const SizingState&, const SizingState&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_SIZING_STATE_H_
