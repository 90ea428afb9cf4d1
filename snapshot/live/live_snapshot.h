// LiveSnapshot: a cluster whose objects come and go.  At any moment it is the snapshot that
// importing the objects which are there now would give.
//
//   LiveSnapshot live;
//   const Change change{.object = &pod, .resource_version = "4711"};
//   if (absl::Status s = live.Take({&change, 1}); !s.ok()) return s;
//   ClusterSnapshot& now = live.Snapshot();  // To plan on.
//
// Objects come in any order: a pod before its node, a budget before its pods.  Pods that have
// ended or are expendable are held and not in the snapshot (listed_pods.h).  Unless told
// otherwise, pods that ask for namespaces by labels keep their nodes while such a namespace is
// not there.
//
// How it works: a pod is held as its shape, its names and its times; a shape keeps one pod's
// object for all of its pods.  Nearly every change is carried out in the catalog and the
// snapshot that are there.  The few that are not (RebuildCause) leave them stale, and the next
// Snapshot() builds both anew, from the shapes and the packed objects.  counts() tells how
// often, and why.  docs/live.md has the table.
//
// Versions:  metadata.resourceVersion, where it is a number.  An object older than the one
//            held is passed over and counted, unless the caller says otherwise, and so is one
//            that is held already.
// Deletions: an object that comes after its deletion is there again.  A deletion that names
//            another UID than the object's is passed over and counted.  One that names the
//            object's UID is taken whatever its version is, since no object with that UID comes
//            back; one without a UID is passed over where its version is older than the object's,
//            for it may be that of an earlier object of the name.
// Errors:    InvalidArgument, as SnapshotBuilder's, naming object and field; nothing has
//            changed then.
// Order:     depends on the changes alone, and neither on when Snapshot() is called nor on what is
//            built anew.  Nodes and budgets stand in the order in which they came; what changes
//            keeps its place, and what comes back after its deletion is the last.  The pods of a
//            node stand in the order in which they came to it: bound or nominated to it, whether
//            or not the node was there.  So a node that comes back has its pods in the order that
//            they had, and where a pod goes the pods behind it move up.  A pod that comes to
//            another node, or back into the snapshot, is the last there.  Pending pods stand in
//            the order in which they came; one that is nominated elsewhere is the last.
// Cost:      a pod whose shape is known O(its fields + resources + tables that count it); a
//            shape that is new O(tables + budgets) more, and where it asks for counts that are
//            new O(shapes + nodes + pods).  A node O(its pods + topology keys + registries); a
//            budget O(shapes); volumes and claims, together at the next Snapshot(), O(storage
//            objects).  Building anew O(cluster): per pod about a tenth of an import.
// Memory:    names and UIDs of pods that go are given back.  Other texts are kept until most of
//            them are dead, where the caller lets symbols() be renewed, else for good.
// Threads:   used by one thread at a time; others read branches (LiveBranch).

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
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "snapshot/builder.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/live/held_objects.h"
#include "snapshot/objects/listed_pods.h"
#include "snapshot/objects/object_ref.h"

