// DeletionsUnderWay: a plan for a cluster of which nodes are being deleted already.
//
//   const DeletionsUnderWay deletions(snapshot, pending, request);
//   absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, request);
//
// MakePlan and all that searches for plans do this by themselves (BesideDeletions).  A caller does
// it where it goes on with what the plan is of: to report it, or to ask several questions at the
// cost of one.
//
// Otherwise a plan takes pods of those nodes for pods that stay, gives away the room and the
// disruptions that they are about to need, and may put pods on a node that goes.  So, as in a
// round, the pods that must move off them (PodsToReplace) need room before any other node goes;
// where they find none, no node is judged.  Their budgets are spent.  Nothing lands on those
// nodes, which are kept as kCurrentlyBeingDeleted.
//
// Cost:      O(nodes + pods of nodes in deletion).
// Threads:   none.
// Ownership: the request borrows it, and `pending`.

#ifndef EBB_ENGINE_DELETIONS_UNDER_WAY_H_
#define EBB_ENGINE_DELETIONS_UNDER_WAY_H_

#include <optional>
#include <vector>

#include "engine/plan/plan_request.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class DeletionsUnderWay {
 public:
  // Takes the pods that must move off the nodes that are being deleted at the request's time, by
  // an autoscaler (IsBeingDeleted) or by something else (IsLeaving), puts them before `pending`,
  // which become the request's pending pods, and tells the request of them.  Of destinations that
  // it has those in deletion are taken away.
  DeletionsUnderWay(ClusterSnapshot& snapshot, std::vector<PodId>& pending, PlanRequest& request);
  DeletionsUnderWay(const DeletionsUnderWay&) = delete;
  DeletionsUnderWay& operator=(const DeletionsUnderWay&) = delete;

  // Whether the request leaves a node in deletion to the planner, and so needs one of these.
  static bool AreDue(const ClusterSnapshot& snapshot, const PlanRequest& request);

 private:
  std::vector<NodeId> nodes_;
  std::vector<PodId> displaced_;
  std::vector<NodeId> displaced_from_;  // The node of each.
  std::optional<NodeSet> destinations_;
};

// Returns plan(snapshot, request): of what is handed in, or where deletions are due, of a branch of
// the snapshot beside them.
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
