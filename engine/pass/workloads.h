// Workloads: which pods belong to the same controller, and how many of them a plan may evict if it
// is limited to a share of each workload.
//
//   const Workloads workloads(snapshot);
//   WorkloadShares shares(snapshot, 0.25);
//   if (shares.FirstTooMany(pods) == kNoPod) shares.Evict(pods);
//
// A workload is the running pods of one controller (kind, name and UID in a namespace), such as a
// ReplicaSet, a StatefulSet or a Job.  Pods without a controller belong to no workload and are not
// limited.  A share is rounded up, like a PodDisruptionBudget's maxUnavailable, so that at least
// one pod of every workload may be evicted.
//
// A PodDisruptionBudget admits one more node as long as at least one disruption is left.  A share,
// in contrast, is never exceeded.
//
// Units:     pods; shares from 0 to 1.
// Cost:      O(pods) to build; FirstTooMany and Evict O(pods of the argument).
// Threads:   const methods may run concurrently.
// Ownership: borrows nothing.

#ifndef EBB_ENGINE_PASS_WORKLOADS_H_
#define EBB_ENGINE_PASS_WORKLOADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct Workloads {
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit Workloads(const ClusterSnapshot& snapshot);

  std::vector<uint32_t> of;              // By PodId: index in `pods`, or kNone.
  std::vector<std::vector<PodId>> pods;  // Running pods, in the order of nodes.
};

// The number of pods in a share of `pods` pods.
int64_t PodsOfShare(size_t pods, double share);

class WorkloadShares {
 public:
  // A share of 1 limits nothing and costs nothing.
  WorkloadShares(const ClusterSnapshot& snapshot, double share);

  // The first of `pods` that exceeds its workload's share if all of them are evicted together;
  // kNoPod: none does.  A pod that was evicted before does not count again when it moves on.
  PodId FirstTooMany(std::span<const PodId> pods);
  // REQUIRES: FirstTooMany(pods) == kNoPod.
  void Evict(std::span<const PodId> pods);

 private:
  std::vector<uint32_t> of_;     // By PodId; empty: no share is limited.
  std::vector<int64_t> left_;    // By workload: how many more pods may be evicted.
  std::vector<bool> evicted_;    // By PodId.
  std::vector<uint32_t> taken_;  // Reused: workloads of the pods of FirstTooMany.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_WORKLOADS_H_
