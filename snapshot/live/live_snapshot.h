// LiveSnapshot: a cluster that changes while it is watched.  At any moment it provides the
// snapshot that an import of the current objects would give.
//
//   LiveSnapshot live;
//   const Change change{.object = &pod, .resource_version = "4711"};
//   if (absl::Status s = live.Take({&change, 1}); !s.ok()) return s;
//   ClusterSnapshot& now = live.Snapshot();  // To plan on.
//
// Objects may arrive in any order: a pod before its node, a budget before its pods.  Pods that have
// ended or are expendable are held but are not in the snapshot (listed_pods.h).  By default, if
// an affinity term selects namespaces by labels and some pod's namespace is not held, the pods
// concerned keep their nodes (Options::unknown_namespaces).
//
// How it works: a pod is held as its shape, its names and its times; a shape holds one pod's
// object for all of its pods.  Nearly every change is applied in place, to the current catalog and
// snapshot.  The few changes that cannot be (RebuildCause) make them stale, and the next
// Snapshot() rebuilds both from the shapes and the packed objects.  counts() reports how
// often, and why.  docs/live.md has the table of changes.
//
// Versions:  metadata.resourceVersion, if it is a number.  An object that is older than the one
//            held is ignored and counted, unless the caller passes OlderObjects::kTake.  An
//            object that equals the one held is ignored and counted too.
// Deletions: an object that is put after its deletion exists again.  A deletion with another UID
//            than the object's is ignored and counted.  A deletion with the object's UID is
//            applied whatever its version is, because no object with that UID comes back.
//            A deletion without a UID is ignored if its version is older than the object's,
//            because it may refer to an earlier object of the same name.
// Errors:    InvalidArgument, as SnapshotBuilder's, naming object and field; then nothing has
//            changed.
// Order:     depends only on the changes, not on when Snapshot() is called or what is rebuilt.
//            Nodes and budgets are in the order in which they were added.  An object that changes
//            keeps its place; an object that is put after its deletion is the last.  The pods of a
//            node are in the order in which they came to it, bound or nominated, whether or not
//            the node existed then.  So a node that comes back has its pods in the same order.
//            When a pod leaves, the pods behind it move up.  A pod that moves to another node, or
//            comes back into the snapshot, is the last there.  Pending pods are in the order in
//            which they came; a pod that is nominated to another node becomes the last.
// Cost:      a pod of a known shape O(its fields + resources + tables that count it); a new
//            shape O(tables + budgets) more, and if it needs new counts O(shapes + nodes + pods)
//            more.  A node O(its pods + topology keys + registries); a budget O(shapes); all
//            changes of volumes and claims together, at the next Snapshot(), O(storage
//            objects).  Changes of ResourceClaims, ResourceSlices and pods that use them, at the
//            next Snapshot(), O(the pods and claims that are connected through them + the nodes of
//            the slices' pools).  A rebuild O(cluster): per pod about a tenth of an import.
// Memory:    names and UIDs of pods are released when the pods go.  Other texts are kept for
//            ever, or with Options::renew_texts until most of them are dead.
// Threads:   used by one thread at a time; other threads read branches (LiveBranch).

#ifndef EBB_SNAPSHOT_LIVE_LIVE_SNAPSHOT_H_
#define EBB_SNAPSHOT_LIVE_LIVE_SNAPSHOT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "snapshot/builder.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/live/held_objects.h"
#include "snapshot/objects/listed_pods.h"
#include "snapshot/objects/object_ref.h"

