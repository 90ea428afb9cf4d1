// Kubernetes objects as importers deliver them: the fields that a scale-down
// decision can read, under their API names, and nothing else.
//
// Start here when writing an importer.  Fill one of these structs, pass it to
// SnapshotBuilder (builder.h), reuse it for the next object (`object = {}`).
//
// Ownership: every Text is a view; its text must be valid until the call that receives
//            the object returns.  No call keeps a view.
// Units:     ResourceAmount.amount is milli-CPU for "cpu" and whole units
//            (bytes, counts) for everything else, both rounded up, as
//            Quantity.MilliValue() and Quantity.Value() do.  `excess` keeps what
//            rounding added, because Kubernetes rounds a pod's sum, not its terms.
//            The largest int64 (kUncountable, quantity.h) stands for any larger amount.
//            Times are seconds since the Unix epoch.
// Absent:    std::optional where Kubernetes distinguishes "absent" from "zero"; otherwise an
//            empty view, an empty vector, zero or false.

#ifndef EBB_SNAPSHOT_OBJECTS_OBJECTS_H_
#define EBB_SNAPSHOT_OBJECTS_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ebb::objects {

using Text = std::string_view;

struct KeyValue {
  Text key;
  Text value;
};
using KeyValues = std::vector<KeyValue>;

struct ResourceAmount {
  Text name;
  int64_t amount = 0;
  int32_t excess = 0;  // Billionths of the unit, in [0, 1e9): exact = amount - excess / 1e9.
};
using ResourceList = std::vector<ResourceAmount>;

struct OwnerReference {
  Text api_version;
  Text kind;
  Text name;
  Text uid;
  bool controller = false;
};

struct ObjectMeta {
  Text name;
  Text namespace_name;  // Empty for cluster-scoped objects.
  Text uid;
  KeyValues labels;
  KeyValues annotations;
  std::vector<OwnerReference> owners;
  int64_t creation_time = 0;             // 0: absent.
  std::optional<int64_t> deletion_time;  // metadata.deletionTimestamp.
};

// One entry of matchExpressions or matchFields.  `op` is the operator as
// written; code that compiles the selector decides about unknown operators.
struct Requirement {
  Text key;
  Text op;
  std::vector<Text> values;
};

// metav1.LabelSelector.  A nil selector matches nothing, an empty one everything.
struct LabelSelector {
  bool nil = true;
  KeyValues match_labels;
  std::vector<Requirement> match_expressions;
};

struct NodeSelectorTerm {
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;
};

// v1.NodeSelector.  Terms are ORed; zero terms match nothing.
struct NodeSelector {
  bool nil = true;
  std::vector<NodeSelectorTerm> terms;
};

struct Toleration {
  Text key;
  Text op;  // "", "Equal", "Exists", "Gt", "Lt".
  Text value;
  Text effect;
};

struct Taint {
  Text key;
  Text value;
  Text effect;
};

// A term of spec.affinity.podAffinity or podAntiAffinity.
struct PodAffinityTerm {
  LabelSelector label_selector;
  std::vector<Text> namespaces;
  LabelSelector namespace_selector;
  Text topology_key;
};

// A preferred term excludes no node; only scores read it.
struct PreferredNodeTerm {
  int64_t weight = 0;
  NodeSelectorTerm term;
};
struct PreferredPodTerm {
  int64_t weight = 0;
  PodAffinityTerm term;
};

struct TopologySpreadConstraint {
  int64_t max_skew = 1;
  Text topology_key;
  Text when_unsatisfiable;
  LabelSelector label_selector;
  std::vector<Text> match_label_keys;
  std::optional<int64_t> min_domains;
  Text node_affinity_policy;  // "" means Honor.
  Text node_taints_policy;    // "" means Ignore.
};

struct ContainerPort {
  Text host_ip;
  int64_t host_port = 0;
  Text protocol;
};

struct Container {
  Text name;
  Text restart_policy;  // "Always" on an init container makes it a sidecar.
  Text image;
  ResourceList requests;
  std::vector<ContainerPort> ports;
  bool restarts_all_containers = false;  // Some restartPolicyRules action is RestartAllContainers.
};

// status.containerStatuses and status.initContainerStatuses.
struct ContainerStatus {
  Text name;
  bool has_resources = false;  // status.resources is present.
  ResourceList requests;       // status.resources.requests.
  ResourceList allocated;      // status.allocatedResources.
};

// A volume; `source` is the JSON key of its source ("emptyDir", "hostPath",
// "persistentVolumeClaim", "ephemeral", "gcePersistentDisk",
// "awsElasticBlockStore", "iscsi", "rbd", "csi", ...).
struct Volume {
  Text name;
  Text source;
  Text medium;      // emptyDir.medium.
  Text claim_name;  // persistentVolumeClaim.claimName.
  Text id;    // gce pdName, aws volumeID, iscsi iqn, rbd image, azureDisk diskURI, cinder volumeID,
              // image reference, ...
  Text pool;  // rbd.pool ("rbd" where absent).
  std::vector<Text> monitors;  // rbd.monitors.
  Text driver;                 // csi.driver.
  bool read_only = false;
};

// One entry of spec.resourceClaims.  If the claim is made from a template, claim_name comes from
// status.resourceClaimStatuses; it is empty until the claim exists.
struct PodResourceClaim {
  Text name;  // Empty for the claim in status.extendedResourceClaimStatus.
  Text claim_name;
  Text template_name;
};

