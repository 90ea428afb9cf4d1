// PolicySettings: the configuration of one pool, as a flat map from the paths of keys to values.
// PolicyKey: a key that a policy accepts.  The file reader, its schema and its samples are made
// from the PolicyKeys, so a policy declares each key once.
//
//   PolicySettings settings;
//   settings.Set("up.metricsTrigger[0].usage", int64_t{60});
//   settings.Read("up.metricsTrigger[0].usage", trigger.usage);
//   const size_t triggers = settings.Count("up.metricsTrigger");
//
// Units:   as each key declares.
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
  std::string path;  // "up.metricsTrigger[].usage": "[]" follows the name of a list.
  PolicyValueType type = PolicyValueType::kText;
  std::string help;     // The meaning, with its unit.
  std::string example;  // The value in a sample; for a key with a default, the default.
  bool required = false;
  double min = -std::numeric_limits<double>::infinity();  // Only kInt and kNumber.
  double max = std::numeric_limits<double>::infinity();
};

class PolicySettings {
 public:
  void Set(std::string path, PolicyValue value);
  // Sets the number of items of the list `path`, whether its items are maps or scalars.
  void SetCount(std::string path, size_t count);

  [[nodiscard]] bool Has(std::string_view path) const;
  // The number of items of a list; 0 if the list is absent.
  [[nodiscard]] size_t Count(std::string_view path) const;
  [[nodiscard]] bool HasList(std::string_view path) const { return counts_.contains(path); }

  // Each leaves `value` unchanged if the key is absent or has another type.  An int also reads as a
  // double.
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
  // The items of a list of texts.
  [[nodiscard]] std::vector<std::string> Texts(std::string_view path) const;

 private:
  std::map<std::string, PolicyValue, std::less<>> values_;
  std::map<std::string, size_t, std::less<>> counts_;
};

// "up.metricsTrigger[2].usage" -> "up.metricsTrigger[].usage".
std::string KeyOf(std::string_view path);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_SETTINGS_H_
