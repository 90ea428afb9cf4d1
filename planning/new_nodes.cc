#include "planning/new_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/check.h"
#include "groups/node_facts.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHostname = "kubernetes.io/hostname";
// Taints of a node that starts, is in trouble or goes.
constexpr std::string_view kPassingTaints[] = {"node.kubernetes.io/not-ready",
                                               "node.kubernetes.io/unreachable",
                                               "node.kubernetes.io/memory-pressure",
                                               "node.kubernetes.io/disk-pressure",
                                               "node.kubernetes.io/pid-pressure",
                                               "node.kubernetes.io/network-unavailable",
                                               "node.kubernetes.io/unschedulable",
                                               "node.kubernetes.io/out-of-service",
                                               "node.cloudprovider.kubernetes.io/uninitialized",
                                               "node.cloudprovider.kubernetes.io/shutdown",
                                               kHardTaint,
                                               kSoftTaint,
                                               kDisruptedTaint,
                                               kDisruptionTaint,
                                               kUnregisteredTaint};
constexpr std::string_view kPassingTaintPrefixes[] = {kStartupTaintPrefix, kIgnoreTaintPrefix};

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

// No pod of a cluster has such a name: the API server takes no colon.
std::string PodNameOn(std::string_view pod, std::string_view node) {
  return fmt::format("{}:{}", pod, node);
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
  for (const std::string& key : type.left_out) labels.erase(key);
  labels[std::string(kHostname)] = name;
  for (const auto& [key, value] : type.pool_labels) labels[key] = value;
  if (type.of_file == nullptr) return;
  for (const std::string_view key : kInstanceTypeLabels) {
    if (key == kInstanceTypeLabels[0] || labels.contains(key)) labels[std::string(key)] = type.name;
  }
  for (const auto& [key, value] : type.of_file->labels) labels[key] = value;
  const std::string older_arch(kBetaArchitectureLabel);
  const auto arch = labels.find(std::string(kArchitectureLabel));
  if (arch != labels.end() && labels.contains(older_arch)) labels[older_arch] = Json(*arch);
}

bool Passes(std::string_view taint) {
  return std::ranges::find(kPassingTaints, taint) != std::end(kPassingTaints) ||
         std::ranges::any_of(kPassingTaintPrefixes,
                             [&](std::string_view prefix) { return taint.starts_with(prefix); });
}

Json TaintsOf(const MachineType& type, const Json& spec) {
  Json taints = Json::array();
  for (const Json& taint : spec.value("taints", Json::array())) {
    const std::string key = taint.value("key", "");
    if (!Passes(key) && !type.startup_taints.contains(key)) taints.push_back(taint);
  }
  const auto add = [&](const MachineTaint& taint) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  };
  for (const MachineTaint& taint : type.group_taints) {
    if (!Passes(taint.key) && !type.startup_taints.contains(taint.key)) add(taint);
  }
  if (type.of_file != nullptr) std::ranges::for_each(type.of_file->taints, add);
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
