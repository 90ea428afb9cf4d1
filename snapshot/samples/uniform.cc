#include <string>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {

absl::Status GenerateUniform(uint32_t nodes, uint32_t pods_per_node, ObjectSink& sink) {
  for (uint32_t n = 0; n < nodes; ++n) {
    const std::string name = absl::StrCat("ng1-node-", n);
    if (absl::Status s = sink.OnNode(NodeOf(name, 10000, 10000)); !s.ok()) return s;
  }
  objects::Pod pod = PodOf("default", "", "", "", 100, 100);
  pod.meta.annotations = {{kSafeToEvict, "true"}};
  for (uint64_t p = 0; p < uint64_t{nodes} * pods_per_node; ++p) {
    const std::string name = absl::StrCat("pod-", p);
    const std::string uid = absl::StrCat("p-default-", name);
    const std::string node = absl::StrCat("ng1-node-", p % nodes);
    pod.meta.name = name;
    pod.meta.uid = uid;
    pod.node_name = node;
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status GenerateUniform(const GenerateOptions& options, ObjectSink& sink) {
  return GenerateUniform(options.nodes, 40, sink);
}

}  // namespace ebb::samples
