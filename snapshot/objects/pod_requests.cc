#include "snapshot/objects/pod_requests.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "snapshot/objects/quantity.h"

namespace ebb {
namespace {

using objects::ResourceAmount;
using objects::ResourceList;

constexpr std::string_view kHugePages = "hugepages-";

// Finds the amounts of a list by name.  Appends a name that the list lacks.
class Amounts {
 public:
  // No other code may add to `list` while this object is used.
  explicit Amounts(ResourceList& list) : list_(list) {}

  // The result is valid until the next name is appended.
  ResourceAmount& Of(objects::Text name) {
    if (list_.size() > kSearchedMax) return LookUp(name);
    for (ResourceAmount& entry : list_) {
      if (entry.name == name) return entry;
    }
    return list_.emplace_back(ResourceAmount{name});
  }

 private:
  // Nearly all lists are at most this long and are searched; longer ones get an index, so that odd
  // input does not cost the square of its size.  Not tuned: other values were not compared.
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
  // The place in list_ of each name; made when the list becomes long.
  std::optional<absl::flat_hash_map<objects::Text, size_t>> places_;
};

// Adds exactly, so that two halves of a unit make one unit and not two.
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

// The amounts that a running container holds: the larger of requested, allocated and in force.
// An infeasible resize leaves the container with what it has, so the request does not count.
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

// The requests of a container that names none, for scores.
ResourceList DefaultRequests(const objects::Pod& pod, RequestsOf which, KubernetesVersion version) {
  if (which != RequestsOf::kScoredRunning && which != RequestsOf::kScoredIncoming) return {};
  ResourceList defaults = {{"cpu", kDefaultCpuRequestMilli},
                           {"memory", kDefaultMemoryRequestBytes}};
  if (which == RequestsOf::kScoredRunning && HasPodLevelRequests(pod)) {
    ResourceList sum;
    SumPodRequests(pod, RequestsOf::kRunning, sum, version);
    std::erase_if(defaults, [&](const ResourceAmount& each) { return Names(sum, each.name); });
  }
  return defaults;
}

bool IsOfSpec(RequestsOf which) {
  return which == RequestsOf::kIncoming || which == RequestsOf::kScoredIncoming;
}

// Whether pod-level amounts of the status count.
bool IsOfPodStatus(RequestsOf which) {
  return which == RequestsOf::kRunning || which == RequestsOf::kScoredRunning;
}

// Which of its amounts a container counts with.
enum class Amount : uint8_t {
  kRequested,  // Its spec.
  kLargest,    // Rule of 1.36: the largest of spec, allocated and in force; init containers: spec.
  kAllocated,  // status.allocatedResources; without it the spec, or nothing if resize_infeasible.
  kInForce,    // status.resources; without it as kAllocated.
};

// Adds up the containers of a pod, each with the amount that `amount` names.
class Summer {
 public:
  Summer(const objects::Pod& pod, Amount amount, const ResourceList& defaults)
      : pod_(pod), amount_(amount), defaults_(defaults) {
    if (amount == Amount::kRequested || pod.container_statuses.size() <= kSearchedMax) return;
    for (const objects::ContainerStatus& status : pod.container_statuses) {
      if (Counts(status)) by_name_.try_emplace(status.name, &status);
    }
  }

  void AddContainers(Amounts& sum) const {
    for (const objects::Container& container : pod_.containers) AddContainer(container, sum);
    if (!pod_.init_containers.empty()) AddInitContainers(sum);
  }

 private:
  void AddContainer(const objects::Container& container, Amounts& sum) const {
    ResourceList held;
    const ResourceList& requests = RequestsFor(container, held);
    AddTo(sum, requests);
    AddTo(sum, MissingIn(requests));
  }

  void AddInitContainers(Amounts& sum) const {
    ResourceList sidecars;
    ResourceList init_max;
    Amounts of_sidecars(sidecars);
    Amounts most(init_max);
    // `most` is never less than `of_sidecars`, so only the amounts that a container changes must
    // be compared.
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
      ResourceList held;
      const ResourceList& requests =
          amount_ == Amount::kLargest ? container.requests : RequestsFor(container, held);
      raise(requests);
      raise(MissingIn(requests));
    }
    RaiseTo(sum, init_max);
  }

  // `held` is storage for the result, which is used if needed.
  const ResourceList& RequestsFor(const objects::Container& container, ResourceList& held) const {
    static const auto* const kNothing = new ResourceList();
    if (amount_ == Amount::kRequested) return container.requests;
    const objects::ContainerStatus* const status = StatusOf(container);
    if (amount_ == Amount::kLargest) {
      if (status == nullptr) return container.requests;
      held = HeldBy(container, *status, pod_.resize_infeasible);
      return held;
    }
    if (status != nullptr && amount_ == Amount::kInForce && status->has_resources &&
        !status->requests.empty()) {
      return status->requests;
    }
    if (status != nullptr && !status->allocated.empty()) return status->allocated;
    return pod_.resize_infeasible ? *kNothing : container.requests;
  }

  // The defaults for the resources that a container's list does not name.
  [[nodiscard]] ResourceList MissingIn(const ResourceList& list) const {
    ResourceList missing;
    for (const ResourceAmount& each : defaults_) {
      if (!Names(list, each.name)) missing.push_back(each);
    }
    return missing;
  }

  // Up to this many statuses are searched one by one; for more an index is made.  A search for each
  // of 10,000 containers took 0.4 s.  Not tuned: other values were not compared.
  static constexpr size_t kSearchedMax = 16;

  // By the rules of 1.36 a status without resources is ignored.
  [[nodiscard]] bool Counts(const objects::ContainerStatus& status) const {
    return status.has_resources || amount_ != Amount::kLargest;
  }