// The state of a pod's condition PodScheduled, together with its spec.schedulingGates.
enum class Scheduling : uint8_t {
  kNotRecorded,    // Unknown: the pod has no status, or its snapshot format keeps none.
  kUnprocessed,    // The condition is absent, or False without a reason.
  kUnschedulable,  // The condition is False with reason Unschedulable.
  kGated,          // The reason is SchedulingGated, or there is no reason and gates are listed.
  kOther,          // The condition is True, or has another reason.
};

struct Pod {
  ObjectMeta meta;

  // spec
  Text node_name;
  std::optional<int64_t> priority;
  Text restart_policy;
  std::optional<int64_t> termination_grace_period_s;
  bool host_network = false;
  std::optional<bool> host_users;
  bool has_bind_mount_options = false;  // Some volumeMount has bindMountOptions.
  Text os_name;                         // spec.os.name.
  KeyValues node_selector;
  bool has_node_selector = false;
  NodeSelector required_node_affinity;
  std::vector<PodAffinityTerm> affinity;       // Required terms only.
  std::vector<PodAffinityTerm> anti_affinity;  // Required terms only.
  std::vector<PreferredNodeTerm> preferred_nodes;
  std::vector<PreferredPodTerm> preferred_affinity;
  std::vector<PreferredPodTerm> preferred_anti_affinity;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpreadConstraint> spread;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  bool has_pod_resources = false;  // spec.resources.requests is present.
  ResourceList pod_requests;       // spec.resources.requests.
  std::vector<Volume> volumes;
  std::vector<PodResourceClaim> resource_claims;
  Text scheduler_name;  // Empty: "default-scheduler".
  // For a pod without a node: a digest of the whole spec (spec_digest.h); 0 if not computed.
  uint64_t spec_digest = 0;
  Text scheduling_group;  // spec.schedulingGroup.podGroupName, or the older workloadRef.name.

  // status
  Scheduling scheduling = Scheduling::kNotRecorded;
  Text phase;
  Text nominated_node_name;
  // status.startTime; read only if an annotation needs it (disruption_protection.h).
  std::optional<int64_t> start_time;
  bool unready = false;            // Running, with a condition Ready that is not True.
  bool resize_infeasible = false;  // Condition PodResizePending with reason Infeasible.
  std::vector<ContainerStatus> container_statuses;  // For containers and init containers.
  bool has_pod_status_resources = false;            // status.resources is present.
  ResourceList pod_status_requests;                 // status.resources.requests.
  ResourceList pod_allocated;                       // status.allocatedResources.
  // The node's own resources that devices of the pod's claims use: the sum over
  // status.nodeAllocatableResourceClaimStatuses.
  ResourceList claimed;

  // A field that the importer does not know and that may restrict where the pod runs, as a
  // JSON path ("spec.affinity.cosmicAffinity").  Such a pod keeps its node.
  Text not_understood;
};

struct NodeCondition {
  Text type;
  Text status;
};

// One of status.images.
struct NodeImage {
  std::vector<Text> names;
  int64_t size_bytes = 0;
};

struct Node {
  ObjectMeta meta;
  bool unschedulable = false;
  Text provider_id;
  std::vector<Taint> taints;
  ResourceList allocatable;
  ResourceList capacity;
  std::vector<NodeCondition> conditions;
  std::vector<Text> declared_features;
  std::vector<NodeImage> images;
  Text operating_system;  // status.nodeInfo.operatingSystem.
  Text architecture;      // status.nodeInfo.architecture.
  Text kubelet_version;   // status.nodeInfo.kubeletVersion.
};

struct PodDisruptionBudget {
  ObjectMeta meta;
  LabelSelector selector;
  int64_t disruptions_allowed = 0;

  // Shown in answers.  Some decide with UnhealthyPods::kEvict (catalog.h).
  bool always_allows_unready = false;      // spec.unhealthyPodEvictionPolicy is AlwaysAllow.
  bool sync_failed = false;                // Condition DisruptionAllowed is False, SyncFailed.
  Text sync_message;                       // That condition's message.
  std::optional<int64_t> desired_healthy;  // status.desiredHealthy.
  std::optional<int64_t> expected_pods;    // status.expectedPods.
  std::optional<int64_t> current_healthy;  // status.currentHealthy.
};

enum class ControllerKind : uint8_t {
  kReplicationController,
  kReplicaSet,
  kStatefulSet,
  kDaemonSet,
  kJob,
};

// The fields of a controller that a drainability rule or the replica counter reads.
struct Controller {
  ControllerKind kind = ControllerKind::kReplicaSet;
  ObjectMeta meta;
  std::optional<int64_t> spec_replicas;  // spec.replicas; Job: spec.parallelism.
  std::optional<int64_t> completions;    // Job: spec.completions.
  int64_t status_replicas =
      0;  // RS, RC: status.replicas; StatefulSet: status.currentReplicas; Job: status.active.
  int64_t succeeded = 0;  // Job: status.succeeded.
  // spec.selector of a ReplicaSet, StatefulSet or ReplicationController (which has matchLabels
  // alone).
  LabelSelector selector;
};

struct Namespace {
  ObjectMeta meta;
};

}  // namespace ebb::objects

#endif  // EBB_SNAPSHOT_OBJECTS_OBJECTS_H_
