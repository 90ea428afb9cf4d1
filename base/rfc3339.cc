#include "base/rfc3339.h"

#include <chrono>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace ebb {
namespace {

// Removes `count` digits from the front and returns their number, or sets `ok` to false.
int64_t TakeNumber(std::string_view& text, size_t count, bool& ok) {
  if (text.size() < count) ok = false;
  int64_t number = 0;
  for (size_t i = 0; ok && i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') ok = false;
    number = number * 10 + (text[i] - '0');
  }
  if (ok) text.remove_prefix(count);
  return number;
}

void Expect(std::string_view& text, char c, bool& ok) {
  if (text.empty() || text[0] != c) ok = false;
  if (ok) text.remove_prefix(1);
}

constexpr bool IsLeap(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr int64_t DaysIn(int64_t month, int64_t year) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[month - 1];
}

// Days from 1970-01-01 in the Gregorian calendar, counted from March so that the
// leap day comes last (Howard Hinnant, "chrono-compatible low-level date
// algorithms").
constexpr int64_t DaysSinceEpoch(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}
static_assert(DaysSinceEpoch(1970, 1, 1) == 0 && DaysSinceEpoch(2000, 3, 1) == 11017);

// Removes an offset ("Z", "+02:00") and returns it, in seconds east of UTC.
int64_t TakeOffset(std::string_view& text, bool& ok) {
  if (text.empty()) ok = false;
  if (!ok) return 0;
  const char sign = text[0];
  text.remove_prefix(1);
  if (sign == 'Z') return 0;
  if (sign != '+' && sign != '-') ok = false;
  const int64_t hours = TakeNumber(text, 2, ok);
  Expect(text, ':', ok);
  const int64_t minutes = TakeNumber(text, 2, ok);
  if (hours > 23 || minutes > 59) ok = false;
  return (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

// What a time says; nothing is checked but that these are numbers.
struct Fields {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t offset = 0;  // Seconds east of UTC.
};

// Reads the form that Kubernetes writes, "2026-01-02T03:04:05Z".  Returns false at any other.
bool ReadCommonForm(std::string_view text, Fields& fields) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return false;
  bool ok = true;
  for (size_t i = 0; i < kForm.size(); ++i) {
    // Without a branch, so that the compiler compares many bytes a step.
    const auto digit = static_cast<unsigned char>(text[i] - '0');
    ok &= kForm[i] == '0' ? digit <= 9 : text[i] == kForm[i];
  }
  const auto two = [text](size_t i) -> int64_t {
    return (text[i] - '0') * 10 + (text[i + 1] - '0');
  };
  fields = {two(0) * 100 + two(2), two(5), two(8), two(11), two(14), two(17), 0};
  return ok;
}

// Reads any form.
bool ReadForm(std::string_view text, Fields& fields) {
  bool ok = true;
  fields.year = TakeNumber(text, 4, ok);
  Expect(text, '-', ok);
  fields.month = TakeNumber(text, 2, ok);
  Expect(text, '-', ok);
  fields.day = TakeNumber(text, 2, ok);
  Expect(text, 'T', ok);
  fields.hour = TakeNumber(text, 2, ok);
  Expect(text, ':', ok);
  fields.minute = TakeNumber(text, 2, ok);
  Expect(text, ':', ok);
  fields.second = TakeNumber(text, 2, ok);
  if (ok && !text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    TakeNumber(text, 1, ok);
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  }
  fields.offset = TakeOffset(text, ok);
  return ok && text.empty();
}

}  // namespace

std::optional<int64_t> ParseRfc3339(std::string_view text) {
  Fields fields;
  if (!ReadCommonForm(text, fields) && !ReadForm(text, fields)) return std::nullopt;
  const auto& [year, month, day, hour, minute, second, offset] = fields;
  if (month < 1 || month > 12 || day < 1 || day > DaysIn(month, year)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return DaysSinceEpoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
}

std::string FormatRfc3339(int64_t seconds) {
  EBB_DCHECK(DaysSinceEpoch(0, 1, 1) * 86400 <= seconds &&
             seconds < DaysSinceEpoch(10000, 1, 1) * 86400);
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace ebb
