// What one planner pass decides: plain data, in the ids of the snapshot it read.

#ifndef EBB_ENGINE_PLAN_PLAN_H_
#define EBB_ENGINE_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/plan/utilization.h"
#include "predicates/drainability.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

// Values and spelling as in the autoscaler (simulator.UnremovableReason), but the last.
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
  // ebb's own: the autoscaler leaves such a node out of its lists.
  kNotStarted,
};
// "NoPlaceToMovePods".
std::string_view ToString(UnremovableReason reason);
// The reason that is spelled so; kNoReason: none is.
UnremovableReason UnremovableReasonOf(std::string_view text);

// How a pass ended.
enum class Termination : uint8_t {
  kComplete,          // Every candidate was judged.
  kLimit,             // The unneeded limit was reached.
  kDeadline,          // Time ran out.
  kNoRoomForPending,  // Pods that must fit (PassInput::must_fit) do not: nothing was judged.
  kNotStarted,        // A round ended before its pass (ScaleDownStatus): nothing was judged.
  kRobust,            // It was cut so that pods find places without it (CutPlan).
  kEvictionLimit,     // With more nodes it would evict too many pods (CutToEvictions).
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

// Why a node could not be removed in a pass before this one.  Texts, not ids: the pod
// and the budget may be gone by now.  Of the Symbols that passes share.
struct PastVerdict {
  UnremovableReason reason = UnremovableReason::kNoReason;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  // As UnremovableNode's; empty texts where there is none.
  TextId pod_namespace{};
  TextId pod_name{};
  TextId pdb{};
  friend bool operator==(const PastVerdict&, const PastVerdict&) = default;
};

struct UnremovableNode {
  NodeId node;
  UnremovableReason reason = UnremovableReason::kNoReason;
  // kBlockedByPod: the pod, why, and the budget if that is why.
  // kNoPlaceToMovePods: the first pod that found no place.
  PodId pod = kNoPod;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  std::optional<PdbId> pdb;
  // kRecentlyUnremovable: what was found then.
  std::optional<PastVerdict> before = std::nullopt;
};

// What a later pass is to know of the verdict.
PastVerdict VerdictOf(const Catalog& catalog, const UnremovableNode& node);

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

#endif  // EBB_ENGINE_PLAN_PLAN_H_
