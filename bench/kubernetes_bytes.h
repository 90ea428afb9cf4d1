// Objects of a workload as Kubernetes' protobuf, for rows that read it.

#ifndef EBB_BENCH_KUBERNETES_BYTES_H_
#define EBB_BENCH_KUBERNETES_BYTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb::bench {

struct KubernetesBytes {
  std::vector<std::string> pods;  // In the order of the workload, each with its envelope.
  std::vector<std::string> others;
};

// What client-go would marshal of them: fields in the order of their numbers, and those that are
// no pointers in Go also where they are zero.  Fields that ebb does not read are not there, but
// for those of a PodSpec.
absl::StatusOr<KubernetesBytes> ToKubernetesBytes(const std::string& workload);

}  // namespace ebb::bench

#endif  // EBB_BENCH_KUBERNETES_BYTES_H_
