// A workload's objects as Kubernetes' protobuf, for rows that read this form.

#ifndef EBB_BENCH_KUBERNETES_BYTES_H_
#define EBB_BENCH_KUBERNETES_BYTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb::bench {

struct KubernetesBytes {
  std::vector<std::string> pods;  // In the workload's order, each with its envelope.
  std::vector<std::string> others;
};

// The objects as client-go would marshal them: fields in the order of their numbers; fields that
// are not pointers in Go are written even if they are zero.  Fields that ebb does not read are
// missing, except those of a PodSpec.
absl::StatusOr<KubernetesBytes> ToKubernetesBytes(const std::string& workload);

}  // namespace ebb::bench

#endif  // EBB_BENCH_KUBERNETES_BYTES_H_
