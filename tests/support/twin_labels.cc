#include "tests/support/twin_labels.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace ebb::test::twin {

using objects::KeyValues;
using objects::Text;

namespace {

constexpr Text kAlphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool IsLabelText(Text text) {
  if (text.empty() || text.size() > 63) return false;
  const std::string inner = std::string(kAlphanumeric) + "-_.";
  return text.find_first_not_of(inner) == Text::npos &&
         kAlphanumeric.find(text.front()) != Text::npos &&
         kAlphanumeric.find(text.back()) != Text::npos;
}

// "name" or "dns.prefix/name"; the check of the prefix is looser than Kubernetes'.
bool IsLabelKey(Text key) {
  const size_t slash = key.find('/');
  if (slash == Text::npos) return IsLabelText(key);
  const Text prefix = key.substr(0, slash);
  return !prefix.empty() &&
         prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == Text::npos &&
         IsLabelText(key.substr(slash + 1));
}

// As strconv.ParseInt; nullopt: not a number, or too large.
std::optional<int64_t> Number(Text text) {
  const std::string copy(text);
  const size_t digits = copy.find_first_not_of("+-") == 0 ? 0 : 1;
  if (copy.size() <= digits || copy.size() > 18) return std::nullopt;
  if (copy.find_first_not_of("0123456789", digits) != std::string::npos) return std::nullopt;
  return std::strtoll(copy.c_str(), nullptr, 10);
}

}  // namespace

std::optional<Text> Find(const KeyValues& labels, Text key) {
  for (const auto& [k, value] : labels) {
    if (k == key) return value;
  }
  return std::nullopt;
}

bool Has(const std::vector<Text>& values, Text value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::optional<bool> Matches(const objects::Requirement& r, const KeyValues& labels,
                            bool with_numbers) {
  if (!IsLabelKey(r.key)) return std::nullopt;
  for (const Text value : r.values) {
    if (!value.empty() && !IsLabelText(value)) return std::nullopt;
  }
  const std::optional<Text> value = Find(labels, r.key);
  if (r.op == "In" || r.op == "NotIn") {
    if (r.values.empty()) return std::nullopt;
    const bool in = value && Has(r.values, *value);
    return r.op == "In" ? in : !in;
  }
  if (r.op == "Exists" || r.op == "DoesNotExist") {
    if (!r.values.empty()) return std::nullopt;
    return (r.op == "Exists") == value.has_value();
  }
  if (with_numbers && (r.op == "Gt" || r.op == "Lt")) {
    if (r.values.size() != 1 || !Number(r.values[0])) return std::nullopt;
    if (!value || !Number(*value)) return false;
    return r.op == "Gt" ? *Number(*value) > *Number(r.values[0])
                        : *Number(*value) < *Number(r.values[0]);
  }
  return std::nullopt;
}

std::optional<bool> Matches(const objects::LabelSelector& selector, const KeyValues& labels) {
  if (selector.nil) return false;
  bool all = true;
  for (const auto& [key, value] : selector.match_labels) all = all && Find(labels, key) == value;
  for (const objects::Requirement& r : selector.match_expressions) {
    const std::optional<bool> one = Matches(r, labels, false);
    if (!one) return std::nullopt;
    all = all && *one;
  }
  return all;
}

}  // namespace ebb::test::twin
