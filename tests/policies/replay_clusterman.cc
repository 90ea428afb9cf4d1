// The recorded answers of Clusterman: six kinds of cases in one list.  What ebb answers is
// put into the shape of `expect` and compared as a whole.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/policy/clusterman.h"
#include "engine/policy/clusterman_drainer.h"
#include "tests/policies/replay.h"

namespace ebb {
namespace {

using Json = nlohmann::json;

// Names that the docs give the deviations.
constexpr char kFailedRun[] = "clusterman: a run that fails is a round without action";
constexpr char kQuantities[] = "clusterman: quantities are Kubernetes' own";

// One case: what differs, and which deviations it met.
struct Replayed {
  std::string id;
  bool differs = false;
  std::vector<std::string> deviations;
};

// Numbers within 1e-9 of each other, everything else exactly.
bool Equal(const Json& expected, const Json& got) {
  if (expected.is_number() && got.is_number()) {
    const double a = expected.get<double>();
    const double b = got.get<double>();
    return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
  }
  if (expected.type() != got.type() || expected.size() != got.size()) return false;
  if (expected.is_array()) {
    return std::equal(expected.begin(), expected.end(), got.begin(), Equal);
  }
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!got.contains(key) || !Equal(value, got[key])) return false;
    }
    return true;
  }
  return expected == got;
}

void Compare(Replayed& replayed, const std::string& field, const Json& expected, const Json& got) {
  if (Equal(expected, got)) return;
  replayed.differs = true;
  std::fprintf(stderr, "%s: %s: expected %s, got %s\n", replayed.id.c_str(), field.c_str(),
               expected.dump().c_str(), got.dump().c_str());
}

// Every field that was recorded, and no other.
void CompareAll(Replayed& replayed, const Json& expected, const Json& got) {
  for (const auto& [field, value] : expected.items()) {
    Compare(replayed, field, value, got.contains(field) ? got[field] : Json("nothing"));
  }
  for (const auto& [field, value] : got.items()) {
    if (!expected.contains(field)) Compare(replayed, field, Json("nothing"), value);
  }
}

template <typename T>
void ReadOr(const Json& json, const char* key, T& value) {
  const auto it = json.find(key);
  if (it != json.end() && !it->is_null()) value = it->get<T>();
}

std::optional<double> Maybe(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::nullopt;
  return it->get<double>();
}

// What a program that fails in Python says: the name of an exception.
void RefusedAs(Replayed& replayed, const char* exception, const Json& expected, Json& got) {
  got["error"] = exception;
  if (expected.contains("error")) replayed.deviations.emplace_back(kFailedRun);
}

Json ResourcesJson(const ClustermanRequest& amounts) {
  Json json = Json::object();
  for (size_t i = 0; i < amounts.size(); ++i) {
    Json& amount = json[std::string(Name(static_cast<ClustermanResource>(i)))];
    if (amounts[i]) amount = *amounts[i];
  }
  return json;
}

ClustermanRequest ReadRequest(const Json& json) {
  ClustermanRequest request;
  for (size_t i = 0; i < request.size(); ++i) {
    request[i] = Maybe(json, std::string(Name(static_cast<ClustermanResource>(i))).c_str());
  }
  return request;
}

ClustermanAutoscaling ReadAutoscaling(const Json& json) {
  ClustermanAutoscaling autoscaling{.setpoint = Maybe(json, "setpoint"),
                                    .target_capacity_margin = Maybe(json, "target_capacity_margin"),
                                    .excluded_resources = std::nullopt};
  if (json.contains("excluded_resources") && !json["excluded_resources"].is_null()) {
    autoscaling.excluded_resources.emplace();
    for (const Json& name : json["excluded_resources"]) {
      autoscaling.excluded_resources->push_back(
          ClustermanResourceOf(name.get<std::string>()).value());
    }
  }
  return autoscaling;
}

