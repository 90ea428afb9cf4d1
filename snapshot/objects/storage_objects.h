// Storage objects as importers deliver them: the fields of volumes, claims, classes, drivers
// and attachments that the scheduler's storage filters read.  Also objects of which Storage
// keeps only a look-up by name (devices, machines).
//
// The conventions of objects.h apply: views are valid until the call returns,
// bytes are rounded up as Quantity.Value() does, absent is empty or nullopt.  So two
// sizes that differ by less than a byte are equal here, but not in Kubernetes.
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

// spec.claimRef: the claim to which a volume is bound, or for which it is reserved.
struct ClaimReference {
  Text namespace_name;
  Text name;
  Text uid;
};

// `source` is the JSON key of the volume's source ("csi", "local", "gcePersistentDisk",
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

// One entry of allowedTopologies[].matchLabelExpressions: the key must have one of the values.
struct TopologyRequirement {
  Text key;
  std::vector<Text> values;
};
using TopologyTerm = std::vector<TopologyRequirement>;

struct StorageClass {
  ObjectMeta meta;
  Text provisioner;
  Text volume_binding_mode;                      // The API server never leaves it empty.
  std::vector<TopologyTerm> allowed_topologies;  // ORed; an empty list allows every node.
};

struct CsiDriver {
  ObjectMeta meta;
  bool storage_capacity = false;  // spec.storageCapacity.
  // spec.preventPodSchedulingIfMissing: pods with its volumes fit only nodes that have the driver.
  bool prevents_scheduling = false;
};

// The CSI drivers that are installed on the node of the same name.
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

// --- Dynamic resource allocation (docs/dra.md) ---------------------------------
//
// An object with a field that ebb does not know, or does not evaluate, has that field's path in
// not_understood.  Pods with claims that depend on the object keep their nodes.

// One attribute of a device.
struct DeviceAttribute {
  Text name;   // "domain/name", or "name" in the domain of the driver.
  Text type;   // The member that is set: "int", "bool", "string" or "version".
  Text value;  // "8", "true", "a100", "1.2.3".
};

// A counter, or an amount of a capacity; the quantity is as written: "40Gi".
struct DeviceQuantity {
  Text name;
  Text value;
};

// A capacity of a device, and the amounts of it that one request may take.
struct DeviceCapacity {
  Text name;
  Text value;
  // requestPolicy; a text that is empty is absent.
  bool has_policy = false;
  Text standard;  // default: for a request that names no amount.
  std::vector<Text> valid_values;
  bool has_range = false;  // validRange
  Text range_min;
  Text range_max;
  Text range_step;
};

// The counters of a set: what a pool has (spec.sharedCounters), or what a device takes of it.
struct DeviceCounters {
  Text counter_set;
  std::vector<DeviceQuantity> counters;
};

struct Device {
  Text name;
  std::vector<DeviceAttribute> attributes;
  std::vector<DeviceCapacity> capacity;
  std::vector<Taint> taints;
  std::vector<DeviceCounters> consumes;  // consumesCounters
  // With ResourceSlice::per_device_nodes: the nodes that reach the device.
  Text node_name;
  NodeSelector node_selector;
  bool all_nodes = false;
  bool allow_multiple = false;           // allowMultipleAllocations
  bool binds_to_node = false;            // bindsToNode
  std::vector<Text> binding_conditions;  // bindingConditions
};

// `exactly` of a request, or one alternative of `firstAvailable`.
struct DeviceAsk {
  Text name;  // Empty for `exactly`.
  Text class_name;
  std::vector<Text> selectors;  // CEL expressions.
  Text mode;                    // "ExactCount" or "All"; empty: "ExactCount".
  int64_t count = 0;            // 0: one device.
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::vector<DeviceQuantity> capacity;  // capacity.requests
};

struct DeviceRequest {
  Text name;
  bool first_available = false;
  std::vector<DeviceAsk> asks;  // One, or the alternatives in their order.
};

struct DeviceConstraint {
  std::vector<Text> requests;  // Empty: all requests of the claim.
  Text match_attribute;
  Text distinct_attribute;
};