namespace ebb {

struct Change {
  enum class Type : uint8_t {
    kPut,     // The object exists with this content.
    kDelete,  // The object is gone.  Its kind, names and UID are read; an empty UID matches any.
  };
  Type type = Type::kPut;
  objects::ObjectRef object;
  std::string_view resource_version = {};
  int64_t pods_ready = 0;  // For a controller, as in ObjectSink::Aside.  No plan depends on it.
};

// Whether to apply objects that are older than the one held.
enum class OlderObjects : uint8_t {
  kIgnore,  // For a watch: an older object merely arrives late.
  kTake,    // For a list: it states the current objects, also after etcd was restored.
};

// Why a catalog is rebuilt.
enum class RebuildCause : uint8_t {
  kFirst,
  kNode,       // A node has a label that some pod asks for and no node had, or lacks one that
               // all nodes had; or it has a second operating system, or changes the system for
               // which its pods were made; or it changes the newest kubelet's version, or
               // SetVersion changes the version.
  kShape,      // A shape is the first to select namespaces by labels, or is in a namespace that
               // is not held while others select by labels, or exceeds a limit.
  kBudget,     // Budgets exceed a limit.
  kNamespace,  // A namespace with pods changed so that some term selects it, or no longer
               // does; or it was deleted while it had pods.
  kStorage,  // A DeviceClass or DeviceTaintRule changed, or most that is kept for devices is gone;
             // or a PodGroup, CapacityBuffer, PodTemplate or VerticalPodAutoscaler changed; or a
             // Service or controller by which pods are spread by default.
  kAmounts,  // Amounts or resources exceed what can be added up pod by pod.
  kDeadShapes,  // Most shapes have no pods any more.
  kGoneNodes,   // Most ids of nodes belong to removed nodes.
  kDeadTexts,   // Most texts belong to removed objects (Options::renew_texts).
};
inline constexpr size_t kRebuildCauses = 10;
// The cause as a word: "shape".
std::string_view ToString(RebuildCause cause);

// Work on the whole cluster that a LiveSnapshot did.
struct Rebuilt {
  // Absent: the catalog stayed, and only volumes, claims, classes and drivers were read again.
  std::optional<RebuildCause> cause;
  bool renewed_texts = false;  // symbols() was replaced, too.
};
// The cause as a word; "volumes" if there is none.
std::string_view ToString(const Rebuilt& rebuilt);

// Learns of every Rebuilt, for a caller that counts and times it: a LiveSnapshot reads no clock.
// The calls come in pairs, in the thread of Take() or Snapshot().
class RebuildObserver {
 public:
  virtual ~RebuildObserver() = default;
  virtual void OnBegin() = 0;
  virtual void OnEnd(const Rebuilt& rebuilt) = 0;

 protected:
  RebuildObserver() = default;
  RebuildObserver(const RebuildObserver&) = default;
  RebuildObserver& operator=(const RebuildObserver&) = default;
};

struct LiveCounts {
  uint64_t put = 0;        // Puts that changed something.
  uint64_t deleted = 0;    // Deletions that changed something.
  uint64_t unchanged = 0;  // Puts that changed nothing, except perhaps pods_ready.
  uint64_t ready = 0;      // Puts among `unchanged` that changed pods_ready.
  uint64_t older = 0;      // Changes that were older than the object held.
  uint64_t unknown_deletes = 0;
  std::array<uint64_t, kRebuildCauses> rebuilds{};  // By the first RebuildCause that was met.
  uint64_t storage_rebuilds = 0;  // Rebuilds of volumes, claims, classes and drivers only.
  uint64_t renewals = 0;          // How often symbols() was replaced.

  [[nodiscard]] uint64_t AllRebuilds() const {
    return std::accumulate(rebuilds.begin(), rebuilds.end(), uint64_t{0});
  }
};

// A version of a LiveSnapshot for a reader that continues while later changes are taken.  The
// reader does not see these changes, and the LiveSnapshot does not wait for the reader.
//
// Threads: made by the LiveSnapshot's thread, used by one thread.  It may outlive the
//          LiveSnapshot.  A Planner that works on branches must be used by one thread at a time,
//          and only while that thread has the branch.
// Memory:  shared with the LiveSnapshot until one of them changes it.
class LiveBranch {
 public:
  LiveBranch(LiveBranch&&) noexcept = default;
  LiveBranch& operator=(LiveBranch&& other) noexcept;
  ~LiveBranch();

  // As the functions of LiveSnapshot with these names, at the time of Branch().
  [[nodiscard]] ClusterSnapshot& Snapshot() { return snapshot_; }
  [[nodiscard]] const std::vector<PodId>& Pending() const { return pending_; }
  [[nodiscard]] size_t PodsOnUnknownNodes() const { return pods_on_unknown_nodes_; }

 private:
  friend class LiveSnapshot;
  using Readers = std::atomic<uint32_t>;

  LiveBranch(ClusterSnapshot snapshot, std::shared_ptr<Readers> readers,
             const std::shared_ptr<Symbols>& symbols);

