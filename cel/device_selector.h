// Selectors of devices: the CEL expressions of DeviceClass and of ResourceClaim, as kube-scheduler
// evaluates them.
//
//   absl::StatusOr<DeviceSelector> selector =
//       DeviceSelector::Compile(R"(device.attributes["gpu.example.com"].model == "a100")");
//   absl::StatusOr<bool> matches = selector->Matches(device);
//
// Rule:    k8s.io/dynamic-resource-allocation/cel of 1.36 and 1.37 with default feature gates, in
// cel-go's
//          environment of stored expressions, with the API's cost limit.
// Unknown: an expression with a part of CEL that this evaluator does not know is kUnimplemented
//          ("not understood: ..."), never a verdict.  cel/README.md lists these parts.
// Cost:    Compile is O(length) for common expressions, some ten microseconds.  Matches takes less
//          than a microsecond for a comparison or two, and allocates little.
// Threads: a selector does not change; any number of threads may use it and its copies.  A copy
//          costs a reference count.

#ifndef EBB_CEL_DEVICE_SELECTOR_H_
#define EBB_CEL_DEVICE_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cel/device.h"

namespace ebb::cel {

// The longest expression that the API accepts (CELSelectorExpressionMaxLength).
inline constexpr size_t kSelectorBytesMax = size_t{10} * 1024;
// CELSelectorExpressionMaxCost.
inline constexpr uint64_t kSelectorCostMax = 1'000'000;

struct Program;  // cel/program.h

class DeviceSelector {
 public:
  // InvalidArgument: Kubernetes refuses the expression (syntax, types, result that is no bool).
  // Unimplemented: not understood; Kubernetes may accept or refuse it.  Messages have no prefix:
  // the caller names the object.
  static absl::StatusOr<DeviceSelector> Compile(
      std::string_view expression, SelectorRules rules = SelectorRules::kKubernetes136);

  // Whether the device matches.  An error is not "false": it fails the allocation on that node.
  //   InvalidArgument:   the evaluation fails, as in Kubernetes: no such key, types that do not
  //   match, and so on. ResourceExhausted: the evaluation costs more than kSelectorCostMax.
  //   Unimplemented:     a value is beyond what this evaluator computes; Kubernetes may give any
  //   answer.
  [[nodiscard]] absl::StatusOr<bool> Matches(const DeviceForSelector& device) const;
  // Like the above.  Sets `cost` to the cost by CEL's rules, also if the evaluation fails.
  [[nodiscard]] absl::StatusOr<bool> Matches(const DeviceForSelector& device, uint64_t& cost) const;

 private:
  explicit DeviceSelector(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::shared_ptr<const Program> program_;
};

}  // namespace ebb::cel

#endif  // EBB_CEL_DEVICE_SELECTOR_H_
