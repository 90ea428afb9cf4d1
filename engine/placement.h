// Placement finds nodes for a list of pods, one after the other, as one attempt.
//
// Pods are taken by priority, highest first, in their given order within one
// priority.  In each priority group the pods with a usable hint are placed first;
// then the rest search from the pointer.
//
// Threads: none.
// Source:  cluster-autoscaler simulator/scheduling/hinting_simulator.go.

#ifndef EBB_ENGINE_PLACEMENT_H_
#define EBB_ENGINE_PLACEMENT_H_

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/hints.h"
#include "engine/plan.h"
#include "engine/pod_scan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class OnFailure {
  kStopGroup,  // The first pod without a place ends its priority group; lower ones still try,
               // which moves hints and the pointer, as in the autoscaler.
  kGoOn,
};

class Placement {
 public:
  Placement(ClusterSnapshot& snapshot, PodScan& scan, Hints& hints)
      : snapshot_(snapshot), scan_(scan), hints_(hints) {}

  struct Result {
    PodId first_failed = kNoPod;
    bool gave_up = false;  // Time ran out; pods may be left untried.
  };

  // Places what can be placed in the snapshot.  `pods` are not placed.  `moves` is
  // filled with those that were, in the order in which they were: what a later one
  // was promised may rest on the earlier ones.  `out_of_time` is asked before each
  // search.
  Result TryPlace(std::span<const PodId> pods, OnFailure on_failure,
                  absl::FunctionRef<bool()> out_of_time, std::vector<Move>& moves);

 private:
  void SortByPriority(std::span<const PodId> pods);
  bool PlaceByHint(PodId pod, std::vector<Move>& moves);
  bool PlaceByScan(PodId pod, std::vector<Move>& moves);
  void Put(PodId pod, NodeId node, std::vector<Move>& moves);

  ClusterSnapshot& snapshot_;
  PodScan& scan_;
  Hints& hints_;

  // Reused.
  std::vector<PodId> order_;  // By priority.
  std::vector<PodId> leftovers_;
  // By PodShapeId: the attempt in which a pod of it, which has a controller, fitted
  // nowhere.  Shapes of two controllers differ.
  std::vector<uint32_t> hopeless_;
  uint32_t attempt_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLACEMENT_H_