namespace ebb {

struct Change {
  enum class Type : uint8_t {
    kPut,     // The object is there, and is this.
    kDelete,  // It is gone.  Its kind, names and UID are read; an empty UID is any.
  };
  Type type = Type::kPut;
  objects::ObjectRef object;
  std::string_view resource_version = {};
  int64_t pods_ready = 0;  // Of a controller: ObjectSink::Aside's, which no plan rests on.
};

// Which objects are taken that are older than the one held.
enum class OlderObjects : uint8_t {
  kPassOver,  // Of a watch: one that comes late.
  kTake,      // Of a list: what it names is how things are, after etcd was restored too.
};

// Why a catalog is built anew.
enum class RebuildCause : uint8_t {
  kFirst,
  kNode,        // A node has a label that some pod asks for and no node had, or lacks one that
                // all nodes had; or it is the first of another operating system, or changes what
                // its pods were made for; or its kubelet is of another version than all, or
                // the API server (SetVersion).
  kShape,       // A shape is the first that asks for namespaces by labels, or is beyond a limit,
                // or makes two counts differ that were one (CounterTable).
  kBudget,      // Budgets beyond a limit.
  kNamespace,   // A namespace whose labels some term may ask for.
  kStorage,     // A DeviceClass, a ResourceClaim or its template.
  kAmounts,     // Amounts or resources beyond what can be added up pod by pod.
  kDeadShapes,  // Most shapes have no pods any more.
  kGoneNodes,   // Most ids of nodes are those of nodes that went.
  kDeadTexts,   // Most texts are those of objects that went (Options::renew_texts).
};
inline constexpr size_t kRebuildCauses = 10;
// "shape"
std::string_view ToString(RebuildCause cause);

struct LiveCounts {
  uint64_t put = 0;        // That changed something.
  uint64_t deleted = 0;    // The same.
  uint64_t unchanged = 0;  // What was put was held already, but for how many pods are ready.
  uint64_t ready = 0;      // Of these: another number of pods is ready.
  uint64_t older = 0;      // Than what is held.
  uint64_t unknown_deletes = 0;
  std::array<uint64_t, kRebuildCauses> rebuilds{};  // By RebuildCause: the first that was met.
  uint64_t storage_rebuilds = 0;  // Of volumes, claims, classes and drivers alone.
  uint64_t renewals = 0;          // Of symbols().

  [[nodiscard]] uint64_t AllRebuilds() const {
    return std::accumulate(rebuilds.begin(), rebuilds.end(), uint64_t{0});
  }
};

// A version of a LiveSnapshot, for a reader that goes on with it while later changes are taken:
// it sees none of them, and nobody waits for it.
//
// Threads: made by the LiveSnapshot's thread, used by one thread, and may outlive the
//          LiveSnapshot.  A Planner that is given branches is used by one thread at a time, and
//          only while it has the branch.
// Memory:  shares what neither side changes.
class LiveBranch {
 public:
  LiveBranch(LiveBranch&&) noexcept = default;
  LiveBranch& operator=(LiveBranch&& other) noexcept;
  ~LiveBranch();

  // As LiveSnapshot's.
  [[nodiscard]] ClusterSnapshot& Snapshot() { return snapshot_; }
  [[nodiscard]] const std::vector<PodId>& Pending() const { return pending_; }
  [[nodiscard]] size_t PodsOnUnknownNodes() const { return pods_on_unknown_nodes_; }

 private:
  friend class LiveSnapshot;
  using Readers = std::atomic<uint32_t>;

  LiveBranch(ClusterSnapshot snapshot, std::shared_ptr<Readers> readers,
             const std::shared_ptr<Symbols>& symbols);

  Symbols::Pin texts_;
  std::shared_ptr<Readers> readers_;  // Of the catalog; null in what was moved from.
  ClusterSnapshot snapshot_;
  std::vector<PodId> pending_;
  size_t pods_on_unknown_nodes_ = 0;
};

class LiveSnapshot {
 public:
  struct Options {
    int64_t expendable_pods_priority_cutoff = kExpendablePodsPriorityCutoff;
    // As --bypassed-scheduler-names (WaitOf).
    std::vector<std::string> bypassed_schedulers = {};
    // Pods that have ended are in the snapshot too, and so are nominated pods that are being
    // deleted: for callers whose source has dropped those that take no room.
    bool keep_ended_pods = false;
    // What is taken of a namespace that pods are in and that is not there, when a term asks for
    // labels of namespaces.
    enum class UnknownNamespaces : uint8_t {
      kKeepPods,      // Nothing: pods whose place hangs on it keep their nodes.
      kHaveNames,     // It has the label that the API server gives every namespace, its name.
      kHaveNoLabels,  // As the scheduler, when it does not know the namespace.
    };
    UnknownNamespaces unknown_namespaces = UnknownNamespaces::kKeepPods;
    // When most texts are of objects that went, building anew makes other symbols() too, and so
    // gives those texts back.  Whoever keeps a planner compares symbols() then and carries its
    // memory over by names (Planner::Save, ScaleDown::Save), as RoundDriver does.  Off: texts but
    // names and UIDs of pods are kept for good.
    bool renew_texts = false;
    // With renew_texts: so many are never worth that.
    size_t texts_kept = 65536;
    // ClusterSnapshot::SetMatchOs.
    bool match_os = false;
    // SnapshotBuilder::SetVersion.
    std::optional<KubernetesVersion> kubernetes_version = std::nullopt;
  };

