// Catalog: everything about a cluster that does not change while plans are tried.
//
// Nodes, pods, shapes, budgets, controllers and the *definitions* of topology
// counters are here, under dense ids.  What changes during a plan (where pods
// are, free amounts, counts) is in ClusterSnapshot (cluster_snapshot.h).  Any
// number of snapshots can share one Catalog.
//
// A *pod shape* holds everything that a filter or rule can read of a pod.  The pods of a
// controller usually share one shape, and work is done per shape, not per pod.
//
// Cost:      look-ups are array accesses.  A pod costs 24 bytes beside its names;
//            a shape a few hundred.
// Threads:   const methods may run concurrently.  Only SnapshotBuilder (builder.h) and
//            LiveSnapshot (live_snapshot.h) change a catalog, and only while no thread reads it.
// Ownership: shared by the snapshots made from it.
// Changes:   a LiveSnapshot changes its catalog between plans.  Data kept beside a catalog by id
//            is checked for staleness with revision() and the logs of pod and node changes.  While
//            other threads read the catalog, the LiveSnapshot changes a copy instead.

#ifndef EBB_SNAPSHOT_CATALOG_H_
#define EBB_SNAPSHOT_CATALOG_H_

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "snapshot/ids.h"
#include "snapshot/matching.h"
#include "snapshot/node_set.h"
#include "snapshot/objects/kubernetes_version.h"
#include "snapshot/objects/objects.h"
#include "snapshot/room_objects.h"
#include "snapshot/scheduler_config.h"
#include "snapshot/storage.h"
#include "snapshot/symbols.h"

namespace ebb {

class ClusterSnapshot;

class Devices;

struct ResourceQuantity {
  ResourceId resource;
  int64_t amount;  // milli-CPU, bytes or a count.
  friend bool operator==(const ResourceQuantity&, const ResourceQuantity&) = default;
};

// The amount of a resource in a list that has each resource at most once; 0 if it is missing.
// Cost: O(list).
inline int64_t AmountOf(const std::vector<ResourceQuantity>& list, ResourceId resource) {
  for (const ResourceQuantity& each : list) {
    if (each.resource == resource) return each.amount;
  }
  return 0;
}

// The GPU resource of a node whose labels claim a GPU but which offers none, for example because
// its driver is missing.  The symbols of every catalog contain this text.
inline constexpr std::string_view kDefaultGpuResource = "nvidia.com/gpu";

// The most that all pods together may be charged of a resource, so that sums and differences
// of amounts stay within int64.
inline constexpr int64_t kChargedMax = int64_t{1} << 61;

struct CpuAndMemory {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  friend bool operator==(const CpuAndMemory&, const CpuAndMemory&) = default;
};

// A list of amounts, sorted by resource, without zero amounts.
using Requests = std::vector<ResourceQuantity>;

struct HostPort {
  TextId ip;        // "0.0.0.0" if the pod names none.
  TextId protocol;  // "TCP" if the pod names none.
  int32_t port;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

enum class PodPhase : uint8_t { kOther, kPending, kRunning, kSucceeded, kFailed };
enum class RestartPolicy : uint8_t { kAlways, kOnFailure, kNever };

// cluster-autoscaler.kubernetes.io/safe-to-evict
enum class SafeToEvict : uint8_t { kUnset, kTrue, kFalse, kOnCompletion, kOther };

// The kinds of controllers that rules distinguish.
enum class OwnerKind : uint8_t {
  kNone,  // The pod has no controller.
  kOther,
  kDaemonSet,
  kJob,
  kReplicaSet,
  kReplicationController,
  kStatefulSet,
};
OwnerKind OwnerKindOf(std::string_view kind);

struct Owner {
  TextId api_version;
  TextId kind;
  TextId name;
  TextId uid;
};

// A DoNotSchedule constraint.
struct SpreadConstraint {
  TableId table;  // Counts matching pods by domain.
  TopologyKeyId key;
  int32_t max_skew;
  int32_t min_domains;  // 1 if the pod names none.
  bool self_match;      // The pod matches its own constraint.
};

struct AffinityTerm {
  TableId table;
  TopologyKeyId key;
};

struct AntiAffinityTerm {
  TableId table;
  TopologyKeyId key;
  TableId repelling;  // The kExistingAnti table, whose matcher selects the pods that are repelled.
};

// A ScheduleAnyway constraint.
struct SoftSpread {
  Selector selector;  // Includes the pod's values for matchLabelKeys.
  TextId topology_key;
  int32_t max_skew;
  bool honor_affinity;
  bool honor_taints;
};

struct PreferredNodes {
  int64_t weight;
  NodeSelectorTerm term;
};

// A term of pod affinity: its owner scores better near the pods that the term selects, or worse
// if `weight` is negative.
struct WeightedPodTerm {
  int64_t weight;
  Selector selector;
  std::vector<TextId> namespaces;  // The owner's namespace if the term names none.
  Selector namespace_selector;     // Selects nothing if the term has none.
  TextId topology_key;
};

// The parts of a pod that only scores read, in addition to what filters read.
struct Preferences {
  std::vector<SoftSpread> spread;
  std::vector<PreferredNodes> nodes;
  std::vector<WeightedPodTerm> pods;      // Preferred terms; anti-affinity has negative weights.
  std::vector<WeightedPodTerm> required;  // Required affinity terms, with weight 1.
  // One entry for each container or volume that has an image, with a tag ("nginx:latest").
  std::vector<TextId> images;
  int64_t containers = 0;  // Including init containers.
};

// A set of pods that run together (gangs.h).
struct Gang {
  GangKind kind = GangKind::kPodGroup;
  TextId namespace_name;
  TextId name;
  bool has_object = false;  // Its PodGroup is in the input.
  bool one_by_one = false;  // Its pods may be disrupted one by one, down to min_count.
  std::optional<int64_t> min_count = std::nullopt;  // Absent: unknown, or the group is not a gang.
  std::string not_understood = {};  // A field of its PodGroup; its pods stay where they are.
};
// Pods of a gang that do not run, by cause.
struct GangAbsent {
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t expendable = 0;  // Left out, although they may run.
  int64_t deleted = 0;     // Are being deleted.
  int64_t waiting = 0;     // Have no node.
  int64_t elsewhere = 0;   // On nodes that the input lacks.

