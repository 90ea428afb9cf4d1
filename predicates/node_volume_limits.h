// NodeVolumeLimits: how many volumes of one CSI driver a node can attach.
//
// The limit is the driver's allocatable.count in the CSINode; without CSINode or
// count there is none.  Volumes of the node's pods and of VolumeAttachments count
// once each; in-tree volumes count under the CSI driver that replaces them.  A
// volume of the pod that only a VolumeAttachment holds counts on both sides, as it
// does in the scheduler.
//
// From Kubernetes 1.37 on a CSIDriver may say preventPodSchedulingIfMissing: a pod with a volume of
// the driver then fits no node whose CSINode lacks it.
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
  kCannotCount,          // A disk of the pod itself has no CSI equivalent.
  kCannotCountExisting,  // Nor one of a pod on the node: nothing more fits there.
  kDriverMissing,        // The node lacks a driver without which pods are not to be placed.
};

VolumeLimitsVerdict JudgeNodeVolumeLimits(const ClusterSnapshot& snapshot, const PodShape& shape,
                                          NodeId node);

// In the scheduler's words; what it cannot count is an error there, of free text.
std::string_view ReasonOf(VolumeLimitsVerdict verdict);

// Of kDriverMissing: which one.
std::string MissingDriverReason(const ClusterSnapshot& snapshot, const PodShape& shape,
                                NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_VOLUME_LIMITS_H_
