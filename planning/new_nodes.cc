#include "planning/new_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/check.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
// What clouds say about the size of an instance type.
constexpr std::string_view kSizeLabels[] = {
    "karpenter.k8s.aws/instance-", "karpenter.azure.com/sku-", "cloud.google.com/machine-family"};
// Taints of a node that starts, is in trouble or goes.
constexpr std::string_view kPassingTaints[] = {"node.kubernetes.io/",
                                               "node.cloudprovider.kubernetes.io/",
                                               kStartupTaintPrefix,
                                               kIgnoreTaintPrefix,
                                               kHardTaint,
                                               kSoftTaint,
                                               kDisruptedTaint,
                                               kDisruptionTaint,
                                               kUnregisteredTaint};

absl::StatusOr<std::string> TextOf(const objects::ObjectRef& object) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  if (absl::Status s = Give(object, writer); !s.ok()) return s;
  if (absl::Status s = writer.Finish(); !s.ok()) return s;
  return Json::parse(text).at("items").at(0).dump();
}

bool RunsOnEveryNode(const objects::Pod& pod) {
  const bool is_mirror = std::ranges::any_of(pod.meta.annotations, [](const auto& each) {
    return each.key == "kubernetes.io/config.mirror";
  });
  return is_mirror || std::ranges::any_of(pod.meta.owners, [](const auto& owner) {
           return owner.controller && owner.kind == "DaemonSet";
         });
}

std::string PodNameOn(std::string_view pod, std::string_view node) {
  return fmt::format("{}.{}", pod, node);
}

std::string QuantityText(std::string_view resource, int64_t amount) {
  return resource == "cpu" ? fmt::format("{}m", amount) : fmt::format("{}", amount);
}

Json AmountsOf(const std::map<std::string, int64_t>& amounts) {
  Json json = Json::object();
  for (const auto& [resource, amount] : amounts) json[resource] = QuantityText(resource, amount);
  return json;
}

void SetLabels(const MachineType& type, const std::string& name, Json& labels) {
  if (!labels.is_object()) labels = Json::object();
  const std::string was_type = labels.value(std::string(kInstanceTypeLabel), "");
  const bool is_other_type = type.of_file != nullptr && type.name != was_type;
  Json renewed = Json::object();
  for (const auto& [key, value] : labels.items()) {
    const bool is_size = std::ranges::any_of(
        kSizeLabels, [&](std::string_view prefix) { return key.starts_with(prefix); });
    if (is_size && is_other_type) continue;
    renewed[key] = value;
    if (value == type.sibling) renewed[key] = name;
    if (is_other_type && !was_type.empty() && value == was_type) renewed[key] = type.name;
  }
  renewed[std::string(kHostname)] = name;
  if (type.of_file != nullptr) {
    renewed[std::string(kInstanceTypeLabel)] = type.name;
    for (const auto& [key, value] : type.of_file->labels) renewed[key] = value;
  }
  labels = std::move(renewed);
}

Json TaintsOf(const MachineType& type, const Json& spec) {
  Json taints = Json::array();
  for (const Json& taint : spec.value("taints", Json::array())) {
    const std::string key = taint.value("key", "");
    const bool passes = std::ranges::any_of(
        kPassingTaints, [&](std::string_view prefix) { return key.starts_with(prefix); });
    if (!passes) taints.push_back(taint);
  }
  if (type.of_file == nullptr) return taints;
  for (const MachineTaint& taint : type.of_file->taints) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  return taints;
}

