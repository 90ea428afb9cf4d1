// PolicySettings: what a configuration says for one pool, flat, under the paths of its keys; and
// PolicyKey: which keys a policy takes.  The file's reader, its schema and its samples are made
// from the keys, so that a policy declares each of them once.
//
//   PolicySettings settings;
//   settings.Set("up.metricsTrigger[0].usage", int64_t{60});
//   settings.Read("up.metricsTrigger[0].usage", trigger.usage);
//   const size_t triggers = settings.Count("up.metricsTrigger");
//
// Units:   those of each key.
// Cost:    O(log keys) for each access.
// Threads: const methods may run concurrently.

#ifndef EBB_SIZING_POLICY_POLICY_SETTINGS_H_
#define EBB_SIZING_POLICY_POLICY_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ebb {

using PolicyValue = std::variant<bool, int64_t, double, std::string>;

enum class PolicyValueType : uint8_t { kBool, kInt, kNumber, kText };
// "bool", "int", "number", "text".
std::string_view Name(PolicyValueType type);

struct PolicyKey {
  std::string path;  // "up.metricsTrigger[].usage": "[]" after a list's name.
  PolicyValueType type = PolicyValueType::kText;
  std::string help;     // What it is, with its unit.
  std::string example;  // As in a sample; for a key with a default, the default.
  bool required = false;
  double min = -std::numeric_limits<double>::infinity();  // Of kInt and kNumber.
  double max = std::numeric_limits<double>::infinity();
};

class PolicySettings {
 public:
  void Set(std::string path, PolicyValue value);
  // `count` items are in the list `path`, whether they are maps or not.
  void SetCount(std::string path, size_t count);

  [[nodiscard]] bool Has(std::string_view path) const;
  // Items of a list; 0 if it is absent.
  [[nodiscard]] size_t Count(std::string_view path) const;
  [[nodiscard]] bool HasList(std::string_view path) const { return counts_.contains(path); }

  // Leave `value` as it is where the key is absent or of another type.  An int is a number too.
  void Read(std::string_view path, bool& value) const;
  void Read(std::string_view path, int64_t& value) const;
  void Read(std::string_view path, double& value) const;
  void Read(std::string_view path, std::string& value) const;
  template <typename T>
  void Read(std::string_view path, std::optional<T>& value) const {
    T read = value.value_or(T{});
    if (!Has(path)) return;
    Read(path, read);
    value = std::move(read);
  }
  // The texts of a list.
  [[nodiscard]] std::vector<std::string> Texts(std::string_view path) const;

 private:
  std::map<std::string, PolicyValue, std::less<>> values_;
  std::map<std::string, size_t, std::less<>> counts_;
};

// "up.metricsTrigger[2].usage" -> "up.metricsTrigger[].usage".
std::string KeyOf(std::string_view path);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_SETTINGS_H_
