// Which pods a plan ignores, because the autoscaler leaves them out of its own listing; and which
// pods without a node wait for one, so that a plan must keep room for them.
//
// Source:  cluster-autoscaler utils/kubernetes/listers.go (AllPodLister,
//          ArrangePodsBySchedulability), core/podlistprocessor (expendable pods).

#ifndef EBB_SNAPSHOT_OBJECTS_LISTED_PODS_H_
#define EBB_SNAPSHOT_OBJECTS_LISTED_PODS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/objects/disruption_protection.h"
#include "snapshot/objects/objects.h"

namespace ebb {

// The default of --expendable-pods-priority-cutoff.
inline constexpr int64_t kExpendablePodsPriorityCutoff = -10;

enum class PodListing : uint8_t {
  kListed,
  kEnded,       // Phase Succeeded or Failed.
  kExpendable,  // spec.priority below the cutoff, and Karpenter does not protect the pod.
};

inline PodListing ListingOf(const objects::Pod& pod, int64_t expendable_pods_priority_cutoff) {
  if (pod.phase == "Succeeded" || pod.phase == "Failed") return PodListing::kEnded;
  const bool expendable = pod.priority && *pod.priority < expendable_pods_priority_cutoff;
  // Karpenter knows no cutoff: the annotation holds for every pod.
  if (expendable && ProtectionOf(pod)) return PodListing::kListed;
  return expendable ? PodListing::kExpendable : PodListing::kListed;
}

// Whether a pod without a node waits for one.
enum class PodWait : uint8_t {
  kWaits,         // The scheduler found no place for it, or its scheduler is bypassed.
  kNotRecorded,   // The input does not say.  Room is kept.
  kUnprocessed,   // No scheduler has tried to place it yet.  The autoscaler ignores such a pod
                  // unless its scheduler is bypassed.
  kGated,         // It has scheduling gates, so the scheduler ignores it.
  kBeingDeleted,  // It will never run.
  kOther,         // Its condition says something else: it is being bound, or the scheduler failed.
};
inline constexpr size_t kPodWaits = static_cast<size_t>(PodWait::kOther) + 1;

// `bypassed_schedulers` is the value of --bypassed-scheduler-names.
inline PodWait WaitOf(const objects::Pod& pod, std::span<const std::string> bypassed_schedulers) {
  if (pod.meta.deletion_time) return PodWait::kBeingDeleted;
  switch (pod.scheduling) {
    case objects::Scheduling::kNotRecorded:
      return PodWait::kNotRecorded;
    case objects::Scheduling::kUnschedulable:
      return PodWait::kWaits;
    case objects::Scheduling::kGated:
      return PodWait::kGated;
    case objects::Scheduling::kOther:
      return PodWait::kOther;
    case objects::Scheduling::kUnprocessed:
      break;
  }
  const std::string_view scheduler =
      pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name;
  const bool bypassed =
      std::ranges::find(bypassed_schedulers, scheduler) != bypassed_schedulers.end();
  return bypassed ? PodWait::kWaits : PodWait::kUnprocessed;
}

// Whether the pod's status has the condition PodScheduled.  If no pod of a cluster has it, the
// statuses were stripped, and any pod without it may be waiting.
inline bool HasScheduledCondition(objects::Scheduling scheduling) {
  return scheduling != objects::Scheduling::kNotRecorded &&
         scheduling != objects::Scheduling::kUnprocessed;
}

// The nomination of a pod that is being deleted takes no room.
inline bool IsNominationVoid(const objects::Pod& pod) {
  return pod.meta.deletion_time && pod.node_name.empty() && !pod.nominated_node_name.empty();
}

// Whether a plan keeps room for a pod with this state.  `recorded`: some pod of the cluster has the
// condition PodScheduled.
inline bool TakesRoom(PodWait wait, bool recorded) {
  return wait == PodWait::kWaits || wait == PodWait::kNotRecorded ||
         (wait == PodWait::kUnprocessed && !recorded);
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_LISTED_PODS_H_
