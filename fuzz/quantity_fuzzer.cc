// Quantities: whatever the text, a number or an error; and the two roundings, which
// both go away from zero, agree with each other.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "snapshot/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Of a long quantity a hundred digits count and the others are zero or not.
  constexpr size_t kBytesMax = 256;
  if (size > kBytesMax) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<int64_t> units = ebb::ParseQuantity(text, ebb::QuantityUnit::kWhole);
  const absl::StatusOr<int64_t> milli = ebb::ParseQuantity(text, ebb::QuantityUnit::kMilli);
  if (units.ok() != milli.ok()) std::abort();
  if (!units.ok() || std::abs(*milli) == ebb::kUncountable) return 0;
  // |units| = ceil(|x|) and |milli| = ceil(1000 |x|).
  const __int128 whole = *units < 0 ? -static_cast<__int128>(*units) : *units;
  const __int128 thousandths = *milli < 0 ? -static_cast<__int128>(*milli) : *milli;
  if (thousandths > (whole - 1) * 1000 && thousandths <= whole * 1000) return 0;
  std::fprintf(stderr, "%lld units, %lld thousandths\n", static_cast<long long>(*units),
               static_cast<long long>(*milli));
  std::abort();
}
