// ReadSettings: YAML as settings of a policy, under the paths of its keys.
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

// A file, and where each key of one pool's options stands in it.
struct SettingsPlace {
  std::string file;
  std::map<std::string, int> lines{};
  // PolicySchool's: which program is followed, for messages, and keys that decide nothing.
  std::string follows{};
  std::vector<std::string> others{};
  // Warnings, as sentences, of keys that nobody reads: those that are close to a known one, and
  // where `follows` is given all that are not among `others`.
  std::vector<std::string> passed_over{};
  // Where set, errors that leave the rest readable are appended, and reading goes on.
  std::vector<std::string>* all_errors = nullptr;

  // Ok where `error` was appended to `all_errors`, else the error itself.
  [[nodiscard]] absl::Status GoOn(const absl::Status& error) const;

  [[nodiscard]] absl::Status Bad(const YAML::Node& node, const std::string& path,
                                 std::string_view what) const;
  // `line` from 0.
  [[nodiscard]] absl::Status BadAt(int line, const std::string& path, std::string_view what) const;
};

enum class UnknownKeys : uint8_t {
  kRefuse,
  kSkip,  // Of another program's file: whatever is not read here is its own business.
};

// Names that may stand after `prefix` ("" or "up.").
std::vector<std::string> KnownAfter(const std::vector<PolicyKey>& keys, const std::string& prefix);

// Takes `node`, which stands at `path` of the settings, into them; "" is their root.  `where` is
// what the root is called.
absl::Status ReadSettings(const std::vector<PolicyKey>& keys, const std::string& where,
                          const std::string& path, const YAML::Node& node, UnknownKeys unknown,
                          SettingsPlace& place, PolicySettings& settings);

// The required keys that are not there.
std::vector<std::string> MissingKeys(const std::vector<PolicyKey>& keys,
                                     const PolicySettings& settings);

}  // namespace ebb

#endif  // EBB_SIZING_SETTINGS_READER_H_
