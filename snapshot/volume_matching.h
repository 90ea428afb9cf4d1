// Which volumes may be bound to a claim, regardless of nodes.
//
// Threads: pure.
// Source:  component-helpers storage/volume pv_helpers.go, FindMatchingVolume.

#ifndef EBB_SNAPSHOT_VOLUME_MATCHING_H_
#define EBB_SNAPSHOT_VOLUME_MATCHING_H_

#include <algorithm>

#include "snapshot/objects/quantity.h"
#include "snapshot/storage_info.h"

namespace ebb {

inline int64_t RequestOf(const ClaimInfo& claim) { return claim.request_bytes.value_or(0); }

// A claim whose request is too large to be counted fits no volume.
inline bool IsEnough(int64_t bytes, const ClaimInfo& claim) {
  return bytes >= RequestOf(claim) && RequestOf(claim) != kUncountable;
}

// The conditions on a volume for any claim, whether the volume is reserved for it or not.
inline bool MayServe(const VolumeInfo& volume, const ClaimInfo& claim) {
  return IsEnough(volume.capacity_bytes, claim) && volume.mode == claim.mode &&
         volume.attributes_class == claim.attributes_class && !volume.deleting;
}

// The conditions on a volume that is not reserved, including those of MayServe.
inline bool MayBind(const VolumeInfo& volume, const ClaimInfo& claim) {
  if (!volume.available || !MayServe(volume, claim)) return false;
  const bool has_modes = std::ranges::all_of(claim.access_modes, [&](TextId mode) {
    return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
  });
  return has_modes && (!claim.selector || claim.selector->Matches(volume.labels));
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_VOLUME_MATCHING_H_
