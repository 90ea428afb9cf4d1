// FormError: an error about a text as a whole, not about one of its objects: the text is broken,
// or ebb does not read its form.  In a folder, such a file stops the import only where it may
// hold objects that matter (read_input.h).
//
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_
#define EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace ebb {

struct FormError {
  // The text is neither JSON nor YAML, or is truncated, damaged or empty.  Otherwise it is well
  // formed, but of a form that ebb does not read.
  bool broken = false;
  // The text seems to hold objects that ebb needs, for example as a table or as Go-internal JSON.
  bool matters = false;
};

// An InvalidArgument that FormErrorOf() recognises.
absl::Status MakeFormError(const FormError& what, std::string_view message);

// FormError of a broken text; the message is "NAME: PROBLEM".
absl::Status BrokenText(std::string_view name, std::string_view problem);

// Returns nullopt if the status is not a FormError.
std::optional<FormError> FormErrorOf(const absl::Status& status);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_
