#include "engine/pass/workloads.h"

#include <cmath>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"

namespace ebb {

Workloads::Workloads(const ClusterSnapshot& snapshot) : of(snapshot.catalog().pods(), kNone) {
  const Catalog& catalog = snapshot.catalog();
  absl::flat_hash_map<std::tuple<TextId, TextId, TextId, TextId>, uint32_t> numbers;
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : snapshot.PodsOn(node)) {
      const PodShape& shape = catalog.shape_of(pod);
      if (!shape.has_controller) continue;
      const Owner& owner = shape.controller;
      const auto [it, is_new] =
          numbers.try_emplace({shape.namespace_name, owner.kind, owner.name, owner.uid},
                              static_cast<uint32_t>(pods.size()));
      if (is_new) pods.emplace_back();
      of[Index(pod)] = it->second;
      pods[it->second].push_back(pod);
    }
  });
}

int64_t PodsOfShare(size_t pods, double share) {
  constexpr double kRounding = 1e-9;  // So that 0.07 of 100 is 7.
  return static_cast<int64_t>(std::ceil(static_cast<double>(pods) * share - kRounding));
}

WorkloadShares::WorkloadShares(const ClusterSnapshot& snapshot, double share) {
  if (share >= 1) return;
  Workloads workloads(snapshot);
  for (const std::vector<PodId>& pods : workloads.pods) {
    left_.push_back(PodsOfShare(pods.size(), share));
  }
  of_ = std::move(workloads.of);
  evicted_.resize(of_.size());
}

PodId WorkloadShares::FirstTooMany(std::span<const PodId> pods) {
  if (of_.empty()) return kNoPod;
  PodId too_many = kNoPod;
  taken_.clear();
  for (const PodId pod : pods) {
    const uint32_t workload = of_[Index(pod)];
    if (workload == Workloads::kNone || evicted_[Index(pod)]) continue;
    taken_.push_back(workload);
    if (--left_[workload] >= 0) continue;
    too_many = pod;
    break;
  }
  for (const uint32_t workload : taken_) ++left_[workload];
  return too_many;
}

void WorkloadShares::Evict(std::span<const PodId> pods) {
  if (of_.empty()) return;
  for (const PodId pod : pods) {
    const uint32_t workload = of_[Index(pod)];
    if (workload == Workloads::kNone || evicted_[Index(pod)]) continue;
    EBB_DCHECK(left_[workload] > 0);
    --left_[workload];
    evicted_[Index(pod)] = true;
  }
}

}  // namespace ebb
