// Replicator: keeps room in a worker pool for the loss of some nodes, and for each scaled job to
// grow by one.  Decide is one round.
//
//   const ReplicatorDecision made = Decide(options, observation, now_ms, &state);
//   if (made.reason == ReplicatorReason::kScaleOut) Grow(made.target);
//   Store(options.replicator_worker_pool, state);
//
// Order of a round; the first step that decides ends it:
//  1. failsafe is on; or an operation is still running; or the pool enters failsafe now, because
//     the failures have reached the retry threshold;
//  2. allocations or jobs could not be read; or the pool has no nodes;
//  3. figures (replicator_figures.h), which always have a direction;
//  4. scale-in only: the simulation without one node;
//  5. the provider group: not read, not as large as the number of registered nodes, or beyond its
//     min or max;
//  6. the pool's own min and max;
//  7. cooldown since the last operation, of either direction;
//  8. fewer rounds in a row have asked than the scaling threshold requires;
//  9. scale-in only: the node to remove.
// Only step 8 changes the counts, and only step 1 changes failsafe.
//
// Units:   milliseconds since the Unix epoch; nodes; percent.
// Cost:    that of Figures().
// Errors:  none: an error is a decision without action, with its reason.
// Threads: none.
// Source:  Nomad Replicator, replicator/cluster_scaling.go; step 6 is from its release 1.0.3, and
//          the scale factor from its author's fork.  On purpose otherwise: a group that cannot be
//          read denies the operation (there it crashes).  A count permits at or above its threshold
//          (there only at it, so that a count above it blocks the pool forever).

#ifndef EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_H_
#define EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/replicator/replicator_figures.h"
#include "sizing/policy/replicator/replicator_options.h"
#include "sizing/policy/replicator/replicator_state.h"

namespace ebb {

// The provider's group behind a pool.
struct ReplicatorGroup {
  int64_t min = 0;
  int64_t max = 0;
  int64_t desired = 0;
};

// What a policy sees of a pool in one round.
struct ReplicatorObservation {
  std::vector<ReplicatorNode> nodes = {};     // The registered nodes.
  std::vector<ReplicatorJob> jobs = {};       // The jobs registered for scaling.
  bool readable = true;                       // False: allocations or jobs could not be read.
  std::optional<ReplicatorGroup> group = {};  // Absent: not read, or not exactly one group.
  // Never removed, as the node that runs ebb.  Empty: no such node.
  std::string protected_node = {};
  bool notifiers = true;  // False: a notice would have no receiver.
};

// The action of a round, or the check that denied it.
enum class ReplicatorReason : uint8_t {
  kScaleOut,
  kScaleIn,
  // Denied:
  kFailsafe,
  kFailsafeEntered,
  kOperationRunning,
  kUnreadable,
  kNoNodes,
  kSimulation,
  kProviderUnreadable,
  kProviderCountMismatch,
  kProviderMin,
  kProviderMax,
  kPoolMin,
  kPoolMax,
  kScaleFactor,  // A scale-out would add no node.
  kCooldown,
  kScalingThreshold,
  kNoNode,  // No node may go, or the address of the node to remove is unknown.
};
std::string_view Name(ReplicatorReason reason);

struct ReplicatorDecision {
  ReplicatorReason reason = ReplicatorReason::kUnreadable;
  int64_t delta = 0;      // Nodes: above 0 to add, -1 to remove one, 0 for no action.
  int64_t target = 0;     // The group's desired count, delta included.  0 without a group.
  std::string node = {};  // kScaleIn: the node to remove.
  std::string address = {};

  // The figures of the decision.  Absent if the round ended before step 3.
  std::optional<ReplicatorFigures> figures = {};
  // All of steps 4 to 7 that deny, in this order; `reason` is the first of them.
  std::vector<ReplicatorReason> denied_by = {};
  // Step 8: rounds in a row, including this one; 0 if step 8 was not reached.
  int64_t requests = 0;

  std::optional<ReplicatorNotice> notice = {};  // kFailsafeEntered: send this.
};

// One round.
ReplicatorDecision Decide(const ReplicatorOptions& options,
                          const ReplicatorObservation& observation, int64_t now_ms,
                          ReplicatorState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_H_
