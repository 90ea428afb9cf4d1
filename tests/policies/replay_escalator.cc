// The recorded answers of Escalator: rounds of one node group, whose calls a small world answers,
// and checks of options.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/escalator/escalator.h"
#include "tests/policies/replay.h"

namespace ebb {
namespace {

using nlohmann::json;

// On purpose: the program has no such warnings.  Nothing in a round depends on them.
constexpr char kWarned[] = "escalator: a warning of unlike nodes or missing requests";

// ---------------------------------------------------------------- reading the recorded input

EscalatorOptions ReadOptions(const json& from, bool master_dry_mode) {
  return {
      .name = from.at("name"),
      .label_key = from.at("label_key"),
      .label_value = from.at("label_value"),
      .cloud_provider_group_name = from.at("cloud_provider_group_name"),
      .min_nodes = from.at("min_nodes"),
      .max_nodes = from.at("max_nodes"),
      .dry_mode = from.at("dry_mode").get<bool>() || master_dry_mode,
      .scale_on_starve = from.at("scale_on_starve"),
      .scale_up_threshold_percent = from.at("scale_up_threshold_percent"),
      .taint_upper_capacity_threshold_percent = from.at("taint_upper_capacity_threshold_percent"),
      .taint_lower_capacity_threshold_percent = from.at("taint_lower_capacity_threshold_percent"),
      .slow_node_removal_rate = from.at("slow_node_removal_rate"),
      .fast_node_removal_rate = from.at("fast_node_removal_rate"),
      .soft_delete_grace_period = from.at("soft_delete_grace_period"),
      .hard_delete_grace_period = from.at("hard_delete_grace_period"),
      .scale_up_cool_down_period = from.at("scale_up_cool_down_period"),
      .taint_effect = from.at("taint_effect"),
      .max_node_age = from.at("max_node_age"),
      .aws_lifecycle = from.at("aws").at("lifecycle"),
      .unhealthy_node_grace_period = from.at("unhealthy_node_grace_period"),
      .health_check_newest_nodes_percent = from.at("health_check_newest_nodes_percent"),
      .max_unhealthy_nodes_percent = from.at("max_unhealthy_nodes_percent"),
  };
}

EscalatorNode ReadNode(const json& from, const EscalatorOptions& options) {
  EscalatorNode node{
      .name = from.at("name"),
      .allocatable = {.cpu_milli = from.at("cpu_milli"), .memory_bytes = from.at("mem_bytes")},
      .created_s = from.at("created_s"),
      .unschedulable = from.at("cordoned"),
      .force_taint = from.at("force_tainted"),
      .in_cloud_group = from.at("in_cloud")};
  if (from.at("in_group").get<bool>()) node.labels[options.label_key] = options.label_value;
  if (!from.at("taint_value").is_null()) node.taint = from.at("taint_value");
  if (!from.at("ready").is_null()) node.ready = from.at("ready");
  if (!from.at("no_delete").is_null()) node.no_delete = from.at("no_delete");
  return node;
}

EscalatorRequest ReadRequest(const json& from) {
  EscalatorRequest request;
  if (!from.at(0).is_null()) request.cpu_milli = from.at(0);
  if (!from.at(1).is_null()) request.memory_bytes = from.at(1);
  return request;
}

EscalatorPhase ReadPhase(const std::string& phase) {
  static const std::map<std::string, EscalatorPhase> kPhases = {
      {"Pending", EscalatorPhase::kPending},
      {"Running", EscalatorPhase::kRunning},
      {"Succeeded", EscalatorPhase::kSucceeded},
      {"Failed", EscalatorPhase::kFailed}};
  const auto found = kPhases.find(phase);
  return found == kPhases.end() ? EscalatorPhase::kUnknown : found->second;
}

// Sets the pod's selectors as the recorded word `select` says.
void ReadSelect(const std::string& select, const EscalatorOptions& options, EscalatorPod* pod) {
  pod->has_affinity = select.starts_with("affinity") || select == "pod_affinity";
  if (select == "label") {
    pod->node_selector[options.label_key] = options.label_value;
  } else if (select == "other_label") {
    pod->node_selector[options.label_key] = options.label_value + "-other";
  } else if (select.starts_with("affinity")) {
    const bool other = select == "affinity_in_other";
    pod->required_node_affinity.push_back(
        {.key = options.label_key,
         .is_in = select != "affinity_notin",
         .values = {other ? options.label_value + "-other" : options.label_value}});
  } else if (select != "none" && select != "empty_affinity" && select != "pod_affinity") {
    throw std::runtime_error("select: " + select);
  }
}

EscalatorPod ReadPod(const json& from, const EscalatorOptions& options) {
  EscalatorPod pod{.name = from.at("name"),
                   .node = from.at("node"),
                   .phase = ReadPhase(from.at("phase")),
                   .scheduled = from.at("scheduled"),
                   .is_daemonset = from.at("daemonset"),
                   .is_static = from.at("static")};
  for (const json& container : from.at("containers")) {
    pod.containers.push_back(ReadRequest(container));
  }
  if (from.contains("init")) {
    for (const json& init : from.at("init")) pod.init_containers.push_back(ReadRequest(init));
  }
  if (from.contains("overhead") && !from.at("overhead").is_null()) {
    const EscalatorRequest overhead = ReadRequest(from.at("overhead"));
    pod.overhead = {.cpu_milli = overhead.cpu_milli.value_or(0),
                    .memory_bytes = overhead.memory_bytes.value_or(0)};
  }
  ReadSelect(from.at("select"), options, &pod);
  return pod;
}

EscalatorObservation ReadObservation(const json& round, const EscalatorOptions& options) {
  EscalatorObservation observation;
  for (const json& node : round.at("nodes")) observation.nodes.push_back(ReadNode(node, options));
  for (const json& pod : round.at("pods")) observation.pods.push_back(ReadPod(pod, options));
  const json& cloud = round.at("cloud");
  observation.cloud = {
      .min = cloud.at("min"), .max = cloud.at("max"), .desired = cloud.at("desired")};
  return observation;
}

// ---------------------------------------------------------------- the world

// Answers calls as the recorded round did, and lists their effects.
class World final : public EscalatorCalls {
 public:
  explicit World(const json& round) : desired_(round.at("cloud").at("desired")) {
    if (round.contains("api_fail_nodes")) {
      for (const json& name : round.at("api_fail_nodes")) api_fails_.insert(name);
    }
    cloud_fails_ = round.value("cloud_fail", false);
  }

