#include "sizing/policy/clusterman/clusterman_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "base/check.h"
#include "base/text.h"

namespace ebb {
namespace {

// A double does not represent every integer above this, so steps of one unit would be lost.
constexpr double kLargestCapacity = 9007199254740992.0;  // 2^53.

bool IsCapacity(double value) { return std::abs(value) <= kLargestCapacity; }

// Whether the pod counts as a task of the pool.
bool IsTask(const ClustermanPod& pod, const ClustermanOptions& options) {
  return pod.has_pool_label && !(options.exclude_daemonset_pods && pod.is_daemonset);
}

bool RunsOrIsScheduled(const ClustermanPod& pod) {
  return pod.phase == ClustermanPodPhase::kRunning || pod.phase == ClustermanPodPhase::kScheduled;
}

bool SafeToEvict(const std::optional<std::string>& annotation) {
  return !annotation || ClustermanBool(*annotation).value_or(true);
}

std::string FaultOf(const ClustermanPod& pod) {
  if (!AreQuantities(pod.requests)) return fmt::format("pod {}: requests", pod.name);
  if (std::isnan(pod.age_s)) return fmt::format("pod {}: age", pod.name);
  for (const auto& annotation : {pod.safe_to_evict, pod.batch_safe_to_evict}) {
    if (annotation && !ClustermanBool(*annotation)) {
      return fmt::format("pod {}: safe to evict: \"{}\" is neither true nor false", pod.name,
                         *annotation);
    }
  }
  return "";
}

std::string FaultOf(const ClustermanGroup& group) {
  const bool finite = IsCapacity(group.target_capacity) && IsCapacity(group.min_capacity) &&
                      IsCapacity(group.fulfilled_capacity) && IsCapacity(group.stale_weight);
  if (finite && group.max_capacity >= -kLargestCapacity) return "";
  return fmt::format("group {}: capacity is not a number, or too large", group.id);
}

std::string FaultOfPods(const ClustermanObservation& observation) {
  std::set<std::string_view> addresses;
  for (const ClustermanAgent& agent : observation.agents) {
    if (agent.ip.empty()) return fmt::format("node {}: has no address", agent.name);
    if (!addresses.insert(agent.ip).second) {
      return fmt::format("node {}: another has its address {}", agent.name, agent.ip);
    }
    if (!AreQuantities(agent.allocatable)) {
      return fmt::format("node {}: allocatable", agent.name);
    }
    for (const ClustermanPod& pod : agent.pods) {
      if (std::string fault = FaultOf(pod); !fault.empty()) return fault;
    }
  }
  for (const ClustermanPod& pod : observation.pending_pods) {
    if (std::string fault = FaultOf(pod); !fault.empty()) return fault;
  }
  return "";
}

// The requests of the first node's DaemonSet pods, which are assumed to run on every node.
ClustermanAmounts Excluded(const ClustermanOptions& options,
                           const std::vector<ClustermanAgent>& agents) {
  ClustermanAmounts excluded{};
  if (!options.exclude_daemonset_pods || agents.empty()) return excluded;
  for (const ClustermanPod& pod : agents.front().pods) {
    if (pod.is_daemonset) Add(pod.requests, excluded);
  }
  return excluded;
}

// Adds to an instance what its cluster node shows.
void ReadAgent(const ClustermanOptions& options, const ClustermanAgent& agent,
               ClustermanNode& node) {
  node.agent_id = agent.name;
  node.is_draining = agent.is_draining;
  for (const ClustermanPod& pod : agent.pods) {
    if (!IsTask(pod, options) || !RunsOrIsScheduled(pod)) continue;
    const double score = pod.requests[0] * 2 + pod.requests[1] / 1000;
    node.priority = node.task_count == 0 ? score : std::max(node.priority, score);
    ++node.task_count;
    if (!SafeToEvict(pod.batch_safe_to_evict)) ++node.batch_task_count;
    if (!SafeToEvict(pod.safe_to_evict)) node.is_safe_to_kill = false;
  }
  node.state = node.task_count == 0 ? ClustermanNodeState::kIdle : ClustermanNodeState::kRunning;
}

}  // namespace

std::optional<bool> ClustermanBool(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(Absl(text));
  for (const std::string_view yes : {"y", "yes", "t", "true", "on", "1"}) {
    if (lower == yes) return true;
  }
  for (const std::string_view no : {"n", "no", "f", "false", "off", "0"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

std::string Fault(const ClustermanObservation& observation) {
  std::set<std::string_view> ids;
  for (const ClustermanGroup& group : observation.groups) {
    if (!ids.insert(group.id).second) return fmt::format("group {}: occurs twice", group.id);
    if (std::string fault = FaultOf(group); !fault.empty()) return fault;
  }
  ids.clear();
  for (const ClustermanInstance& instance : observation.instances) {
    if (!ids.insert(instance.id).second) {
      return fmt::format("instance {}: occurs twice", instance.id);
    }
    if (!(instance.weight >= 0 && instance.weight <= kLargestCapacity)) {
      return fmt::format("instance {}: weight", instance.id);
    }
    if (std::isnan(instance.uptime_s)) return fmt::format("instance {}: uptime", instance.id);
  }
  return FaultOfPods(observation);
}

ClustermanPool ReadPool(const ClustermanOptions& options,
                        const ClustermanObservation& observation) {
  EBB_DCHECK(Fault(observation).empty());
  ClustermanPool pool;
  const ClustermanAmounts excluded = Excluded(options, observation.agents);
  std::map<std::string_view, const ClustermanAgent*> agents;  // By address.
  const auto read_pod = [&](const ClustermanPod& pod) {
    if (!IsTask(pod, options)) return;
    if (RunsOrIsScheduled(pod)) {
      Add(pod.requests, pool.allocated);
    } else if (pod.phase == ClustermanPodPhase::kUnschedulable) {
      pool.unschedulable.push_back(pod);
    }
  };
  for (const ClustermanAgent& agent : observation.agents) {
    agents[agent.ip] = &agent;
    for (size_t i = 0; i < kClustermanResourceCount; ++i) {
      pool.total[i] += agent.allocatable[i] - excluded[i];
    }
    for (const ClustermanPod& pod : agent.pods) read_pod(pod);
  }
  for (const ClustermanPod& pod : observation.pending_pods) read_pod(pod);

  for (const ClustermanInstance& instance : observation.instances) {
    ClustermanNode node{.id = instance.id,
                        .group_id = instance.group_id,
                        .weight = instance.weight,
                        .is_running = instance.is_running,
                        .is_cordoned = instance.is_cordoned,
                        .is_stale = instance.is_stale,
                        .uptime_s = instance.uptime_s};
    if (!instance.ip.empty()) {
      const auto it = agents.find(instance.ip);
      if (it != agents.end()) {
        ReadAgent(options, *it->second, node);
      } else {
        node.state = ClustermanNodeState::kOrphaned;
      }
    }
    pool.nodes.push_back(std::move(node));
  }
  return pool;
}

}  // namespace ebb
