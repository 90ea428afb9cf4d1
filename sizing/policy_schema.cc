#include "sizing/policy_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPeriodS = 60;  // In the sample of a policy that has no period of its own.

std::vector<std::string> Parts(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool IsList(const std::string& part) { return part.ends_with("[]"); }
std::string NameOf(const std::string& part) {
  return IsList(part) ? part.substr(0, part.size() - 2) : part;
}

Json Object() {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
}

Json Scalar(const PolicyKey& key) {
  Json schema;
  switch (key.type) {
    case PolicyValueType::kBool:
      schema["type"] = "boolean";
      break;
    case PolicyValueType::kInt:
      schema["type"] = "integer";
      break;
    case PolicyValueType::kNumber:
      schema["type"] = "number";
      break;
    case PolicyValueType::kText:
      schema["type"] = Json::array({"string", "number", "boolean"});  // Any scalar is text.
      break;
  }
  if (key.type == PolicyValueType::kInt || key.type == PolicyValueType::kNumber) {
    if (std::isfinite(key.min)) schema["minimum"] = key.min;
    if (std::isfinite(key.max)) schema["maximum"] = key.max;
  }
  if (!key.help.empty()) schema["description"] = key.help;
  return schema;
}

void Require(Json& object, const std::string& name) {
  Json& required = object["required"];
  if (required.is_null()) required = Json::array();
  if (std::ranges::find(required, Json(name)) == required.end()) required.push_back(name);
}

void AddKey(const PolicyKey& key, Json& options) {
  Json* object = &options;
  bool in_list = false;
  const std::vector<std::string> parts = Parts(key.path);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = NameOf(parts[i]);
    const bool last = i + 1 == parts.size();
    // A required key of a list's items is required in each item; the list itself is not required.
    const bool lists_below = key.path.find("[]") != std::string::npos;
    if (key.required && (!lists_below || in_list)) Require(*object, name);
    Json& slot = (*object)["properties"][name];
    if (last) {
      slot = IsList(parts[i]) ? Json{{"type", "array"}, {"items", Scalar(key)}} : Scalar(key);
      return;
    }
    if (slot.is_null()) {
      slot = IsList(parts[i]) ? Json{{"type", "array"}, {"items", Object()}} : Object();
    }
    in_list |= IsList(parts[i]);
    object = IsList(parts[i]) ? &slot["items"] : &slot;
  }
}

Json CountOf(std::string_view description) {
  return {
      {"type", "integer"}, {"minimum", 0}, {"maximum", 1000000000}, {"description", description}};
}

Json PoolSchema(const PolicyRegistry& registry) {
  Json pool = Object();
  Json& properties = pool["properties"];
  properties["name"] = {{"type", "string"}, {"minLength", 1}};
  properties["policy"] = {{"enum", registry.Names()}};
  properties["nodes"] = {
      {"type", "object"}, {"minProperties", 1}, {"description", "Labels of the pool's nodes"}};
  Json cloud = Object();
  cloud["properties"] = {{"min", CountOf("Fewest instances of the cloud's group")},
                         {"max", CountOf("Most instances")},
                         {"desired", CountOf("What it has been asked for; absent: the nodes")}};
  cloud["required"] = {"min", "max"};
  properties["cloud"] = cloud;
  properties["default"] = {{"type", "boolean"},
                           {"description", "Pods that ask for no node are this pool's"}};
  properties["signalPeriod"] = CountOf("Seconds after which a signal is stale; 0: never");
  properties["group"] = {{"type", "string"},
                         {"description", "The group, as the actuator names it"}};
  properties["period"] =
      CountOf("Seconds from round to round, at least; absent: as the policy's program has them");
  properties["order"] = {{"enum", {"policy", "planner"}},
                         {"description", "In which order nodes are tried that may go"}};
  properties["retries"] = CountOf("Failed steps in a row until failsafe; 0: never");
  properties["stepTimeout"] = CountOf("Seconds that a step may take");
  properties["stepTimeout"]["minimum"] = 1;
  properties["file"] = {{"type", "string"},
                        {"description",
                         "A file of the policy's own program, beside or instead of "
                         "options"}};
  properties["service"] = {{"type", "string"},
                           {"description", "Of clusterman: the service's file"}};
  properties["queries"] = {{"type", "object"},
                           {"additionalProperties", {{"type", "string"}}},
                           {"description", "Signals by name, as queries of Prometheus"}};
  properties["options"] = {{"type", "object"}};
  pool["required"] = {"name", "policy", "cloud"};
  pool["anyOf"] = {{{"required", {"options", "nodes"}}}, {{"required", {"file"}}}};
  Json choices = Json::array();
  for (const std::string& name : registry.Names()) {
    Json options = Object();
    for (const PolicyKey& key : registry.Find(name)->keys) AddKey(key, options);
    Json choice = {{"if", {{"properties", {{"policy", {{"const", name}}}}}}},
                   {"then", {{"properties", {{"options", std::move(options)}}}}}};
    choices.push_back(std::move(choice));
  }
  pool["allOf"] = std::move(choices);
  return pool;
}

