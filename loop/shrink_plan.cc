#include "loop/shrink_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/make_plan.h"
#include "loop/deletion_orders.h"
#include "loop/leaving_pods.h"
#include "loop/loop.h"

namespace ebb {
namespace {

// Removes the node; its pods that need another node become pending.
void TakeAway(NodeId node, ClusterSnapshot& snapshot, std::vector<PodId>& pending) {
  const std::span<const PodId> on_node = snapshot.PodsOn(node);
  for (const PodId pod : std::vector<PodId>(on_node.begin(), on_node.end())) {
    snapshot.RemovePod(pod);
    if (!GoesWithItsNode(snapshot.catalog(), snapshot.catalog().shape_of(pod))) {
      pending.push_back(pod);
    }
  }
  snapshot.RemoveNode(node);
}

// Makes a group for each request, which may lose as many nodes as the request asks for.
NodeGroups GroupsOf(const ClusterSnapshot& snapshot, const NodeGroups& from,
                    const std::vector<ShrinkAsk>& asks) {
  NodeGroups groups;
  groups.group_of.assign(snapshot.catalog().nodes(), kNoGroup);
  groups.gpu_label = from.gpu_label;
  groups.not_ready = from.not_ready;
  groups.max_node_startup_time_s = from.max_node_startup_time_s;
  for (const ShrinkAsk& ask : asks) {
    const auto group = GroupId{static_cast<uint32_t>(groups.groups.size())};
    const auto nodes = static_cast<int64_t>(ask.candidates.size());
    groups.groups.push_back({.name = ask.name,
                             .min_size = std::max<int64_t>(0, nodes - ask.most),
                             .target_size = nodes,
                             .scale_down_utilization_threshold = {},
                             .scale_down_gpu_utilization_threshold = {},
                             .scale_down_unneeded_time_s = {},
                             .scale_down_unready_time_s = {},
                             .ignore_daemonsets_utilization = {}});
    for (const NodeId node : ask.candidates) {
      groups.group_of[Index(node)] = group;
    }
  }
  return groups;
}

std::string Reason(const Catalog& catalog, const UnremovableNode& node) {
  std::string reason(ToString(node.reason));
  if (node.pod != kNoPod) reason += " (" + catalog.PodName(node.pod) + ")";
  return reason;
}

}  // namespace

absl::StatusOr<ShrinkPlan> PlanShrink(const Observation& observed,
                                      const std::vector<NodeId>& leaving,
                                      const std::vector<ShrinkAsk>& asks,
                                      const PlannerOptions& options, int64_t now_s) {
  ShrinkPlan plan;
  ClusterSnapshot snapshot(*observed.snapshot);
  const Catalog& catalog = snapshot.catalog();
  std::vector<PodId> pending = observed.pending;
  for (const NodeId node : leaving) {
    if (snapshot.Contains(node)) TakeAway(node, snapshot, pending);
  }
  std::vector<ShrinkAsk> open;
  for (const ShrinkAsk& ask : asks) {
    ShrinkAsk each = ask;
    std::erase_if(each.candidates, [&](NodeId node) { return !snapshot.Contains(node); });
    if (each.most > 0 && !each.candidates.empty()) open.push_back(std::move(each));
  }
  if (open.empty()) return plan;
  const NodeGroups groups = GroupsOf(snapshot, observed.groups, open);
  PlanRequest request;
  request.planner = options;
  request.order = CandidateOrder::kInput;
  request.pass.now_s = now_s;
  request.deletions = DeletionsInSnapshot::kLeftToCaller;  // Leaving nodes are taken out here.
  // Utilization and readiness are the policies' decision.
  constexpr double kAny = std::numeric_limits<double>::infinity();
  request.planner.scale_down_utilization_threshold = kAny;
  request.planner.scale_down_gpu_utilization_threshold = kAny;
  request.planner.scale_down_unready_enabled = true;
  std::vector<NodeId> candidates;
  for (ShrinkAsk& ask : open) {
    if (ask.planners_order) {
      SortCandidates(snapshot, groups, request.planner, CandidateOrder::kAutoscaler, now_s, nullptr,
                     ask.candidates);
    }
    candidates.insert(candidates.end(), ask.candidates.begin(), ask.candidates.end());
  }
  request.candidates = &candidates;
  request.pass.pending = pending;
  absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, request);
  if (!made.ok()) return made.status();
  for (const RemovableNode& node : made->plan.remove) {
    plan.orders.push_back(OrderOf(catalog, observed.groups, node));
  }
  for (const UnremovableNode& node : made->plan.keep) {
    plan.denied.push_back({std::string(catalog.NodeName(node.node)), Reason(catalog, node)});
  }
  return plan;
}

}  // namespace ebb
