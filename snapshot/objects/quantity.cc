#include "snapshot/objects/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ebb {
namespace {

using uint128 = unsigned __int128;

// A quantity in parts: digits x 10^exponent x 2^shift.  The digits are `whole` followed by
// `fraction`; the exponent already accounts for the length of the fraction.
struct Parts {
  bool negative = false;
  std::string_view whole;     // Without leading zeros.
  std::string_view fraction;  // The digits after the point.
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

constexpr int64_t kNanoDigits = 9;  // Anything finer than a nano is rounded up to one.
constexpr int kSlowShift = 50;      // "Pi".

// No text has this many digits.  So beyond this exponent every number is either too large, or
// too small to be distinguished from the smallest.
constexpr int64_t kExponentBound = 4 * kQuantityBytesMax;

QuantityError InterpretSuffix(std::string_view suffix, Parts& parts) {
  constexpr std::string_view kDecimal = "num kMGTPE";  // From 10^-9 in thousands; ' ': no suffix.
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
  if (end != suffix.data() + suffix.size() || error != std::errc()) {
    return QuantityError::kNotAQuantity;  // Kubernetes also rejects an exponent beyond int64.
  }
  parts.exponent = std::clamp(exponent, -kExponentBound, kExponentBound);
  return QuantityError::kNone;
}

// The grammar of parseQuantityString: sign, digits, point, digits, suffix.  All digits may be
// missing, even where that looks odd ("." is zero in Kubernetes).  Only Kubernetes' fast path
// accepts that; a suffix that keeps Kubernetes off this path needs digits.
QuantityError Split(std::string_view text, Parts& parts) {
  if (text.empty()) return QuantityError::kNotAQuantity;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.whole = TakeDigits(text);
  bool has_digits = !parts.whole.empty();
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    parts.fraction = TakeDigits(text);
    has_digits = has_digits || !parts.fraction.empty();
  }
  if (const QuantityError error = InterpretSuffix(text, parts); error != QuantityError::kNone) {
    return error;
  }
  if (!has_digits && (parts.shift >= kSlowShift || parts.exponent < -kNanoDigits)) {
    return QuantityError::kNotAQuantity;
  }
  while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.remove_suffix(1);
  parts.exponent -= static_cast<int64_t>(parts.fraction.size());
  if (parts.whole.empty()) {
    parts.fraction.remove_prefix(
        std::min(parts.fraction.find_first_not_of('0'), parts.fraction.size()));
  }
  return QuantityError::kNone;
}

// 10^n.  REQUIRES: n <= 27.
constexpr uint128 PowerOfTen(int64_t n) {
  EBB_DCHECK(n <= 27);
  uint128 power = 1;
  for (; n > 0; --n) power *= 10;
  return power;
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
constexpr int64_t kDigitsMax = 18;  // This many digits always fit a uint64_t.

constexpr uint128 kMagnitudeMax = static_cast<uint128>(std::numeric_limits<int64_t>::max());

// A number without its sign: value - excess / 1e9.
struct Magnitude {
  uint128 value = 0;
  uint32_t excess = 0;
};

// Divides, and rounds up to a billionth; `value` is rounded up further to a whole number.
Magnitude DivideUp(uint128 dividend, uint128 divisor) {
  const uint128 value = (dividend + divisor - 1) / divisor;
  const uint128 beyond = value * divisor - dividend;
  return {value, static_cast<uint32_t>(beyond * kNanosPerUnit / divisor)};
}

constexpr Magnitude kTooLarge = {kMagnitudeMax, 0};

Magnitude Capped(const Magnitude& magnitude) {
  return magnitude.value >= kMagnitudeMax ? kTooLarge : magnitude;
}

// 18 digits at a lower exponent than this are less than a billionth.
constexpr int64_t kFewExponentMin = -(kDigitsMax + kNanoDigits);

// For at most 18 digits, so that digits x 2^60 fits 128 bits easily.
// REQUIRES: shift == 0 or exponent >= kFewExponentMin.
Magnitude MagnitudeOfFew(uint64_t digits, int64_t exponent, int shift) {
  EBB_DCHECK(shift == 0 || exponent >= kFewExponentMin);
  const uint128 value = static_cast<uint128>(digits) << shift;
  if (digits == 0) return {};
  if (exponent >= 0) {
    if (exponent > kDigitsMax || value > kMagnitudeMax / kPowersOfTen[exponent]) return kTooLarge;
    return {value * kPowersOfTen[exponent], 0};
  }
  if (exponent < kFewExponentMin) return {1, kNanosPerUnit - 1};
  return Capped(DivideUp(value, PowerOfTen(-exponent)));
}

// A natural number of any size: nine decimal digits per limb, least significant limb first.
using Limbs = std::vector<uint32_t>;
constexpr uint32_t kLimb = 1'000'000'000;

void MultiplyAdd(Limbs& limbs, uint32_t factor, uint32_t carry) {
  uint64_t rest = carry;
  for (uint32_t& limb : limbs) {
    rest += static_cast<uint64_t>(limb) * factor;
    limb = static_cast<uint32_t>(rest % kLimb);
    rest /= kLimb;
  }
  for (; rest > 0; rest /= kLimb) limbs.push_back(static_cast<uint32_t>(rest % kLimb));
}

// A whole number with more digits is at least 10^19, which is beyond int64.
constexpr int64_t kWholeDigitsMax = 19;
// A whole number of billionths, divided by 2^60, has at most this many decimal places (each
// halving adds one).  Digits beyond them cannot change which side of such a number the
// quantity is on; they only show that it is not exactly that number.
constexpr int64_t kPlacesMax = 60 + kNanoDigits;

// For more digits than a word holds: long multiplication as on paper, in billionths.
Magnitude MagnitudeOfMany(const Parts& parts, int64_t exponent) {
  const auto size = static_cast<int64_t>(parts.whole.size() + parts.fraction.size());
  if (size == 0) return {};
  if (size + exponent > kWholeDigitsMax) return kTooLarge;
  int64_t used = size;
  if (exponent < -kPlacesMax) {
    used = std::max<int64_t>(size + exponent + kPlacesMax, 0);
    exponent += size - used;
  }
  Limbs limbs;
  bool inexact = false;
  int64_t place = 0;
  for (const std::string_view digits : {parts.whole, parts.fraction}) {
    for (const char c : digits) {
      if (place++ < used) {
        MultiplyAdd(limbs, 10, static_cast<uint32_t>(c - '0'));
      } else {
        inexact |= c != '0';
      }
    }
  }
  MultiplyAdd(limbs, 1u << (parts.shift / 2), 0);
  MultiplyAdd(limbs, 1u << (parts.shift - parts.shift / 2), 0);
  exponent += kNanoDigits;
  for (; exponent > 0; --exponent) MultiplyAdd(limbs, 10, 0);
  for (; exponent <= -9 && !limbs.empty(); exponent += 9) {
    inexact |= limbs.front() != 0;
    limbs.erase(limbs.begin());
  }
  if (limbs.size() > 4) return kTooLarge;
  uint128 billionths = 0;
  for (size_t i = limbs.size(); i-- > 0;) billionths = billionths * kLimb + limbs[i];
  if (exponent < 0 && !limbs.empty()) {
    const uint64_t divisor = kPowersOfTen[-exponent];
    inexact |= billionths % divisor != 0;
    billionths /= divisor;
  }
  return Capped(DivideUp(billionths + (inexact ? 1 : 0), kNanosPerUnit));
}

// Reads what nearly all quantities are: a few digits, alone or before m, Ki, Mi or Gi.  Returns
// false at any other form, also at wrong ones.
bool ParseCommon(std::string_view text, QuantityUnit unit, ExactQuantity& quantity) {
  constexpr size_t kCommonDigitsMax = 9;  // So that nothing overflows.
  const size_t digits_max = std::min(text.size(), kCommonDigitsMax);
  size_t digits = 0;
  int64_t number = 0;
  for (; digits < digits_max && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    number = number * 10 + (text[digits] - '0');
  }
  if (digits == 0) return false;
  const std::string_view suffix = text.substr(digits);
  if (unit == QuantityUnit::kMilli) {
    if (!suffix.empty() && suffix != "m") return false;
    if (suffix.empty()) number *= 1000;
  } else if (suffix == "Mi") {
    number <<= 20;
  } else if (suffix == "Gi") {
    number <<= 30;
  } else if (suffix == "Ki") {
    number <<= 10;
  } else if (!suffix.empty()) {
    return false;
  }
  quantity = {number, 0};
  return true;
}

}  // namespace

QuantityError ParseQuantity(std::string_view text, QuantityUnit unit, ExactQuantity& quantity) {
  if (ParseCommon(text, unit, quantity)) return QuantityError::kNone;
  if (text.size() > kQuantityBytesMax) return QuantityError::kTooLong;
  Parts parts;
  if (const QuantityError error = Split(text, parts); error != QuantityError::kNone) return error;
  const int64_t exponent = parts.exponent + (unit == QuantityUnit::kMilli ? 3 : 0);
  Magnitude magnitude;
  const bool few = parts.whole.size() + parts.fraction.size() <= static_cast<size_t>(kDigitsMax);
  // If a binary suffix makes a number large, a few digits after many leading zeros matter.
  if (few && (parts.shift == 0 || exponent >= kFewExponentMin)) {
    uint64_t digits = 0;
    for (const char c : parts.whole) digits = digits * 10 + static_cast<uint64_t>(c - '0');
    for (const char c : parts.fraction) digits = digits * 10 + static_cast<uint64_t>(c - '0');
    magnitude = MagnitudeOfFew(digits, exponent, parts.shift);
  } else {
    magnitude = MagnitudeOfMany(parts, exponent);
  }
  // A nano is a millionth of a milli; anything finer is dropped.
  if (unit == QuantityUnit::kMilli) magnitude.excess -= magnitude.excess % 1000;
  const int64_t positive = static_cast<int64_t>(magnitude.value);
  if (parts.negative) {
    quantity = {-positive, 0};
  } else {
    quantity = {positive, static_cast<int32_t>(magnitude.excess)};
  }
  return QuantityError::kNone;
}

absl::StatusOr<int64_t> ParseQuantity(std::string_view text, QuantityUnit unit) {
  ExactQuantity quantity;
  const QuantityError error = ParseQuantity(text, unit, quantity);
  if (error == QuantityError::kNone) return quantity.amount;
  return absl::InvalidArgumentError(Describe(error, text));
}

std::string Describe(QuantityError error, std::string_view text) {
  EBB_DCHECK(error != QuantityError::kNone);
  constexpr size_t kShownMax = 40;
  const std::string_view shown = text.substr(0, kShownMax);
  std::string problem =
      absl::StrCat("\"", absl::CHexEscape(absl::string_view(shown.data(), shown.size())),
                   shown.size() < text.size() ? "..." : "", "\"");
  if (error == QuantityError::kTooLong) {
    absl::StrAppend(&problem, " has ", text.size(), " bytes; a quantity has ", kQuantityBytesMax,
                    " at most");
  } else {
    problem += " is not a quantity";
  }
  return problem;
}

}  // namespace ebb
