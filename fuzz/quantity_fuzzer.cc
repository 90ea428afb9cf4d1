// Quantities: any text gives a number or an error, and the number is that of the twin.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "snapshot/objects/quantity.h"
#include "tests/support/quantity_twin.h"

namespace {

// The twin computes every decimal place, so large exponents would take too long.
constexpr int64_t kTwinExponentMax = 1000;

bool IsForTheTwin(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos || e + 1 == text.size()) return true;
  const int64_t exponent = std::strtoll(std::string(text.substr(e + 1)).c_str(), nullptr, 10);
  return exponent >= -kTwinExponentMax && exponent <= kTwinExponentMax;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At most a hundred digits of a quantity matter; of the others only whether they are zero.
  constexpr size_t kBytesMax = 256;
  if (size > kBytesMax) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  int taken = 0;
  for (const ebb::QuantityUnit unit : {ebb::QuantityUnit::kWhole, ebb::QuantityUnit::kMilli}) {
    ebb::ExactQuantity quantity;
    if (ParseQuantity(text, unit, quantity) != ebb::QuantityError::kNone) continue;
    ++taken;
    if (!IsForTheTwin(text)) continue;
    const ebb::ExactQuantity twin = ebb::QuantityTwin(text, unit);
    if (quantity.amount == twin.amount && quantity.excess == twin.excess) continue;
    std::fprintf(stderr, "%lld with %d too much, the twin says %lld with %d\n",
                 static_cast<long long>(quantity.amount), quantity.excess,
                 static_cast<long long>(twin.amount), twin.excess);
    std::abort();
  }
  if (taken == 1) std::abort();  // A text is a quantity in every unit or in none.
  return 0;
}
