// Writes the pages of --report.

#ifndef EBB_CLI_PRINT_PAGE_FILE_H_
#define EBB_CLI_PRINT_PAGE_FILE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace ebb {

// Whether `path` can be written, for commands that compute for long before they write.  OK if it is
// empty.  Leaves no file behind.
absl::Status CheckPageFile(const std::string& path);
// Writes the page about `data` (report/html_page.h), whole or not at all.
absl::Status WritePageFile(const std::string& path, nlohmann::ordered_json data);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_PAGE_FILE_H_
