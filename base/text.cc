#include "base/text.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace ebb {

std::vector<std::string_view> SplitAtAny(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string ShellQuoted(std::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(Absl(text), {{"'", "'\\''"}}), "'");
}

size_t HashOfText(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace ebb
