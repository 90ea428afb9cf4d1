// SettledPass: a pass that left the planner's memory as it found it, and so would
// come out the same again for as long as it is asked the same of the same cluster.
//
// A planner in a loop over a cluster in which nothing happens comes to such a pass
// after a few: hints lead every pod to where it went before, and the pointer stays.
// From then on the plan is known; it costs comparing what was asked.
//
// What a pass depends on: the snapshot's state (ClusterSnapshot::StateId), its input,
// the groups, the memory, and the time, which matters only when it passes a moment
// at which some pod or node is judged otherwise.  A pass with a deadline is none.
//
// Threads: none.

#ifndef EBB_ENGINE_SETTLED_PASS_H_
#define EBB_ENGINE_SETTLED_PASS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/node_groups.h"
#include "engine/pass_input.h"
#include "engine/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// All that a pass is asked, apart from the time.
struct PassQuestion {
  uint64_t state = 0;  // ClusterSnapshot::StateId
  NodeGroups groups;
  std::vector<NodeId> candidates;
  std::vector<bool> recently_unremovable;  // By place in `candidates`.
  std::optional<NodeSet> destinations;
  size_t unneeded_limit = 0;
  std::vector<PodId> pending;
  size_t must_fit = 0;
  std::vector<PodId> evicting;
};

class SettledPass {
 public:
  // The pass at `now_s`, which judged eligibility alone of the first `ineligible` nodes
  // that `plan` keeps.
  SettledPass(const ClusterSnapshot& snapshot, const PlannerOptions& options, PassQuestion question,
              int64_t now_s, Plan plan, size_t ineligible);

  // Whether a pass that is asked this would come out the same.  `is_recent` says of a
  // node whether it could not be removed a short while ago.  Cost: O(nodes).
  template <typename IsRecent>
  [[nodiscard]] bool Answers(uint64_t state, const NodeGroups& groups, const PassInput& input,
                             IsRecent&& is_recent) const {
    if (!Answers(state, groups, input)) return false;
    for (size_t c = 0; c < question_.candidates.size(); ++c) {
      if (is_recent(question_.candidates[c]) != question_.recently_unremovable[c]) return false;
    }
    return true;
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] size_t ineligible() const { return ineligible_; }
  // VerdictOf() the nodes that were tried and kept: plan().keep from ineligible() on.
  [[nodiscard]] std::span<const PastVerdict> verdicts() const { return verdicts_; }

 private:
  [[nodiscard]] bool Answers(uint64_t state, const NodeGroups& groups,
                             const PassInput& input) const;

  PassQuestion question_;
  int64_t from_s_;  // Times at which all are judged as they were.
  int64_t until_s_;
  Plan plan_;
  size_t ineligible_;
  std::vector<PastVerdict> verdicts_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SETTLED_PASS_H_
