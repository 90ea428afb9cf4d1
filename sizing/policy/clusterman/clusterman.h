// One run of Clusterman's autoscaler for one pool: what its signal asks for, the capacity that
// this takes, within limits, spread over resource groups, and the nodes that go.
//
//   ClustermanState state;
//   const ClustermanDecision decision = Decide(options, observation, now_s, &state);
//   for (const ClustermanAction& action : decision.actions) Carry(action);
//
// Every action is tried; one that fails keeps none of the others back, and the next run sees
// what became of it.
//
// Units:     capacity in weight units, times in seconds.
// Cost:      O(pods + instances log instances + groups * units moved).
// Errors:    a decision with a refusal has no action, says why and of what, and keeps figures
//            up to where it stopped.
// Threads:   pure, but for *state.
// Source:    Clusterman, "One autoscaler run", steps 1 to 7.  There what is a refusal here
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

// Set by an operator; until when it holds, that second included.  Absent: until taken back.
struct ClustermanPause {
  std::optional<int64_t> until_s{};

  bool operator==(const ClustermanPause&) const = default;
};
struct ClustermanOffset {
  double capacity = 0;  // Added to what the signal takes, after the margin, before the limits.
  std::optional<int64_t> until_s{};

  bool operator==(const ClustermanOffset&) const = default;
};

// What survives a restart.
struct ClustermanState {
  std::optional<ClustermanPause> pause{};
  std::optional<ClustermanOffset> offset{};
  std::optional<int64_t> nodes_at_last_reload{};  // The program forgets it with a restart.
  ClustermanHistory history;                      // Each run adds what it saw.

  bool operator==(const ClustermanState&) const = default;
};

// Why there is no action at all.
enum class ClustermanRefusal : uint8_t {
  kNone,
  kConfiguration,  // Problems() says more.
  kPaused,
  kObservation,      // Fault() says more.
  kSignalFailed,     // The pool's signal and the default signal.
  kSignalStale,      // Older than its period.
  kSignalNotFinite,  // NaN or infinite.
  kNoResourceGroups,
  kAllResourceGroupsStale,
  kNoUsableResource,  // All that is asked for is excluded.
  kTargetNotFinite,
  kTooManySteps,  // Too far from the target to be true.
};
std::string_view Name(ClustermanRefusal refusal);

enum class ClustermanActionKind : uint8_t {
  kTerminateOrphans,  // At once, without draining, outside all limits.
  kSetCapacity,       // Of a group, to `size`.
  kDrain,             // One node; the reason is "scaling down".
  kTerminate,         // Nodes of one group, where the pool does not drain.
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
  std::string subject;  // Of the refusal: the key, the pod, the group.

  ClustermanPool pool;
  // The pool's signal failed and the default one answered: everything is done, and an operator
  // should know.
  bool used_default_signal = false;
  std::optional<ClustermanRequest> request{};

  int64_t lost_nodes = 0;
  bool no_scale_down = false;  // Nodes were lost: more than instance_loss_threshold.

  double target_before = 0;
  double non_orphan_fulfilled_capacity = 0;
  std::optional<ClustermanTarget> target{};
  double offset = 0;
  std::optional<double> asked{};  // The target and the offset.
  std::optional<ClustermanConstraint> constraint{};
  std::optional<ClustermanBalance> balance{};
  std::optional<ClustermanPrune> prune{};

  std::vector<ClustermanAction> actions{};  // In order; none in a dry run.
};

// REQUIRES: state is not null.
ClustermanDecision Decide(const ClustermanOptions& options,
                          const ClustermanObservation& observation, int64_t now_s,
                          ClustermanState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_H_
