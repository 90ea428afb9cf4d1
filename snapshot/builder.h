// SnapshotBuilder turns Kubernetes objects into a Catalog and a ClusterSnapshot.
//
//   SnapshotBuilder builder;
//   if (absl::Status s = builder.AddNode(node); !s.ok()) return s;  // Kinds in any order.
//   if (absl::Status s = builder.AddPod(pod); !s.ok()) return s;
//   absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
//
// A pod is placed on spec.nodeName, or if that is empty on status.nominatedNodeName.  A pod
// without either, or whose node is not in the cluster, is registered but not placed.
//
// Errors:    InvalidArgument, naming object and field: a second node, pod or budget of the same
//            name, a selector that does not parse, an empty name, a negative amount.
//            FailedPrecondition: a node, pod, budget or storage object, or a second Build, after
//            Build.  A failed Add leaves the builder as it was.
// Surprise:  an amount of any size is accepted.  If a node's amount of a resource cannot be
//            counted, the node counts as having none.  A pod with such an amount fits nowhere
//            (objects.h, catalog.h).
// Cost:      per pod: one hash of its constraint fields and two of its names.  A new shape must
//            also be compiled.
// Threads:   not thread-safe.
// Ownership: copies what it keeps of an object; shares `symbols` with the catalog that it builds.

#ifndef EBB_SNAPSHOT_BUILDER_H_
#define EBB_SNAPSHOT_BUILDER_H_

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/pod_shapes.h"
#include "snapshot/selector_index.h"

namespace ebb {

class TopologyTables;

// What a pod that moves asks for.
enum class VpaRule : uint8_t {
  kFollow,  // What its VerticalPodAutoscaler will set when the pod is created again.
  kIgnore,  // What it asks for now.
};

class SnapshotBuilder {
 public:
  // Builders in one process that share `symbols` use the same text ids, so that a planner can
  // carry its memory from one snapshot to the next.
  explicit SnapshotBuilder(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>());
  ~SnapshotBuilder();

  // Check one object by itself, with the errors of the Add functions below.
  static absl::Status Check(const objects::Node& node);
  static absl::Status Check(const objects::Pod& pod);
  static absl::Status Check(const objects::PodDisruptionBudget& pdb);
  static absl::Status Check(const objects::Controller&) { return absl::OkStatus(); }
  static absl::Status Check(const objects::Namespace& namespace_object);
  static absl::Status Check(const objects::StorageObject& object);

  absl::Status AddNode(const objects::Node& node);
  absl::Status AddPod(const objects::Pod& pod);

  // Counts, for its gangs, a pod that is left out because it has ended or is expendable.
  void CountLeftOut(const objects::Pod& pod, int64_t pods = 1) {
    PodShapes::CountLeftOut(*catalog_, pod, pods);
  }

  // --- Pods as columns (pod_columns.h)

  // Takes over the texts of a file, if no other file's were taken, or else copies them.
  // Errors: as Symbols::Adopt.
  absl::StatusOr<AdoptedTexts> AddTexts(const TextTable& texts);
  // What pods of one pattern have in common.
  struct PodPattern {
    PodShapeId shape;
    TextId namespace_name = kNoText;
    std::optional<int64_t> deletion_time;
    bool unready = false;
    // The node to which pods are nominated; kNoText if pods are bound, or have no node.
    TextId nominated_node = kNoText;
  };
  // `first` is complete.  Errors: as AddPod, except that the name may be taken.
  absl::StatusOr<PodPattern> AddPodPattern(const objects::Pod& first);
  // The fields that differ among the pods of a pattern.
  struct PodRow {
    TextId name;
    TextId uid = kNoText;
    TextId node_name = kNoText;
    int64_t creation_time = 0;
  };
  // As AddPod.  Cost: two hash look-ups.
  absl::Status AddPod(const PodPattern& pattern, const PodRow& row);
  // A hint that AddPod() will soon be called for `row`.
  void Prefetch(const PodPattern& pattern, const PodRow& row) const;
  // A hint of how many pods will be added.
  void ReservePods(size_t pods);

  absl::Status AddPodDisruptionBudget(const objects::PodDisruptionBudget& pdb);
  absl::Status AddController(const objects::Controller& controller);
  absl::Status AddNamespace(const objects::Namespace& namespace_object);
  absl::Status AddStorageObject(const objects::StorageObject& object);