  LiveSnapshot() : LiveSnapshot(Options()) {}
  explicit LiveSnapshot(Options options,
                        std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>());
  ~LiveSnapshot();
  LiveSnapshot(const LiveSnapshot&) = delete;
  LiveSnapshot& operator=(const LiveSnapshot&) = delete;

  // All of them, in their order, or none.  Nothing is kept of what they point to.
  // REQUIRES: no fork of Snapshot() is open.
  absl::Status Take(std::span<const Change> changes, OlderObjects older = OlderObjects::kPassOver);

  // Options::kubernetes_version, from here on.  Cost: where other rules hold by it than before, the
  // next Snapshot() builds anew.
  // REQUIRES: no fork of Snapshot() is open.
  void SetVersion(std::optional<KubernetesVersion> version);

  // The cluster as it is now.  Plans may be tried on it; it must be as it was before the next
  // Take().  It and copies of it are valid until then: their catalog changes.  What is to outlive
  // that is a Branch().
  [[nodiscard]] ClusterSnapshot& Snapshot();
  // Pods that wait for a node (TakesRoom), in the order in which they came.
  [[nodiscard]] std::vector<PodId> Pending();
  // Pods on no node whose node is not missing, by whether they wait for one.
  struct WithoutNode {
    uint64_t pods = 0;
    std::string first;  // "namespace/name" of the one that came first.
  };
  [[nodiscard]] std::array<WithoutNode, kPodWaits> PodsWithoutNode();
  // Whether some pod that is in the snapshot has the condition PodScheduled.
  [[nodiscard]] bool SchedulingRecorded() const { return pods_with_condition_ > 0; }
  // Pods whose node is not there.
  [[nodiscard]] size_t PodsOnUnknownNodes();
  // "namespace/name on node" of the one that came first; empty: there is none.
  [[nodiscard]] std::string FirstPodOnUnknownNode();
  // Pods that are held and not in the snapshot, by why.
  [[nodiscard]] size_t PodsLeftOut(PodListing why) const {
    return left_out_[static_cast<size_t>(why)];
  }

  // The cluster as it is now, to be read elsewhere.  Cost: O(pods / 4096 + nodes / 16), and the
  // first Take() during which some branch is in use copies the catalog.
  [[nodiscard]] LiveBranch Branch();

  // Everything that is held, apart from pods that are not in the snapshot: importing it gives
  // the same snapshot.  Errors: the sink's.
  absl::Status Export(ObjectSink& sink);
  // The same, but pods that differ in name, UID, times and node alone are told once: the first of
  // them, whole, and how many they are.  Cost: O(pods) steps, and the objects.
  absl::Status ExportAlike(
      ObjectSink& sink,
      const std::function<absl::Status(const objects::Pod& first, uint64_t pods)>& pods);
  // Pods that are not in the snapshot: expendable ones, and of those that have ended what is left,
  // which is names, UID, time, node and a phase that says so.
  absl::Status ExportLeftOut(ObjectSink& sink) const;

  // The latest time that what is held carries (NewestTimeOf).  Cost: O(objects) where what carried
  // it went since.
  [[nodiscard]] int64_t NewestTime();
  // Of the namespace; empty: it is not held, or has none.
  [[nodiscard]] std::string_view UidOfNamespace(std::string_view name);

