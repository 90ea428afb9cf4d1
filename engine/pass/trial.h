// Simulation: what one pass does to a cluster, for as long as the pass lasts.
// Trial: what the removal of one candidate does to it, kept or undone as a whole.
//
//   {
//     Simulation simulation(snapshot, memory);
//     place(simulation, pending);                       // They stay to the end.
//     {
//       Trial trial(simulation, node);                  // A ghost; its pods are off it.
//       if (place(simulation, pods)) trial.Commit();    // They have room: the node is gone.
//     }                                                 // Else all is as before the trial.
//   }                                                   // The snapshot is as it was.
//
// Five things change together, and in a pass only Simulation changes them (the functions
// of the snapshot that do so are public):
//   the snapshot      what is placed in it; its undo log takes that back;
//   its free amounts  and counts of topology, of pods that matter to others by these alone
//                     (PodScan::StaysUnplaced), which are not placed in the snapshot and so
//                     not in its log: a trial gives them back pod by pod, the end of the
//                     pass restores every amount and count;
//   the guests        which pods came to each node, whether placed in the snapshot or not;
//   the scan          the open nodes, and the candidates that it ruled out in a trial;
//   the moves         the list of all of that.
//
// While a simulation lasts, nobody else changes, forks or copies the snapshot.
//
// Cost:      Simulation O(nodes * resources + pages of counts) at either end; a Trial
//            O(what is put), and to begin and end one what Fork, SetGhost and Revert cost.
//            Debug builds: a trial costs O(nodes * resources + counts), to prove that it
//            left nothing behind.
// Threads:   none.
// Ownership: borrows the snapshot and the memory; a memory serves one simulation at a time.

#ifndef EBB_ENGINE_PASS_TRIAL_H_
#define EBB_ENGINE_PASS_TRIAL_H_

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

// What simulations leave to the next one: the scan with its pointer and the static
// verdicts that it keeps, and vectors, reused to save allocations.
class SimulationMemory {
 public:
  // The scan's pointer (PodScan::pointer), between simulations.
  [[nodiscard]] uint64_t pointer() const { return scan_.pointer(); }
  void SetPointer(uint64_t pointer) { scan_.SetPointer(pointer); }

 private:
  friend class Simulation;

  PodScan scan_;
  Guests guests_;
  std::vector<int64_t> free_;               // Amounts before the simulation.
  TopologyCounts counts_;                   // The same.
  std::vector<int64_t> free_before_trial_;  // In debug builds.
  TopologyCounts counts_before_trial_;      // The same.
  std::vector<Move> moves_;
  std::vector<PodId> came_;
  std::vector<PodId> pods_;
  // The pods that were on the ghost and are counted by some table, in chains by family.
  struct GhostPod {
    PodShapeId shape;
    FamilyId family;
    uint32_t next;  // Of the family; kNoGhostPod: none.
  };
  struct GhostFamily {
    uint32_t trial = 0;  // The last trial whose ghost had pods of the family.
    uint32_t first;      // Of these.
    bool is_uncounted;   // They are off the tables.
  };
  static constexpr uint32_t kNoGhostPod = ~uint32_t{0};
  std::vector<GhostPod> ghost_pods_;
  std::vector<GhostFamily> ghost_families_;  // By FamilyId.
  uint32_t trial_ = 0;                       // The number of the last one.
  bool in_use_ = false;
};

class Simulation {
 public:
  // Every node may take pods.  REQUIRES: the snapshot has no ghost.
  Simulation(ClusterSnapshot& snapshot, SimulationMemory& memory);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // The cluster as it is now, but for pods that stay unplaced: those that a trial put
  // somewhere are on no node, yet the room they take is not free, and they are counted.
  [[nodiscard]] const ClusterSnapshot& snapshot() const { return snapshot_; }
  // The search for nodes.
  [[nodiscard]] PodScan& scan() { return scan_; }

  // The nodes that may take pods from here on.  REQUIRES: no trial is open.
  void SetDestinations(const NodeSet& destinations);

