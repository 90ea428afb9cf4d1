// Selectors of devices: any text compiles or gives an error, and what compiles evaluates to a bool
// or an error.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "cel/device_selector.h"

namespace {

using ebb::cel::DeviceAttribute;
using ebb::cel::DeviceCapacity;
using ebb::cel::DeviceSelector;
using ebb::cel::Quantity;
using ebb::cel::Semver;

bool IsExpected(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kUnimplemented ||
         code == absl::StatusCode::kResourceExhausted;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Longer ones repeat what short ones have.
  constexpr size_t kBytesMax = 1024;
  if (size > kBytesMax) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(text);
  if (!selector.ok()) {
    if (!IsExpected(selector.status().code())) std::abort();
    return 0;
  }
  const DeviceAttribute attributes[] = {{"a.io/b", true},
                                        {"a.io/i", int64_t{7}},
                                        {"s", std::string_view("text")},
                                        {"b.io/v", *Semver::Parse("1.2.3-rc.1")}};
  const DeviceCapacity capacity[] = {{"q", Quantity(40)}, {"b.io/q", *Quantity::Parse("1.5Gi")}};
  uint64_t cost = 0;
  const absl::StatusOr<bool> first =
      selector->Matches({.driver = "a.io", .attributes = attributes, .capacity = capacity}, cost);
  if (!first.ok() && !IsExpected(first.status().code())) std::abort();
  if (cost > ebb::cel::kSelectorCostMax &&
      first.status().code() != absl::StatusCode::kResourceExhausted) {
    std::abort();
  }
  // A selector has no memory.
  uint64_t again_cost = 0;
  const absl::StatusOr<bool> again = selector->Matches(
      {.driver = "a.io", .attributes = attributes, .capacity = capacity}, again_cost);
  if (again != first || cost != again_cost) std::abort();
  return 0;
}
