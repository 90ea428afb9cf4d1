// Clusters of one ReplicaSet, "web".

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {
namespace {

constexpr uint32_t kWebPodsPerNode = 10;

// Writes pods "web-0", "web-1", ..., each with its own label `id`, and a tenth as many nodes.
// Calls `change` with each pod and its name before the pod is written.
absl::Status WriteWebPods(
    uint32_t pods, ObjectSink& sink,
    const std::function<absl::Status(objects::Pod&, std::string_view)>& change) {
  const uint32_t nodes = std::max(1U, pods / kWebPodsPerNode);
  std::vector<std::string> names;
  if (absl::Status s = WriteNodes(nodes, sink, names); !s.ok()) return s;
  if (absl::Status s = WriteReplicaSet("web", pods, sink); !s.ok()) return s;
  for (uint32_t p = 0; p < pods; ++p) {
    const std::string name = absl::StrCat("web-", p);
    objects::Pod pod = ReplicaOf("web", name, names[p % nodes]);
    pod.meta.labels = {{"id", name}};
    if (absl::Status s = change(pod, name); !s.ok()) return s;
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GenerateTerms(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [](objects::Pod& pod, std::string_view name) {
    pod.meta.labels = {{"app", "web"}, {"id", name}};
    Repel({.nil = false, .match_labels = pod.meta.labels, .match_expressions = {}}, pod);
    return absl::OkStatus();
  });
}

absl::Status GenerateExcluding(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [](objects::Pod& pod, std::string_view name) {
    Repel({.nil = false, .match_labels = {}, .match_expressions = {{"id", "NotIn", {name}}}}, pod);
    return absl::OkStatus();
  });
}

absl::Status GenerateBudgets(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [&](objects::Pod&, std::string_view name) {
    objects::PodDisruptionBudget budget;
    budget.meta.namespace_name = "default";
    budget.meta.name = name;
    budget.selector.nil = false;
    budget.disruptions_allowed = 1;
    return sink.OnPodDisruptionBudget(budget);
  });
}

absl::Status GenerateClaims(uint32_t pods, ObjectSink& sink) {
  objects::StorageClass local;
  local.meta.name = "local";
  local.provisioner = "kubernetes.io/no-provisioner";
  local.volume_binding_mode = "WaitForFirstConsumer";
  if (absl::Status s = sink.OnStorageObject(local); !s.ok()) return s;
  return WriteWebPods(pods, sink, [&](objects::Pod& pod, std::string_view name) {
    objects::PersistentVolume volume;
    volume.meta.name = name;
    volume.storage_class_name = "local";
    volume.capacity_bytes = int64_t{1} << 30;
    volume.access_modes = {"ReadWriteOnce"};
    volume.source = "local";
    volume.phase = "Available";
    volume.required_node_affinity.nil = false;
    volume.required_node_affinity.terms = {{{{kHostname, "In", {pod.node_name}}}, {}}};
    if (absl::Status s = sink.OnStorageObject(volume); !s.ok()) return s;
    objects::PersistentVolumeClaim claim;
    claim.meta.namespace_name = "default";
    claim.meta.name = name;
    claim.meta.uid = name;
    claim.storage_class_name = "local";
    claim.access_modes = {"ReadWriteOnce"};
    claim.request_bytes = int64_t{1} << 30;
    claim.phase = "Pending";
    if (absl::Status s = sink.OnStorageObject(claim); !s.ok()) return s;
    objects::Volume& mounted = pod.volumes.emplace_back();
    mounted.name = "data";
    mounted.source = "persistentVolumeClaim";
    mounted.claim_name = name;
    return absl::OkStatus();
  });
}

absl::Status GenerateTerms(const GenerateOptions& options, ObjectSink& sink) {
  return GenerateTerms(options.nodes * kWebPodsPerNode, sink);
}

absl::Status GenerateExcluding(const GenerateOptions& options, ObjectSink& sink) {
  return GenerateExcluding(options.nodes * kWebPodsPerNode, sink);
}

absl::Status GenerateBudgets(const GenerateOptions& options, ObjectSink& sink) {
  return GenerateBudgets(options.nodes * kWebPodsPerNode, sink);
}

absl::Status GenerateClaims(const GenerateOptions& options, ObjectSink& sink) {
  return GenerateClaims(options.nodes * kWebPodsPerNode, sink);
}

}  // namespace ebb::samples