  Symbols::Pin texts_;
  std::shared_ptr<Readers> readers_;  // Readers of the catalog; null in a moved-from branch.
  ClusterSnapshot snapshot_;
  std::vector<PodId> pending_;
  size_t pods_on_unknown_nodes_ = 0;
};

class LiveSnapshot {
 public:
  struct Options {
    int64_t expendable_pods_priority_cutoff = kExpendablePodsPriorityCutoff;
    // The value of --bypassed-scheduler-names (WaitOf).
    std::vector<std::string> bypassed_schedulers = {};
    // Pods that have ended are in the snapshot too, and so are nominated pods that are being
    // deleted.  For callers whose source has already dropped the pods that take no room.
    bool keep_ended_pods = false;
    // What to assume about a namespace that is not held although pods are in it, when a term
    // selects namespaces by labels.
    enum class UnknownNamespaces : uint8_t {
      kKeepPods,      // Nothing: pods whose placement depends on its labels keep their nodes.
      kHaveNames,     // It has only the label that the API server gives every namespace: its name.
      kHaveNoLabels,  // It has no labels, as the scheduler assumes of an unknown namespace.
    };
    UnknownNamespaces unknown_namespaces = UnknownNamespaces::kKeepPods;
    // If most texts belong to removed objects, a rebuild also replaces symbols(), which frees
    // those texts.  A caller that keeps a planner must compare symbols() and carry the planner's
    // memory over by names (Planner::Save, ScaleDown::Save), as RoundDriver does.  If false, all
    // texts except names and UIDs of pods are kept for ever.
    bool renew_texts = false;
    // With renew_texts: up to this many texts, symbols() is never replaced.  A higher number
    // rebuilds small clusters less often and keeps more dead texts.  Not tuned.
    size_t texts_kept = 65536;
    // See ClusterSnapshot::SetMatchOs.
    bool match_os = false;
    // See SnapshotBuilder::SetVersion.
    std::optional<KubernetesVersion> kubernetes_version = std::nullopt;
    VpaRule vpa = VpaRule::kFollow;
    // See SnapshotBuilder::SetScheduler.
    std::shared_ptr<const SchedulerConfig> scheduler = nullptr;
    UnhealthyPods unhealthy_pods = UnhealthyPods::kKeep;
    // Must outlive the LiveSnapshot.  May be null.
    RebuildObserver* rebuild_observer = nullptr;
  };

  LiveSnapshot() : LiveSnapshot(Options()) {}
  explicit LiveSnapshot(Options options,
                        std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>());
  ~LiveSnapshot();
  LiveSnapshot(const LiveSnapshot&) = delete;
  LiveSnapshot& operator=(const LiveSnapshot&) = delete;

  // Applies all of the changes, in order, or none of them if one is invalid.  Keeps no pointer
  // into them.
  // REQUIRES: no fork of Snapshot() is open.
  absl::Status Take(std::span<const Change> changes, OlderObjects older = OlderObjects::kIgnore);

  // Sets Options::kubernetes_version from now on.  Cost: if the rules change, the next
  // Snapshot() rebuilds.
  // REQUIRES: no fork of Snapshot() is open.
  void SetVersion(std::optional<KubernetesVersion> version);

  // The current cluster.  Plans may be tried on it, but must be undone before the next Take().
  // The snapshot and its copies are valid until then, because Take() changes their catalog.  For
  // a longer time use Branch().
  [[nodiscard]] ClusterSnapshot& Snapshot();
  // Pods that wait for a node (TakesRoom), in the order in which they came.
  [[nodiscard]] std::vector<PodId> Pending();
  // Pods without a node, grouped by whether they wait for one.  A pod that is bound to a node which
  // is not held does not count.
  struct WithoutNode {
    uint64_t pods = 0;
    std::string first;  // "namespace/name" of the pod that came first.
  };
  [[nodiscard]] std::array<WithoutNode, kPodWaits> PodsWithoutNode();
  // Whether some pod in the snapshot has the condition PodScheduled.
  [[nodiscard]] bool SchedulingRecorded() const { return pods_with_condition_ > 0; }
  // The number of pods that are bound to a node which is not held.
  [[nodiscard]] size_t PodsOnUnknownNodes();
  // "namespace/name on node" for the first such pod; empty if none exists.
  [[nodiscard]] std::string FirstPodOnUnknownNode();
  // How many pods are held but not in the snapshot, by reason.
  [[nodiscard]] size_t PodsLeftOut(PodListing why) const {
    return left_out_[static_cast<size_t>(why)];
  }

  // The current cluster, for another thread to read.  Cost: O(pods / 4096 + nodes / 16); in
  // addition the first Take() while a branch is in use copies the catalog.
  [[nodiscard]] LiveBranch Branch();