  [[nodiscard]] int64_t pods() const {
    return succeeded + failed + expendable + deleted + waiting + elsewhere;
  }
  friend bool operator==(const GangAbsent&, const GangAbsent&) = default;
};
// The pods of a gang that are not in the catalog: ended and expendable ones (listed_pods.h).
struct GangLeftOut {
  GangAbsent pods;
  absl::flat_hash_map<TextId, int64_t> jobs;    // kJobSet: pods that have succeeded, by Job.
  absl::flat_hash_map<int64_t, int64_t> sizes;  // The pods that declare a size, by size.
};
// What CountGangs (gangs.h) found.
struct GangStates {
  struct State {
    int64_t running = 0;
    int64_t nodes = 0;    // On so many nodes.
    int64_t leaving = 0;  // So many of them on nodes that are being deleted.
    bool held = false;    // Its pods stay, except those of may_move.
    int64_t least = 0;    // So many must run, as far as the group, or the pods' labels, declare it.
    int64_t declared = 0;  // Pods, of a JobSet Jobs, that the pods' labels declare; 0: none do.
    int64_t missing = 0;   // Pods or Jobs that are declared and not in the input.
    GangAbsent absent = {};
    friend bool operator==(const State&, const State&) = default;
  };
  std::vector<State> gangs;                                  // By index of Catalog::gangs().
  absl::flat_hash_set<std::pair<uint32_t, PodId>> may_move;  // Gangs and their pods.
  friend bool operator==(const GangStates&, const GangStates&) = default;
};

// A CapacityBuffer, and the pods that stand for it in the catalog.
struct KeptBuffer {
  TextId namespace_name;
  TextId name;
  std::string strategy;
  TextId template_name;
  int64_t replicas = 0;
  bool ready = true;     // Otherwise no room is owed.
  PodId first = kNoPod;  // The first of its pods; the others follow.
  int64_t pods = 0;
  std::string problem;  // Why it has fewer pods than replicas; empty: it has all.

  // Nodes that the buffer needs may go.
  [[nodiscard]] bool is_short() const { return ready && !problem.empty(); }
};

struct PodShape {
  // The fields that a pass reads for every pod that moves, together in memory.
  int32_t priority = 0;
  FitClassId fit_class{};
  ConstraintsId constraints{};
  bool has_controller = false;                   // An owner with controller: true.
  OwnerKind controller_kind = OwnerKind::kNone;  // controller.kind.
  // Families are the connected components of shapes that feed or read a common counter table, so
  // no filter for a pod of one family sees what pods of another family do.  Two components may
  // share an id; one component never has two.  kNoFamily: the shape feeds and reads no table.
  FamilyId family = kNoFamily;
  // What the pod takes on its node, including the amounts in its status.  Without kPods.
  // An amount that is larger than any node offers may be recorded as a smaller one that is
  // still larger than any node offers: the sum over all pods is at most kChargedMax.
  Requests charge_requests;
  Requests fit_requests;       // What NodeResourcesFit tests: spec only, without TPUs.
  std::vector<TableId> feeds;  // Tables that count this pod; two equal terms list a table twice.

