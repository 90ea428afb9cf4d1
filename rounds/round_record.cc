#include "rounds/round_record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Damaged(const std::string& name, std::string_view how) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": its arguments are damaged: ", Absl(how)));
}

// Reads the members of a round's arguments.  Each member must be present and of the right type.
// The first one that is not makes ok() false; status() names it.
class Members {
 public:
  Members(std::string name, const Json& json) : name_(std::move(name)), json_(json) {}

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const absl::Status& status() const { return status_; }

  // Null if there is no such member of the type that `is` tests.
  const Json* Find(const char* member, bool (Json::*is)() const noexcept) {
    const auto found = json_.find(member);
    if (found != json_.end() && ((*found).*is)()) return &*found;
    Wrong(absl::StrCat(member, " is missing or of another type"));
    return nullptr;
  }
  std::string Text(const char* member) {
    const Json* const json = Find(member, &Json::is_string);
    return json != nullptr ? json->get<std::string>() : "";
  }
  // An integer of at least 0.
  int64_t Integer(const char* member) {
    const Json* const json = Find(member, &Json::is_number_integer);
    if (json == nullptr) return 0;
    const auto value = json->get<int64_t>();
    if (value < 0) Wrong(absl::StrCat(member, " is out of range"));
    return value;
  }
  void Wrong(std::string_view how) {
    if (status_.ok()) status_ = Damaged(name_, how);
  }

 private:
  std::string name_;
  const Json& json_;
  absl::Status status_;
};

Json GroupSizesJson(const std::vector<GroupSize>& sizes) {
  Json json = Json::array();
  for (const GroupSize& size : sizes) {
    json.push_back({{"group", size.name}, {"min", size.min_size}, {"max", size.max_size}});
  }
  return json;
}

std::vector<GroupSize> GroupSizesFrom(const std::string& name, Members& arguments) {
  std::vector<GroupSize> sizes;
  const Json* const json = arguments.Find("groupSizes", &Json::is_array);
  if (json == nullptr) return sizes;
  for (const Json& item : *json) {
    Members members(name, item);
    GroupSize size = {.name = members.Text("group"),
                      .min_size = members.Integer("min"),
                      .max_size = members.Integer("max")};
    if (!members.ok() || item.size() != 3) {
      arguments.Wrong("groupSizes has an item that is not a group with sizes");
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

// A NamedText; nullopt for an empty text.
std::optional<NamedText> TextNamed(const std::string& name, std::string text) {
  if (text.empty()) return std::nullopt;
  return NamedText{name, std::move(text)};
}

absl::StatusOr<RoundArguments> ArgumentsFrom(const std::string& name, const Json& json) {
  static constexpr auto kMembers =
      std::to_array<std::string_view>({"optionsVersion", "options", "nodeGroups", "groupSizes",
                                       "events", "warnings", "deadlineQuestion", "rules"});
  for (const auto& [member, unused] : json.items()) {
    if (std::ranges::find(kMembers, member) == kMembers.end()) {
      return Damaged(name, absl::StrCat(Printable(member), " is unknown to this version of ebb"));
    }
  }
  Members members(name, json);
  const int64_t version = members.Integer("optionsVersion");
  if (members.ok() && version != kOptionsVersion) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": its options are of version ", version,
                                                   ", this ebb knows ", kOptionsVersion));
  }
  RoundTexts texts;
  texts.groups = TextNamed(name, members.Text("nodeGroups"));
  texts.group_sizes = GroupSizesFrom(name, members);
  texts.events = TextNamed(name, members.Text("events"));
  RoundArguments arguments;
  if (const auto* warnings = members.Find("warnings", &Json::is_array); warnings != nullptr) {
    arguments.warnings = InputWarningsFrom(*warnings);
  }
  const auto question = json.find("deadlineQuestion");
  if (question == json.end() || !question->is_null()) {
    arguments.deadline_question = members.Integer("deadlineQuestion");
  }
  const Json* const options_json = members.Find("options", &Json::is_object);
  if (!members.ok()) return members.status();
  absl::StatusOr<RoundOptions> options = ParseOptions(name, *options_json);
  if (!options.ok()) return options.status();
  absl::StatusOr<RoundSettings> settings = MakeSettings(*options, std::move(texts));
  if (!settings.ok()) return settings.status();
  arguments.settings = *std::move(settings);
  return arguments;
}

}  // namespace

std::string ArgumentsText(const RoundOptions& options, const RoundTexts& texts,
                          const DeletionReport& report, const std::vector<InputWarning>& warnings,
                          std::optional<int64_t> deadline_question) {
  const Json question = deadline_question ? Json(*deadline_question) : Json(nullptr);
  return CompactJson(Json{{"optionsVersion", kOptionsVersion},
                          {"options", OptionsJson(options)},
                          {"nodeGroups", texts.groups ? texts.groups->text : ""},
                          {"groupSizes", GroupSizesJson(texts.group_sizes)},
                          {"events", EventsText(report)},
                          {"warnings", InputWarningsJson(warnings)},
                          {"deadlineQuestion", question},
                          {"rules", kRecordRules}});
}

absl::StatusOr<RoundArguments> ParseArguments(const std::string& name, const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Damaged(name, "they are not a JSON object");
  Members members(name, json);
  const int64_t rules = members.Integer("rules");
  if (!members.ok()) return members.status();
  if (rules != kRecordRules) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": was made by ", rules > kRecordRules ? "a later" : "an earlier",
                     " ebb (rules ", rules, ", this one knows ", kRecordRules, ")"));
  }
  return ArgumentsFrom(name, json);
}

std::string RoundDigest(std::string_view arguments, std::string_view objects) {
  XXH3_state_t* const state = XXH3_createState();
  XXH3_128bits_reset(state);
  XXH3_128bits_update(state, arguments.data(), arguments.size());
  XXH3_128bits_update(state, objects.data(), objects.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace ebb
