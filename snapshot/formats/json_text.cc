#include "snapshot/formats/json_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Whether `text` is a string in every YAML version without quotes: it starts with a letter, has
// no character with a meaning in YAML, and is not one of YAML 1.1's many booleans.
bool IsPlain(std::string_view text) {
  static constexpr auto kReserved = std::to_array<std::string_view>(
      {"true", "false", "null", "yes", "no", "on", "off", "y", "n"});
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  std::string lower;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.' &&
        c != '/') {
      return false;
    }
    lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end();
}

std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Whether JSON writes the text as it is.
bool NeedsNoEscape(std::string_view text) {
  bool plain = true;  // Without an early end, so that the loop is vectorized.
  for (const char c : text) plain &= c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  return plain;
}

void AppendString(const std::string& text, std::string& out) {
  if (!NeedsNoEscape(text)) {
    out += Dump(Json(text), -1);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

// Appends what Dump(value, -1) returns, in a quarter of the time: plans are mostly names, which
// Dump decodes byte by byte.
void AppendCompact(const Json& value, std::string& out) {
  char separator = 0;
  const auto separate = [&] {
    if (separator != 0) out += separator;
    separator = ',';
  };
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      separate();
      AppendString(key, out);
      out += ':';
      AppendCompact(member, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const Json& item : value) {
      separate();
      AppendCompact(item, out);
    }
    out += ']';
  } else if (value.is_string()) {
    AppendString(value.get_ref<const std::string&>(), out);
  } else if (value.is_number_unsigned()) {
    absl::StrAppend(&out, value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    absl::StrAppend(&out, value.get<int64_t>());
  } else if (value.is_boolean()) {
    out += value.get<bool>() ? "true" : "false";
  } else {
    out += Dump(value, -1);
  }
}

// A quoted JSON string is also a quoted YAML string.
std::string Quoted(const Json& value) {
  return WithVisibleEscapes(Dump(value, -1), EscapeForm::kYaml);
}

std::string Scalar(const Json& value) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (IsPlain(text)) return text;
  }
  return Quoted(value);
}

std::string Key(const std::string& key) { return IsPlain(key) ? key : Quoted(Json(key)); }

bool IsBlock(const Json& value) { return value.is_structured() && !value.empty(); }

// Writes a block.  The caller has already indented its first line.
void WriteBlock(const Json& value, size_t indent, std::string& out) {
  bool first = true;
  const auto start_line = [&] {
    if (!first) out.append(indent, ' ');
    first = false;
  };
  if (value.is_array()) {
    for (const Json& item : value) {
      start_line();
      out += "- ";
      if (IsBlock(item)) {
        WriteBlock(item, indent + 2, out);
      } else {
        out.append(Scalar(item)).append("\n");
      }
    }
    return;
  }
  for (const auto& [key, member] : value.items()) {
    start_line();
    out.append(Key(key)).append(":");
    if (!IsBlock(member)) {
      out.append(" ").append(Scalar(member)).append("\n");
      continue;
    }
    // As kubectl does: list items are indented like their key, not further.
    const size_t inner = member.is_array() ? indent : indent + 2;
    out += '\n';
    out.append(inner, ' ');
    WriteBlock(member, inner, out);
  }
}

}  // namespace

std::string CompactJson(const Json& value) {
  std::string text;
  AppendCompact(value, text);
  return WithVisibleEscapes(std::move(text), EscapeForm::kJson);
}

std::string IndentedJson(const Json& value) {
  return WithVisibleEscapes(Dump(value, 2), EscapeForm::kJson) + "\n";
}

std::string Yaml(const Json& value) {
  if (!IsBlock(value)) return Scalar(value) + "\n";
  std::string out;
  WriteBlock(value, 0, out);
  return out;
}

absl::StatusOr<nlohmann::ordered_json> ParseJson(std::string_view text, int depth_max) {
  using Json = nlohmann::ordered_json;
  bool deep = false;
  Json value = Json::parse(
      text,
      [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
        deep = deep || depth > depth_max;
        return !deep;
      },
      /*allow_exceptions=*/false);
  if (deep) return absl::InvalidArgumentError("is nested too deep");
  if (value.is_discarded()) return absl::InvalidArgumentError("is not JSON");
  return value;
}

}  // namespace ebb