  // Gives `sink` every object that is held, except pods that are not in the snapshot.  Importing
  // these objects gives the same snapshot.  Errors: the sink's.
  absl::Status Export(ObjectSink& sink);
  // Gives `sink` the one object of this kind and name, if Export() would give it.  Reads nothing
  // else of `object`.  Errors: the sink's.  Cost: that of the object.
  absl::Status ExportOne(const objects::ObjectRef& object, ObjectSink& sink);
  // Like Export, but pods that differ only in name, UID, times and node are passed once: the first
  // of them, complete, and their number.  Cost: O(pods) steps, and the objects.
  absl::Status ExportAlike(
      ObjectSink& sink,
      const std::function<absl::Status(const objects::Pod& first, uint64_t pods)>& pods);
  // Gives `sink` the pods that are not in the snapshot: expendable pods complete; ended pods
  // with what is held of them, which is names, UID, time, node and a phase that means "ended".
  absl::Status ExportLeftOut(ObjectSink& sink) const;

  // The latest time in all held objects (NewestTimeOf).  Cost: O(objects) if the object that had
  // the latest time has changed or gone; else O(1).
  [[nodiscard]] int64_t NewestTime();
  // The UID of the namespace; empty if the namespace is not held, or has no UID.
  [[nodiscard]] std::string_view UidOfNamespace(std::string_view name);

  // The number of objects that are held, including pods that are not in the snapshot.
  [[nodiscard]] size_t Objects() const { return objects_.size() + Pods(); }
  [[nodiscard]] size_t Nodes() const { return objects_.Nodes(); }
  // Includes ended and expendable pods.
  [[nodiscard]] size_t Pods() const { return pods_.size() - free_pods_.size(); }
  // A bit for each kind of which an object is held.
  [[nodiscard]] uint64_t Kinds() const {
    return objects_.Kinds() | static_cast<uint64_t>(Pods() > 0) << 63;
  }
  // Whether an object of this kind and name is held.
  [[nodiscard]] bool Holds(const objects::ObjectRef& object);
  // Calls `visit` with the held node and its version (HeldObject).  Returns false if no node of
  // this name is held.
  bool VisitNode(std::string_view name,
                 const std::function<void(const objects::Node& node, uint64_t version)>& visit);
  // The pod with this name; kNoPod if the snapshot has no such pod.
  [[nodiscard]] PodId FindPod(std::string_view namespace_name, std::string_view name);

  [[nodiscard]] const LiveCounts& counts() const { return counts_; }
  // Valid until the next Take() or Snapshot(), if Options::renew_texts is set.
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const { return symbols_; }

 private:
  static constexpr PodShapeId kNoShape{~uint32_t{0}};

  struct HeldPod {
    SnapshotBuilder::NamedPod named{};
    PodShapeId shape = kNoShape;  // kNoShape: the pod is not in the snapshot.
    PodListing listing = PodListing::kListed;
    PodId id = kNoPod;  // kNoPod: not in the snapshot, or came while the snapshot was stale.
    bool has_uid = false;
    objects::Scheduling scheduling = objects::Scheduling::kNotRecorded;
    PodWait wait = PodWait::kNotRecorded;  // Whether it waits, if it is on no node.
    uint64_t version = 0;
    uint64_t order = 0;  // When it came to its present node, or began to wait.
  };
  class Ahead;  // Prefetches what the next changes will touch.

  // Apply a change of an object that is not a pod.
  void Put(const Change& change, OlderObjects older);
  void Delete(const Change& change);
  // Apply the change to the current catalog, or make it stale.
  void PutInPlace(const objects::Node& node);
  void PutInPlace(const objects::PodDisruptionBudget& pdb, bool is_new);
  void PutInPlace(const objects::Namespace& namespace_object);
  void PutInPlace(const objects::Controller& controller);
  // `old` is the previous object, packed; empty if there was none.
  void PutInPlace(const objects::StorageObject& object, std::string_view old);
  void DeleteInPlace(const objects::Node& node);
  void DeleteInPlace(const objects::PodDisruptionBudget& pdb);
  void DeleteInPlace(const objects::Namespace& namespace_object);
  void DeleteInPlace(const objects::Controller& controller);
  void DeleteInPlace(const objects::StorageObject& object, std::string_view old);

  [[nodiscard]] bool HasPodsInNamespacesGone() const;
  [[nodiscard]] bool ChangesWhatPodsAre(const NodeInfo& info) const;
  void AddNode(NodeInfo info);
  void RemoveNode(NodeId node);
  void ChangeNode(NodeId node, NodeInfo info);
  void ChangeTopology(NodeId node, NodeInfo info);
  void SetAmounts(NodeId node, const std::vector<ResourceQuantity>& amounts, int sign);
  void FindPodsOf(NodeId node);
  [[nodiscard]] PdbId FindBudget(const objects::PodDisruptionBudget& pdb) const;
  void FillStorage();
  void ReadStorageAgain();