  absl::Status Taint(const EscalatorNode& node) override {
    if (api_fails_.contains(node.name)) return ApiError(node);
    const bool is_tainted =
        node.taint || std::find(tainted_.begin(), tainted_.end(), node.name) != tainted_.end();
    if (!is_tainted) tainted_.push_back(node.name);
    return absl::OkStatus();
  }
  absl::Status Untaint(const EscalatorNode& node) override {
    if (api_fails_.contains(node.name)) return ApiError(node);
    untainted_.push_back(node.name);
    return absl::OkStatus();
  }
  absl::Status Terminate(const EscalatorNode& node) override {
    if (cloud_fails_) return CloudError();
    terminated_.push_back(node.name);
    --desired_;
    return absl::OkStatus();
  }
  absl::Status DeleteNode(const EscalatorNode& node) override {
    if (api_fails_.contains(node.name)) return ApiError(node);
    deleted_.push_back(node.name);
    return absl::OkStatus();
  }
  absl::Status SetDesired(int64_t desired) override {
    if (cloud_fails_) return CloudError();
    set_desired_.push_back(desired);
    desired_ = desired;
    return absl::OkStatus();
  }

  [[nodiscard]] json ToJson() const {
    return {{"tainted_now", tainted_},         {"untainted_now", untainted_},
            {"cloud_terminated", terminated_}, {"node_objects_deleted", deleted_},
            {"set_desired", set_desired_},     {"desired_after", desired_}};
  }

 private:
  static absl::Status ApiError(const EscalatorNode& node) {
    return absl::UnavailableError("api fails for " + node.name);
  }
  static absl::Status CloudError() { return absl::UnavailableError("cloud api down"); }

