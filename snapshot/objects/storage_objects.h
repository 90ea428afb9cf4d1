// Storage objects as importers hand them over: what the scheduler's storage
// filters read of volumes, claims, classes, drivers and attachments; and other objects of which
// only a look-up by name is kept beside them (devices, machines).
//
// The conventions of objects.h hold: views that live until the call returns,
// bytes rounded up as Quantity.Value() does, absent is empty or nullopt.  Two
// sizes that differ by less than a byte are therefore equal here, and in
// Kubernetes not.
//
// Source: k8s.io/api core/v1, storage/v1, resource/v1.

#ifndef EBB_SNAPSHOT_OBJECTS_STORAGE_OBJECTS_H_
#define EBB_SNAPSHOT_OBJECTS_STORAGE_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "snapshot/objects/objects.h"

namespace ebb::objects {

// spec.claimRef: the claim that a volume is bound to, or reserved for.
struct ClaimReference {
  Text namespace_name;
  Text name;
  Text uid;
};

// `source` is the JSON key of its source ("csi", "local", "gcePersistentDisk",
// "awsElasticBlockStore", "azureDisk", "cinder", "portworxVolume", ...).
struct PersistentVolume {
  ObjectMeta meta;
  int64_t capacity_bytes = 0;  // spec.capacity.storage.
  std::vector<Text> access_modes;
  Text storage_class_name;
  Text volume_mode;  // "" means Filesystem.
  Text volume_attributes_class_name;
  std::optional<ClaimReference> claim;
  NodeSelector required_node_affinity;  // spec.nodeAffinity.required.
  Text source;
  Text driver;     // csi.driver.
  Text id;         // csi.volumeHandle, gce pdName, aws volumeID, azureDisk diskURI, ...
  Text disk_kind;  // azureDisk.kind.
  Text phase;      // status.phase.
};

struct PersistentVolumeClaim {
  ObjectMeta meta;
  std::vector<Text> access_modes;
  Text storage_class_name;
  Text volume_mode;  // "" means Filesystem.
  Text volume_attributes_class_name;
  Text volume_name;
  LabelSelector selector;
  std::optional<int64_t> request_bytes;  // spec.resources.requests.storage.
  Text phase;                            // status.phase.
};

// One entry of allowedTopologies[].matchLabelExpressions: the key has one of the values.
struct TopologyRequirement {
  Text key;
  std::vector<Text> values;
};
using TopologyTerm = std::vector<TopologyRequirement>;

struct StorageClass {
  ObjectMeta meta;
  Text provisioner;
  Text volume_binding_mode;                      // The API server never leaves it empty.
  std::vector<TopologyTerm> allowed_topologies;  // ORed; none allows every node.
};

struct CsiDriver {
  ObjectMeta meta;
  bool storage_capacity = false;  // spec.storageCapacity.
  // spec.preventPodSchedulingIfMissing: pods with its volumes wait for a node that has it.
  bool prevents_scheduling = false;
};

// What is installed on the node of the same name.
struct CsiNode {
  struct Driver {
    Text name;
    std::optional<int64_t> volumes_max;  // allocatable.count.
  };
  ObjectMeta meta;
  std::vector<Driver> drivers;
};

struct VolumeAttachment {
  ObjectMeta meta;
  Text attacher;
  Text node_name;
  std::optional<Text> volume_name;  // spec.source.persistentVolumeName.
};

struct CsiStorageCapacity {
  ObjectMeta meta;
  Text storage_class_name;
  LabelSelector node_topology;
  std::optional<int64_t> capacity_bytes;
  std::optional<int64_t> maximum_volume_size_bytes;
};

// Dynamic resource allocation is not evaluated: a pod that asks for devices, by a claim
// or by an extended resource that a DeviceClass stands for, keeps its node.  What is
// read of it says why.

struct DeviceClass {
  ObjectMeta meta;
  Text extended_resource_name;
};

struct ResourceClaim {
  // One of status.allocation.devices.results.
  struct Device {
    Text driver;
    Text pool;
    Text name;
  };
  ObjectMeta meta;
  bool allocated = false;  // status.allocation is present.
  std::vector<Device> devices;
};

struct ResourceClaimTemplate {
  ObjectMeta meta;
};

// Devices that a driver offers, on one node or on several.
struct ResourceSlice {
  ObjectMeta meta;
  Text driver;
  Text pool;       // spec.pool.name.
  Text node_name;  // Empty: not of one node alone.
};

// What a node runs on, for the infrastructure of the cluster.  Read because a machine that is being
// deleted takes its node along.

// A Machine of Cluster API or of OpenShift.
struct Machine {
  ObjectMeta meta;
  Text group;        // Of its apiVersion: "cluster.x-k8s.io" or "machine.openshift.io".
  Text node_name;    // status.nodeRef.name.
  Text provider_id;  // spec.providerID.
};

// Karpenter's.
struct NodeClaim {
  ObjectMeta meta;
  Text node_name;    // status.nodeName.
  Text provider_id;  // status.providerID.
};

using StorageObject =
    std::variant<PersistentVolume, PersistentVolumeClaim, StorageClass, CsiDriver, CsiNode,
                 VolumeAttachment, CsiStorageCapacity, DeviceClass, ResourceClaim,
                 ResourceClaimTemplate, ResourceSlice, Machine, NodeClaim>;

}  // namespace ebb::objects

#endif  // EBB_SNAPSHOT_OBJECTS_STORAGE_OBJECTS_H_
