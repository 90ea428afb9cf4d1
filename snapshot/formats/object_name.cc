#include "snapshot/formats/object_name.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ebb {
namespace {

// Handles eight bytes at once, because every object's name is checked.
constexpr uint64_t Each(uint8_t byte) { return uint64_t{0x0101010101010101} * byte; }
constexpr uint64_t kHighBits = Each(0x80);

// Sets the high bit of each byte that is ASCII and rejected: a blank, a control character or "/".
// No addition carries into the next byte, because the high bits are cleared first.
constexpr uint64_t RefusedOf(uint64_t bytes) {
  const uint64_t low = bytes & ~kHighBits;
  const uint64_t beyond_blank = low + Each(0x7f - ' ');
  const uint64_t not_slash = (low ^ Each('/')) + Each(0x7f);
  const uint64_t is_delete = low + Each(1);
  return (~beyond_blank | ~not_slash | is_delete) & ~bytes & kHighBits;
}

// Unicode's blanks beyond ASCII, which Printable() leaves as they are: category Zs, and the empty
// Braille pattern.
bool HasWideBlank(std::string_view name) {
  static constexpr std::string_view kBlanks[] = {
      "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u2800", "\u3000"};
  return std::any_of(std::begin(kBlanks), std::end(kBlanks), [name](std::string_view blank) {
    return name.find(blank) != std::string_view::npos;
  });
}

// Printable() escapes invisible characters.  It also doubles backslashes, which are harmless.
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
  uint64_t refused = 0;
  uint64_t seen = 0;
  const auto look_at = [&](uint64_t bytes) {
    refused |= RefusedOf(bytes);
    seen |= bytes;
  };
  uint64_t bytes = Each('a');
  if (name.size() < sizeof bytes) {
    std::memcpy(&bytes, name.data(), name.size());
    look_at(bytes);
  } else {
    for (size_t at = 0; at + sizeof bytes <= name.size(); at += sizeof bytes) {
      std::memcpy(&bytes, name.data() + at, sizeof bytes);
      look_at(bytes);
    }
    // The last bytes, together with some of the bytes before them.
    std::memcpy(&bytes, name.data() + name.size() - sizeof bytes, sizeof bytes);
    look_at(bytes);
  }
  if (refused != 0) return false;
  const bool is_ascii = (seen & kHighBits) == 0;
  return is_ascii || IsWideName(name);
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
