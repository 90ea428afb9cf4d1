#include "tools/plan_report.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ebb {
namespace {

std::vector<PlanReport::Removal> Removals(const Plan& plan, const ClusterSnapshot& snapshot) {
  struct Place {
    size_t removal;
    size_t pod;
  };
  std::vector<PlanReport::Removal> removals;
  std::unordered_map<uint32_t, Place> moved;  // By PodId: where it is listed.
  for (const RemovableNode& node : plan.remove) {
    PlanReport::Removal& removal = removals.emplace_back();
    removal.node = node.node;
    removal.risky = node.risky;
    for (const Move& move : node.moves) {
      const auto id = static_cast<uint32_t>(move.pod);
      if (const auto it = moved.find(id); it != moved.end()) {
        PlanReport::PodMove& before = removals[it->second.removal].pods[it->second.pod];
        before.via.push_back(before.to);
        before.to = move.to;
        continue;
      }
      // A pod that was packed here before the pass does not run here yet.
      if (snapshot.NodeOf(move.pod) != node.node) continue;
      moved.emplace(id, Place{removals.size() - 1, removal.pods.size()});
      removal.pods.push_back({.pod = move.pod, .to = move.to, .via = {}});
    }
  }
  return removals;
}

std::vector<PlanReport::Kept> KeptNodes(const MadePlan& made) {
  std::vector<PlanReport::Kept> kept;
  for (const auto* list : {&made.excluded, &made.plan.keep}) {
    for (const UnremovableNode& node : *list) kept.push_back({node, ToString(node.reason)});
  }
  for (const NodeId node : made.plan.skipped) {
    UnremovableNode skipped;
    skipped.node = node;
    kept.push_back({skipped, kNotJudged});
  }
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.why.node < b.why.node; });
  return kept;
}

}  // namespace

PlanReport MakeReport(const PlanContext& context) {
  const Plan& plan = context.made->plan;
  PlanReport report{.context = context,
                    .remove = Removals(plan, context.cluster->snapshot),
                    .keep = KeptNodes(*context.made),
                    .kept_by_reason = {},
                    .pods = context.cluster->snapshot.placed_pods()};
  for (const PlanReport::Removal& removal : report.remove) report.moved += removal.pods.size();
  std::map<std::string_view, size_t> counts;
  for (const PlanReport::Kept& kept : report.keep) ++counts[kept.reason];
  report.kept_by_reason.assign(counts.begin(), counts.end());
  std::stable_sort(report.kept_by_reason.begin(), report.kept_by_reason.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return report;
}

}  // namespace ebb
