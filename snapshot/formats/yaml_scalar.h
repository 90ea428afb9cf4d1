// Scalars of YAML's core schema as JSON.
//
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_YAML_SCALAR_H_
#define EBB_SNAPSHOT_FORMATS_YAML_SCALAR_H_

#include <string>
#include <string_view>

namespace ebb {

// Appends `text` as a JSON string with its quotes.
void AppendJsonString(std::string& json, std::string_view text);

// Appends a plain scalar as JSON: true or false, a number, or else a string.  Numbers become
// decimal.  REQUIRES: !IsYamlNull(plain).
void AppendPlainScalar(std::string& json, std::string_view plain);

// Whether a plain scalar is null: empty, "~" or a spelling of "null".
bool IsYamlNull(std::string_view plain);

// Whether a plain scalar is a whole number that starts with a zero: octal in YAML 1.1, which
// kubectl reads, but decimal in YAML 1.2.
bool IsOctalToSome(std::string_view plain);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_YAML_SCALAR_H_
