#include "sizing/policy/replicator/replicator_registry.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace ebb {
namespace {

using Problem = ReplicatorProblem;

std::optional<Problem> CannotMake(const std::string& node, const ReplicatorOptions& options) {
  Problem problem{.kind = Problem::Kind::kNoProvider,
                  .node = node,
                  .pool = options.replicator_worker_pool,
                  .provider = options.replicator_provider};
  if (options.replicator_provider.empty()) return problem;
  problem.kind = Problem::Kind::kUnknownProvider;
  if (options.replicator_provider != "aws") return problem;
  problem.kind = Problem::Kind::kNoRegion;
  if (options.replicator_region.empty()) return problem;
  return std::nullopt;
}

// The nodes of the pool whose values differ from the present values of `node`.
std::optional<Problem> Disagreement(const std::string& node, const ReplicatorOptions& options,
                                    const ReplicatorPool& pool) {
  Problem problem{
      .kind = Problem::Kind::kNodesDisagree, .node = node, .pool = options.replicator_worker_pool};
  std::set<std::string> keys;
  for (const auto& [name, member] : pool.nodes) {
    if (name == node) continue;
    const std::vector<std::string> differing = DifferingKeys(options, member.options);
    if (differing.empty()) continue;
    problem.nodes.push_back(name);
    keys.insert(differing.begin(), differing.end());
  }
  if (problem.nodes.empty()) return std::nullopt;
  problem.keys.assign(keys.begin(), keys.end());
  return problem;
}

// Records what the program would list for a node whose values are `options`.
void Know(const std::string& node, const ReplicatorOptions& options, ReplicatorRegistry* registry) {
  const std::string& name = options.replicator_worker_pool;
  const auto [known, is_new] =
      registry->known.try_emplace(name, ReplicatorKnownPool{options.replicator_provider, {}});
  if (!is_new && (known->second.nodes.contains(node) || !options.replicator_enabled)) return;
  known->second.nodes.insert(node);
  registry->known_in[node] = name;
}

void Forget(const std::string& node, ReplicatorRegistry* registry) {
  const auto entry = registry->known_in.find(node);
  if (entry == registry->known_in.end()) return;
  const auto known = registry->known.find(entry->second);
  registry->known_in.erase(entry);
  if (known == registry->known.end()) return;
  known->second.nodes.erase(node);
  if (known->second.nodes.empty()) registry->known.erase(known);
}

void Leave(const std::string& node, ReplicatorRegistry* registry) {
  const auto entry = registry->registered.find(node);
  const auto pool = registry->pools.find(entry->second);
  registry->registered.erase(entry);
  if (pool == registry->pools.end()) return;  // Only if the registry is damaged.
  pool->second.nodes.erase(node);
  if (pool->second.nodes.empty()) registry->pools.erase(pool);
}

std::optional<Problem> Register(const ReplicatorNodeRecord& node, const ReplicatorOptions& options,
                                ReplicatorRegistry* registry) {
  const std::string& name = options.replicator_worker_pool;
  const auto known = registry->pools.find(name);
  const bool is_new = known == registry->pools.end();
  // A pool that cannot be made takes no node away from another pool.
  if (!registry->known.contains(name)) {
    if (std::optional<Problem> problem = CannotMake(node.id, options)) return problem;
  }
  Know(node.id, options, registry);
  const auto was = registry->registered.find(node.id);
  if (was != registry->registered.end() && was->second != name) Leave(node.id, registry);

  const ReplicatorMember member{node.address, node.capacity, options};
  if (is_new) {
    ReplicatorPool& made = registry->pools[name];
    made = {.options = options, .nodes = {{node.id, member}}};
    made.options.replicator_provider = registry->known[name].provider;
    registry->registered[node.id] = name;
    return std::nullopt;
  }

  ReplicatorPool& pool = known->second;
  const std::optional<Problem> disagreement = Disagreement(node.id, options, pool);
  const std::string provider = std::exchange(pool.options, options).replicator_provider;
  pool.options.replicator_provider = provider;
  const auto present = pool.nodes.find(node.id);
  if (present != pool.nodes.end()) {
    present->second.options = options;
  } else {
    pool.nodes.emplace(node.id, member);
    registry->registered[node.id] = name;
  }
  return disagreement;
}

std::optional<Problem> TakeReady(const ReplicatorNodeRecord& node,
                                 const std::map<std::string, ReplicatorKeys>& stored,
                                 ReplicatorRegistry* registry) {
  const auto read = ReadReplicatorKeys(node.id, node.keys, stored);
  if (const auto* problem = std::get_if<Problem>(&read)) {
    Deregister(node.id, registry);
    return *problem;
  }
  const auto& options = std::get<ReplicatorOptions>(read);
  std::optional<Problem> problem = Register(node, options, registry);
  // The node's values count for the pool, although the node leaves it.
  if (!options.replicator_enabled) Deregister(node.id, registry);
  return problem;
}

}  // namespace

std::vector<Problem> Discover(const std::vector<ReplicatorNodeRecord>& nodes,
                              const std::map<std::string, ReplicatorKeys>& stored,
                              ReplicatorRegistry* registry) {
  using Status = ReplicatorNodeRecord::Status;
  std::vector<Problem> problems;
  const uint64_t seen = registry->last_index;
  for (const ReplicatorNodeRecord& node : nodes) {
    registry->last_index = std::max(registry->last_index, node.modify_index);
    if (node.modify_index <= seen) continue;
    const bool ready = node.status == Status::kReady;
    if (node.status == Status::kDown || (ready && node.draining)) {
      Deregister(node.id, registry);
    } else if (ready) {
      std::optional<Problem> problem = TakeReady(node, stored, registry);
      if (problem) problems.push_back(*std::move(problem));
    }
  }
  return problems;
}

bool Deregister(std::string_view node, ReplicatorRegistry* registry) {
  const std::string name(node);
  Forget(name, registry);
  if (!registry->registered.contains(name)) return false;
  Leave(name, registry);
  return true;
}

}  // namespace ebb
