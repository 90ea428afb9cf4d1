#include "sizing/policy/escalator/escalator_options.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace ebb {
namespace {

constexpr uint64_t kTooLarge = uint64_t{1} << 63;  // Its negative is the smallest duration.

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the leading digits of `text`; nullopt if their value is above 2^63.
std::optional<uint64_t> TakeWhole(std::string_view* text) {
  uint64_t whole = 0;
  for (; !text->empty() && IsDigit(text->front()); text->remove_prefix(1)) {
    if (whole > kTooLarge / 10) return std::nullopt;
    whole = whole * 10 + static_cast<uint64_t>(text->front() - '0');
    if (whole > kTooLarge) return std::nullopt;
  }
  return whole;
}

struct Fraction {
  uint64_t digits = 0;
  double scale = 1;  // The fraction is digits / scale.
};

// Takes the leading digits of `text`, and ignores the digits that do not fit.
Fraction TakeFraction(std::string_view* text) {
  Fraction fraction;
  bool overflows = false;
  for (; !text->empty() && IsDigit(text->front()); text->remove_prefix(1)) {
    if (overflows) continue;
    const auto digit = static_cast<uint64_t>(text->front() - '0');
    overflows = fraction.digits > (kTooLarge - 1) / 10 || fraction.digits * 10 + digit > kTooLarge;
    if (overflows) continue;
    fraction.digits = fraction.digits * 10 + digit;
    fraction.scale *= 10;
  }
  return fraction;
}

// Takes the leading unit of `text`: everything up to the next number.
std::optional<uint64_t> TakeUnit(std::string_view* text) {
  struct Unit {
    std::string_view name;
    uint64_t ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1},
                             {"us", 1'000},
                             {"\xC2\xB5s", 1'000},  // Micro sign.
                             {"\xCE\xBCs", 1'000},  // Greek mu.
                             {"ms", 1'000'000},
                             {"s", 1'000'000'000},
                             {"m", 60'000'000'000},
                             {"h", 3'600'000'000'000}};
  const auto* const end =
      std::find_if(text->begin(), text->end(), [](char c) { return c == '.' || IsDigit(c); });
  const std::string_view name = text->substr(0, static_cast<size_t>(end - text->begin()));
  text->remove_prefix(name.size());
  const auto* const unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                        [name](const Unit& u) { return u.name == name; });
  if (unit == std::end(kUnits)) return std::nullopt;
  return unit->ns;
}

// Takes one number with its unit, such as "1.5h".
std::optional<uint64_t> TakePart(std::string_view* text) {
  const size_t before = text->size();
  const std::optional<uint64_t> whole = TakeWhole(text);
  if (!whole) return std::nullopt;
  size_t digits = before - text->size();
  Fraction fraction;
  if (text->starts_with('.')) {
    text->remove_prefix(1);
    const size_t at_point = text->size();
    fraction = TakeFraction(text);
    digits += at_point - text->size();
  }
  if (digits == 0) return std::nullopt;
  const std::optional<uint64_t> unit = TakeUnit(text);
  if (!unit || *whole > kTooLarge / *unit) return std::nullopt;
  uint64_t ns = *whole * *unit;
  if (fraction.digits > 0) {
    const double share = static_cast<double>(*unit) / fraction.scale;
    ns += static_cast<uint64_t>(static_cast<double>(fraction.digits) * share);
  }
  if (ns > kTooLarge) return std::nullopt;
  return ns;
}

int64_t DurationOrZero(std::string_view text) { return ParseGoDuration(text).value_or(0); }

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Collects problems.
class Checker {
 public:
  void That(bool good, std::string_view key, std::string_view text) {
    if (!good) problems_.push_back({key, text});
  }
  std::vector<EscalatorProblem> Take() { return std::move(problems_); }

 private:
  std::vector<EscalatorProblem> problems_;
};

void CheckNamesAndThresholds(const EscalatorOptions& o, Checker& check) {
  check.That(!o.name.empty(), "name", "name cannot be empty");
  check.That(!o.label_key.empty(), "label_key", "label_key cannot be empty");
  check.That(!o.label_value.empty(), "label_value", "label_value cannot be empty");
  check.That(!o.cloud_provider_group_name.empty(), "cloud_provider_group_name",
             "cloud_provider_group_name cannot be empty");

  constexpr std::string_view kUpper = "taint_upper_capacity_threshold_percent";
  constexpr std::string_view kLower = "taint_lower_capacity_threshold_percent";
  check.That(o.taint_upper_capacity_threshold_percent > 0, kUpper,
             "taint_upper_capacity_threshold_percent must be larger than 0");
  check.That(o.taint_lower_capacity_threshold_percent > 0, kLower,
             "taint_lower_capacity_threshold_percent must be larger than 0");
  check.That(o.scale_up_threshold_percent > 0, "scale_up_threshold_percent",
             "scale_up_threshold_percent must be larger than 0");
  check.That(o.taint_lower_capacity_threshold_percent < o.taint_upper_capacity_threshold_percent,
             kLower,
             "taint_lower_capacity_threshold_percent must be less than "
             "taint_upper_capacity_threshold_percent");
  check.That(o.taint_upper_capacity_threshold_percent < o.scale_up_threshold_percent, kUpper,
             "taint_upper_capacity_threshold_percent must be less than scale_up_threshold_percent");
}

void CheckNodes(const EscalatorOptions& o, Checker& check) {
  if (o.min_nodes != 0 || o.max_nodes != 0) {
    check.That(o.min_nodes < o.max_nodes, "min_nodes", "min_nodes must be less than max_nodes");
    check.That(o.max_nodes > 0, "max_nodes", "max_nodes must be larger than 0");
    check.That(o.min_nodes >= 0, "min_nodes", "min_nodes must be not less than 0");
  }
  check.That(o.slow_node_removal_rate <= o.fast_node_removal_rate, "slow_node_removal_rate",
             "slow_node_removal_rate must be less than fast_node_removal_rate");
}

void CheckPeriods(const EscalatorOptions& o, const EscalatorDurations& durations, Checker& check) {
  constexpr std::string_view kSoftUnread =
      "soft_delete_grace_period failed to parse into a time.Duration. check your formatting.";
  check.That(!o.soft_delete_grace_period.empty(), "soft_delete_grace_period",
             "soft_delete_grace_period must not be empty");
  check.That(!o.hard_delete_grace_period.empty(), "hard_delete_grace_period",
             "hard_delete_grace_period must not be empty");
  check.That(durations.soft_delete_ns > 0, "soft_delete_grace_period", kSoftUnread);
  check.That(
      durations.hard_delete_ns > 0, "hard_delete_grace_period",
      "hard_delete_grace_period failed to parse into a time.Duration. check your formatting.");
  check.That(durations.soft_delete_ns < durations.hard_delete_ns, "soft_delete_grace_period",
             "soft_delete_grace_period must be less than hard_delete_grace_period");
  check.That(!o.scale_up_cool_down_period.empty(), "scale_up_cool_down_period",
             "scale_up_cool_down_period must not be empty");
  check.That(durations.cool_down_ns > 0, "scale_up_cool_down_period", kSoftUnread);
}

void CheckHealth(const EscalatorOptions& o, const EscalatorDurations& durations, Checker& check) {
  if (o.unhealthy_node_grace_period.empty()) return;
  check.That(
      durations.unhealthy_grace_ns > 0, "unhealthy_node_grace_period",
      "unhealthy_node_grace_period failed to parse into a time.Duration. check your formatting.");
  check.That(o.health_check_newest_nodes_percent > 0, "health_check_newest_nodes_percent",
             "health_check_newest_nodes_percent must be greater than 0");
  check.That(o.health_check_newest_nodes_percent <= 100, "health_check_newest_nodes_percent",
             "health_check_newest_nodes_percent must be less than or equal to 100");
  check.That(o.max_unhealthy_nodes_percent >= 0, "max_unhealthy_nodes_percent",
             "max_unhealthy_nodes_percent must be greater than or equal to 0");
  check.That(o.max_unhealthy_nodes_percent < 100, "max_unhealthy_nodes_percent",
             "max_unhealthy_nodes_percent must be less than 100");
}

}  // namespace

std::optional<int64_t> ParseGoDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  uint64_t ns = 0;
  while (!text.empty()) {
    const std::optional<uint64_t> part = TakePart(&text);
    if (!part) return std::nullopt;
    ns += *part;  // Both are 2^63 at most.
    if (ns > kTooLarge) return std::nullopt;
  }
  if (negative) {
    return ns == kTooLarge ? std::numeric_limits<int64_t>::min() : -static_cast<int64_t>(ns);
  }
  if (ns == kTooLarge) return std::nullopt;
  return static_cast<int64_t>(ns);
}

EscalatorDurations Durations(const EscalatorOptions& options) {
  return {.soft_delete_ns = DurationOrZero(options.soft_delete_grace_period),
          .hard_delete_ns = DurationOrZero(options.hard_delete_grace_period),
          .cool_down_ns = DurationOrZero(options.scale_up_cool_down_period),
          .max_node_age_ns = DurationOrZero(options.max_node_age),
          .unhealthy_grace_ns = DurationOrZero(options.unhealthy_node_grace_period)};
}

std::vector<EscalatorProblem> Problems(const EscalatorOptions& options) {
  const EscalatorOptions& o = options;
  const EscalatorDurations durations = Durations(options);
  Checker check;
  CheckNamesAndThresholds(o, check);
  CheckNodes(o, check);
  CheckPeriods(o, durations, check);
  check.That(IsOneOf(o.taint_effect, {"", "NoSchedule", "NoExecute", "PreferNoSchedule"}),
             "taint_effect", "taint_effect must be valid kubernetes taint");
  check.That(IsOneOf(o.aws_lifecycle, {"", "on-demand", "spot"}), "aws.lifecycle",
             "aws.lifecycle must be 'on-demand' or 'spot' if provided.");
  check.That(o.max_node_age.empty() || ParseGoDuration(o.max_node_age).has_value(), "max_node_age",
             "max_node_age failed to parse into a time.Duration. Set to '0' or '' to disable, or a "
             "positive Go duration to enable.");
  CheckHealth(o, durations, check);
  return check.Take();
}

}  // namespace ebb
