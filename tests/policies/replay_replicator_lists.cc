// The other lists of Replicator: discovery of pools, pool bounds of release 1.0.3, scale factor.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "sizing/policy/replicator/replicator.h"
#include "sizing/policy/replicator/replicator_registry.h"
#include "tests/policies/replay_replicator.h"

namespace ebb {
namespace {

using nlohmann::json;
using Problem = ReplicatorProblem;

constexpr char kCoolDown[] = "both spellings of the cooldown key";
constexpr char kBounds[] = "replicator_min, replicator_max and replicator_scale_factor hold";
constexpr char kMoved[] = "a node that changes pools leaves the old one";
constexpr char kDisagree[] = "nodes that disagree get a warning";

const std::set<std::string> kCoolDownKeys = {"replicator_cool_down"};
const std::set<std::string> kBoundKeys = {"replicator_min", "replicator_max",
                                          "replicator_scale_factor"};
constexpr char kFallbackFolder[] = "replicator/config/nodes/";

// ---------------------------------------------------------------- discovery

ReplicatorKeys ReadKeys(const json& from, const std::set<std::string>& without) {
  ReplicatorKeys keys;
  for (const auto& [key, text] : from.items()) {
    if (!without.contains(key)) keys[key] = text;
  }
  return keys;
}

ReplicatorNodeRecord ReadNode(const json& from, const std::set<std::string>& without) {
  using Status = ReplicatorNodeRecord::Status;
  const std::string status = from.at("status");
  return {.id = from.at("id"),
          .status = status == "ready"          ? Status::kReady
                    : status == "initializing" ? Status::kInitializing
                    : status == "down"         ? Status::kDown
                                               : Status::kOther,
          .draining = from.at("drain"),
          .modify_index = from.at("modify_index"),
          .keys = ReadKeys(from.at("meta"), without),
          .address = {},
          .capacity = {}};
}

// A registry that sees a case's keys except those in `without`.
class Watcher {
 public:
  Watcher(const json& one, std::set<std::string> without) : without_(std::move(without)) {
    for (const auto& [path, keys] : one.at("fallback").items()) {
      stored_[path.substr(std::string_view(kFallbackFolder).size())] = ReadKeys(keys, without_);
    }
  }

  const std::vector<Problem>& Take(const json& changed) {
    std::vector<ReplicatorNodeRecord> nodes;
    for (const json& node : changed) nodes.push_back(ReadNode(node, without_));
    problems_ = Discover(nodes, stored_, &registry_);
    return problems_;
  }
  [[nodiscard]] const ReplicatorRegistry& registry() const { return registry_; }
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

  friend bool operator==(const Watcher& a, const Watcher& b) {
    return a.registry_ == b.registry_ && a.problems_ == b.problems_;
  }

 private:
  std::set<std::string> without_;
  std::map<std::string, ReplicatorKeys> stored_;
  ReplicatorRegistry registry_;
  std::vector<Problem> problems_;
};

// The line that the program logs.
std::string LogLine(const Problem& problem) {
  using Kind = Problem::Kind;
  const std::string process =
      "client/node_discovery: an error occurred while attempting to process the node "
      "configuration: ";
  const std::string make = fmt::format(
      "client/node_discovery: an error occurred while attempting to register node {}: failed to "
      "initialize scaling provider for worker pool {}: ",
      problem.node, problem.pool);
  switch (problem.kind) {
    case Kind::kNotConfigured:
      return process + fmt::format("node {} does not contain a valid autoscaling configuration",
                                   problem.node);
    case Kind::kMissingKeys: {
      std::string keys;
      for (const std::string& key : problem.keys) keys += (keys.empty() ? "" : " ") + key;
      return process + fmt::format(
                           "the autoscaling configuration for node {} is missing required "
                           "configuration parameters: [{}]",
                           problem.node, keys);
    }
    case Kind::kNothingStored:
      return process + fmt::format(
                           "unable to find fallback configuration for worker pool {} and "
                           "have insufficient node meta parameters: unable to find or read "
                           "pool configuration data at path {}{}: <nil>",
                           problem.pool, kFallbackFolder, problem.pool);
    case Kind::kUndecodable: {
      std::string lines = fmt::format("{} error(s) decoding:\n", problem.undecodable.size());
      for (const Problem::Undecodable& key : problem.undecodable) {
        const bool is_bool = key.why == Problem::Text::kNotBool;
        lines += fmt::format(
            "\n* cannot parse '{}' as {}: strconv.{}: parsing \"{}\": {}", key.key,
            is_bool ? "bool" : "int", is_bool ? "ParseBool" : "ParseInt", key.text,
            key.why == Problem::Text::kOutOfRange ? "value out of range" : "invalid syntax");
      }
      return process + lines;
    }
    case Kind::kNoProvider:
      return make + "no scaling provider specified";
    case Kind::kUnknownProvider:
      return make +
             fmt::format("unknown scaling provider {}, must be one of: aws", problem.provider);
    case Kind::kNoRegion:
      return make +
             "an error occurred while setting up scaling provider aws: replicator_region is "
             "required for the aws scaling provider";
    case Kind::kNodesDisagree:
      return "";  // ebb's own warning.
  }
  return "";
}

json ToJson(const ReplicatorPool& pool, const std::set<std::string>& ignored) {
  json nodes = json::array();
  for (const auto& [node, member] : pool.nodes) {
    if (!ignored.contains(node)) nodes.push_back(node);
  }
  const ReplicatorOptions& options = pool.options;
  return {{"cooldown", options.replicator_cooldown},
          {"fault_tolerance", options.replicator_node_fault_tolerance},
          {"retry_threshold", options.replicator_retry_threshold},
          {"scaling_threshold", options.replicator_scaling_threshold},
          {"enabled", options.replicator_enabled},
          {"region", options.replicator_region},
          {"notification_uid", options.replicator_notification_uid},
          {"provider", options.replicator_provider},
          {"nodes", nodes}};
}

// The nodes that the program still lists in a pool that they have left, and these pools.
struct Haunted {
  std::set<std::string> nodes;
  std::set<std::string> pools;

