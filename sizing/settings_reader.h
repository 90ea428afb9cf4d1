// ReadSettings: reads YAML as settings of a policy, under the paths of its keys.
//
// Errors:  InvalidArgument with file, line and key: unknown keys with the nearest known one, wrong
//          types, numbers out of range.
// Cost:    O(nodes * keys).
// Threads: pure.

#ifndef EBB_SIZING_SETTINGS_READER_H_
#define EBB_SIZING_SETTINGS_READER_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sizing/policy/policy_settings.h"

namespace YAML {
class Node;
}

namespace ebb {

// A file, and the line of each key of one pool's options in it.
struct SettingsPlace {
  std::string file;
  std::map<std::string, int> lines{};
  // From PolicySchool: the program that is followed, for messages, and keys that decide nothing.
  std::string follows{};
  std::vector<std::string> others{};
  // Warnings, as sentences, about keys that are not read: keys close to a known one and, if
  // `follows` is set, all keys that are not in `others`.
  std::vector<std::string> passed_over{};
  // If set, errors that leave the rest readable are appended here, and reading goes on.
  std::vector<std::string>* all_errors = nullptr;

  // Appends `error` to `all_errors` and returns OK, or returns `error` if there is no such list.
  [[nodiscard]] absl::Status GoOn(const absl::Status& error) const;

  [[nodiscard]] absl::Status Bad(const YAML::Node& node, const std::string& path,
                                 std::string_view what) const;
  // `line` counts from 0.
  [[nodiscard]] absl::Status BadAt(int line, const std::string& path, std::string_view what) const;
};

enum class UnknownKeys : uint8_t {
  kRefuse,
  kSkip,  // For a file of another program, whose other keys do not concern this reader.
};

// Names that are known after `prefix` ("" or "up.").
std::vector<std::string> KnownAfter(const std::vector<PolicyKey>& keys, const std::string& prefix);

// Reads `node`, which is at `path` of the settings ("": the root), into `settings`.  `where` is the
// name of the root in messages.
absl::Status ReadSettings(const std::vector<PolicyKey>& keys, const std::string& where,
                          const std::string& path, const YAML::Node& node, UnknownKeys unknown,
                          SettingsPlace& place, PolicySettings& settings);

// The required keys that are missing.
std::vector<std::string> MissingKeys(const std::vector<PolicyKey>& keys,
                                     const PolicySettings& settings);

}  // namespace ebb

#endif  // EBB_SIZING_SETTINGS_READER_H_
