// DeletionsUnderWay: a plan for a cluster of which nodes are being deleted already.
//
//   const DeletionsUnderWay deletions(snapshot, pending, request);
//   absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, pending, request);
//
// Without it a plan takes pods of those nodes for pods that stay, gives away the room and the
// disruptions that they are about to need, and may put pods on a node that goes.  So, as in a
// round, the pods that must move off them (PodsToReplace) need room before any other node goes;
// where they find none, no node is judged.  Their budgets are spent.  Nothing lands on those
// nodes, which are kept as kCurrentlyBeingDeleted.
//
// Cost:      O(nodes + pods of nodes in deletion).
// Threads:   none.
// Ownership: the request borrows it.

#ifndef EBB_ENGINE_DELETIONS_UNDER_WAY_H_
#define EBB_ENGINE_DELETIONS_UNDER_WAY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/make_plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class DeletionsUnderWay {
 public:
  // Takes the pods that must move off the nodes that are being deleted at the request's time, by
  // an autoscaler (IsBeingDeleted) or by something else (IsLeaving), puts them before those that
  // are pending, and tells the request of them.  Of destinations that it has those in deletion are
  // taken away.
  DeletionsUnderWay(ClusterSnapshot& snapshot, std::vector<PodId>& pending, PlanRequest& request);
  DeletionsUnderWay(const DeletionsUnderWay&) = delete;
  DeletionsUnderWay& operator=(const DeletionsUnderWay&) = delete;

  // Whether there is a node in deletion: else the constructor changes nothing.
  static bool AnyOf(const ClusterSnapshot& snapshot, int64_t now_s);

 private:
  std::vector<NodeId> nodes_;
  std::vector<PodId> displaced_;
  std::vector<NodeId> displaced_from_;  // The node of each.
  std::optional<NodeSet> destinations_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_DELETIONS_UNDER_WAY_H_
