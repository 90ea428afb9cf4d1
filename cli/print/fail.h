// Reports the error of a command that fails.

#ifndef EBB_CLI_PRINT_FAIL_H_
#define EBB_CLI_PRINT_FAIL_H_

#include <iosfwd>

#include "absl/status/status.h"

namespace ebb {

// Prints the error in one line.  Returns 1, the exit code.
int Fail(const absl::Status& status, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_FAIL_H_
