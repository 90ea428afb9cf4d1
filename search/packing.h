// Packing: a final state of the cluster: which nodes are removed, and where their pods end.  A
// search (search.h) removes nodes and puts them back.
//
// A plan is a sequence of removals, and a pod may move twice in it.  A packing has no sequence:
// each pod of a removed node is on a node that stays and has moved there once.  That is easier to
// improve, because any node can be put back, whenever it was removed.  To become a plan, a packing
// is passed to the planner as an order of candidates and as suggested nodes for pods; the planner
// makes a plan by its own rules (MakePlan, PlanRequest::suggestions).
//
// Guaranteed: room and every filter (predicates/filters.h) at the moment at which a pod was placed;
// budgets, which each pod that needs them uses once, by the rules of PdbTracker; shares of
// workloads; quotas of groups; atomic groups are removed as a whole.  Not guaranteed: that each
// filter passes again in the order of the plan.  Topology filters may fail then, and the planner
// searches another node.
//
// Units:     worth as in PackingUnit; requests as in ClusterSnapshot.
// Cost:      Remove O(pods of the node * nodes) at worst; PutBack O(pods that were on it); a copy
//            O(nodes + pages of the snapshot).
// Threads:   not thread-safe; different copies may be used by different threads.
// Ownership: borrows the problem.

#ifndef EBB_SEARCH_PACKING_H_
#define EBB_SEARCH_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// What the removal of a unit (below) uses of a budget of disruptions.  Such a budget is a
// PodDisruptionBudget, or the pods of a workload that may be evicted (workloads.h).
//
// Some drainability rules let a pod be moved although its budgets are used up, for example if it is
// annotated as safe to evict.  A unit with only such pods of a budget needs nothing of it, and has
// no spend of it.  The planner still subtracts its pods from the budget.  So a plan must remove the
// unit after the units that need the budget (PackingUnit::goes_late).
struct PackingSpend {
  uint32_t budget = 0;  // Index in PackingProblem::budgets.
  int32_t pods = 0;
  int32_t least = 1;  // What the budget must have left before: 1, or `pods`.
};

// What is removed as a whole: a node, or all nodes of an atomic group.
struct PackingUnit {
  std::vector<NodeId> nodes;
  GroupId group{};
  int64_t worth = 1;  // The worth of its removal; above 0.
  double size = 0;    // What its nodes offer, relative to an average node.
  double load = 0;    // What its pods that must move request, in the same unit.
  size_t pods = 0;    // The number of pods that must move.
  std::vector<PackingSpend> spends;
  // Some pods use budgets that the unit does not need.
  bool goes_late = false;
};

// The nodes that may be removed and what that would move.  Nodes whose pods cannot be moved in any
// plan are left out.  Constant while packings use it.
struct PackingProblem {
  std::vector<PackingUnit> units;
  std::vector<int64_t> quotas;  // By GroupId.
  NodeSet open;                 // Nodes that may take pods.
  std::vector<NodeId> home;     // By PodId: the pod's node at first; kNoNode: none.
  // By NodeId, for nodes of units: the pods that must move, and the pods that go with the node.
  std::vector<std::vector<PodId>> movers;
  std::vector<std::vector<PodId>> others;
  std::vector<double> share;  // By ResourceId: 1 / (amount that an average node offers).
  // Allowed disruptions: by PdbId, followed by those of workloads if their evictions are limited to
  // a share.
  std::vector<int32_t> budgets;
  std::vector<std::vector<uint32_t>> budget_users;  // By budget: the units with pods of it.

  // The units are the nodes of `candidates` that eligibility and the drainability rules allow to be
  // removed.  `worth`: by NodeId; empty: each node is worth 1; a node without worth is not in a
  // unit.  `running`: the cluster before pending pods were placed.  Uses only these parts of the
  // request: the planner's options, the destinations, the time, the share of workloads and the
  // evictions under way.
  PackingProblem(const ClusterSnapshot& snapshot, const ClusterSnapshot& running,
                 const NodeGroups& groups, const PlanRequest& request,
                 std::span<const NodeId> candidates, std::span<const int64_t> worth);

