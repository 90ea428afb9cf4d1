#include "snapshot/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

using uint128 = unsigned __int128;

// A quantity taken apart: digits x 10^exponent x 2^shift, where the digits are
// `whole` followed by `fraction` and the exponent already counts the fraction.
struct Parts {
  bool negative = false;
  std::string_view whole;     // Without leading zeros.
  std::string_view fraction;  // What stands behind the point.
  int64_t exponent = 0;
  int shift = 0;
};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeDigits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// Beyond this every number is too large, or too small to be told from the least.
constexpr int64_t kExponentBound = 1'000'000;

QuantityError InterpretSuffix(std::string_view suffix, Parts& parts) {
  constexpr std::string_view kDecimal = "num kMGTPE";  // 10^-9 by thousands; ' ' is none.
  constexpr std::string_view kBinary = "KMGTPE";       // 2^10 by ten.
  if (suffix.empty()) return QuantityError::kNone;
  if (suffix.size() == 1 && suffix[0] != ' ') {
    const size_t at = kDecimal.find(suffix[0]);
    if (at == std::string_view::npos) return QuantityError::kNotAQuantity;
    parts.exponent = 3 * static_cast<int64_t>(at) - 9;
    return QuantityError::kNone;
  }
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t at = kBinary.find(suffix[0]);
    if (at == std::string_view::npos) return QuantityError::kNotAQuantity;
    parts.shift = 10 * static_cast<int>(at + 1);
    return QuantityError::kNone;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return QuantityError::kNotAQuantity;
  suffix.remove_prefix(1);
  if (suffix.size() > 1 && suffix[0] == '+' && IsDigit(suffix[1])) suffix.remove_prefix(1);
  int64_t exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (end != suffix.data() + suffix.size() || error == std::errc::invalid_argument) {
    return QuantityError::kNotAQuantity;
  }
  if (error == std::errc::result_out_of_range) return QuantityError::kTooLarge;
  parts.exponent = std::clamp(exponent, -kExponentBound, kExponentBound);
  return QuantityError::kNone;
}

// The grammar of parseQuantityString: sign, digits, point, digits, suffix.  The
// digits may all be missing, also where that looks odd ("." is zero upstream).
QuantityError Split(std::string_view text, Parts& parts) {
  if (text.empty()) return QuantityError::kNotAQuantity;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.whole = TakeDigits(text);
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    parts.fraction = TakeDigits(text);
  }
  if (const QuantityError error = InterpretSuffix(text, parts); error != QuantityError::kNone) {
    return error;
  }
  while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.remove_suffix(1);
  parts.exponent -= static_cast<int64_t>(parts.fraction.size());
  return QuantityError::kNone;
}

constexpr uint64_t kPowersOfTen[] = {1ull,
                                     10ull,
                                     100ull,
                                     1000ull,
                                     10000ull,
                                     100000ull,
                                     1000000ull,
                                     10000000ull,
                                     100000000ull,
                                     1000000000ull,
                                     10000000000ull,
                                     100000000000ull,
                                     1000000000000ull,
                                     10000000000000ull,
                                     100000000000000ull,
                                     1000000000000000ull,
                                     10000000000000000ull,
                                     100000000000000000ull,
                                     1000000000000000000ull};
constexpr int64_t kDigitsMax = 18;  // As many always fit a uint64_t.

constexpr uint128 kMagnitudeMax = static_cast<uint128>(std::numeric_limits<int64_t>::max());

// At most 18 digits, so digits x 2^60 fits 128 bits with room to spare.
QuantityError MagnitudeOfFew(uint64_t digits, int64_t exponent, int shift, uint128& magnitude) {
  magnitude = static_cast<uint128>(digits) << shift;
  if (magnitude == 0) return QuantityError::kNone;
  if (exponent >= 0) {
    if (exponent > kDigitsMax || magnitude > kMagnitudeMax / kPowersOfTen[exponent]) {
      return QuantityError::kTooLarge;
    }
    magnitude *= kPowersOfTen[exponent];
    return QuantityError::kNone;
  }
  // Divide and round up, in steps that each have a divisor of 64 bits; rounding up
  // at every step is rounding up once.
  for (int64_t left = std::min<int64_t>(-exponent, 60); left > 0; left -= kDigitsMax) {
    const uint64_t divisor = kPowersOfTen[std::min(left, kDigitsMax)];
    magnitude = (magnitude + divisor - 1) / divisor;
  }
  return magnitude > kMagnitudeMax ? QuantityError::kTooLarge : QuantityError::kNone;
}

