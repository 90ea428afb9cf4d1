// What pods ask of a pool, and the signal that Clusterman makes of it itself: what runs, plus
// what cannot be scheduled.
//
// Units:   as in clusterman_resources.h; ages in seconds.
// Threads: pure.
// Source:  Clusterman, "Resources and the internal (pending pods) signal".

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_SIGNAL_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_SIGNAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sizing/policy/clusterman/clusterman_options.h"
#include "sizing/policy/clusterman/clusterman_resources.h"

namespace ebb {

enum class ClustermanPodPhase : uint8_t {
  kRunning,
  kScheduled,      // Pending, and has its node.
  kUnschedulable,  // Pending, and the scheduler said so.
  kOther,          // Counts for nothing.
};

struct ClustermanPod {
  std::string name;
  ClustermanAmounts requests{};  // By ClustermanPodRequests.
  ClustermanPodPhase phase = ClustermanPodPhase::kOther;
  bool has_pool_label = true;  // Only such pods are the pool's tasks.
  bool is_daemonset = false;
  double age_s = 0;  // Since its creation.
  // The texts of the annotations named by safe_to_evict_key and pod_safe_to_evict_annotation.
  std::optional<std::string> safe_to_evict{};
  std::optional<std::string> batch_safe_to_evict{};
};

// What the containers ask for, one after the other: 0.1 cores, 200 MB, no disk and no GPU where
// a container does not say.
ClustermanAmounts ClustermanPodRequests(const std::vector<ClustermanRequest>& containers);

// The request of the internal signal.  `margin` is the target_capacity_margin that holds.
// v2: with a pod that waits, all there is and the larger of the margin and what waits, where
// the first resource that differs says which is larger.
ClustermanRequest PendingPods(const ClustermanPendingPodsOptions& options, double margin,
                              const ClustermanAmounts& total, const ClustermanAmounts& allocated,
                              const std::vector<ClustermanPod>& unschedulable);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_SIGNAL_H_
