// VolumeZone: the zone and region labels of the volumes that the pod's claims are
// bound to must be the node's.
//
// A label may list values ("z1__z2").  A node without any zone or region label is
// taken to be everywhere; one that lacks a beta label is asked for the GA label.
// Claims of ephemeral volumes are not looked at.
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

// PreFilter: why the pod fits nowhere, if so: a volume that does not exist.
// REQUIRES: the PreFilters of VolumeRestrictions and VolumeBinding passed, which
// leaves this one nothing else to refuse.
std::optional<std::string> PreFilterVolumeZone(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_PREDICATES_VOLUME_ZONE_H_
