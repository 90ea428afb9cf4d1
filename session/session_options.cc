#include "session/session_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"

namespace ebb {

absl::Status CheckMemory(const SessionOptions& options) {
  if (options.memory_bytes_max == 0 || options.resident_bytes() <= options.memory_bytes_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory: the daemon has more than ", options.memory_bytes_max, " bytes, --max-memory"));
}

absl::Status CheckSessionName(std::string_view name, std::string_view field) {
  constexpr size_t kLengthMax = 63;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool good =
      !name.empty() && name.size() <= kLengthMax && letter(name.front()) && letter(name.back()) &&
      std::ranges::all_of(name, [&](char c) { return letter(c) || c == '-' || c == '.'; });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Absl(field), ": \"", Printable(name.substr(0, 2 * kLengthMax)),
      "\" is not a name; a name has 1 to ", kLengthMax,
      " lower-case letters, digits, - and ., and begins and ends with a letter or digit"));
}

}  // namespace ebb
