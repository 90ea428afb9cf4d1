// Replicator: keep room in a worker pool for the loss of some nodes and for each scaled job to grow
// by one; one round of it.
//
//   const ReplicatorDecision made = Decide(options, observation, now_ms, &state);
//   if (made.reason == ReplicatorReason::kScaleOut) StartScaleOut(made.target, now_ms, &state);
//   Store(options.replicator_worker_pool, state);
//
// Order of a round; the first step that decides ends it:
//  1. failsafe is on; an operation still runs; failsafe is entered now because failures have
//     reached the retry threshold;
//  2. allocations or jobs that could not be read; a pool without nodes;
//  3. figures (replicator_figures.h): there is always a direction;
//  4. scale-in only: the simulation without a node;
//  5. the provider group: unread, not as many as registered nodes, beyond its min or max;
//  6. the pool's own min and max;
//  7. cooldown since the last operation, of either direction;
//  8. asked as many rounds in a row as the scaling threshold says;
//  9. scale-in only: the node to go.
// Only step 8 changes the counts, and only step 1 failsafe.
//
// Units:   milliseconds since the Unix epoch; nodes; percent.
// Cost:    that of Figures().
// Errors:  none: whatever is wrong is a decision without action, with its reason.
// Threads: none.
// Source:  Nomad Replicator, replicator/cluster_scaling.go; step 6 from its release 1.0.3, scale
//          factor from its author's fork.  On purpose otherwise: a group that cannot be read denies
//          (there it crashes), and the count permits at or above its threshold (there only at it,
//          so that a count past it is stuck for ever).

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

// What one round sees of a pool.
struct ReplicatorObservation {
  std::vector<ReplicatorNode> nodes = {};     // The registered ones.
  std::vector<ReplicatorJob> jobs = {};       // Those registered for scaling.
  bool readable = true;                       // False: allocations or jobs could not be read.
  std::optional<ReplicatorGroup> group = {};  // Absent: not read, or not exactly one.
  std::string protected_node = {};            // Never removed: the one that runs ebb.  Empty: none.
  bool notifiers = true;                      // Whether a notice reaches anybody.
};

// What a round came to: an action, or which check denied it.
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
  kScaleFactor,  // It adds no node.
  kCooldown,
  kScalingThreshold,
  kNoNode,  // None may go, or the address of the one that should is unknown.
};
std::string_view Name(ReplicatorReason reason);

struct ReplicatorDecision {
  ReplicatorReason reason = ReplicatorReason::kUnreadable;
  int64_t delta = 0;      // Nodes: above 0 to add, -1 to take one away, 0 without action.
  int64_t target = 0;     // The group's desired count, delta included.  0 without a group.
  std::string node = {};  // kScaleIn: which.
  std::string address = {};

  // What it was computed from.  Absent if the round ended before.
  std::optional<ReplicatorFigures> figures = {};
  // Every one of steps 4 to 7 that denies, in this order; `reason` is the first.
  std::vector<ReplicatorReason> denied_by = {};
  int64_t requests = 0;  // Step 8: in a row with this one; 0 if it was not reached.

  std::optional<ReplicatorNotice> notice = {};  // kFailsafeEntered: to be sent.
};

// One round.
ReplicatorDecision Decide(const ReplicatorOptions& options,
                          const ReplicatorObservation& observation, int64_t now_ms,
                          ReplicatorState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_H_
