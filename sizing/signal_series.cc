#include "sizing/signal_series.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/figures.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

std::optional<int64_t> TimeOf(std::string_view text) {
  if (const std::optional<int64_t> seconds = ParseInt64(text)) return seconds;
  return ParseRfc3339(text);
}

absl::StatusOr<std::vector<SignalPoint>> ReadCsv(const std::string& file, const std::string& text) {
  std::vector<SignalPoint> points;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string where = fmt::format("line {}", ++number);
    line = absl::StripAsciiWhitespace(line);
    if (number == 1 && line != "time,pool,signal,value") {
      return BadSetting(file, where, "must be \"time,pool,signal,value\"");
    }
    if (number == 1 || line.empty()) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    if (cells.size() != 4) {
      return BadSetting(file, where,
                        fmt::format("has {}, not 4", Count(cells.size(), "field", "fields")));
    }
    const std::optional<int64_t> at_s = TimeOf(cells[0]);
    if (!at_s)
      return BadSetting(file, where + ": time", fmt::format("\"{}\" is not a time", cells[0]));
    SignalPoint point{.at_s = *at_s, .pool = cells[1], .signal = cells[2]};
    if (point.signal.empty()) return BadSetting(file, where + ": signal", "is not a name");
    if (!absl::SimpleAtod(cells[3], &point.value)) {
      return BadSetting(file, where + ": value", fmt::format("\"{}\" is not a number", cells[3]));
    }
    points.push_back(std::move(point));
  }
  return points;
}

// Returns what is wrong with the item, as "field: what", or "".
std::string ReadItem(const simdjson::dom::element& item, SignalPoint& point) {
  simdjson::dom::object object;
  if (item.get_object().get(object)) return "is not an object";
  bool has_time = false;
  bool has_value = false;
  for (const auto [key, value] : object) {
    std::string_view text;
    if (key == "time") {
      if (value.get_string().get(text) == simdjson::SUCCESS) {
        const std::optional<int64_t> at_s = TimeOf(text);
        if (!at_s) return fmt::format("time: \"{}\" is not a time", text);
        point.at_s = *at_s;
      } else if (value.get_int64().get(point.at_s)) {
        return "time: is not a time";
      }
      has_time = true;
    } else if (key == "pool" || key == "signal") {
      if (value.get_string().get(text)) return fmt::format("{}: is not a text", key);
      (key == "pool" ? point.pool : point.signal) = text;
    } else if (key == "value") {
      if (value.get_double().get(point.value)) return "value: is not a number";
      has_value = true;
    } else {
      return fmt::format("{}: {}", key,
                         NoSuchField(std::string(key), {"time", "pool", "signal", "value"}));
    }
  }
  if (!has_time) return "time: is required";
  if (point.signal.empty()) return "signal: is required";
  return has_value ? "" : "value: is required";
}

absl::StatusOr<std::vector<SignalPoint>> ReadJsonSignals(const std::string& file,
                                                         const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::array array;
  const simdjson::padded_string padded(text);
  simdjson::dom::element root;
  if (auto error = parser.parse(padded).get(root)) {
    return BadSetting(file, "", simdjson::error_message(error));
  }
  if (root.get_array().get(array)) return BadSetting(file, "", "is not a list");
  std::vector<SignalPoint> points;
  for (const simdjson::dom::element item : array) {
    SignalPoint point;
    const std::string wrong = ReadItem(item, point);
    if (!wrong.empty()) return BadSetting(file, fmt::format("[{}]", points.size()), wrong);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

absl::StatusOr<std::vector<SignalPoint>> ReadSignals(const std::string& file,
                                                     const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '[';
  return is_json ? ReadJsonSignals(file, text) : ReadCsv(file, text);
}

std::map<std::string, PolicySignal, std::less<>> Latest(const std::vector<SignalPoint>& points,
                                                        std::string_view pool, int64_t now_s) {
  std::map<std::string, PolicySignal, std::less<>> latest;
  for (const SignalPoint& point : points) {
    if (point.pool != pool || point.at_s > now_s) continue;
    PolicySignal& signal = latest[point.signal];
    if (signal.at_s && *signal.at_s > point.at_s) continue;
    signal = {.value = point.value, .at_s = point.at_s};
  }
  return latest;
}

std::vector<std::string> StaleSignals(const PolicyObservation& observation, int64_t period_s,
                                      int64_t now_s) {
  std::vector<std::string> stale;
  for (const auto& [name, signal] : observation.signals) {
    const bool is_stale = period_s > 0 && signal.at_s &&
                          static_cast<double>(now_s) - static_cast<double>(*signal.at_s) >
                              static_cast<double>(period_s);
    if (is_stale) stale.push_back(name);
  }
  return stale;
}

}  // namespace ebb
