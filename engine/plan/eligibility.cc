#include "engine/plan/eligibility.h"

#include "engine/plan/karpenter.h"
#include "engine/plan/node_standing.h"

namespace ebb {
namespace {

double ThresholdOf(const Catalog& catalog, const NodeGroup& group, NodeId node, bool gpu_label,
                   const PlannerOptions& options) {
  if (gpu_label || GpuOf(catalog, node)) {
    return group.scale_down_gpu_utilization_threshold.value_or(
        options.scale_down_gpu_utilization_threshold);
  }
  return group.scale_down_utilization_threshold.value_or(options.scale_down_utilization_threshold);
}

}  // namespace

Eligibility JudgeEligibility(const ClusterSnapshot& snapshot, const NodeGroups& groups, NodeId node,
                             const PlannerOptions& options, bool recently_unremovable,
                             bool all_as_charged, int64_t now_s) {
  using enum UnremovableReason;
  const Catalog& catalog = snapshot.catalog();
  const NodeInfo& info = catalog.node(node);
  if (!snapshot.Contains(node)) return {.reason = kUnexpectedError, .utilization = {}};
  if (recently_unremovable) return {.reason = kRecentlyUnremovable, .utilization = {}};
  if (IsBeingDeleted(info, now_s) || IsLeaving(catalog, node)) {
    return {.reason = kCurrentlyBeingDeleted, .utilization = {}};
  }
  const NodeGroup* group = groups.Find(node);
  const bool by_karpenter = group != nullptr && group->FollowsKarpenter();
  if (info.scale_down_disabled && !by_karpenter) {
    return {.reason = kScaleDownDisabledAnnotation, .utilization = {}};
  }
  if (group == nullptr) return {.reason = kNotAutoscaled, .utilization = {}};
  if (IsStarting(catalog, groups, node, now_s)) {
    return {.reason = kNotStarted, .utilization = {}};
  }
  if (group->managed_by == PoolManager::kKarpenter && info.do_not_disrupt) {
    return {.reason = kScaleDownDisabledAnnotation, .utilization = {}};
  }

  const bool gpu_label = groups.HasGpuLabel(node);
  const UtilizationOptions utilization_options{
      .ignore_daemonsets =
          group->ignore_daemonsets_utilization.value_or(options.ignore_daemonsets_utilization),
      .ignore_mirror_pods = options.ignore_mirror_pods_utilization,
      .gpu_label = gpu_label,
      .all_as_charged = all_as_charged};
  const std::optional<Utilization> utilization =
      CalculateUtilization(snapshot, node, utilization_options, now_s);
  if (by_karpenter) {
    return {.reason = WhyNotDisruptable(catalog, node), .utilization = utilization};
  }
  if (!utilization) return {.reason = kUnexpectedError, .utilization = {}};
  if (!options.scale_down_unready_enabled && !IsReady(catalog, groups, node)) {
    return {.reason = kScaleDownUnreadyDisabled, .utilization = {}};
  }
  // Not "<=": NaN (0/0) does not exceed any threshold.
  if (utilization->utilization > ThresholdOf(catalog, *group, node, gpu_label, options)) {
    return {.reason = kNotUnderutilized, .utilization = utilization};
  }
  return {.reason = kNoReason, .utilization = utilization};
}

}  // namespace ebb
