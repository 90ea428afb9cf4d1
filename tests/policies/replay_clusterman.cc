// The recorded answers of Clusterman: six kinds of cases in one list.  ebb's answer is written in
// the form of `expect` and compared as a whole.  This file has the single steps of a run.

#include "tests/policies/replay_clusterman.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

#include "tests/policies/replay.h"

namespace ebb {
namespace clusterman_replay {
namespace {

// Numbers may differ by a relative 1e-9; everything else must be equal.
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

}  // namespace

void Compare(Replayed& replayed, const std::string& field, const Json& expected, const Json& got) {
  if (Equal(expected, got)) return;
  replayed.differs = true;
  std::fprintf(stderr, "%s: %s: expected %s, got %s\n", replayed.id.c_str(), field.c_str(),
               expected.dump().c_str(), got.dump().c_str());
}

void CompareAll(Replayed& replayed, const Json& expected, const Json& got) {
  for (const auto& [field, value] : expected.items()) {
    Compare(replayed, field, value, got.contains(field) ? got[field] : Json("nothing"));
  }
  for (const auto& [field, value] : got.items()) {
    if (!expected.contains(field)) Compare(replayed, field, Json("nothing"), value);
  }
}

std::optional<double> Maybe(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::nullopt;
  return it->get<double>();
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

Json ResourcesJson(const ClustermanRequest& amounts) {
  Json json = Json::object();
  for (size_t i = 0; i < amounts.size(); ++i) {
    Json& amount = json[std::string(Name(static_cast<ClustermanResource>(i)))];
    if (amounts[i]) amount = *amounts[i];
  }
  return json;
}

Json Ids(const std::vector<ClustermanNode>& nodes, const std::vector<size_t>& indices) {
  Json ids = Json::array();
  for (const size_t index : indices) ids.push_back(nodes[index].id);
  return ids;
}

namespace {

// What the Python program reports when it fails: the name of an exception.
void RefusedAs(Replayed& replayed, const char* exception, const Json& expected, Json& got) {
  got["error"] = exception;
  if (expected.contains("error")) replayed.deviations.emplace_back(kFailedRun);
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
std::string WithoutPointZero(std::string text) {
  const auto is_digit = [&](size_t i) { return i < text.size() && std::isdigit(text[i]) != 0; };
  for (size_t i = text.find(".0"); i != std::string::npos; i = text.find(".0", i + 1)) {
    if (i > 0 && is_digit(i - 1) && !is_digit(i + 2)) text.erase(i, 2);
  }
  return text;
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
  constexpr int64_t kNow = 600000;  // The whole history is within a week.
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

ReplayTally Replay(const Json& file) {
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

}  // namespace
}  // namespace clusterman_replay

ReplayTally ReplayClusterman(const nlohmann::json& file) { return clusterman_replay::Replay(file); }

}  // namespace ebb
