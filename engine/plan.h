// What one planner pass decides: plain data, in the ids of the snapshot it read.

#ifndef EBB_ENGINE_PLAN_H_
#define EBB_ENGINE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/utilization.h"
#include "predicates/drainability.h"
#include "snapshot/ids.h"

namespace ebb {

// Values and spelling as in the autoscaler (simulator.UnremovableReason).
enum class UnremovableReason : uint8_t {
  kNoReason = 0,
  kScaleDownDisabledAnnotation,
  kScaleDownUnreadyDisabled,
  kNotAutoscaled,
  kNotUnneededLongEnough,
  kNotUnreadyLongEnough,
  kNodeGroupMinSizeReached,
  kNodeGroupMaxDeletionCountReached,
  kAtomicScaleDownFailed,
  kMinimalResourceLimitExceeded,
  kCurrentlyBeingDeleted,
  kNotUnderutilized,
  kNotUnneededOtherReason,
  kRecentlyUnremovable,
  kNoPlaceToMovePods,
  kBlockedByPod,
  kUnexpectedError,
  kNoNodeInfo,
  kBlockedByOnCompletionPod,
};
// "NoPlaceToMovePods".
std::string_view ToString(UnremovableReason reason);

// How a pass ended.
enum class Termination : uint8_t {
  kComplete,          // Every candidate was judged.
  kLimit,             // The unneeded limit was reached.
  kDeadline,          // Time ran out.
  kNoRoomForPending,  // Pods that must fit (PassInput::must_fit) do not: nothing was judged.
};
std::string_view ToString(Termination termination);

struct Move {
  PodId pod;
  NodeId to;
};

struct RemovableNode {
  NodeId node;
  std::vector<Move> moves;  // In the order in which the pods found their places.
  std::vector<PodId> daemonset;
  std::vector<PodId> on_completion;
  bool risky = false;  // A budget admits its pods only one after the other.
};

struct UnremovableNode {
  NodeId node;
  UnremovableReason reason = UnremovableReason::kNoReason;
  // kBlockedByPod: the pod, why, and the budget if that is why.
  // kNoPlaceToMovePods: the first pod that found no place.
  PodId pod = kNoPod;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  std::optional<PdbId> pdb;
};

struct Plan {
  std::vector<RemovableNode> remove;  // In the order of removal.
  std::vector<UnremovableNode> keep;  // Candidates judged and kept: ineligible ones first.
  std::vector<NodeId> skipped;        // Candidates that the pass did not come to.
  std::vector<std::optional<Utilization>> utilization;  // By NodeId; eligibility computed it.
  std::vector<int32_t> pdb_remaining;                   // By PdbId.
  // Pending pods that found room before the pass, and where, in the order in which
  // they did; the others did not.
  std::vector<Move> packed;
  Termination termination = Termination::kComplete;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_H_
