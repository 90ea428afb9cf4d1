#include "predicates/node_volume_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "boost/container/small_vector.hpp"

namespace ebb {
namespace {

// Sorted by id, without duplicates.  Up to 32 need no allocation; more would take more stack
// in every call.  Not tuned.
using Attached = boost::container::small_vector<AttachableVolume, 32>;

bool ById(const AttachableVolume& a, const AttachableVolume& b) { return a.id < b.id; }

bool Contains(const Attached& attached, const AttachableVolume& volume) {
  return std::binary_search(attached.begin(), attached.end(), volume, ById);
}

// Collects the volumes of the pods on the node.  Returns false if one cannot be counted.
bool CollectOfPods(const ClusterSnapshot& snapshot, NodeId node, Attached& attached) {
  const Catalog& catalog = snapshot.catalog();
  for (const PodId pod : snapshot.PodsOn(node)) {
    const uint32_t index = catalog.shape_of(pod).volumes;
    if (index == 0) continue;
    const PodVolumes& volumes = catalog.storage().volumes(index);
    if (!volumes.attach_error.empty()) return false;
    attached.insert(attached.end(), volumes.attachables.begin(), volumes.attachables.end());
  }
  std::sort(attached.begin(), attached.end(), ById);
  const auto same = [](const AttachableVolume& a, const AttachableVolume& b) {
    return a.id == b.id;
  };
  attached.erase(std::unique(attached.begin(), attached.end(), same), attached.end());
  return true;
}

int64_t CountOf(TextId driver, std::span<const AttachableVolume> volumes,
                const Attached* unless_in = nullptr) {
  return std::count_if(volumes.begin(), volumes.end(), [&](const AttachableVolume& volume) {
    return volume.driver == driver && (unless_in == nullptr || !Contains(*unless_in, volume));
  });
}

// The first driver of a wanted volume that the node must have and lacks; kNoText if there is no
// such driver.  Without a CSINode (null), in-tree volumes need no driver: none serves them there.
TextId MissingDriver(const Catalog& catalog, const PodVolumes& wanted,
                     const CsiNodeInfo* csi_node) {
  if (catalog.kubernetes_version() < KubernetesVersion::k137) return kNoText;
  for (const AttachableVolume& volume : wanted.attachables) {
    if (!catalog.storage().PreventsScheduling(volume.driver)) continue;
    const bool has = csi_node == nullptr ? volume.migrated
                                         : std::ranges::find(csi_node->drivers, volume.driver) !=
                                               csi_node->drivers.end();
    if (!has) return volume.driver;
  }
  return kNoText;
}

}  // namespace

std::string MissingDriverReason(const ClusterSnapshot& snapshot, const PodShape& shape,
                                NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  const Storage& storage = catalog.storage();
  const TextId driver = MissingDriver(catalog, storage.volumes(shape.volumes),
                                      storage.FindCsiNode(catalog.node(node).name));
  return absl::StrCat(Absl(catalog.Text(driver)), " CSI driver is not installed on the node");
}

std::string_view ReasonOf(VolumeLimitsVerdict verdict) {
  switch (verdict) {
    case VolumeLimitsVerdict::kTooMany:
      return kMaxVolumeCountReason;
    case VolumeLimitsVerdict::kCannotCount:
      return "converting volume from inline to csi: the volume has no CSI equivalent";
    case VolumeLimitsVerdict::kCannotCountExisting:
      return "a volume of a pod on the node cannot be counted";
    case VolumeLimitsVerdict::kDriverMissing:
      return "a CSI driver is not installed on the node";
    case VolumeLimitsVerdict::kFits:
      break;
  }
  return "";
}

VolumeLimitsVerdict FilterNodeVolumeLimits(const ClusterSnapshot& snapshot, const PodShape& shape,
                                           NodeId node) {
  using enum VolumeLimitsVerdict;
  if (shape.volumes == 0) return kFits;
  const Storage& storage = snapshot.catalog().storage();
  const PodVolumes& wanted = storage.volumes(shape.volumes);
  if (wanted.attachables.empty() && wanted.attach_error.empty()) return kFits;
  const TextId name = snapshot.catalog().node(node).name;
  const CsiNodeInfo* csi_node = storage.FindCsiNode(name);
  if (csi_node != nullptr && !wanted.attach_error.empty()) return kCannotCount;
  if (MissingDriver(snapshot.catalog(), wanted, csi_node) != kNoText) return kDriverMissing;
  if (csi_node == nullptr) return kFits;
  if (csi_node->limits.empty()) return kFits;

  Attached attached;
  if (!CollectOfPods(snapshot, node, attached)) return kCannotCountExisting;
  const std::span<const AttachableVolume> held = storage.AttachedTo(name);
  for (const auto& [driver, volumes_max] : csi_node->limits) {
    const int64_t added = CountOf(driver, wanted.attachables, &attached);
    if (added == 0) continue;
    const std::span<const AttachableVolume> of_pods(attached.data(), attached.size());
    const int64_t current = CountOf(driver, of_pods) + CountOf(driver, held, &attached);
    if (current + added > volumes_max) return kTooMany;
  }
  return kFits;
}

}  // namespace ebb
