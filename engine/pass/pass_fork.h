// PassFork: the changes that one pass makes to a cluster, for the duration of the pass.
// RemovalAttempt: the changes that the removal of one candidate makes, kept or undone as a whole.
//
//   {
//     PassFork fork(snapshot, memory);
//     place(fork, pending);                             // These pods stay until the fork ends.
//     {
//       RemovalAttempt attempt(fork, node);             // The node is a ghost, without its pods.
//       if (place(fork, pods)) attempt.Commit();        // The pods have room: the node is removed.
//     }                                                 // Not committed: the attempt is undone.
//   }                                                   // The snapshot is as it was.
//
// Five things change together, and during a pass only PassFork changes them (although the
// snapshot's functions for it are public):
//   the snapshot      the pods placed in it; its undo log reverts that;
//   the amounts       the free amounts of nodes and the topology counts.  Some pods affect others
//                     only through these (PodScan::StaysUnplaced).  Such a pod is not placed in
//                     the snapshot and so not in its log: an attempt gives its room back pod by
//                     pod, and the end of the pass restores every amount and count;
//   the guests        the pods that the pass has moved to each node, placed in the snapshot or not;
//   the scan          the nodes that may take pods (open nodes), and the nodes that an attempt has
//                     ruled out;
//   the moves         the list of the placed pods.
//
// While a pass fork exists, no other code may change, fork or copy the snapshot.
//
// Cost:      PassFork: O(nodes * resources + pages of counts) to begin and to end.  RemovalAttempt:
//            O(pods placed), and the cost of Fork, SetGhost and Revert to begin and end.
//            Debug builds: an attempt costs O(nodes * resources + counts), to check that a reverted
//            attempt leaves no change.
// Threads:   not thread-safe.
// Ownership: borrows the snapshot and the memory; a memory serves one pass fork at a time.

#ifndef EBB_ENGINE_PASS_PASS_FORK_H_
#define EBB_ENGINE_PASS_PASS_FORK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/pass/guests.h"
#include "engine/pass/pod_scan.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/ids.h"

namespace ebb {

// What a pass fork leaves to the next one: the scan with its pointer and its static verdicts, and
// vectors that are reused to save allocations.
class PassForkMemory {
 public:
  // The scan's pointer between pass forks (PodScan::pointer).
  [[nodiscard]] uint64_t pointer() const { return scan_.pointer(); }
  void SetPointer(uint64_t pointer) { scan_.SetPointer(pointer); }

 private:
  friend class PassFork;

  PodScan scan_;
  Guests guests_;
  std::vector<int64_t> free_;                 // Free amounts before the pass fork.
  TopologyCounts counts_;                     // Topology counts before the pass fork.
  std::vector<int64_t> free_before_attempt_;  // Debug builds only.
  TopologyCounts counts_before_attempt_;      // Debug builds only.
  std::vector<Move> moves_;
  std::vector<PodId> came_;
  std::vector<PodId> pods_;
  // A pod that was on the ghost and is counted by some table.  Pods of one family form a list.
  struct GhostPod {
    PodShapeId shape;
    FamilyId family;
    uint32_t next;  // The next pod of the family; kNoGhostPod: it is the last.
  };
  struct GhostFamily {
    uint32_t attempt = 0;  // The last attempt whose ghost had pods of the family.
    uint32_t first;        // The first of these pods.
    bool is_uncounted;     // Whether they are taken out of the tables.
  };
  static constexpr uint32_t kNoGhostPod = ~uint32_t{0};
  std::vector<GhostPod> ghost_pods_;
  std::vector<GhostFamily> ghost_families_;  // By FamilyId.
  uint32_t attempt_ = 0;                     // The number of the last attempt.
  bool in_use_ = false;
};

class PassFork {
 public:
  // Initially every node may take pods.  REQUIRES: the snapshot has no ghost.
  PassFork(ClusterSnapshot& snapshot, PassForkMemory& memory);
  ~PassFork();
  PassFork(const PassFork&) = delete;
  PassFork& operator=(const PassFork&) = delete;

  // The cluster in its current state.  Pods that stay unplaced are an exception: the snapshot does
  // not list those that an attempt has moved, but their room is taken and they are counted.
  [[nodiscard]] const ClusterSnapshot& snapshot() const { return snapshot_; }
  // The search for nodes.
  [[nodiscard]] PodScan& scan() { return scan_; }

  // From now on these nodes may take pods.  REQUIRES: no attempt is open.
  void SetDestinations(const NodeSet& destinations);

  // The pods that are on the node now: first its own, in the snapshot's order, then the pods that
  // attempts have moved there, in the order of the moves.  Valid until the next call.
  // REQUIRES: no attempt is open.
  [[nodiscard]] std::span<const PodId> PodsOn(NodeId node);
  // Calls `visit` for each pod that attempts have moved to the node, in unspecified order.
  template <typename Visit>
  void ForEachGuest(NodeId node, Visit&& visit) const {
    guests_.ForEach(node, visit);
  }
  // Prefetches the memory that Put(pod, node) will touch.  `node` need not exist.
  void PrefetchPut(NodeId node) const { guests_.Prefetch(node); }

  // From now on scan() and Put are about pods of `shape`.
  // REQUIRES: called again after an attempt has begun.
  void BeginRun(PodShapeId shape) {
    if (is_ghost_counted_) UncountGhost(scan_.RowOf(shape).family);
    scan_.BeginRun(shape);
  }

