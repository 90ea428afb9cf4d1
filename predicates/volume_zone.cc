#include "predicates/volume_zone.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "predicates/volume_binding.h"

namespace ebb {
namespace {

bool HasAnyZoneLabel(const Storage& storage, const NodeInfo& node) {
  return std::any_of(storage.zone_labels().begin(), storage.zone_labels().end(),
                     [&](TextId key) { return FindLabel(node.labels, key).has_value(); });
}

bool Allows(const VolumeZoneLabel& label, const NodeInfo& node) {
  std::optional<TextId> value = FindLabel(node.labels, label.key);
  if (!value) value = FindLabel(node.labels, label.ga_key);
  return value && std::find(label.values.begin(), label.values.end(), *value) != label.values.end();
}

bool Allows(const VolumeInfo& volume, const NodeInfo& node) {
  return std::all_of(volume.zones.begin(), volume.zones.end(),
                     [&](const VolumeZoneLabel& label) { return Allows(label, node); });
}

}  // namespace

bool FitsVolumeZone(const Catalog& catalog, const PodShape& shape, const NodeInfo& node) {
  if (shape.volumes == 0) return true;
  const Storage& storage = catalog.storage();
  const PodVolumes& volumes = storage.volumes(shape.volumes);
  if (volumes.claims.empty() || !HasAnyZoneLabel(storage, node)) return true;
  for (const PodVolumes::ClaimUse& use : volumes.claims) {
    if (use.ephemeral || use.claim == nullptr || use.claim->volume == nullptr) continue;
    if (!Allows(*use.claim->volume, node)) return false;
  }
  return true;
}

std::optional<std::string> PreFilterVolumeZone(const Catalog& catalog, const PodShape& shape) {
  EBB_DCHECK(!PreFilterVolumeBinding(catalog, shape).has_value());
  if (shape.volumes == 0) return std::nullopt;
  for (const PodVolumes::ClaimUse& use : catalog.storage().volumes(shape.volumes).claims) {
    if (use.ephemeral || use.claim == nullptr || use.claim->volume_name == kNoText) continue;
    if (use.claim->volume != nullptr) continue;
    return absl::StrCat("persistentvolume \"", Absl(catalog.Text(use.claim->volume_name)),
                        "\" not found");
  }
  return std::nullopt;
}

}  // namespace ebb
