#include "sizing/policy/policy_settings.h"

#include <fmt/format.h>

#include <utility>

namespace ebb {
namespace {

template <typename T>
void ReadAs(const std::map<std::string, PolicyValue, std::less<>>& values, std::string_view path,
            T& value) {
  const auto found = values.find(path);
  if (found == values.end()) return;
  if (const T* read = std::get_if<T>(&found->second)) value = *read;
}

}  // namespace

std::string_view Name(PolicyValueType type) {
  switch (type) {
    case PolicyValueType::kBool:
      return "bool";
    case PolicyValueType::kInt:
      return "int";
    case PolicyValueType::kNumber:
      return "number";
    case PolicyValueType::kText:
      break;
  }
  return "text";
}

void PolicySettings::Set(std::string path, PolicyValue value) {
  values_.insert_or_assign(std::move(path), std::move(value));
}

void PolicySettings::SetCount(std::string path, size_t count) {
  counts_.insert_or_assign(std::move(path), count);
}

bool PolicySettings::Has(std::string_view path) const { return values_.contains(path); }

size_t PolicySettings::Count(std::string_view path) const {
  const auto found = counts_.find(path);
  return found == counts_.end() ? 0 : found->second;
}

void PolicySettings::Read(std::string_view path, bool& value) const {
  ReadAs(values_, path, value);
}
void PolicySettings::Read(std::string_view path, int64_t& value) const {
  ReadAs(values_, path, value);
}
void PolicySettings::Read(std::string_view path, std::string& value) const {
  ReadAs(values_, path, value);
}

void PolicySettings::Read(std::string_view path, double& value) const {
  ReadAs(values_, path, value);
  const auto found = values_.find(path);
  if (found == values_.end()) return;
  if (const int64_t* whole = std::get_if<int64_t>(&found->second)) {
    value = static_cast<double>(*whole);
  }
}

std::vector<std::string> PolicySettings::Texts(std::string_view path) const {
  std::vector<std::string> texts(Count(path));
  for (size_t i = 0; i < texts.size(); ++i) Read(fmt::format("{}[{}]", path, i), texts[i]);
  return texts;
}

std::string KeyOf(std::string_view path) {
  std::string key;
  bool in_index = false;
  for (const char c : path) {
    if (c == ']') in_index = false;
    if (!in_index) key += c;
    if (c == '[') in_index = true;
  }
  return key;
}

}  // namespace ebb
