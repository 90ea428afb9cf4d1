#include "snapshot/samples/sample_objects.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ebb::samples {

size_t Dice::Weighted(std::span<const uint32_t> weights) {
  uint64_t total = 0;
  for (const uint32_t weight : weights) total += weight;
  EBB_CHECK(total > 0);
  uint64_t at = Below(total);
  size_t index = 0;
  while (at >= weights[index]) at -= weights[index++];
  return index;
}

objects::Node NodeOf(const std::string& name, int64_t cpu_milli, int64_t memory_mib) {
  objects::Node node;
  node.meta.name = name;
  node.meta.uid = name;
  node.meta.creation_time = kNewYearS;
  node.meta.labels = {{kHostname, name}, {"kubernetes.io/os", "linux"}};
  node.provider_id = name;
  node.allocatable = {{"cpu", cpu_milli}, {"memory", memory_mib * kMi}, {"pods", 110}};
  node.capacity = node.allocatable;
  node.conditions = {{"Ready", "True"}};
  return node;
}

objects::Pod PodOf(objects::Text namespace_name, objects::Text name, objects::Text uid,
                   objects::Text node, int64_t cpu_milli, int64_t memory_mib) {
  objects::Pod pod;
  pod.meta.namespace_name = namespace_name;
  pod.meta.name = name;
  pod.meta.uid = uid;
  pod.meta.creation_time = kNewYearS + kDayS;
  pod.node_name = node;
  pod.phase = "Running";
  pod.scheduling = objects::Scheduling::kUnprocessed;  // As readers set it without conditions.
  pod.containers.resize(1);
  pod.containers[0].name = "c";
  pod.containers[0].requests = {{"cpu", cpu_milli}, {"memory", memory_mib * kMi}};
  return pod;
}

objects::LabelSelector Labelled(objects::Text key, objects::Text value) {
  return {.nil = false, .match_labels = {{key, value}}, .match_expressions = {}};
}

void Repel(objects::LabelSelector repelled, objects::Pod& pod, objects::Text key) {
  objects::PodAffinityTerm& term = pod.anti_affinity.emplace_back();
  term.label_selector = std::move(repelled);
  term.topology_key = key;
}

void SpreadOver(objects::Text key, objects::LabelSelector counted, int64_t max_skew,
                objects::Pod& pod) {
  objects::TopologySpreadConstraint& spread = pod.spread.emplace_back();
  spread.max_skew = max_skew;
  spread.topology_key = key;
  spread.when_unsatisfiable = "DoNotSchedule";
  spread.label_selector = std::move(counted);
}

void SpreadOverZones(objects::LabelSelector counted, int64_t max_skew, objects::Pod& pod) {
  SpreadOver(kZone, std::move(counted), max_skew, pod);
}

void KeepWhere(objects::Text key, objects::Text value, objects::Pod& pod) {
  pod.required_node_affinity.nil = false;
  pod.required_node_affinity.terms = {
      {.match_expressions = {{key, "In", {value}}}, .match_fields = {}}};
}

void KeepInZone(objects::Text zone, objects::Pod& pod) { KeepWhere(kZone, zone, pod); }

absl::Status WriteController(objects::ControllerKind kind, objects::Text namespace_name,
                             objects::Text name, objects::Text uid, int64_t replicas,
                             ObjectSink& sink) {
  objects::Controller controller;
  controller.kind = kind;
  controller.meta.namespace_name = namespace_name;
  controller.meta.name = name;
  controller.meta.uid = uid;
  if (kind != objects::ControllerKind::kDaemonSet) controller.spec_replicas = replicas;
  controller.status_replicas = replicas;
  return sink.OnController(controller);
}

absl::Status WriteReplicaSet(objects::Text name, int64_t replicas, ObjectSink& sink) {
  return WriteController(objects::ControllerKind::kReplicaSet, "default", name, name, replicas,
                         sink);
}

objects::Pod ReplicaOf(objects::Text replica_set, objects::Text name, objects::Text node) {
  objects::Pod pod = PodOf("default", name, name, node, 200, 512);
  pod.meta.owners = {{"apps/v1", "ReplicaSet", replica_set, replica_set, true}};
  return pod;
}

absl::Status WriteNodes(uint32_t nodes, ObjectSink& sink, std::vector<std::string>& names) {
  for (uint32_t n = 0; n < nodes; ++n) {
    names.push_back(absl::StrCat("node-", n));
    if (absl::Status s = sink.OnNode(NodeOf(names.back(), 8000, 32768)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace ebb::samples
