// PassReplay repeats a finished plan, one removal after the other, to show the cluster as it was
// when a node had its turn.
//
//   PassReplay replay(context);
//   replay.GoTo(node);
//   const auto pods = replay.snapshot().PodsOn(node);  // At its turn.
//
// Only a plan over a dump can be replayed, because a round starts from a cluster that the report
// does not contain.
//
// Cost:      a copy of the snapshot; each removal is carried out once.
// Threads:   none.
// Ownership: borrows all that `context` points to.

#ifndef EBB_REPORT_PASS_REPLAY_H_
#define EBB_REPORT_PASS_REPLAY_H_

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/check.h"
#include "predicates/pdb_tracker.h"
#include "report/plan_report.h"

namespace ebb {

class PassReplay {
 public:
  // Starts where the pass did: pending pods are placed, evictions under way have used up
  // disruptions of their budgets, and no node is removed.
  explicit PassReplay(const PlanContext& context);

  // Whether the pass tried the node: the node goes, or it was kept for a reason found at its turn.
  // Other nodes were judged before the first removal.
  [[nodiscard]] bool HadTurn(const UnremovableNode& why) const;
  [[nodiscard]] bool IsCandidate(NodeId node) const { return turn_[Index(node)] != kNever; }
  // A smaller number is an earlier turn.  REQUIRES: IsCandidate.
  [[nodiscard]] size_t TurnOf(NodeId node) const {
    EBB_DCHECK(IsCandidate(node));
    return turn_[Index(node)];
  }

  // Advances to the node's turn.  REQUIRES: IsCandidate(node), and no call for a node with a later
  // turn came before.
  void GoTo(NodeId node);

  [[nodiscard]] ClusterSnapshot& snapshot() { return snapshot_; }
  // Remaining disruptions, as the pass counts them.
  [[nodiscard]] const PdbTracker& budgets() const { return pdbs_; }
  // Nodes that changed, in the order of the changes.  It only grows, so a reader that remembers the
  // size finds the new entries.
  [[nodiscard]] const std::vector<NodeId>& changed() const { return changed_; }

  // The node that the pod ran on before the plan, if the plan moved it to its present node; else
  // kNoNode.
  [[nodiscard]] NodeId CameFrom(PodId pod) const;
  // Whether the plan has moved pods to the node so far.
  [[nodiscard]] bool HasGuests(NodeId node) const { return has_guests_.Contains(node); }

  // The disruptions of a budget that the plan needs so far, per node that needs them, in the order
  // of removal.  A pod is evicted once, from the node that it ran on before the plan. budgets(),
  // like the pass, counts it again on each node that it passes through.
  struct Spent {
    NodeId node;
    int32_t disruptions;
  };
  [[nodiscard]] std::span<const Spent> SpentOf(PdbId pdb) const;
  // How many disruptions the pass had counted so far.
  [[nodiscard]] int32_t CountedOf(PdbId pdb) const {
    return pdbs_at_start_.remaining(pdb) - pdbs_.remaining(pdb);
  }

  // The utilization of the node now, as the pass would compute it.
  [[nodiscard]] std::optional<Utilization> UtilizationOf(NodeId node) const;

 private:
  static constexpr size_t kNever = ~size_t{0};

  void CarryOut(const RemovableNode& removal);

  const PlanContext& context_;
  std::vector<size_t> turn_;  // By NodeId.
  ClusterSnapshot snapshot_;
  PdbTracker pdbs_at_start_;
  PdbTracker pdbs_;
  NodeSet has_guests_;
  std::vector<NodeId> changed_;
  std::map<uint32_t, std::vector<Spent>> spent_;  // By PdbId.
  size_t next_ = 0;                               // Index into plan.remove.
};

}  // namespace ebb

#endif  // EBB_REPORT_PASS_REPLAY_H_
