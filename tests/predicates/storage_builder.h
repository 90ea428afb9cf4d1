// Builds storage objects in a few words, for tests of the storage filters.
//
//   Cluster().Add(LateClass("fast", "csi.example.com"))
//            .Add(Claim("data", "fast"))
//            .Add(Mounting(Pod("p"), "data"));
//
// Ownership: texts must outlive the cluster's Build(); pass literals.

#ifndef EBB_TESTS_PREDICATES_STORAGE_BUILDER_H_
#define EBB_TESTS_PREDICATES_STORAGE_BUILDER_H_

#include <string_view>

#include "snapshot/objects/storage_objects.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {

using objects::Text;

// An available volume of 10 GiB, ReadWriteOnce, that every node can use.
inline objects::PersistentVolume Volume(Text name, Text storage_class = "") {
  objects::PersistentVolume volume;
  volume.meta.name = name;
  volume.capacity_bytes = 10 * kGiB;
  volume.access_modes = {"ReadWriteOnce"};
  volume.storage_class_name = storage_class;
  volume.source = "csi";
  volume.driver = "csi.example.com";
  volume.id = name;
  volume.phase = "Available";
  return volume;
}

// An unbound claim for 5 GiB, ReadWriteOnce.
inline objects::PersistentVolumeClaim Claim(Text name, Text storage_class = "") {
  objects::PersistentVolumeClaim claim;
  claim.meta.name = name;
  claim.meta.namespace_name = "default";
  claim.meta.uid = name;
  claim.access_modes = {"ReadWriteOnce"};
  claim.storage_class_name = storage_class;
  claim.request_bytes = 5 * kGiB;
  claim.phase = "Pending";
  return claim;
}

inline objects::PersistentVolumeClaim BoundClaim(Text name, Text volume) {
  objects::PersistentVolumeClaim claim = Claim(name);
  claim.volume_name = volume;
  claim.meta.annotations.push_back({"pv.kubernetes.io/bind-completed", "yes"});
  claim.phase = "Bound";
  return claim;
}

// A class that waits for the first consumer.
inline objects::StorageClass LateClass(Text name, Text provisioner) {
  objects::StorageClass storage_class;
  storage_class.meta.name = name;
  storage_class.provisioner = provisioner;
  storage_class.volume_binding_mode = "WaitForFirstConsumer";
  return storage_class;
}

inline objects::CsiNode CsiNode(Text node, Text driver, int64_t volumes_max) {
  objects::CsiNode csi_node;
  csi_node.meta.name = node;
  csi_node.drivers = {{driver, volumes_max}};
  return csi_node;
}

// Sets spec.nodeAffinity.required: the label must have this value.
inline void OnlyWhere(objects::PersistentVolume& volume, Text key, Text value) {
  volume.required_node_affinity.nil = false;
  volume.required_node_affinity.terms.push_back({{{key, "In", {value}}}, {}});
}

inline Pod Mounting(Pod pod, Text claim) {
  pod.Volume("persistentVolumeClaim");
  pod.raw.volumes.back().claim_name = claim;
  return pod;
}

inline Pod WithDisk(Pod pod, Text source, Text id, bool read_only = false) {
  pod.Volume(source);
  pod.raw.volumes.back().id = id;
  pod.raw.volumes.back().read_only = read_only;
  return pod;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_PREDICATES_STORAGE_BUILDER_H_
