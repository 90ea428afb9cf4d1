#include "sizing/policy/clusterman/clusterman_prune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/check.h"

namespace ebb {
namespace {

// Longer minimum uptimes count as this one.
constexpr int64_t kMinUptimeMaxSeconds = 900;

// The running nodes, group by group in the order of the groups.
std::vector<size_t> Listed(const std::vector<ClustermanGroup>& groups,
                           const std::vector<ClustermanNode>& nodes) {
  std::map<std::string_view, std::vector<size_t>> of_group;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is_running) of_group[nodes[i].group_id].push_back(i);
  }
  std::vector<size_t> listed;
  for (const ClustermanGroup& group : groups) {
    const std::vector<size_t>& members = of_group[group.id];
    listed.insert(listed.end(), members.begin(), members.end());
  }
  return listed;
}

bool IsKillable(const ClustermanNode& node, double max_tasks_to_kill) {
  if (node.state == ClustermanNodeState::kUnknown) return false;
  if (!node.is_safe_to_kill || node.is_cordoned) return false;
  return node.task_count == 0 || static_cast<double>(node.task_count) < max_tasks_to_kill;
}

// Smaller goes first; false sorts before true.
auto SortKey(const ClustermanNode& node, const ClustermanPruneOptions& options) {
  const auto min_uptime_s = static_cast<double>(
      std::min(options.limits.min_node_scalein_uptime_seconds, kMinUptimeMaxSeconds));
  double priority = options.killable_nodes_prioritizing_v2 ? node.priority : 0;
  if (std::isnan(priority)) priority = std::numeric_limits<double>::infinity();
  return std::tuple(!node.is_draining, node.state != ClustermanNodeState::kOrphaned, !node.is_stale,
                    !(node.uptime_s > min_uptime_s), node.state != ClustermanNodeState::kIdle,
                    node.batch_task_count, priority, node.task_count);
}

// What remains after the nodes marked so far.
struct Remaining {
  double capacity;    // The target to reach.
  double fulfilled;   // The pool's capacity.
  double non_orphan;  // The part of `fulfilled` that has joined the cluster.
  struct Group {
    double fulfilled = 0;
    double target = 0;
    size_t chosen = std::numeric_limits<size_t>::max();  // Index in ClustermanPrune::chosen.
  };
  double removed_weight = 0;
  double killed_tasks = 0;
  std::map<std::string_view, Group> groups{};
};

ClustermanPruneVerdict Judge(const ClustermanNode& node, const ClustermanLimits& limits,
                             const Remaining& remaining) {
  const Remaining::Group& group = remaining.groups.at(node.group_id);
  if (node.weight + remaining.removed_weight > static_cast<double>(limits.max_weight_to_remove)) {
    return ClustermanPruneVerdict::kMaxWeight;
  }
  if (group.fulfilled - node.weight < group.target) return ClustermanPruneVerdict::kGroupTarget;
  if (remaining.killed_tasks + static_cast<double>(node.task_count) > limits.max_tasks_to_kill) {
    return ClustermanPruneVerdict::kMaxTasks;
  }
  if (node.state != ClustermanNodeState::kOrphaned &&
      remaining.non_orphan - node.weight < remaining.capacity) {
    return ClustermanPruneVerdict::kNonOrphan;
  }
  return ClustermanPruneVerdict::kMark;
}

void Mark(size_t index, const ClustermanNode& node, Remaining& remaining, ClustermanPrune& prune) {
  Remaining::Group& group = remaining.groups.at(node.group_id);
  if (group.chosen >= prune.chosen.size()) {
    group.chosen = prune.chosen.size();
    prune.chosen.push_back({node.group_id, {}});
  }
  prune.chosen[group.chosen].nodes.push_back(index);
  group.fulfilled -= node.weight;
  remaining.fulfilled -= node.weight;
  remaining.killed_tasks += static_cast<double>(node.task_count);
  remaining.removed_weight += node.weight;
  if (node.state != ClustermanNodeState::kOrphaned) remaining.non_orphan -= node.weight;
}