  // The pods that are on the node now: its own, in the snapshot's order, then those that
  // trials put there, in the order in which they came.  Valid until the next call.
  // REQUIRES: no trial is open.
  [[nodiscard]] std::span<const PodId> PodsOn(NodeId node);
  // Calls `visit` with each pod that trials put on the node, in unspecified order.
  template <typename Visit>
  void ForEachGuest(NodeId node, Visit&& visit) const {
    guests_.ForEach(node, visit);
  }
  // Starts loading what Put to the node, if there is one, will touch.
  void PrefetchPut(NodeId node) const { guests_.Prefetch(node); }

  // The pods that scan() is asked about, and that are put, from here on are of `shape`.
  // REQUIRES: to be called again when a trial has begun.
  void BeginRun(PodShapeId shape) {
    if (is_ghost_counted_) UncountGhost(scan_.RowOf(shape).family);
    scan_.BeginRun(shape);
  }

  // Puts the pod on the node.  In a trial it is undone with the trial; without one, which
  // is before the first, it stays to the end of the simulation.
  // REQUIRES: the pod is on no node, BeginRun was called with its shape, and FindNode or
  // Fits just said yes to the node.
  void Put(PodId pod, NodeId node) {
    EBB_DCHECK(scan_.JustFitted(pod, node) && AsksOnlyUncounted(pod));
    if (in_trial_) [[likely]] {
      scan_.Place(pod, node);
      guests_.Add(pod, node);
    } else {
      EBB_DCHECK(!had_trial_);
      snapshot_.AddPod(pod, node);
    }
    moves_.push_back({pod, node});
  }
  // What was put since the trial that is open, or was the last, began; before the first
  // trial: since the simulation did.
  [[nodiscard]] const std::vector<Move>& moves() const { return moves_; }

 private:
  friend class Trial;

  void BeginTrial(NodeId node);
  void CommitTrial();
  void RevertTrial();
  // Counters see no pod on a ghost.  But taking all of its pods off all tables, and giving them
  // back where one finds no place, is most of what a failed trial would cost.  So a pod is taken
  // off the tables when the first pod of its family looks for a node: until then nobody asks
  // what these tables count (PodShape::family).  Of tables by node nobody asks at all: a ghost
  // takes no pods, and nodes that went do not come back before the end of the simulation, which
  // restores all counts.
  void ListGhostPods(NodeId node);
  void UncountGhost(FamilyId id) {
    if (id == kNoFamily) return;
    SimulationMemory::GhostFamily& family = memory_.ghost_families_[Index(id)];
    if (family.trial != memory_.trial_ || family.is_uncounted) return;
    CountOnGhost(family.first, -1);
    family.is_uncounted = true;
  }
  // A pod that was on the ghost, and those that follow it in its family.
  void CountOnGhost(uint32_t pod, int sign);
  // Whether no table that is asked for the pod counts one on the ghost, tables by node apart:
  // for assertions.
  [[nodiscard]] bool AsksOnlyUncounted(PodId pod) const;

  ClusterSnapshot& snapshot_;
  SimulationMemory& memory_;
  PodScan& scan_;
  Guests& guests_;
  std::vector<Move>& moves_;
  const size_t depth_;     // Of the snapshot's forks, outside trials.
  const uint64_t state_;   // Of the snapshot, before the simulation.
  const bool is_counted_;  // There are tables.
  bool in_trial_ = false;
  bool is_ghost_counted_ = false;  // In a trial, and there are tables.
  bool had_trial_ = false;
};

class Trial {
 public:
  // The node becomes the ghost.  REQUIRES: it is in the cluster, and no other trial of
  // the simulation is open.
  Trial(Simulation& simulation, NodeId node) : simulation_(simulation) {
    simulation_.BeginTrial(node);
  }
  ~Trial() {
    if (!committed_) simulation_.RevertTrial();
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Keeps what was put, and takes the node out with all that is still on it: DaemonSet
  // pods and the like.  REQUIRES: not committed yet.
  void Commit() {
    EBB_CHECK(!committed_);
    committed_ = true;
    simulation_.CommitTrial();
  }

 private:
  Simulation& simulation_;
  bool committed_ = false;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_TRIAL_H_