  void Look(const json& step) {
    for (const auto& [name, pool] : step.at("pools").items()) {
      for (const json& node : pool.at("nodes")) {
        const std::string id = node;
        if (step.at("registered").value(id, "") == name) continue;
        nodes.insert(id);
        pools.insert(name);
      }
    }
  }
};

void CompareStep(const json& step, const Watcher& watcher, const Haunted& haunted,
                 ReplayedRound* round) {
  json lines = json::array();
  for (const Problem& problem : watcher.problems()) {
    if (problem.kind == Problem::Kind::kNodesDisagree) {
      round->Deviates(kDisagree);
    } else {
      lines.push_back(LogLine(problem));
    }
  }
  round->Compare("problems", step.at("problems"), lines);

  json registered = json::object();
  for (const auto& [node, pool] : watcher.registry().registered) registered[node] = pool;
  json expected = step.at("registered");
  for (const std::string& node : haunted.nodes) {
    registered.erase(node);
    expected.erase(node);
  }
  round->Compare("registered", expected, registered);

  json pools = json::object();
  for (const auto& [name, pool] : watcher.registry().pools) {
    pools[name] = ToJson(pool, haunted.nodes);
  }
  expected = step.at("pools");
  for (auto& [name, pool] : expected.items()) {
    json nodes = json::array();
    for (const json& node : pool.at("nodes")) {
      if (!haunted.nodes.contains(node)) nodes.push_back(node);
    }
    pool["nodes"] = nodes;
  }
  for (const std::string& name : haunted.pools) {
    for (json* side : {&expected, &pools}) {
      if (!side->contains(name)) continue;
      (*side)[name].erase("provider");  // That of the node that made the pool.
      if ((*side)[name].at("nodes").empty()) side->erase(name);
    }
  }
  round->Compare("pools", expected, pools);
}

// ---------------------------------------------------------------- functions

ReplicatorNode NodeOf(const std::string& id, ReplicatorResources capacity,
                      ReplicatorResources used) {
  return {.id = id,
          .address = id,
          .capacity = capacity,
          .allocations = {{.job = "filler", .resources = used}}};
}

// The first check that release 1.0.3 reports; it did not compare the counts.
std::string DeniedByRelease103(const ReplicatorDecision& decision) {
  using Reason = ReplicatorReason;
  const std::pair<Reason, const char*> order[] = {
      {Reason::kProviderUnreadable, "provider_unreadable"},
      {Reason::kProviderMin, "provider_min"},
      {Reason::kProviderMax, "provider_max"},
      {Reason::kPoolMin, "pool_min"},
      {Reason::kPoolMax, "pool_max"},
      {Reason::kSimulation, "simulation"}};
  for (const auto& [reason, name] : order) {
    const auto& denied_by = decision.denied_by;
    if (std::find(denied_by.begin(), denied_by.end(), reason) != denied_by.end()) return name;
  }
  return "";
}

bool DeniedByProvider(const ReplicatorDecision& decision) {
  using Reason = ReplicatorReason;
  return std::any_of(decision.denied_by.begin(), decision.denied_by.end(), [](Reason reason) {
    return reason == Reason::kProviderUnreadable || reason == Reason::kProviderCountMismatch ||
           reason == Reason::kProviderMin || reason == Reason::kProviderMax;
  });
}

}  // namespace

void ReplayReplicatorDiscovery(const json& cases, ReplayTally* tally) {
  std::set<std::string> both = kCoolDownKeys;
  both.insert(kBoundKeys.begin(), kBoundKeys.end());
  for (const json& one : cases) {
    ++tally->cases;
    // The first watcher does not see the keys that the program does not have; the others see some
    // of them.
    Watcher watcher(one, both);
    Watcher with_cool_down(one, kBoundKeys);
    Watcher with_bounds(one, kCoolDownKeys);
    Haunted haunted;
    int number = 0;
    for (const json& step : one.at("steps")) {
      ReplayedRound round(fmt::format("{} step {}", one.at("id").get<std::string>(), number++),
                          tally);
      watcher.Take(step.at("changed"));
      with_cool_down.Take(step.at("changed"));
      with_bounds.Take(step.at("changed"));
      if (!(with_cool_down == watcher)) round.Deviates(kCoolDown);
      if (!(with_bounds == watcher)) round.Deviates(kBounds);
      haunted.Look(step);
      if (!haunted.pools.empty()) round.Deviates(kMoved);
      CompareStep(step, watcher, haunted, &round);
    }
  }
}

void ReplayReplicatorPoolBounds(const json& cases, ReplayTally* tally) {
  for (const json& one : cases) {
    ++tally->cases;
    ReplayedRound round(one.at("id"), tally);
    ReplicatorOptions options;
    options.replicator_worker_pool = "pool-a";
    options.replicator_node_fault_tolerance = one.at("fault_tolerance");
    options.replicator_min = one.at("pool_min").get<int64_t>();
    options.replicator_max = one.at("pool_max").get<int64_t>();
    ReplicatorObservation observation;
    for (const json& node : one.at("nodes")) {
      observation.nodes.push_back(
          NodeOf(node.at("id"), {node.at("cpu").get<int64_t>(), node.at("mem").get<int64_t>(), 0},
                 {node.at("used_cpu").get<int64_t>(), node.at("used_mem").get<int64_t>(), 0}));
    }
    if (one.at("provider_readable").get<bool>()) {
      observation.group = {.min = one.at("provider_min"),
                           .max = one.at("provider_max"),
                           .desired = one.at("provider_desired")};
    }
    ReplicatorState state;
    const ReplicatorDecision decision = Decide(options, observation, 0, &state);
    round.Compare("figures", true, decision.figures.has_value());
    if (!decision.figures) continue;
    const std::string denied_by = DeniedByRelease103(decision);
    round.Compare("metric", one.at("metric"), Name(decision.figures->metric));
    round.Compare("allowed", one.at("allowed"), decision.figures->allowed);
    round.Compare("direction", one.at("direction"), Name(decision.figures->direction));
    round.Compare("denied_by", one.at("denied_by"), denied_by);
    round.Compare("permitted", one.at("permitted"), denied_by.empty());
  }
}

void ReplayReplicatorScaleFactor(const json& cases, ReplayTally* tally) {
  for (const json& one : cases) {
    ++tally->cases;
    ReplayedRound round(one.at("id"), tally);
    const bool out = one.at("direction") == "Out";
    ReplicatorOptions options;
    options.replicator_node_fault_tolerance = 0;
    options.replicator_scaling_threshold = 1;
    options.replicator_scale_factor = one.at("scale_factor");
    ReplicatorObservation observation;
    for (int i = 0; i < one.at("nodes").get<int>(); ++i) {
      observation.nodes.push_back(
          NodeOf("n" + std::to_string(i), {1000, 1000, 1000}, {out ? 1000 : 1, 0, 0}));
    }
    observation.group = {.min = one.at("provider_min"),
                         .max = one.at("provider_max"),
                         .desired = one.at("provider_desired")};
    ReplicatorState state;
    const ReplicatorDecision decision = Decide(options, observation, 0, &state);
    round.Compare("provider_check_passes", one.at("provider_check_passes"),
                  !DeniedByProvider(decision));
    round.Compare(
        "desired_after_scale_out", one.at("desired_after_scale_out"),
        decision.reason == ReplicatorReason::kScaleOut ? json(decision.target) : json(nullptr));
  }
}

}  // namespace ebb