ClustermanLimits ReadLimits(const Json& json) {
  ClustermanLimits limits;
  ReadOr(json, "min_capacity", limits.min_capacity);
  ReadOr(json, "max_capacity", limits.max_capacity);
  ReadOr(json, "max_weight_to_add", limits.max_weight_to_add);
  ReadOr(json, "max_weight_to_remove", limits.max_weight_to_remove);
  ReadOr(json, "min_node_scalein_uptime_seconds", limits.min_node_scalein_uptime_seconds);
  const Json tasks = json.value("max_tasks_to_kill", Json());
  if (tasks.is_number()) limits.max_tasks_to_kill = tasks.get<double>();
  if (tasks == "inf") limits.max_tasks_to_kill = std::numeric_limits<double>::infinity();
  return limits;
}

std::vector<ClustermanGroup> ReadGroups(const Json& json) {
  std::vector<ClustermanGroup> groups;
  for (const Json& group : json) {
    groups.push_back(
        {.id = group["id"],
         .target_capacity = group["target_capacity"],
         .is_stale = group["is_stale"],
         .min_capacity = group["min_capacity"],
         .max_capacity =
             Maybe(group, "max_capacity").value_or(std::numeric_limits<double>::infinity()),
         .fulfilled_capacity = Maybe(group, "fulfilled_capacity").value_or(0)});
  }
  return groups;
}

// Python prints 35 and 35.0; both are "35" here.
std::string WithoutPointZero(const std::string& text) {
  static const std::regex kPointZero(R"((\d)\.0(?!\d))");
  return std::regex_replace(text, kPointZero, "$1");
}

Json Warnings(const std::string& warning) {
  return warning.empty() ? Json::array() : Json::array({warning});
}

Json WarningsOf(const Json& expected) {
  Json warnings = Json::array();
  for (const Json& warning : expected) warnings.push_back(WithoutPointZero(warning));
  return warnings;
}

void ReplayTarget(const Json& input, const Json& expected, Replayed& replayed) {
  const ClustermanSetpoint setpoint =
      Effective(ReadAutoscaling(input["service"]), ReadAutoscaling(input["pool"]));
  ClustermanHistory history;
  const auto read_points = [&](const std::string& metric, std::vector<ClustermanPoint>& points) {
    if (!input.contains("history") || !input["history"].contains(metric)) return;
    for (const Json& point : input["history"][metric]) points.push_back({point[0], point[1]});
  };
  read_points("non_orphan_fulfilled_capacity", history.non_orphan_fulfilled_capacity);
  for (size_t i = 0; i < kClustermanResourceCount; ++i) {
    read_points(std::string(Name(static_cast<ClustermanResource>(i))) + "_total", history.total[i]);
  }
  ClustermanTargetInput target_input{.setpoint = setpoint,
                                     .request = ReadRequest(input["request"]),
                                     .current = input["target_capacity"],
                                     .non_orphan_fulfilled = input["non_orphan_fulfilled_capacity"],
                                     .history = &history};
  const ClustermanRequest total = ReadRequest(input["total"]);
  for (size_t i = 0; i < total.size(); ++i) target_input.total[i] = total[i].value();
  constexpr int64_t kNow = 600000;  // All of the history is within a week.
  const ClustermanTarget target = ComputeClustermanTarget(target_input, kNow);

  std::vector<std::string> excluded;
  for (const ClustermanResource resource : setpoint.excluded_resources) {
    excluded.emplace_back(Name(resource));
  }
  std::sort(excluded.begin(), excluded.end());
  Json got = {{"effective",
               {{"setpoint", setpoint.setpoint},
                {"margin", setpoint.target_capacity_margin},
                {"excluded", excluded}}}};
  if (target.rule == ClustermanTargetRule::kNoUsableResource) {
    RefusedAs(replayed, "ValueError", expected, got);
  } else {
    got["capacity"] = target.capacity;
  }
  if (target.most_constrained) {
    got["most_constrained"] = Name(*target.most_constrained);
    got["usage"] = target.usage;
  }
  CompareAll(replayed, expected, got);
}

