#include "cli/print/fail.h"

#include <ostream>
#include <string>

#include "base/printable.h"

namespace ebb {

int Fail(const absl::Status& status, std::ostream& err) {
  PrintMessage(std::string(status.message()), err);
  return 1;
}

}  // namespace ebb
