#include "base/cron.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/text.h"

namespace ebb {
namespace {

struct Range {
  std::string_view name;
  unsigned min;
  unsigned max;
  std::string_view names;  // Names of three letters; the first stands for `min`.
};
constexpr std::array<Range, 5> kRanges = {{
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"day of month", 1, 31, ""},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of week", 0, 6, "sunmontuewedthufrisat"},
}};

constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"}};

constexpr int64_t kDayS = 86400;
constexpr int kYears = 5;

absl::Status Wrong(const Range& range, std::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Absl(range.name), " \"", Absl(text), "\": ", why));
}

std::vector<std::string_view> SplitWithoutEmpty(std::string_view text,
                                                std::string_view separators) {
  std::vector<std::string_view> parts = SplitAtAny(text, separators);
  std::erase(parts, "");
  return parts;
}

bool ParseValue(std::string_view text, const Range& range, unsigned& value) {
  const std::string lower = absl::AsciiStrToLower(Absl(text));
  for (size_t at = 0; lower.size() == 3 && at < range.names.size(); at += 3) {
    if (range.names.substr(at, 3) != lower) continue;
    value = range.min + static_cast<unsigned>(at / 3);
    return true;
  }
  constexpr int64_t kMost = 1'000'000;  // More than any field takes.
  const std::optional<int64_t> number = ParseInt64(text);
  if (!number || *number < 0) return false;
  value = static_cast<unsigned>(std::min(*number, kMost));
  return true;
}

std::chrono::year_month_day DateOf(int64_t day) {
  return std::chrono::year_month_day(
      std::chrono::sys_days(std::chrono::days(static_cast<int>(day))));
}

int64_t DayOf(std::chrono::year_month_day date) {
  return std::chrono::sys_days(date).time_since_epoch().count();
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

absl::StatusOr<CronSchedule::Field> CronSchedule::ParseField(std::string_view text, int which) {
  const Range& range = kRanges[static_cast<size_t>(which)];
  Field field;
  for (const std::string_view part : SplitWithoutEmpty(text, ",")) {
    const std::vector<std::string_view> stepped = SplitAtAny(part, "/");
    const std::vector<std::string_view> ends = SplitAtAny(stepped[0], "-");
    if (stepped.size() > 2) return Wrong(range, part, "has several slashes");
    const bool is_star = ends[0] == "*" || ends[0] == "?";
    unsigned from = range.min;
    unsigned to = range.max;
    if (!is_star) {
      if (ends.size() > 2) return Wrong(range, part, "has several hyphens");
      if (!ParseValue(ends[0], range, from)) return Wrong(range, part, "is not a number");
      to = from;
      if (ends.size() == 2 && !ParseValue(ends[1], range, to)) {
        return Wrong(range, part, "is not a range of numbers");
      }
    }
    unsigned step = 1;
    if (stepped.size() == 2) {
      if (!ParseValue(stepped[1], Range{range.name, 0, 0, ""}, step) || step == 0) {
        return Wrong(range, part, "needs a step of at least 1");
      }
      if (ends.size() == 1) to = range.max;
    }
    if (from < range.min || to > range.max || from > to) {
      return Wrong(range, part, absl::StrCat("must be within ", range.min, "-", range.max));
    }
    field.star |= is_star && step == 1;
    for (unsigned value = from; value <= to; value += std::min(step, 64U)) {
      field.bits |= uint64_t{1} << value;
    }
  }
  return field;
}

absl::StatusOr<CronSchedule> CronSchedule::Parse(std::string_view text) {
  CronSchedule schedule;
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  std::vector<std::string_view> fields = SplitWithoutEmpty(text, kBlanks);
  if (fields.size() == 2 && fields[0] == "@every") {
    const auto every = ParseDuration(fields[1]);
    if (!every) {
      return absl::InvalidArgumentError(
          absl::StrCat("@every \"", Absl(fields[1]), "\": is not a duration"));
    }
    schedule.every_s_ =
        std::max<int64_t>(1, std::chrono::floor<std::chrono::seconds>(*every).count());
    return schedule;
  }
  for (const auto& [name, meaning] : kNamed) {
    if (fields.size() == 1 && fields[0] == name) fields = SplitWithoutEmpty(meaning, kBlanks);
  }
  if (fields.size() != kRanges.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Absl(text), "\": has ", fields.size(), " fields; expected 5"));
  }
  Field* const parts[] = {&schedule.minute_, &schedule.hour_, &schedule.day_, &schedule.month_,
                          &schedule.weekday_};
  for (size_t f = 0; f < kRanges.size(); ++f) {
    absl::StatusOr<Field> parsed = ParseField(fields[f], static_cast<int>(f));
    if (!parsed.ok()) return parsed.status();
    *parts[f] = *parsed;
  }
  return schedule;
}

bool CronSchedule::IsDueOn(int64_t day) const {
  const std::chrono::year_month_day date = DateOf(day);
  const std::chrono::weekday weekday{std::chrono::sys_days(date)};
  const bool by_day = IsDue(day_, static_cast<unsigned>(date.day()));
  const bool by_weekday = IsDue(weekday_, weekday.c_encoding());
  return day_.star || weekday_.star ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<int64_t> CronSchedule::Next(int64_t after_s) const {
  if (every_s_ > 0) return after_s + every_s_;
  // The first whole minute after `after_s`.
  int64_t at_s = (FloorDiv(after_s, 60) + 1) * 60;
  const int last_year = static_cast<int>(DateOf(FloorDiv(at_s, kDayS)).year()) + kYears;
  while (true) {
    const int64_t day = FloorDiv(at_s, kDayS);
    const std::chrono::year_month_day date = DateOf(day);
    if (static_cast<int>(date.year()) > last_year) return std::nullopt;
    if (!IsDue(month_, static_cast<unsigned>(date.month()))) {
      at_s = DayOf((date.year() / date.month() / 1) + std::chrono::months(1)) * kDayS;
      continue;
    }
    if (!IsDueOn(day)) {
      at_s = (day + 1) * kDayS;
      continue;
    }
    const int64_t second = at_s - day * kDayS;
    if (!IsDue(hour_, static_cast<unsigned>(second / 3600))) {
      at_s = day * kDayS + (second / 3600 + 1) * 3600;
      continue;
    }
    if (IsDue(minute_, static_cast<unsigned>(second / 60 % 60))) return at_s;
    at_s += 60;
  }
}

}  // namespace ebb