// Adds what a file may have besides its pools.
void AddRest(Json& properties) {
  const Json text = {{"type", "string"}};
  Json webhook = Object();
  webhook["properties"] = {{"url", text},
                           {"retries", CountOf("After the first try")},
                           {"timeout", CountOf("Seconds of one try")}};
  webhook["required"] = {"url"};
  Json exec = Object();
  exec["properties"] = {{"command", {{"type", "array"}, {"items", text}, {"minItems", 1}}},
                        {"timeout", CountOf("Seconds after which it is killed")}};
  exec["required"] = {"command"};
  Json notifier = Object();
  notifier["properties"] = {{"log", {{"type", "boolean"}}}, {"webhook", webhook}, {"exec", exec}};
  notifier["minProperties"] = notifier["maxProperties"] = 1;
  properties["notifications"] = {{"type", "array"},
                                 {"items", notifier},
                                 {"description", "Who is notified that a pool entered failsafe"}};
  Json prometheus = Object();
  prometheus["properties"] = {{"url", text}, {"timeout", CountOf("Seconds of one query")}};
  prometheus["required"] = {"url"};
  properties["prometheus"] = prometheus;
  Json discover = Object();
  discover["properties"] = {{"prefix",
                             {{"type", "string"},
                              {"description",
                               "Before Replicator's keys in labels and annotations of nodes, which "
                               "make pools of their own"}}}};
  properties["discover"] = discover;
}

// Appends one key to a sample, after those of its parents that are not open yet.
void AppendKey(const PolicyKey& key, std::vector<std::string>& open, std::string& text) {
  const std::vector<std::string> parts = Parts(key.path);
  size_t common = 0;
  while (common < open.size() && common + 1 < parts.size() && open[common] == parts[common]) {
    ++common;
  }
  open.assign(parts.begin(), parts.end() - 1);
  size_t indent = 4;
  bool begins_item = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i >= common) {
      const std::string blanks =
          begins_item ? std::string(indent - 2, ' ') + "- " : std::string(indent, ' ');
      const bool last = i + 1 == parts.size();
      const std::string value = !last              ? ""
                                : IsList(parts[i]) ? " [" + key.example + "]"
                                                   : " " + key.example;
      if (last) text += fmt::format("{}# {}\n", std::string(indent, ' '), key.help);
      text += fmt::format("{}{}:{}\n", blanks, NameOf(parts[i]), value);
    }
    begins_item = i >= common && IsList(parts[i]);
    indent += IsList(parts[i]) ? 4 : 2;
  }
}

}  // namespace

Json PolicyFileSchema(const PolicyRegistry& registry) {
  Json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", "Pools and their sizing policies, for ebb policy"}};
  root.update(Object());
  root["properties"]["pools"] = {{"type", "array"}, {"items", PoolSchema(registry)}};
  AddRest(root["properties"]);
  root["anyOf"] = {{{"required", {"pools"}}}, {{"required", {"discover"}}}};
  return root;
}

std::string PolicyFileSample(const PolicySchool& school) {
  std::string text = fmt::format(
      "# {}{}.\npools:\n- name: web\n  policy: {}\n"
      "  # Labels of the pool's nodes.\n  nodes: {{pool: web}}\n"
      "  # Bounds of the cloud's group; desired: as many nodes as there are.\n"
      "  cloud: {{min: 1, max: 10}}\n"
      "  # Pods that wait and ask for no node are this pool's.\n  default: false\n"
      "  # Seconds after which a signal is too old to act on; 0: never.\n  signalPeriod: 600\n"
      "  # Of pools that a loop sizes: seconds from round to round (default: as the policy's "
      "program "
      "has\n  # them); in which order nodes go, policy or planner; failed steps in a row until "
      "failsafe, 0:\n  # never; seconds that one may take.\n"
      "  period: {}\n  order: policy\n  retries: 3\n  stepTimeout: 900\n"
      "  options:\n",
      school.summary, school.follows.empty() ? "" : ", as " + school.follows, school.name,
      school.period_s == nullptr ? kPeriodS : school.period_s(PolicySettings()));
  std::vector<std::string> open;
  for (const PolicyKey& key : school.keys) {
    if (key.help.find("nother spelling of") != std::string::npos) continue;
    AppendKey(key, open, text);
  }
  return text;
}

}  // namespace ebb
