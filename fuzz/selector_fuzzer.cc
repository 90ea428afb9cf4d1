// Label selectors: a selector that compiles matches exactly what a reading of the Kubernetes rules
// matches, requirement by requirement, on plain text.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "snapshot/matching.h"

namespace {

constexpr std::array<std::string_view, 4> kWords = {"a", "b", "c", ""};
constexpr std::array<std::string_view, 7> kOperators = {"In", "NotIn", "Exists", "DoesNotExist",
                                                        "Gt", "Lt",    "Perhaps"};

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  size_t Below(size_t limit) {
    if (size_ == 0) return 0;
    --size_;
    return *data_++ % limit;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

const std::string_view* Find(const ebb::objects::KeyValues& labels, std::string_view key) {
  for (const auto& label : labels) {
    if (label.key == key) return &label.value;
  }
  return nullptr;
}

bool Holds(const ebb::objects::Requirement& requirement, const ebb::objects::KeyValues& labels) {
  const std::string_view* value = Find(labels, requirement.key);
  const auto& values = requirement.values;
  const bool listed =
      value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  return (value != nullptr) == (requirement.op == "Exists");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 128;  // More than are used to make a selector and its labels.
  if (size > kBytesMax) return 0;
  Bytes bytes(data, size);
  ebb::objects::LabelSelector selector;
  selector.nil = bytes.Below(8) == 7;
  for (size_t i = bytes.Below(4); i > 0 && !selector.nil; --i) {
    auto& requirement = selector.match_expressions.emplace_back();
    requirement.key = kWords[bytes.Below(3)];
    requirement.op = kOperators[bytes.Below(kOperators.size())];
    for (size_t v = bytes.Below(3); v > 0; --v) {
      requirement.values.push_back(kWords[bytes.Below(4)]);
    }
  }
  ebb::objects::KeyValues labels;
  for (const std::string_view key : {"a", "b", "c"}) {
    if (bytes.Below(2) == 1) labels.push_back({key, kWords[bytes.Below(4)]});
  }

  ebb::Symbols symbols;
  const absl::StatusOr<ebb::Selector> compiled = ebb::CompileSelector(selector, symbols);
  if (!compiled.ok()) return 0;
  const bool expected =
      !selector.nil &&
      std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                  [&](const auto& requirement) { return Holds(requirement, labels); });
  if (compiled->Matches(ebb::InternLabels(labels, symbols)) == expected) return 0;
  std::fprintf(stderr, "the compiled selector says %d\n", !expected);
  std::abort();
}
