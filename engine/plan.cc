#include "engine/plan.h"

#include <array>

namespace ebb {

std::string_view ToString(UnremovableReason reason) {
  constexpr std::array<std::string_view, 19> kNames = {
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
  };
  return kNames[static_cast<size_t>(reason)];
}

std::string_view ToString(Termination termination) {
  constexpr std::array<std::string_view, 4> kNames = {"complete", "limit", "deadline",
                                                      "noRoomForPending"};
  return kNames[static_cast<size_t>(termination)];
}

}  // namespace ebb