void ReplayConstrain(const Json& input, Json expected, Replayed& replayed) {
  Json got = Json::object();
  const std::optional<double> current = CurrentTarget(ReadGroups(input["groups"]));
  if (current) {
    const ClustermanConstraint constraint =
        Constrain(input["requested"], *current, ReadLimits(input["limits"]),
                  {.force = input["force"], .no_scale_down = input["no_scale_down"]});
    got = {{"capacity", constraint.capacity}, {"warning", Warnings(constraint.warning)}};
  } else {
    RefusedAs(replayed, "AllResourceGroupsAreStaleError", expected, got);
  }
  if (expected.contains("warning")) expected["warning"] = WarningsOf(expected["warning"]);
  CompareAll(replayed, expected, got);
}

void ReplayBalance(const Json& input, Json expected, Replayed& replayed) {
  const ClustermanBalance balance = Balance(ReadGroups(input["groups"]), input["new_target"]);
  Json got = Json::object();
  if (balance.outcome == ClustermanBalance::Outcome::kAllStale) {
    RefusedAs(replayed, "AllResourceGroupsAreStaleError", expected, got);
  } else {
    got = {{"targets", Json::object()}, {"warning", Warnings(balance.warning)}};
    for (const ClustermanGroupTarget& target : balance.targets) {
      got["targets"][target.group_id] = target.target;
    }
  }
  if (expected.contains("warning")) expected["warning"] = WarningsOf(expected["warning"]);
  CompareAll(replayed, expected, got);
}

ClustermanNodeState ReadState(const std::string& name) {
  for (const auto state : {ClustermanNodeState::kRunning, ClustermanNodeState::kIdle,
                           ClustermanNodeState::kOrphaned, ClustermanNodeState::kUnknown}) {
    if (Name(state) == name) return state;
  }
  throw std::runtime_error("node state: " + name);
}

std::vector<ClustermanNode> ReadNodes(const Json& json) {
  std::vector<ClustermanNode> nodes;
  for (const Json& node : json) {
    nodes.push_back({.id = node["id"],
                     .group_id = node["group"],
                     .weight = node["weight"],
                     .is_running = node["ec2_state"] == "running",
                     .is_cordoned = node["is_cordoned"],
                     .is_stale = node["is_stale"],
                     .uptime_s = node["uptime"],
                     .state = ReadState(node["state"]),
                     .task_count = node["task_count"],
                     .batch_task_count = node["batch_task_count"],
                     .priority = node["priority"],
                     .is_safe_to_kill = node["is_safe_to_kill"],
                     .is_draining = node["is_draining"]});
  }
  return nodes;
}

Json Ids(const std::vector<ClustermanNode>& nodes, const std::vector<size_t>& indices) {
  Json ids = Json::array();
  for (const size_t index : indices) ids.push_back(nodes[index].id);
  return ids;
}

void ReplayPrune(const Json& input, const Json& expected, Replayed& replayed) {
  const std::vector<ClustermanNode> nodes = ReadNodes(input["nodes"]);
  std::vector<ClustermanGroupTarget> targets;
  if (!input["group_targets"].is_null()) {
    for (const auto& [id, target] : input["group_targets"].items()) {
      targets.push_back({id, target});
    }
  }
  const ClustermanPrune prune =
      Prune(ReadGroups(input["groups"]), nodes,
            {.limits = ReadLimits(input["limits"]), .killable_nodes_prioritizing_v2 = input["v2"]},
            targets, input["new_target"]);
  Json got = {{"fulfilled_capacity", prune.fulfilled_capacity},
              {"non_orphan_fulfilled_capacity", prune.non_orphan_fulfilled_capacity},
              {"kill_order", Ids(nodes, prune.kill_order)},
              {"chosen", Json::object()},
              {"decisions", Json::array()},
              {"stopped_early", prune.reached_target}};
  for (const ClustermanPrunedGroup& chosen : prune.chosen) {
    got["chosen"][chosen.group_id] = Ids(nodes, chosen.nodes);
  }
  for (const ClustermanPruneDecision& decision : prune.decisions) {
    got["decisions"].push_back({nodes[decision.node].id, Name(decision.verdict)});
  }
  CompareAll(replayed, expected, got);
}

