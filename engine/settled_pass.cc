#include "engine/settled_pass.h"

#include <algorithm>
#include <utility>

#include "engine/eligibility.h"
#include "engine/node_standing.h"
#include "predicates/drainability.h"

namespace ebb {
namespace {

// The first time after `now_s` at which some node or pod may be judged otherwise.
int64_t NextChange(const Catalog& catalog, const NodeGroups& groups, const PlannerOptions& options,
                   int64_t now_s) {
  int64_t next = NextDrainChange(catalog, options.drain, now_s);
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeInfo& node = catalog.node(NodeId{n});
    if (IsBeingDeleted(node, now_s)) next = std::min(next, *node.to_be_deleted + kDeletionTimeoutS);
    if (const auto old_s = YoungUntil(catalog, groups, NodeId{n}, now_s)) {
      next = std::min(next, *old_s);
    }
  }
  return next;
}

}  // namespace

PassQuestion::PassQuestion(const PassInput& input) {
  const auto& [now_s, candidates, destinations, in_deletion, unneeded_limit, deadline, pod_order,
               pending, must_fit, evicting, max_workload_share] = input;
  has_deadline_ = deadline != nullptr;
  candidates_.assign(candidates.begin(), candidates.end());
  if (destinations != nullptr) destinations_ = *destinations;
  in_deletion_.assign(in_deletion.begin(), in_deletion.end());
  unneeded_limit_ = unneeded_limit;
  pod_order_ = pod_order;
  pending_.assign(pending.begin(), pending.end());
  must_fit_ = must_fit;
  evicting_.assign(evicting.begin(), evicting.end());
  max_workload_share_ = max_workload_share;
}

bool PassQuestion::IsAskedBy(const PassInput& input) const {
  const auto& [now_s, candidates, destinations, in_deletion, unneeded_limit, deadline, pod_order,
               pending, must_fit, evicting, max_workload_share] = input;
  const bool same_destinations = destinations_.has_value()
                                     ? destinations != nullptr && *destinations == *destinations_
                                     : destinations == nullptr;
  return !has_deadline_ && deadline == nullptr && same_destinations &&
         unneeded_limit == unneeded_limit_ && pod_order == pod_order_ && must_fit == must_fit_ &&
         std::ranges::equal(candidates, candidates_) &&
         std::ranges::equal(in_deletion, in_deletion_) && std::ranges::equal(pending, pending_) &&
         std::ranges::equal(evicting, evicting_) && max_workload_share == max_workload_share_;
}

SettledPass::SettledPass(const ClusterSnapshot& snapshot, uint64_t state, const NodeGroups& groups,
                         const PlannerOptions& options, const PassInput& input,
                         std::vector<bool> recently_unremovable, Plan plan, size_t ineligible)
    : state_(state),
      groups_(groups),
      question_(input),
      recently_unremovable_(std::move(recently_unremovable)),
      from_s_(input.now_s),
      until_s_(NextChange(snapshot.catalog(), groups, options, input.now_s)),
      plan_(std::move(plan)),
      ineligible_(ineligible) {
  verdicts_.reserve(plan_.keep.size() - ineligible_);
  for (size_t k = ineligible_; k < plan_.keep.size(); ++k) {
    verdicts_.push_back(VerdictOf(snapshot.catalog(), plan_.keep[k]));
  }
}

bool SettledPass::WasAsked(uint64_t state, const NodeGroups& groups, const PassInput& input) const {
  return state == state_ && from_s_ <= input.now_s && input.now_s < until_s_ &&
         question_.IsAskedBy(input) && groups == groups_;
}

}  // namespace ebb
