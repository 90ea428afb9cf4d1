// ClusterSnapshot: where every pod is, what every node has left, and how many
// pods each topology domain holds, with nested Fork, Revert and Commit.
//
// Start here.  A snapshot is made by SnapshotBuilder (builder.h) and shares its
// Catalog (catalog.h: names, shapes, definitions) with its copies.
//
// How it works: changes apply in place.  While a fork is open, each change is also logged.  Revert
// undoes the logged changes back to the fork; Commit forgets the fork.  So a read costs the same
// however many forks are open.  Columns are CowVectors: a copy of the snapshot is an independent
// branch that shares every page that neither has written.
//
// Invariants (CheckInvariants verifies them):
//   free(r, n) = allocatable(r, n) - sum of charge_requests of the pods on n;
//   kPods counts the pods; every counter table equals a recount.
// Exceptions: ShapeRoom (shape_room.h) takes room for pods that are not placed, and counts them,
// without a log.  Until that is undone (by ShapeRoom, or by RestoreFree and RevertTo), less is free
// and more is counted than the invariants say.  More is also counted while pods of a ghost stay
// counted on it (GhostPods::kCounted).
//
// Units:     milli-CPU, bytes, counts.
// Cost:      Fork O(1); Commit O(1); Revert O(changes since the fork); AddPod and
//            RemovePod O(resources + tables that the shape feeds + its claims' devices, for
//            which AddPod may have to search: device_allocator.h); RemovePod also
//            O(pods of the node); SetGhost O(resources), plus O(pods of the node)
//            if counters or claims must follow the pods; a copy O(pages).
// Threads:   const methods may run concurrently on one snapshot; different copies
//            may be changed by different threads.
// Order:     pods of a node are in append order; removing one moves the last pod into
//            its place, as the scheduler's NodeInfo does.  Nodes keep the order in
//            which they were registered; a removed node that is added again returns to its
//            old place.

#ifndef EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_
#define EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "boost/container/small_vector.hpp"
#include "snapshot/catalog.h"
#include "snapshot/cow_vector.h"
#include "snapshot/device_state.h"
#include "snapshot/ids.h"
#include "snapshot/node_set.h"
#include "snapshot/topology_counts.h"

namespace ebb {

class ClusterSnapshot {
 public:
  using PodList = boost::container::small_vector<PodId, 2>;

  // An empty cluster.
  ClusterSnapshot();
  explicit ClusterSnapshot(std::shared_ptr<Catalog> catalog);

  // A copy is an independent branch with the same catalog.  LiveSnapshot says how long copies of
  // its snapshots are valid.
  // REQUIRES: no fork is open.
  ClusterSnapshot(const ClusterSnapshot&) = default;
  ClusterSnapshot& operator=(const ClusterSnapshot&) = default;
  ClusterSnapshot(ClusterSnapshot&&) = default;
  ClusterSnapshot& operator=(ClusterSnapshot&&) = default;

  [[nodiscard]] const Catalog& catalog() const { return *catalog_; }
  [[nodiscard]] const std::shared_ptr<Catalog>& shared_catalog() const { return catalog_; }

  // --- Reading ---------------------------------------------------------------

  // Nodes that are in the cluster now, ghosts included.
  [[nodiscard]] const NodeSet& alive() const { return alive_; }
  [[nodiscard]] bool Contains(NodeId node) const { return alive_.Contains(node); }
  [[nodiscard]] size_t nodes() const { return alive_nodes_; }
  // Pods that run on some node now.
  [[nodiscard]] size_t placed_pods() const { return placed_pods_; }

  // Position of `node` among the alive nodes.  Cost: nodes / 64.
  [[nodiscard]] size_t PositionOf(NodeId node) const;
  // The node at `position` < nodes().  Cost: nodes / 64.
  [[nodiscard]] NodeId NodeAt(size_t position) const;

  [[nodiscard]] std::span<const PodId> PodsOn(NodeId node) const {
    if (node == ghost_) return {};
    const PodList& pods = pods_on_[Index(node)];
    return {pods.data(), pods.size()};
  }
  // kNoNode if the pod is not placed.
  [[nodiscard]] NodeId NodeOf(PodId pod) const {
    const NodeId node = node_of_[Index(pod)];
    return node == ghost_ ? kNoNode : node;
  }

  [[nodiscard]] int64_t Free(ResourceId resource, NodeId node) const {
    return free_[Index(resource)][Index(node)];
  }
  // Starts loading the pod's node and shape, which may be anywhere in memory.
  void Prefetch(PodId pod) const {
    __builtin_prefetch(&node_of_[Index(pod)], 1);
    catalog_->PrefetchShapeId(pod);
  }

