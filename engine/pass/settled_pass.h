// SettledPass: a pass that left the planner's memory as it found it, and so would
// come out the same again for as long as it is asked the same of the same cluster.
//
// A planner in a loop over a cluster in which nothing happens comes to such a pass
// after a few: hints lead every pod to where it went before, and the pointer stays.
// From then on the plan is known; it costs comparing what was asked.
//
// What a pass depends on: the snapshot's state (ClusterSnapshot::StateId), its input,
// the groups, the memory, and the time, which matters only when it passes a moment
// at which some pod or node is judged otherwise.  The options of a planner never change.
// A pass with a deadline is never settled: the next one may be cut elsewhere.
//
// Threads: none.

#ifndef EBB_ENGINE_PASS_SETTLED_PASS_H_
#define EBB_ENGINE_PASS_SETTLED_PASS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class SettledPass {
 public:
  // The pass over `snapshot` in `state` that `input` asked for.  It judged eligibility alone
  // of the first `ineligible` nodes that `plan` keeps.  `recently_unremovable`, by place
  // among the candidates: nodes that could not be removed a short while before.
  SettledPass(const ClusterSnapshot& snapshot, uint64_t state, const NodeGroups& groups,
              const PlannerOptions& options, const PassInput& input,
              std::vector<bool> recently_unremovable, Plan plan, size_t ineligible);
  SettledPass(const SettledPass&) = delete;  // Its input points into it.
  SettledPass& operator=(const SettledPass&) = delete;

  // Whether this asks what the pass was asked, of the same cluster, at a time at which all
  // are judged as they were.  What was asked may be anything: it need not have been checked.
  // Cost: O(nodes + pending).
  [[nodiscard]] bool WasAsked(uint64_t state, const NodeGroups& groups,
                              const PassInput& input) const;

  // Whether the same candidates could not be removed a short while ago, as `is_recent` says
  // of a node.  A pass for which WasAsked holds too would come out the same.
  template <typename IsRecent>
  [[nodiscard]] bool SameAreRecent(IsRecent&& is_recent) const {
    const std::span<const NodeId> candidates = input_.candidates;
    for (size_t c = 0; c < candidates.size(); ++c) {
      if (is_recent(candidates[c]) != recently_unremovable_[c]) return false;
    }
    return true;
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] size_t ineligible() const { return ineligible_; }
  // VerdictOf() the nodes that were tried and kept: plan().keep from ineligible() on.
  [[nodiscard]] std::span<const PastVerdict> verdicts() const { return verdicts_; }

 private:
  uint64_t state_;  // ClusterSnapshot::StateId
  NodeGroups groups_;
  // What the pass was asked, and the lists of that.  Its deadline is never read, only whether it
  // had one.
  PassInput input_;
  std::vector<NodeId> candidates_;
  std::optional<NodeSet> destinations_;
  std::vector<NodeId> in_deletion_;
  std::vector<PodId> pending_;
  std::vector<PodId> evicting_;
  std::vector<bool> recently_unremovable_;  // By place among the candidates.
  int64_t from_s_;                          // Times at which all are judged as they were.
  int64_t until_s_;
  Plan plan_;
  size_t ineligible_;
  std::vector<PastVerdict> verdicts_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_SETTLED_PASS_H_
