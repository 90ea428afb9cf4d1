// Placement finds nodes for a list of pods, one after the other, as one attempt.
//
// Pods are taken by priority, highest first, in their given order within one
// priority.  In each priority group the pods with a usable hint are placed first;
// then the rest search from the pointer.  Or, in PodOrder::kAsListed, pods are taken in
// their given order, each by its hint or else by a search.
//
// Where a pod fitted nowhere, later pods that are alike are not tried in that attempt: those of
// the same controller with equal labels and an equal spec (PodShape::spec_digest; where that was
// not computed, of the same shape).  Ten kinds of pods a controller are remembered, and none of a
// DaemonSet.
//
// Threads: none.
// Source:  cluster-autoscaler simulator/scheduling/hinting_simulator.go, similar_pods.go.

#ifndef EBB_ENGINE_PASS_PLACEMENT_H_
#define EBB_ENGINE_PASS_PLACEMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/deadline.h"
#include "engine/pass/hints.h"
#include "engine/pass/pod_scan.h"
#include "engine/pass/trial.h"
#include "engine/plan/pass_input.h"

namespace ebb {

enum class OnFailure {
  kStopGroup,  // The first pod without a place ends its priority group; lower ones still try,
               // which moves hints and the pointer, as in the autoscaler.  As listed, all are one
               // group.
  kGoOn,
};

class Placement {
 public:
  Placement(Simulation& simulation, Hints& hints, PodOrder pod_order)
      : simulation_(simulation),
        catalog_(simulation.snapshot().catalog()),
        scan_(simulation.scan()),
        hints_(hints),
        pod_order_(pod_order) {}

  struct Result {
    PodId first_failed = kNoPod;
    bool gave_up = false;  // Time ran out; pods may be left untried.
  };

  // Places what can be placed.  `pods` are on no node.  The simulation's moves grow by
  // those that were placed, in the order in which they were: what a later one was promised
  // may rest on the earlier ones.  `deadline` may be null; it is looked at before searches.
  Result TryPlace(std::span<const PodId> pods, OnFailure on_failure, const Deadline* deadline);

 private:
  Result PlaceByPriority(std::span<const PodId> pods, OnFailure on_failure,
                         const Deadline* deadline);
  Result PlaceAsListed(std::span<const PodId> pods, OnFailure on_failure, const Deadline* deadline);
  // Sorts by priority; groups_ says where each priority ends.
  std::span<const PodId> GroupByPriority(std::span<const PodId> pods);
  void CutIntoGroups(std::span<const PodId> pods);
  bool PlaceByHint(PodId pod);
  bool PlaceByScan(PodId pod);
  [[nodiscard]] bool AreAlike(PodShapeId a, PodShapeId b) const;
  [[nodiscard]] bool IsHopeless(PodShapeId shape) const;
  void NoteHopeless(PodShapeId shape);
  void Put(PodId pod, NodeId node);
  bool OutOfTime(const Deadline& deadline);

  Simulation& simulation_;
  const Catalog& catalog_;
  PodScan& scan_;
  Hints& hints_;
  const PodOrder pod_order_;
  uint64_t next_check_ = 0;  // Of the deadline: so many evaluations.

  // Reused.
  std::vector<PodId> order_;    // Where pods do not come by priority.
  std::vector<size_t> groups_;  // Where each ends.
  std::vector<PodId> leftovers_;
  // Of this attempt: by a controller's UID, shapes of which a pod fitted nowhere.
  absl::flat_hash_map<TextId, std::vector<PodShapeId>> hopeless_;
  bool goes_on_ = false;  // OnFailure::kGoOn.  Else no pod is tried after one like it.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PLACEMENT_H_
