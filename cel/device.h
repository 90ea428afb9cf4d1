// A device as selectors see it.
//
// Ownership: everything is borrowed from the caller.

#ifndef EBB_CEL_DEVICE_H_
#define EBB_CEL_DEVICE_H_

#include <cstdint>
#include <string_view>
#include <variant>

#include "absl/types/span.h"
#include "cel/values.h"

namespace ebb::cel {

// The version of Kubernetes whose rules hold.  1.37 lets an attribute be a list for the types, and
// has other costs for some functions.
enum class SelectorRules : uint8_t { kKubernetes136, kKubernetes137 };

// monostate: Kubernetes cannot use the value (a version that does not parse, a list, no value at
// all).  A device that has such an attribute fails every selector with an error, as in Kubernetes.
using AttributeValue = std::variant<std::monostate, bool, int64_t, std::string_view, Semver>;

// Names are "domain/name", or "name" for one of the driver's domain, and are unique.
struct DeviceAttribute {
  std::string_view name;
  AttributeValue value;
};
struct DeviceCapacity {
  std::string_view name;
  Quantity value;
};

// A device as selectors see it.  Borrows everything.
struct DeviceForSelector {
  std::string_view driver;
  absl::Span<const DeviceAttribute> attributes = {};
  absl::Span<const DeviceCapacity> capacity = {};
  bool allow_multiple_allocations = false;
};

}  // namespace ebb::cel

#endif  // EBB_CEL_DEVICE_H_
