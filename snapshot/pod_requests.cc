#include "snapshot/pod_requests.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "snapshot/quantity.h"

namespace ebb {
namespace {

using objects::ResourceAmount;
using objects::ResourceList;

constexpr std::string_view kHugePages = "hugepages-";

// The amounts of a list by name.  A name that is not in the list is appended to it.
class Amounts {
 public:
  // Nobody else may add to `list` meanwhile.
  explicit Amounts(ResourceList& list) : list_(list) {}

  // Valid until the next one is put there.
  ResourceAmount& Of(objects::Text name) {
    if (list_.size() > kSearchedMax) return LookUp(name);
    for (ResourceAmount& entry : list_) {
      if (entry.name == name) return entry;
    }
    return list_.emplace_back(ResourceAmount{name});
  }

 private:
  // Lists up to this length, which nearly all are, are searched; longer ones get an index.
  static constexpr size_t kSearchedMax = 16;

  ResourceAmount& LookUp(objects::Text name) {
    if (!places_) {
      places_.emplace();
      for (size_t i = 0; i < list_.size(); ++i) places_->try_emplace(list_[i].name, i);
    }
    const auto [it, is_new] = places_->try_emplace(name, list_.size());
    return is_new ? list_.emplace_back(ResourceAmount{name}) : list_[it->second];
  }

  ResourceList& list_;
  // Of all in list_, once there are many.
  std::optional<absl::flat_hash_map<objects::Text, size_t>> places_;
};

// Exact, so that two halves of a unit make one and not two.
void AddTo(ResourceAmount& total, const ResourceAmount& more) {
  if (total.amount == kUncountable || more.amount == kUncountable ||
      __builtin_add_overflow(total.amount, more.amount, &total.amount)) {
    total.amount = kUncountable;
    total.excess = 0;
    return;
  }
  total.excess += more.excess;
  if (total.excess >= kNanosPerUnit) {
    total.excess -= kNanosPerUnit;
    --total.amount;
  }
}

void AddTo(Amounts& sum, const ResourceList& more) {
  for (const ResourceAmount& each : more) AddTo(sum.Of(each.name), each);
}

bool IsLess(const ResourceAmount& a, const ResourceAmount& b) {
  return a.amount != b.amount ? a.amount < b.amount : a.excess > b.excess;
}

void RaiseTo(Amounts& sum, const ResourceAmount& floor) {
  ResourceAmount& total = sum.Of(floor.name);
  if (IsLess(total, floor)) total = floor;
}

void RaiseTo(Amounts& sum, const ResourceList& floor) {
  for (const ResourceAmount& each : floor) RaiseTo(sum, each);
}

bool IsSidecar(const objects::Container& container) { return container.restart_policy == "Always"; }

// What a running container holds.  A resize that can never happen leaves it with
// what it has; any other makes the larger of requested and allocated count.
ResourceList HeldBy(const objects::Container& container, const objects::ContainerStatus& status,
                    bool resize_infeasible) {
  ResourceList held = status.requests;
  Amounts amounts(held);
  RaiseTo(amounts, status.allocated);
  if (!resize_infeasible) RaiseTo(amounts, container.requests);
  return held;
}

bool Names(const ResourceList& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const ResourceAmount& each) { return each.name == name; });
}

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePages);
}

bool HasPodLevelRequests(const objects::Pod& pod) {
  return pod.has_pod_resources &&
         std::ranges::any_of(pod.pod_requests, [](const ResourceAmount& each) {
           return IsPodLevelResource(each.name);
         });
}

// What a container asks for that does not say.
ResourceList DefaultRequests(const objects::Pod& pod, RequestsOf which) {
  if (which != RequestsOf::kScoredRunning && which != RequestsOf::kScoredIncoming) return {};
  ResourceList defaults = {{"cpu", kDefaultCpuRequestMilli},
                           {"memory", kDefaultMemoryRequestBytes}};
  if (which == RequestsOf::kScoredRunning && HasPodLevelRequests(pod)) {
    ResourceList sum;
    SumPodRequests(pod, RequestsOf::kRunning, sum);
    std::erase_if(defaults, [&](const ResourceAmount& each) { return Names(sum, each.name); });
  }
  return defaults;
}

