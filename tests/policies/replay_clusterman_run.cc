// Recorded runs of Clusterman as a whole.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sizing/policy/clusterman/clusterman.h"
#include "tests/policies/clusterman_drainer.h"
#include "tests/policies/replay_clusterman.h"

namespace ebb::clusterman_replay {
namespace {

// How quantities are read: as the program reads them, or as Kubernetes does.
enum class Reading { kProgram, kKubernetes };

double ReadCpus(const std::string& text) {
  return text.ends_with("m") ? std::stod(text) / 1000 : std::stod(text);
}

// In MB.
double ReadBytes(const std::string& text, Reading reading) {
  size_t end = 0;
  const double number = std::stod(text, &end);
  const std::string unit = text.substr(end);
  if (unit == "m") return std::floor(number / 1000) / 1000000;
  const bool binary =
      unit.ends_with("iB") || (reading == Reading::kKubernetes && unit.ends_with("i"));
  double factor = 1;
  for (const char letter : {'K', 'M', 'G', 'T'}) {
    factor *= binary ? 1024 : 1000;
    if (!unit.empty() && std::toupper(unit[0]) == letter) return number * factor / 1000000;
  }
  return number / 1000000;
}

ClustermanRequest ReadQuantities(const Json& json, Reading reading) {
  ClustermanRequest request;
  if (json.is_null()) return request;
  if (json.contains("cpu")) request[0] = ReadCpus(json["cpu"]);
  if (json.contains("memory")) request[1] = ReadBytes(json["memory"], reading);
  if (json.contains("ephemeral-storage")) {
    request[2] = ReadBytes(json["ephemeral-storage"], reading);
  }
  if (json.contains("nvidia.com/gpu")) {
    request[3] = std::stod(json["nvidia.com/gpu"].get<std::string>());
  }
  return request;
}

ClustermanPod ReadPod(const Json& json, const ClustermanOptions& options, Reading reading) {
  std::vector<ClustermanRequest> containers;
  for (const Json& container : json["containers"]) {
    containers.push_back(ReadQuantities(container, reading));
  }
  const std::string status = json["status"];
  ClustermanPod pod{.name = json["name"],
                    .requests = ClustermanPodRequests(containers),
                    .phase = status == "running"         ? ClustermanPodPhase::kRunning
                             : status == "scheduled"     ? ClustermanPodPhase::kScheduled
                             : status == "unschedulable" ? ClustermanPodPhase::kUnschedulable
                                                         : ClustermanPodPhase::kOther,
                    .safe_to_evict = std::nullopt,
                    .batch_safe_to_evict = std::nullopt};
  ReadOr(json, "pool_label", pod.has_pool_label);
  ReadOr(json, "daemonset", pod.is_daemonset);
  ReadOr(json, "age", pod.age_s);
  const auto annotation = [&](const std::string& key) -> std::optional<std::string> {
    if (!json.contains("annotations") || json["annotations"].is_null()) return std::nullopt;
    if (!json["annotations"].contains(key)) return std::nullopt;
    return json["annotations"][key].get<std::string>();
  };
  pod.safe_to_evict = annotation(options.safe_to_evict_key);
  pod.batch_safe_to_evict = annotation(options.pod_safe_to_evict_annotation);
  return pod;
}

ClustermanOptions ReadOptions(const Json& input) {
  ClustermanOptions options;
  options.service = ReadAutoscaling(input["service_autoscaling"]);
  const Json& pool = input["pool_autoscaling"];
  options.pool = ReadAutoscaling(pool);
  ReadOr(pool, "prevent_scale_down_after_capacity_loss",
         options.prevent_scale_down_after_capacity_loss);
  ReadOr(pool, "instance_loss_threshold", options.instance_loss_threshold);
  ReadOr(pool, "orphan_instance_uptime_threshold_seconds",
         options.orphan_instance_uptime_threshold_seconds);
  ReadOr(pool, "killable_nodes_prioritizing_v2", options.killable_nodes_prioritizing_v2);
  options.limits = ReadLimits(input["limits"]);
  ReadOr(input, "draining_enabled", options.draining_enabled);
  ReadOr(input, "exclude_daemonset_pods", options.exclude_daemonset_pods);
  ReadOr(input, "dry_run", options.dry_run);
  options.signal.internal = input["signal"]["type"] == "pods";
  const Json& parameters = input["signal_parameters"];
  ClustermanPendingPodsOptions& pods = options.signal.parameters;
  ReadOr(parameters, "pending_pods_multiplier", pods.pending_pods_multiplier);
  pods.pending_pods_max_scheduling_seconds =
      Maybe(parameters, "pending_pods_max_scheduling_seconds");
  ReadOr(parameters, "v2", pods.v2);
  ReadOr(parameters, "per_pod_resource_requests", pods.per_pod_resource_requests);
  options.default_signal.internal = true;
  return options;
}

ClustermanObservation ReadObservation(const Json& input, const ClustermanOptions& options,
                                      Reading reading) {
  ClustermanObservation observation;
  observation.signal.failed = input["signal"]["type"] == "fails";
  if (input["signal"].contains("request")) {
    observation.signal.request = ReadRequest(input["signal"]["request"]);
  }
  for (const Json& pod : input["pending_pods"]) {
    observation.pending_pods.push_back(ReadPod(pod, options, reading));
  }
  for (const Json& group : input["groups"]) {
    observation.groups.push_back({.id = group["id"],
                                  .target_capacity = group["desired"],
                                  .min_capacity = group["min"],
                                  .max_capacity = group["max"]});
  }
  for (const Json& node : input["nodes"]) {
    const double weight = node["weighted_capacity"];
    for (ClustermanGroup& group : observation.groups) {
      if (group.id != node["group"].get<std::string>()) continue;
      group.fulfilled_capacity += weight;
      if (!node["stale_tag"].get<bool>()) continue;
      group.stale_weight += weight;
      group.target_capacity -= weight;
    }
    observation.instances.push_back({.id = node["instance_id"],
                                     .group_id = node["group"],
                                     .ip = node["ip"],
                                     .weight = weight,
                                     .is_running = node["ec2_state"] == "running",
                                     .is_cordoned = node["cordoned_tag"],
                                     .is_stale = node["stale_tag"],
                                     .uptime_s = node["uptime"]});
    if (!node["joined"].get<bool>()) continue;
    ClustermanAgent agent{
        .name = node["name"], .ip = node["ip"], .is_draining = node["draining"], .pods = {}};
    const ClustermanRequest allocatable = ReadQuantities(node["allocatable"], reading);
    for (size_t i = 0; i < allocatable.size(); ++i) {
      agent.allocatable[i] = allocatable[i].value_or(0);
    }
    for (const Json& pod : node["pods"]) agent.pods.push_back(ReadPod(pod, options, reading));
    observation.agents.push_back(std::move(agent));
  }
  return observation;
}

Json EventsJson(const ClustermanDecision& decision, const ClustermanObservation& observation) {
  Json events = Json::array();
  for (const ClustermanAction& action : decision.actions) {
    Json ids = Json::array();
    for (const size_t node : action.nodes) ids.push_back(observation.instances[node].id);
    switch (action.kind) {
      case ClustermanActionKind::kSetCapacity:
        events.push_back({"set_desired", action.group_id, action.size});
        break;
      case ClustermanActionKind::kDrain:
        events.push_back({"drain_message", ids[0], decision.pool.nodes[action.nodes[0]].agent_id,
                          Name(ClustermanTermination::kScalingDown)});
        break;
      case ClustermanActionKind::kTerminateOrphans:
      case ClustermanActionKind::kTerminate:
        std::sort(ids.begin(), ids.end());
        events.push_back({"terminate", ids});
        break;
    }
  }
  return events;
}

// One run, in the form of `expect`.
Json RunJson(const Json& input, Reading reading, ClustermanRefusal& refusal) {
  constexpr int64_t kNow = 1700000000;
  const ClustermanOptions options = ReadOptions(input);
  const ClustermanObservation observation = ReadObservation(input, options, reading);
  ClustermanState state;
  state.nodes_at_last_reload = static_cast<int64_t>(observation.agents.size()) +
                               input["nodes_lost_since_last_run"].get<int64_t>();
  if (!input["paused_until_offset"].is_null()) {
    state.pause = {.until_s = kNow + input["paused_until_offset"].get<int64_t>()};
  }
  if (const Json& offset = input["capacity_offset"]; !offset.is_null()) {
    state.offset = {.capacity = offset["value"],
                    .until_s = kNow + offset["until_offset"].get<int64_t>()};
  }
  const ClustermanDecision decision = Decide(options, observation, kNow, &state);
  refusal = decision.refusal;

  const ClustermanPool pool = ReadPool(options, observation);
  const ClustermanPrune before =
      Prune(observation.groups, pool.nodes,
            {.limits = options.limits,
             .killable_nodes_prioritizing_v2 = options.killable_nodes_prioritizing_v2},
            {}, std::numeric_limits<double>::infinity());
  Json got = {{"signal_request", nullptr},
              {"computed_capacity", nullptr},
              {"asked_capacity", nullptr},
              {"no_scale_down", nullptr},
              {"constrained_capacity", nullptr},
              {"total_resources", ResourcesJson(AsRequest(pool.total))},
              {"allocated_resources", ResourcesJson(AsRequest(pool.allocated))},
              {"target_before", CurrentTarget(observation.groups).value_or(0)},
              {"fulfilled", before.fulfilled_capacity},
              {"non_orphan", before.non_orphan_fulfilled_capacity},
              {"group_targets_before", Json::object()},
              {"kill_order", Ids(pool.nodes, before.kill_order)},
              {"events", EventsJson(decision, observation)}};
  for (const ClustermanGroup& group : observation.groups) {
    got["group_targets_before"][group.id] = group.target_capacity;
  }
  if (decision.used_default_signal) got["error"] = "RuntimeError";
  if (decision.request) got["signal_request"] = ResourcesJson(*decision.request);
  if (decision.asked) {
    got["computed_capacity"] = decision.target->capacity;
    got["asked_capacity"] = *decision.asked;
  }
  if (decision.constraint) {
    got["no_scale_down"] = decision.no_scale_down;
    got["constrained_capacity"] = decision.constraint->capacity;
  }
  return got;
}

// Kubernetes reads memory and disk as other numbers, and everything that depends on them may
// differ.  Everything else is still compared.
void CompareKubernetesReading(const Json& input, const Json& program, Replayed& replayed) {
  ClustermanRefusal refusal = ClustermanRefusal::kNone;
  const Json got = RunJson(input, Reading::kKubernetes, refusal);
  if (got == program) return;
  replayed.deviations.emplace_back(kQuantities);
  for (const char* const field :
       {"target_before", "fulfilled", "non_orphan", "group_targets_before", "no_scale_down"}) {
    Compare(replayed, std::string("as Kubernetes reads: ") + field, program[field], got[field]);
  }
  for (const char* const field : {"total_resources", "allocated_resources"}) {
    for (const char* const resource : {"cpus", "gpus"}) {
      Compare(replayed, std::string("as Kubernetes reads: ") + field + "." + resource,
              program[field][resource], got[field][resource]);
    }
  }
}

// The record of a paused run describes the state before the run: it counts nodes that have been
// lost since, but not their capacity.  So the recorded total can only be larger.
void CompareWithLostNodes(const Json& expected, Json& got, Replayed& replayed) {
  const Json& before = expected["total_resources"];
  if (before == got["total_resources"]) return;
  replayed.deviations.emplace_back(kLostNodes);
  for (const auto& [resource, amount] : got["total_resources"].items()) {
    if (before[resource] < amount) Compare(replayed, resource, before[resource], amount);
  }
  got["total_resources"] = before;
}

}  // namespace

void ReplayRun(const Json& input, const Json& expected, Replayed& replayed) {
  ClustermanRefusal refusal = ClustermanRefusal::kNone;
  Json got = RunJson(input, Reading::kProgram, refusal);
  const Json program = got;
  if (expected.contains("error") && refusal != ClustermanRefusal::kNone) {
    replayed.deviations.emplace_back(kFailedRun);
    const std::string error = expected["error"];
    if (refusal == ClustermanRefusal::kConfiguration) {
      // The program finds out after it has terminated orphans.
      got["error"] = "UnboundLocalError";
      Compare(replayed, "events", Json::array(), got["events"]);
      got["events"] = expected["events"];
    } else if (refusal == ClustermanRefusal::kNoUsableResource) {
      got["error"] = "ValueError";
    } else if (refusal == ClustermanRefusal::kAllResourceGroupsStale) {
      got["error"] = "AllResourceGroupsAreStaleError";
    }
  }
  if (refusal == ClustermanRefusal::kPaused && input["nodes_lost_since_last_run"] > 0) {
    CompareWithLostNodes(expected, got, replayed);
  }
  CompareAll(replayed, expected, got);
  CompareKubernetesReading(input, program, replayed);
}

}  // namespace ebb::clusterman_replay
