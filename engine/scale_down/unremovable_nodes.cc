#include "engine/scale_down/unremovable_nodes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace ebb {
namespace {

std::string_view ReasonText(UnremovableReason reason, BlockingPodReason blocking) {
  return blocking != BlockingPodReason::kNoReason ? ToString(blocking) : ToString(reason);
}

// The reason that was found when the node was tried.
std::string_view CauseOf(const UnremovableNode& node) {
  if (node.before && node.before->reason != UnremovableReason::kNoReason) {
    return ReasonText(node.before->reason, node.before->blocking_reason);
  }
  return ReasonText(node.reason, node.blocking_reason);
}

}  // namespace

UnremovableNodes CountUnremovable(const Plan& plan,
                                  const std::function<std::optional<int64_t>(NodeId)>& recheck_s) {
  UnremovableNodes counted{.nodes = plan.keep.size()};
  std::map<std::string_view, size_t> by_reason;
  for (const UnremovableNode& node : plan.keep) {
    ++by_reason[CauseOf(node)];
    const std::optional<int64_t> again_s = recheck_s(node.node);
    if (!again_s) continue;
    if (counted.remembered++ == 0) counted.first_recheck_s = *again_s;
    counted.first_recheck_s = std::min(counted.first_recheck_s, *again_s);
    counted.last_recheck_s = std::max(counted.last_recheck_s, *again_s);
  }
  for (const auto& [reason, nodes] : by_reason) {
    counted.reasons.push_back({.reason = std::string(reason), .nodes = nodes});
  }
  std::ranges::stable_sort(counted.reasons, std::ranges::greater(),
                           &UnremovableNodes::OfReason::nodes);
  return counted;
}

}  // namespace ebb
