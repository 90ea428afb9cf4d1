// VolumeZone: the node has the zone and region labels of the volumes to which the pod's
// claims are bound.
//
// A label may list several values ("z1__z2").  A node without any zone or region label passes.
// If the node lacks a beta label, its GA label is compared instead.  Claims of ephemeral
// volumes are ignored.
//
// Cost:    one load for a pod without volumes, else O(labels of its volumes).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/volumezone.

#ifndef EBB_PREDICATES_VOLUME_ZONE_H_
#define EBB_PREDICATES_VOLUME_ZONE_H_

#include <optional>
#include <string>
#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kVolumeZoneReason = "node(s) had no available volume zone";

bool FitsVolumeZone(const Catalog& catalog, const PodShape& shape, const NodeInfo& node);

// PreFilter: the reason why the pod fits nowhere (a volume that does not exist), or nullopt.
// REQUIRES: the PreFilters of VolumeRestrictions and VolumeBinding returned nullopt, so
// that no other reason is left.
std::optional<std::string> PreFilterVolumeZone(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_PREDICATES_VOLUME_ZONE_H_
