// PlanChange: a node that came into a plan or left it since the plan before.
// KeptReasons: why the last plan kept its nodes, from which a change gets its reason.
//
//   change = reasons.Came(catalog, node);        // Why the last plan kept the node.
//   reasons.Clear();
//   reasons.Add(catalog, plan.keep);             // From here on of this plan.
//   change = reasons.Left(symbols, name, node);  // Why this plan keeps the node.
//
// Plans (stable_planner.h) and rounds (round.h) that continue an earlier one report such changes.
//
// Cost:      Add O(kept nodes), the others O(1).
// Ownership: node names are ids of the Symbols of all snapshots.
// Threads:   not thread-safe.

#ifndef EBB_ENGINE_PLAN_PLAN_CHANGES_H_
#define EBB_ENGINE_PLAN_PLAN_CHANGES_H_

#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "engine/plan/plan.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

struct PlanChange {
  std::string name;
  NodeId node = kNoNode;  // kNoNode: it is not in the cluster.
  bool removes = false;   // True: the plan removes it, and the last plan did not.
  // Why.  `removes`: why the last plan kept the node; kNoReason: it did not judge it.  Otherwise:
  // why this plan keeps it; kNoReason: it is not in the cluster, or this plan did not reach it.
  UnremovableReason reason = UnremovableReason::kNoReason;
  BlockingPodReason blocking_reason = BlockingPodReason::kNoReason;
  // If this plan keeps the node: the pod that is the reason, or kNoPod.
  PodId pod = kNoPod;
};

class KeptReasons {
 public:
  // The change of a node that came into the plan.  REQUIRES: the reasons are the last plan's.
  [[nodiscard]] PlanChange Came(const Catalog& catalog, NodeId node) const;
  // The change of a node that left the plan.  `node`: kNoNode if it is not in the cluster.
  // REQUIRES: the reasons are this plan's.
  [[nodiscard]] PlanChange Left(const Symbols& symbols, TextId name, NodeId node) const;

  void Clear() { reasons_.clear(); }
  // If several lists name a node, its first reason counts.
  void Add(const Catalog& catalog, std::span<const UnremovableNode> kept);
  // From now on names are ids of `to`.
  void Follow(const Symbols& from, Symbols& to);

 private:
  struct Reason {
    UnremovableReason reason;
    BlockingPodReason blocking_reason;
    PodId pod;  // An id of the snapshot that Add was called with.
  };

  absl::flat_hash_map<TextId, Reason> reasons_;  // By the node's name.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_PLAN_CHANGES_H_
