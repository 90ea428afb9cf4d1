#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {

// A pod of an application repels the application's other pods from its node, and from a zone that
// would then have more than two pods more than another zone.  The pods of an application are seven
// nodes apart.
absl::Status GenerateTopology(const GenerateOptions& options, ObjectSink& sink) {
  const uint32_t nodes = options.nodes;
  static constexpr std::array<std::string_view, 3> kZones = {"z0", "z1", "z2"};
  static constexpr std::array<int, 5> kReplicas = {3, 5, 10, 20, 30};
  std::vector<std::string> names;
  for (uint32_t n = 0; n < nodes; ++n) {
    names.push_back(absl::StrCat("node-", n));
    objects::Node node = NodeOf(names.back(), 8000, 32768);
    node.meta.labels.push_back({kZone, kZones[n % kZones.size()]});
    if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
  }
  Random random(options.seed);
  for (uint32_t a = 0; a < nodes * 3 / 5; ++a) {
    const std::string app = absl::StrCat("app-", a);
    const int replicas = kReplicas[random.Below(kReplicas.size())];
    const uint64_t first = random.Below(nodes);
    if (absl::Status s = WriteReplicaSet(app, replicas, sink); !s.ok()) return s;
    for (int r = 0; r < replicas; ++r) {
      const std::string name = absl::StrCat(app, "-", r);
      objects::Pod pod =
          PodOf("default", name, name, names[(first + uint64_t{7} * r) % nodes], 250, 512);
      pod.meta.labels = {{"app", app}};
      pod.meta.owners = {{"apps/v1", "ReplicaSet", app, app, true}};
      Repel(Labelled("app", app), pod);
      SpreadOverZones(Labelled("app", app), 2, pod);
      if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

}  // namespace ebb::samples
