// The requests of pods, and the internal signal that Clusterman computes from them: the resources
// in use plus those of the pods that cannot be scheduled.
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
  kScheduled,      // Pending, and bound to a node.
  kUnschedulable,  // Pending, and the scheduler found no node for it.
  kOther,          // Not counted.
};

struct ClustermanPod {
  std::string name;
  ClustermanAmounts requests{};  // As ClustermanPodRequests computes them.
  ClustermanPodPhase phase = ClustermanPodPhase::kOther;
  bool has_pool_label = true;  // Only pods with the label are tasks of the pool.
  bool is_daemonset = false;
  double age_s = 0;  // Since its creation.
  // The values of the annotations named by safe_to_evict_key and pod_safe_to_evict_annotation.
  std::optional<std::string> safe_to_evict{};
  std::optional<std::string> batch_safe_to_evict{};
};

// The sum of the containers' requests.  A container without a request counts as 0.1 cores, 200 MB,
// no disk and no GPU.
ClustermanAmounts ClustermanPodRequests(const std::vector<ClustermanRequest>& containers);

// The request of the internal signal.  `waiting` is the sum of the unschedulable pods' requests,
// times pending_pods_multiplier.
// - v1: allocated + waiting.
// - v2 with an unschedulable pod: total + the larger of total * margin and waiting.  The first
//   resource that differs decides which is larger.
// - v2 without one: allocated.
ClustermanRequest PendingPods(const ClustermanPendingPodsOptions& options, double margin,
                              const ClustermanAmounts& total, const ClustermanAmounts& allocated,
                              const std::vector<ClustermanPod>& unschedulable);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_SIGNAL_H_
