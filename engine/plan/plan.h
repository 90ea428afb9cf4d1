// The decisions of one planner pass: plain data, by ids of the snapshot of the pass.
//
// Nodes, pods and budgets are ids of that snapshot's catalog; a plan owns no names.  It is a
// sequence: each removal assumes that the removals before it are done.
//
// Threads: plain data.
// Source:  cluster-autoscaler simulator.UnremovableReason.

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

// Values and spelling of the autoscaler (simulator.UnremovableReason), up to
// kBlockedByOnCompletionPod.
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
  // Not in the autoscaler, which leaves such a node out of its lists.
  kNotStarted,
  kHeadroomReached,  // PlannerOptions::headroom would no longer be free.
  // By Karpenter's rules (karpenter.h).
  kNodeClaimNotFound,
  kNodeNotInitialized,
  kNodePoolNotFound,
  kStaticNodePool,
  kConsolidationDisabled,
  kNodeNotEmpty,  // The NodePool's consolidationPolicy is WhenEmpty.
  kConsolidationPolicyNotEvaluated,
  kNotConsolidatable,
  kEmptyBudgetReached,          // The NodePool's budgets for the reason Empty are used up.
  kUnderutilizedBudgetReached,  // The same for the reason Underutilized.
};
// "NoPlaceToMovePods".
std::string_view ToString(UnremovableReason reason);
// The reason with this spelling; kNoReason: no reason has it.
UnremovableReason UnremovableReasonOf(std::string_view text);

// How a pass ended.
enum class Termination : uint8_t {
  kComplete,  // Every candidate was judged.
  kLimit,     // The unneeded limit was reached.
  kDeadline,  // Time ran out.
  // Pods that must fit (PassInput::must_fit) do not fit; no candidate was judged.
  kNoRoomForPending,
  kNotStarted,     // A round ended before its pass (ScaleDownStatus); no candidate was judged.
  kRobust,         // The plan was cut so that pods find places without it (CutPlan).
  kEvictionLimit,  // Removing more nodes would evict too many pods (CutToEvictions).
};
std::string_view ToString(Termination termination);

struct Move {
  PodId pod;
  NodeId to;
  friend bool operator==(const Move&, const Move&) = default;
};
// Whether the lists are equal, many moves at a time.
bool HaveSameMoves(const std::vector<Move>& one, const std::vector<Move>& other);

// A node that goes.  The other pods of the node, such as mirror pods, are in none of its lists.
struct RemovableNode {
  NodeId node;
  std::vector<Move> moves;  // In the order in which the pods were placed.
  std::vector<PodId> daemonset;
  std::vector<PodId> on_completion;
  bool risky = false;  // A PodDisruptionBudget lets its pods be evicted only one after the other.
};

// Why a node could not be removed in an earlier pass.  Text ids of the Symbols that all passes
// share, not ids of objects: the pod and the budget may be gone by now.
struct PastVerdict {
  UnremovableReason reason = UnremovableReason::kNoReason;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  // As in UnremovableNode; empty texts if there is no pod or budget.
  TextId pod_namespace{};
  TextId pod_name{};
  TextId pdb{};
  friend bool operator==(const PastVerdict&, const PastVerdict&) = default;
};

struct UnremovableNode {
  NodeId node;
  UnremovableReason reason = UnremovableReason::kNoReason;
  // kBlockedByPod: the pod, the reason, and the budget if a budget is the reason.
  // kNoPlaceToMovePods: the first pod that found no node.
  PodId pod = kNoPod;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  std::optional<PdbId> pdb;
  // kRecentlyUnremovable: the verdict of the pass that tried the node.
  std::optional<PastVerdict> before = std::nullopt;
};

// The part of the verdict that later passes remember.
PastVerdict VerdictOf(const Catalog& catalog, const UnremovableNode& node);

struct Plan {
  std::vector<RemovableNode> remove;  // In the order of removal.
  // Candidates that were judged and kept, ineligible ones first.
  std::vector<UnremovableNode> keep;
  std::vector<NodeId> skipped;  // Candidates that the pass did not reach.
  // By NodeId; nullopt where eligibility did not compute it.
  std::vector<std::optional<Utilization>> utilization;
  std::vector<int32_t> pdb_remaining;  // By PdbId.
  // The pending pods that found room before the first removal, and their nodes, in the order of
  // placement.  Other pending pods found no room.
  std::vector<Move> packed;
  Termination termination = Termination::kComplete;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PLAN_H_
