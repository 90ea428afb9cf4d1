#include "predicates/volume_binding.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "boost/container/small_vector.hpp"
#include "snapshot/volume_matching.h"

namespace ebb {
namespace {

using Claims = boost::container::small_vector<const ClaimInfo*, 4>;
using Volumes = boost::container::small_vector<const VolumeInfo*, 4>;

bool Contains(const std::vector<TextId>& ids, TextId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Whether the node reports that a CSI driver serves the plugin's volumes there.
bool IsMigrated(const CsiNodeInfo* csi_node, TextId plugin) {
  return csi_node != nullptr && plugin != kNoText && Contains(csi_node->migrated_plugins, plugin);
}

// Checks the bound claims on one node, up to the first obstacle.
void CheckBound(const Catalog& catalog, const Claims& claims, const NodeInfo& node,
                VolumeBindingVerdict& verdict) {
  if (claims.empty()) return;
  const CsiNodeInfo* csi_node = catalog.storage().FindCsiNode(node.name);
  for (const ClaimInfo* claim : claims) {
    const VolumeInfo* volume = claim->volume;
    if (volume == nullptr) {
      verdict.volume_missing = true;
      return;
    }
    const bool migrated = IsMigrated(csi_node, volume->in_tree_plugin);
    if (migrated && !volume->translation_error.empty()) {
      verdict.error = &volume->translation_error;
      return;
    }
    const VolumeAffinity& affinity = migrated ? volume->csi_affinity : volume->affinity;
    if (!affinity.Matches(node.labels, catalog.symbols())) {
      verdict.node_conflict = true;
      return;
    }
  }
}

// Returns the volume for the claim, or null.  If a volume is reserved for the claim, only that
// volume is tried; otherwise the smallest suitable one is chosen.
const VolumeInfo* FindVolume(const Catalog& catalog, const ClaimInfo& claim, const NodeInfo& node,
                             const Volumes& taken) {
  const std::span<const VolumeInfo* const> volumes =
      catalog.storage().VolumesOfClass(claim.storage_class);
  const auto is_free = [](const VolumeInfo* volume) { return !volume->claim.has_value(); };
  const auto free_end = std::ranges::partition_point(volumes, is_free);
  const auto is_taken = [&](const VolumeInfo* volume) {
    return std::ranges::find(taken, volume) != taken.end();
  };
  const auto reaches = [&](const VolumeInfo* volume) {
    return volume->affinity.Matches(node.labels, catalog.symbols());
  };
  const auto reserved = std::ranges::equal_range(
      free_end, volumes.end(), std::pair(claim.namespace_name, claim.name), {},
      [](const VolumeInfo* volume) {
        return std::pair(volume->claim->namespace_name, volume->claim->name);
      });
  for (const VolumeInfo* volume : reserved) {
    // A volume with another UID was reserved for an earlier claim of the same name.
    const bool is_bound = volume->claim->uid == kNoText || volume->claim->uid == claim.uid;
    if (is_taken(volume) || !is_bound || !MayServe(*volume, claim)) continue;
    return reaches(volume) ? volume : nullptr;
  }
  if (claim.selector && claim.selector->nothing) return nullptr;
  const auto enough = std::ranges::lower_bound(volumes.begin(), free_end, RequestOf(claim), {},
                                               &VolumeInfo::capacity_bytes);
  for (const VolumeInfo* volume : std::ranges::subrange(enough, free_end)) {
    if (MayBind(*volume, claim) && reaches(volume) && !is_taken(volume)) return volume;
  }
  return nullptr;
}

bool AllowsTopology(const StorageClassInfo& class_info, const NodeInfo& node) {
  if (class_info.allows_every_node) return true;
  for (const std::vector<LabelRequirement>& term : class_info.allowed_topologies) {
    const bool matches = std::all_of(term.begin(), term.end(), [&](const LabelRequirement& r) {
      const std::optional<TextId> value = FindLabel(node.labels, r.key);
      return value && Contains(r.values, *value);
    });
    if (matches) return true;
  }
  return false;
}

bool HasSpace(const Storage& storage, const ClaimInfo& claim, const NodeInfo& node) {
  if (!claim.request_bytes || !claim.class_info->tracks_capacity) return true;
  const std::vector<StorageCapacity>& capacities = storage.capacities();
  return std::any_of(capacities.begin(), capacities.end(), [&](const StorageCapacity& capacity) {
    return capacity.storage_class == claim.storage_class &&
           IsEnough(capacity.volume_size_max, claim) && capacity.topology.Matches(node.labels);
  });
}

void CheckProvisioning(const Storage& storage, const Claims& claims, const NodeInfo& node,
                       VolumeBindingVerdict& verdict) {
  for (const ClaimInfo* claim : claims) {
    if (!claim->class_info->provisions || !AllowsTopology(*claim->class_info, node)) {
      verdict.bind_conflict = true;
      return;
    }
    if (!HasSpace(storage, *claim, node)) {
      verdict.not_enough_space = true;
      return;
    }
  }
}

// Checks the claims that wait for their first consumer.
void CheckUnbound(const Catalog& catalog, const Claims& claims, const NodeInfo& node,
                  VolumeBindingVerdict& verdict) {
  if (claims.empty()) return;
  Claims to_provision;
  Claims to_match;
  for (const ClaimInfo* claim : claims) {
    if (claim->selected_node && *claim->selected_node != node.name) {
      verdict.bind_conflict = true;
      return;
    }
    (claim->selected_node ? to_provision : to_match).push_back(claim);
  }
  if (to_match.size() > 1) {  // Sorting allocates; one claim needs no sorting.
    std::stable_sort(to_match.begin(), to_match.end(), [](const ClaimInfo* a, const ClaimInfo* b) {
      return RequestOf(*a) < RequestOf(*b);
    });
  }
  Volumes taken;
  for (const ClaimInfo* claim : to_match) {
    if (!claim->selector_error.empty()) {
      verdict.error = &claim->selector_error;
      return;
    }
    const VolumeInfo* volume = FindVolume(catalog, *claim, node, taken);
    if (volume != nullptr) {
      taken.push_back(volume);
    } else {
      to_provision.push_back(claim);
    }
  }
  CheckProvisioning(catalog.storage(), to_provision, node, verdict);
}

std::string NotOwned(const Catalog& catalog, const PodVolumes& volumes, TextId claim) {
  const absl::string_view ns = Absl(catalog.Text(volumes.namespace_name));
  return absl::StrCat("PVC ", ns, "/", Absl(catalog.Text(claim)), " was not created for pod ", ns,
                      "/", Absl(catalog.Text(volumes.pod_name)), " (pod is not owner)");
}

// The reason why no pod can use the claim now, bound or not; nullopt if none exists.
std::optional<std::string> Unusable(const Catalog& catalog, const PodVolumes& volumes,
                                    const PodVolumes::ClaimUse& use) {
  const absl::string_view name = Absl(catalog.Text(use.name));
  const ClaimInfo* claim = use.claim;
  if (claim == nullptr) {
    return use.ephemeral ? absl::StrCat(
                               "waiting for ephemeral volume controller to create the "
                               "persistentvolumeclaim \"",
                               name, "\"")
                         : absl::StrCat("persistentvolumeclaim \"", name, "\" not found");
  }
  if (claim->lost) {
    return absl::StrCat("persistentvolumeclaim \"", name, "\" bound to non-existent ",
                        "persistentvolume \"", Absl(catalog.Text(claim->volume_name)), "\"");
  }
  if (claim->deleting) {
    return absl::StrCat("persistentvolumeclaim \"", name, "\" is being deleted");
  }
  if (!use.owned) return NotOwned(catalog, volumes, use.name);
  return std::nullopt;
}

}  // namespace

void VolumeBindingVerdict::AppendReasons(std::vector<std::string>& reasons) const {
  if (error != nullptr) {
    reasons.push_back(*error);
    return;
  }
  if (node_conflict) reasons.emplace_back("node(s) didn't match PersistentVolume's node affinity");
  if (bind_conflict) {
    reasons.emplace_back("node(s) didn't find available persistent volumes to bind");
  }
  if (not_enough_space) reasons.emplace_back("node(s) did not have enough free storage");
  if (volume_missing) {
    reasons.emplace_back(
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  }
}

VolumeBindingVerdict FilterVolumeBinding(const Catalog& catalog, const PodShape& shape,
                                         const NodeInfo& node) {
  EBB_DCHECK(!PreFilterVolumeBinding(catalog, shape).has_value());
  VolumeBindingVerdict verdict;
  if (shape.volumes == 0) return verdict;
  Claims bound;
  Claims unbound;
  for (const PodVolumes::ClaimUse& use : catalog.storage().volumes(shape.volumes).claims) {
    if (use.claim == nullptr) continue;
    (use.claim->FullyBound() ? bound : unbound).push_back(use.claim);
  }
  CheckBound(catalog, bound, node, verdict);
  if (verdict.error == nullptr) CheckUnbound(catalog, unbound, node, verdict);
  return verdict;
}

std::optional<std::string> PreFilterVolumeBinding(const Catalog& catalog, const PodShape& shape) {
  if (shape.volumes == 0) return std::nullopt;
  const PodVolumes& volumes = catalog.storage().volumes(shape.volumes);
  for (const PodVolumes::ClaimUse& use : volumes.claims) {
    if (std::optional<std::string> why = Unusable(catalog, volumes, use)) return why;
  }
  bool waits = false;  // Some claim waits for a volume that should be bound before the pod starts.
  for (const PodVolumes::ClaimUse& use : volumes.claims) {
    if (use.claim->FullyBound()) continue;
    const StorageClassInfo* class_info = use.claim->class_info;
    if (class_info != nullptr && !class_info->has_binding_mode) {
      return absl::StrCat("VolumeBindingMode not set for StorageClass \"",
                          Absl(catalog.Text(class_info->name)), "\"");
    }
    waits |= class_info == nullptr || !class_info->delayed || use.claim->volume_name != kNoText;
  }
  if (waits) return "pod has unbound immediate PersistentVolumeClaims";
  return std::nullopt;
}

}  // namespace ebb
