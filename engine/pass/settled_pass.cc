#include "engine/pass/settled_pass.h"

#include <algorithm>
#include <utility>

#include "engine/plan/eligibility.h"
#include "engine/plan/node_standing.h"
#include "predicates/drainability.h"

namespace ebb {
namespace {

// The first time after `now_s` at which the verdict on some node or pod may change.
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

// Whether both inputs ask the same, apart from the time.  An input with a deadline equals no other.
// The structured binding names every member of PassInput: when a member is added, this does not
// compile until the member is handled here.
bool AskTheSame(const PassInput& one, const PassInput& other) {
  const auto& [now_s, candidates, standing, destinations, in_deletion, unneeded_limit, deadline,
               pod_order, pending, must_fit, evicting, max_workload_share] = one;
  const bool same_destinations = destinations == nullptr || other.destinations == nullptr
                                     ? destinations == other.destinations
                                     : *destinations == *other.destinations;
  return deadline == nullptr && other.deadline == nullptr && same_destinations &&
         standing == other.standing && unneeded_limit == other.unneeded_limit &&
         pod_order == other.pod_order && must_fit == other.must_fit &&
         std::ranges::equal(candidates, other.candidates) &&
         std::ranges::equal(in_deletion, other.in_deletion) &&
         std::ranges::equal(pending, other.pending) &&
         std::ranges::equal(evicting, other.evicting) &&
         max_workload_share == other.max_workload_share;
}

template <typename Id>
void Keep(std::span<const Id>& list, std::vector<Id>& kept) {
  kept.assign(list.begin(), list.end());
  list = kept;
}

}  // namespace

SettledPass::SettledPass(const ClusterSnapshot& snapshot, uint64_t state, const NodeGroups& groups,
                         const PlannerOptions& options, const PassInput& input,
                         std::vector<bool> recently_unremovable, Plan plan, size_t ineligible)
    : state_(state),
      groups_(groups),
      input_(input),
      recently_unremovable_(std::move(recently_unremovable)),
      from_s_(input.now_s),
      // Karpenter's rules change with every minute.
      until_s_(groups.SomeFollowKarpenter()
                   ? input.now_s
                   : NextChange(snapshot.catalog(), groups, options, input.now_s)),
      plan_(std::move(plan)),
      ineligible_(ineligible) {
  // As in AskTheSame: when a list is added, this does not compile until the list is copied here.
  auto& [now_s, candidates, standing, destinations, in_deletion, unneeded_limit, deadline,
         pod_order, pending, must_fit, evicting, max_workload_share] = input_;
  Keep(candidates, candidates_);
  if (destinations != nullptr) destinations = &destinations_.emplace(*destinations);
  Keep(in_deletion, in_deletion_);
  Keep(pending, pending_);
  Keep(evicting, evicting_);
  verdicts_.reserve(plan_.keep.size() - ineligible_);
  for (size_t k = ineligible_; k < plan_.keep.size(); ++k) {
    verdicts_.push_back(VerdictOf(snapshot.catalog(), plan_.keep[k]));
  }
}

bool SettledPass::HasSameInput(uint64_t state, const NodeGroups& groups,
                               const PassInput& input) const {
  return state == state_ && from_s_ <= input.now_s && input.now_s < until_s_ &&
         AskTheSame(input_, input) && groups == groups_;
}

}  // namespace ebb
