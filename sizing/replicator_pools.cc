#include "sizing/replicator_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sizing/policy/replicator/replicator_registry.h"

namespace ebb {
namespace {

constexpr int64_t kNodesMax = 1'000'000'000;

ReplicatorKeys KeysOf(const PolicyNode& node, std::string_view prefix) {
  ReplicatorKeys keys;
  for (const auto* const map : {&node.labels, &node.annotations}) {
    for (const auto& [key, value] : *map) {
      if (key.starts_with(prefix)) keys[key.substr(prefix.size())] = value;
    }
  }
  return keys;
}

ReplicatorNodeRecord RecordOf(const PolicyNode& node, std::string_view prefix) {
  using enum ReplicatorNodeRecord::Status;
  return {.id = node.name,
          .status = node.ready.value_or(true) ? kReady : kDown,
          .draining = node.is_cordoned,
          .modify_index = 1,
          .keys = KeysOf(node, prefix),
          .address = node.name,
          .capacity = {.cpu = node.capacity.cpu_milli,
                       .memory = node.capacity.memory_bytes,
                       .disk = node.capacity.disk_bytes}};
}

PolicySettings SettingsOf(const ReplicatorOptions& options) {
  PolicySettings settings;
  settings.Set("replicator_enabled", options.replicator_enabled);
  settings.Set("replicator_worker_pool", options.replicator_worker_pool);
  settings.Set("replicator_region", options.replicator_region);
  settings.Set("replicator_notification_uid", options.replicator_notification_uid);
  settings.Set("replicator_provider", options.replicator_provider);
  settings.Set("replicator_cooldown", options.replicator_cooldown);
  settings.Set("replicator_node_fault_tolerance", options.replicator_node_fault_tolerance);
  settings.Set("replicator_retry_threshold", options.replicator_retry_threshold);
  settings.Set("replicator_scaling_threshold", options.replicator_scaling_threshold);
  settings.Set("replicator_scale_factor", options.replicator_scale_factor);
  if (options.replicator_min) settings.Set("replicator_min", *options.replicator_min);
  if (options.replicator_max) settings.Set("replicator_max", *options.replicator_max);
  return settings;
}

int64_t Size(const std::optional<int64_t>& size, int64_t otherwise) {
  return std::clamp<int64_t>(size.value_or(otherwise), 0, kNodesMax);
}

}  // namespace

DiscoveredPools DiscoverPools(const std::vector<PolicyNode>& nodes, std::string_view prefix,
                              const PolicyRegistry& registry) {
  std::vector<ReplicatorNodeRecord> records;
  for (const PolicyNode& node : nodes) records.push_back(RecordOf(node, prefix));
  std::ranges::sort(records, {}, &ReplicatorNodeRecord::id);
  DiscoveredPools discovered;
  ReplicatorRegistry found;
  for (const ReplicatorProblem& problem : Discover(records, {}, &found)) {
    if (problem.kind == ReplicatorProblem::Kind::kNotConfigured) continue;
    discovered.warnings.push_back(Describe(problem));
  }
  for (const auto& [name, pool] : found.pools) {
    SizedPool sized{.name = name, .policy_name = "replicator"};
    for (const auto& [node, member] : pool.nodes) sized.members.insert(node);
    const int64_t min = Size(pool.options.replicator_min, 0);
    sized.cloud = {.min = min,
                   .max = std::max(min, Size(pool.options.replicator_max, kNodesMax)),
                   .desired = 0};
    std::vector<PolicyProblem> problems;
    sized.policy = registry.Make("replicator", SettingsOf(pool.options), &problems);
    if (sized.policy == nullptr) {
      const std::string why = problems.empty() ? "makes no policy" : problems[0].what;
      discovered.warnings.push_back(fmt::format("pool {}: {}", name, why));
      continue;
    }
    discovered.pools.push_back(std::move(sized));
  }
  return discovered;
}

}  // namespace ebb