// Quantities as the program reads them, or as Kubernetes does.
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
                    .requests = PodRequests(containers),
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
      if (group.id != node["group"]) continue;
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

// One run, in the shape of `expect`.
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

// Memory and disk are other numbers as Kubernetes reads them, and so may be whatever follows.
// What does not follow from them is compared still.
void CompareKubernetesReading(const Json& input, const Json& expected, const Json& program,
                              Replayed& replayed) {
  ClustermanRefusal refusal = ClustermanRefusal::kNone;
  const Json got = RunJson(input, Reading::kKubernetes, refusal);
  if (got == program) return;
  replayed.deviations.emplace_back(kQuantities);
  for (const char* const field :
       {"target_before", "fulfilled", "non_orphan", "group_targets_before", "no_scale_down"}) {
    Compare(replayed, std::string("as Kubernetes reads: ") + field, expected[field], got[field]);
  }
  for (const char* const field : {"total_resources", "allocated_resources"}) {
    for (const char* const resource : {"cpus", "gpus"}) {
      Compare(replayed, std::string("as Kubernetes reads: ") + field + "." + resource,
              expected[field][resource], got[field][resource]);
    }
  }
}

void ReplayRun(const Json& input, Json expected, Replayed& replayed) {
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
  CompareAll(replayed, expected, got);
  CompareKubernetesReading(input, expected, program, replayed);
}

// The cluster and the cloud of a drain case.
class RecordedBackend : public ClustermanDrainBackend {
 public:
  explicit RecordedBackend(const Json& input) : input_(input) {}

  std::optional<ClustermanHost> FindHost(std::string_view instance_id) override {
    const auto it = input_["ec2"].find(std::string(instance_id));
    if (it == input_["ec2"].end()) return std::nullopt;
    ClustermanHost host;
    host.instance_id = instance_id;
    host.agent_id = (*it)["dns"];
    host.group_id = (*it)["group"];
    host.pool = (*it)["pool"];
    return host;
  }
  bool KnowsGroup(std::string_view group_id) override {
    const Json& known = input_["known_groups"];
    return std::find(known.begin(), known.end(), std::string(group_id)) != known.end();
  }
  bool Drain(std::string_view node, bool /*delete_pods*/) override {
    const Json& results = input_["drain_results"].at(std::string(node));
    const size_t attempt = drains_[std::string(node)]++;
    return results[std::min(attempt, results.size() - 1)];
  }
  void RemoveTaint(std::string_view /*node*/) override {}
  bool Terminate(const ClustermanHost& host) override {
    return terminations_[host.instance_id]++ >=
           input_["terminate_failures"].value(host.instance_id, 0);
  }

 private:
  const Json& input_;
  std::map<std::string, size_t> drains_;
  std::map<std::string, int> terminations_;
};

ClustermanDrainOptions ReadDrainOptions(const Json& input) {
  ClustermanDrainOptions options;
  ReadOr(input, "global_redraining_delay_seconds", options.global_redraining_delay_seconds);
  ReadOr(input, "visibility_timeout_seconds", options.visibility_timeout_seconds);
  for (const auto& [name, json] : input["pools"].items()) {
    ClustermanPoolDraining& pool = options.pools[name];
    ReadOr(json, "draining_time_threshold_seconds", pool.draining_time_threshold_seconds);
    ReadOr(json, "force_terminate", pool.force_terminate);
    ReadOr(json, "process_spot_warnings", pool.process_spot_warnings);
    if (!json["redraining_delay_seconds"].is_null()) {
      pool.redraining_delay_seconds = json["redraining_delay_seconds"].get<int64_t>();
    }
  }
  return options;
}