class Summer {
 public:
  Summer(const objects::Pod& pod, RequestsOf which)
      : pod_(pod), which_(which), defaults_(DefaultRequests(pod, which)) {
    if (IsIncoming() || pod.container_statuses.size() <= kSearchedMax) return;
    for (const objects::ContainerStatus& status : pod.container_statuses) {
      if (status.has_resources) by_name_.try_emplace(status.name, &status);
    }
  }

  void AddContainer(const objects::Container& container, Amounts& sum) const {
    if (const objects::ContainerStatus* status = StatusOf(container)) {
      AddAll(HeldBy(container, *status, pod_.resize_infeasible), sum);
    } else {
      AddAll(container.requests, sum);
    }
  }

  void AddInitContainers(Amounts& sum) const {
    ResourceList sidecars;
    ResourceList init_max;
    Amounts of_sidecars(sidecars);
    Amounts most(init_max);
    // `most` is never less than `of_sidecars`: an amount that a container does not change need not
    // be compared again.
    for (const objects::Container& container : pod_.init_containers) {
      if (IsSidecar(container)) {
        ResourceList own;
        Amounts of_own(own);
        AddContainer(container, of_own);
        AddTo(sum, own);
        AddTo(of_sidecars, own);
        for (const ResourceAmount& each : own) RaiseTo(most, of_sidecars.Of(each.name));
        continue;
      }
      const auto raise = [&](const ResourceList& requests) {
        for (ResourceAmount alone : requests) {
          AddTo(alone, of_sidecars.Of(alone.name));
          RaiseTo(most, alone);
        }
      };
      raise(container.requests);
      raise(MissingIn(container.requests));
    }
    RaiseTo(sum, init_max);
  }

  // Resources that spec.resources does not name keep their sum, whatever the status
  // says of them.
  void ReplaceWithPodLevel(Amounts& sum) const {
    const bool held = (which_ == RequestsOf::kRunning || which_ == RequestsOf::kScoredRunning) &&
                      pod_.has_pod_status_resources;
    ResourceList status;
    if (held) status = pod_.pod_status_requests;
    Amounts of_status(status);
    if (held) {
      RaiseTo(of_status, pod_.pod_allocated);
      if (!pod_.resize_infeasible) RaiseTo(of_status, pod_.pod_requests);
    }
    for (const ResourceAmount& wish : pod_.pod_requests) {
      const objects::Text name = wish.name;
      if (!IsPodLevelResource(name)) continue;
      sum.Of(name) = held ? of_status.Of(name) : wish;
    }
  }

 private:
  [[nodiscard]] bool IsIncoming() const {
    return which_ == RequestsOf::kIncoming || which_ == RequestsOf::kScoredIncoming;
  }

  // The defaults for what a container's list does not name.
  [[nodiscard]] ResourceList MissingIn(const ResourceList& list) const {
    ResourceList missing;
    for (const ResourceAmount& each : defaults_) {
      if (!Names(list, each.name)) missing.push_back(each);
    }
    return missing;
  }

  void AddAll(const ResourceList& requests, Amounts& sum) const {
    AddTo(sum, requests);
    AddTo(sum, MissingIn(requests));
  }

  // Up to this many statuses are searched; more get an index.
  static constexpr size_t kSearchedMax = 16;

  // The first status of that name that tells resources.  Null: none counts.
  [[nodiscard]] const objects::ContainerStatus* StatusOf(
      const objects::Container& container) const {
    if (IsIncoming()) return nullptr;
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
  const ResourceList defaults_;
  absl::flat_hash_map<objects::Text, const objects::ContainerStatus*> by_name_;
};

}  // namespace

void SumPodRequests(const objects::Pod& pod, RequestsOf which, ResourceList& sum) {
  sum.clear();
  Amounts amounts(sum);
  const Summer summer(pod, which);
  for (const objects::Container& container : pod.containers) {
    summer.AddContainer(container, amounts);
  }
  if (!pod.init_containers.empty()) summer.AddInitContainers(amounts);
  if (pod.has_pod_resources && which != RequestsOf::kScoredIncoming)
    summer.ReplaceWithPodLevel(amounts);
  AddTo(amounts, pod.overhead);
}

bool IsScoredOtherwise(const objects::Pod& pod) {
  const auto leaves_out = [](const objects::Container& container) {
    return !Names(container.requests, "cpu") || !Names(container.requests, "memory");
  };
  return pod.has_pod_resources || !pod.container_statuses.empty() ||
         std::ranges::any_of(pod.containers, leaves_out) ||
         std::ranges::any_of(pod.init_containers, leaves_out);
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
