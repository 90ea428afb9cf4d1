#include "snapshot/objects/unevaluated_kinds.h"

#include <algorithm>
#include <array>

namespace ebb {
namespace {

constexpr std::string_view kPools = "NodePoolsNotEvaluated";
constexpr std::string_view kPoolsWhy =
    "their disruption budgets, consolidationPolicy and consolidateAfter may keep nodes that the "
    "plan removes";
constexpr std::string_view kGroups = "PodGroupsNotEvaluated";
constexpr std::string_view kGroupsWhy =
    "ebb knows the pods of their gangs by labels, and reads no minimum from these objects";
constexpr std::string_view kBudgets = "CustomBudgetsNotEvaluated";
constexpr std::string_view kBudgetsWhy = "they may refuse evictions that the plan counts on";
constexpr std::string_view kEvictors = "EvictorsNotEvaluated";
constexpr std::string_view kEvictorsWhy = "pods are evicted beside the plan";
constexpr std::string_view kSizes = "GroupSizesNotEvaluated";
constexpr std::string_view kSizesWhy =
    "minimum sizes that they set are not read; --nodes or --node-groups says them";
constexpr std::string_view kNoRoom = "no room is kept for the pods that they ask for";

constexpr auto kKinds = std::to_array<UnevaluatedKind>({
    {"karpenter.sh", "Provisioner", kPools, kPoolsWhy},
    {"karpenter.sh", "NodeClaim", "NodeClaimsNotEvaluated",
     "Karpenter may be replacing or deleting their nodes"},
    {"karpenter.sh", "Machine", "NodeClaimsNotEvaluated",
     "Karpenter may be replacing or deleting their nodes"},
    {"autoscaling.x-k8s.io", "ProvisioningRequest", "ProvisioningRequestsNotEvaluated", kNoRoom},
    {"scheduling.koordinator.sh", "Reservation", "ReservationsNotEvaluated", kNoRoom},
    {"scheduling.k8s.io", "CompositePodGroup", kGroups, kGroupsWhy},
    {"scheduling.k8s.io", "Workload", kGroups, kGroupsWhy},
    {"kueue.x-k8s.io", "Workload", kGroups, kGroupsWhy},
    {"scheduling.sigs.k8s.io", "PodGroup", kGroups, kGroupsWhy},
    {"scheduling.run.ai", "PodGroup", kGroups, kGroupsWhy},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", kGroups, kGroupsWhy},
    {"jobset.x-k8s.io", "JobSet", kGroups, kGroupsWhy},
    {"kubescheduler.config.k8s.io", "KubeSchedulerConfiguration",
     "SchedulerConfigurationNotEvaluated",
     "pass it with --scheduler-config-file, since its profiles may forbid places that the plan "
     "uses"},
    {"policy.kruise.io", "PodUnavailableBudget", kBudgets, kBudgetsWhy},
    {"*", "DisruptionBudget", kBudgets, kBudgetsWhy},
    {"lifecycle.k8s.io", "Eviction", kEvictors, kEvictorsWhy},
    {"descheduler", "DeschedulerPolicy", kEvictors, kEvictorsWhy},
    {"operator.openshift.io", "KubeDescheduler", kEvictors, kEvictorsWhy},
    {"nodemaintenance.medik8s.io", "NodeMaintenance", kEvictors, kEvictorsWhy},
    {"autoscaling.openshift.io", "MachineAutoscaler", kSizes, kSizesWhy},
    {"autoscaling.openshift.io", "ClusterAutoscaler", "AutoscalerSettingsNotEvaluated",
     "its scale-down settings are not read; flags say them"},
    {"machine.openshift.io", "MachineSet", kSizes, kSizesWhy},
    {"cluster.x-k8s.io", "MachineSet", kSizes, kSizesWhy},
    {"cluster.x-k8s.io", "MachineDeployment", kSizes, kSizesWhy},
    {"cluster.x-k8s.io", "MachinePool", kSizes, kSizesWhy},
});

std::string_view GroupIn(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

bool IsOf(const UnevaluatedKind& row, std::string_view group, std::string_view kind) {
  if (row.group != "*") return row.kind == kind && row.group == group;
  return kind.ends_with(row.kind) && group.find('.') != group.npos;
}

}  // namespace

const UnevaluatedKind* FindUnevaluatedKind(std::string_view api_version, std::string_view kind) {
  const std::string_view group = GroupIn(api_version);
  const auto row =
      std::ranges::find_if(kKinds, [&](const auto& each) { return IsOf(each, group, kind); });
  return row == kKinds.end() ? nullptr : &*row;
}

std::span<const UnevaluatedKind> UnevaluatedKinds() { return kKinds; }

UnevaluatedObjects::Name UnevaluatedObjects::NameOf(const ObjectSink::Unevaluated& object) {
  return {.group = std::string(GroupIn(object.api_version)),
          .kind = std::string(object.kind),
          .namespace_name = std::string(object.namespace_name),
          .name = std::string(object.name)};
}

bool UnevaluatedObjects::Put(const ObjectSink::Unevaluated& object) {
  if (FindUnevaluatedKind(object.api_version, object.kind) == nullptr) return false;
  return objects_.try_emplace(NameOf(object), object.api_version).second;
}

bool UnevaluatedObjects::Erase(const ObjectSink::Unevaluated& object) {
  const Name name = NameOf(object);
  if (!object.api_version.empty()) return objects_.erase(name) > 0;
  return std::erase_if(objects_, [&](const auto& each) {
           return each.first.kind == name.kind &&
                  each.first.namespace_name == name.namespace_name && each.first.name == name.name;
         }) > 0;
}

absl::Status UnevaluatedObjects::ForEach(
    absl::FunctionRef<absl::Status(const ObjectSink::Unevaluated& object)> visit) const {
  for (const auto& [name, api_version] : objects_) {
    const absl::Status visited = visit({.api_version = api_version,
                                        .kind = name.kind,
                                        .namespace_name = name.namespace_name,
                                        .name = name.name});
    if (!visited.ok()) return visited;
  }
  return absl::OkStatus();
}

size_t UnevaluatedObjects::Kinds() const {
  size_t kinds = 0;
  const Name* before = nullptr;
  for (const auto& [name, api_version] : objects_) {
    if (before == nullptr || before->group != name.group || before->kind != name.kind) ++kinds;
    before = &name;
  }
  return kinds;
}

}  // namespace ebb
