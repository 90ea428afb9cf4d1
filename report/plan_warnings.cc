#include "report/plan_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/figures.h"
#include "base/printable.h"
#include "predicates/drainability.h"
#include "predicates/pdb_tracker.h"
#include "report/block_words.h"
#include "report/karpenter_words.h"
#include "report/plan_report.h"
#include "report/plan_totals.h"

namespace ebb {
namespace {

constexpr std::string_view kMinimumAssumed = "MinimumAssumed";
constexpr std::string_view kPassedOver = "SafeToEvictPassedOver";
constexpr std::string_view kNoRoomForDisplaced = "NoRoomForDisplacedPods";
constexpr std::string_view kWithoutRequests = "PodsWithoutRequests";
constexpr std::string_view kUnhealthyPods = "UnhealthyPodsKeepNodes";

// Warns about groups that lose all their nodes and have no known minimum.
void WarnOfMinimums(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlanResult& made, std::vector<InputWarning>& warnings) {
  std::vector<int64_t> left(groups.groups.size());
  std::vector<int64_t> going(groups.groups.size());
  snapshot.alive().ForEach([&](NodeId node) {
    if (groups.Of(node) != kNoGroup) ++left[Index(groups.Of(node))];
  });
  for (const RemovableNode& node : made.plan.remove) {
    if (groups.Of(node.node) == kNoGroup) continue;
    --left[Index(groups.Of(node.node))];
    ++going[Index(groups.Of(node.node))];
  }
  constexpr size_t kShown = 5;
  size_t emptied = 0;
  std::string names;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const NodeGroup& group = groups.groups[g];
    if (group.minimum_is_known || going[g] == 0 || left[g] > 0) continue;
    if (emptied++ >= kShown) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", Printable(group.name),
                         Count(static_cast<uint64_t>(going[g]), "node", "nodes"));
  }
  if (emptied == 0) return;
  if (emptied > kShown) names += fmt::format(" and {} more", emptied - kShown);
  warnings.push_back(
      {std::string(kMinimumAssumed),
       fmt::format("{} lose all of their nodes, as a minimum of 0 is assumed where none is known: "
                   "{}; --nodes MIN:MAX:NAME or minSize in --node-groups says the minimum",
                   Count(emptied, "node group", "node groups"), names),
       ""});
  if (emptied == 1) {
    std::string& text = warnings.back().message;
    text.replace(text.find("lose all of their"), 17, "loses all of its");
  }
}

void WarnOfPassedOver(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                      const PlanRequest& request, const PlanResult& made,
                      std::vector<InputWarning>& warnings) {
  size_t pods = 0;
  std::string first;
  for (const RemovableNode& node : made.plan.remove) {
    for (const PassedOverPod& each : PassedOverOn(snapshot, groups, request, node.node)) {
      if (pods++ > 0) continue;
      first = fmt::format("{} on {} ({})", Printable(snapshot.catalog().PodName(each.pod)),
                          Printable(snapshot.catalog().NodeName(node.node)), each.words);
    }
  }
  if (pods == 0) return;
  warnings.push_back(
      {std::string(kPassedOver),
       fmt::format("{} with {} although annotated safe-to-evict: {}{}",
                   Count(pods, "pod goes", "pods go"), pods == 1 ? "its node" : "their nodes",
                   first, pods > 1 ? fmt::format(" and {} more", WithCommas(pods - 1)) : ""),
       ""});
}

// Warns about pods that move and request nothing: no room is kept for what they use.
void WarnOfRequests(const ClusterSnapshot& snapshot, const PlanResult& made,
                    std::vector<InputWarning>& warnings) {
  const Catalog& catalog = snapshot.catalog();
  Named pods;
  std::vector<std::optional<bool>> known(catalog.pod_shapes());  // By PodShapeId.
  for (const RemovableNode& node : made.plan.remove) {
    for (const Move& move : node.moves) {
      std::optional<bool>& without = known[Index(catalog.shape_id(move.pod))];
      if (!without) without = IsWithoutRequests(catalog, move.pod);
      if (!*without || snapshot.NodeOf(move.pod) != node.node) continue;
      pods.Add(catalog.PodName(move.pod));
    }
  }
  if (pods.count == 0) return;
  warnings.push_back(
      {std::string(kWithoutRequests),
       fmt::format("{} neither cpu nor memory, so that the plan keeps no room for what {}: {}",
                   Count(pods.count, "pod that moves requests", "pods that move request"),
                   pods.count == 1 ? "it uses" : "they use", NamesText(pods)),
       ""});
}

}  // namespace

