// The member of a volume source that identifies the disk, for sources where pods may not share a
// disk or where disks count against a limit.
//
// Source: k8s.io/api core/v1 VolumeSource and PersistentVolumeSource.

#ifndef EBB_SNAPSHOT_OBJECTS_VOLUME_IDS_H_
#define EBB_SNAPSHOT_OBJECTS_VOLUME_IDS_H_

#include <string_view>

namespace ebb {

// "pdName" for "gcePersistentDisk"; empty if the source has no such member.
constexpr std::string_view VolumeIdFieldOf(std::string_view source) {
  struct VolumeIdField {
    std::string_view source;
    std::string_view field;
  };
  constexpr VolumeIdField kVolumeIds[] = {
      {"gcePersistentDisk", "pdName"},
      {"awsElasticBlockStore", "volumeID"},
      {"iscsi", "iqn"},
      {"rbd", "image"},
      {"azureDisk", "diskURI"},
      {"azureFile", "shareName"},
      {"cinder", "volumeID"},
      {"image", "reference"},
      {"portworxVolume", "volumeID"},
      {"vsphereVolume", "volumePath"},
  };
  for (const VolumeIdField& each : kVolumeIds) {
    if (each.source == source) return each.field;
  }
  return {};
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_VOLUME_IDS_H_
