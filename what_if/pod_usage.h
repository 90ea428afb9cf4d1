// PodUsage: what containers use, from files of the metrics API or of Prometheus.
//
// Forms:   PodMetricsList, as `kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods` prints it: one
//          sample per container.  Answers of Prometheus' query and query_range whose series have
//          the labels namespace, pod and container; cpu in cores, memory in bytes.  A series is
//          about memory or cpu by its label `resource`, else by the name of its metric, else by
//          what the caller says.
// Units:   cores, bytes.
// Cost:    O(text).
// Errors:  InvalidArgument, naming file and field.
// Threads: const methods may run concurrently.

#ifndef EBB_WHAT_IF_POD_USAGE_H_
#define EBB_WHAT_IF_POD_USAGE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace ebb {

class PodUsage {
 public:
  struct Samples {
    std::vector<double> cpu;
    std::vector<double> memory;
  };
  using Containers = std::map<std::string, Samples, std::less<>>;

  // Reads one more file.  `resource`: what series are about that do not say it: "cpu", "memory", or
  // "" for an error.
  absl::Status Read(const std::string& file, const std::string& json, std::string_view resource);

  // By "namespace/name" of the pod.
  [[nodiscard]] const std::map<std::string, Containers, std::less<>>& pods() const { return pods_; }
  // Series without one of the three labels, for example of whole pods or nodes.
  [[nodiscard]] size_t unlabelled() const { return unlabelled_; }

 private:
  std::map<std::string, Containers, std::less<>> pods_;
  size_t unlabelled_ = 0;
};

// The value at this percentile, 0 to 100, by nearest rank.  REQUIRES: there are samples.
double PercentileOf(std::vector<double> samples, double percentile);

}  // namespace ebb

#endif  // EBB_WHAT_IF_POD_USAGE_H_