  // Objects that are held, those that are not in the snapshot among them.
  [[nodiscard]] size_t Objects() const { return objects_.size() + Pods(); }
  [[nodiscard]] size_t Nodes() const { return objects_.Nodes(); }
  // Ended and expendable ones among them.
  [[nodiscard]] size_t Pods() const { return pods_.size() - free_pods_.size(); }
  // A bit for each kind of which an object is held.
  [[nodiscard]] uint64_t Kinds() const {
    return objects_.Kinds() | static_cast<uint64_t>(Pods() > 0) << 63;
  }
  // Whether an object of that kind and of these names is held.
  [[nodiscard]] bool Holds(const objects::ObjectRef& object);
  // The node as it was put last, and its version (HeldObject); false: no such node is held.
  bool VisitNode(std::string_view name,
                 const std::function<void(const objects::Node& node, uint64_t version)>& visit);
  // A pod by its name; kNoPod: none of that name is in the snapshot.
  [[nodiscard]] PodId FindPod(std::string_view namespace_name, std::string_view name);

  [[nodiscard]] const LiveCounts& counts() const { return counts_; }
  // Options::renew_texts: until the next Take() or Snapshot().
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const { return symbols_; }

 private:
  static constexpr PodShapeId kNoShape{~uint32_t{0}};

  struct HeldPod {
    SnapshotBuilder::NamedPod named{};
    PodShapeId shape = kNoShape;  // kNoShape: it is not in the snapshot.
    PodListing listing = PodListing::kListed;
    PodId id = kNoPod;  // kNoPod: nor while the snapshot is stale.
    bool has_uid = false;
    objects::Scheduling scheduling = objects::Scheduling::kNotRecorded;
    PodWait wait = PodWait::kNotRecorded;  // Where it is on no node.
    uint64_t version = 0;
    uint64_t order = 0;  // When it came to where it is: to its node, or to wait.
  };
  class Ahead;  // Loads what the next changes will touch.

  // An object of any kind but pods.
  void Put(const Change& change, OlderObjects older);
  void Delete(const Change& change);
  // In the catalog that is there, or it becomes stale.
  void PutInPlace(const objects::Node& node);
  void PutInPlace(const objects::PodDisruptionBudget& pdb, bool is_new);
  void PutInPlace(const objects::Namespace& namespace_object);
  void PutInPlace(const objects::Controller& controller);
  // `old`: what was held, packed; empty: nothing was.
  void PutInPlace(const objects::StorageObject& object, std::string_view old);
  void DeleteInPlace(const objects::Node& node);
  void DeleteInPlace(const objects::PodDisruptionBudget& pdb);
  void DeleteInPlace(const objects::Namespace& namespace_object);
  void DeleteInPlace(const objects::Controller& controller);
  void DeleteInPlace(const objects::StorageObject& object, std::string_view old);

  [[nodiscard]] bool ChangesWhatPodsAre(const NodeInfo& info) const;
  void AddNode(NodeInfo info);
  void RemoveNode(NodeId node);
  void ChangeNode(NodeId node, NodeInfo info);
  void ChangeTopology(NodeId node, NodeInfo info);
  void SetAmounts(NodeId node, const std::vector<ResourceQuantity>& amounts, int sign);
  void FindPodsOf(NodeId node);
  [[nodiscard]] PdbId FindBudget(const objects::PodDisruptionBudget& pdb) const;
  void FillStorage();

  void PutPod(const objects::Pod& pod, uint64_t version, OlderObjects older);
  void DeletePod(const objects::Pod& pod, uint64_t version);
  using PodsByName = absl::flat_hash_map<std::pair<TextId, TextId>, uint32_t>;
  [[nodiscard]] PodsByName::const_iterator FindName(const objects::ObjectMeta& meta) const;
  PodShapeId ShapeOf(const objects::Pod& pod);
  [[nodiscard]] static bool IsPending(const HeldPod& unplaced);
  [[nodiscard]] static bool HasCondition(const HeldPod& held);
  // Where a pod stood among those of its node; kNoNode: on none.
  struct Standing {
    NodeId node = kNoNode;
    size_t index = 0;
  };
  Standing TakeFromNode(PodId pod);
  // Puts the pod there again, if it is still on the node.
  void StandAgain(PodId pod, const Standing& before);
  void Enter(uint32_t place);
  Standing Leave(uint32_t place);
  PodId TakeId();
  void ReleaseName(const SnapshotBuilder::NamedPod& named);
  void Log(const PodChangeLog::Change& change);
  void Log(const NodeChangeLog::Change& change);
  void ReleaseKeys();
  bool Charge(PodShapeId shape, int sign);

