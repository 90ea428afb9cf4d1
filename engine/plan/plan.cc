#include "engine/plan/plan.h"

#include <algorithm>
#include <array>

namespace ebb {

namespace {

constexpr std::array<std::string_view, 21> kReasons = {
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
