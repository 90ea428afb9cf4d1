// PassReplay goes through a finished plan removal by removal, to show the cluster as it
// was when a node had its turn.
//
//   PassReplay replay(context);
//   replay.GoTo(node);
//   const auto pods = replay.snapshot().PodsOn(node);  // At its turn.
//
// Only a plan over a dump can be replayed: a round starts from a cluster that the report
// does not know.
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

#include "predicates/pdb_tracker.h"
#include "report/plan_report.h"

namespace ebb {

class PassReplay {
 public:
  // Starts where the pass did: pending pods have found their room, evictions under way have spent
  // their budgets, every node is there.
  explicit PassReplay(const PlanContext& context);

  // Whether the node was tried: it goes, or was kept for what was found at its turn.
  // Others were judged before the first removal.
  [[nodiscard]] bool HadTurn(const UnremovableNode& why) const;
  [[nodiscard]] bool IsCandidate(NodeId node) const { return turn_[Index(node)] != kNever; }
  // A smaller number is an earlier turn.  REQUIRES: IsCandidate.
  [[nodiscard]] size_t TurnOf(NodeId node) const { return turn_[Index(node)]; }

  // Goes on to the node's turn.  REQUIRES: IsCandidate, and no node of a later turn came
  // before.
  void GoTo(NodeId node);

  [[nodiscard]] ClusterSnapshot& snapshot() { return snapshot_; }
  // As the pass counts.
  [[nodiscard]] const PdbTracker& budgets() const { return pdbs_; }
  // Nodes of which something changed, in the order in which it did: a reader that
  // remembers how far it came knows what is new.
  [[nodiscard]] const std::vector<NodeId>& changed() const { return changed_; }

  // The node that the pod ran on before the plan, if the plan brought it to where it is
  // now; else kNoNode.
  [[nodiscard]] NodeId CameFrom(PodId pod) const;
  // Whether pods came to the node so far.
  [[nodiscard]] bool HasGuests(NodeId node) const { return has_guests_.Contains(node); }

  // Disruptions of the budget that the plan needs so far, by the node that they are needed
  // for, in the order of removal.  A pod is evicted once, from the node that it ran on before the
  // plan; budgets() counts it again on each node that it passes through, as the pass does.
  struct Spent {
    NodeId node;
    int32_t disruptions;
  };
  [[nodiscard]] std::span<const Spent> SpentOf(PdbId pdb) const;
  // How many the pass had counted by now.
  [[nodiscard]] int32_t CountedOf(PdbId pdb) const {
    return pdbs_at_start_.remaining(pdb) - pdbs_.remaining(pdb);
  }

  // The utilization of the node now, as the pass would have worked it out.
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
  size_t next_ = 0;                               // In plan.remove.
};

}  // namespace ebb

#endif  // EBB_REPORT_PASS_REPLAY_H_