  // Topology.
  std::vector<SpreadConstraint> spread;
  std::vector<AntiAffinityTerm> anti_affinity;  // Tables of pods that match one term.
  std::vector<AffinityTerm> repelled_by;  // Tables of pods whose anti-affinity this pod matches.
  uint32_t repelled_by_own = 0;           // The number of first entries of repelled_by that
                                          // also belong to anti_affinity.
  bool matches_own_affinity = false;      // The pod matches all its own affinity terms.
  std::vector<AffinityTerm> affinity;     // Tables of pods that match all affinity terms.

  std::vector<ClaimId> claims;  // spec.volumes[].persistentVolumeClaim.

  TextId namespace_name;
  LabelSet labels;
  bool has_priority = false;
  PodPhase phase = PodPhase::kRunning;
  RestartPolicy restart_policy = RestartPolicy::kAlways;
  bool terminating = false;     // metadata.deletionTimestamp is set.
  int64_t grace_period_s = 30;  // spec.terminationGracePeriodSeconds, 30 where absent.

  Owner controller{};         // The owner with controller: true, if has_controller.
  std::vector<Owner> owners;  // All owners, in order.

  // Annotations that rules read.
  bool mirror = false;                // kubernetes.io/config.mirror
  bool static_pod = false;            // kubernetes.io/config.source present and not "api"
  bool daemonset_annotation = false;  // cluster-autoscaler.kubernetes.io/daemonset-pod: "true"
  SafeToEvict safe_to_evict = SafeToEvict::kUnset;
  TextId safe_to_evict_text = kNoText;     // For kOther: the value, shown in answers.
  bool blocks_with_local_storage = false;  // Has a local volume that no annotation declares safe.
  bool has_empty_dir = false;   // Has an emptyDir of any kind: `kubectl drain` asks for a flag.
  bool do_not_disrupt = false;  // karpenter.sh/do-not-disrupt, or the older do-not-evict.
  // If do_not_disrupt: the first second without protection; kForEver: the protection never ends.
  static constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  int64_t do_not_disrupt_until = kForEver;
  bool do_not_disrupt_unstarted = false;  // A duration is set, but the pod's start is unknown.

  std::vector<uint32_t> gangs;      // Indices of Catalog::gangs().  Each of them counts.
  std::vector<int64_t> gang_sizes;  // By `gangs`: GangStates::State::declared; 0: not declared.
  // The VerticalPodAutoscaler that changes what the pod asks for when it is created again.  If it
  // is set, fit_requests and charge_requests are the new amounts, and home_requests is what the pod
  // takes on the node where it runs (Catalog::ChargeOn).
  TextId vpa = kNoText;
  Requests home_requests;

  // What the pod needs of its node.
  std::vector<HostPort> host_ports;
  bool needs_restart_all_containers =
      false;  // Declared feature RestartAllContainersOnContainerExits.
  bool needs_host_network_user_namespaces = false;  // UserNamespacesHostNetworkSupport.
  bool needs_bind_mount_options = false;            // VolumeBindMountOptions, from 1.37 on.

  TextId scheduler_name = kNoText;  // spec.schedulerName; kNoText: "default-scheduler".
  uint32_t profile = kNoProfile;    // An index of Catalog::scheduler()->profiles.
  bool on_node = false;             // spec.nodeName is set.
  bool has_own_spread = false;      // spec.topologySpreadConstraints is not empty.
  // Its scheduler does not evaluate InterPodAffinity.  Its own anti-affinity still repels pods of
  // other schedulers.
  bool ignores_pod_affinity = false;

  std::vector<PdbId> budgets;  // PodDisruptionBudgets that match the pod, in their order.

  // The requests that utilization counts, if they differ from charge_requests: pod-level resources
  // as in the spec, and amounts that are too large to be charged.  Without kPods.
  bool counts_otherwise = false;
  Requests counted_requests;  // Empty unless counts_otherwise.
  [[nodiscard]] const Requests& Counted() const {
    if (counts_otherwise) return counted_requests;
    return vpa == kNoText ? charge_requests : home_requests;
  }

  // objects::Pod::spec_digest; 0 for a pod on a node.
  uint64_t spec_digest = 0;

  // Only scores read these.  scored_incoming: the pod's requests when it is to be placed
  // (RequestsOf::kScoredIncoming).  scored_default: what scores add to charge_requests when the pod
  // runs on its node (kScoredRunning).
  CpuAndMemory scored_incoming;
  CpuAndMemory scored_default;
  std::shared_ptr<const Preferences> preferences;  // Null if there are none.

  // Volumes and claims that storage filters read.
  uint32_t volumes = 0;  // Index for Storage::volumes(); 0 if no volume matters.
  std::vector<PodResourceClaimInfo> resource_claims;  // As the pod names them.
  // The claims of resource_claims.  Empty if ebb does not understand one of them.
  std::vector<DeviceClaimId> device_claims;

