// Workloads: which pods belong together because one controller made them, and how many of them a
// plan may evict where it may take a share of each workload at most.
//
//   const Workloads workloads(snapshot);
//   WorkloadShares shares(snapshot, 0.25);
//   if (shares.FirstTooMany(pods) == kNoPod) shares.Evict(pods);
//
// A workload is the pods of one controller (kind, name and UID in a namespace) that run: a
// ReplicaSet, a StatefulSet, a Job.  Pods without a controller belong to none, and no share keeps
// them.  A share is rounded up, as that of a budget's maxUnavailable is, so that one pod of every
// workload may go.
//
// Unlike a budget, which admits one more node for as long as anything is left of it, a share is
// never exceeded.
//
// Units:     pods; shares from 0 to 1.
// Cost:      O(pods) to build; FirstTooMany and Evict O(pods that are asked about).
// Threads:   const methods may run concurrently.
// Ownership: nothing is borrowed.

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
  std::vector<std::vector<PodId>> pods;  // That run, in the order of nodes.
};

// How many of `pods` a share is.
int64_t PodsOfShare(size_t pods, double share);

class WorkloadShares {
 public:
  // A share of 1 lets everything go, and costs nothing.
  WorkloadShares(const ClusterSnapshot& snapshot, double share);

  // The first of `pods`, which would be evicted together, that is too many; kNoPod: none.  A pod
  // that was evicted before is not evicted again when it moves on.
  PodId FirstTooMany(std::span<const PodId> pods);
  // REQUIRES: FirstTooMany(pods) == kNoPod.
  void Evict(std::span<const PodId> pods);

 private:
  std::vector<uint32_t> of_;     // By PodId; empty: no share was given.
  std::vector<int64_t> left_;    // By workload.
  std::vector<bool> evicted_;    // By PodId.
  std::vector<uint32_t> taken_;  // Reused: workloads of the pods that are asked about.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_WORKLOADS_H_
