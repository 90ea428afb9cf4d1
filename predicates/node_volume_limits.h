// NodeVolumeLimits: how many volumes of one CSI driver a node can attach.
//
// The limit is the driver's allocatable.count in the CSINode.  Without a CSINode or a count
// there is no limit.  Each volume of the node's pods and of VolumeAttachments counts once.
// In-tree volumes count under the CSI driver that replaces them.  If only a VolumeAttachment
// holds a volume of the pod, the volume counts twice, as current and as added; the scheduler
// does the same.
//
// From Kubernetes 1.37 on, a CSIDriver may set preventPodSchedulingIfMissing.  A pod with a
// volume of such a driver fits no node whose CSINode lacks the driver.
//
// Cost:    one load for a pod without such volumes, else O(volumes on the node),
//          sorted.
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodevolumelimits.

#ifndef EBB_PREDICATES_NODE_VOLUME_LIMITS_H_
#define EBB_PREDICATES_NODE_VOLUME_LIMITS_H_

#include <string>
#include <string_view>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

inline constexpr std::string_view kMaxVolumeCountReason = "node(s) exceed max volume count";

enum class VolumeLimitsVerdict : uint8_t {
  kFits,
  kTooMany,
  kCannotCount,          // A disk that the pod itself names has no CSI equivalent.
  kCannotCountExisting,  // A disk of a pod on the node has none: no more volumes fit there.
  kDriverMissing,        // The node lacks a driver that prevents scheduling where it is missing.
};

VolumeLimitsVerdict FilterNodeVolumeLimits(const ClusterSnapshot& snapshot, const PodShape& shape,
                                           NodeId node);

// The scheduler's reason text.  For volumes that cannot be counted the scheduler reports an
// error, whose text may differ.
std::string_view ReasonOf(VolumeLimitsVerdict verdict);

// The reason text for kDriverMissing; it names the driver.
std::string MissingDriverReason(const ClusterSnapshot& snapshot, const PodShape& shape,
                                NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_VOLUME_LIMITS_H_
