#include "snapshot/import/input_warning.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "base/printable.h"

namespace ebb {
namespace {

constexpr const char* kLacksKinds = "kinds";
constexpr const char* kLacksPods = "pods";

Lack LackFrom(const std::string& text) {
  return text == kLacksPods ? Lack::kPods : text == kLacksKinds ? Lack::kKinds : Lack::kNothing;
}

}  // namespace

std::string WarningText(const InputWarning& warning) {
  std::string text = "warning: " + warning.message;
  if (!warning.command.empty()) text += "; try `" + warning.command + "`";
  if (!warning.advice.empty()) text += "; " + warning.advice;
  return text;
}

void PrintInputWarnings(std::span<const InputWarning> warnings, std::ostream& err) {
  for (const InputWarning& warning : warnings) PrintMessage(WarningText(warning), err);
}

nlohmann::ordered_json InputWarningsJson(std::span<const InputWarning> warnings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const InputWarning& warning : warnings) {
    json.push_back({{"code", warning.code}, {"message", warning.message}});
    if (!warning.command.empty()) json.back()["command"] = warning.command;
    if (!warning.advice.empty()) json.back()["advice"] = warning.advice;
    if (warning.lack != Lack::kNothing) {
      json.back()["lacks"] = warning.lack == Lack::kPods ? kLacksPods : kLacksKinds;
    }
  }
  return json;
}

std::vector<InputWarning> InputWarningsFrom(const nlohmann::ordered_json& json) {
  std::vector<InputWarning> warnings;
  if (!json.is_array()) return warnings;
  for (const auto& each : json) {
    if (!each.is_object()) continue;
    const auto text = [&each](const char* key) {
      const auto found = each.find(key);
      return found != each.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    warnings.push_back({.code = text("code"),
                        .message = text("message"),
                        .command = text("command"),
                        .lack = LackFrom(text("lacks")),
                        .advice = text("advice")});
  }
  return warnings;
}

std::vector<InputWarning> NewWarnings::Among(std::span<const InputWarning> warnings) {
  std::vector<InputWarning> added;
  std::set<std::string> codes;
  for (const InputWarning& warning : warnings) {
    codes.insert(warning.code);
    if (!codes_.contains(warning.code)) added.push_back(warning);
  }
  codes_ = std::move(codes);
  return added;
}

}  // namespace ebb
