// SettledPass: a pass that left the planner's memory as it was.  With the same input and cluster it
// would give the same plan again, so the planner returns that plan.
//
// In a cluster in which nothing happens, the passes of a loop settle after a few rounds: each hint
// leads its pod to the node of the pass before, and the pointer stays.  From then on a pass only
// compares its input.
//
// A pass depends on the snapshot's state (ClusterSnapshot::StateId), its input, the groups, the
// planner's memory and the time.  The time matters only when it passes a moment at which the
// verdict on some pod or node may change.  The options of a planner never change.  A pass with a
// deadline never settles, because the next one may be cut elsewhere.
//
// Threads: const methods may run concurrently.

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
  // A pass over `snapshot`, whose state was `state`, with the input `input`.  The first
  // `ineligible` nodes of `plan.keep` were judged by eligibility only.  `recently_unremovable`, by
  // place among the candidates: nodes that could not be removed a short while before.
  SettledPass(const ClusterSnapshot& snapshot, uint64_t state, const NodeGroups& groups,
              const PlannerOptions& options, const PassInput& input,
              std::vector<bool> recently_unremovable, Plan plan, size_t ineligible);
  SettledPass(const SettledPass&) = delete;  // Its input points into it.
  SettledPass& operator=(const SettledPass&) = delete;

  // Whether the input and the cluster are those of the pass, and the time is one at which every
  // verdict is the same.  The input need not have been checked.
  // Cost: O(nodes + pending).
  [[nodiscard]] bool HasSameInput(uint64_t state, const NodeGroups& groups,
                                  const PassInput& input) const;

  // Whether the same candidates count as recently unremovable as in the pass; `is_recent(node)`
  // returns whether a node counts as such now.  If HasSameInput is true too, a new pass would give
  // the same plan.
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
  // VerdictOf() for the nodes that were tried and kept: plan().keep from ineligible() on.
  [[nodiscard]] std::span<const PastVerdict> verdicts() const { return verdicts_; }

 private:
  uint64_t state_;  // ClusterSnapshot::StateId
  NodeGroups groups_;
  // The input, and copies of the lists that it borrows.  Its deadline is never dereferenced; only
  // whether there was one counts.
  PassInput input_;
  std::vector<NodeId> candidates_;
  std::optional<NodeSet> destinations_;
  std::vector<NodeId> in_deletion_;
  std::vector<PodId> pending_;
  std::vector<PodId> evicting_;
  std::vector<bool> recently_unremovable_;  // By place among the candidates.
  int64_t from_s_;                          // In [from_s_, until_s_) every verdict is the same.
  int64_t until_s_;
  Plan plan_;
  size_t ineligible_;
  std::vector<PastVerdict> verdicts_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_SETTLED_PASS_H_
