#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {

// The pods of each application are on consecutive nodes.  Applications follow one another, wrapping
// around at the last node.
absl::Status GenerateRepelling(const GenerateOptions& options, ObjectSink& sink) {
  const uint32_t nodes = options.nodes;
  std::vector<std::string> names;
  if (absl::Status s = WriteNodes(nodes, sink, names); !s.ok()) return s;
  constexpr uint32_t kReplicas = 5;
  std::string app;
  for (uint64_t p = 0; p < uint64_t{nodes} * 10; ++p) {
    if (p % kReplicas == 0) {
      app = absl::StrCat("app-", p / kReplicas);
      if (absl::Status s = WriteReplicaSet(app, kReplicas, sink); !s.ok()) return s;
    }
    const std::string name = absl::StrCat(app, "-", p % kReplicas);
    objects::Pod pod = ReplicaOf(app, name, names[p % nodes]);
    pod.meta.labels = {{"app", app}};
    Repel(Labelled("app", app), pod);
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace ebb::samples
