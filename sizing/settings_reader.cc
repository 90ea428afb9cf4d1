#include "sizing/settings_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

bool IsPrefix(const std::vector<PolicyKey>& keys, const std::string& prefix) {
  return std::ranges::any_of(keys,
                             [&](const PolicyKey& key) { return key.path.starts_with(prefix); });
}

// Returns what is wrong with a scalar, or "".
std::string ReadScalar(const PolicyKey& key, const YAML::Node& node, PolicyValue& value) {
  if (!node.IsScalar()) return fmt::format("is not a value of type {}", Name(key.type));
  double number = 0;
  switch (key.type) {
    case PolicyValueType::kBool: {
      bool is = false;
      const std::string wrong = ReadBool(node, is);
      value = is;
      return wrong;
    }
    case PolicyValueType::kText:
      value = node.Scalar();
      return "";
    case PolicyValueType::kInt: {
      const std::optional<int64_t> read = AsInteger(node);
      if (!read) return Quoted(node) + " is not a whole number";
      value = *read;
      number = static_cast<double>(*read);
      break;
    }
    case PolicyValueType::kNumber: {
      // Clusterman spells infinity this way.
      std::optional<double> read = AsReal(node);
      if (node.Scalar() == "inf") read = std::numeric_limits<double>::infinity();
      if (!read || std::isnan(*read)) return Quoted(node) + " is not a number";
      value = *read;
      number = *read;
      break;
    }
  }
  if (number < key.min) return fmt::format("{} is below {}", node.Scalar(), key.min);
  if (number > key.max) return fmt::format("{} is above {}", node.Scalar(), key.max);
  return "";
}

// The input and output of ReadSettings.
struct Reading {
  const std::vector<PolicyKey>& keys;
  const std::string& where;
  UnknownKeys unknown;
  SettingsPlace& place;
  PolicySettings& settings;

  absl::Status Take(const std::string& path, const YAML::Node& node);

 private:
  absl::Status TakeScalar(const PolicyKey& key, const std::string& path, const YAML::Node& node);
  absl::Status TakeList(const std::string& path, const YAML::Node& node);
  absl::Status TakeMap(const std::string& path, const YAML::Node& node);
  // " (ebb follows ...)", or "".
  [[nodiscard]] std::string Follows() const {
    return place.follows.empty() ? "" : absl::StrCat(" (ebb follows ", place.follows, ")");
  }
  // Whether the program's key at `path` decides nothing.
  [[nodiscard]] bool IsOther(const std::string& path) const {
    return std::ranges::find(place.others, KeyOf(path)) != place.others.end();
  }
  [[nodiscard]] std::string At(const std::string& path) const {
    return path.empty() ? where : where.empty() ? path : where + "." + path;
  }
};

absl::Status Reading::Take(const std::string& path, const YAML::Node& node) {
  place.lines[path] = node.Mark().line;
  const std::string pattern = KeyOf(path);
  for (const PolicyKey& key : keys) {
    if (key.path == pattern) return TakeScalar(key, path, node);
  }
  if (IsPrefix(keys, pattern + "[]")) return TakeList(path, node);
  return TakeMap(path, node);
}

absl::Status Reading::TakeScalar(const PolicyKey& key, const std::string& path,
                                 const YAML::Node& node) {
  // Clusterman has a section with the name of ebb's second spelling of draining_enabled,
  // `draining`.
  if (unknown == UnknownKeys::kSkip && node.IsMap()) return absl::OkStatus();
  PolicyValue value;
  const std::string wrong = ReadScalar(key, node, value);
  if (!wrong.empty()) return place.GoOn(place.Bad(node, At(path), wrong));
  settings.Set(path, std::move(value));
  return absl::OkStatus();
}

absl::Status Reading::TakeList(const std::string& path, const YAML::Node& node) {
  if (!node.IsSequence()) return place.GoOn(place.Bad(node, At(path), "is not a list"));
  settings.SetCount(path, node.size());
  for (size_t i = 0; i < node.size(); ++i) {
    absl::Status s = Take(fmt::format("{}[{}]", path, i), node[i]);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Reading::TakeMap(const std::string& path, const YAML::Node& node) {
  if (!node.IsMap()) return place.GoOn(place.Bad(node, At(path), "is not a map"));
  const std::vector<std::string> known = KnownAfter(keys, path.empty() ? "" : KeyOf(path) + ".");
  for (const auto& field : node) {
    if (!field.first.IsScalar()) return place.Bad(field.first, At(path), "a key is not a scalar");
    const std::string& name = field.first.Scalar();
    const std::string deeper = path.empty() ? name : absl::StrCat(path, ".", name);
    if (std::ranges::find(known, name) == known.end()) {
      if (unknown == UnknownKeys::kSkip) {
        // A name more than two edits away from every known one is another key of that program.
        const std::string near = NearestWithin(2, name, known);
        if (near.empty() && (place.follows.empty() || IsOther(deeper))) continue;
        const std::string meant = near.empty() ? "" : absl::StrCat("; did you mean ", near, "?");
        place.passed_over.emplace_back(
            place.Bad(field.first, At(deeper), absl::StrCat("is not read", meant, Follows()))
                .message());
        continue;
      }
      absl::Status s = place.GoOn(
          place.Bad(field.first, At(deeper), absl::StrCat(NoSuchField(name, known), Follows())));
      if (!s.ok()) return s;
      continue;
    }
    if (absl::Status s = Take(deeper, field.second); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SettingsPlace::GoOn(const absl::Status& error) const {
  if (error.ok() || all_errors == nullptr) return error;
  all_errors->emplace_back(error.message());
  return absl::OkStatus();
}

absl::Status SettingsPlace::Bad(const YAML::Node& node, const std::string& path,
                                std::string_view what) const {
  return BadAt(node.Mark().line, path, what);
}

absl::Status SettingsPlace::BadAt(int line, const std::string& path, std::string_view what) const {
  return BadSetting(file, fmt::format("line {}: {}", line + 1, path), what);
}

std::vector<std::string> KnownAfter(const std::vector<PolicyKey>& keys, const std::string& prefix) {
  std::set<std::string> names;
  for (const PolicyKey& key : keys) {
    if (!key.path.starts_with(prefix)) continue;
    const std::string rest = key.path.substr(prefix.size());
    names.insert(rest.substr(0, rest.find_first_of(".[")));
  }
  return {names.begin(), names.end()};
}

absl::Status ReadSettings(const std::vector<PolicyKey>& keys, const std::string& where,
                          const std::string& path, const YAML::Node& node, UnknownKeys unknown,
                          SettingsPlace& place, PolicySettings& settings) {
  return Reading{keys, where, unknown, place, settings}.Take(path, node);
}

std::vector<std::string> MissingKeys(const std::vector<PolicyKey>& keys,
                                     const PolicySettings& settings) {
  std::vector<std::string> missing;
  for (const PolicyKey& key : keys) {
    if (!key.required) continue;
    const size_t list = key.path.find("[]");
    if (list == std::string::npos) {
      if (!settings.Has(key.path)) missing.push_back(key.path);
      continue;
    }
    const std::string name = key.path.substr(0, list);
    for (size_t i = 0; i < settings.Count(name); ++i) {
      const std::string path = fmt::format("{}[{}]{}", name, i, key.path.substr(list + 2));
      if (!settings.Has(path)) missing.push_back(path);
    }
  }
  return missing;
}

}  // namespace ebb