  // Gives the nodes this order instead of the order of the AddNode calls.
  // Errors: InvalidArgument if `names` is not a permutation of the nodes' names.
  absl::Status OrderNodes(const std::vector<std::string_view>& names);

  // A namespaceSelector matches labels of namespaces.  By default a namespace that was not added
  // has no labels, as in the scheduler, which sees all namespaces of its cluster.  But a listing
  // may merely omit the namespace.  After this call, a shape whose affinity depends on the labels
  // of such a namespace is not understood, so its pods keep their nodes: both the shapes that
  // have the term and the shapes that an anti-affinity term may repel.  Only the label
  // kubernetes.io/metadata.name is certain: it is the namespace's name.
  void KeepWhereNamespacesAreUnknown() { keep_where_namespaces_are_unknown_ = true; }

  // Sets the Kubernetes version by whose rules pods are placed.  Without this call, or with
  // nullopt, it is the version of the newest kubelet, since the API server and so the scheduler
  // are at least that new; 1.36 if no node reports its version.
  void SetVersion(std::optional<KubernetesVersion> version) { given_version_ = version; }

  // The default is kFollow.
  void SetVpa(VpaRule vpa) { vpa_ = vpa; }
  // The default is kKeep.
  void SetUnhealthyPods(UnhealthyPods rule) { catalog_->SetUnhealthyPods(rule); }

  // The configuration of the scheduler that places the pods; null: the default one.  It may be set
  // at any time before Build().
  void SetScheduler(std::shared_ptr<const SchedulerConfig> config) {
    catalog_->scheduler_ = std::move(config);
  }

  // By PodId: the node on which the pod says it runs, or to which it is nominated; kNoText: none.
  [[nodiscard]] const std::vector<TextId>& wanted_nodes() const { return wanted_nodes_; }

  absl::StatusOr<ClusterSnapshot> Build() &&;

 private:
  friend class LiveSnapshot;

  // The identity and times of a pod, ready to be registered.
  struct NamedPod {
    TextId namespace_name;
    TextId name;
    TextId key;  // PodInfo::key
    int64_t creation_time;
    std::optional<int64_t> deletion_time;
    bool unready;
    TextId wanted_node;
    bool is_nominated = false;  // The pod is only nominated to wanted_node.
    friend bool operator==(const NamedPod&, const NamedPod&) = default;
  };

