#include "snapshot/formats/json_bytes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ebb {

std::string BytePosition(std::string_view text, uint64_t byte) {
  std::string position = absl::StrCat("byte ", byte);
  if (byte > text.size() || text.empty()) return position;
  const std::string_view before = text.substr(0, byte);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') + 1;  // 0 in the first line, as npos + 1 is 0.
  absl::StrAppend(&position, ", line ", lines + 1, ", column ", byte - line_start + 1);
  return position;
}

}  // namespace ebb
