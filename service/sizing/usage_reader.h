// UsageReader: what nodes and pods really use, as the Kubernetes metrics API tells it.
//
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods  > pods.json
//   kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes > nodes.json
//
//   UsageReader usage;
//   if (absl::Status s = usage.Read("pods.json", text); !s.ok()) return s;
//   usage.AddTo(seen);
//
// A pod's usage is the sum of its containers'.  Nodes and pods that are not told have none.
//
// Units:   milli-CPU, rounded up as Kubernetes rounds; bytes.
// Cost:    O(text); AddTo O(nodes + pods).
// Errors:  InvalidArgument with file, item and field; also for what is no list of the metrics API.
// Threads: one at a time; AddTo may run concurrently.

#ifndef EBB_SERVICE_SIZING_USAGE_READER_H_
#define EBB_SERVICE_SIZING_USAGE_READER_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "engine/policy/policy.h"

namespace ebb {

class UsageReader {
 public:
  absl::Status Read(const std::string& file, const std::string& json);
  void AddTo(PolicyObservation& seen) const;

  [[nodiscard]] int64_t newest_s() const { return newest_s_; }

 private:
  std::map<std::string, PolicyResources, std::less<>> pods_;  // By "namespace/name".
  std::map<std::string, PolicyResources, std::less<>> nodes_;
  int64_t newest_s_ = 0;
};

}  // namespace ebb

#endif  // EBB_SERVICE_SIZING_USAGE_READER_H_
