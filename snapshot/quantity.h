// Kubernetes quantities ("100m", "1.5Gi", "2e3") as whole numbers.
//
// Rule:   k8s.io/apimachinery/pkg/api/resource: ParseQuantity, then Value() or
//         MilliValue().  Suffixes n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, and
//         decimal exponents (e3, E-3); a sign in front.  What is left after the
//         wanted unit is rounded away from zero, never down: a pod that asks for
//         "1n" of something asks for one.
// Differs: a number beyond int64 is an error here.  Kubernetes caps it in
//         ParseQuantity and lets it wrap in MilliValue(); neither is an amount
//         that a plan should rest on.
// Units:  see QuantityUnit.
// Cost:   O(length); allocates only beyond 18 digits and for error texts.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_QUANTITY_H_
#define EBB_SNAPSHOT_QUANTITY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

enum class QuantityUnit : uint8_t {
  kWhole,  // Quantity.Value(): bytes, pods, devices.
  kMilli,  // Quantity.MilliValue(): thousandths, as cpu is counted.
};

enum class QuantityError : uint8_t { kNone, kNotAQuantity, kTooLarge };

// A quantity, exact to the nano as Kubernetes keeps it: amount - excess / 1e9 units.
struct ExactQuantity {
  int64_t amount = 0;  // Rounded away from zero.
  int32_t excess = 0;  // What rounding added, in [0, 1e9); 0 below zero.
};

// Parses `text` into `quantity`, which is left alone on error.
[[nodiscard]] QuantityError ParseQuantity(std::string_view text, QuantityUnit unit,
                                          ExactQuantity& quantity);

// The same with an error that quotes the text: `"4x" is not a quantity`,
// `"1e400" is too large a quantity`.
absl::StatusOr<int64_t> ParseQuantity(std::string_view text, QuantityUnit unit);

// The unit in which a resource of this name is counted: milli for "cpu" alone.
constexpr QuantityUnit UnitOfResource(std::string_view resource) {
  return resource == "cpu" ? QuantityUnit::kMilli : QuantityUnit::kWhole;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_QUANTITY_H_
