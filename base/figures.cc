#include "base/figures.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"

namespace ebb {
namespace {

// "1,234.5".
std::string OneDecimal(double amount) {
  std::string text = absl::StrFormat("%.1f", amount);
  for (size_t at = text.find('.'); at > 3 && at <= text.size(); at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

std::string WithCommas(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Signed(int64_t number) {
  const std::string digits = WithCommas(static_cast<uint64_t>(number < 0 ? -number : number));
  return absl::StrCat(number < 0 ? "-" : number > 0 ? "+" : "", digits);
}

std::string Count(uint64_t number, std::string_view one, std::string_view many) {
  return absl::StrCat(WithCommas(number), " ", Absl(number == 1 ? one : many));
}

std::string Percent(double fraction) {
  if (std::isnan(fraction)) return "-";
  if (std::isinf(fraction)) return "inf";
  return absl::StrFormat("%.1f%%", fraction * 100);
}

double RoundedAmount(double amount) {
  constexpr double kMillionths = 1e6;
  const double scaled = amount * kMillionths;
  return std::abs(scaled) < 1e15 ? std::round(scaled) / kMillionths : amount;
}

std::string Cores(int64_t cpu_milli) { return OneDecimal(static_cast<double>(cpu_milli) / 1000); }

std::string Gibibytes(int64_t bytes) {
  return OneDecimal(static_cast<double>(bytes) / (int64_t{1} << 30)) + " GiB";
}

std::string Bytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return unit == 0 ? absl::StrCat(bytes, " B")
                   : absl::StrCat(absl::StrFormat("%.1f ", amount), Absl(kUnits[unit]));
}

}  // namespace ebb