std::string NodeText(const MachineType& type, const std::string& name, const std::string& like) {
  Json node = Json::parse(like);
  Json metadata = {{"name", name}, {"labels", node["metadata"].value("labels", Json::object())}};
  SetLabels(type, name, metadata["labels"]);
  const auto arch = metadata["labels"].find(std::string(kArchitectureLabel));
  if (arch != metadata["labels"].end() && node["status"].contains("nodeInfo")) {
    node["status"]["nodeInfo"]["architecture"] = *arch;
  }
  node["metadata"] = std::move(metadata);
  Json taints = TaintsOf(type, node.value("spec", Json::object()));
  node["spec"] = {{"taints", std::move(taints)}};
  node["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
  node["status"].erase("images");
  if (type.of_file != nullptr) {
    node["status"]["capacity"] = AmountsOf(type.of_file->capacity);
    node["status"]["allocatable"] = AmountsOf(type.allocatable);
  }
  return node.dump();
}

// A DaemonSet's pod has an affinity to its node by name.
void SetNodeName(const std::string& name, Json& node_affinity) {
  if (node_affinity.is_array()) {
    for (Json& each : node_affinity) SetNodeName(name, each);
    return;
  }
  if (!node_affinity.is_object()) return;
  if (node_affinity.value("key", Json()) == "metadata.name") node_affinity["values"] = {name};
  for (auto& [key, value] : node_affinity.items()) SetNodeName(name, value);
}

std::string PodText(const std::string& like, const std::string& name, const std::string& node) {
  Json pod = Json::parse(like);
  pod["metadata"]["name"] = name;
  pod["metadata"].erase("uid");
  pod["spec"]["nodeName"] = node;
  const auto affinity = "/affinity/nodeAffinity"_json_pointer;
  if (pod["spec"].contains(affinity)) SetNodeName(node, pod["spec"][affinity]);
  return pod.dump();
}

}  // namespace

class NewNodeObjects::Sink final : public AnyObjectSink {
 public:
  Sink(const std::set<std::string>& siblings, NewNodeObjects& to) : siblings_(siblings), to_(to) {}

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    if (const auto* const node = std::get_if<const objects::Node*>(&object)) {
      const std::string name((*node)->meta.name);
      if (!siblings_.contains(name)) return absl::OkStatus();
      absl::StatusOr<std::string> text = TextOf(object);
      if (!text.ok()) return text.status();
      to_.siblings_[name].node = *std::move(text);
      return absl::OkStatus();
    }
    const auto* const pod = std::get_if<const objects::Pod*>(&object);
    if (pod == nullptr || !RunsOnEveryNode(**pod)) return absl::OkStatus();
    const std::string node((*pod)->node_name);
    if (!siblings_.contains(node)) return absl::OkStatus();
    absl::StatusOr<std::string> text = TextOf(object);
    if (!text.ok()) return text.status();
    to_.siblings_[node].pods.push_back({.namespace_name = std::string((*pod)->meta.namespace_name),
                                        .name = std::string((*pod)->meta.name),
                                        .json = *std::move(text)});
    return absl::OkStatus();
  }

 private:
  const std::set<std::string>& siblings_;
  NewNodeObjects& to_;
};

absl::StatusOr<NewNodeObjects> NewNodeObjects::Read(LiveCluster& cluster,
                                                    const std::set<std::string>& siblings) {
  NewNodeObjects objects;
  Sink sink(siblings, objects);
  if (absl::Status s = cluster.Export(sink); !s.ok()) return s;
  return objects;
}

absl::Status NewNodeObjects::Put(const MachineType& type, const std::string& name,
                                 ChangeBatch& batch) const {
  const auto sibling = siblings_.find(type.sibling);
  EBB_CHECK(sibling != siblings_.end());
  absl::Status put = batch.PutJson(NodeText(type, name, sibling->second.node));
  for (const Pod& pod : sibling->second.pods) {
    if (!put.ok()) return put;
    put = batch.PutJson(PodText(pod.json, PodNameOn(pod.name, name), name));
  }
  return put;
}

absl::Status NewNodeObjects::Delete(const MachineType& type, const std::string& name,
                                    ChangeBatch& batch) const {
  absl::Status status;
  for (const auto& [namespace_name, pod] : PodNames(type, name)) {
    status.Update(batch.DeleteNamed("Pod", namespace_name, pod, ""));
  }
  status.Update(batch.DeleteNamed("Node", "", name, ""));
  return status;
}

size_t NewNodeObjects::Pods(const MachineType& type) const {
  return siblings_.find(type.sibling)->second.pods.size();
}

std::vector<std::pair<std::string, std::string>> NewNodeObjects::PodNames(
    const MachineType& type, std::string_view node) const {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Pod& pod : siblings_.find(type.sibling)->second.pods) {
    names.emplace_back(pod.namespace_name, PodNameOn(pod.name, node));
  }
  return names;
}

}  // namespace ebb
