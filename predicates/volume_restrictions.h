// VolumeRestrictions: disks and claims that only one pod at a time can use.
//
// A GCE, iSCSI or RBD disk that the pod itself names conflicts with another pod on the node
// that names it, unless both mount it read-only.  An AWS disk always conflicts.  A claim with
// access mode ReadWriteOncePod that any placed pod uses keeps the pod off every node.
//
// Cost:    one load for a pod without volumes; else O(claims), and for a pod that
//          names disks O(disks of the node's pods).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/volumerestrictions.

#ifndef EBB_PREDICATES_VOLUME_RESTRICTIONS_H_
#define EBB_PREDICATES_VOLUME_RESTRICTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class VolumeRestrictionsVerdict : uint8_t { kFits, kDiskConflict, kClaimInUse };
std::string_view ReasonOf(VolumeRestrictionsVerdict verdict);

VolumeRestrictionsVerdict FilterVolumeRestrictions(const ClusterSnapshot& snapshot,
                                                   const PodShape& shape, NodeId node);

// PreFilter: the reason why the pod fits nowhere (a claim that does not exist), or nullopt.
std::optional<std::string> PreFilterVolumeRestrictions(const Catalog& catalog,
                                                       const PodShape& shape);

}  // namespace ebb

#endif  // EBB_PREDICATES_VOLUME_RESTRICTIONS_H_
