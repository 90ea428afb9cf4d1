#include "tools/object_name.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "snapshot/text.h"
#include "tools/printable.h"
#include "tools/utf8.h"

namespace ebb {
namespace {

enum class Byte : uint8_t { kTaken, kRefused, kBeyondAscii };

constexpr auto kBytes = [] {
  std::array<Byte, 256> table{};
  for (size_t c = 0; c < table.size(); ++c) {
    table[c] = c <= ' ' || c == 0x7f || c == '/' ? Byte::kRefused
               : c < 0x80                        ? Byte::kTaken
                                                 : Byte::kBeyondAscii;
  }
  return table;
}();

// Blanks of Unicode that are not ASCII and show as such: category Zs, and the empty pattern
// of Braille.
bool HasWideBlank(std::string_view name) {
  static constexpr std::string_view kBlanks[] = {
      "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u2800", "\u3000"};
  return std::any_of(std::begin(kBlanks), std::end(kBlanks), [name](std::string_view blank) {
    return name.find(blank) != std::string_view::npos;
  });
}

// Printable() changes what hides; a backslash it doubles, which alone is no harm.
bool Hides(std::string_view name) {
  const auto backslashes = static_cast<size_t>(std::count(name.begin(), name.end(), '\\'));
  return Printable(name).size() != name.size() + backslashes;
}

bool IsWideName(std::string_view name) {
  return FirstInvalidUtf8(name) == name.size() && !HasWideBlank(name) && !Hides(name);
}

}  // namespace

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  bool wide = false;
  for (const char c : name) {
    const Byte byte = kBytes[static_cast<unsigned char>(c)];
    if (byte == Byte::kRefused) return false;
    wide |= byte == Byte::kBeyondAscii;
  }
  return !wide || IsWideName(name);
}

std::string NameProblem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kNameBytesMax) {
    return absl::StrCat("is a name of ", name.size(), " bytes; at most ", kNameBytesMax,
                        " are taken");
  }
  return absl::StrCat("\"", Printable(name), "\" is not a name: it has ",
                      FirstInvalidUtf8(name) < name.size() ? "bytes that are not UTF-8"
                      : name.find('/') != std::string_view::npos
                          ? "a \"/\""
                          : "blanks or characters that do not show");
}

}  // namespace ebb
