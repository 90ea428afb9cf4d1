// Planner: one pass of scale-down planning, and the memory that passes share.
//
//   Planner planner(options);
//   absl::StatusOr<Plan> plan = planner.Pass(snapshot, groups, input);
//
// This is a step of MakePlan (make_plan.h) and of a round (round.h), which also keep the
// limits of groups and verify the plan.  Programs that want a plan start there.
//
// A pass takes the candidates in order.  For each that is eligible: rules and
// budgets say which pods must move; fork; unschedule them; the node stays as a
// tainted ghost; each pod tries its destination hint, then the cyclic scan from the
// pointer; all placed: commit, else revert.  The snapshot is as it was afterwards.
//
// Memory from pass to pass, by name and UID, so that it survives a snapshot built
// anew with the same Symbols: destination hints (an unrenewed hint lives for one
// more pass), the scan pointer, the unremovable cache with the reasons.
//
// The same input gives the same plan.  No clock is read: `input.deadline` is asked
// whether time is up.
//
// Errors:  InvalidArgument as check_input.h tells, before anything is changed.
// Cost:    near linear in the pods that move; a pod's scan costs nodes/64 words at
//          worst, and what fitted nowhere is not scanned for again in the pass.  Besides
//          O(nodes * resources) a pass, or O(nodes + its plan) where nothing changed since a
//          pass that left the memory as it was.
// Threads: none; one Planner is used by one thread at a time.
// Source:  cluster-autoscaler core/scaledown/planner, eligibility, simulator/cluster.go,
//          simulator/scheduling/hinting_simulator.go.

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

  // Any number of forks of the snapshot may be open; there must be no ghost in it.  All
  // snapshots share one Symbols, that of the memory that was restored, if any.
  absl::StatusOr<Plan> Pass(ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const PassInput& input);

  // Sets destination hints as if a pass before had placed the pods so.
  // REQUIRES: pods and nodes are of the snapshot's catalog, whose Symbols Pass would take.
  void Suggest(const ClusterSnapshot& snapshot, std::span<const Move> places);

  // How many passes came out as the one before, because nothing had changed that a pass
  // depends on: they cost no more than comparing what was asked (settled_pass.h).
  [[nodiscard]] uint64_t repeated_passes() const;

  // The destination hint of a pod of the last pass's snapshot: the last node that a
  // simulation placed it on, tried first next time; kNoNode where there is none.
  [[nodiscard]] NodeId Hint(PodId pod) const;

  // When a node of the last pass is tried again at the earliest, as it could not be removed: a time
  // after `now_s`.  Absent: the next pass tries it.
  [[nodiscard]] std::optional<int64_t> TriedAgainAt(const Catalog& catalog, NodeId node,
                                                    int64_t now_s) const;

  // The memory between two passes.  A planner that restores what another saved goes
  // on as that one would have.  `symbols`: of the snapshots to come.
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
