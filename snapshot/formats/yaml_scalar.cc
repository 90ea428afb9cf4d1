#include "snapshot/formats/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// 0o17 and 0x1f of the core schema, converted to decimal.
std::optional<std::string> Radix(std::string_view text) {
  const bool octal = text.starts_with("0o");
  if (!octal && !text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, octal ? 8 : 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::to_string(number);
}

// The JSON number for a plain scalar that is a number in the core schema:
// [-+]? ( [0-9]+ (\. [0-9]*)? | \. [0-9]+ ) ([eE] [-+]? [0-9]+)?  JSON is stricter
// about signs, leading zeros and points.
std::optional<std::string> Number(std::string_view text) {
  if (auto radix = Radix(text)) return radix;
  std::string json;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    if (text[0] == '-') json += '-';
    text.remove_prefix(1);
  }
  const size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  std::string_view exponent = text.substr(mantissa);
  const size_t point = std::min(text.find('.'), mantissa);
  std::string_view whole = text.substr(0, point);
  const std::string_view fraction =
      point < mantissa ? text.substr(point + 1, mantissa - point - 1) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if ((!whole.empty() && !IsDigits(whole)) || (!fraction.empty() && !IsDigits(fraction))) {
    return std::nullopt;
  }
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  absl::StrAppend(&json, whole.empty() ? "0" : Absl(whole));
  if (!fraction.empty()) absl::StrAppend(&json, ".", Absl(fraction));
  if (!exponent.empty()) {
    absl::StrAppend(&json, Absl(exponent));
    exponent.remove_prefix(1);
    if (!exponent.empty() && (exponent[0] == '-' || exponent[0] == '+')) exponent.remove_prefix(1);
    if (!IsDigits(exponent)) return std::nullopt;
  }
  return json;
}

// Whether `text` could be a number or a word of the core schema, by its first byte.
bool MayHaveType(std::string_view text) {
  return !text.empty() && std::string_view("0123456789+-.tTfF").find(text[0]) != text.npos;
}

bool MustBeEscaped(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

}  // namespace

void AppendJsonString(std::string& json, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  json += '"';
  for (const char *p = text.data(), *const end = p + text.size(); p < end; ++p) {
    const char* const plain = p;
    p = std::find_if(p, end, MustBeEscaped);
    json.append(plain, p);
    if (p == end) break;
    json += '\\';
    if (*p == '"' || *p == '\\') {
      json += *p;
    } else {
      json += "u00";
      json += kHex[static_cast<unsigned char>(*p) >> 4];
      json += kHex[static_cast<unsigned char>(*p) & 15];
    }
  }
  json += '"';
}

void AppendPlainScalar(std::string& json, std::string_view plain) {
  if (!MayHaveType(plain)) return AppendJsonString(json, plain);
  if (plain == "true" || plain == "True" || plain == "TRUE") {
    json += "true";
  } else if (plain == "false" || plain == "False" || plain == "FALSE") {
    json += "false";
  } else if (const auto number = Number(plain)) {
    json += *number;
  } else {
    AppendJsonString(json, plain);
  }
}

bool IsYamlNull(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

bool IsOctalToSome(std::string_view plain) {
  if (plain.starts_with('-') || plain.starts_with('+')) plain.remove_prefix(1);
  return plain.size() > 1 && plain[0] == '0' && IsDigits(plain);
}

}  // namespace ebb
