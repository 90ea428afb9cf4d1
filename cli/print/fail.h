// How a command that fails tells why and ends.

#ifndef EBB_CLI_PRINT_FAIL_H_
#define EBB_CLI_PRINT_FAIL_H_

#include <iosfwd>

#include "absl/status/status.h"

namespace ebb {

// Tells the error in one line; returns 1, the exit code.
int Fail(const absl::Status& status, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_FAIL_H_
