// Answers for go/oracle/selectors, which compares device selectors with Kubernetes'.
//
// One JSON object a line on standard input, one line of answer for each:
//   {"version": "1.36", "devices": [{"driver": "d", "shared": false, "attributes": [{"name": "d/n",
//   "int": 1}],
//                 "capacity": [{"name": "d/n", "value": "1Gi"}]}], "expressions": ["true"]}
//   {"answers": [{"compiled": "ok", "results": [{"result": "true", "cost": 0, "why": ""}]}]}
// An attribute has one of bool, int, string and version.  Results: true, false, error, cost and
// unknown; compiled: ok, refused and unknown.

#include <cstdint>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cel/device_selector.h"
#include "nlohmann/json.hpp"

namespace ebb::cel {
namespace {

using nlohmann::json;

struct Device {
  std::string driver;
  bool shared = false;
  std::deque<std::string> texts;
  std::vector<DeviceAttribute> attributes;
  std::vector<DeviceCapacity> capacity;
};

AttributeValue ReadValue(const json& attribute, Device& device) {
  if (attribute.contains("bool")) return attribute["bool"].get<bool>();
  if (attribute.contains("int")) return attribute["int"].get<int64_t>();
  if (attribute.contains("string")) {
    return std::string_view(device.texts.emplace_back(attribute["string"].get<std::string>()));
  }
  if (attribute.contains("version")) {
    const std::optional<Semver> version =
        Semver::Parse(device.texts.emplace_back(attribute["version"].get<std::string>()));
    if (version) return *version;
  }
  return std::monostate();
}

void Read(const json& from, Device& device) {
  device.driver = from["driver"].get<std::string>();
  device.shared = from["shared"].get<bool>();
  for (const json& attribute : from["attributes"]) {
    const std::string_view name = device.texts.emplace_back(attribute["name"].get<std::string>());
    device.attributes.push_back({name, ReadValue(attribute, device)});
  }
  for (const json& capacity : from["capacity"]) {
    const std::string_view name = device.texts.emplace_back(capacity["name"].get<std::string>());
    device.capacity.push_back({name, *Quantity::Parse(capacity["value"].get<std::string>())});
  }
}

std::string Describe(const absl::Status& status, const char* otherwise) {
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return "unknown";
    case absl::StatusCode::kResourceExhausted:
      return "cost";
    default:
      return otherwise;
  }
}

json Answer(const std::string& expression, const std::deque<Device>& devices, SelectorRules rules) {
  const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(expression, rules);
  if (!selector.ok()) {
    return {{"compiled", Describe(selector.status(), "refused")},
            {"why", std::string(selector.status().message())},
            {"results", json::array()}};
  }
  json results = json::array();
  for (const Device& device : devices) {
    uint64_t cost = 0;
    const absl::StatusOr<bool> matches =
        selector->Matches({.driver = device.driver,
                           .attributes = device.attributes,
                           .capacity = device.capacity,
                           .allow_multiple_allocations = device.shared},
                          cost);
    json result{{"cost", cost}};
    result["result"] =
        matches.ok() ? (*matches ? "true" : "false") : Describe(matches.status(), "error");
    if (!matches.ok()) result["why"] = std::string(matches.status().message());
    results.push_back(std::move(result));
  }
  return {{"compiled", "ok"}, {"results", std::move(results)}};
}

}  // namespace
}  // namespace ebb::cel

int main() {
  using ebb::cel::Device;
  using nlohmann::json;
  std::string line;
  while (std::getline(std::cin, line)) {
    const json request = json::parse(line);
    std::deque<Device> devices;
    const auto rules = request["version"] == "1.37" ? ebb::cel::SelectorRules::kKubernetes137
                                                    : ebb::cel::SelectorRules::kKubernetes136;
    for (const json& device : request["devices"]) ebb::cel::Read(device, devices.emplace_back());
    json answers = json::array();
    for (const json& expression : request["expressions"]) {
      answers.push_back(ebb::cel::Answer(expression.get<std::string>(), devices, rules));
    }
    std::cout << json{{"answers", std::move(answers)}}.dump(-1, ' ', false,
                                                            json::error_handler_t::replace)
              << std::endl;
  }
  return 0;
}
