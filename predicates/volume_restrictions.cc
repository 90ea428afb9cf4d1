#include "predicates/volume_restrictions.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

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

// The disks that a pod wants in a hash table, for pods that want many.  An RBD image is one
// part for each of its monitors.
class WantedDisks {
 public:
  explicit WantedDisks(const PodVolumes& volumes) {
    for (const InlineDisk& disk : volumes.disks) {
      ForEachPart(disk, [&](const Part& part) {
        written_[part] |= !disk.read_only;
        return false;
      });
    }
  }

  [[nodiscard]] bool Conflict(const InlineDisk& held) const {
    return ForEachPart(held, [&](const Part& part) {
      const auto wanted = written_.find(part);
      return wanted != written_.end() && (held.kind == InlineDisk::Kind::kAwsElasticBlockStore ||
                                          !held.read_only || wanted->second);
    });
  }

 private:
  using Part = std::tuple<InlineDisk::Kind, TextId, TextId, TextId>;

  // Calls `visit` on each part until it returns true.  Returns whether it did.
  template <typename Visit>
  static bool ForEachPart(const InlineDisk& disk, Visit&& visit) {
    if (disk.kind != InlineDisk::Kind::kRbd) {
      return visit(Part(disk.kind, disk.id, kNoText, kNoText));
    }
    return std::ranges::any_of(disk.monitors, [&](TextId monitor) {
      return visit(Part(disk.kind, disk.id, disk.pool, monitor));
    });
  }

  absl::flat_hash_map<Part, bool> written_;  // True if the pod writes to the part.
};

// An upper bound on the comparisons that AnyConflict makes.
size_t Comparisons(const PodVolumes& a, const PodVolumes& b) {
  size_t monitors = 1;
  for (const InlineDisk& disk : b.disks) monitors = std::max(monitors, disk.monitors.size());
  return a.disks.size() * b.disks.size() * monitors;
}

// Up to this many comparisons every pair of disks is compared.  For more, hash sets are filled, so
// that many disks do not cost the square of their number.  Not tuned: other values were not
// compared.
constexpr size_t kComparisonsMax = 64;

bool HasDiskConflict(const ClusterSnapshot& snapshot, const PodVolumes& volumes, NodeId node) {
  if (volumes.disks.empty()) return false;
  const Catalog& catalog = snapshot.catalog();
  std::optional<WantedDisks> wanted;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const uint32_t index = catalog.shape_of(pod).volumes;
    if (index == 0) continue;
    const PodVolumes& held = catalog.storage().volumes(index);
    if (Comparisons(volumes, held) <= kComparisonsMax) {
      if (AnyConflict(volumes, held)) return true;
      continue;
    }
    if (!wanted) wanted.emplace(volumes);
    const auto conflicts = [&](const InlineDisk& disk) { return wanted->Conflict(disk); };
    if (std::ranges::any_of(held.disks, conflicts)) return true;
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

VolumeRestrictionsVerdict FilterVolumeRestrictions(const ClusterSnapshot& snapshot,
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
