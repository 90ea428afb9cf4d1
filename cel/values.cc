#include "cel/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "base/text.h"
#include "cel/errors.h"

namespace ebb::cel {
namespace {

using absl::int128;

constexpr int kNanoScale = -9;
// 10^28 units; room for sums of such amounts.
constexpr int kNanoDigitsMax = 37;

int128 PowerOf10(int exponent) {
  int128 power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

// value * 10^digits; nullopt beyond 10^kNanoDigitsMax.
std::optional<int128> Shifted(int128 value, int64_t digits) {
  if (value == 0) return 0;
  const int128 limit = PowerOf10(kNanoDigitsMax);
  for (; digits > 0; --digits) {
    value *= 10;
    if (value > limit || value < -limit) return std::nullopt;
  }
  return value;
}

std::string_view TakeDigits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

struct Suffix {
  bool binary = false;
  int64_t exponent = 0;
};

std::optional<Suffix> ParseSuffix(std::string_view text) {
  constexpr std::string_view kDecimal = "num kMGTPE";  // 10^-9 to 10^18; ' ' stands for none.
  constexpr std::string_view kBinary = "KMGTPE";
  if (text.empty()) return Suffix{};
  if (text.size() == 1 && text != " ") {
    const size_t at = kDecimal.find(text[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Suffix{.exponent = 3 * (static_cast<int64_t>(at) - 3)};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const size_t at = kBinary.find(text[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Suffix{.binary = true, .exponent = 10 * (static_cast<int64_t>(at) + 1)};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  // Kubernetes keeps 32 bits of it.
  return Suffix{.exponent = static_cast<int32_t>(exponent)};
}

constexpr bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

// A number of a version: digits without leading zeros.
bool ParseNumber(std::string_view text, uint64_t& number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool IsDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view TakeIdentifier(std::string_view& text) {
  const size_t dot = text.find('.');
  const std::string_view part = text.substr(0, dot);
  text = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  return part;
}

// Whether the text is identifiers with dots between them.
bool AreIdentifiers(std::string_view text, bool prerelease) {
  for (bool more = true; more;) {
    more = text.find('.') != std::string_view::npos;
    const std::string_view part = TakeIdentifier(text);
    uint64_t number;
    if (part.empty() || !std::ranges::all_of(part, IsAlphanumeric)) return false;
    if (prerelease && IsDigits(part) && !ParseNumber(part, number)) return false;
  }
  return true;
}

int CompareIdentifiers(std::string_view a, std::string_view b) {
  const bool a_digits = IsDigits(a);
  if (a_digits != IsDigits(b)) return a_digits ? -1 : 1;
  if (a_digits && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a == b ? 0 : a < b ? -1 : 1;
}

}  // namespace

Quantity::Quantity(int64_t whole) : nanos_(int128(whole) * 1'000'000'000), value_(whole) {}

absl::StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  const std::string_view given = text;
  const auto not_a_quantity = [given] {
    return Refused(
        Concat({"\"", absl::CHexEscape(Absl(given.substr(0, 40))), "\" is not a quantity"}));
  };
  const auto too_large = [] { return NotUnderstood("a quantity beyond 10^28 or very fine"); };
  if (text.empty()) return not_a_quantity();
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  while (!text.empty() && text[0] == '0') text.remove_prefix(1);
  if (text.empty()) return Quantity();  // Also for a sign alone, as Kubernetes reads it.

  std::string_view whole = TakeDigits(text);
  if (whole.empty()) whole = "0";
  std::string_view fraction;
  const bool has_point = !text.empty() && text[0] == '.';
  if (has_point) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  const std::optional<Suffix> suffix = ParseSuffix(text);
  if (!suffix) return not_a_quantity();
  if (whole.size() + fraction.size() > 60 || suffix->exponent > 100 || suffix->exponent < -100) {
    return too_large();
  }

  Quantity result;
  const auto digits = static_cast<int64_t>(whole.size() + fraction.size());
  const int64_t scale =
      (suffix->binary ? 0 : suffix->exponent) - static_cast<int64_t>(fraction.size());
  // Kubernetes holds what surely fits as int64.
  const bool fits =
      suffix->binary
          ? fraction.empty() &&
                15 - digits - static_cast<int32_t>(static_cast<float>(suffix->exponent) * 3 / 10) -
                        1 >=
                    0
          : digits <= 18;
  // The digits as one number.
  int128 number = 0;
  for (const std::string_view part : {whole, fraction}) {
    for (const char c : part) {
      if (number > PowerOf10(kNanoDigitsMax - 1)) return too_large();
      number = number * 10 + (c - '0');
    }
  }
  if (fits && scale >= kNanoScale) {
    if (suffix->binary) {
      for (int64_t i = 0; i < suffix->exponent; ++i) number *= 2;
    }
    const std::optional<int128> nanos = Shifted(number, scale - kNanoScale);
    if (!nanos || (number == 0 && scale > 100)) return too_large();
    if (number <= std::numeric_limits<int64_t>::max()) {
      result.nanos_ = negative ? -*nanos : *nanos;
      result.value_ = static_cast<int64_t>(negative ? -number : number);
      result.scale_ = static_cast<int8_t>(scale);
      return result;
    }
    for (int64_t i = 0; i < (suffix->binary ? suffix->exponent : 0); ++i) number /= 2;
  }

  result.decimal_ = true;
  if (suffix->binary) {
    for (int64_t i = 0; i < suffix->exponent; ++i) {
      if (number > PowerOf10(kNanoDigitsMax - 1)) return too_large();
      number *= 2;
    }
  }
  int128 nanos;
  if (scale >= kNanoScale) {
    const std::optional<int128> shifted = Shifted(number, scale - kNanoScale);
    if (!shifted) return too_large();
    nanos = *shifted;
  } else {
    const int64_t finer = kNanoScale - scale;
    const int128 divisor = finer > kNanoDigitsMax ? int128(0) : PowerOf10(static_cast<int>(finer));
    nanos = divisor == 0 ? int128(number == 0 ? 0 : 1) : (number + divisor - 1) / divisor;
  }
  result.scale_ = kNanoScale;
  if (number == 0) {
    if (scale < -100 || scale > 100) return too_large();
    result.scale_ = static_cast<int8_t>(scale);
  }
  const int128 limit = int128(std::numeric_limits<int64_t>::max()) * 1'000'000'000;
  if (suffix->binary && nanos > limit) {
    nanos = limit;
    result.scale_ = 0;
  }
  result.nanos_ = negative ? -nanos : nanos;
  return result;
}

std::optional<int64_t> Quantity::AsInt64() const {
  if (decimal_ || scale_ < 0) return std::nullopt;
  const int128 whole = nanos_ / 1'000'000'000;
  if (whole > std::numeric_limits<int64_t>::max() || whole < std::numeric_limits<int64_t>::min()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(whole);
}

double Quantity::AsApproximateFloat64() const {
  // The compiler's type, which rounds once.
  double base = static_cast<double>(value_);
  if (decimal_ && scale_ >= kNanoScale && nanos_ != 0) {
    base = static_cast<double>(static_cast<__int128>(nanos_ / PowerOf10(scale_ - kNanoScale)));
  }
  return scale_ == 0 ? base : base * std::pow(10.0, scale_);
}

std::optional<Quantity> Quantity::Add(const Quantity& other) const {
  Quantity sum;
  sum.nanos_ = nanos_ + other.nanos_;
  if (sum.nanos_ > PowerOf10(kNanoDigitsMax) || sum.nanos_ < -PowerOf10(kNanoDigitsMax)) {
    return std::nullopt;
  }
  if (!decimal_ && !other.decimal_) {
    if (other.value_ == 0) return *this;
    if (value_ == 0) return other;
    sum.scale_ = std::min(scale_, other.scale_);
    const int128 value = sum.nanos_ / PowerOf10(sum.scale_ - kNanoScale);
    const Quantity& coarser = scale_ > other.scale_ ? *this : other;
    const int128 scaled = coarser.nanos_ / PowerOf10(sum.scale_ - kNanoScale);
    const auto fits = [](int128 v) {
      return v <= std::numeric_limits<int64_t>::max() && v >= std::numeric_limits<int64_t>::min();
    };
    if (fits(value) && fits(scaled)) {
      sum.value_ = static_cast<int64_t>(value);
      return sum;
    }
  }
  sum.decimal_ = true;
  sum.scale_ = std::min(scale_, other.scale_);
  return sum;
}

std::optional<Quantity> Quantity::Subtract(const Quantity& other) const {
  if (other.value_ == std::numeric_limits<int64_t>::min()) return std::nullopt;
  Quantity negated = other;
  negated.nanos_ = -other.nanos_;
  negated.value_ = -other.value_;
  return Add(negated);
}

std::optional<Semver> Semver::Parse(std::string_view text) {
  Semver version;
  const size_t first = text.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = text.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  if (!ParseNumber(text.substr(0, first), version.major) ||
      !ParseNumber(text.substr(first + 1, second - first - 1), version.minor)) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(second + 1);
  if (const size_t plus = rest.find('+'); plus != std::string_view::npos) {
    version.build = rest.substr(plus + 1);
    rest = rest.substr(0, plus);
    if (!AreIdentifiers(version.build, false)) return std::nullopt;
  }
  if (const size_t minus = rest.find('-'); minus != std::string_view::npos) {
    version.prerelease = rest.substr(minus + 1);
    rest = rest.substr(0, minus);
    if (!AreIdentifiers(version.prerelease, true)) return std::nullopt;
  }
  if (!ParseNumber(rest, version.patch)) return std::nullopt;
  return version;
}

int Semver::Compare(const Semver& other) const {
  if (major != other.major) return major < other.major ? -1 : 1;
  if (minor != other.minor) return minor < other.minor ? -1 : 1;
  if (patch != other.patch) return patch < other.patch ? -1 : 1;
  if (prerelease.empty() != other.prerelease.empty()) return prerelease.empty() ? 1 : -1;
  std::string_view a = prerelease;
  std::string_view b = other.prerelease;
  while (!a.empty() && !b.empty()) {
    const int order = CompareIdentifiers(TakeIdentifier(a), TakeIdentifier(b));
    if (order != 0) return order;
  }
  return a.empty() && b.empty() ? 0 : a.empty() ? -1 : 1;
}

}  // namespace ebb::cel