  // A constraint that ebb does not evaluate: the pod fits nowhere and keeps its
  // node.  Empty if ebb understands all constraints.
  std::string not_understood;
  // Only for a pod without a node: a field that ebb does not know and on which the scheduler does
  // not fail.  The scheduler does not know the field either, so room is kept for the pod as if
  // the field were absent.
  std::string ignored;
};

// Whether PodShape::not_understood or objects::Pod::not_understood names a selector that does not
// parse.  The scheduler fails on such a selector too, so no node takes the pod.
inline bool SchedulerFailsOn(std::string_view not_understood) {
  return not_understood.starts_with("spec.topologySpreadConstraints: ") ||
         not_understood.starts_with("spec.affinity.podAffinity: ") ||
         not_understood.starts_with("spec.affinity.podAntiAffinity: ");
}

struct NodeImage {
  TextId name;
  int64_t size_bytes;
};

// Who is deleting the node, according to the node itself.  An autoscaler's taint is recorded in
// NodeInfo::to_be_deleted instead.
enum class NodeLeaving : uint8_t {
  kNo,
  kDeletionTimestamp,  // metadata.deletionTimestamp
  kDisrupted,          // Taint karpenter.sh/disrupted.
  kDisruption,         // Taint karpenter.sh/disruption, as Karpenter before 1.0 has it.
};

// How far Karpenter has set up a node, according to the node's labels and taints.
enum class NodeSetup : uint8_t {
  kNotKarpenters,
  kInitialized,     // Label karpenter.sh/initialized: "true".
  kUnregistered,    // Taint karpenter.sh/unregistered.
  kNotInitialized,  // Registered, but without that label.
  kUnlabelled,      // Neither label: the node is starting, or its labels were removed.
};

struct NodeInfo {
  TextId name;
  TextId uid;
  NodeShapeId shape;
  LabelSet labels;
  std::vector<Taint> taints;
  std::vector<TextId> declared_features;
  // Sorted by resource, without amounts that cannot be counted: above 2^62, or so large that
  // the pods' requests of the resource could not be added up (SnapshotBuilder::BoundCharges).
  std::vector<ResourceQuantity> allocatable;
  std::vector<ResourceQuantity> capacity;
  std::vector<NodeImage> images;  // Sorted by name; names are unique.  Only scores read them.
  TextId provider_id;
  TextId os = kNoText;            // Label kubernetes.io/os, else status.nodeInfo; kNoText: unknown.
  TextId architecture = kNoText;  // Label kubernetes.io/arch, else status.nodeInfo.
  std::optional<KubernetesVersion> version;  // The version of its kubelet.
  int64_t creation_time = 0;
  bool unschedulable = false;
  bool ready = true;                 // By the autoscaler's rules: conditions and taints.
  bool kubelet_ready = true;         // The condition Ready is "True".
  bool scale_down_disabled = false;  // cluster-autoscaler.kubernetes.io/scale-down-disabled: "true"
  bool upcoming = false;             // cluster-autoscaler.k8s.io/upcoming-node
  bool do_not_disrupt = false;      // karpenter.sh/do-not-disrupt, or the older do-not-consolidate.
  bool do_not_consolidate = false;  // The older annotation is set.
  NodeLeaving leaving = NodeLeaving::kNo;
  NodeSetup setup = NodeSetup::kNotKarpenters;
  std::optional<int64_t>
      to_be_deleted;  // Value of the ToBeDeletedByClusterAutoscaler taint, if an integer.
  std::optional<int64_t>
      deletion_candidate;  // Value of the DeletionCandidateOfClusterAutoscaler taint.
};

struct PodInfo {
  TextId name;
  TextId key;  // The UID, or "namespace/name" if the pod has no UID.
  int64_t creation_time = 0;
};

// What becomes of pods that the eviction API would evict without asking their budgets.
enum class UnhealthyPods : uint8_t {
  kKeep,   // Their budgets count, as in the autoscaler.
  kEvict,  // They need no disruption, as in the eviction API.
};

struct Pdb {
  TextId namespace_name;
  TextId name;
  Selector selector;
  int32_t disruptions_allowed = 0;

  // As in objects::PodDisruptionBudget.
  bool always_allows_unready = false;
  bool sync_failed = false;
  std::string sync_message = {};
  std::optional<int64_t> desired_healthy = std::nullopt;
  std::optional<int64_t> expected_pods = std::nullopt;
  std::optional<int64_t> current_healthy = std::nullopt;