  void BecomeStale(RebuildCause cause);
  void Rebuild();
  [[nodiscard]] bool HasManyDeadTexts() const;
  void RenewTexts();
  // What nobody asks Snapshot() for must not grow for it.
  void StayInBounds();
  void LeaveToReaders();
  void LeaveCatalog();
  void Changed();
  // What is held carries `now`, and carried `before`; 0: it is not there.
  void NoteTime(int64_t before, int64_t now);
  [[nodiscard]] std::vector<uint32_t> PodsInOrder() const;
  absl::Status GiveObjects(ObjectSink& sink) const;
  // What is held of the pod, in `like`, which is another of its shape.
  void NamePod(const HeldPod& held, objects::Pod& like) const;
  [[nodiscard]] std::string_view SchedulerOf(uint32_t place) const;
  void NameUnknownNamespaces(SnapshotBuilder& builder) const;

  Options options_;
  std::shared_ptr<Symbols> symbols_;
  size_t texts_built_ = 0;  // Symbols::kept() when all was built anew.
  LiveCounts counts_;
  uint64_t next_order_ = 1;
  int64_t newest_time_ = 0;
  bool newest_went_ = false;  // What carried newest_time_: nothing that is held is newer.

  HeldObjects objects_;
  std::vector<HeldPod> pods_;
  std::vector<uint32_t> free_pods_;   // Places in pods_ that hold none.
  uint64_t pods_with_condition_ = 0;  // Of those that have a shape: condition PodScheduled.
  std::array<size_t, 3> left_out_{};  // By PodListing.
  absl::flat_hash_map<uint32_t, std::string> expendable_;  // Whole, packed, by place in pods_.
  // Of pods on no node that name a scheduler, by place in pods_.  Shapes do not tell pods of two
  // schedulers apart.
  absl::flat_hash_map<uint32_t, std::string> schedulers_;
  PodsByName pods_by_name_;  // Places in pods_.

  // What is there.  While it is stale, pods still leave it, and shapes are interned in it.
  std::unique_ptr<SnapshotBuilder> builder_;
  Catalog* catalog_ = nullptr;  // The builder's and the snapshot's.
  ClusterSnapshot snapshot_;
  std::shared_ptr<LiveBranch::Readers> readers_ = std::make_shared<LiveBranch::Readers>(0);
  std::optional<RebuildCause> stale_;
  bool is_changing_ = false;       // In Take(); for ever where that ran out of memory.
  bool storage_is_old_ = false;    // The catalog's: it is filled at the next Snapshot().
  size_t nodes_gone_ = 0;          // Ids of the catalog without a node.
  std::vector<uint32_t> held_of_;  // By PodId: place in pods_.
  std::vector<PodId> free_ids_;
  std::vector<TextId> keys_gone_;  // Held for those who follow Catalog::pod_changes().
  // Of changes that the log forgot: some are released at each change, not all at one.
  std::vector<TextId> keys_forgotten_;
  // Pods on no node, by the one they wait for and HeldPod::order.
  absl::btree_map<std::pair<TextId, uint64_t>, uint32_t> unplaced_;
  // By ResourceId: to all pods; kChargedMax and one pod's charge at most.
  std::vector<int64_t> charged_;

  struct HeldShape {
    std::string packed;  // A pod of it.
    uint32_t pods = 0;
  };
  std::vector<HeldShape> shapes_;  // By PodShapeId.
  size_t dead_shapes_ = 0;         // Without pods.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LIVE_LIVE_SNAPSHOT_H_
