// SnapshotBuilder turns Kubernetes objects into a Catalog and a ClusterSnapshot.
//
//   SnapshotBuilder builder;
//   if (absl::Status s = builder.AddNode(node); !s.ok()) return s;  // Any order of kinds.
//   if (absl::Status s = builder.AddPod(pod); !s.ok()) return s;
//   absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
//
// Pods go where spec.nodeName says, else status.nominatedNodeName; a pod whose
// node is not in the cluster, and a pod without one, is registered and not placed.
//
// Errors:    InvalidArgument naming object and field: a node or pod or budget
//            twice, a selector that does not parse, an empty name, a negative
//            amount.  FailedPrecondition: a node, pod, budget or storage object, or a second
//            Build, after Build.  A failed Add leaves the builder as it was.
// Surprise:  no amount is too large.  A node's that cannot be counted is taken for none
//            of that resource; a pod's fits nowhere (objects.h, catalog.h).
// Cost:      one hash of the pod's constraint fields and two of its names a pod;
//            a shape that is new costs its compilation.
// Threads:   none.

#ifndef EBB_SNAPSHOT_BUILDER_H_
#define EBB_SNAPSHOT_BUILDER_H_

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

class SnapshotBuilder {
 public:
  // Snapshots of one process that share `symbols` agree on text ids, which lets a
  // planner carry its memory from one to the next.
  explicit SnapshotBuilder(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>());
  ~SnapshotBuilder();

  // What is wrong with an object by itself, as the calls below tell it.
  static absl::Status Check(const objects::Node& node);
  static absl::Status Check(const objects::Pod& pod);
  static absl::Status Check(const objects::PodDisruptionBudget& pdb);
  static absl::Status Check(const objects::Controller&) { return absl::OkStatus(); }
  static absl::Status Check(const objects::Namespace& namespace_object);
  static absl::Status Check(const objects::StorageObject& object);

  absl::Status AddNode(const objects::Node& node);
  absl::Status AddPod(const objects::Pod& pod);
  absl::Status AddPodDisruptionBudget(const objects::PodDisruptionBudget& pdb);
  absl::Status AddController(const objects::Controller& controller);
  absl::Status AddNamespace(const objects::Namespace& namespace_object);
  absl::Status AddStorageObject(const objects::StorageObject& object);

  // Nodes in this order instead of the order of their AddNode.
  // Errors: InvalidArgument if `names` is not a permutation of the nodes' names.
  absl::Status OrderNodes(const std::vector<std::string_view>& names);

  // A namespaceSelector asks for labels of namespaces, and one that was not added has none.
  // That is the scheduler's view of a cluster which lacks it; of a listing that lacks it,
  // it is a guess.  After this call, pods whose affinity terms hang on such a guess are
  // not understood, and so keep their nodes: those that ask, and those that an
  // anti-affinity may repel.  Its label kubernetes.io/metadata.name is its name, and no guess.
  void KeepWhereNamespacesAreUnknown() { keep_where_namespaces_are_unknown_ = true; }

  // Pods are placed by this version's rules.  Without it by those of the newest kubelet: the
  // scheduler is of the API server's version, which is at least that.  Where no node tells, 1.36.
  void SetVersion(std::optional<KubernetesVersion> version) { given_version_ = version; }

  // Where each pod says it runs, or is nominated to, by PodId; kNoText: nowhere.
  [[nodiscard]] const std::vector<TextId>& wanted_nodes() const { return wanted_nodes_; }

  absl::StatusOr<ClusterSnapshot> Build() &&;

 private:
  friend class LiveSnapshot;