  // Whether the eviction API lets pods that run and are not ready go without a disruption: by
  // AlwaysAllow, or because the budget is met (IfHealthyBudget, the default).
  [[nodiscard]] bool FreesUnready() const {
    return always_allows_unready || (current_healthy && desired_healthy && *desired_healthy > 0 &&
                                     *current_healthy >= *desired_healthy);
  }
  // Whether the budget allows no disruption even if all its pods are healthy.
  [[nodiscard]] bool NeverAllows() const {
    return desired_healthy && expected_pods && *expected_pods > 0 &&
           *desired_healthy >= *expected_pods;
  }
};

// The fields of a controller that a rule or the replica counter reads, named as in
// objects::Controller.
struct ControllerStatus {
  TextId uid;
  std::optional<int64_t> spec_replicas;
  std::optional<int64_t> completions;
  int64_t status_replicas = 0;
  int64_t succeeded = 0;
  Selector selector = {.nothing = true, .requirements = {}};  // `nothing`: none, or a wrong one.
  // Its own controller, as the Deployment of a ReplicaSet; kNoText: it has none.
  TextId owner_kind = kNoText;
  TextId owner_name = kNoText;
};

// Selects the pods that a counter table counts.
struct PodMatcher {
  std::vector<TextId> namespaces;  // Sorted.
  bool all_namespaces = false;
  Selector selector;
  // The term's namespaceSelector, if `namespaces` also lists those that it matches.
  std::optional<Selector> namespace_selector = std::nullopt;

  [[nodiscard]] bool Matches(const PodShape& shape) const;
};

enum class TableKind : uint8_t {
  kSpread,        // Pods that a spread constraint counts: on eligible nodes, not terminating.
  kMatching,      // Pods that match every matcher: affinity (all terms) or anti-affinity (one).
  kExistingAnti,  // Pods that *have* the anti-affinity term.
};

// If the pods that have an anti-affinity term are exactly the pods that match it, as in an
// application whose pods avoid each other, the kMatching table also replaces the kExistingAnti
// table: no shape feeds or is repelled by the latter (TopologyTables).
struct CounterTable {
  TableKind kind;
  TopologyKeyId key;
  std::vector<PodMatcher> matchers;  // ANDed.  kExistingAnti: they select the repelled pods.
  RegistryId registry{};             // kSpread.
  bool for_affinity = false;         // kMatching: some affinity term reads the table's total.
};

// The nodes, and so the domains, that a spread constraint takes into account.
// Constraints with the same eligible nodes and the same key share one registry.
struct DomainRegistry {
  TopologyKeyId key;
  NodeSet eligible;  // Nodes that have all keys and pass the inclusion policies.
  bool ghost_excluded =
      false;  // A node tainted as being deleted is not eligible (nodeTaintsPolicy: Honor).

  // The constraint's requirements on a node.  `eligible` follows from them; the verifier
  // computes it again.  A key that excludes no further node may be missing.
  std::vector<TopologyKeyId> required_keys;
  bool honor_affinity = true;
  bool honor_taints = false;
  ConstraintsId constraints{};
};

struct TopologyKey {
  TextId label;
  std::vector<DomainId> domain_of;                // By NodeId; kNoDomain if the label is missing.
  absl::flat_hash_map<TextId, DomainId> domains;  // By label value.
  std::vector<TextId> values;                     // By DomainId.
  std::vector<uint32_t> nodes_in;                 // By DomainId.
  size_t shared_domains = 0;                      // Domains with two nodes or more.
};

// The pods or nodes that were added and removed since the catalog was built, in order, for
// callers that keep data by id.  If there are very many changes, only the newest are kept.
template <typename Id>
struct ChangeLog {
  struct Change {
    Id id;
    TextId key;  // PodInfo::key or NodeInfo::name; also set for a removal.
    bool came;
  };
  uint64_t forgotten = 0;  // The number of changes before those in `changes`.
  std::vector<Change> changes;

  [[nodiscard]] uint64_t end() const { return forgotten + changes.size(); }
  // Drops the oldest `count` changes.
  void Forget(size_t count) {
    forgotten += count;
    changes.erase(changes.begin(), changes.begin() + static_cast<ptrdiff_t>(count));
  }
};
// The id of a removed pod may be given to another pod.
using PodChangeLog = ChangeLog<PodId>;
// The id of a removed node is never used again.
using NodeChangeLog = ChangeLog<NodeId>;

class Catalog {
 public:
  explicit Catalog(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>());
  Catalog& operator=(const Catalog&) = delete;

  [[nodiscard]] const Symbols& symbols() const { return *symbols_; }
  [[nodiscard]] const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }
  [[nodiscard]] std::string_view Text(TextId id) const { return symbols_->Text(id); }

  // Identifies the catalog and the copies that a LiveSnapshot makes of it.  Their ids have the
  // same meaning, except for the pods and nodes that the change logs list.
  [[nodiscard]] uint64_t lineage() const { return lineage_; }
  // How often nodes, shapes, budgets, controllers or claims have changed since the catalog was
  // built.  New shapes, resources and pods do not count, because their ids were not in use.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  [[nodiscard]] const PodChangeLog& pod_changes() const { return pod_changes_; }
  [[nodiscard]] const NodeChangeLog& node_changes() const { return node_changes_; }