Remaining Start(const std::vector<ClustermanGroup>& groups,
                const std::vector<ClustermanGroupTarget>& targets, double capacity,
                const ClustermanPrune& prune) {
  Remaining remaining{.capacity = capacity,
                      .fulfilled = prune.fulfilled_capacity,
                      .non_orphan = prune.non_orphan_fulfilled_capacity};
  for (const ClustermanGroup& group : groups) {
    const double target = group.is_stale ? 0 : group.target_capacity;
    remaining.groups[group.id] = {.fulfilled = group.fulfilled_capacity, .target = target};
  }
  for (const ClustermanGroupTarget& target : targets) {
    remaining.groups[target.group_id].target = target.target;
  }
  return remaining;
}

}  // namespace

std::string_view Name(ClustermanNodeState state) {
  switch (state) {
    case ClustermanNodeState::kRunning:
      return "running";
    case ClustermanNodeState::kIdle:
      return "idle";
    case ClustermanNodeState::kOrphaned:
      return "orphaned";
    case ClustermanNodeState::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view Name(ClustermanPruneVerdict verdict) {
  switch (verdict) {
    case ClustermanPruneVerdict::kMark:
      return "mark";
    case ClustermanPruneVerdict::kMaxWeight:
      return "max_weight";
    case ClustermanPruneVerdict::kGroupTarget:
      return "group_target";
    case ClustermanPruneVerdict::kMaxTasks:
      return "max_tasks";
    case ClustermanPruneVerdict::kNonOrphan:
      break;
  }
  return "non_orphan";
}

double NonOrphanFulfilled(const std::vector<ClustermanGroup>& groups,
                          const std::vector<ClustermanNode>& nodes) {
  double sum = 0;
  for (const size_t index : Listed(groups, nodes)) {
    const ClustermanNodeState state = nodes[index].state;
    if (state == ClustermanNodeState::kRunning || state == ClustermanNodeState::kIdle) {
      sum += nodes[index].weight;
    }
  }
  return sum;
}

std::vector<size_t> KillOrder(const std::vector<ClustermanGroup>& groups,
                              const std::vector<ClustermanNode>& nodes,
                              const ClustermanPruneOptions& options) {
  std::vector<size_t> order = Listed(groups, nodes);
  std::erase_if(order, [&](size_t index) {
    return !IsKillable(nodes[index], options.limits.max_tasks_to_kill);
  });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return SortKey(nodes[a], options) < SortKey(nodes[b], options);
  });
  return order;
}

ClustermanPrune Prune(const std::vector<ClustermanGroup>& groups,
                      const std::vector<ClustermanNode>& nodes,
                      const ClustermanPruneOptions& options,
                      const std::vector<ClustermanGroupTarget>& targets, double capacity) {
  EBB_DCHECK(HaveUniqueIds(groups));
  ClustermanPrune prune;
  for (const ClustermanGroup& group : groups) prune.fulfilled_capacity += group.fulfilled_capacity;
  prune.non_orphan_fulfilled_capacity = NonOrphanFulfilled(groups, nodes);
  prune.kill_order = KillOrder(groups, nodes, options);
  if (!(prune.fulfilled_capacity > capacity)) return prune;

  Remaining remaining = Start(groups, targets, capacity, prune);
  for (const size_t index : prune.kill_order) {
    const ClustermanNode& node = nodes[index];
    const ClustermanPruneVerdict verdict = Judge(node, options.limits, remaining);
    prune.decisions.push_back({index, verdict});
    if (verdict != ClustermanPruneVerdict::kMark) continue;
    Mark(index, node, remaining, prune);
    if (remaining.fulfilled <= capacity) {
      prune.reached_target = true;
      break;
    }
  }
  return prune;
}

}  // namespace ebb
