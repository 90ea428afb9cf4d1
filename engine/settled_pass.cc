#include "engine/settled_pass.h"

#include <algorithm>
#include <utility>

#include "engine/eligibility.h"
#include "predicates/drainability.h"

namespace ebb {
namespace {

// The first time after `now_s` at which some node or pod may be judged otherwise.
int64_t NextChange(const Catalog& catalog, const PlannerOptions& options, int64_t now_s) {
  int64_t next = NextDrainChange(catalog, options.drain, now_s);
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const std::optional<int64_t> since = catalog.node(NodeId{n}).to_be_deleted;
    if (!since || now_s - *since >= kDeletionTimeoutS) continue;
    int64_t end = 0;
    if (!__builtin_add_overflow(*since, kDeletionTimeoutS, &end)) next = std::min(next, end);
  }
  return next;
}

}  // namespace

SettledPass::SettledPass(const ClusterSnapshot& snapshot, const PlannerOptions& options,
                         PassQuestion question, int64_t now_s, Plan plan, size_t ineligible)
    : question_(std::move(question)),
      from_s_(now_s),
      until_s_(NextChange(snapshot.catalog(), options, now_s)),
      plan_(std::move(plan)),
      ineligible_(ineligible) {
  verdicts_.reserve(plan_.keep.size() - ineligible_);
  for (size_t k = ineligible_; k < plan_.keep.size(); ++k) {
    verdicts_.push_back(VerdictOf(snapshot.catalog(), plan_.keep[k]));
  }
}

bool SettledPass::Answers(uint64_t state, const NodeGroups& groups, const PassInput& input) const {
  const bool same_destinations =
      question_.destinations.has_value()
          ? input.destinations != nullptr && *input.destinations == *question_.destinations
          : input.destinations == nullptr;
  return state == question_.state && input.deadline == nullptr && from_s_ <= input.now_s &&
         input.now_s < until_s_ && same_destinations &&
         input.unneeded_limit == question_.unneeded_limit && input.must_fit == question_.must_fit &&
         std::ranges::equal(input.candidates, question_.candidates) &&
         std::ranges::equal(input.pending, question_.pending) &&
         std::ranges::equal(input.evicting, question_.evicting) && groups == question_.groups;
}

}  // namespace ebb