  // The version by whose scheduler's rules pods are placed.
  [[nodiscard]] KubernetesVersion kubernetes_version() const { return version_; }
  // Whether some verdict in this cluster depends on the Kubernetes version.
  [[nodiscard]] bool version_matters() const;

  // The number of ids that nodes have or had.
  [[nodiscard]] size_t nodes() const { return nodes_.size(); }
  // Whether a node has this id.  A node that is removed from a LiveSnapshot's catalog leaves its
  // id unused: the entry has no name, labels or amounts, and no snapshot contains it.
  [[nodiscard]] bool IsThere(NodeId id) const { return node(id).name != kNoText; }
  [[nodiscard]] const NodeInfo& node(NodeId id) const {
    EBB_DCHECK(Index(id) < nodes_.size());
    return nodes_[Index(id)];
  }
  [[nodiscard]] std::string_view NodeName(NodeId id) const { return Text(node(id).name); }
  // Errors: NotFound.
  [[nodiscard]] absl::StatusOr<NodeId> FindNode(std::string_view name) const;
  // kNoNode if there is no such node.
  [[nodiscard]] NodeId FindNode(TextId name) const {
    const auto it = nodes_by_name_.find(name);
    return it == nodes_by_name_.end() ? kNoNode : it->second;
  }

  [[nodiscard]] size_t pods() const { return pods_.size(); }
  [[nodiscard]] const PodInfo& pod(PodId id) const {
    EBB_DCHECK(Index(id) < pods_.size());
    return pods_[Index(id)];
  }
  [[nodiscard]] PodShapeId shape_id(PodId id) const {
    EBB_DCHECK(Index(id) < shape_ids_.size());
    return shape_ids_[Index(id)];
  }
  [[nodiscard]] const PodShape& shape_of(PodId id) const { return shape(shape_id(id)); }
  void PrefetchShapeId(PodId id) const { __builtin_prefetch(&shape_ids_[Index(id)]); }
  // Whether a pod has this id.
  [[nodiscard]] bool IsThere(PodId id) const { return pod(id).name != kNoText; }
  // "namespace/name".
  [[nodiscard]] std::string PodName(PodId id) const;
  // metadata.deletionTimestamp of every terminating pod.
  [[nodiscard]] const absl::flat_hash_map<PodId, int64_t>& deletion_times() const {
    return deletion_times_;
  }
  // Whether the pod runs but is not ready.
  [[nodiscard]] bool IsUnready(PodId id) const { return unready_pods_.contains(id); }
  // Whether the eviction API evicts the pod without a disruption of its budgets: it does not run,
  // is being deleted, or is not ready and has one budget, which frees such pods.
  [[nodiscard]] bool IsFreeOfBudgets(PodId id) const;
  void SetUnhealthyPods(UnhealthyPods rule) { unhealthy_pods_ = rule; }
  [[nodiscard]] UnhealthyPods unhealthy_pods() const { return unhealthy_pods_; }
  // The budgets that lose a disruption when the pod is evicted.
  [[nodiscard]] std::span<const PdbId> ChargedBudgets(PodId id) const {
    const std::span<const PdbId> budgets = shape_of(id).budgets;
    if (budgets.empty() || unhealthy_pods_ == UnhealthyPods::kKeep) [[likely]]
      return budgets;
    return IsFreeOfBudgets(id) ? std::span<const PdbId>() : budgets;
  }
  // The name of the EvictionRequest for the pod; kNoText: there is none.
  [[nodiscard]] TextId FindEvictionRequest(PodId id) const {
    return storage_->room().FindEvictionRequest(shape_of(id).namespace_name, pod(id).name,
                                                pod(id).key);
  }
  // Pods whose shape has counts_otherwise set.
  [[nodiscard]] const std::vector<PodId>& pods_counted_otherwise() const {
    return pods_counted_otherwise_;
  }
  // What the pod takes on the node: less or more on the node where it runs now than after a move,
  // if a VerticalPodAutoscaler changes its requests.
  [[nodiscard]] const Requests& ChargeOn(PodId id, NodeId node) const {
    const PodShape& shape = shape_of(id);
    if (shape.vpa == kNoText) [[likely]]
      return shape.charge_requests;
    const auto home = homes_.find(id);
    return home != homes_.end() && home->second == node ? shape.home_requests
                                                        : shape.charge_requests;
  }
  [[nodiscard]] const std::vector<Gang>& gangs() const { return gangs_; }
  [[nodiscard]] const GangStates& gang_states() const { return gang_states_; }
  // Null: none of its pods were left out.
  [[nodiscard]] const GangLeftOut* FindLeftOut(const Gang& gang) const {
    const auto it = left_out_.find({gang.kind, gang.namespace_name, gang.name});
    return it == left_out_.end() ? nullptr : &it->second;
  }
  // The first gang that holds the pod where it is, an index of gangs(); nullopt: none does.
  [[nodiscard]] std::optional<uint32_t> HoldingGang(PodId id) const {
    for (const uint32_t gang : shape_of(id).gangs) {
      if (Holds(gang, id)) return gang;
    }
    return std::nullopt;
  }
  // REQUIRES: the pod belongs to the gang.
  [[nodiscard]] bool Holds(uint32_t gang, PodId id) const {
    return gang < gang_states_.gangs.size() && gang_states_.gangs[gang].held &&
           !gang_states_.may_move.contains({gang, id});
  }
  // Whether some pod belongs to the workload that a VerticalPodAutoscaler targets.
  [[nodiscard]] bool HasPodsOf(const RoomObjects::VpaTarget& target) const {
    return vpa_targets_.contains({target.namespace_name, target.kind, target.name});
  }
  [[nodiscard]] const std::vector<KeptBuffer>& buffers() const { return buffers_; }
  // Whether the pod stands for a buffer.
  [[nodiscard]] bool IsBufferPod(PodId id) const {
    return Index(id) >= BufferPodsBegin() && Index(id) < BufferPodsEnd();
  }
  // The pods of all buffers.
  [[nodiscard]] std::vector<PodId> BufferPods() const;
  // REQUIRES: shape_of(id).terminating.
  [[nodiscard]] int64_t DeletionTime(PodId id) const {
    EBB_DCHECK(deletion_times_.contains(id));
    return deletion_times_.at(id);
  }
  // Errors: NotFound.  Cost: O(pods) in a LiveSnapshot's catalog; use LiveSnapshot::FindPod there.
  [[nodiscard]] absl::StatusOr<PodId> FindPod(std::string_view namespace_name,
                                              std::string_view name) const;

