#include "bench/device_workload.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "snapshot/objects/objects.h"
#include "snapshot/samples/devices.h"

namespace ebb::bench {
namespace {

constexpr int64_t kCreated = 1'780'000'000;

absl::Status GiveNode(const std::string& name, ObjectSink& sink) {
  objects::Node node;
  node.meta.name = name;
  node.meta.creation_time = kCreated;
  node.allocatable = {{"cpu", 64'000}, {"memory", int64_t{256} << 30}, {"pods", 110}};
  node.capacity = node.allocatable;
  node.conditions = {{.type = "Ready", .status = "True"}};
  return sink.OnNode(node);
}

absl::Status GivePod(const std::string& name, const std::string& node, ObjectSink& sink) {
  const std::string uid = absl::StrCat("uid-", name);
  objects::Pod pod;
  pod.meta.namespace_name = "default";
  pod.meta.name = name;
  pod.meta.uid = uid;
  pod.meta.creation_time = kCreated;
  pod.meta.owners = {{.api_version = "apps/v1",
                      .kind = "ReplicaSet",
                      .name = "train",
                      .uid = "train",
                      .controller = true}};
  pod.node_name = node;
  pod.phase = "Running";
  pod.containers.emplace_back().requests = {{"cpu", 500}};
  return sink.OnPod(pod);
}

absl::Status GiveController(int64_t pods, ObjectSink& sink) {
  objects::Controller controller;
  controller.kind = objects::ControllerKind::kReplicaSet;
  controller.meta.namespace_name = "default";
  controller.meta.name = "train";
  controller.meta.uid = "train";
  controller.spec_replicas = pods;
  controller.status_replicas = pods;
  return sink.OnController(controller);
}

}  // namespace

absl::Status GenerateDevices(uint32_t nodes, ObjectSink& to) {
  samples::DeviceSink sink({.one_product = true}, to);
  int64_t pods = 0;
  for (uint32_t n = 0; n < nodes; ++n) {
    const std::string node = absl::StrCat("node-", n);
    if (absl::Status s = GiveNode(node, sink); !s.ok()) return s;
    const uint32_t used = samples::kDevicesOfNode / 2 - (n % 5 == 0 ? 0 : 1);
    for (uint32_t d = 0; d < used; ++d, ++pods) {
      if (absl::Status s = GivePod(absl::StrCat("train-", pods), node, sink); !s.ok()) return s;
    }
  }
  return GiveController(pods, sink);
}

}  // namespace ebb::bench
