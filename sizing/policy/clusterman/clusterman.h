// One run of Clusterman's autoscaler for one pool.  It reads the request of the pool's signal,
// turns it into a capacity within the limits, spreads that over resource groups, and picks nodes to
// remove.
//
//   ClustermanState state;
//   const ClustermanDecision decision = Decide(options, observation, now_s, &state);
//   for (const ClustermanAction& action : decision.actions) Carry(action);
//
// The caller tries every action, even after one has failed; the next run sees the results.
//
// Units:     capacity in weight units, times in seconds.
// Cost:      O(pods + instances log instances + groups * units moved).
// Errors:    a decision with a refusal has no actions; it says why and which object is at fault,
//            and keeps the figures computed before the refusal.
// Threads:   pure, except for *state.
// Source:    Clusterman, "One autoscaler run", steps 1 to 7.  Where this code refuses, the program
//            ends the run by an exception.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_capacity.h"
#include "sizing/policy/clusterman/clusterman_options.h"
#include "sizing/policy/clusterman/clusterman_pool.h"
#include "sizing/policy/clusterman/clusterman_prune.h"
#include "sizing/policy/clusterman/clusterman_target.h"

namespace ebb {

// Set by an operator.  Holds up to and including until_s; absent: until the operator ends it.
struct ClustermanPause {
  std::optional<int64_t> until_s{};

  bool operator==(const ClustermanPause&) const = default;
};
struct ClustermanOffset {
  double capacity = 0;  // Added to the target capacity, after the margin and before the limits.
  std::optional<int64_t> until_s{};

  bool operator==(const ClustermanOffset&) const = default;
};

// State that must survive a restart.
struct ClustermanState {
  std::optional<ClustermanPause> pause{};
  std::optional<ClustermanOffset> offset{};
  std::optional<int64_t> nodes_at_last_reload{};  // The program loses it in a restart.
  ClustermanHistory history;                      // Each run adds its observations.

  bool operator==(const ClustermanState&) const = default;
};

// Why a run has no actions.
enum class ClustermanRefusal : uint8_t {
  kNone,
  kConfiguration,  // Problems() has the details.
  kPaused,
  kObservation,      // Fault() has the details.
  kSignalFailed,     // Both the pool's signal and the default signal failed.
  kSignalStale,      // Older than the signal's period.
  kSignalNotFinite,  // NaN or infinite.
  kNoResourceGroups,
  kAllResourceGroupsStale,
  kNoUsableResource,  // Every requested resource is excluded.
  kTargetNotFinite,
  kTooManySteps,  // Implausibly far from the target.
};
std::string_view Name(ClustermanRefusal refusal);

enum class ClustermanActionKind : uint8_t {
  kTerminateOrphans,  // At once, without draining, and not subject to any limit.
  kSetCapacity,       // Sets the capacity of a group to `size`.
  kDrain,             // Drains one node; the reason is "scaling down".
  kTerminate,         // Terminates nodes of one group; for pools that do not drain.
};
std::string_view Name(ClustermanActionKind kind);

struct ClustermanAction {
  ClustermanActionKind kind = ClustermanActionKind::kSetCapacity;
  std::string group_id;
  std::vector<size_t> nodes{};  // Indices of observation.instances.
  int64_t size = 0;

  bool operator==(const ClustermanAction&) const = default;
};

struct ClustermanDecision {
  ClustermanRefusal refusal = ClustermanRefusal::kNone;
  std::string subject;  // What the refusal is about: a key, a pod, a group.

  ClustermanPool pool;
  // The pool's signal failed and the default signal answered.  The run continues, but an operator
  // should know.
  bool used_default_signal = false;
  std::optional<ClustermanRequest> request{};

  int64_t lost_nodes = 0;
  bool no_scale_down = false;  // More nodes were lost than instance_loss_threshold.

  double target_before = 0;
  double non_orphan_fulfilled_capacity = 0;
  std::optional<ClustermanTarget> target{};
  double offset = 0;
  std::optional<double> asked{};  // The target plus the offset.
  std::optional<ClustermanConstraint> constraint{};
  std::optional<ClustermanBalance> balance{};
  std::optional<ClustermanPrune> prune{};

  std::vector<ClustermanAction> actions{};  // In order; empty in a dry run.
};

// REQUIRES: state is not null.
ClustermanDecision Decide(const ClustermanOptions& options,
                          const ClustermanObservation& observation, int64_t now_s,
                          ClustermanState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_H_
