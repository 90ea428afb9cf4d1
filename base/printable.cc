#include "base/printable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ostream>

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace ebb {
namespace {

// Returns the first code point of `text`, which must be well-formed, and sets `length` to its
// length in bytes.
char32_t FrontOf(std::string_view text, size_t& length) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t code = length == 1 ? lead : lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
}

// Characters that do not show as themselves: Unicode's controls, line and paragraph
// separators, interlinear annotations, and all of its Default_Ignorable_Code_Point.
// Source: UCD 15.1, DerivedCoreProperties.txt.
bool Hides(char32_t code) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr Range kHidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e},
      {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0},
      {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  if (code >= 0x20 && code < 0x7f) return false;
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
      out += code < 0x80      ? absl::StrFormat("\\x%02x", static_cast<uint32_t>(code))
             : code < 0x10000 ? absl::StrFormat("\\u%04x", static_cast<uint32_t>(code))
                              : absl::StrFormat("\\U%08x", static_cast<uint32_t>(code));
  }
}

}  // namespace

namespace {

std::string Escaped(std::string_view text, bool double_backslashes) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = FirstInvalidUtf8(text);
    std::string_view run = text.substr(0, valid);
    while (!run.empty()) {
      size_t length = 0;
      const char32_t code = FrontOf(run, length);
      if (code == '\\' && double_backslashes) {
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
    out += absl::StrFormat("\\x%02x", static_cast<unsigned char>(text[0]));
    text.remove_prefix(1);
  }
  return out;
}

// As Java writes it: two units of UTF-16 above U+FFFF.
std::string JsonEscape(char32_t code) {
  const auto value = static_cast<uint32_t>(code);
  if (value < 0x10000) return absl::StrFormat("\\u%04x", value);
  return absl::StrFormat("\\u%04x\\u%04x", 0xd7c0 + (value >> 10), 0xdc00 + (value & 0x3ff));
}

std::string YamlEscape(char32_t code) {
  const auto value = static_cast<uint32_t>(code);
  return value < 0x10000 ? absl::StrFormat("\\u%04x", value) : absl::StrFormat("\\U%08x", value);
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, true); }

std::string PrintableLine(std::string_view text) { return Escaped(text, false); }

void PrintMessage(std::string_view text, std::ostream& err, std::string_view who) {
  err << who << ": " << PrintableLine(text) << "\n";
}

std::string WithVisibleEscapes(std::string json, EscapeForm form) {
  const auto may_hide = [](char c) { return static_cast<unsigned char>(c) >= 0x7f; };
  if (std::none_of(json.begin(), json.end(), may_hide)) return json;
  std::string out;
  out.reserve(json.size());
  std::string_view rest = json;
  while (!rest.empty()) {
    if (!may_hide(rest[0])) {
      out += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    size_t length = 0;
    const char32_t code = FrontOf(rest, length);
    if (!Hides(code)) {
      out += rest.substr(0, length);
    } else {
      out += form == EscapeForm::kJson ? JsonEscape(code) : YamlEscape(code);
    }
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace ebb
