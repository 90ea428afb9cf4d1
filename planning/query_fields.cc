#include "planning/query_fields.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "engine/plan/check_input.h"

namespace ebb {
namespace {

template <typename Value>
absl::Status CheckNumber(std::string_view field, Value value, const FieldRange<Value>& range) {
  if (value >= range.min && value <= range.max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} is not from {} to {}", field, value, range.min, range.max));
}

// Keeps the first error.
class FieldChecker {
 public:
  explicit FieldChecker(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const absl::Status& status() const { return status_; }

  template <typename Value, typename Bound>
  void Number(const char* name, const Value& value, const FieldRange<Bound>& range) {
    status_.Update(CheckNumber<Bound>(path_ + name, static_cast<Bound>(value), range));
  }
  template <typename Value, typename Bound>
  void Number(const char* name, const std::optional<Value>& value, const FieldRange<Bound>& range) {
    if (value) this->Number(name, *value, range);
  }
  void Share(const char* name, double value) { status_.Update(CheckShare(path_ + name, value)); }
  template <typename Query>
  void Part(const char* name, const std::optional<Query>& part) {
    if (!part) return;
    FieldChecker checker(path_ + name + ".");
    VisitFields(*part, checker);
    status_.Update(checker.status());
  }
  // Values of these kinds are always valid by themselves.  Names are looked up in the cluster
  // later.
  template <typename... Row>
  void OneOf(const Row&... /*row*/) {}
  template <typename... Row>
  void Names(const Row&... /*row*/) {}
  template <typename... Row>
  void Switch(const Row&... /*row*/) {}

 private:
  std::string path_;
  absl::Status status_;
};

// Checks fields that depend on each other.
absl::Status CheckObjective(const SearchQuery& search, bool has_prices, std::string_view prefix) {
  const auto wrong = [&](std::string_view field, const std::string& what) {
    return absl::InvalidArgumentError(fmt::format("{}search.{}: {}", prefix, field, what));
  };
  if (search.move_cost > 0 && !search.for_cost) {
    return wrong("move_cost", "is for the objective COST");
  }
  if (search.for_cost && !has_prices) {
    return wrong("objective", fmt::format("COST needs {}prices", prefix));
  }
  if (search.max_evictions && search.move_cost > 0) {
    return wrong("max_evictions", fmt::format("takes no {}search.move_cost", prefix));
  }
  return absl::OkStatus();
}

// A search, and a plan that is shortened, do not continue the last plan.  Its removals are judged
// one by one, so it moves no gangs.
absl::Status CheckStable(const PlanQuery& query, std::string_view prefix) {
  const char* excluded = nullptr;
  if (query.planner.drain.gangs == Gangs::kMove) excluded = "gangs=move";
  if (query.search) excluded = "search";
  if (query.trials && query.trials->robust) excluded = "trials.robust";
  if (excluded == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{0}stable: takes no {0}{1}; a stable plan keeps the last one", prefix, excluded));
}

}  // namespace

absl::Status CheckRange(std::string_view field, double value, const FieldRange<double>& range) {
  return CheckNumber(field, value, range);
}

absl::Status CheckQuery(const PlanQuery& query, std::string_view prefix) {
  FieldChecker checker{std::string(prefix)};
  VisitFields(query, checker);
  if (!checker.status().ok()) return checker.status();
  if (query.stable) return CheckStable(query, prefix);
  if (!query.search) return absl::OkStatus();
  if (!query.planner.headroom.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}search: takes no headroom; a search does not keep any", prefix));
  }
  if (query.planner.drain.gangs == Gangs::kMove) {
    return absl::InvalidArgumentError(
        fmt::format("{}search: takes no gangs=move; a search does not move gangs whole", prefix));
  }
  return CheckObjective(*query.search, query.prices.has_value(), prefix);
}

}  // namespace ebb
