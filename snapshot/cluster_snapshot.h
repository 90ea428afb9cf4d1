// ClusterSnapshot: where every pod is, what every node has left, and how many
// pods each topology domain holds, with nested Fork, Revert and Commit.
//
// Start here.  A snapshot is made by SnapshotBuilder (builder.h) and shares its
// Catalog (catalog.h: names, shapes, definitions) with its copies.
//
// How it works: changes apply in place, and while a fork is open each is noted in
// a log.  Revert undoes the log back to the fork, Commit forgets the mark.  So
// reading never meets layers.  Columns are CowVectors: a copy of the snapshot is
// an independent branch that shares every page neither has written.
//
// Invariants (CheckInvariants proves them):
//   free(r, n) = allocatable(r, n) - sum of charge_requests of the pods on n;
//   kPods counts the pods; every counter table equals a recount.
// ShapeRoom takes room for pods that are not placed, and counts them, without a log: until
// it gives that back, or RestoreFree and RevertTo do, less is free and more is counted.
// More is counted too while pods of a ghost stay counted on it (GhostPods).
//
// Units:     milli-CPU, bytes, counts.
// Cost:      Fork O(1); Commit O(1); Revert O(changes since the fork); AddPod and
//            RemovePod O(resources + tables that the shape feeds); RemovePod also
//            O(pods of the node); SetGhost O(resources), and O(pods of the node)
//            where counters or claims follow them; a copy O(pages).
// Threads:   const methods may run concurrently on one snapshot; different copies
//            may be changed by different threads.
// Order:     pods of a node are in append order; removing one moves the last into
//            its place, as the scheduler's NodeInfo does.  Nodes keep the order in
//            which they were registered; a node that comes back takes its old place.

