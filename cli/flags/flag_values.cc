#include "cli/flags/flag_values.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/duration.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/time_range.h"
#include "groups/cloud_group_name.h"
#include "groups/prices.h"

namespace ebb {
namespace {

constexpr std::string_view kMostDuration = "876000h";  // 100 years.

constexpr uint64_t kBytesMax = uint64_t{1} << 60;

constexpr std::pair<ValueKind, const char*> kNames[] = {
    {ValueKind::kWholeNumber, "whole number"},
    {ValueKind::kNumber, "number"},
    {ValueKind::kDuration, "duration"},
    {ValueKind::kTime, "time"},
    {ValueKind::kMinMax, "min:max"},
    {ValueKind::kGroupSize, "min:max:name"},
    {ValueKind::kNodesOrGroupSize, "nodes or min:max:name"},
    {ValueKind::kBytes, "bytes"},
    {ValueKind::kGpuTotal, "gpu:min:max"},
    {ValueKind::kPriceRule, "rule"},
    {ValueKind::kSwitch, "switch"},
    {ValueKind::kChoice, "choice"},
    {ValueKind::kFile, "file"},
    {ValueKind::kNode, "node"},
    {ValueKind::kText, "text"},
    {ValueKind::kMaybeEmptyText, "any text"},
};

std::string NameOf(ValueKind kind) {
  for (const auto& [each, name] : kNames) {
    if (each == kind) return name;
  }
  return "";
}

std::string IsNot(const std::string& text, const std::string& what) {
  return "\"" + Printable(text) + "\" is not " + what;
}

// `takes` returns whether a text is valid; `what` is the expected form.
template <typename Takes>
CLI::Validator Make(ValueKind kind, std::string range, std::string what, Takes takes) {
  const auto check = [what = std::move(what), takes](std::string& text) {
    return takes(std::string_view(text)) ? std::string() : IsNot(text, what);
  };
  CLI::Validator validator(check, std::move(range), NameOf(kind));
  validator.non_modifying();
  return validator;
}

// Whether the whole text is one decimal number of this type.
template <typename Integer>
std::optional<Integer> Whole(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return value;
}

// The number that the whole text is, from `min` to `max`.
std::optional<double> NumberIn(std::string_view text, double min, double max) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end) return std::nullopt;
  if (value == 0 && text.starts_with('-')) return std::nullopt;  // "-0" is not accepted.
  const bool is_in = std::isfinite(value) && value >= min && value <= max;
  return is_in ? std::optional(value) : std::nullopt;
}

std::optional<MinMaxParts> MinMaxOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.starts_with('-')) return std::nullopt;
  const auto min = Whole<int64_t>(text.substr(0, colon));
  const auto max = Whole<int64_t>(text.substr(colon + 1));
  if (!min || !max || *min > *max) return std::nullopt;
  return MinMaxParts{.min = *min, .max = *max};
}

std::optional<GroupSizeParts> GroupSizeOf(std::string_view text) {
  const size_t first = text.find(':');
  const size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos || !ReadCloudGroupName(text.substr(second + 1))) {
    return std::nullopt;
  }
  const auto sizes = MinMaxOf(text.substr(0, second));
  if (!sizes) return std::nullopt;
  return GroupSizeParts{
      .min = sizes->min, .max = sizes->max, .name = std::string(text.substr(second + 1))};
}

std::optional<uint64_t> BytesOf(std::string_view text) {
  constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
      {"", 1},
      {"b", 1},
      {"kb", 1'000},
      {"mb", 1'000'000},
      {"gb", 1'000'000'000},
      {"tb", 1'000'000'000'000},
      {"kib", uint64_t{1} << 10},
      {"mib", uint64_t{1} << 20},
      {"gib", uint64_t{1} << 30},
      {"tib", uint64_t{1} << 40},
  };
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = Whole<uint64_t>(text.substr(0, digits));
  const std::string unit = CLI::detail::to_lower(std::string(text.substr(digits)));
  for (const auto& [name, size] : kUnits) {
    if (name != unit) continue;
    if (!number || *number == 0 || *number > kBytesMax / size) return std::nullopt;
    return *number * size;
  }
  return std::nullopt;
}

CLI::Validator AnyText(ValueKind kind) {
  const auto check = [](const std::string& text) {
    return text.empty() ? std::string("is empty") : std::string();
  };
  CLI::Validator validator(check, "", NameOf(kind));
  validator.non_modifying();
  return validator;
}

// Null: the option has none of these checkers.
const CLI::Validator* CheckerOf(const CLI::Option& option) {
  // CLI11 offers no const access to validators; this changes nothing.
  auto& asked = const_cast<CLI::Option&>(option);
  try {
    for (int i = 0;; ++i) {
      const CLI::Validator* const validator = asked.get_validator(i);
      for (const auto& [kind, name] : kNames) {
        if (validator->get_name() == name) return validator;
      }
    }
  } catch (const CLI::OptionNotFound&) {  // CLI11 reports the end of the list with this exception.
    return nullptr;
  }
}

}  // namespace

