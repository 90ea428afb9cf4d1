#include "sizing/policy/escalator/escalator_group.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sizing/policy/replicator/replicator_figures.h"

namespace ebb {
namespace {

constexpr std::string_view kDefaultGroup = "default";

bool IsNegative(const EscalatorResources& resources) {
  return resources.cpu_milli < 0 || resources.memory_bytes < 0;
}

bool AnyNegative(const std::vector<EscalatorRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const EscalatorRequest& request) {
    return request.cpu_milli.value_or(0) < 0 || request.memory_bytes.value_or(0) < 0;
  });
}

std::string CloudFault(const std::optional<EscalatorCloudGroup>& cloud) {
  if (!cloud) return "cloud: the group was not read";
  if (cloud->min < 0) return absl::StrCat("cloud.min: ", cloud->min, " is below 0");
  if (cloud->desired < 0) return absl::StrCat("cloud.desired: ", cloud->desired, " is below 0");
  if (cloud->min > cloud->max) {
    return absl::StrCat("cloud.min: ", cloud->min, " is above max, ", cloud->max);
  }
  return "";
}

void Add(int64_t cpu_milli, int64_t memory_bytes, EscalatorResources* sum) {
  sum->cpu_milli = SaturatedAdd(sum->cpu_milli, cpu_milli);
  sum->memory_bytes = SaturatedAdd(sum->memory_bytes, memory_bytes);
}

bool Names(const EscalatorExpression& expression, const EscalatorOptions& options) {
  return expression.key == options.label_key && expression.is_in &&
         std::find(expression.values.begin(), expression.values.end(), options.label_value) !=
             expression.values.end();
}

bool HasLabel(const std::map<std::string, std::string>& labels, const EscalatorOptions& options) {
  const auto label = labels.find(options.label_key);
  return label != labels.end() && label->second == options.label_value;
}

}  // namespace

std::string Fault(const EscalatorObservation& observation) {
  for (const EscalatorNode& node : observation.nodes) {
    if (IsNegative(node.allocatable)) {
      return absl::StrCat("node ", node.name, ": allocatable: below 0");
    }
  }
  for (const EscalatorPod& pod : observation.pods) {
    if (AnyNegative(pod.containers) || AnyNegative(pod.init_containers)) {
      return absl::StrCat("pod ", pod.name, ": requests: below 0");
    }
    if (IsNegative(pod.overhead)) return absl::StrCat("pod ", pod.name, ": overhead: below 0");
  }
  return CloudFault(observation.cloud);
}

EscalatorResources RequestOf(const EscalatorPod& pod) {
  EscalatorResources request;
  for (const EscalatorRequest& container : pod.containers) {
    Add(container.cpu_milli.value_or(0), container.memory_bytes.value_or(0), &request);
  }
  for (const EscalatorRequest& init : pod.init_containers) {
    request.cpu_milli = std::max(request.cpu_milli, init.cpu_milli.value_or(0));
    request.memory_bytes = std::max(request.memory_bytes, init.memory_bytes.value_or(0));
  }
  Add(pod.overhead.cpu_milli, pod.overhead.memory_bytes, &request);
  return request;
}

bool Belongs(const EscalatorOptions& options, const EscalatorNode& node) {
  return HasLabel(node.labels, options);
}

bool Belongs(const EscalatorOptions& options, const EscalatorPod& pod) {
  if (pod.phase == EscalatorPhase::kSucceeded || pod.phase == EscalatorPhase::kFailed) return false;
  if (pod.is_daemonset) return false;
  if (options.name == kDefaultGroup) {
    return !pod.is_static && pod.node_selector.empty() && !pod.has_affinity;
  }
  return HasLabel(pod.node_selector, options) ||
         std::any_of(pod.required_node_affinity.begin(), pod.required_node_affinity.end(),
                     [&](const EscalatorExpression& e) { return Names(e, options); });
}

int64_t AgeNs(int64_t now_s, int64_t then_s) {
  return SaturatedMultiply(SaturatedSubtract(now_s, then_s), 1'000'000'000);
}

bool IsUnhealthy(const EscalatorNode& node, int64_t unhealthy_grace_ns, int64_t now_s) {
  if (node.unschedulable || AgeNs(now_s, node.created_s) < unhealthy_grace_ns) return false;
  return !node.ready.value_or(false);
}

EscalatorGroup Select(const EscalatorOptions& options, const EscalatorObservation& observation) {
  EscalatorGroup group;
  for (size_t i = 0; i < observation.nodes.size(); ++i) {
    if (Belongs(options, observation.nodes[i])) group.nodes.push_back(i);
  }
  for (size_t i = 0; i < observation.pods.size(); ++i) {
    const EscalatorPod& pod = observation.pods[i];
    if (!Belongs(options, pod)) continue;
    group.pods.push_back(i);
    group.pods_on[pod.node].push_back(i);
  }
  return group;
}

void Classify(const EscalatorObservation& observation, bool dry_mode,
              const std::vector<std::string>& taint_tracker, EscalatorGroup* group) {
  const std::unordered_set<std::string_view> tracked(taint_tracker.begin(), taint_tracker.end());
  const auto class_of = [&](const EscalatorNode& node) -> std::vector<size_t>& {
    if (dry_mode) return tracked.contains(node.name) ? group->tainted : group->untainted;
    if (node.unschedulable) return group->cordoned;
    if (node.force_taint) return group->force_tainted;
    return node.taint ? group->tainted : group->untainted;
  };
  for (const size_t i : group->nodes) class_of(observation.nodes[i]).push_back(i);
}

EscalatorWarnings Warnings(const EscalatorObservation& observation, const EscalatorGroup& group) {
  EscalatorWarnings warnings;
  using Size = std::pair<int64_t, int64_t>;
  const auto size_of = [&](size_t i) {
    const EscalatorResources& allocatable = observation.nodes[i].allocatable;
    return Size(allocatable.cpu_milli, allocatable.memory_bytes);
  };
  std::map<Size, size_t> nodes_of;
  for (const size_t i : group.nodes) ++nodes_of[size_of(i)];
  const auto usual = std::max_element(
      group.nodes.begin(), group.nodes.end(),
      [&](size_t a, size_t b) { return nodes_of[size_of(a)] < nodes_of[size_of(b)]; });
  for (const size_t i : group.nodes) {
    if (size_of(i) != size_of(*usual)) {
      warnings.unlike_nodes.push_back(observation.nodes[i].name);
    }
  }
  for (const size_t i : group.pods) {
    const EscalatorPod& pod = observation.pods[i];
    if (std::any_of(pod.containers.begin(), pod.containers.end(),
                    [](const EscalatorRequest& c) { return !c.cpu_milli || !c.memory_bytes; })) {
      warnings.pods_without_requests.push_back(pod.name);
    }
  }
  return warnings;
}

}  // namespace ebb
