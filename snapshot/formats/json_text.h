// Writes JSON values as JSON or YAML text, and parses JSON.
//
// Both formats keep the members in the order in which they were set.  Bytes that are not
// UTF-8 become U+FFFD.  Invisible characters (printable.h) become escapes such as \u202e, so
// that no value can change how the text around it looks.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_TEXT_H_
#define EBB_SNAPSHOT_FORMATS_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

// On one line, without a newline at the end.
std::string CompactJson(const nlohmann::ordered_json& value);

// Indented by two blanks, with a newline at the end.
std::string IndentedJson(const nlohmann::ordered_json& value);

// Parses a JSON text.  A text that is nested deeper than `depth_max` is rejected while it is
// read: copying or writing such a value takes a call for each level, and could exhaust the stack.
// Errors: InvalidArgument, "is not JSON" or "is nested too deep".
absl::StatusOr<nlohmann::ordered_json> ParseJson(std::string_view text, int depth_max = 100);

// YAML 1.2 in block style, with a newline at the end.  A string is quoted if any YAML version
// could read it as another type.
std::string Yaml(const nlohmann::ordered_json& value);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_JSON_TEXT_H_