  // Puts the pod on the node.  In an attempt, the attempt's end may undo that.  Without an attempt,
  // which is allowed only before the first one, the pod stays until the pass fork ends.
  // REQUIRES: the pod is on no node, BeginRun was called with its shape, and FindNode or Fits has
  // just accepted the node.
  void Put(PodId pod, NodeId node) {
    EBB_DCHECK(scan_.JustFitted(pod, node) && AsksOnlyUncounted(pod));
    if (in_attempt_) [[likely]] {
      has_placed_ |= !scan_.Place(pod, node);
      guests_.Add(pod, node);
    } else {
      EBB_DCHECK(!had_attempt_);
      snapshot_.AddPod(pod, node);
    }
    moves_.push_back({pod, node});
  }
  // Takes the room that the pod needs on the node, and nothing else, outside of attempts: the pod
  // may still be on its node, and is no guest of the other node until NoteGuest.  The end of the
  // pass fork gives the room back.
  // REQUIRES: no attempt is open; BeginRun was called with the pod's shape, scan().NeedsOnlyRoom is
  // true of it, and Fits has just accepted the node.
  void TakeRoom(NodeId node) {
    EBB_DCHECK(!in_attempt_);
    had_attempt_ = true;
    scan_.TakeRoom(node);
  }
  // Gives room back that TakeRoom took for these pods.  REQUIRES: no attempt is open.
  void GiveRoom(std::span<const Move> moves);
  // The pod is a guest of the node from now on.  REQUIRES: no attempt is open.
  void NoteGuest(PodId pod, NodeId node) {
    EBB_DCHECK(!in_attempt_);
    guests_.Add(pod, node);
  }
  // Finds nodes for `pods`, which are pods of BeginRun's shape, one after the other, and puts them
  // there, as long as that takes no search beyond the word in which the last FindNode ended.
  // Returns the number of pods that were put; FindNode goes on with the next one.
  size_t PutNext(std::span<const PodId> pods) {
    if (!in_attempt_) return 0;
    std::array<NodeId, kNodesPerWord> nodes;
    pods = pods.first(std::min(pods.size(), nodes.size()));
    EBB_DCHECK(std::ranges::all_of(pods, [this](PodId pod) { return AsksOnlyUncounted(pod); }));
    const size_t put = scan_.PlaceNext(pods, nodes.data());
    const size_t before = moves_.size();
    moves_.resize(before + put);
    for (size_t i = 0; i < put; ++i) {
      guests_.Add(pods[i], nodes[i]);
      moves_[before + i] = {pods[i], nodes[i]};
    }
    return put;
  }
  // The pods put since the current or the last attempt began; before the first attempt, since the
  // pass fork began.
  [[nodiscard]] const std::vector<Move>& moves() const { return moves_; }

 private:
  friend class RemovalAttempt;

  void BeginAttempt(NodeId node);
  void CommitAttempt();
  void RevertAttempt();
  // Topology tables must not count pods of a ghost.  But taking all of its pods out of all tables,
  // and putting them back if one of them finds no node, would be most of the cost of a failed
  // attempt.  So the pods of a family are taken out of the tables only when the first pod of the
  // family searches for a node: until then no filter reads the counts that these pods feed
  // (PodShape::family).  Tables by node are not corrected at all: a ghost takes no pods, so no
  // filter reads its count, and removed nodes do not return before the end of the pass fork, which
  // restores all counts.
  void ListGhostPods(NodeId node);
  void UncountGhost(FamilyId id) {
    if (id == kNoFamily) return;
    PassForkMemory::GhostFamily& family = memory_.ghost_families_[Index(id)];
    if (family.attempt != memory_.attempt_ || family.is_uncounted) return;
    CountOnGhost(family.first, -1);
    family.is_uncounted = true;
  }
  // Adds ghost_pods_[pod] and the pods that follow it in its list to the tables, on the ghost (+1),
  // or takes them out (-1).
  void CountOnGhost(uint32_t pod, int sign);
  // Whether no pod of the ghost is counted in the tables that filters read for the pod.  Tables by
  // node are not checked.  For assertions.
  [[nodiscard]] bool AsksOnlyUncounted(PodId pod) const;
  // Whether moves() lists each pod once, and each of its nodes is in the cluster and has the pod as
  // its guest.  For assertions.
  [[nodiscard]] bool MovesAreSound() const;

  ClusterSnapshot& snapshot_;
  PassForkMemory& memory_;
  PodScan& scan_;
  Guests& guests_;
  std::vector<Move>& moves_;
  const size_t depth_;     // The snapshot's fork depth outside attempts.
  const uint64_t state_;   // ClusterSnapshot::StateId before the pass fork.
  const bool is_counted_;  // Whether there are topology tables.
  bool in_attempt_ = false;
  bool is_ghost_counted_ = false;  // An attempt is open, and there are topology tables.
  bool had_attempt_ = false;
  bool has_placed_ = false;  // An attempt has placed a pod in the snapshot.
};

class RemovalAttempt {
 public:
  // The node becomes the ghost.
  // REQUIRES: it is in the cluster, and no other attempt of the pass fork is open.
  RemovalAttempt(PassFork& fork, NodeId node) : fork_(fork) { fork_.BeginAttempt(node); }
  ~RemovalAttempt() {
    if (!committed_) fork_.RevertAttempt();
  }
  RemovalAttempt(const RemovalAttempt&) = delete;
  RemovalAttempt& operator=(const RemovalAttempt&) = delete;

  // Keeps what was put, and removes the node with the pods that are still on it, such as DaemonSet
  // pods.
  // REQUIRES: not committed yet.
  void Commit() {
    EBB_CHECK(!committed_);
    committed_ = true;
    fork_.CommitAttempt();
  }

 private:
  PassFork& fork_;
  bool committed_ = false;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PASS_FORK_H_