// A natural number of any size, least significant first, nine digits a limb.
using Limbs = std::vector<uint32_t>;
constexpr uint32_t kLimb = 1'000'000'000;

void MultiplyAdd(Limbs& limbs, uint32_t factor, uint32_t carry) {
  uint64_t rest = carry;
  for (uint32_t& limb : limbs) {
    rest += static_cast<uint64_t>(limb) * factor;
    limb = static_cast<uint32_t>(rest % kLimb);
    rest /= kLimb;
  }
  if (rest > 0) limbs.push_back(static_cast<uint32_t>(rest));
}

// More digits than a word holds: as a person would do it on paper.
QuantityError MagnitudeOfMany(const Parts& parts, int64_t exponent, uint128& magnitude) {
  Limbs limbs;
  for (const std::string_view digits : {parts.whole, parts.fraction}) {
    for (const char c : digits) MultiplyAdd(limbs, 10, static_cast<uint32_t>(c - '0'));
  }
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
  magnitude = 0;
  if (limbs.empty()) return QuantityError::kNone;
  if (parts.shift > 0) {
    MultiplyAdd(limbs, 1u << (parts.shift / 2), 0);
    MultiplyAdd(limbs, 1u << (parts.shift - parts.shift / 2), 0);
  }
  if (exponent > kDigitsMax) return QuantityError::kTooLarge;
  for (; exponent > 0; --exponent) MultiplyAdd(limbs, 10, 0);
  bool inexact = false;
  for (; exponent <= -9 && !limbs.empty(); exponent += 9) {
    inexact |= limbs.front() != 0;
    limbs.erase(limbs.begin());
  }
  if (limbs.size() > 4) return QuantityError::kTooLarge;
  for (size_t i = limbs.size(); i-- > 0;) magnitude = magnitude * kLimb + limbs[i];
  if (exponent < 0 && !limbs.empty()) {
    const uint64_t divisor = kPowersOfTen[-exponent];
    inexact |= magnitude % divisor != 0;
    magnitude /= divisor;
  }
  magnitude += inexact ? 1 : 0;
  return magnitude > kMagnitudeMax ? QuantityError::kTooLarge : QuantityError::kNone;
}

}  // namespace

QuantityError ParseQuantity(std::string_view text, QuantityUnit unit, int64_t& amount) {
  Parts parts;
  if (const QuantityError error = Split(text, parts); error != QuantityError::kNone) return error;
  const int64_t exponent = parts.exponent + (unit == QuantityUnit::kMilli ? 3 : 0);
  uint128 magnitude = 0;
  QuantityError error;
  if (parts.whole.size() + parts.fraction.size() <= static_cast<size_t>(kDigitsMax)) {
    uint64_t digits = 0;
    for (const char c : parts.whole) digits = digits * 10 + static_cast<uint64_t>(c - '0');
    for (const char c : parts.fraction) digits = digits * 10 + static_cast<uint64_t>(c - '0');
    error = MagnitudeOfFew(digits, exponent, parts.shift, magnitude);
  } else {
    error = MagnitudeOfMany(parts, exponent, magnitude);
  }
  if (error != QuantityError::kNone) return error;
  const int64_t positive = static_cast<int64_t>(magnitude);
  amount = parts.negative ? -positive : positive;
  return QuantityError::kNone;
}

absl::StatusOr<int64_t> ParseQuantity(std::string_view text, QuantityUnit unit) {
  int64_t amount = 0;
  const QuantityError error = ParseQuantity(text, unit, amount);
  if (error == QuantityError::kNone) return amount;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::Utf8SafeCHexEscape(absl::string_view(text.data(), text.size())),
      error == QuantityError::kTooLarge ? "\" is too large a quantity" : "\" is not a quantity"));
}

}  // namespace ebb