  // A pod that may be registered.
  struct NamedPod {
    TextId namespace_name;
    TextId name;
    TextId key;  // PodInfo::key
    int64_t creation_time;
    std::optional<int64_t> deletion_time;
    bool unready;
    TextId wanted_node;
    bool is_nominated = false;  // wanted_node is where it may run, not where it runs.
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
  // Of the cluster as it is, by SetVersion's rule.
  [[nodiscard]] KubernetesVersion VersionNow() const;
  // Whether operating systems tell nodes apart.
  [[nodiscard]] bool has_nodes_of_two_os() const { return has_nodes_of_two_os_; }
  // That of the node where the pod runs, where it matters; else kNoText.
  [[nodiscard]] TextId OsOfNode(TextId wanted_node, bool is_nominated) const;
  void TellOsOfNodes();
  void NoteWhetherVersionMatters(std::span<const PodShape> shapes);
  // Of a live cluster `name` and `key` are held once by whoever asks; else all texts are kept.
  enum class Texts : uint8_t { kKept, kHeld };
  static NamedPod NameOf(const objects::Pod& pod, Symbols& symbols, Texts texts);
  // The next pod's name, and then the pod.  False: there is a pod of that name.
  [[nodiscard]] bool RegisterName(const NamedPod& pod);
  void Register(const NamedPod& pod, PodShapeId shape);
  // After Build().  Connects the catalog's last shape, which came since.  False: the catalog
  // must be built anew, and no more may be connected in this one.
  [[nodiscard]] bool ConnectLastShape();
  // Whether nodes may come and go without what only Build() can do.
  [[nodiscard]] bool MayTakeNodes() const;
  // Budgets that come, select other pods and go after Build().  False: limits are in the way; the
  // catalog must be built anew.  Cost: O(shapes that it may match), RemoveBudget O(shapes +
  // budgets); the first of these, or of ConnectLastShape, O(labels of all shapes).
  // Errors: as CheckSelector.
  static absl::StatusOr<Pdb> CompileBudget(const objects::PodDisruptionBudget& pdb,
                                           Symbols& symbols);
  [[nodiscard]] bool AddBudget(Pdb budget);
  [[nodiscard]] bool ReplaceBudget(PdbId id, Pdb budget);
  // Those behind it move up.
  [[nodiscard]] bool RemoveBudget(PdbId id);
  // The indexes of the first `shapes` shapes, made on first use.
  void IndexShapes(size_t shapes);
  [[nodiscard]] bool ConnectBudget(PdbId id);
  void BoundCharges();
  void ListPodsCountedOtherwise();
  void ConnectBudgets();
  void RefuseDeviceClasses(PodShape& shape) const;
  void RefuseResourceClaims(PodShape& shape) const;
  void RefuseUnknownNamespaces();
  void PlacePods(ClusterSnapshot& snapshot) const;

  std::shared_ptr<Catalog> catalog_;
  std::unique_ptr<PodShapes> shapes_;
  std::unique_ptr<TopologyTables> tables_;  // From Build() on.
  // After Build(), once shapes or budgets come: of all shapes, and of all budgets by PdbId.
  std::unique_ptr<ShapeIndex> shape_index_;
  std::optional<SelectorIndex> budget_index_;
  std::vector<TextId> wanted_nodes_;      // By PodId: where it says it runs.
  absl::flat_hash_set<PodId> nominated_;  // Those that only may run there.
  std::optional<KubernetesVersion> given_version_;
  TextId first_os_ = kNoText;  // Of a node.
  bool has_nodes_of_two_os_ = false;
  absl::flat_hash_map<std::string, NodeShapeId> node_shapes_;
  absl::flat_hash_set<std::pair<TextId, TextId>> pdb_names_;
  bool keep_where_namespaces_are_unknown_ = false;
  // What Build() had to do, and a single change cannot repeat.
  bool guessed_namespaces_ = false;  // Some have the label that their name gives them.
  bool left_out_budgets_ = false;    // Some select nothing now.
  bool bounded_charges_ = false;     // Some are less than was asked for.
  bool renumbered_resources_ = false;

  // Reused from pod to pod.
  objects::ResourceList sum_;
  PodRequests requests_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_BUILDER_H_
