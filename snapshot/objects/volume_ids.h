// The member of a volume source that tells which disk it is, for those that exclude one
// another or count against a limit.
//
// Source: k8s.io/api core/v1 VolumeSource and PersistentVolumeSource.

#ifndef EBB_SNAPSHOT_OBJECTS_VOLUME_IDS_H_
#define EBB_SNAPSHOT_OBJECTS_VOLUME_IDS_H_

#include <string_view>

namespace ebb {

// "pdName" for "gcePersistentDisk"; empty where there is none.
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
