// Planner: one pass of scale-down planning, and the memory that passes share.
//
//   Planner planner(options);
//   absl::StatusOr<Plan> plan = planner.Pass(snapshot, groups, input);
//
// A pass is a step of MakePlan (make_plan.h) and of a round (round.h), which also keep the limits
// of groups and verify the plan.  A program that wants a plan should start with MakePlan.
//
// A pass tries the candidates in order.  For each eligible one:
//   1. Drainability rules and budgets say which pods must move.
//   2. The snapshot is forked, and the node becomes a ghost: tainted, without pods, but still a
//      topology domain.
//   3. Each pod first tries its hint, the node on which an earlier pass placed it.  If the pod does
//      not fit there, it searches the nodes in a circle from the pointer, at which the last search
//      ended.
//   4. If all pods are placed, the fork is committed and the node is removed.  Otherwise the fork
//      is reverted.
// At the end of a pass the snapshot is as it was before.
//
// Memory between passes: the destination hints (a hint that is not renewed is kept for one more
// pass), the pointer of the scan, and the cache of unremovable nodes with their reasons.  The
// memory is kept by name and UID, so that it survives a new snapshot with the same Symbols.
//
// Equal input gives equal plans.  No clock is read; `input.deadline` says whether time is up.
//
// Errors:    InvalidArgument as check_input.h says, before anything is changed.
// Cost:      nearly linear in the number of pods that move.  The search of a pod visits nodes/64
//            words at worst; nodes that were ruled out for equal pods are not tested again
//            (pod_scan.h).  A pass also costs O(nodes * resources).  A pass that returns the
//            previous plan again (settled_pass.h) costs only O(nodes + that plan).
// Threads:   not thread-safe.
// Ownership: borrows the snapshot, the groups and the input until Pass returns; keeps the catalog
//            of the last pass alive.
// Source:    cluster-autoscaler core/scaledown/planner, eligibility, simulator/cluster.go,
//            simulator/scheduling/hinting_simulator.go.

#ifndef EBB_ENGINE_PASS_PLANNER_H_
#define EBB_ENGINE_PASS_PLANNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "engine/pass/planner_memory.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class Planner {
 public:
  explicit Planner(PlannerOptions options);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The snapshot may have open forks but no ghost.  All snapshots of a planner share one Symbols;
  // after Restore it is the one given there.
  absl::StatusOr<Plan> Pass(ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const PassInput& input);

  // Sets destination hints as if an earlier pass had placed the pods so.
  // REQUIRES: pods and nodes belong to the snapshot's catalog, whose Symbols satisfies the
  // condition of Pass.
  void Suggest(const ClusterSnapshot& snapshot, std::span<const Move> places);

  // Continues from a plan that another planner has made of the same snapshot, as if the last pass
  // had made it: its last place of each pod is the pod's hint, and no removed node counts as
  // unremovable.
  void Adopt(const ClusterSnapshot& snapshot, const Plan& plan);

  // Forgets that the node could not be removed: the next pass tries it.
  void TryAgain(const Catalog& catalog, NodeId node);

  // How many passes returned the previous plan again because nothing had changed that a pass
  // depends on.  Such a pass only compares its input (settled_pass.h).
  [[nodiscard]] uint64_t repeated_passes() const;

  // The destination hint of a pod of the last pass's snapshot: the node on which a pass last
  // placed it, which the next pass tries first.  kNoNode: no hint.
  [[nodiscard]] NodeId Hint(PodId pod) const;

  // The earliest time after `now_s` at which a node of the last pass that could not be removed is
  // tried again.  nullopt: the next pass tries it.
  [[nodiscard]] std::optional<int64_t> TriedAgainAt(const Catalog& catalog, NodeId node,
                                                    int64_t now_s) const;

  // The memory between two passes.  A planner that restores the memory of another continues as the
  // other would have.  `symbols`: shared by all later snapshots.
  [[nodiscard]] PlannerMemory Save() const;
  void Restore(const PlannerMemory& memory, const std::shared_ptr<Symbols>& symbols);

  [[nodiscard]] const PlannerOptions& options() const { return options_; }

 private:
  struct Memory;

  const PlannerOptions options_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PLANNER_H_
