// Placement finds nodes for a list of pods, one pod after the other.
//
// PodOrder::kByPriority: pods are placed by priority, highest first, in their given order within
// one priority.  Within a priority, the pods that fit on the node of their hint are placed first;
// then the others search from the scan's pointer.  PodOrder::kAsListed: pods are placed in their
// given order, each by its hint or else by a search.
//
// With OnFailure::kGoOn, after a pod has found no node, later pods that are alike are not tried in
// the same attempt.  Pods are alike if they have the same controller, equal labels and an equal
// spec (PodShape::spec_digest; where it was not computed, the same shape).  At most ten kinds of
// pods are remembered for each controller, and no pods of DaemonSets.
//
// Cost:      a search (pod_scan.h) for each pod that does not fit on the node of its hint;
//            kByPriority also sorts the pods.
// Threads:   not thread-safe.
// Ownership: borrows the pass fork and the hints.
// Source:    cluster-autoscaler simulator/scheduling/hinting_simulator.go, similar_pods.go.

#ifndef EBB_ENGINE_PASS_PLACEMENT_H_
#define EBB_ENGINE_PASS_PLACEMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/deadline.h"
#include "engine/pass/hints.h"
#include "engine/pass/pass_fork.h"
#include "engine/pass/pod_scan.h"
#include "engine/plan/pass_input.h"

namespace ebb {

enum class OnFailure {
  // The first pod without a node ends its priority group; pods of lower priority still try, which
  // moves hints and the pointer, as in the autoscaler.  With kAsListed all pods are one group.
  kStopGroup,
  kGoOn,
};

class Placement {
 public:
  Placement(PassFork& fork, Hints& hints, PodOrder pod_order)
      : fork_(fork),
        catalog_(fork.snapshot().catalog()),
        scan_(fork.scan()),
        hints_(hints),
        pod_order_(pod_order) {}

  struct Result {
    PodId first_failed = kNoPod;
    bool gave_up = false;  // Time ran out; some pods may not have been tried.
  };

  // Places as many of `pods` as possible; they must be on no node.  Appends the placed pods to the
  // pass fork's moves in the order in which they were placed; whether a later pod fits may depend
  // on the earlier ones.  `deadline` may be null; it is checked before searches.
  Result TryPlace(std::span<const PodId> pods, OnFailure on_failure, const Deadline* deadline);

 private:
  Result PlaceByPriority(std::span<const PodId> pods, OnFailure on_failure,
                         const Deadline* deadline);
  Result PlaceAsListed(std::span<const PodId> pods, OnFailure on_failure, const Deadline* deadline);
  // Sorts by priority and fills groups_.
  std::span<const PodId> GroupByPriority(std::span<const PodId> pods);
  void CutIntoGroups(std::span<const PodId> pods);
  bool PlaceByHint(PodId pod);
  bool PlaceByScan(PodId pod);
  size_t PlaceNext(std::span<const PodId> pods, PodShapeId shape, const Deadline* deadline);
  [[nodiscard]] bool AreAlike(PodShapeId a, PodShapeId b) const;
  [[nodiscard]] bool IsHopeless(PodShapeId shape) const;
  void NoteHopeless(PodShapeId shape);
  void Put(PodId pod, NodeId node);
  bool OutOfTime(const Deadline& deadline);

  PassFork& fork_;
  const Catalog& catalog_;
  PodScan& scan_;
  Hints& hints_;
  const PodOrder pod_order_;
  uint64_t next_check_ = 0;  // The number of evaluations at which the deadline is checked next.

  // Reused.
  std::vector<PodId> order_;    // Pods by priority, if `pods` are not sorted already.
  std::vector<size_t> groups_;  // The end of each priority group.
  std::vector<PodId> leftovers_;
  // For this attempt: the shapes of pods that found no node, by the UID of their controller.
  absl::flat_hash_map<TextId, std::vector<PodShapeId>> hopeless_;
  bool goes_on_ = false;  // OnFailure::kGoOn; else hopeless_ is not filled.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PLACEMENT_H_
