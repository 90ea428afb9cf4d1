// Settings files: YAML that people write for ebb, with fields identified by name.
//
// An error names the file, the path of the field and, for an unknown name, the nearest known one.

#ifndef EBB_PLATFORM_SETTINGS_FILE_H_
#define EBB_PLATFORM_SETTINGS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace YAML {
class Node;
}

namespace ebb {

// Limits for a text of settings.  In addition, a map has at most 1,000 keys.  yaml-cpp takes about
// 2 us and 450 bytes for a value, and 0.3 us for an empty line.
struct SettingsLimits {
  size_t bytes;
  size_t lines;
  // Keys, scalars, lists and maps.  Each repetition by an alias counts again.
  size_t values;
};
// 10,000 node groups with every field have 3.2 MB, 120,000 lines and 270,000 values.
inline constexpr SettingsLimits kSettingsLimits{
    .bytes = size_t{8} << 20, .lines = 300'000, .values = 300'000};
// For files that programs write and that no message carries: plans, events, series, usage.  Events
// hold whole pods that were evicted.
inline constexpr SettingsLimits kDataLimits{
    .bytes = size_t{1} << 30, .lines = 50'000'000, .values = 50'000'000};

// Reads a file to its end.  The path may name a pipe only as /dev/stdin, /dev/fd/N and below /proc
// (process substitution); a named pipe at any other path is rejected without waiting for a writer.
// Errors: NotFound: the file cannot be opened; InvalidArgument: it is not a regular file;
// ResourceExhausted: it has more than `bytes_max` bytes, or memory is short; DataLoss: it cannot be
// read to its end.  An error never contains part of the text.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          size_t bytes_max = kSettingsLimits.bytes);

// InvalidArgument naming the first line of `text` that is not UTF-8.
absl::Status CheckUtf8(const std::string& file, std::string_view text);

// ResourceExhausted if `text` has more bytes or lines than `limits` allow, naming both numbers.
absl::Status CheckSize(const std::string& file, std::string_view text,
                       const SettingsLimits& limits = kSettingsLimits);

// Calls `parse` with the document.  A text beyond `limits` is rejected before it is parsed into a
// tree. Errors: those of CheckSize; ResourceExhausted naming the line with the first value too
// many;
//         InvalidArgument naming the line where the text is not UTF-8 or not YAML, a map has a key
//         twice, an alias stands within its own anchor or a second document starts; what `parse`
//         returns.
absl::Status ParseSettings(const std::string& file, const std::string& yaml,
                           absl::FunctionRef<absl::Status(const YAML::Node& root)> parse,
                           const SettingsLimits& limits = kSettingsLimits);

// InvalidArgument: "file: where: what".  `where` may be empty.
absl::Status BadSetting(std::string_view file, std::string_view where, std::string_view what);

// "no such field; did you mean minSize? The fields here are maxSize, minSize"; lists at most 20.
std::string NoSuchField(const std::string& field, const std::vector<std::string>& known);

// Reads the value of one field of an item; returns what is wrong with it, or "".
template <typename Item>
using FieldReader = std::function<std::string(const YAML::Node& value, Item& item)>;
template <typename Item>
using FieldReaders = std::map<std::string, FieldReader<Item>>;

// A scalar in quotes, for messages; "this" for any other value.
std::string Quoted(const YAML::Node& value);

// nullopt: not such a number.
std::optional<int64_t> AsInteger(const YAML::Node& value);
std::optional<double> AsReal(const YAML::Node& value);

// As FieldReader.
std::string ReadName(const YAML::Node& value, std::string& name);
std::string ReadBool(const YAML::Node& value, bool& is);

// Calls `read` with each field of the map `node`, which errors call `where`.  `read` returns what
// is wrong with the field, or "".
absl::Status VisitFields(
    const std::string& file, const std::string& where, const YAML::Node& node,
    absl::FunctionRef<std::string(const std::string& name, const YAML::Node& value)> read);

// Reads the fields of the map `node`, which errors call `where`.
template <typename Item>
absl::Status ReadFields(const std::string& file, const std::string& where, const YAML::Node& node,
                        const FieldReaders<Item>& readers, Item& item) {
  return VisitFields(file, where, node, [&](const std::string& name, const YAML::Node& value) {
    const auto reader = readers.find(name);
    if (reader != readers.end()) return reader->second(value, item);
    std::vector<std::string> known;
    for (const auto& [each, unused] : readers) known.push_back(each);
    return NoSuchField(name, known);
  });
}

}  // namespace ebb

#endif  // EBB_PLATFORM_SETTINGS_FILE_H_
