// Kubernetes quantities ("100m", "1.5Gi", "2e3") as whole numbers.
//
// Rule:   k8s.io/apimachinery/pkg/api/resource: ParseQuantity, then Value() or
//         decimal exponents (e3, E-3); a sign in front.  A remainder below the
//         requested unit is rounded away from zero, never down: a pod that asks for
//         "1n" of something asks for one.
//         A number beyond int64 becomes the largest int64 (or its negative),
//         as ParseQuantity caps numbers with a binary suffix.
// Differs: Kubernetes lets other numbers beyond int64 wrap, or makes them zero
//         ("10E", cpu "10P").  No plan should rely on that: here an amount that cannot be
//         counted is larger than any that can, so it fits nowhere.
// Units:  see QuantityUnit.
// Cost:   O(length); allocates only beyond 18 digits and for error texts.
// Limits: kQuantityBytesMax; a longer text is an error.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_OBJECTS_QUANTITY_H_
#define EBB_SNAPSHOT_OBJECTS_QUANTITY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

enum class QuantityUnit : uint8_t {
  kWhole,  // Quantity.Value(): bytes, pods, devices.
  kMilli,  // Quantity.MilliValue(): thousandths, as cpu is counted.
};

enum class QuantityError : uint8_t { kNone, kNotAQuantity, kTooLong };

// More than any API server accepts (etcd rejects objects above 1.5 MiB), so no object of a
// cluster reaches the limit.  It bounds the time that a forged file can cost.
inline constexpr size_t kQuantityBytesMax = size_t{2} << 20;

// Stands for every amount that is too large for int64 to count.
inline constexpr int64_t kUncountable = std::numeric_limits<int64_t>::max();

inline constexpr int32_t kNanosPerUnit = 1'000'000'000;

// A quantity, exact to the nano as in Kubernetes: amount - excess / 1e9 units.
struct ExactQuantity {
  int64_t amount = 0;  // Rounded away from zero.  kUncountable: at least that much.
  int32_t excess = 0;  // What rounding added, in [0, 1e9); 0 for a negative amount.
};

// Parses `text` into `quantity`, which stays unchanged on error.
[[nodiscard]] QuantityError ParseQuantity(std::string_view text, QuantityUnit unit,
                                          ExactQuantity& quantity);

// Like the above, without the excess.  The error quotes the text or its first bytes: `"4x" is not
// a quantity`, `"1111111111111111..." has 3000000 bytes; a quantity has 2097152 at most`.
absl::StatusOr<int64_t> ParseQuantity(std::string_view text, QuantityUnit unit);
// The text of that error.  REQUIRES: error != kNone.
std::string Describe(QuantityError error, std::string_view text);

// The unit in which this resource is counted: kMilli for "cpu", kWhole for all others.
constexpr QuantityUnit UnitOfResource(std::string_view resource) {
  return resource == "cpu" ? QuantityUnit::kMilli : QuantityUnit::kWhole;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_QUANTITY_H_
