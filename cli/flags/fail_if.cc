#include "cli/flags/fail_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ostream>

#include "base/figures.h"
#include "base/printable.h"
#include "cli/flags/flag_values.h"
#include "groups/prices.h"

namespace ebb {
namespace {

constexpr GateFigure kPlanFigures[] = {{"nodes", ""},
                                       {"pods", ""},
                                       {"removed", "of the nodes"},
                                       {"kept", "of the nodes"},
                                       {"moved", "of the pods"},
                                       {"pending", "of the pods"},
                                       {"saved", "of the cost", /*is_money=*/true},
                                       {"cost", "", /*is_money=*/true}};
constexpr GateFigure kComparisonFigures[] = {
    {"nodes", "of the plan before"},        {"removed", "of the plan before"},
    {"moved", "of the plan before"},        {"saved", "of the plan before", /*is_money=*/true},
    {"before-alone", "of the plan before"}, {"after-alone", "of the plan before"}};

struct Period {
  std::string_view name;
  double hours;
};
constexpr Period kPeriods[] = {
    {"hour", 1}, {"day", 24}, {"month", kHoursPerMonth}, {"year", 12 * kHoursPerMonth}};

constexpr std::string_view kExpected =
    "expected FIGURE, one of < <= > >= = !=, a number and a unit, as removed<3 or saved>100/month";

struct Condition {
  std::string_view figure;
  std::string_view comparison;
  double limit = 0;
  bool percent = false;
  std::string_view currency;
  const Period* period = nullptr;  // Null: none was given.
};

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Removes the comparison at the start of `text` and returns it; "": there is none.
std::string_view TakeComparison(std::string_view& text) {
  for (const std::string_view each : {"<=", ">=", "==", "!=", "<", ">", "="}) {
    if (!text.starts_with(each)) continue;
    text.remove_prefix(each.size());
    return each == "==" ? "=" : each;
  }
  return "";
}

std::optional<double> TakeNumber(std::string_view& text) {
  double number = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const bool plain = !digits.empty() && (digits[0] == '-' || digits[0] == '.' ||
                                         (digits[0] >= '0' && digits[0] <= '9'));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            std::chars_format::fixed);
  if (!plain || error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text = std::string_view(end, static_cast<size_t>(digits.data() + digits.size() - end));
  return number;
}

bool TakeUnit(std::string_view unit, Condition& condition) {
  if (unit == "%") return condition.percent = true;
  const size_t slash = unit.find('/');
  condition.currency = Trimmed(unit.substr(0, slash));
  if (condition.currency.find_first_of("0123456789% <>=!") != std::string_view::npos) return false;
  if (slash == std::string_view::npos) return true;
  const auto* const period =
      std::ranges::find(kPeriods, Trimmed(unit.substr(slash + 1)), &Period::name);
  condition.period = period;
  return period != std::end(kPeriods);
}

std::optional<Condition> ParseCondition(std::string_view text) {
  Condition condition;
  const size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) return std::nullopt;
  condition.figure = Trimmed(text.substr(0, at));
  text.remove_prefix(at);
  condition.comparison = TakeComparison(text);
  text = Trimmed(text);
  const std::optional<double> limit = TakeNumber(text);
  if (condition.figure.empty() || condition.comparison.empty() || !limit) return std::nullopt;
  condition.limit = *limit;
  if (!TakeUnit(Trimmed(text), condition)) return std::nullopt;
  return condition;
}

bool Holds(double value, std::string_view comparison, double limit) {
  if (comparison == "<") return value < limit;
  if (comparison == "<=") return value <= limit;
  if (comparison == ">") return value > limit;
  if (comparison == ">=") return value >= limit;
  return (value == limit) == (comparison == "=");
}

// "12.5%", "1,200.00 USD/month", "-3".
std::string ValueText(double value, const GateFigure& figure, const Condition& condition,
                      std::string_view currency) {
  if (condition.percent) return Percent(value / 100);
  if (!figure.is_money) {
    const auto count = static_cast<uint64_t>(std::llround(std::abs(value)));
    return (value < 0 ? "-" : "") + WithCommas(count);
  }
  return fmt::format("{}/{}", MoneyText(value, currency),
                     condition.period != nullptr ? condition.period->name : "hour");
}

// Why the condition cannot be about the figure; "": it can.
std::string Misfit(const Condition& condition, const GateFigure& figure) {
  if (condition.percent && figure.whole.empty()) {
    return fmt::format("{} is not a share of anything; leave out %", figure.name);
  }
  const bool has_money_unit = condition.period != nullptr || !condition.currency.empty();
  if (!figure.is_money && has_money_unit) {
    return fmt::format("{} is a count; {}", figure.name,
                       figure.whole.empty() ? "leave out the unit" : "its only unit is %");
  }
  return "";
}

CLI::Validator ConditionText() {
  CLI::Validator validator = values::Text();
  validator.operation([](std::string& text) -> std::string {
    if (ParseCondition(text)) return "";
    return fmt::format("\"{}\" is not a condition; {}", Printable(text), kExpected);
  });
  return validator;
}

}  // namespace