  std::set<std::string> api_fails_;
  bool cloud_fails_ = false;
  std::vector<std::string> tainted_;
  std::vector<std::string> untainted_;
  std::vector<std::string> terminated_;
  std::vector<std::string> deleted_;
  std::vector<int64_t> set_desired_;
  int64_t desired_;
};

// ---------------------------------------------------------------- ebb's answer, in recorded form

json Names(const EscalatorObservation& observation, const std::vector<size_t>& nodes) {
  json names = json::array();
  for (const size_t i : nodes) names.push_back(observation.nodes[i].name);
  return names;
}

json ToJson(const EscalatorState& state) {
  json to = {
      {"lock",
       {{"is_locked", state.is_locked}, {"requested", state.requested}, {"locked_at_s", nullptr}}},
      {"cached_cpu_milli", state.cached_capacity.cpu_milli},
      {"cached_mem_bytes", state.cached_capacity.memory_bytes},
      {"dry_tainted", state.taint_tracker}};
  if (state.locked_at_s) to["lock"]["locked_at_s"] = *state.locked_at_s;
  return to;
}

json FiguresJson(const EscalatorDecision& decision) {
  json to = {{"cpu_request_milli", nullptr},
             {"mem_request_bytes", nullptr},
             {"cpu_capacity_milli", nullptr},
             {"mem_capacity_bytes", nullptr},
             {"cpu_percent", nullptr},
             {"mem_percent", nullptr},
             {"healthy", nullptr}};
  if (decision.sums) {
    to["cpu_request_milli"] = decision.sums->requests.cpu_milli;
    to["mem_request_bytes"] = decision.sums->requests.memory_bytes;
    to["cpu_capacity_milli"] = decision.sums->capacity.cpu_milli;
    to["mem_capacity_bytes"] = decision.sums->capacity.memory_bytes;
  }
  if (decision.percents && !decision.percents->divides_by_zero) {
    to["cpu_percent"] = decision.percents->cpu;
    to["mem_percent"] = decision.percents->memory;
  }
  if (decision.health) to["healthy"] = decision.health->healthy;
  return to;
}

json DryDelete(const EscalatorObservation& observation, const EscalatorDecision& decision,
               bool dry_mode) {
  if (!dry_mode) return json::array();
  if (decision.down) return Names(observation, decision.down->reap.ready);
  if (decision.reap) return Names(observation, decision.reap->ready);
  return json::array();
}

json ToJson(const EscalatorObservation& observation, const EscalatorDecision& decision,
            bool dry_mode) {
  json to = FiguresJson(decision);
  to["path"] = Name(decision.path);
  to["delta"] = decision.delta;
  to["error"] = nullptr;
  if (decision.error != EscalatorError::kNone) to["error"] = Describe(decision);
  to["forced"] = json::array();
  for (const EscalatorForce force : decision.forced) to["forced"].push_back(Name(force));
  to["nodes"] = decision.group.nodes.size();
  to["untainted"] = decision.group.untainted.size();
  to["tainted"] = decision.group.tainted.size();
  to["force_tainted"] = decision.group.force_tainted.size();
  to["cordoned"] = decision.group.cordoned.size();
  to["pods"] = decision.group.pods.size();
  to["min_nodes_used"] = decision.min_nodes;
  to["max_nodes_used"] = decision.max_nodes;
  to["dry_delete"] = DryDelete(observation, decision, dry_mode);
  return to;
}

// The recorded warning about new nodes.  NewNodes makes ebb's in the same form.
std::string NewNodesLogged(const json& logs) {
  for (const json& log : logs) {
    const std::string message = log.at("msg");
    if (message.starts_with("Expected new nodes")) return message;
  }
  return "";
}
std::string NewNodes(const EscalatorDecision& decision) {
  if (!decision.new_nodes) return "";
  return "Expected new nodes: " + std::to_string(decision.new_nodes->expected) +
         " Actual new nodes: " + std::to_string(decision.new_nodes->actual);
}

// ---------------------------------------------------------------- comparing

// Whether `got` has exactly the content of `expected`; prints the differences to stderr.
bool Agree(const std::string& name, const json& expected, const json& got) {
  bool agree = true;
  const auto differ = [&](const std::string& field, const json& wanted, const json& is) {
    agree = false;
    std::fprintf(stderr, "%s %s: expected %s, got %s\n", name.c_str(), field.c_str(),
                 wanted.dump().c_str(), is.dump().c_str());
  };
  for (const auto& [field, value] : expected.items()) {
    const json is = got.contains(field) ? got.at(field) : json("nothing");
    if (is != value) differ(field, value, is);
  }
  for (const auto& [field, value] : got.items()) {
    if (!expected.contains(field)) differ(field, "nothing", value);
  }
  return agree;
}

void ReplayCase(const json& recorded, ReplayTally* tally) {
  const EscalatorOptions options =
      ReadOptions(recorded.at("options"), recorded.at("master_dry_mode"));
  EscalatorState state;
  for (const json& round : recorded.at("rounds")) {
    const std::string name = recorded.at("id").get<std::string>() + " at " +
                             std::to_string(round.at("now_s").get<int64_t>());
    const EscalatorObservation observation = ReadObservation(round, options);
    World world(round);
    const EscalatorDecision decision =
        Decide(options, observation, round.at("now_s"), world, &state);
    json got = ToJson(observation, decision, options.dry_mode);
    got.update(world.ToJson());
    got.update(ToJson(state));
    got["new nodes"] = NewNodes(decision);
    json expected = round.at("expect");
    expected["new nodes"] = NewNodesLogged(expected.at("logs"));
    expected.erase("logs");
    ++tally->rounds;
    if (decision.warnings != EscalatorWarnings{}) ++tally->deviations[kWarned];
    if (!Agree(name, expected, got)) ++tally->differing;
  }
}

json ProblemTexts(const EscalatorOptions& options) {
  json texts = json::array();
  for (const EscalatorProblem& problem : Problems(options)) texts.push_back(problem.text);
  return texts;
}

}  // namespace

ReplayTally ReplayEscalatorRounds(const json& file) {
  ReplayTally tally;
  for (const json& recorded : file) {
    ++tally.cases;
    const EscalatorOptions options = ReadOptions(recorded.at("options"), false);
    const bool agree =
        Agree(recorded.at("id").get<std::string>() + " options",
              {{"validation", recorded.at("validation")}}, {{"validation", ProblemTexts(options)}});
    if (!agree) ++tally.differing;
    ReplayCase(recorded, &tally);
  }
  return tally;
}

ReplayTally ReplayEscalatorValidations(const json& file) {
  ReplayTally tally;
  for (const json& recorded : file) {
    const EscalatorOptions options = ReadOptions(recorded.at("options"), false);
    const bool agree =
        Agree("validation " + std::to_string(tally.cases), {{"problems", recorded.at("problems")}},
              {{"problems", ProblemTexts(options)}});
    ++tally.cases;
    ++tally.rounds;
    if (!agree) ++tally.differing;
  }
  return tally;
}

}  // namespace ebb
