#include "snapshot/samples/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb::samples {
namespace {

constexpr objects::Text kDriver = "gpu.nvidia.com";
constexpr objects::Text kClassSelector =
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'";

struct Product {
  objects::Text name;
  objects::Text architecture;
  objects::Text compute_capability;
  objects::Text memory;
};
constexpr auto kProducts = std::to_array<Product>({
    {"NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40Gi"},
    {"NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "80Gi"},
    {"NVIDIA L4", "Ada Lovelace", "8.9.0", "23034Mi"},
});
constexpr uint32_t kSmall = 2;  // The product that has less than 40 GiB.

// What a claim asks for; the names of the templates.
enum Asks : uint32_t { kAny, kProduct, kMemory };
constexpr auto kTemplates = std::to_array<objects::Text>({"any-gpu", "gpu-product", "gpu-40gi"});

std::string SelectorOf(uint32_t asks, uint32_t product) {
  if (asks == kProduct) {
    return absl::StrCat("device.attributes['gpu.nvidia.com'].productName == '",
                        Absl(kProducts[product].name), "'");
  }
  if (asks == kMemory) {
    return "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0";
  }
  return "";
}

// Whether the pod belongs to its node.
bool IsOfNode(const objects::Pod& pod) {
  return std::ranges::any_of(pod.meta.owners, [](const objects::OwnerReference& owner) {
    return owner.controller && (owner.kind == "DaemonSet" || owner.kind == "Node");
  });
}

bool MayHaveClaim(const objects::Pod& pod) {
  return !pod.node_name.empty() && !pod.meta.deletion_time && pod.phase != "Succeeded" &&
         pod.phase != "Failed" && !IsOfNode(pod);
}

}  // namespace

DeviceSink::DeviceSink(const DeviceOptions& options, ObjectSink& to)
    : options_(options), to_(to), dice_(options.seed) {}

bool DeviceSink::Draw(double share) {
  return share >= 1 || dice_.Chance(static_cast<uint64_t>(std::lround(share * 1000)));
}

absl::Status DeviceSink::OnNode(const objects::Node& node) {
  const bool is_control_plane =
      std::ranges::count(node.meta.labels, "node-role.kubernetes.io/control-plane",
                         &objects::KeyValue::key) > 0;
  if (is_control_plane || !Draw(options_.nodes)) return to_.OnNode(node);
  if (absl::Status s = GiveNode(node); !s.ok()) return s;
  if (!std::exchange(has_class_, true)) {
    if (absl::Status s = GiveClass(); !s.ok()) return s;
  }
  NodeDevices devices;
  if (!options_.one_product) devices.product = static_cast<uint32_t>(dice_.Below(kProducts.size()));
  nodes_.emplace(std::string(node.meta.name), devices);
  return GiveSlice(std::string(node.meta.name), devices.product);
}

// All nodes of a group have devices or none do, as with real machines.
absl::Status DeviceSink::GiveNode(const objects::Node& node) {
  if (options_.nodes >= 1) return to_.OnNode(node);
  objects::Node with_group = node;
  objects::KeyValues& labels = with_group.meta.labels;
  const auto group = std::ranges::find(labels, "nodegroup", &objects::KeyValue::key);
  const std::string name = group == labels.end() ? "gpu" : absl::StrCat(Absl(group->value), "-gpu");
  if (group == labels.end()) {
    labels.push_back({"nodegroup", name});
  } else {
    group->value = name;
  }
  return to_.OnNode(with_group);
}

absl::Status DeviceSink::OnPod(const objects::Pod& pod) {
  const auto it = nodes_.find(std::string(pod.node_name));
  if (it == nodes_.end() || !MayHaveClaim(pod) || it->second.used >= options_.used_max ||
      !Draw(options_.pods)) {
    return to_.OnPod(pod);
  }
  NodeDevices& on_node = it->second;
  const auto asks = static_cast<uint32_t>(dice_.Below(on_node.product == kSmall ? 2 : 3));
  std::string template_name(kTemplates[asks]);
  if (asks == kProduct) absl::StrAppend(&template_name, "-", on_node.product);
  if (absl::Status s = GiveTemplate(pod.meta.namespace_name, template_name); !s.ok()) return s;
  const std::string name = absl::StrCat(Absl(pod.meta.name), "-gpu");
  if (absl::Status s = GiveClaim(pod, name, on_node, asks); !s.ok()) return s;
  ++on_node.used;
  objects::Pod with_claim = pod;
  with_claim.resource_claims.push_back({"gpu", name, template_name});
  return to_.OnPod(with_claim);
}

absl::Status DeviceSink::GiveClass() {
  objects::DeviceClass gpu;
  gpu.meta.name = kDriver;
  gpu.meta.creation_time = kNewYearS;
  gpu.selectors = {kClassSelector};
  return to_.OnStorageObject(gpu);
}

absl::Status DeviceSink::GiveSlice(const std::string& node, uint32_t product) {
  const Product& of = kProducts[product];
  const std::string slice_name = absl::StrCat(node, "-gpu.nvidia.com");
  std::array<std::string, kDevicesOfNode> names;
  std::array<std::string, kDevicesOfNode> indices;
  std::array<std::string, kDevicesOfNode> uuids;
  objects::ResourceSlice slice;
  slice.meta.name = slice_name;
  slice.meta.creation_time = kNewYearS;
  slice.driver = kDriver;
  slice.pool = node;
  slice.node_name = node;
  slice.generation = 1;
  slice.slice_count = 1;
  for (uint32_t d = 0; d < kDevicesOfNode; ++d) {
    names[d] = absl::StrCat("gpu-", d);
    indices[d] = absl::StrCat(d);
    uuids[d] = fmt::format("GPU-{:016x}", dice_.Next());
    objects::Device& device = slice.devices.emplace_back();
    device.name = names[d];
    device.attributes = {{"architecture", "string", of.architecture},
                         {"brand", "string", "Nvidia"},
                         {"cudaComputeCapability", "version", of.compute_capability},
                         {"cudaDriverVersion", "version", "12.8.0"},
                         {"driverVersion", "version", "570.86.15"},
                         {"index", "int", indices[d]},
                         {"productName", "string", of.name},
                         {"type", "string", "gpu"},
                         {"uuid", "string", uuids[d]}};
    objects::DeviceCapacity& memory = device.capacity.emplace_back();
    memory.name = "memory";
    memory.value = of.memory;
  }
  return to_.OnStorageObject(slice);
}

absl::Status DeviceSink::GiveTemplate(objects::Text namespace_name, const std::string& name) {
  if (!templates_.insert(absl::StrCat(Absl(namespace_name), "/", name)).second) {
    return absl::OkStatus();
  }
  objects::ResourceClaimTemplate made;
  made.meta.namespace_name = namespace_name;
  made.meta.name = name;
  made.meta.creation_time = kNewYearS;
  return to_.OnStorageObject(made);
}

absl::Status DeviceSink::GiveClaim(const objects::Pod& pod, const std::string& name,
                                   const NodeDevices& on_node, uint32_t asks) {
  const std::string device = absl::StrCat("gpu-", on_node.used);
  const std::string selector = SelectorOf(asks, on_node.product);
  objects::ResourceClaim claim;
  claim.meta.namespace_name = pod.meta.namespace_name;
  claim.meta.name = name;
  claim.meta.creation_time = pod.meta.creation_time;
  claim.meta.owners = {{.api_version = "v1",
                        .kind = "Pod",
                        .name = pod.meta.name,
                        .uid = pod.meta.uid,
                        .controller = true}};
  objects::DeviceRequest& request = claim.requests.emplace_back();
  request.name = "gpu";
  objects::DeviceAsk& ask = request.asks.emplace_back();
  ask.class_name = kDriver;
  if (!selector.empty()) ask.selectors = {selector};
  claim.allocated = true;
  claim.devices.push_back({kDriver, pod.node_name, device, false, {}, {}, {}, {}});
  claim.allocated_on.nil = false;
  claim.allocated_on.terms.push_back(
      {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {pod.node_name}}}});
  claim.reserved_for.push_back({"pods", pod.meta.name, pod.meta.uid});
  return to_.OnStorageObject(claim);
}

}  // namespace ebb::samples
