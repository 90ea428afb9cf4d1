#include "sizing/policy/clusterman/clusterman_signal.h"

#include <algorithm>
#include <cstddef>

namespace ebb {
namespace {

constexpr ClustermanAmounts kUnsaid = {0.1, 200, 0, 0};

}  // namespace

ClustermanAmounts ClustermanPodRequests(const std::vector<ClustermanRequest>& containers) {
  ClustermanAmounts sum{};
  for (const ClustermanRequest& container : containers) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += container[i].value_or(kUnsaid[i]);
  }
  return sum;
}

ClustermanRequest PendingPods(const ClustermanPendingPodsOptions& options, double margin,
                              const ClustermanAmounts& total, const ClustermanAmounts& allocated,
                              const std::vector<ClustermanPod>& unschedulable) {
  ClustermanAmounts waiting{};
  bool any = false;
  for (const ClustermanPod& pod : unschedulable) {
    const bool too_old = options.v2 && options.pending_pods_max_scheduling_seconds &&
                         pod.age_s > *options.pending_pods_max_scheduling_seconds;
    if (too_old) continue;
    any = true;
    Add(Times(pod.requests, options.pending_pods_multiplier), waiting);
  }

  ClustermanAmounts request = waiting;
  if (options.v2 && any) {
    // std::max compares resource by resource: the first that differs decides.
    request = std::max(Times(total, margin), waiting);
    Add(total, request);
  } else if (options.v2) {
    request = allocated;
  } else {
    Add(allocated, request);
  }
  return AsRequest(request);
}

}  // namespace ebb