std::vector<PassedOverPod> PassedOverOn(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                        const PlanRequest& request, NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  std::vector<PassedOverPod> passed_over;
  std::optional<PdbTracker> budgets;  // Built on first use: few pods have the annotation.
  for (const PodId pod : snapshot.PodsOn(node)) {
    const SafeToEvict annotated = catalog.shape_of(pod).safe_to_evict;
    if (annotated != SafeToEvict::kFalse && annotated != SafeToEvict::kOther) continue;
    if (groups.FollowsKarpenter(node)) {
      if (annotated == SafeToEvict::kFalse) {
        passed_over.push_back(
            {.pod = pod,
             .words = "its annotation safe-to-evict \"false\" is passed over: Karpenter does not "
                      "read it"});
      }
      continue;
    }
    if (!budgets) budgets.emplace(catalog);
    const DrainVerdict verdict =
        ApplyDrainRules(catalog, pod, request.planner.drain, *budgets, request.pass.now_s);
    std::string words = PassedOverWords(catalog, pod, verdict);
    if (!words.empty()) passed_over.push_back({.pod = pod, .words = std::move(words)});
  }
  return passed_over;
}

// Warns about pods of nodes in deletion that find no room: because of them the plan judges no node.
void WarnOfDisplaced(const Catalog& catalog, const PlanRequest& request, const PlanResult& made,
                     std::vector<InputWarning>& warnings) {
  if (made.plan.termination != Termination::kNoRoomForPending) return;
  absl::flat_hash_set<PodId> packed;
  for (const Move& move : made.plan.packed) packed.insert(move.pod);
  size_t pods = 0;
  std::string first;
  for (const PodId pod : request.pass.evicting) {
    if (!packed.contains(pod) && pods++ == 0) first = Printable(catalog.PodName(pod));
  }
  if (pods == 0) return;
  warnings.push_back(
      {std::string(kNoRoomForDisplaced),
       fmt::format("{} of nodes in deletion {} no room, so that no node was judged: {}{}",
                   Count(pods, "pod", "pods"), pods == 1 ? "finds" : "find", first,
                   pods > 1 ? ", ..." : ""),
       ""});
}

// Warns about nodes whose first obstacle is the budget of a pod for which the eviction API would
// not ask it.
void WarnOfUnhealthy(const Catalog& catalog, const PlanResult& made,
                     std::vector<InputWarning>& warnings) {
  if (catalog.unhealthy_pods() == UnhealthyPods::kEvict) return;
  constexpr size_t kShown = 5;
  size_t nodes = 0;
  std::string names;
  for (const UnremovableNode& kept : made.plan.keep) {
    if (kept.blocking_reason != BlockingPodReason::kNotEnoughPdb || kept.pod == kNoPod) continue;
    if (!catalog.IsFreeOfBudgets(kept.pod)) continue;
    if (nodes++ >= kShown) continue;
    names +=
        fmt::format("{}{} (pod {})", names.empty() ? "" : ", ",
                    Printable(catalog.NodeName(kept.node)), Printable(catalog.PodName(kept.pod)));
  }
  if (nodes == 0) return;
  if (nodes > kShown) names += fmt::format(" and {} more", nodes - kShown);
  warnings.push_back(
      {std::string(kUnhealthyPods),
       fmt::format(
           "{} by the budget of a pod that the eviction API would evict without asking it, "
           "because the pod is not ready or does not run: {}; --unhealthy-pods=evict "
           "follows the eviction API",
           nodes == 1 ? "1 node is kept first" : WithCommas(nodes) + " nodes are kept first",
           names),
       ""});
}

void WarnOfPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                const PlanRequest& request, const PlanResult& made,
                std::vector<InputWarning>& warnings) {
  std::erase_if(warnings, [](const InputWarning& each) {
    return each.code == kMinimumAssumed || each.code == kPassedOver ||
           each.code == kMovesToOtherArchitecture || each.code == kNoRoomForDisplaced ||
           each.code == kWithoutRequests || each.code == kUnhealthyPods;
  });
  WarnOfKarpenter(snapshot, groups, made.plan, request.pass.now_s, warnings);
  WarnOfDisplaced(snapshot.catalog(), request, made, warnings);
  WarnOfMinimums(snapshot, groups, made, warnings);
  WarnOfPassedOver(snapshot, groups, request, made, warnings);
  WarnOfRequests(snapshot, made, warnings);
  WarnOfUnhealthy(snapshot.catalog(), made, warnings);
  if (auto warning = WarningOfArchitectures(snapshot, made.plan)) {
    warnings.push_back(*std::move(warning));
  }
}

}  // namespace ebb