std::span<const GateFigure> PlanFigures() { return kPlanFigures; }
std::span<const GateFigure> ComparisonFigures() { return kComparisonFigures; }

void FailIf::AddTo(CLI::App& app, const std::string& group) {
  app.add_option("--fail-if", conditions,
                 "End with 11 if this holds, as removed<3, moved>10% or saved>100/month "
                 "(docs/gates.md); may be given often")
      ->check(ConditionText())
      ->type_name("CONDITION")
      ->allow_extra_args(false)
      ->group(group);
}

bool FailIf::Names(std::string_view figure) const {
  return std::ranges::any_of(conditions, [figure](const std::string& text) {
    const std::optional<Condition> condition = ParseCondition(text);
    return condition && condition->figure == figure;
  });
}

bool FailIf::Fit(std::span<const GateFigure> figures, std::string_view who,
                 std::ostream& err) const {
  for (const std::string& text : conditions) {
    const Condition condition = *ParseCondition(text);
    const auto figure = std::ranges::find(figures, condition.figure, &GateFigure::name);
    std::string wrong;
    if (figure == figures.end()) {
      std::vector<std::string_view> names;
      for (const GateFigure& each : figures) names.push_back(each.name);
      wrong = fmt::format("{} is not a figure; expected one of {}", Printable(condition.figure),
                          fmt::join(names, ", "));
    } else {
      wrong = Misfit(condition, *figure);
    }
    if (wrong.empty()) continue;
    PrintMessage(fmt::format("--fail-if {}: {}", Printable(text), wrong), err, who);
    err << "See `" << who << " --help`.\n";
    return false;
  }
  return true;
}

int FailIf::ExitCode(std::span<const GateFigure> figures, std::span<const GateValue> values,
                     std::string_view currency, int exit_code, std::ostream& err) const {
  bool unknown = false;
  bool met = false;
  const auto print = [&](const std::string& condition, const std::string& what) {
    PrintMessage(fmt::format("--fail-if {}: {}", Printable(condition), what), err);
  };
  for (const std::string& text : conditions) {
    const Condition condition = *ParseCondition(text);
    const GateFigure& figure = *std::ranges::find(figures, condition.figure, &GateFigure::name);
    const GateValue& found = *std::ranges::find(values, condition.figure, &GateValue::name);
    if (!found.value || (condition.percent && !found.whole)) {
      print(text, fmt::format("{} is not known: {}", figure.name, found.why_absent));
      unknown = true;
      continue;
    }
    if (!condition.currency.empty() && condition.currency != currency) {
      print(text, fmt::format("the prices are in {}, not in {}",
                              currency.empty() ? "no currency" : Printable(currency),
                              Printable(condition.currency)));
      unknown = true;
      continue;
    }
    double value = *found.value;
    if (condition.percent) {
      // A share of nothing: no change is 0%, any other is beyond every limit.
      value = value == 0 ? 0 : 100 * value / *found.whole;
    } else if (condition.period != nullptr) {
      value *= condition.period->hours;
    }
    if (!Holds(value, condition.comparison, condition.limit)) continue;
    print(text, fmt::format("{} is {}{}{}, and the limit is {}", figure.name,
                            ValueText(value, figure, condition, currency),
                            condition.percent ? " " : "", condition.percent ? figure.whole : "",
                            ValueText(condition.limit, figure, condition, currency)));
    met = true;
  }
  return unknown ? 1 : met ? kGateExit : exit_code;
}

}  // namespace ebb