  ResourceId InternResource(std::string_view name);
  void InternResources(const objects::ResourceList& list,
                       std::vector<ResourceQuantity>& quantities);
  void InternRequests(const objects::ResourceList& sum, Requests& requests);
  NodeInfo CompileNode(const objects::Node& node);
  [[nodiscard]] absl::Status CheckNotBuilt() const;
  void SumRequests(const objects::Pod& pod);
  void SumHeld(const objects::Pod& pod, KubernetesVersion version, HeldRequests& held);
  void SumScored(const objects::Pod& pod, KubernetesVersion version, HeldRequests& held);
  // The version that applies to the current nodes, by SetVersion's rule.
  [[nodiscard]] KubernetesVersion VersionNow() const;
  // Whether nodes of two operating systems were added.  Otherwise operating systems are ignored.
  [[nodiscard]] bool has_nodes_of_two_os() const { return has_nodes_of_two_os_; }
  // The operating system of the node where the pod runs; kNoText if unknown or irrelevant.
  [[nodiscard]] TextId OsOfNode(TextId wanted_node, bool is_nominated) const;
  void AssignOsFromNodes();
  void NoteWhetherVersionMatters(std::span<const PodShape> shapes);
  // kHeld: the caller must release `name` and `key` (for live clusters).  kKept: interned forever.
  enum class Texts : uint8_t { kKept, kHeld };
  static NamedPod NameOf(const objects::Pod& pod, Symbols& symbols, Texts texts);
  // Reserves the next pod's name; Register must follow.  Returns false if the name is taken.
  [[nodiscard]] bool RegisterName(const NamedPod& pod);
  void Register(const NamedPod& pod, PodShapeId shape);
  // Connects the catalog's last shape, which was added after Build().  Returns false if the
  // catalog must be rebuilt; no further shape may then be connected in this one.
  [[nodiscard]] bool ConnectLastShape();
  // Whether nodes may be added and removed after Build() without a rebuild.
  [[nodiscard]] bool MayTakeNodes() const;
  // Add, change and remove budgets after Build().  They return false if a limit requires a
  // rebuild of the catalog.  Cost: O(shapes that the budget may match), RemoveBudget O(shapes +
  // budgets); the first call of any of these or of ConnectLastShape also O(labels of all shapes).
  // Errors: as CheckSelector.
  static absl::StatusOr<Pdb> CompileBudget(const objects::PodDisruptionBudget& pdb,
                                           Symbols& symbols);
  [[nodiscard]] bool AddBudget(Pdb budget);
  [[nodiscard]] bool ReplaceBudget(PdbId id, Pdb budget);
  // Later budgets get the next lower id.
  [[nodiscard]] bool RemoveBudget(PdbId id);
  // Indexes the first `shapes` shapes, unless that was done before.
  void IndexShapes(size_t shapes);
  [[nodiscard]] bool ConnectBudget(PdbId id);
  void AddBufferPods();
  static Selector SelectorOf(const objects::Controller& controller, Symbols& symbols);
  static std::array<const Requests*, 2> ChargesOf(const PodShape& shape);
  void BoundCharges();
  void ListPodsCountedOtherwise();
  void ConnectBudgets();
  // A pod whose shape names ResourceClaims.
  struct DeviceUser {
    PodId pod;
    NodeId node;  // Where it is, or to which it is nominated; kNoNode: on no node of the cluster.
    bool is_nominated;
  };
  // Connect shapes with the claims that their pods name, or refuse them.  `users`: all pods of
  // these shapes, in order.  A claim is named by no other shape.
  void ConnectDeviceClaims(std::span<const PodShapeId> shapes, std::span<const DeviceUser> users);
  // Forgets what ConnectDeviceClaims did to the shape.
  void DisconnectDeviceClaims(PodShapeId id);
  void ConnectDevices();
  void RefuseDeviceClasses(PodShapeId id);
  void ConnectDeviceClaims(PodShapeId id);
  // Gives the shape a reason of its devices, unless it has another one.
  void RefuseDevices(PodShapeId id, std::string why);
  [[nodiscard]] std::string WhyClaimsNotUnderstood(const PodShape& shape) const;
  void CheckUsersOfDevices(std::span<const DeviceUser> users);
  // Whether the input does not tell which devices the pod uses.
  [[nodiscard]] bool UsesUnknownDevices(const DeviceUser& user) const;
  void CloseUnknownPools(const absl::flat_hash_set<NodeId>& nodes);
  void RefuseUnknownNamespaces();
  void PlacePods(ClusterSnapshot& snapshot) const;

  std::shared_ptr<Catalog> catalog_;
  std::unique_ptr<PodShapes> shapes_;
  std::unique_ptr<TopologyTables> tables_;  // Set by Build().
  // Made after Build(), when the first shape or budget is added: all shapes; all budgets by PdbId.
  std::unique_ptr<ShapeIndex> shape_index_;
  std::optional<SelectorIndex> budget_index_;
  std::vector<TextId> wanted_nodes_;      // By PodId: wanted_nodes().
  absl::flat_hash_set<PodId> nominated_;  // Pods that are only nominated to their wanted node.
  std::optional<KubernetesVersion> given_version_;
  VpaRule vpa_ = VpaRule::kFollow;
  TextId first_os_ = kNoText;  // The operating system of the first node that has one.
  bool has_nodes_of_two_os_ = false;
  absl::flat_hash_map<std::string, NodeShapeId> node_shapes_;
  absl::flat_hash_set<std::pair<TextId, TextId>> pdb_names_;
  bool keep_where_namespaces_are_unknown_ = false;
  // Adjustments that Build() made and that a single later change cannot repeat.
  bool guessed_namespaces_ = false;  // Some namespaces have only the label of their own name.
  bool left_out_budgets_ = false;    // Some budgets were made to select nothing.
  bool bounded_charges_ = false;     // Some charges are less than the pod requests.
  bool renumbered_resources_ = false;
  absl::flat_hash_set<PodShapeId> refused_devices_;  // RefuseDevices gave them their reason.

  // Scratch memory, reused from pod to pod.
  objects::ResourceList sum_;
  PodRequests requests_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_BUILDER_H_