  [[nodiscard]] size_t pod_shapes() const { return shapes_.size(); }
  [[nodiscard]] const PodShape& shape(PodShapeId id) const {
    EBB_DCHECK(Index(id) < shapes_.size());
    return shapes_[Index(id)];
  }
  [[nodiscard]] size_t node_shapes() const { return node_shape_count_; }
  [[nodiscard]] size_t constraint_sets() const { return constraints_.size(); }
  [[nodiscard]] const Constraints& constraints(ConstraintsId id) const {
    EBB_DCHECK(Index(id) < constraints_.size());
    return constraints_[Index(id)];
  }
  [[nodiscard]] size_t fit_classes() const { return fit_classes_; }

  [[nodiscard]] size_t resources() const { return resource_names_.size(); }
  [[nodiscard]] TextId resource_name(ResourceId id) const { return resource_names_[Index(id)]; }
  [[nodiscard]] std::string_view ResourceName(ResourceId id) const {
    return Text(resource_name(id));
  }
  [[nodiscard]] std::optional<ResourceId> FindResource(std::string_view name) const;

  [[nodiscard]] const std::vector<Pdb>& pdbs() const { return pdbs_; }

  // The scheduler's configuration; null: the default one.
  [[nodiscard]] const SchedulerConfig* scheduler() const { return scheduler_.get(); }
  // The profile of the shape's scheduler; null: the default one.
  [[nodiscard]] const SchedulerProfile* ProfileOf(const PodShape& shape) const {
    return shape.profile == kNoProfile ? nullptr : &scheduler_->profiles[shape.profile];
  }

  // Null if there is no such controller.
  [[nodiscard]] const ControllerStatus* FindController(objects::ControllerKind kind,
                                                       TextId namespace_name, TextId name) const;
  // Null if no such namespace was added.
  [[nodiscard]] const LabelSet* FindNamespaceLabels(TextId name) const;

  // Claims that some pod names, whether they exist or not.
  [[nodiscard]] size_t claims() const { return claims_.size(); }
  [[nodiscard]] std::optional<ClaimId> FindClaim(TextId namespace_name, TextId name) const;

  // Device classes, claims and slices of dynamic resource allocation.
  [[nodiscard]] const Devices& devices() const { return *devices_; }

  // Volumes, classes and drivers that the storage filters read.
  [[nodiscard]] const Storage& storage() const { return *storage_; }

  [[nodiscard]] const std::vector<TopologyKey>& topology_keys() const { return topology_keys_; }
  [[nodiscard]] const TopologyKey& topology_key(TopologyKeyId id) const {
    return topology_keys_[Index(id)];
  }
  [[nodiscard]] const std::vector<CounterTable>& tables() const { return tables_; }
  [[nodiscard]] const std::vector<DomainRegistry>& registries() const { return registries_; }
  [[nodiscard]] DomainId DomainOf(TopologyKeyId key, NodeId node) const {
    EBB_DCHECK(Index(node) < topology_keys_[Index(key)].domain_of.size());
    return topology_keys_[Index(key)].domain_of[Index(node)];
  }

