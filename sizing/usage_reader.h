// UsageReader: what nodes and pods really use, as the Kubernetes metrics API tells it.
//
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods  > pods.json
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes > nodes.json
//
//   UsageReader usage;
//   if (absl::Status s = usage.Read("pods.json", text); !s.ok()) return s;
//   if (absl::Status s = usage.AddTo(seen, now_s, pool.signal_period_s); !s.ok()) return s;
//
// A pod's usage is the sum of its containers'.  Nodes and pods that are not told have none.  What
// has no timestamp is of any time; what has one is refused from one period before or after on.
//
// Units:   milli-CPU, rounded up as Kubernetes rounds; bytes.
// Cost:    O(text); AddTo O(nodes + pods).
// Errors:  InvalidArgument with file, item and field; also for what is no list of the metrics API.
//          FailedPrecondition: figures of the pool are of another time.
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

// How old figures of use may be where the pool says nothing.  metrics-server measures every 15
// seconds, kubelets that are asked seldom every minute: it is many times either.
inline constexpr int64_t kUsagePeriodS = 600;

class UsageReader {
 public:
  absl::Status Read(const std::string& file, const std::string& json);
  // `period_s` 0: kUsagePeriodS.
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
