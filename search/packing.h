// Packing: which nodes of a cluster are gone, and where their pods are, as it would be when all
// of it is done.  A search (search.h) takes nodes out and puts them back.
//
// A plan is a sequence of removals, and a pod may move twice in it.  A packing has no sequence:
// each pod of a node that is gone is on a node that stays, and moved there once.  That is easier
// to improve: any node can come back, whenever it went.  What a packing found is handed to the
// planner as an order of candidates and places to look at first; the planner makes a plan of it
// by its own rules (MakePlan, PlanRequest::suggestions).
//
// Held here: the room and every filter (predicates/filters.h) at the moment at which a pod comes
// to a node; budgets, which each pod spends once, as PdbTracker says; shares of workloads; quotas
// of groups; that atomic groups go whole.  Not held: that each filter says yes again in the order
// of the plan.  Topology may then say no, and the planner looks elsewhere.
//
// Units:     worth as PackingUnit says; requests as ClusterSnapshot.
// Cost:      Remove O(pods of the node * nodes) at worst; PutBack O(pods that were on it); a copy
//            O(nodes + pages of the snapshot).
// Threads:   none; different copies may be used by different threads.
// Ownership: borrows the problem.

#ifndef EBB_SEARCH_PACKING_H_
#define EBB_SEARCH_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// What removing a unit takes of a budget of disruptions: of a PodDisruptionBudget, or of what may
// be evicted of a workload (workloads.h).
struct PackingSpend {
  uint32_t budget = 0;  // Index in PackingProblem::budgets.
  int32_t pods = 0;
  int32_t least = 1;  // That must be left before: 1, or all that it takes.
};

// What goes or stays as one: a node, or all nodes of an atomic group.
struct PackingUnit {
  std::vector<NodeId> nodes;
  GroupId group{};
  int64_t worth = 1;  // Of its removal; above 0.
  double size = 0;    // What its nodes offer, in shares of what an average node does.
  double load = 0;    // What its pods that must move request, the same.
  size_t pods = 0;    // That must move.
  std::vector<PackingSpend> spends;
};

// What may be removed, and what that would move.  Nodes whose pods may not be moved, whatever the
// plan, are not in it.  Not changed while packings use it.
struct PackingProblem {
  std::vector<PackingUnit> units;
  std::vector<int64_t> quotas;             // By GroupId.
  NodeSet open;                            // Nodes that may take pods.
  std::vector<NodeId> home;                // By PodId: where it is at first; kNoNode: nowhere.
  std::vector<std::vector<PodId>> movers;  // By NodeId: of units, the pods that must move,
  std::vector<std::vector<PodId>> others;  // and those that go with the node.
  std::vector<double> share;               // By ResourceId: one over what an average node offers.
  // Disruptions allowed: by PdbId, and behind them by workload, where a share of it may go at most.
  std::vector<int32_t> budgets;
  std::vector<std::vector<uint32_t>> budget_users;  // By budget: units with pods of it.

  // The units are those of `candidates` that eligibility and rules let go.  `worth`: by NodeId,
  // empty: each node counts 1; nodes of no worth are no units.  `running`: the cluster before
  // pending pods found room; of the request the planner's options, destinations, time, share and
  // evictions under way.
  PackingProblem(const ClusterSnapshot& snapshot, const ClusterSnapshot& running,
                 const NodeGroups& groups, const PlanRequest& request,
                 std::span<const NodeId> candidates, std::span<const int64_t> worth);

 private:
  void FindSpends(const ClusterSnapshot& running, const PlanRequest& request);
};

class Packing {
 public:
  // Nothing is removed.  REQUIRES: no fork of the snapshot is open.
  Packing(const ClusterSnapshot& snapshot, const PackingProblem& problem);

  [[nodiscard]] bool IsRemoved(size_t unit) const { return removed_[unit]; }
  // The cluster as it would be.
  [[nodiscard]] const ClusterSnapshot& snapshot() const { return snapshot_; }
  // Units, in the order in which they went.
  [[nodiscard]] const std::vector<uint32_t>& removed() const { return order_; }
  [[nodiscard]] int64_t worth() const { return worth_; }

  // The budgets that have too little left for the unit.
  void SpentBudgets(size_t unit, std::vector<uint32_t>& spent) const;

  // Pods are put on the nodes that are fullest; a node of this unit counts as having so much more
  // room, in nodes, than it has.  For units that are to be removed later.
  void SetBias(size_t unit, double nodes);

  // False, and nothing changed: a budget, a quota or room is missing.  REQUIRES: it is there.
  bool Remove(size_t unit);
  // Its pods are where they were at first.  REQUIRES: it is removed.
  void PutBack(size_t unit);

  // Everything since Begin is kept, or undone.  Not nested.
  void Begin();
  void Commit();
  void Revert();

  // Where the pods of removed units are, unit by unit as removed().
  [[nodiscard]] std::vector<Move> Places() const;

 private:
  bool Empty(NodeId node);
  NodeId Fullest(PodShapeId id);
  const NodeSet& StaticsOf(PodShapeId id, const PodShape& shape);
  void Touch(NodeId node);
  void Renew(NodeId node);
  void Note(size_t unit, bool gone);

  const PackingProblem* problem_;
  ClusterSnapshot snapshot_;
  std::vector<bool> removed_;    // By unit.
  std::vector<uint32_t> order_;  // Removed units.
  std::vector<int64_t> group_removed_;
  std::vector<int32_t> budgets_;
  int64_t worth_ = 0;
  std::vector<double> bias_;     // By NodeId.
  std::vector<double> room_;     // By NodeId: what is free, in shares, and the bias.
  std::vector<NodeId> touched_;  // Since Begin.
  std::vector<std::optional<NodeSet>> statics_;  // StaticNodes, by StaticClassOf.
  std::vector<PodId> moving_;                    // Reused, and so is the next.
  std::vector<uint32_t> spent_;

  struct Saved {
    std::vector<bool> removed;
    std::vector<uint32_t> order;
    std::vector<int64_t> group_removed;
    std::vector<int32_t> budgets;
    int64_t worth = 0;
  };
  Saved saved_;  // At Begin.
};

}  // namespace ebb

#endif  // EBB_SEARCH_PACKING_H_