namespace values {

CLI::Validator WholeNumber(int64_t min, uint64_t max) {
  const std::string range = fmt::format("{} to {}", min, max);
  return Make(ValueKind::kWholeNumber, range, "a whole number from " + range,
              [min, max](std::string_view text) {
                if (text.starts_with('-')) {
                  const auto value = Whole<int64_t>(text);
                  return value && *value < 0 && *value >= min;
                }
                const auto value = Whole<uint64_t>(text);
                return value && *value <= max && (min <= 0 || *value >= static_cast<uint64_t>(min));
              });
}

CLI::Validator Number(double min, double max) {
  const std::string range = fmt::format("{:g} to {:g}", min, max);
  return Make(ValueKind::kNumber, range, "a number from " + range,
              [min, max](std::string_view text) { return NumberIn(text, min, max).has_value(); });
}

CLI::Validator Share() {
  const auto read = [](std::string& text) {
    if (NumberIn(text, 0, 1)) return std::string();
    const auto percent = text.ends_with('%')
                             ? NumberIn(std::string_view(text).substr(0, text.size() - 1), 0, 100)
                             : std::nullopt;
    if (!percent) return IsNot(text, "a number from 0 to 1, or a percentage");
    text = fmt::format("{}", *percent / 100);
    return std::string();
  };
  return {read, "0 to 1", NameOf(ValueKind::kNumber)};
}

CLI::Validator Duration() {
  return Make(ValueKind::kDuration, fmt::format("0s to {}", kMostDuration),
              fmt::format("a duration such as 30s or 1h30m, from 0s to {}", kMostDuration),
              [](std::string_view text) {
                const auto duration = ParseDuration(text);
                return duration && *duration <= *ParseDuration(kMostDuration);
              });
}

CLI::Validator Time() {
  return Make(ValueKind::kTime, "1970 to 9999",
              "a time such as 2026-01-02T03:04:05Z, from 1970 to 9999", [](std::string_view text) {
                const auto time = ParseRfc3339(text);
                return time && *time >= 0 && *time <= kLatestTimeS;
              });
}

CLI::Validator MinMax(int64_t max) {
  const std::string range = fmt::format("0 to {} each", max);
  return Make(ValueKind::kMinMax, range, "a range such as 8:320000, " + range,
              [max](std::string_view text) {
                const auto parts = MinMaxOf(text);
                return parts && parts->max <= max;
              });
}

CLI::Validator GroupSize(int64_t max) {
  const std::string range = fmt::format("0 to {} each", max);
  return Make(ValueKind::kGroupSize, range,
              "a group with its size such as 1:10:general or 1:10:cpx31:fsn1:general, " + range,
              [max](std::string_view text) {
                const auto parts = GroupSizeOf(text);
                return parts && parts->max <= max;
              });
}

CLI::Validator NodesOrGroupSize(int64_t nodes_max, int64_t max) {
  const std::string range = fmt::format("1 to {}, or 0 to {} each", nodes_max, max);
  return Make(ValueKind::kNodesOrGroupSize, range,
              "a number of nodes, or a group with its size such as 1:10:general or "
              "1:10:cpx31:fsn1:general, " +
                  range,
              [nodes_max, max](std::string_view text) {
                if (const auto nodes = Whole<int64_t>(text)) {
                  return *nodes >= 1 && *nodes <= nodes_max;
                }
                const auto parts = GroupSizeOf(text);
                return parts && parts->max <= max;
              });
}

CLI::Validator Bytes() {
  return Make(ValueKind::kBytes, "1B to 1048576TiB",
              "a size such as 2000000, 500MB or 16GiB, from 1B to 1048576TiB",
              [](std::string_view text) { return BytesOf(text).has_value(); });
}

CLI::Validator GpuTotal() {
  return Make(ValueKind::kGpuTotal, "", "a kind of GPU with its range such as nvidia-tesla-k80:0:8",
              [](std::string_view text) {
                const size_t colon = text.find(':');
                return colon != std::string_view::npos && colon > 0 &&
                       MinMaxOf(text.substr(colon + 1)).has_value();
              });
}

CLI::Validator PriceRule() {
  return Make(ValueKind::kPriceRule, "",
              "a rule, spot=FACTOR or discount=PART with a number from 0 to 1, such as spot=0.35",
              [](std::string_view text) {
                PriceRules rules;
                return ReadPriceRule(text, rules).empty();
              });
}

CLI::Validator Switch() {
  return Make(ValueKind::kSwitch, "true|false", "true or false", [](std::string_view text) {
    constexpr std::array<std::string_view, 12> kTaken = {"1", "t", "T", "TRUE",  "true",  "True",
                                                         "0", "f", "F", "FALSE", "false", "False"};
    return std::ranges::find(kTaken, text) != kTaken.end();
  });
}

CLI::Validator Choice(const std::vector<std::string>& choices) {
  const auto check = [choices](const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return std::string();
    const std::string nearest = Nearest(text, choices);
    std::string wrong = IsNot(text, "one of " + fmt::format("{}", fmt::join(choices, ", ")));
    return nearest.empty() ? wrong : wrong + "; did you mean " + nearest + "?";
  };
  CLI::Validator validator(check, fmt::format("{}", fmt::join(choices, "|")),
                           NameOf(ValueKind::kChoice));
  validator.non_modifying();
  return validator;
}

CLI::Validator File() { return AnyText(ValueKind::kFile); }
CLI::Validator NodeName() { return AnyText(ValueKind::kNode); }
CLI::Validator Text() { return AnyText(ValueKind::kText); }
CLI::Validator MaybeEmptyText() {
  const auto check = [](const std::string&) { return std::string(); };
  CLI::Validator validator(check, "", NameOf(ValueKind::kMaybeEmptyText));
  validator.non_modifying();
  return validator;
}

}  // namespace values