  // A ResourceClaim by namespace and name, or a ResourceClaimTemplate whose claim is not made yet.
  using DeviceClaimName = std::pair<TextId, TextId>;
  // Note a change for UpdateDevices(): of an object, of how pods of a shape use devices, of a node.
  void NoteDevices(const objects::StorageObject& object, bool is_gone);
  void NoteDeviceUse(PodShapeId shape);
  void NoteDeviceUses(std::span<const PodId> pods);
  void NoteDeviceNode(NodeId node);
  void AddDeviceUser(uint32_t place);
  void RemoveDeviceUser(uint32_t place);
  // The claims that the shape names.
  [[nodiscard]] std::vector<DeviceClaimName> DeviceClaimsOf(PodShapeId shape) const;
  // Applies what was noted.
  void UpdateDevices();
  // Returns the claims that have gone.
  std::vector<DeviceClaimId> ReadDeviceObjects();
  // Adds the shapes and claims that are connected with them.
  void GatherDeviceUses(absl::btree_set<PodShapeId>& shapes,
                        absl::btree_set<DeviceClaimName>& claims) const;
  void TakeDevicesAgain(std::span<const DeviceClaimId> claims,
                        std::span<const SnapshotBuilder::DeviceUser> users);
  void NoteUnknownDevices(const SnapshotBuilder::DeviceUser& user);
  void FindDeviceUsers();

  void PutPod(const objects::Pod& pod, uint64_t version, OlderObjects older);
  void DeletePod(const objects::Pod& pod, uint64_t version);
  using PodsByName = absl::flat_hash_map<std::pair<TextId, TextId>, uint32_t>;
  [[nodiscard]] PodsByName::const_iterator FindName(const objects::ObjectMeta& meta) const;
  PodShapeId ShapeOf(const objects::Pod& pod);
  [[nodiscard]] static bool IsPending(const HeldPod& unplaced);
  [[nodiscard]] static bool HasCondition(const HeldPod& held);
  // The place of a pod in its node's list; kNoNode: the pod was on no node.
  struct Standing {
    NodeId node = kNoNode;
    size_t index = 0;
  };
  Standing TakeFromNode(PodId pod);
  // Moves the pod to its previous place in the list, if it is still on the same node.
  void RestorePlace(PodId pod, const Standing& before);
  void Enter(uint32_t place);
  Standing Leave(uint32_t place);
  // The pod of packed_left_out_; empty: none.
  [[nodiscard]] std::string_view PackedLeftOut(uint32_t place) const;
  // Counts that pod for its gangs, unless the snapshot is stale.
  void CountLeftOut(uint32_t place, int64_t pods);
  PodId TakeId();
  void ReleaseName(const SnapshotBuilder::NamedPod& named);
  void Log(const PodChangeLog::Change& change);
  void Log(const NodeChangeLog::Change& change);
  void ReleaseKeys();
  bool Charge(PodShapeId shape, int sign);

  // Counts the pods of gangs again, if the snapshot has changed.
  void UpdateGangs();
  void BecomeStale(RebuildCause cause);
  void Rebuild();
  // Returns whether symbols() was replaced.
  bool BuildAgain();
  [[nodiscard]] bool HasManyDeadTexts() const;
  void RenewTexts();
  // Whether the snapshot has as many pods and nodes as are held.  For assertions.
  [[nodiscard]] bool CountsAgree() const;
  // Bounds the memory that grows while no caller asks for Snapshot().
  void StayInBounds();
  void CopyCatalogIfRead();
  void LeaveCatalog();
  void Changed();
  // A held object's newest time changes from `before` to `now`; 0: the object does not exist.
  void NoteTime(int64_t before, int64_t now);
  [[nodiscard]] std::vector<uint32_t> PodsInOrder() const;
  absl::Status GiveObjects(ObjectSink& sink) const;
  static absl::Status GiveHeld(const HeldObject& held, ObjectSink& sink);
  // Copies what is held of the pod itself into `like`, another pod of the same shape.
  void NamePod(const HeldPod& held, objects::Pod& like) const;
  // Whether default spread constraints of a pod depend on these objects.
  [[nodiscard]] bool SpreadDependsOn(const objects::Controller& controller) const;
  [[nodiscard]] bool SpreadDependsOn(const objects::Service& service) const;
  void NameUnknownNamespaces(SnapshotBuilder& builder) const;

