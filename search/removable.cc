#include "search/removable.h"

#include "engine/plan/eligibility.h"
#include "engine/plan/karpenter.h"
#include "predicates/drainability.h"

namespace ebb {

std::vector<RemovableCandidate> FindRemovable(const ClusterSnapshot& snapshot,
                                              const NodeGroups& groups,
                                              const PlannerOptions& options,
                                              std::span<const NodeId> candidates, int64_t now_s) {
  std::vector<RemovableCandidate> found;
  const PdbTracker pdbs(snapshot.catalog());
  DrainRules rules(snapshot.catalog(), options.drain, pdbs, now_s);
  PodsToMove pods;
  for (const NodeId node : candidates) {
    const Eligibility eligibility =
        JudgeEligibility(snapshot, groups, node, options, /*recently_unremovable=*/false,
                         /*all_as_charged=*/false, now_s);
    if (eligibility.reason != UnremovableReason::kNoReason) continue;
    rules.GetPodsToMove(snapshot.PodsOn(node), pods, groups.ManagerOf(node));
    if (pods.blocked() || !pods.on_completion.empty()) continue;
    if (groups.FollowsKarpenter(node)) {
      const DisruptionReason reason = DisruptionReasonFor(snapshot.catalog(), pods.move);
      const UnremovableReason why =
          WhyNotConsolidatable(snapshot.catalog(), node, reason, now_s, groups.ebb_consolidates);
      if (why != UnremovableReason::kNoReason) continue;
    }
    found.push_back({.node = node, .move = pods.move});
  }
  return found;
}

NodeSet OpenNodes(const ClusterSnapshot& snapshot, const NodeSet* destinations) {
  NodeSet open = snapshot.alive();
  for (size_t w = 0; destinations != nullptr && w < open.words().size(); ++w) {
    open.words()[w] &= destinations->words()[w];
  }
  return open;
}

}  // namespace ebb
