#include "sizing/pool_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "snapshot/objects/pod_requests.h"

namespace ebb {
namespace {

// `kubectl apply` stores a copy of the whole object in this annotation.
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::map<std::string, std::string> MapOf(const objects::KeyValues& from) {
  std::map<std::string, std::string> to;
  for (const objects::KeyValue& each : from) {
    if (each.key != kLastApplied) to.emplace(each.key, each.value);
  }
  return to;
}

bool IsGpu(std::string_view name) {
  return std::ranges::find(kGpuResources, name) != std::end(kGpuResources);
}

PolicyResources Resources(const objects::ResourceList& from) {
  PolicyResources to;
  for (const objects::ResourceAmount& each : from) {
    if (each.name == "cpu") to.cpu_milli = each.amount;
    if (each.name == "memory") to.memory_bytes = each.amount;
    if (each.name == "ephemeral-storage") to.disk_bytes = each.amount;
    if (IsGpu(each.name)) to.gpus = each.amount;
  }
  return to;
}

PolicyContainer ContainerOf(const objects::Container& from, bool is_init) {
  PolicyContainer to{.is_init = is_init};
  for (const objects::ResourceAmount& each : from.requests) {
    if (each.name == "cpu") to.cpu_milli = each.amount;
    if (each.name == "memory") to.memory_bytes = each.amount;
    if (each.name == "ephemeral-storage") to.disk_bytes = each.amount;
    if (IsGpu(each.name)) to.gpus = each.amount;
  }
  return to;
}

std::vector<PolicyExpression> Affinity(const objects::Pod& pod) {
  std::vector<PolicyExpression> to;
  for (const objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
    for (const objects::Requirement& each : term.match_expressions) {
      to.push_back({.key = std::string(each.key),
                    .is_in = each.op == "In",
                    .values = {each.values.begin(), each.values.end()}});
    }
  }
  return to;
}

PolicyPod PodOf(const objects::Pod& pod) {
  PolicyPod to{.name = fmt::format("{}/{}", pod.meta.namespace_name, pod.meta.name),
               .owner = {},
               .overhead = Resources(pod.overhead),
               .is_running = pod.phase == "Running",
               .is_unschedulable = pod.scheduling == objects::Scheduling::kUnschedulable ||
                                   pod.scheduling == objects::Scheduling::kNotRecorded,
               .created_s = pod.meta.creation_time,
               .node_selector = MapOf(pod.node_selector),
               .affinity = Affinity(pod),
               .has_affinity = !pod.required_node_affinity.nil || !pod.affinity.empty() ||
                               !pod.anti_affinity.empty(),
               .annotations = MapOf(pod.meta.annotations)};
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    if (!owner.controller) continue;
    to.owner = fmt::format("{}/{}/{}", pod.meta.namespace_name, owner.kind, owner.name);
    to.is_daemonset = owner.kind == "DaemonSet";
  }
  objects::ResourceList sum;
  SumPodRequests(pod, RequestsOf::kIncoming, sum);
  to.requests = Resources(sum);
  for (const objects::Container& each : pod.containers) {
    to.containers.push_back(ContainerOf(each, false));
  }
  for (const objects::Container& each : pod.init_containers) {
    to.containers.push_back(ContainerOf(each, true));
  }
  return to;
}

bool HasLabels(const PolicyNode& node, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    const auto found = node.labels.find(label.first);
    return found != node.labels.end() && found->second == label.second;
  });
}

bool IsMember(const PolicyNode& node, const SizedPool& pool) {
  if (!pool.members.empty()) return pool.members.contains(node.name);
  return HasLabels(node, pool.nodes);
}

bool AsksFor(const PolicyPod& pod, const SizedPool& pool) {
  if (pool.is_default && pod.node_selector.empty() && !pod.has_affinity) return true;
  return std::ranges::any_of(pool.nodes, [&](const auto& label) {
    const auto selected = pod.node_selector.find(label.first);
    if (selected != pod.node_selector.end() && selected->second == label.second) return true;
    return std::ranges::any_of(pod.affinity, [&](const PolicyExpression& each) {
      return each.is_in && each.key == label.first &&
             std::ranges::find(each.values, label.second) != each.values.end();
    });
  });
}

}  // namespace

absl::Status PoolReader::OnNode(const objects::Node& node) {
  newest_s_ = std::max(newest_s_, node.meta.creation_time);
  PolicyNode to{.name = std::string(node.meta.name),
                .capacity = Resources(node.capacity.empty() ? node.allocatable : node.capacity),
                .allocatable = Resources(node.allocatable),
                .created_s = node.meta.creation_time,
                .is_cordoned = node.unschedulable,
                .labels = MapOf(node.meta.labels),
                .annotations = MapOf(node.meta.annotations)};
  for (const objects::Taint& taint : node.taints) to.taints.emplace(taint.key, taint.value);
  for (const objects::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready") to.ready = condition.status == "True";
  }
  nodes_.push_back(std::move(to));
  return absl::OkStatus();
}

absl::Status PoolReader::OnPod(const objects::Pod& pod) {
  if (pod.phase == "Succeeded" || pod.phase == "Failed") return absl::OkStatus();
  newest_s_ = std::max(newest_s_, pod.meta.creation_time);
  if (pod.node_name.empty()) {
    pending_.push_back(PodOf(pod));
  } else {
    pods_on_[std::string(pod.node_name)].push_back(PodOf(pod));
  }
  return absl::OkStatus();
}

absl::Status PoolReader::OnPodDisruptionBudget(const objects::PodDisruptionBudget&) {
  return absl::OkStatus();
}
absl::Status PoolReader::OnController(const objects::Controller&) { return absl::OkStatus(); }
absl::Status PoolReader::OnNamespace(const objects::Namespace&) { return absl::OkStatus(); }
absl::Status PoolReader::OnStorageObject(const objects::StorageObject&) { return absl::OkStatus(); }

PolicyObservation PoolReader::Observe(const SizedPool& pool) const {
  PolicyObservation seen{.pool = pool.name, .cloud = pool.cloud};
  for (const PolicyNode& node : nodes_) {
    if (!IsMember(node, pool)) continue;
    seen.nodes.push_back(node);
    const auto pods = pods_on_.find(node.name);
    if (pods != pods_on_.end()) seen.nodes.back().pods = pods->second;
  }
  seen.cloud->desired = pool.desired.value_or(std::ssize(seen.nodes));
  for (const PolicyPod& pod : pending_) {
    if (AsksFor(pod, pool)) seen.pending.push_back(pod);
  }
  return seen;
}

}  // namespace ebb