  Options options_;
  std::shared_ptr<Symbols> symbols_;
  size_t texts_built_ = 0;  // Symbols::kept() after the last rebuild.
  LiveCounts counts_;
  uint64_t next_order_ = 1;
  int64_t newest_time_ = 0;
  bool newest_went_ = false;  // newest_time_'s object has gone; no other is newer.

  HeldObjects objects_;
  std::vector<HeldPod> pods_;
  std::vector<uint32_t> free_pods_;   // Unused places in pods_.
  uint64_t pods_with_condition_ = 0;  // Pods with a shape and the condition PodScheduled.
  std::array<size_t, 3> left_out_{};  // By PodListing.
  // By place in pods_: packed pods that are not in the snapshot, namely expendable ones, and those
  // of gangs that have ended.
  absl::flat_hash_map<uint32_t, std::string> packed_left_out_;
  PodsByName pods_by_name_;  // Values are places in pods_.

  // The current catalog and snapshot.  While they are stale, pods are still removed from them, and
  // new shapes are interned.
  std::unique_ptr<SnapshotBuilder> builder_;
  Catalog* catalog_ = nullptr;  // The catalog of builder_ and snapshot_.
  ClusterSnapshot snapshot_;
  std::shared_ptr<LiveBranch::Readers> readers_ = std::make_shared<LiveBranch::Readers>(0);
  std::optional<RebuildCause> stale_;
  bool is_changing_ = false;     // True in Take(); stays true if Take() ran out of memory.
  uint64_t gangs_counted_ = 0;   // The StateId for which the pods of gangs were counted.
  bool storage_is_old_ = false;  // The next Snapshot() must fill the catalog's storage again.
  // Changes that UpdateDevices() must apply.
  struct DeviceChanges {
    absl::btree_set<DeviceClaimName> claims;
    absl::btree_set<TextId> slices;
    absl::btree_set<TextId> slices_gone;  // Which may be there again, as the last ones.
    absl::btree_set<PodShapeId> shapes;
    absl::btree_set<NodeId> nodes;
    [[nodiscard]] bool IsEmpty() const {
      return claims.empty() && slices.empty() && shapes.empty() && nodes.empty();
    }
  };
  DeviceChanges device_changes_;
  // Places in pods_ of the pods in the snapshot that name ResourceClaims, by shape; and the shapes
  // that name a claim.  A shape stays until UpdateDevices() finds it without pods.
  absl::flat_hash_map<PodShapeId, std::vector<uint32_t>> device_users_;
  absl::flat_hash_map<DeviceClaimName, std::vector<PodShapeId>> shapes_of_claim_;
  size_t nominated_device_users_ = 0;  // Which may get devices that no status tells.
  absl::flat_hash_set<uint32_t> unknown_device_users_;  // Places of UsesUnknownDevices.
  bool pools_closed_ = false;                           // For unknown_device_users_.
  // Whether a change of devices needs a rebuild: a CapacityBuffer's pods name claims, or the last
  // step of the build has changed shapes again.
  bool rebuilds_for_devices_ = false;
  bool shares_devices_ = false;  // Readers of an older catalog use the same Devices.
  size_t nodes_gone_ = 0;        // The number of ids of removed nodes in the catalog.
  // Namespaces that were deleted and that the catalog's counters still select.
  absl::flat_hash_set<TextId> namespaces_gone_;
  bool check_namespaces_gone_ = false;  // The next Snapshot() looks whether they have pods.
  std::vector<uint32_t> held_of_;       // By PodId: the place in pods_.
  std::vector<PodId> free_ids_;
  std::vector<TextId> keys_gone_;  // Held for readers of Catalog::pod_changes().
  // Keys of changes that the log forgot.  A few are released at each change, to spread the cost.
  std::vector<TextId> keys_forgotten_;
  // Pods on no node, by the name of the node that they want and HeldPod::order.
  absl::btree_map<std::pair<TextId, uint64_t>, uint32_t> unplaced_;
  // By ResourceId: the charges of all pods, at most kChargedMax plus one pod's charge.
  std::vector<int64_t> charged_;

  struct HeldShape {
    std::string packed;  // One pod of this shape.
    uint32_t pods = 0;
  };
  std::vector<HeldShape> shapes_;  // By PodShapeId.
  size_t dead_shapes_ = 0;         // The number of shapes without pods.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LIVE_LIVE_SNAPSHOT_H_
