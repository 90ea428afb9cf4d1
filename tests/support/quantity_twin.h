// The slow, obvious twin of ParseQuantity: one formula over numbers of any size.
//
// Rule: a quantity is digits x 10^exponent x 2^shift, rounded away from zero to the nano, and then
// to the unit (snapshot/objects/quantity.h).

#ifndef EBB_TESTS_SUPPORT_QUANTITY_TWIN_H_
#define EBB_TESTS_SUPPORT_QUANTITY_TWIN_H_

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot/objects/quantity.h"

namespace ebb {

// The result that ParseQuantity must return for `text`.
// REQUIRES: ParseQuantity accepts `text`; its exponent is at most a few thousand.
inline ExactQuantity QuantityTwin(std::string_view text, QuantityUnit unit) {
  using Integer = boost::multiprecision::cpp_int;
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative || text.starts_with('+') ? 1 : 0);
  const size_t number_size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_size);
  const std::string_view suffix = text.substr(number_size);

  Integer numerator = 0;  // The number is numerator / denominator.
  Integer denominator = 1;
  for (const char c : number.substr(0, number.find('.'))) numerator = numerator * 10 + (c - '0');
  if (const size_t point = number.find('.'); point != std::string_view::npos) {
    for (const char c : number.substr(point + 1)) {
      numerator = numerator * 10 + (c - '0');
      denominator *= 10;
    }
  }
  const auto scale = [&](int base, int64_t power) {
    for (; power > 0; --power) numerator *= base;
    for (; power < 0; ++power) denominator *= base;
  };
  constexpr std::string_view kThousands = "num kMGTPE";
  if (suffix.ends_with('i')) {
    scale(1024, static_cast<int64_t>(std::string_view("KMGTPE").find(suffix[0])) + 1);
  } else if (suffix.size() == 1) {
    scale(1000, static_cast<int64_t>(kThousands.find(suffix[0])) - 3);
  } else if (suffix.size() > 1) {
    scale(10, std::stoll(std::string(suffix.substr(1))));
  }

  // A milli is a million nanos.
  const Integer nanos_a_unit = unit == QuantityUnit::kMilli ? 1'000'000 : 1'000'000'000;
  const Integer nanos = (numerator * 1'000'000'000 + denominator - 1) / denominator;
  const Integer amount = (nanos + nanos_a_unit - 1) / nanos_a_unit;
  const bool countable = amount < kUncountable;
  const Integer excess = (amount * nanos_a_unit - nanos) * (1'000'000'000 / nanos_a_unit);
  ExactQuantity quantity;
  quantity.amount = countable ? static_cast<int64_t>(amount) : kUncountable;
  quantity.excess = countable && !negative ? static_cast<int32_t>(excess) : 0;
  if (negative) quantity.amount = -quantity.amount;
  return quantity;
}

}  // namespace ebb

#endif  // EBB_TESTS_SUPPORT_QUANTITY_TWIN_H_