#ifndef EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_
#define EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "boost/container/small_vector.hpp"
#include "snapshot/catalog.h"
#include "snapshot/cow_vector.h"
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

  // An independent branch, but for the catalog: of a LiveSnapshot's see there how long it is valid.
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

  // Position of `node` in the list of nodes that are alive.  Cost: nodes / 64.
  [[nodiscard]] size_t PositionOf(NodeId node) const;
  // The node at `position` < nodes().  Cost: nodes / 64.
  [[nodiscard]] NodeId NodeAt(size_t position) const;

  [[nodiscard]] std::span<const PodId> PodsOn(NodeId node) const {
    if (node == ghost_) return {};
    const PodList& pods = pods_on_[Index(node)];
    return {pods.data(), pods.size()};
  }
  // kNoNode: not placed.
  [[nodiscard]] NodeId NodeOf(PodId pod) const {
    const NodeId node = node_of_[Index(pod)];
    return node == ghost_ ? kNoNode : node;
  }

  [[nodiscard]] int64_t Free(ResourceId resource, NodeId node) const {
    return free_[Index(resource)][Index(node)];
  }
  // Starts loading where the pod is, and its shape, which lie anywhere in memory.
  void Prefetch(PodId pod) const {
    __builtin_prefetch(&node_of_[Index(pod)], 1);
    catalog_->PrefetchShapeId(pod);
  }

  // Free amounts of the 64 nodes of word `word`, in a row.
  [[nodiscard]] const int64_t* FreeOfWord(ResourceId resource, size_t word) const {
    return free_[Index(resource)].Run(word * kNodesPerWord);
  }
  [[nodiscard]] int64_t Allocatable(ResourceId resource, NodeId node) const;

  // The node is being drained in a simulation: it holds its place and its labels,
  // is tainted ToBeDeletedByClusterAutoscaler:NoSchedule, and takes no pods.
  [[nodiscard]] bool IsGhost(NodeId node) const { return ghost_ == node; }
  // kNoNode: there is none.
  [[nodiscard]] NodeId ghost() const { return ghost_; }

  [[nodiscard]] const TopologyCounts& topology() const { return topology_; }

  // Number of pods placed now that use the claim.
  [[nodiscard]] uint32_t ClaimUses(ClaimId claim) const { return claim_uses_[Index(claim)]; }

  // Names the state: whoever finds the same number again, in this snapshot or a copy of
  // it, finds the same state.  A change makes another, Revert brings back that of the
  // fork.  Amounts that ShapeRoom holds do not count.
  [[nodiscard]] uint64_t StateId();

  // Whether a pod is kept off nodes of another operating system than it was made for, as kubelets
  // and images demand; else pods are placed by the scheduler's rules alone, which do not look
  // at it.  Copies have it too.
  [[nodiscard]] bool matches_os() const { return matches_os_; }
  void SetMatchOs(bool matches_os) { matches_os_ = matches_os; }

  // --- Changing --------------------------------------------------------------

  // REQUIRES: the pod is not placed, the node is in the cluster.
  void AddPod(PodId pod, NodeId node);
  // REQUIRES: the pod is placed.
  void RemovePod(PodId pod);
  // RemovePod, then AddPod.
  void MovePod(PodId pod, NodeId node);

  // Takes the node out, with the pods still on it.  REQUIRES: it is there.
  void RemoveNode(NodeId node);
  // Puts a removed node back, empty.  REQUIRES: it is not there.
  void AddNode(NodeId node);

  // Makes `node` the ghost: its pods leave it and are not placed.  At most one
  // ghost at a time.  REQUIRES: the node is there, there is no ghost.
  //
  // kCounted: all tables go on counting on the ghost the pods that were there.  Tables by node
  // (topology_counts.h) do so until ShapeRoom::Take moves a pod; those that nobody moved are still
  // counted on the node after ClearGhost and RemoveNode: it may not take pods again until
  // Revert, or RevertTo, has undone SetGhost.  From the other tables ShapeRoom::CountOnGhost
  // takes the pods, before anybody asks what these count, and gives them back before Revert.
  enum class GhostPods : uint8_t { kUncounted, kCounted };
  void SetGhost(NodeId node, GhostPods pods = GhostPods::kUncounted);
  // The ghost is a node again, empty.  REQUIRES: there is one.
  void ClearGhost();

  // --- Layers ----------------------------------------------------------------

  void Fork();
  // Undoes everything since the last Fork.  REQUIRES: depth() > 0.
  void Revert();
  // Keeps everything since the last Fork, as part of the layer below.
  // REQUIRES: depth() > 0.
  void Commit();
  // Revert, where `counts` are those of topology() at that Fork.  What ShapeRoom counted
  // since then is undone with the rest.  Cost: as Revert, but for the counting.
  void RevertTo(TopologyCounts counts);
  [[nodiscard]] size_t depth() const { return marks_.size(); }

  // Every free amount, to be put back by RestoreFree when nodes and resources are the
  // same: the end of an experiment with ShapeRoom.  Cost: nodes * resources.
  void SaveFree(std::vector<int64_t>& amounts) const;
  void RestoreFree(const std::vector<int64_t>& amounts);

  // --- Proving ---------------------------------------------------------------

  // Recounts everything from the pod lists.  Errors: Internal, naming the first
  // figure that is wrong.  Cost: the whole cluster.
  [[nodiscard]] absl::Status CheckInvariants() const;

  // A text of the whole state, equal for equal states: for tests.
  [[nodiscard]] std::string Fingerprint() const;

 private:
  friend class LiveSnapshot;
  friend class SnapshotBuilder;
  friend class ShapeRoom;

  enum class Op : uint8_t { kAddPod, kRemovePod, kRemoveNode, kAddNode, kSetGhost, kClearGhost };
  struct Change {
    Op op;
    uint32_t index;  // kRemovePod: the pod's place in its node's list.
                     // kAddPod: what node_of_ held before.
                     // kSetGhost, kClearGhost: GhostPods.
    PodId pod;
    NodeId node;
  };

  void Log(Change change) {
    state_id_ = 0;
    if (!marks_.empty()) log_.push_back(change);
  }
  // Whether a change is one of the topology's tables too.
  enum class Tables : uint8_t { kCount, kLeave };
  template <Tables kTables>
  void Undo(const Change& change);
  template <Tables kTables>
  void UndoLayer();

  // Bookkeeping of one pod coming (+1) or going (-1), lists and node_of_ apart.
  template <int kSign, Tables kTables = Tables::kCount>
  void Charge(PodId pod, NodeId node);
  // Counters and claims of the same.
  template <int kSign, Tables kTables>
  void Count(const PodShape& shape, NodeId node);
  // Counters, claims and the pods' number, when all pods of a node come or go at once.
  template <int kSign, Tables kTables = Tables::kCount>
  void CountAll(const PodList& pods, NodeId node);
  uint32_t TakeFromList(PodId pod, NodeId node);
  void PutBackInList(PodId pod, NodeId node, uint32_t index);
  template <Tables kTables = Tables::kCount>
  void SetAlive(NodeId node, bool alive);

  // Takes in what the catalog gained: nodes, pods, resources, tables.
  void Grow();
  // Counts all pods in the tables from `first` on, which are new, and which shapes that were
  // there before feed after all others.  Cost: O(pods).
  void CountInNewTables(TableId first);

  std::shared_ptr<Catalog> catalog_;

  NodeSet alive_;
  size_t alive_nodes_ = 0;
  bool matches_os_ = false;
  size_t placed_pods_ = 0;
  NodeId ghost_ = kNoNode;
  GhostPods ghost_counts_ = GhostPods::kUncounted;  // Of the ghost.
  // The ghost's pods stay listed, and node_of_ of those not placed elsewhere stays
  // as it was, so that lifting them and putting them back moves no pod.
  CowVector<PodList, 16> pods_on_;             // By NodeId.
  CowVector<NodeId, 4096> node_of_;            // By PodId.
  std::vector<CowVector<int64_t, 512>> free_;  // By ResourceId, NodeId.
  TopologyCounts topology_;
  CowVector<uint32_t, 1024> claim_uses_;  // By ClaimId.

  std::vector<Change> log_;
  std::vector<int64_t> ghost_free_;  // For each kSetGhost in the log: free amounts before.
  std::vector<PodList> ghost_pods_;  // For each kClearGhost in the log: the list it emptied.
  struct Mark {                      // Of an open fork.
    size_t log_size;
    uint64_t state_id;
  };
  std::vector<Mark> marks_;
  uint64_t state_id_ = 0;  // 0: not named yet.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_CLUSTER_SNAPSHOT_H_
