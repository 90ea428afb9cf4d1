#include "predicates/volume_restrictions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "snapshot/text.h"

namespace ebb {
namespace {

bool ShareAMonitor(const InlineDisk& a, const InlineDisk& b) {
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&](TextId monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

bool Conflict(const InlineDisk& a, const InlineDisk& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == InlineDisk::Kind::kAwsElasticBlockStore) return true;
  if (a.read_only && b.read_only) return false;
  return a.kind != InlineDisk::Kind::kRbd || (a.pool == b.pool && ShareAMonitor(a, b));
}

bool AnyConflict(const PodVolumes& a, const PodVolumes& b) {
  return std::any_of(a.disks.begin(), a.disks.end(), [&](const InlineDisk& wanted) {
    return std::any_of(b.disks.begin(), b.disks.end(),
                       [&](const InlineDisk& held) { return Conflict(wanted, held); });
  });
}

bool HasDiskConflict(const ClusterSnapshot& snapshot, const PodVolumes& volumes, NodeId node) {
  if (volumes.disks.empty()) return false;
  const Catalog& catalog = snapshot.catalog();
  for (const PodId pod : snapshot.PodsOn(node)) {
    const uint32_t held = catalog.shape_of(pod).volumes;
    if (held != 0 && AnyConflict(volumes, catalog.storage().volumes(held))) return true;
  }
  return false;
}

bool HasClaimInUse(const ClusterSnapshot& snapshot, const PodVolumes& volumes) {
  for (const PodVolumes::ClaimUse& use : volumes.claims) {
    if (use.ephemeral || use.claim == nullptr || !use.claim->read_write_once_pod) continue;
    const std::optional<ClaimId> id =
        snapshot.catalog().FindClaim(volumes.namespace_name, use.name);
    if (id && snapshot.ClaimUses(*id) > 0) return true;
  }
  return false;
}

}  // namespace

std::string_view ReasonOf(VolumeRestrictionsVerdict verdict) {
  switch (verdict) {
    case VolumeRestrictionsVerdict::kDiskConflict:
      return "node(s) had no available disk";
    case VolumeRestrictionsVerdict::kClaimInUse:
      return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
             "already in-use by another pod";
    case VolumeRestrictionsVerdict::kFits:
      break;
  }
  return "";
}

VolumeRestrictionsVerdict JudgeVolumeRestrictions(const ClusterSnapshot& snapshot,
                                                  const PodShape& shape, NodeId node) {
  if (shape.volumes == 0) return VolumeRestrictionsVerdict::kFits;
  const PodVolumes& volumes = snapshot.catalog().storage().volumes(shape.volumes);
  if (HasDiskConflict(snapshot, volumes, node)) return VolumeRestrictionsVerdict::kDiskConflict;
  if (HasClaimInUse(snapshot, volumes)) return VolumeRestrictionsVerdict::kClaimInUse;
  return VolumeRestrictionsVerdict::kFits;
}

std::optional<std::string> PreFilterVolumeRestrictions(const Catalog& catalog,
                                                       const PodShape& shape) {
  if (shape.volumes == 0) return std::nullopt;
  for (const PodVolumes::ClaimUse& use : catalog.storage().volumes(shape.volumes).claims) {
    if (use.ephemeral || use.claim != nullptr) continue;
    return absl::StrCat("persistentvolumeclaim \"", Absl(catalog.Text(use.name)), "\" not found");
  }
  return std::nullopt;
}

}  // namespace ebb