  // The free amounts of the 64 nodes of one word of a NodeSet: ids 64 * `word` and following,
  // contiguous.
  [[nodiscard]] const int64_t* FreeOfWord(ResourceId resource, size_t word) const {
    return free_[Index(resource)].Run(word * kNodesPerWord);
  }
  [[nodiscard]] int64_t Allocatable(ResourceId resource, NodeId node) const;

  // Whether the node is being drained in a pass that tries to remove it.  A ghost keeps its place
  // and its labels, is tainted ToBeDeletedByClusterAutoscaler:NoSchedule, and accepts no pods.
  [[nodiscard]] bool IsGhost(NodeId node) const { return ghost_ == node; }
  // kNoNode if there is no ghost.
  [[nodiscard]] NodeId ghost() const { return ghost_; }

  [[nodiscard]] const TopologyCounts& topology() const { return topology_; }

  // The number of placed pods that use the claim.
  [[nodiscard]] uint32_t ClaimUses(ClaimId claim) const { return claim_uses_[Index(claim)]; }

  // Which devices are in use, by which claims.
  [[nodiscard]] const DeviceState& devices() const { return devices_; }

  // Identifies the current state: if this snapshot or a copy of it returns the same number again,
  // its state is the same again.  Each change creates a new number; Revert restores the number of
  // the fork.  The amounts that ShapeRoom holds are not part of the state.
  [[nodiscard]] uint64_t StateId();

  // Whether pods are kept off nodes with another operating system than they were made for, as
  // kubelets and images require.  Otherwise only the scheduler's rules apply, which ignore it.
  // Copies inherit this setting.
  [[nodiscard]] bool matches_os() const { return matches_os_; }
  void SetMatchOs(bool matches_os) { matches_os_ = matches_os; }

  // --- Changing --------------------------------------------------------------

  // REQUIRES: the pod is not placed, the node is in the cluster.
  void AddPod(PodId pod, NodeId node);
  // REQUIRES: the pod is placed.
  void RemovePod(PodId pod);
  // RemovePod, then AddPod.
  void MovePod(PodId pod, NodeId node);

  // Removes the node, after removing its pods.  REQUIRES: the node is in the cluster.
  void RemoveNode(NodeId node);
  // Adds a removed node again, without pods.  REQUIRES: the node is not in the cluster.
  void AddNode(NodeId node);

  // Makes `node` the ghost: its pods are no longer placed.  There is at most one ghost at a time.
  // REQUIRES: the node is in the cluster; there is no ghost.
  //
  // kUncounted: all counter tables stop counting the pods that ran there.
  // kCounted: the counter tables go on counting, on the ghost, the pods that ran there.
  // - Tables by node (topology_counts.h) count each pod there until ShapeRoom::Take moves it.
  //   Pods that were not moved stay counted there even after ClearGhost and RemoveNode, so the
  //   node must not take pods again until Revert or RevertTo has undone SetGhost.
  // - From all other tables the caller takes the pods with ShapeRoom::CountOnGhost before it
  //   reads such a table, and adds them again before Revert.
  enum class GhostPods : uint8_t { kUncounted, kCounted };
  void SetGhost(NodeId node, GhostPods pods = GhostPods::kUncounted);
  // Makes the ghost a normal node again, without pods.  REQUIRES: there is a ghost.
  void ClearGhost();

  // --- Layers ----------------------------------------------------------------

  void Fork();
  // Undoes everything since the last Fork.  REQUIRES: depth() > 0.
  void Revert();
  // Keeps everything since the last Fork, as part of the layer below.
  // REQUIRES: depth() > 0.
  void Commit();
  // Like Revert, if `counts` is a copy of topology() at that Fork.  This also undoes what
  // ShapeRoom has counted since then.  Cost: as Revert, without the counting.
  void RevertTo(TopologyCounts counts);
  [[nodiscard]] size_t depth() const { return marks_.size(); }

  // Saves every free amount.  RestoreFree puts them back, which ends an experiment with ShapeRoom.
  // Nodes and resources must not change in between.  Cost: nodes * resources.
  void SaveFree(std::vector<int64_t>& amounts) const;
  void RestoreFree(const std::vector<int64_t>& amounts);

  // --- Checking ----------------------------------------------------------------

  // Recounts everything from the pod lists.  Errors: Internal, naming the first
  // wrong figure.  Cost: the whole cluster.
  [[nodiscard]] absl::Status CheckInvariants() const;

