#include "loop/reported_deletions.h"

#include <algorithm>

namespace ebb {

ReportedDeletions ReportDeletions(const ActuatorStatus& status) {
  ReportedDeletions told{
      .in_progress = {.empty = {}, .drained = {}, .recent_evictions = status.recent_evictions},
      .ended = {},
      .failed = {}};
  for (const RunningDeletion& deletion : status.running) {
    (deletion.drain ? told.in_progress.drained : told.in_progress.empty)
        .push_back({deletion.node, deletion.group});
  }
  for (const DeletionResult& result : status.results) {
    told.ended.push_back({result.node, result.ok});
    if (!result.ok) {
      told.failed.push_back({ScaleEventKind::kFailedDeletion, result.group, result.at_s});
    }
  }
  return told;
}

void AddNotBegun(std::vector<DeletionResult>& not_begun, ActuatorStatus& status) {
  const auto is_known = [&](const DeletionResult& failed) {
    const auto same = [&](const auto& each) { return each.node == failed.node; };
    return std::ranges::any_of(status.running, same) || std::ranges::any_of(status.results, same);
  };
  std::erase_if(not_begun, is_known);
  status.results.insert(status.results.end(), not_begun.begin(), not_begun.end());
}

}  // namespace ebb
