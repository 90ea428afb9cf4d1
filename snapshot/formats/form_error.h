// FormError: an error about a text as a whole, not about an object that ebb reads in it: the text
// is broken, or it has a form that ebb does not read.  Such a file of a folder does not end
// reading where it cannot matter (read_input.h).
//
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_
#define EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace ebb {

struct FormError {
  // Neither JSON nor YAML, or cut off, damaged, empty.  Else well formed, and nothing that ebb
  // reads.
  bool broken = false;
  // It seems to hold objects that ebb needs: a Table, Go-internal JSON.
  bool matters = false;
};

// An InvalidArgument that FormErrorOf() recognises.
absl::Status MakeFormError(const FormError& what, std::string_view message);

// The same of a broken text: "NAME: PROBLEM".
absl::Status BrokenText(std::string_view name, std::string_view problem);

// nullopt: the status is no error of this kind.
std::optional<FormError> FormErrorOf(const absl::Status& status);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_FORM_ERROR_H_
