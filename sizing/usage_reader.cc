#include "sizing/usage_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/duration.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "platform/settings_file.h"
#include "snapshot/objects/quantity.h"

namespace ebb {
namespace {

using Element = simdjson::dom::element;

std::string_view TextAt(const Element& item, const char* path) {
  std::string_view text;
  return item.at_pointer(path).get_string().get(text) == simdjson::SUCCESS ? text
                                                                           : std::string_view();
}

// Adds a map of quantities to `to`.  Returns what is wrong, or "".
std::string AddUsage(const Element& usage, PolicyResources& to) {
  simdjson::dom::object amounts;
  if (usage.get_object().get(amounts)) return "usage: is not an object";
  for (const auto [name, value] : amounts) {
    const bool is_cpu = name == "cpu";
    if (!is_cpu && name != "memory") continue;
    std::string_view text;
    if (value.get_string().get(text)) return fmt::format("usage.{}: is not a quantity", name);
    const absl::StatusOr<int64_t> amount =
        ParseQuantity(text, is_cpu ? QuantityUnit::kMilli : QuantityUnit::kWhole);
    if (!amount.ok()) {
      return fmt::format("usage.{}: {}", name, std::string(amount.status().message()));
    }
    if (*amount < 0) return fmt::format("usage.{}: \"{}\" is below 0", name, text);
    int64_t& sum = is_cpu ? to.cpu_milli : to.memory_bytes;
    if (__builtin_add_overflow(sum, *amount, &sum)) {
      return fmt::format("usage.{}: is too large", name);
    }
  }
  return "";
}

// Reads the usage of one item.  Returns what is wrong, or "".
std::string ReadUsage(const Element& item, bool of_pod, PolicyResources& usage) {
  if (!of_pod) {
    Element amounts;
    if (item["usage"].get(amounts)) return "usage: is required";
    return AddUsage(amounts, usage);
  }
  simdjson::dom::array containers;
  if (item["containers"].get_array().get(containers)) return "containers: is not a list";
  size_t number = 0;
  for (const Element container : containers) {
    const std::string at = fmt::format("containers[{}].", number++);
    Element amounts;
    if (container["usage"].get(amounts)) return at + "usage: is required";
    const std::string wrong = AddUsage(amounts, usage);
    if (!wrong.empty()) return at + wrong;
  }
  return "";
}

}  // namespace

absl::Status UsageReader::Read(const std::string& file, const std::string& json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  Element root;
  if (const auto error = parser.parse(padded).get(root)) {
    return BadSetting(file, "", simdjson::error_message(error));
  }
  const std::string_view kind = TextAt(root, "/kind");
  const bool of_pods = kind == "PodMetricsList";
  if (!of_pods && kind != "NodeMetricsList") {
    return BadSetting(file, "kind", "is not PodMetricsList or NodeMetricsList");
  }
  simdjson::dom::array items;
  if (root["items"].get_array().get(items)) return BadSetting(file, "items", "is not a list");
  size_t number = 0;
  for (const Element item : items) {
    const std::string where = fmt::format("items[{}]", number++);
    const std::string_view name = TextAt(item, "/metadata/name");
    if (name.empty()) return BadSetting(file, where + ".metadata.name", "is required");
    PolicyResources usage;
    const std::string wrong = ReadUsage(item, of_pods, usage);
    if (!wrong.empty()) return BadSetting(file, where, wrong);
    const std::string_view time = TextAt(item, "/timestamp");
    const std::optional<int64_t> at_s = ParseRfc3339(time);
    if (!at_s && !time.empty()) {
      return BadSetting(file, where + ".timestamp", fmt::format("\"{}\" is not a time", time));
    }
    newest_s_ = std::max(newest_s_, at_s.value_or(0));
    if (of_pods) {
      pods_[fmt::format("{}/{}", TextAt(item, "/metadata/namespace"), name)] = {usage, at_s};
    } else {
      nodes_[std::string(name)] = {usage, at_s};
    }
  }
  return absl::OkStatus();
}

absl::Status UsageReader::AddTo(PolicyObservation& seen, int64_t now_s, int64_t period_s) const {
  if (period_s == 0) period_s = kUsagePeriodS;
  std::string wrong;
  const auto add = [&](const auto& from, std::string_view kind, auto& to) {
    const auto found = from.find(to.name);
    if (to.usage || found == from.end()) return;
    const Used& used = found->second;
    const int64_t at_s = used.at_s.value_or(now_s);
    to.usage = used.amounts;
    if (at_s >= now_s - period_s && at_s <= now_s + period_s) return;
    if (!wrong.empty()) return;
    wrong = fmt::format("the usage of {} {} is of {}, more than {} {} the round's time {}", kind,
                        Printable(to.name), FormatRfc3339(at_s), DurationText(period_s),
                        at_s < now_s ? "before" : "after", FormatRfc3339(now_s));
  };
  for (PolicyNode& node : seen.nodes) {
    add(nodes_, "node", node);
    for (PolicyPod& pod : node.pods) add(pods_, "pod", pod);
  }
  return wrong.empty() ? absl::OkStatus() : absl::FailedPreconditionError(wrong);
}

}  // namespace ebb
