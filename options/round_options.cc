#include "options/round_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/text.h"
#include "options/option_field.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::vector<OptionField> FormFieldsOf(RoundOptions& options) {
  std::vector<OptionField> fields = FieldsOf(options);
  std::erase_if(fields, [](const OptionField& field) { return field.path.empty(); });
  return fields;
}

// --- Writing -----------------------------------------------------------------------------

Json ValueJson(const OptionField& field) {
  if (const auto* const choice = std::get_if<OptionChoice>(&field.value)) return choice->get();
  if (const auto* const text = std::get_if<OptionText>(&field.value)) return text->get();
  Json json;
  std::visit(
      [&json](const auto& value) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) json = *value;
      },
      field.value);
  return json;
}

// --- Reading.  Each function returns what is wrong, or "". ----------------------------------

template <typename Number>
std::string ReadWhole(const OptionRange& range, const Json& json, Number& value) {
  if (!json.is_number_integer()) return "is not a whole number";
  const auto number = json.get<int64_t>();
  const bool wrapped = json.is_number_unsigned() && number < 0;  // 2^63 or more.
  if (wrapped || number < range.min || number > range.max) {
    return absl::StrCat("is not from ", range.min, " to ", range.max);
  }
  value = static_cast<Number>(number);
  return "";
}

struct ValueReader {
  const OptionRange& range;
  const Json& json;

  std::string operator()(bool* value) const {
    if (!json.is_boolean()) return "is neither true nor false";
    *value = json.get<bool>();
    return "";
  }
  std::string operator()(int64_t* value) const { return ReadWhole(range, json, *value); }
  std::string operator()(size_t* value) const { return ReadWhole(range, json, *value); }
  std::string operator()(double* value) const {
    if (!json.is_number()) return "is not a number";
    const auto number = json.get<double>();
    if (!(number >= static_cast<double>(range.min) && number <= static_cast<double>(range.max))) {
      return absl::StrCat("is not from ", range.min, " to ", range.max);
    }
    *value = number;
    return "";
  }
  std::string operator()(std::vector<std::string>* value) const {
    const auto is_text = [](const Json& each) { return each.is_string(); };
    if (!json.is_array() || !std::ranges::all_of(json, is_text)) return "is not a list of texts";
    *value = json.get<std::vector<std::string>>();
    return "";
  }
  std::string operator()(const OptionText& text) const {
    return json.is_string() ? text.set(json.get<std::string>()) : "is not a text";
  }
  std::string operator()(const OptionChoice& choice) const {
    // A word that no choice has stands for what is not a text.
    if (choice.set(json.is_string() ? json.get<std::string>() : "?")) return "";
    if (choice.words.size() == 1) return absl::StrCat("is not of the form ", choice.words.front());
    return absl::StrCat("is not one of ", absl::StrJoin(choice.words, ", "));
  }
};

std::string Wrong(std::string_view path, std::string_view how) {
  return absl::StrCat("options", path.empty() ? "" : ".", Absl(path), ": ", Absl(how));
}

std::string UnknownOption(const std::string& prefix, const std::string& name,
                          const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  const std::string hint = nearest.empty()
                               ? absl::StrCat("; the options here are ", absl::StrJoin(known, ", "))
                               : absl::StrCat("; did you mean ", nearest, "?");
  return Wrong(prefix + Printable(name), "is not an option that this ebb knows" + hint);
}

// Reads the object at `prefix` ("", "scaleDown.planner."), which must have all of `fields` and no
// other member.  Returns the first error, such as "options.scaleDown.budgets.maxDrainParallelism:
// is not from 0 to 1000000000", or "".
std::string ReadObject(const std::string& prefix, std::span<const OptionField> fields,
                       const Json& json) {
  if (!json.is_object()) {
    return Wrong(prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), "is not an object");
  }
  std::vector<std::string> names;
  while (!fields.empty()) {
    const OptionField& first = fields.front();
    const size_t dot = first.path.find('.', prefix.size());
    const std::string& name =
        names.emplace_back(first.path.substr(prefix.size(), dot - prefix.size()));
    const auto member = json.find(name);
    if (member == json.end()) return Wrong(prefix + name, "is missing");
    size_t read = 1;
    std::string wrong;
    if (dot == std::string::npos) {
      wrong = std::visit(ValueReader{first.range, *member}, first.value);
      if (!wrong.empty()) wrong = Wrong(first.path, wrong);
    } else {
      const std::string below = absl::StrCat(prefix, name, ".");
      const auto is_below = [&](const OptionField& each) { return each.path.starts_with(below); };
      read = static_cast<size_t>(std::ranges::find_if_not(fields, is_below) - fields.begin());
      wrong = ReadObject(below, fields.first(read), *member);
    }
    if (!wrong.empty()) return wrong;
    fields = fields.subspan(read);
  }
  for (const auto& [name, unused] : json.items()) {
    if (std::ranges::find(names, name) == names.end()) return UnknownOption(prefix, name, names);
  }
  return "";
}

}  // namespace

Json FormOf(std::span<const OptionField> fields) {
  Json json = Json::object();
  for (const OptionField& field : fields) {
    if (field.path.empty()) continue;
    Json* at = &json;
    for (const auto name : absl::StrSplit(field.path, '.')) at = &(*at)[std::string(name)];
    *at = ValueJson(field);
  }
  return json;
}

bool SameLoad(const LoadOptions& a, const LoadOptions& b) {
  LoadOptions copy_a = a;
  LoadOptions copy_b = b;
  const std::vector<OptionField> fields = FieldsOf(copy_a);
  const std::vector<OptionField> others = FieldsOf(copy_b);
  return std::ranges::equal(fields, others, [](const OptionField& one, const OptionField& other) {
    return one.path.empty() || SameValue(one, other);
  });
}

Json OptionsJson(const RoundOptions& options) {
  RoundOptions copy = options;  // FieldsOf needs a mutable struct.
  return FormOf(FieldsOf(copy));
}

absl::StatusOr<RoundOptions> ParseOptions(const std::string& where, const Json& json) {
  RoundOptions options;
  const std::string wrong = ReadObject("", FormFieldsOf(options), json);
  if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": ", wrong));
  return options;
}

}  // namespace ebb
