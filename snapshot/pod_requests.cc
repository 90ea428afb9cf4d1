#include "snapshot/pod_requests.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "snapshot/quantity.h"

namespace ebb {
namespace {

using objects::ResourceAmount;
using objects::ResourceList;

constexpr std::string_view kHugePages = "hugepages-";

constexpr int32_t kBillion = 1'000'000'000;

ResourceAmount& EntryOf(ResourceList& list, objects::Text name) {
  for (ResourceAmount& entry : list) {
    if (entry.name == name) return entry;
  }
  return list.emplace_back(ResourceAmount{name});
}

// Exact, so that two halves of a unit make one and not two.
void AddTo(ResourceAmount& total, const ResourceAmount& more) {
  if (total.amount == kUncountable || more.amount == kUncountable ||
      __builtin_add_overflow(total.amount, more.amount, &total.amount)) {
    total.amount = kUncountable;
    total.excess = 0;
    return;
  }
  total.excess += more.excess;
  if (total.excess >= kBillion) {
    total.excess -= kBillion;
    --total.amount;
  }
}

void AddTo(ResourceList& sum, const ResourceList& more) {
  for (const ResourceAmount& each : more) AddTo(EntryOf(sum, each.name), each);
}

bool IsLess(const ResourceAmount& a, const ResourceAmount& b) {
  return a.amount != b.amount ? a.amount < b.amount : a.excess > b.excess;
}

void RaiseTo(ResourceList& sum, const ResourceList& floor) {
  for (const ResourceAmount& each : floor) {
    ResourceAmount& total = EntryOf(sum, each.name);
    if (IsLess(total, each)) total = each;
  }
}

bool IsSidecar(const objects::Container& container) { return container.restart_policy == "Always"; }

// What a running container holds.  A resize that can never happen leaves it with
// what it has; any other makes the largest of wish and have count.
ResourceList HeldBy(const objects::Container& container, const objects::ContainerStatus& status,
                    bool resize_infeasible) {
  ResourceList held = status.requests;
  RaiseTo(held, status.allocated);
  if (!resize_infeasible) RaiseTo(held, container.requests);
  return held;
}

class Summer {
 public:
  Summer(const objects::Pod& pod, RequestsOf which) : pod_(pod), which_(which) {
    if (which == RequestsOf::kIncoming || pod.container_statuses.size() <= kSearchedMax) return;
    for (const objects::ContainerStatus& status : pod.container_statuses) {
      if (status.has_resources) by_name_.try_emplace(status.name, &status);
    }
  }

  void AddContainer(const objects::Container& container, ResourceList& sum) const {
    if (which_ != RequestsOf::kIncoming) {
      if (const objects::ContainerStatus* status = StatusOf(container)) {
        AddTo(sum, HeldBy(container, *status, pod_.resize_infeasible));
        return;
      }
    }
    AddTo(sum, container.requests);
  }

  void AddInitContainers(ResourceList& sum) const {
    ResourceList sidecars;
    ResourceList init_max;
    for (const objects::Container& container : pod_.init_containers) {
      if (IsSidecar(container)) {
        AddContainer(container, sum);
        AddContainer(container, sidecars);
        RaiseTo(init_max, sidecars);
        continue;
      }
      ResourceList alone = container.requests;
      AddTo(alone, sidecars);
      RaiseTo(init_max, alone);
    }
    RaiseTo(sum, init_max);
  }

  // Resources that spec.resources does not name keep their sum, whatever the status
  // says of them.
  void ReplaceWithPodLevel(ResourceList& sum) const {
    const bool held = which_ == RequestsOf::kRunning && pod_.has_pod_status_resources;
    ResourceList status;
    if (held) {
      status = pod_.pod_status_requests;
      RaiseTo(status, pod_.pod_allocated);
      if (!pod_.resize_infeasible) RaiseTo(status, pod_.pod_requests);
    }
    for (const ResourceAmount& wish : pod_.pod_requests) {
      const objects::Text name = wish.name;
      if (name != "cpu" && name != "memory" && !name.starts_with(kHugePages)) continue;
      EntryOf(sum, name) = held ? EntryOf(status, name) : wish;
    }
  }

 private:
  // Up to so many statuses are searched; more are looked up.
  static constexpr size_t kSearchedMax = 16;

  // The first status of that name that tells resources.
  [[nodiscard]] const objects::ContainerStatus* StatusOf(
      const objects::Container& container) const {
    if (pod_.container_statuses.size() > kSearchedMax) {
      const auto it = by_name_.find(container.name);
      return it == by_name_.end() ? nullptr : it->second;
    }
    for (const objects::ContainerStatus& status : pod_.container_statuses) {
      if (status.name == container.name && status.has_resources) return &status;
    }
    return nullptr;
  }

  const objects::Pod& pod_;
  const RequestsOf which_;
  absl::flat_hash_map<objects::Text, const objects::ContainerStatus*> by_name_;
};

}  // namespace

void SumPodRequests(const objects::Pod& pod, RequestsOf which, ResourceList& sum) {
  sum.clear();
  const Summer summer(pod, which);
  for (const objects::Container& container : pod.containers) summer.AddContainer(container, sum);
  if (!pod.init_containers.empty()) summer.AddInitContainers(sum);
  if (pod.has_pod_resources) summer.ReplaceWithPodLevel(sum);
  AddTo(sum, pod.overhead);
}

bool IsExtendedResource(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

bool IsScalarResource(std::string_view name) {
  return IsExtendedResource(name) || name.starts_with(kHugePages) ||
         name.find("kubernetes.io/") != std::string_view::npos ||
         name.starts_with("attachable-volumes-");
}

}  // namespace ebb