 private:
  friend class SnapshotBuilder;
  friend class LiveSnapshot;
  friend class PodShapes;
  friend class TopologyTables;
  friend ClusterSnapshot WithGangsCounted(const ClusterSnapshot& snapshot);

  // The ids of the pods of all buffers follow each other (SnapshotBuilder::AddBufferPods).
  [[nodiscard]] size_t BufferPodsBegin() const {
    return buffers_.empty() ? 0 : Index(buffers_.front().first);
  }
  [[nodiscard]] size_t BufferPodsEnd() const {
    return buffers_.empty()
               ? 0
               : Index(buffers_.back().first) + static_cast<size_t>(buffers_.back().pods);
  }

  // Notes the pod's node, on which it takes PodShape::home_requests.
  void SetHome(PodId pod, NodeId node) {
    if (shape_of(pod).vpa != kNoText) homes_.insert_or_assign(pod, node);
  }

  Catalog(const Catalog&) = default;  // The copy shares the storage.

  // kNoPod if there is no such pod.
  [[nodiscard]] PodId FindPod(TextId namespace_name, TextId name) const;

  struct NamespacedName {
    TextId namespace_name;
    TextId name;
    friend bool operator==(const NamespacedName&, const NamespacedName&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const NamespacedName& n) {
      return H::combine(std::move(h), n.namespace_name, n.name);
    }
  };
  struct ControllerName {
    objects::ControllerKind kind;
    TextId namespace_name;
    TextId name;
    friend bool operator==(const ControllerName&, const ControllerName&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const ControllerName& n) {
      return H::combine(std::move(h), n.kind, n.namespace_name, n.name);
    }
  };

  std::shared_ptr<Symbols> symbols_;
  std::shared_ptr<Symbols::Pin> texts_;  // Set when a LiveSnapshot stops using this catalog.
  uint64_t lineage_;
  uint64_t revision_ = 0;
  PodChangeLog pod_changes_;
  NodeChangeLog node_changes_;

  KubernetesVersion version_ = KubernetesVersion::k136;
  std::shared_ptr<const SchedulerConfig> scheduler_;
  bool version_matters_ = false;
  UnhealthyPods unhealthy_pods_ = UnhealthyPods::kKeep;

  std::vector<NodeInfo> nodes_;
  absl::flat_hash_map<TextId, NodeId> nodes_by_name_;
  size_t node_shape_count_ = 0;

  std::vector<PodInfo> pods_;
  std::vector<PodShapeId> shape_ids_;  // By PodId, apart from PodInfo: a pass reads nothing else.
  absl::flat_hash_map<NamespacedName, PodId> pods_by_name_;  // Empty in a LiveSnapshot's catalog.
  absl::flat_hash_map<PodId, int64_t> deletion_times_;
  absl::flat_hash_set<PodId> unready_pods_;
  std::vector<PodId> pods_counted_otherwise_;
  // The nodes on which pods run whose requests a VerticalPodAutoscaler changes.
  absl::flat_hash_map<PodId, NodeId> homes_;
  std::vector<Gang> gangs_;
  GangStates gang_states_;
  absl::flat_hash_map<std::tuple<GangKind, TextId, TextId>, GangLeftOut> left_out_;
  std::vector<KeptBuffer> buffers_;
  // The targets of VerticalPodAutoscalers that have pods: namespace, kind and name.
  absl::flat_hash_set<std::tuple<TextId, TextId, TextId>> vpa_targets_;

  std::vector<PodShape> shapes_;
  std::vector<Constraints> constraints_;
  size_t fit_classes_ = 0;

  std::vector<TextId> resource_names_;
  absl::flat_hash_map<TextId, ResourceId> resources_by_name_;

  std::vector<Pdb> pdbs_;
  absl::flat_hash_map<ControllerName, ControllerStatus> controllers_;
  absl::flat_hash_map<TextId, LabelSet> namespace_labels_;
  absl::flat_hash_map<NamespacedName, ClaimId> claims_;
  std::shared_ptr<Storage> storage_ = std::make_shared<Storage>();
  std::shared_ptr<Devices> devices_;

  std::vector<TopologyKey> topology_keys_;
  std::vector<CounterTable> tables_;
  std::vector<DomainRegistry> registries_;
};

// Whether the pod has ended: its phase is Succeeded or Failed.
inline bool HasEnded(const PodShape& shape) {
  return shape.phase == PodPhase::kSucceeded || shape.phase == PodPhase::kFailed;
}

// Whether something other than an autoscaler's taint is deleting the node: a deletionTimestamp, a
// taint of Karpenter, or the deletion of its Machine or NodeClaim.
inline bool IsLeaving(const Catalog& catalog, NodeId node) {
  const NodeInfo& info = catalog.node(node);
  return info.leaving != NodeLeaving::kNo ||
         catalog.storage().dying_machines().Of(info.name, info.provider_id) != nullptr;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_CATALOG_H_