  // The whole state as text, equal for equal states.  For tests.
  [[nodiscard]] std::string Fingerprint() const;

 private:
  friend class LiveSnapshot;
  friend class SnapshotBuilder;
  friend class ShapeRoom;
  friend ClusterSnapshot WithGangsCounted(const ClusterSnapshot& snapshot);

  enum class Op : uint8_t { kAddPod, kRemovePod, kRemoveNode, kAddNode, kSetGhost, kClearGhost };
  struct Change {
    Op op;
    uint32_t index;  // kRemovePod: the pod's place in its node's list.
                     // kAddPod: the previous value of node_of_.
                     // kSetGhost, kClearGhost: GhostPods.
    PodId pod;
    NodeId node;
  };

  void Log(Change change) {
    state_id_ = 0;
    if (!marks_.empty()) log_.push_back(change);
  }
  // Whether a change or its undoing also updates the topology's tables.
  enum class Tables : uint8_t { kCount, kLeave };
  template <Tables kTables>
  void Undo(const Change& change);
  template <Tables kTables>
  void UndoLayer();
  void TakeDevices(PodId pod, NodeId node);
  void ReleaseDevices(PodId pod);
  // Undoes what TakeDevices or ReleaseDevices did last.
  void UndoDevices(PodId pod);

  // Updates free amounts and counts for one pod that is added (+1) or removed (-1), but neither
  // the pod lists nor node_of_.
  template <int kSign, Tables kTables = Tables::kCount>
  void Charge(PodId pod, NodeId node);
  // Updates counters and claims for such a pod.
  template <int kSign, Tables kTables>
  void Count(const PodShape& shape, NodeId node);
  // Updates counters, claims and placed_pods_ when all pods of a node are added or removed at once.
  template <int kSign, Tables kTables = Tables::kCount>
  void CountAll(const PodList& pods, NodeId node);
  uint32_t TakeFromList(PodId pod, NodeId node);
  void PutBackInList(PodId pod, NodeId node, uint32_t index);
  template <Tables kTables = Tables::kCount>
  void SetAlive(NodeId node, bool alive);

  // Adds room for the nodes, pods, resources and tables that the catalog has gained.
  void Grow();
  // Counts all pods in the tables from `first` on, which are new, and in `others` (ascending),
  // which count no pod yet.  In each shape's `feeds` the new tables are listed last.
  // Cost: O(pods + tables that count them, if there are others).
  void CountInNewTables(TableId first, std::span<const TableId> others);

  std::shared_ptr<Catalog> catalog_;

  NodeSet alive_;
  size_t alive_nodes_ = 0;
  bool matches_os_ = false;
  size_t placed_pods_ = 0;
  NodeId ghost_ = kNoNode;
  GhostPods ghost_counts_ = GhostPods::kUncounted;  // The argument of SetGhost.
  // Sizes of the pages below: 0.5 to 16 KiB.  cow_vector.h says what the size trades.  Not tuned:
  // other values were not compared.
  //
  // The ghost's pods stay in its list, and node_of_ of pods that were not placed elsewhere stays
  // unchanged, so that SetGhost and its undoing move no pods.
  CowVector<PodList, 16> pods_on_;             // By NodeId.
  CowVector<NodeId, 4096> node_of_;            // By PodId.
  std::vector<CowVector<int64_t, 512>> free_;  // By ResourceId, NodeId.
  TopologyCounts topology_;
  CowVector<uint32_t, 1024> claim_uses_;  // By ClaimId.
  bool has_device_claims_ = false;        // The catalog has some.
  DeviceState devices_;

  std::vector<Change> log_;
  std::vector<int64_t> ghost_free_;  // For each kSetGhost in the log: free amounts before it.
  std::vector<PodList> ghost_pods_;  // For each kClearGhost in the log: the list that it emptied.
  struct Mark {                      // One for each open fork.
    size_t log_size;
    uint64_t state_id;
  };
  // A list that may be copied only while it is empty: a copy does not share the log.
  class Marks : public std::vector<Mark> {
   public:
    Marks() = default;
    Marks(const Marks& other) : std::vector<Mark>(other) { EBB_DCHECK(other.empty()); }
    Marks& operator=(const Marks& other) {
      EBB_DCHECK(other.empty());
      std::vector<Mark>::operator=(other);
      return *this;
    }
    Marks(Marks&&) noexcept = default;
    Marks& operator=(Marks&&) noexcept = default;
    ~Marks() = default;
  };
  Marks marks_;
  uint64_t state_id_ = 0;  // 0: no number has been assigned yet.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_
