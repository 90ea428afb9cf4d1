#include "bench/device_workload.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb::bench {
namespace {

constexpr std::string_view kDriver = "gpu.example.com";
constexpr uint32_t kDevices = 8;  // A node.
constexpr int64_t kCreated = 1'780'000'000;

absl::Status GiveClass(ObjectSink& sink) {
  objects::DeviceClass gpu;
  gpu.meta.name = "gpu";
  gpu.selectors = {"device.driver == \"gpu.example.com\""};
  return sink.OnStorageObject(gpu);
}

absl::Status GiveNode(const std::string& name, ObjectSink& sink) {
  objects::Node node;
  node.meta.name = name;
  node.meta.creation_time = kCreated;
  node.allocatable = {{"cpu", 64'000}, {"memory", int64_t{256} << 30}, {"pods", 110}};
  node.capacity = node.allocatable;
  node.conditions = {{.type = "Ready", .status = "True"}};
  return sink.OnNode(node);
}

absl::Status GiveSlice(const std::string& node, ObjectSink& sink) {
  std::string names[kDevices];
  objects::ResourceSlice slice;
  slice.meta.name = node;
  slice.driver = kDriver;
  slice.pool = node;
  slice.node_name = node;
  slice.generation = 1;
  slice.slice_count = 1;
  for (uint32_t d = 0; d < kDevices; ++d) {
    names[d] = absl::StrCat("gpu-", d);
    objects::Device& device = slice.devices.emplace_back();
    device.name = names[d];
    device.attributes = {{"gpu.example.com/model", "string", "a100"}};
  }
  return sink.OnStorageObject(slice);
}

absl::Status GivePod(const std::string& name, const std::string& node, const std::string& device,
                     ObjectSink& sink) {
  const std::string uid = absl::StrCat("uid-", name);
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = name;
  claim.meta.owners = {
      {.api_version = "v1", .kind = "Pod", .name = name, .uid = uid, .controller = true}};
  objects::DeviceRequest& request = claim.requests.emplace_back();
  request.name = "gpu";
  request.asks.emplace_back();
  request.asks[0].class_name = "gpu";
  request.asks[0].selectors = {"device.attributes[\"gpu.example.com\"].model == \"a100\""};
  claim.allocated = true;
  claim.devices.push_back({kDriver, node, device});
  claim.allocated_on.nil = false;
  claim.allocated_on.terms.push_back(
      {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {node}}}});
  claim.reserved_for.push_back({"pods", name, uid});
  if (absl::Status s = sink.OnStorageObject(claim); !s.ok()) return s;
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
  pod.resource_claims = {{"gpu", name, "one-gpu"}};
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

absl::Status GenerateDevices(uint32_t nodes, ObjectSink& sink) {
  if (absl::Status s = GiveClass(sink); !s.ok()) return s;
  int64_t pods = 0;
  for (uint32_t n = 0; n < nodes; ++n) {
    const std::string node = absl::StrCat("node-", n);
    if (absl::Status s = GiveNode(node, sink); !s.ok()) return s;
    if (absl::Status s = GiveSlice(node, sink); !s.ok()) return s;
    const uint32_t used = n % 5 == 0 ? kDevices / 2 : kDevices / 2 - 1;
    for (uint32_t d = 0; d < used; ++d, ++pods) {
      const std::string name = absl::StrCat("train-", pods);
      if (absl::Status s = GivePod(name, node, absl::StrCat("gpu-", d), sink); !s.ok()) return s;
    }
  }
  return GiveController(pods, sink);
}

}  // namespace ebb::bench
