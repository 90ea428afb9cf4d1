// DeletionsUnderWay prepares a plan for a cluster in which some nodes are already being deleted.
//
//   const DeletionsUnderWay deletions(snapshot, pending, request);
//   absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, request);
//
// MakePlan and every search for plans do this themselves (BesideDeletions).  A caller makes a
// DeletionsUnderWay only if it also uses the changed snapshot and request afterwards, for a report,
// or to answer several questions for the cost of one preparation.
//
// Without this preparation a plan would treat the pods of such nodes as pods that stay.  It would
// give away the room and the disruptions that these pods are about to need, and it might move pods
// to a node that is being deleted.  So, as in a round:
// - The pods that must leave these nodes (PodsToReplace) get room before any other node is tried.
//   If one of them finds none, no node is tried.
// - Their PodDisruptionBudgets are charged for them.
// - No pod is placed on these nodes.  They are kept, with the reason kCurrentlyBeingDeleted.
//
// Cost:      O(nodes + pods of nodes in deletion).
// Threads:   not thread-safe.
// Ownership: the request borrows this object and `pending`, which must both outlive it.

#ifndef EBB_ENGINE_DELETIONS_UNDER_WAY_H_
#define EBB_ENGINE_DELETIONS_UNDER_WAY_H_

#include <optional>
#include <vector>

#include "engine/plan/plan_request.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class DeletionsUnderWay {
 public:
  // Finds the nodes that are being deleted at the request's time, by an autoscaler (IsBeingDeleted)
  // or by something else (IsLeaving).  Takes the pods that must move off them, puts these pods
  // before `pending`, and makes `pending` the request's pending pods.  Fills in `in_deletion`,
  // `evicting`, `evicted_from` and `must_fit` of the request, and takes the nodes out of its
  // destinations.
  DeletionsUnderWay(ClusterSnapshot& snapshot, std::vector<PodId>& pending, PlanRequest& request);
  DeletionsUnderWay(const DeletionsUnderWay&) = delete;
  DeletionsUnderWay& operator=(const DeletionsUnderWay&) = delete;

  // Whether nodes are being deleted and the request leaves them to the planner, so that a
  // DeletionsUnderWay is needed.
  static bool AreDue(const ClusterSnapshot& snapshot, const PlanRequest& request);

 private:
  std::vector<NodeId> nodes_;
  std::vector<PodId> displaced_;
  std::vector<NodeId> displaced_from_;  // By place in displaced_: the node that the pod leaves.
  std::optional<NodeSet> destinations_;
};

// Returns plan(snapshot, request).  If nodes are being deleted, `plan` is called with a branch of
// the snapshot and a request that DeletionsUnderWay has prepared.
template <typename Snapshot, typename Plan>
auto BesideDeletions(Snapshot& snapshot, const PlanRequest& request, const Plan& plan) {
  if (!DeletionsUnderWay::AreDue(snapshot, request)) return plan(snapshot, request);
  ClusterSnapshot branch(snapshot);
  std::vector<PodId> pending(request.pass.pending.begin(), request.pass.pending.end());
  PlanRequest asked = request;
  const DeletionsUnderWay deletions(branch, pending, asked);
  return plan(branch, asked);
}

}  // namespace ebb

#endif  // EBB_ENGINE_DELETIONS_UNDER_WAY_H_
