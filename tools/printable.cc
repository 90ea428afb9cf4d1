#include "tools/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tools/utf8.h"

namespace ebb {
namespace {

// The code point at the front of `text`, which is well-formed, and its length in bytes.
char32_t FrontOf(std::string_view text, size_t& length) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t code = length == 1 ? lead : lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
}

// Characters that do not show as themselves (Unicode categories Cc, Cf, Zl and Zp, as far
// as terminals act on them).
bool Hides(char32_t code) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr Range kHidden[] = {{0x00, 0x1f},     {0x7f, 0x9f},      {0xad, 0xad},
                                      {0x61c, 0x61c},   {0x180e, 0x180e},  {0x200b, 0x200f},
                                      {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                      {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [code](Range range) { return range.first <= code && code <= range.last; });
}

void AppendEscaped(char32_t code, std::string& out) {
  switch (code) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += code < 0x80      ? fmt::format("\\x{:02x}", static_cast<uint32_t>(code))
             : code < 0x10000 ? fmt::format("\\u{:04x}", static_cast<uint32_t>(code))
                              : fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
  }
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = FirstInvalidUtf8(text);
    std::string_view run = text.substr(0, valid);
    while (!run.empty()) {
      size_t length = 0;
      const char32_t code = FrontOf(run, length);
      if (code == '\\') {
        out += "\\\\";
      } else if (Hides(code)) {
        AppendEscaped(code, out);
      } else {
        out += run.substr(0, length);
      }
      run.remove_prefix(length);
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace ebb
