// JSON values as text: JSON and YAML.
//
// Both keep the members in the order in which they were set.  Bytes that are not
// UTF-8 come out as U+FFFD.  Characters that do not show (printable.h) come out as escapes,
// \u202e, so that no value can change how the text around it reads.

#ifndef EBB_BASE_JSON_TEXT_H_
#define EBB_BASE_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

// On one line.
std::string CompactJson(const nlohmann::ordered_json& value);

// Indented by two blanks, with a newline at the end.
std::string IndentedJson(const nlohmann::ordered_json& value);

// The value of a JSON text.  A text that is nested deeper than `depth_max` is refused while it is
// read: to copy or write such a value takes a call for each level, and could exhaust the stack.
// Errors: InvalidArgument, "is not JSON" or "is nested too deep".
absl::StatusOr<nlohmann::ordered_json> ParseJson(std::string_view text, int depth_max = 100);

// YAML 1.2 in block style, with a newline at the end.  A string that any YAML
// version could take for something else is quoted.
std::string Yaml(const nlohmann::ordered_json& value);

}  // namespace ebb

#endif  // EBB_BASE_JSON_TEXT_H_