std::optional<ValueKind> KindOf(const CLI::Option& option) {
  const CLI::Validator* const checker = CheckerOf(option);
  if (checker == nullptr) return std::nullopt;
  for (const auto& [kind, name] : kNames) {
    if (checker->get_name() == name) return kind;
  }
  return std::nullopt;
}

std::string RangeOf(const CLI::Option& option) {
  const CLI::Validator* const checker = CheckerOf(option);
  return checker == nullptr ? "" : checker->get_description();
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::optional<ValueKind> kind = KindOf(option);
  if (kind != ValueKind::kChoice && kind != ValueKind::kSwitch) return {};
  return CLI::detail::split(RangeOf(option), '|');
}

std::string TypeOf(const CLI::Option& option) {
  std::string type = option.get_type_name();  // With the description after a colon.
  const std::string range = RangeOf(option);
  const std::string end = ":" + range;
  if (!range.empty() && type.ends_with(end)) type.resize(type.size() - end.size());
  return type;
}

MinMaxParts ParseMinMax(std::string_view text) {
  EBB_DCHECK(MinMaxOf(text).has_value());
  return MinMaxOf(text).value_or(MinMaxParts{});
}

GroupSizeParts ParseGroupSize(std::string_view text) {
  EBB_DCHECK(GroupSizeOf(text).has_value());
  return GroupSizeOf(text).value_or(GroupSizeParts{});
}

uint64_t ParseBytes(std::string_view text) {
  EBB_DCHECK(BytesOf(text).has_value());
  return BytesOf(text).value_or(0);
}

int64_t DurationSeconds(std::string_view text) {
  EBB_DCHECK(ParseDuration(text).has_value());
  return std::chrono::ceil<std::chrono::seconds>(*ParseDuration(text)).count();
}

std::string DurationFlagText(int64_t seconds) {
  EBB_DCHECK(seconds >= 0);
  std::string text;
  if (seconds >= 3600) text += fmt::format("{}h", seconds / 3600);
  if (seconds % 3600 >= 60) text += fmt::format("{}m", seconds % 3600 / 60);
  if (seconds % 60 > 0 || seconds == 0) text += fmt::format("{}s", seconds % 60);
  return text;
}

void TakeLastOfEach(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 1 && KindOf(*option) != ValueKind::kFile) {
      option->take_last();
    }
  }
}

}  // namespace ebb
