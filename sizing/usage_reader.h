// UsageReader: the actual resource usage of nodes and pods, from the Kubernetes metrics API.
//
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods  > pods.json
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes > nodes.json
//
//   UsageReader usage;
//   if (absl::Status s = usage.Read("pods.json", text); !s.ok()) return s;
//   if (absl::Status s = usage.AddTo(seen, now_s, pool.signal_period_s); !s.ok()) return s;
//
// A pod's usage is the sum of its containers'.  Nodes and pods that the input does not list have no
// usage.  Usage without a timestamp is valid at any time.  Usage with a timestamp is rejected if it
// is more than one period before or after `now_s`.
//
// Units:   milli-CPU, rounded up as in Kubernetes; bytes.
// Cost:    O(text); AddTo O(nodes + pods).
// Errors:  InvalidArgument with file, item and field, also if the input is not a list of the
//          metrics API.  FailedPrecondition: usage of the pool is from another time.
// Threads: one at a time; AddTo may run concurrently.

#ifndef EBB_SIZING_USAGE_READER_H_
#define EBB_SIZING_USAGE_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "sizing/policy/policy.h"

namespace ebb {

// How old usage may be if the pool has no signalPeriod.  metrics-server measures every 15 seconds,
// and slow kubelets every minute; this is many times as long as either.
inline constexpr int64_t kUsagePeriodS = 600;

class UsageReader {
 public:
  absl::Status Read(const std::string& file, const std::string& json);
  // `period_s` 0 means kUsagePeriodS.
  [[nodiscard]] absl::Status AddTo(PolicyObservation& seen, int64_t now_s, int64_t period_s) const;

  [[nodiscard]] int64_t newest_s() const { return newest_s_; }

 private:
  struct Used {
    PolicyResources amounts;
    std::optional<int64_t> at_s;
  };
  std::map<std::string, Used, std::less<>> pods_;  // By "namespace/name".
  std::map<std::string, Used, std::less<>> nodes_;
  int64_t newest_s_ = 0;
};

}  // namespace ebb

#endif  // EBB_SIZING_USAGE_READER_H_
