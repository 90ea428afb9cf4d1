#include "engine/plan/plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace ebb {

namespace {

constexpr std::array<std::string_view, 31> kReasons = {
    "NoReason",
    "ScaleDownDisabledAnnotation",
    "ScaleDownUnreadyDisabled",
    "NotAutoscaled",
    "NotUnneededLongEnough",
    "NotUnreadyLongEnough",
    "NodeGroupMinSizeReached",
    "NodeGroupMaxDeletionCountReached",
    "AtomicScaleDownFailed",
    "MinimalResourceLimitExceeded",
    "CurrentlyBeingDeleted",
    "NotUnderutilized",
    "NotUnneededOtherReason",
    "RecentlyUnremovable",
    "NoPlaceToMovePods",
    "BlockedByPod",
    "UnexpectedError",
    "NoNodeInfo",
    "BlockedByOnCompletionPod",
    "NotStarted",
    "HeadroomReached",
    "NodeClaimNotFound",
    "NodeNotInitialized",
    "NodePoolNotFound",
    "StaticNodePool",
    "ConsolidationDisabled",
    "NodeNotEmpty",
    "ConsolidationPolicyNotEvaluated",
    "NotConsolidatable",
    "EmptyBudgetReached",
    "UnderutilizedBudgetReached",
};

}  // namespace

std::string_view ToString(UnremovableReason reason) {
  return kReasons[static_cast<size_t>(reason)];
}

UnremovableReason UnremovableReasonOf(std::string_view text) {
  const auto it = std::ranges::find(kReasons, text);
  return it == kReasons.end() ? UnremovableReason::kNoReason
                              : static_cast<UnremovableReason>(it - kReasons.begin());
}

std::string_view ToString(Termination termination) {
  constexpr std::array<std::string_view, 7> kNames = {
      "complete", "limit", "deadline", "noRoomForPending", "notStarted", "robust", "evictionLimit"};
  return kNames[static_cast<size_t>(termination)];
}

bool HaveSameMoves(const std::vector<Move>& one, const std::vector<Move>& other) {
  static_assert(std::has_unique_object_representations_v<Move>);  // No padding, which may differ.
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size() * sizeof(Move)) == 0);
}

PastVerdict VerdictOf(const Catalog& catalog, const UnremovableNode& node) {
  PastVerdict verdict{.reason = node.reason, .blocking_reason = node.blocking_reason};
  if (node.pod != kNoPod) {
    verdict.pod_namespace = catalog.shape_of(node.pod).namespace_name;
    verdict.pod_name = catalog.pod(node.pod).name;
  }
  if (node.pdb) verdict.pdb = catalog.pdbs()[Index(*node.pdb)].name;
  return verdict;
}

}  // namespace ebb
