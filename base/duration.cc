#include "base/duration.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"

namespace ebb {
namespace {

// Removes the unit at the start of `text` and returns its length in nanoseconds; 0 if `text`
// does not start with a unit.
int64_t TakeUnit(std::string_view& text) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1},       {"us", 1000},      {"\u00b5s", 1000},  {"\u03bcs", 1000},
      {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
  };
  for (const auto& [name, length] : kUnits) {
    if (text.starts_with(name)) {
      text.remove_prefix(name.size());
      return length;
    }
  }
  return 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "2 d 3 h", "2 d".
std::string TwoUnits(int64_t large, std::string_view large_unit, int64_t small,
                     std::string_view small_unit) {
  return small == 0 ? absl::StrCat(large, " ", Absl(large_unit))
                    : absl::StrCat(large, " ", Absl(large_unit), " ", small, " ", Absl(small_unit));
}

}  // namespace

std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  __extension__ using Wide = __int128;
  constexpr Wide kMost = INT64_MAX;
  constexpr Wide kScaleEnd = 1'000'000'000'000'000'000;  // Go ignores further fraction digits.
  Wide total = 0;
  while (!text.empty()) {
    Wide whole = 0;
    Wide fraction = 0;
    Wide scale = 1;
    bool any = false;
    for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1), any = true) {
      whole = whole * 10 + (text[0] - '0');
      if (whole > kMost) return std::nullopt;
    }
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1), any = true) {
        if (scale >= kScaleEnd) continue;
        fraction = fraction * 10 + (text[0] - '0');
        scale *= 10;
      }
    }
    const int64_t unit = TakeUnit(text);
    if (!any || unit == 0) return std::nullopt;
    total += whole * unit + fraction * unit / scale;
    if (total > kMost) return std::nullopt;
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(total));
}

std::string DurationText(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  const int64_t s = std::max<int64_t>(0, seconds);
  if (s < kMinute) return absl::StrCat(s, " s");
  if (s < kHour) return TwoUnits(s / kMinute, "min", s % kMinute, "s");
  if (s < 2 * kDay) return TwoUnits(s / kHour, "h", s % kHour / kMinute, "min");
  return TwoUnits(s / kDay, "d", s % kDay / kHour, "h");
}

std::string DurationText(std::chrono::duration<double> duration) {
  const double s = std::max(0.0, duration.count());
  if (s == 0) return "0 s";
  if (s < 0.0001) return "under 0.1 ms";
  if (s < 0.0095) return absl::StrFormat("%.1f ms", s * 1e3);
  if (s < 0.9995) return absl::StrFormat("%.0f ms", s * 1e3);
  if (s >= 9.95) return DurationText(std::chrono::round<std::chrono::seconds>(duration).count());
  std::string text = absl::StrFormat("%.1f", s);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " s";
}

}  // namespace ebb