struct DeviceClass {
  ObjectMeta meta;
  Text extended_resource_name;
  std::vector<Text> selectors;  // CEL expressions.
  Text not_understood;
};

struct ResourceClaim {
  // One of status.allocation.devices.results.
  struct Device {
    Text driver;
    Text pool;
    Text name;
    bool admin_access = false;
    Text share_id;                         // Set if others may use the device as well.
    std::vector<DeviceQuantity> consumed;  // consumedCapacity
    std::vector<Text> binding_conditions;
    std::vector<Text> binding_failure_conditions;
  };
  // One of status.devices: what a driver says of an allocated device.
  struct DeviceStatus {
    struct Condition {
      Text type;
      Text status;
    };
    Text driver;
    Text pool;
    Text name;
    std::vector<Condition> conditions;
  };
  // One of status.reservedFor.
  struct Consumer {
    Text resource;  // "pods"
    Text name;
    Text uid;
  };
  ObjectMeta meta;
  bool allocated = false;  // status.allocation is present.
  std::vector<Device> devices;
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  NodeSelector allocated_on;  // status.allocation.nodeSelector
  std::vector<Consumer> reserved_for;
  Text not_understood;
  std::vector<DeviceStatus> statuses;  // status.devices
};

struct ResourceClaimTemplate {
  ObjectMeta meta;
};

// Devices that a driver offers, on one node or on several nodes, or the counters of its pool.
struct ResourceSlice {
  ObjectMeta meta;
  Text driver;
  Text pool;       // spec.pool.name.
  Text node_name;  // Empty if the devices do not belong to a single node.
  int64_t generation = 0;
  int64_t slice_count = 0;  // spec.pool.resourceSliceCount
  NodeSelector node_selector;
  bool all_nodes = false;
  bool per_device_nodes = false;  // spec.perDeviceNodeSelection
  std::vector<ebb::objects::Device> devices;
  std::vector<DeviceCounters> shared_counters;
  Text not_understood;
};

// A taint that an administrator sets on devices.
struct DeviceTaintRule {
  ObjectMeta meta;
  // spec.deviceSelector.  Empty: any.
  Text driver;
  Text pool;
  Text device;
  Taint taint;
  Text not_understood;
};

// The infrastructure's object for the machine under a node.  Read because a machine that is being
// deleted takes its node with it.

// A Machine of Cluster API or of OpenShift.
struct Machine {
  ObjectMeta meta;
  Text group;        // The group in apiVersion: "cluster.x-k8s.io" or "machine.openshift.io".
  Text node_name;    // status.nodeRef.name.
  Text provider_id;  // spec.providerID.
};

// Karpenter's object for a machine.
struct NodeClaim {
  // One of status.conditions.
  struct Condition {
    Text type;
    Text status;
    int64_t since = 0;  // lastTransitionTime; 0: absent.
  };
  ObjectMeta meta;
  Text node_name;    // status.nodeName.
  Text provider_id;  // status.providerID.
  std::vector<Condition> conditions;
  std::optional<int64_t> last_pod_event;  // status.lastPodEventTime.
};

// Karpenter's object for a group of nodes: the fields of spec.disruption as they are written,
// whether spec.replicas is set, and what decides which nodes may be bought for it.
struct NodePool {
  // One of spec.template.spec.requirements.
  struct Requirement {
    Text key;
    Text op;
    std::vector<Text> values;
    std::optional<int64_t> min_values;
  };
  struct Budget {
    bool has_reasons = false;  // reasons is present; an empty list applies to no reason.
    std::vector<Text> reasons;
    Text nodes;                    // "10%", "3".
    std::optional<Text> schedule;  // A cron expression, in UTC.
    std::optional<Text> duration;
  };
  ObjectMeta meta;
  bool is_static = false;    // spec.replicas is present.
  Text policy;               // consolidationPolicy; "" means WhenEmptyOrUnderutilized.
  Text consolidate_after;    // "30s", "Never"; "" means 0s.
  bool has_budgets = false;  // budgets is present.  Absent: one budget of 10%.
  std::vector<Budget> budgets;
  Text not_understood;  // "spec.disruption.paused": no node of it goes.
  std::optional<int64_t> weight;
  ResourceList limits;
  ResourceList resources;  // status.resources: what its nodes have.
  KeyValues labels;        // spec.template.metadata.labels.
  std::vector<Requirement> requirements;
  std::vector<Taint> taints;
  std::vector<Taint> startup_taints;
  Text not_bought;  // "spec.template.spec.paused": no node is bought for it.
};