 private:
  void FindSpends(const ClusterSnapshot& running, const NodeGroups& groups,
                  const PlanRequest& request);
  // What a unit takes of a budget.
  struct Spent {
    int32_t pods = 0;
    bool is_needed = false;  // Some pod stays if the budget is used up.
    void Add(bool needs) {
      ++pods;
      is_needed = is_needed || needs;
    }
  };
  using SpentByBudget = std::map<uint32_t, Spent>;
  void SetSpends(uint32_t unit, uint32_t pdb_count, const SpentByBudget& spent);
};

class Packing {
 public:
  // Initially nothing is removed.  REQUIRES: no fork of the snapshot is open.
  Packing(const ClusterSnapshot& snapshot, const PackingProblem& problem);

  [[nodiscard]] bool IsRemoved(size_t unit) const { return removed_[unit]; }
  // The cluster in its final state.
  [[nodiscard]] const ClusterSnapshot& snapshot() const { return snapshot_; }
  // Removed units, in the order of their removal.
  [[nodiscard]] const std::vector<uint32_t>& removed() const { return order_; }
  [[nodiscard]] int64_t worth() const { return worth_; }

  // Sets `spent` to the budgets that have too little left for the removal of the unit.
  void SpentBudgets(size_t unit, std::vector<uint32_t>& spent) const;

  // Remove puts each pod on the fullest node that takes it.  After this call the unit's nodes count
  // as having this much more room than they have, in units of average nodes, so that pods prefer
  // other nodes.  Used for units that are to be removed later.
  void SetBias(size_t unit, double nodes);

  // Returns false and changes nothing if a budget, a quota or room is missing.
  // REQUIRES: the unit is not removed.
  bool Remove(size_t unit);
  // Puts the unit and its pods back where they were at first.  REQUIRES: the unit is removed.
  void PutBack(size_t unit);

  // Commit keeps and Revert undoes the changes since Begin.  Not nested.
  void Begin();
  void Commit();
  void Revert();

  // The nodes where the pods of removed units are, in the order of removed().
  [[nodiscard]] std::vector<Move> Places() const;

 private:
  bool Empty(NodeId node);
  NodeId Fullest(PodShapeId id);
  const NodeSet& StaticsOf(PodShapeId id, const PodShape& shape);
  void Touch(NodeId node);
  void Renew(NodeId node);
  void SetRoom(NodeId node, double room);
  void Note(size_t unit, bool gone);

  const PackingProblem* problem_;
  ClusterSnapshot snapshot_;
  std::vector<bool> removed_;    // By unit.
  std::vector<uint32_t> order_;  // Removed units.
  std::vector<int64_t> group_removed_;
  std::vector<int32_t> budgets_;
  int64_t worth_ = 0;
  std::vector<double> bias_;  // By NodeId.
  // By NodeId: free amounts, in shares, plus the bias; infinite for removed nodes.
  std::vector<double> room_;
  std::vector<NodeId> by_room_;  // All nodes, the fullest first; of equal ones in order of ids.
  // By NodeId: whether some free amount is below 0; and how many nodes have one.
  std::vector<bool> is_overcommitted_;
  size_t overcommitted_ = 0;
  std::vector<NodeId> touched_;                  // Nodes changed since Begin.
  std::vector<std::optional<NodeSet>> statics_;  // StaticNodes, by StaticClassOf.
  std::vector<PodId> moving_;                    // This and the next are reused.
  std::vector<uint32_t> spent_;

  struct Saved {
    std::vector<bool> removed;
    std::vector<uint32_t> order;
    std::vector<int64_t> group_removed;
    std::vector<int32_t> budgets;
    int64_t worth = 0;
  };
  Saved saved_;  // The state at Begin.
};

}  // namespace ebb

#endif  // EBB_SEARCH_PACKING_H_