  // The first status with the container's name that counts; null if none exists.
  [[nodiscard]] const objects::ContainerStatus* StatusOf(
      const objects::Container& container) const {
    if (pod_.container_statuses.size() > kSearchedMax) {
      const auto it = by_name_.find(container.name);
      return it == by_name_.end() ? nullptr : it->second;
    }
    for (const objects::ContainerStatus& status : pod_.container_statuses) {
      if (status.name == container.name && Counts(status)) return &status;
    }
    return nullptr;
  }

  const objects::Pod& pod_;
  const Amount amount_;
  const ResourceList& defaults_;
  absl::flat_hash_map<objects::Text, const objects::ContainerStatus*> by_name_;
};

// Replaces sums by pod-level resources.  A resource that spec.resources does not name keeps its
// sum, whatever the status says.
void ReplaceWithPodLevel136(const objects::Pod& pod, RequestsOf which, Amounts& sum) {
  const bool held = IsOfPodStatus(which) && pod.has_pod_status_resources;
  ResourceList status;
  if (held) status = pod.pod_status_requests;
  Amounts of_status(status);
  if (held) {
    RaiseTo(of_status, pod.pod_allocated);
    if (!pod.resize_infeasible) RaiseTo(of_status, pod.pod_requests);
  }
  for (const ResourceAmount& wish : pod.pod_requests) {
    const objects::Text name = wish.name;
    if (!IsPodLevelResource(name)) continue;
    sum.Of(name) = held ? of_status.Of(name) : wish;
  }
}

// As above, but once the spec names a pod-level resource, resources in the status count too.
void ReplaceWithPodLevel137(const objects::Pod& pod, RequestsOf which, Amounts& sum) {
  if (!HasPodLevelRequests(pod)) return;
  const bool held = IsOfPodStatus(which) && pod.has_pod_status_resources;
  ResourceList level;
  if (!held || !pod.resize_infeasible) level = pod.pod_requests;
  Amounts of_level(level);
  if (held) {
    RaiseTo(of_level, pod.pod_status_requests);
    RaiseTo(of_level, pod.pod_allocated);
  }
  for (const ResourceAmount& each : level) {
    if (IsPodLevelResource(each.name)) sum.Of(each.name) = each;
  }
}

// Adds what a pod on a node holds by the rules of 1.37.  If the status has totals for the pod,
// these replace the containers' amounts; they already include what devices claim.
void AddHeldTotals(const objects::Pod& pod, RequestsOf which, const ResourceList& defaults,
                   Amounts& sum) {
  const auto raise_to_total_of = [&](Amount amount) {
    ResourceList total;
    Amounts of_total(total);
    Summer(pod, amount, defaults).AddContainers(of_total);
    AddTo(of_total, pod.claimed);
    RaiseTo(sum, total);
  };
  if (!pod.resize_infeasible) raise_to_total_of(Amount::kRequested);
  if (IsOfPodStatus(which) && !pod.pod_allocated.empty() && pod.has_pod_status_resources &&
      !pod.pod_status_requests.empty()) {
    RaiseTo(sum, pod.pod_allocated);
    RaiseTo(sum, pod.pod_status_requests);
    return;
  }
  raise_to_total_of(Amount::kAllocated);
  raise_to_total_of(Amount::kInForce);
}

}  // namespace

void SumPodRequests(const objects::Pod& pod, RequestsOf which, ResourceList& sum,
                    KubernetesVersion version) {
  sum.clear();
  Amounts amounts(sum);
  const ResourceList defaults = DefaultRequests(pod, which, version);
  const bool newer = version >= KubernetesVersion::k137;
  if (newer && !IsOfSpec(which)) {
    AddHeldTotals(pod, which, defaults, amounts);
  } else {
    const Amount amount = IsOfSpec(which) ? Amount::kRequested : Amount::kLargest;
    Summer(pod, amount, defaults).AddContainers(amounts);
    if (!IsOfSpec(which)) AddTo(amounts, pod.claimed);
  }
  if (pod.has_pod_resources && which != RequestsOf::kScoredIncoming) {
    newer ? ReplaceWithPodLevel137(pod, which, amounts)
          : ReplaceWithPodLevel136(pod, which, amounts);
  }
  AddTo(amounts, pod.overhead);
}

bool StatusEqualsSpec(const objects::Pod& pod) {
  // By the rules of 1.37 an infeasible resize leaves a pod with what its status says, even if the
  // status says nothing.
  if (pod.resize_infeasible || pod.has_pod_status_resources) return false;
  // A list that is missing or empty leaves the spec's amounts.
  const auto says_the_same = [](const ResourceList& status, const ResourceList& spec) {
    const auto same = [](const ResourceAmount& a, const ResourceAmount& b) {
      return a.name == b.name && a.amount == b.amount && a.excess == b.excess;
    };
    return status.empty() || std::ranges::equal(status, spec, same);
  };
  return std::ranges::all_of(pod.container_statuses, [&](const objects::ContainerStatus& status) {
    for (const auto* const containers : {&pod.containers, &pod.init_containers}) {
      for (const objects::Container& each : *containers) {
        if (each.name != status.name) continue;
        if (!says_the_same(status.requests, each.requests) ||
            !says_the_same(status.allocated, each.requests)) {
          return false;
        }
      }
    }
    return true;
  });
}

bool IsScoredOtherwise(const objects::Pod& pod) {
  const auto leaves_out = [](const objects::Container& container) {
    return !Names(container.requests, "cpu") || !Names(container.requests, "memory");
  };
  return pod.has_pod_resources || !pod.container_statuses.empty() || !pod.claimed.empty() ||
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
