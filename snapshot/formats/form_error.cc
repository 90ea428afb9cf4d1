#include "snapshot/formats/form_error.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {
constexpr char kFormErrorUrl[] = "ebb/form-error";
}  // namespace

absl::Status MakeFormError(const FormError& what, std::string_view message) {
  absl::Status status = absl::InvalidArgumentError(Absl(message));
  const std::string flags = {what.broken ? '1' : '0', what.matters ? '1' : '0'};
  status.SetPayload(kFormErrorUrl, absl::Cord(flags));
  return status;
}

absl::Status BrokenText(std::string_view name, std::string_view problem) {
  const std::string message = absl::StrCat(Absl(name), ": ", Absl(problem));
  return MakeFormError({.broken = true}, message);
}

std::optional<FormError> FormErrorOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kFormErrorUrl);
  if (!payload.has_value()) return std::nullopt;
  const auto flags = std::string(*payload);
  return FormError{.broken = flags[0] == '1', .matters = flags[1] == '1'};
}

}  // namespace ebb
