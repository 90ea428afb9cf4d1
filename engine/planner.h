// Planner: one pass of scale-down planning, and the memory that passes share.
//
//   Planner planner(options);
//   Plan plan = planner.Pass(snapshot, groups, input);
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
// Cost:    near linear in the pods that move; a pod's scan costs nodes/64 words at
//          worst, and what fitted nowhere is not scanned for again in the pass.  Any
//          pass: O(nodes * resources).  Where nothing changed since a pass that changed
//          no memory: O(nodes + its plan).
// Threads: none; one Planner is used by one thread at a time.
// Source:  cluster-autoscaler core/scaledown/planner, eligibility, simulator/cluster.go,
//          simulator/scheduling/hinting_simulator.go.

#ifndef EBB_ENGINE_PLANNER_H_
#define EBB_ENGINE_PLANNER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/deadline.h"
#include "engine/node_groups.h"
#include "engine/plan.h"
#include "predicates/drainability.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct PlannerOptions {
  // Nodes used more than this stay.  Equal is eligible.
  double scale_down_utilization_threshold = 0.5;
  double scale_down_gpu_utilization_threshold = 0.5;
  bool scale_down_unready_enabled = true;
  bool ignore_daemonsets_utilization = false;
  bool ignore_mirror_pods_utilization = false;
  // How long a node that could not be removed is not tried again.
  int64_t unremovable_node_recheck_timeout_s = 300;
  // Candidates that a pass judges whatever the deadline says.
  size_t min_nodes_per_pass = 0;
  DrainOptions drain;
};

struct PassInput {
  int64_t now_s = 0;                      // Unix time.
  std::span<const NodeId> candidates;     // In the order in which to try them.
  const NodeSet* destinations = nullptr;  // Null: every node.
  // Nodes that are removable at most, atomic groups' nodes not counted.
  size_t unneeded_limit = std::numeric_limits<size_t>::max();
  const Deadline* deadline = nullptr;  // Null: none.
  // Pods without a node that should find room before any node goes, as they are.
  // They are placed in order of priority, then this order.
  std::span<const PodId> pending;
  // Of `pending` the first so many must find room, or no candidate is judged.
  size_t must_fit = 0;
  // Pods whose eviction is under way: their budgets are spent before any is asked.
  std::span<const PodId> evicting;
};

// What a Planner remembers from pass to pass, as text: it outlives the process.
struct PlannerMemory {
  struct Hint {
    std::string pod_key;  // PodInfo::key
    std::string node;
    friend bool operator==(const Hint&, const Hint&) = default;
  };
  struct Unremovable {
    std::string node;
    int64_t until_s;
    // Why, as PastVerdict; reasons as ToString spells them.  Empty: not known.
    std::string reason = {};
    std::string blocking_reason = {};
    std::string pod_namespace = {};
    std::string pod_name = {};
    std::string pdb = {};
    friend bool operator==(const Unremovable&, const Unremovable&) = default;
  };
  std::vector<Hint> hints;  // All lists are sorted.
  std::vector<Hint> pending_hints;
  std::vector<Unremovable> unremovable;
  uint64_t scan_pointer = 0;
  friend bool operator==(const PlannerMemory&, const PlannerMemory&) = default;
};

class Planner {
 public:
  explicit Planner(PlannerOptions options);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // REQUIRES: `groups.group_of` covers every node of the snapshot; candidates are
  // nodes of its catalog; passes use snapshots that share one Symbols.
  Plan Pass(ClusterSnapshot& snapshot, const NodeGroups& groups, const PassInput& input);

  // How many passes came out as the one before, because nothing had changed that a pass
  // depends on: they cost no more than comparing what was asked (settled_pass.h).
  [[nodiscard]] uint64_t repeated_passes() const;

  // The destination hint of a pod of the last pass's snapshot: the last node that a
  // simulation placed it on, tried first next time; kNoNode where there is none.
  [[nodiscard]] NodeId Hint(PodId pod) const;

  // The memory between two passes.  A planner that restores what another saved goes
  // on as that one would have.  `symbols`: of the snapshots past and to come.
  [[nodiscard]] PlannerMemory Save(const Symbols& symbols) const;
  void Restore(const PlannerMemory& memory, Symbols& symbols);

  [[nodiscard]] const PlannerOptions& options() const { return options_; }

 private:
  struct Memory;

  PlannerOptions options_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLANNER_H_
