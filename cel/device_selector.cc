#include "cel/device_selector.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "cel/checker.h"
#include "cel/errors.h"
#include "cel/program.h"
#include "cel/syntax.h"

namespace ebb::cel {

absl::StatusOr<DeviceSelector> DeviceSelector::Compile(std::string_view expression,
                                                       SelectorRules rules) {
  if (expression.size() > kSelectorBytesMax) return Refused("longer than 10 KiB");
  auto program = std::make_shared<Program>();
  program->rules = rules;
  absl::StatusOr<Expr*> root = Parse(expression, program->tree);
  if (!root.ok()) return std::move(root).status();
  program->tree.root = *root;
  if (absl::Status status = Check(program->tree, rules); !status.ok()) return status;
  if (absl::Status status = Plan(*program); !status.ok()) return status;
  return DeviceSelector(std::move(program));
}

absl::StatusOr<bool> DeviceSelector::Matches(const DeviceForSelector& device) const {
  uint64_t cost = 0;
  return Matches(device, cost);
}

absl::StatusOr<bool> DeviceSelector::Matches(const DeviceForSelector& device,
                                             uint64_t& cost) const {
  cost = 0;
  for (const DeviceAttribute& attribute : device.attributes) {
    if (std::holds_alternative<std::monostate>(attribute.value)) {
      return Refused(Concat({"attribute ", attribute.name, ": unsupported attribute value"}));
    }
  }
  Evaluator evaluator(device, *program_, kSelectorCostMax);
  const absl::StatusOr<Value> result = evaluator.Run(*program_->root);
  cost = evaluator.cost();
  if (!result.ok()) return result.status();
  Value value = *result;
  // Kubernetes takes the value of an optional.
  while (value.kind == Kind::kOptional && value.flag) value = *value.inner;
  if (value.is_error()) return Refused(value.text);
  if (value.kind != Kind::kBool) {
    return Refused("the result of the expression is not a bool");
  }
  return value.b;
}

}  // namespace ebb::cel