// Objects that say which pods belong together, and what room pods will need.

// A PodGroup of scheduling.k8s.io, scheduling.x-k8s.io (scheduler-plugins) or
// scheduling.volcano.sh.  A pod names its group (Pod::scheduling_group, a label or an annotation).
struct PodGroup {
  ObjectMeta meta;
  Text group;  // The group in apiVersion.
  // How many pods must keep running if some leave: spec.schedulingPolicy.gang.minCount, or
  // spec.minMember.  Absent: the policy is not a gang, or disruptionMode is Pod (1.36) or single.
  std::optional<int64_t> min_count;
  bool whole = false;  // spec.disruptionMode is PodGroup (1.36) or all: pods go together.
  // A field that ebb does not know or does not evaluate, or that must not be missing, and why:
  // "spec.schedulingConstraints.topology".  The pods of the group keep their nodes.
  Text not_understood;
};

struct PodTemplate {
  ObjectMeta meta;
  Pod pod;  // template.metadata and template.spec.
};

// A CapacityBuffer of autoscaling.x-k8s.io.  Its controller writes the template and the number of
// pods into the status, also if the spec names a scalable object or limits.
struct CapacityBuffer {
  ObjectMeta meta;
  Text strategy;       // status.provisioningStrategy.
  Text template_name;  // status.podTemplateRef.name.
  std::optional<int64_t> replicas;
  bool ready =
      false;  // Condition ReadyForProvisioning is True; or Provisioning, unless it is False.
};

struct VerticalPodAutoscaler {
  // One of spec.resourcePolicy.containerPolicies.
  struct Policy {
    Text container;  // "*": all containers without a policy of their own.
    Text mode;
    ResourceList min_allowed;
    ResourceList max_allowed;
    bool has_controlled = false;   // controlledResources is present.
    std::vector<Text> controlled;  // controlledResources.
  };
  // One of status.recommendation.containerRecommendations.
  struct Recommendation {
    Text container;
    ResourceList target;
  };
  ObjectMeta meta;
  Text target_kind;  // spec.targetRef.
  Text target_name;
  Text update_mode;  // spec.updatePolicy.updateMode.
  std::vector<Policy> policies;
  bool has_recommendation = false;  // status.recommendation names a container.
  std::vector<Recommendation> recommendations;
  Text not_understood;  // "spec.startupBoost": the pods of its target keep their nodes.
};

// Pods that match a Service are spread together by the scheduler's default constraints.
struct Service {
  ObjectMeta meta;
  KeyValues selector;  // spec.selector.
};

// An EvictionRequest of lifecycle.k8s.io: someone asks for the eviction of a pod, and the pod's
// responders carry it out in their own time.
struct EvictionRequest {
  ObjectMeta meta;
  Text pod;        // spec.target.pod.name, in the request's namespace.
  Text uid;        // spec.target.pod.uid.
  Text requester;  // spec.requester.
  // spec.intent is Eviction, and no condition TargetEvicted or Failed is True.
  bool active = false;
};

using StorageObject =
    std::variant<PersistentVolume, PersistentVolumeClaim, StorageClass, CsiDriver, CsiNode,
                 VolumeAttachment, CsiStorageCapacity, DeviceClass, ResourceClaim,
                 ResourceClaimTemplate, ResourceSlice, DeviceTaintRule, Machine, NodeClaim,
                 PodGroup, PodTemplate, CapacityBuffer, VerticalPodAutoscaler, NodePool, Service,
                 EvictionRequest>;

}  // namespace ebb::objects

#endif  // EBB_SNAPSHOT_OBJECTS_STORAGE_OBJECTS_H_
