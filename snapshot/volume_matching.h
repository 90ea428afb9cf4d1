// Which volumes may be bound to a claim, wherever they are.
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

// A claim for more than can be counted is never known to fit.
inline bool IsEnough(int64_t bytes, const ClaimInfo& claim) {
  return bytes >= RequestOf(claim) && RequestOf(claim) != kUncountable;
}

// What holds of a volume for any claim, reserved for it or not.
inline bool MayServe(const VolumeInfo& volume, const ClaimInfo& claim) {
  return IsEnough(volume.capacity_bytes, claim) && volume.mode == claim.mode &&
         volume.attributes_class == claim.attributes_class && !volume.deleting;
}

// What holds beside of a volume that is reserved for nobody.
inline bool MayBind(const VolumeInfo& volume, const ClaimInfo& claim) {
  if (!volume.available || !MayServe(volume, claim)) return false;
  const bool has_modes = std::ranges::all_of(claim.access_modes, [&](TextId mode) {
    return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
  });
  return has_modes && (!claim.selector || claim.selector->Matches(volume.labels));
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_VOLUME_MATCHING_H_
