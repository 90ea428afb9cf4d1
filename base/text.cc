#include "base/text.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace ebb {

std::string ShellQuoted(std::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(Absl(text), {{"'", "'\\''"}}), "'");
}

size_t HashOfText(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace ebb