void Arrive(const Json& arrival, int64_t now_s, ClustermanDrainState& state) {
  if (arrival["kind"] == "warning") {
    Warn(arrival["instance_id"].get<std::string>(), now_s, state);
    return;
  }
  ClustermanHost host;
  host.instance_id = arrival["instance_id"];
  host.agent_id = arrival["agent_id"];
  host.group_id = arrival["group"];
  host.pool = arrival["pool"];
  host.draining_start_s = now_s;
  for (const auto reason :
       {ClustermanTermination::kScalingDown, ClustermanTermination::kSpotInterruption,
        ClustermanTermination::kNodeMigration}) {
    if (Name(reason) == arrival["reason"]) host.reason = reason;
  }
  Submit(host, now_s, state);
}

Json EventJson(const ClustermanDrainEvent& event, int64_t now_s) {
  switch (event.kind) {
    case ClustermanDrainEventKind::kDrain:
      return {now_s, "drain", event.subject, event.delete_pods ? "delete" : "evict", event.ok};
    case ClustermanDrainEventKind::kSend:
      return {now_s,
              "send",
              Name(event.queue),
              event.subject,
              event.delay_s,
              event.queue == ClustermanQueueName::kDrain ? Json(event.attempt) : Json()};
    case ClustermanDrainEventKind::kDelete:
      return {now_s, "delete", Name(event.queue), event.subject};
    case ClustermanDrainEventKind::kRemoveTaint:
      return {now_s, "uncordon", event.subject};
    case ClustermanDrainEventKind::kTerminate:
      break;
  }
  return {now_s, "terminate", event.subject, event.ok};
}

void ReplayDrain(const Json& input, const Json& expected, Replayed& replayed) {
  const ClustermanDrainOptions options = ReadDrainOptions(input);
  RecordedBackend backend(input);
  ClustermanDrainState state;
  std::vector<Json> arrivals = input["arrivals"];
  Json got = {{"events", Json::array()}, {"cache", Json::array()}};
  for (int64_t tick = 0; tick < input["ticks"]; ++tick) {
    const int64_t now_s = tick * input["tick_seconds"].get<int64_t>();
    std::erase_if(arrivals, [&](const Json& arrival) {
      if (arrival["at"] > now_s) return false;
      Arrive(arrival, now_s, state);
      return true;
    });
    for (const ClustermanDrainEvent& event : DrainOnce(options, now_s, backend, &state).events) {
      got["events"].push_back(EventJson(event, now_s));
    }
  }
  const auto left = [](const ClustermanQueue& queue) {
    Json instances = Json::array();
    for (const ClustermanMessage& message : queue.messages) {
      instances.push_back(message.host.instance_id);
    }
    return instances;
  };
  got["left"] = {{"drain", left(state.drains)},
                 {"term", left(state.terminations)},
                 {"warn", left(state.warnings)}};
  for (const auto& [instance, until_s] : state.draining_until_s) got["cache"].push_back(instance);
  CompareAll(replayed, expected, got);
}

}  // namespace

ReplayTally ReplayClusterman(const Json& file) {
  static const std::map<std::string, std::function<void(const Json&, const Json&, Replayed&)>>
      kKinds = {{"target", ReplayTarget},   {"constrain", ReplayConstrain},
                {"balance", ReplayBalance}, {"prune", ReplayPrune},
                {"run", ReplayRun},         {"drain", ReplayDrain}};
  ReplayTally tally;
  for (const Json& recorded : file) {
    Replayed replayed{.id = recorded["id"], .deviations = {}};
    kKinds.at(recorded["kind"])(recorded["input"], recorded["expect"], replayed);
    ++tally.cases;
    ++tally.rounds;
    if (replayed.differs) ++tally.differing;
    for (const std::string& deviation : replayed.deviations) ++tally.deviations[deviation];
  }
  return tally;
}

}  // namespace ebb
