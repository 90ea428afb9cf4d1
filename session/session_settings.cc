#include "session/session_settings.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "groups/cloud_group_name.h"
#include "options/round_options.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Merges `patch` into `json`, member by member.
void Merge(const Json& patch, Json& json) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_object() && json.contains(key) && json[key].is_object()) {
      Merge(value, json[key]);
    } else {
      json[key] = value;
    }
  }
}

absl::StatusOr<RoundOptions> ParseOptionsOf(const google::protobuf::Struct& given) {
  if (given.fields().empty()) return RoundOptions();
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(given, &text);
  const Json patch = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!printed.ok() || !patch.is_object()) {
    return absl::InvalidArgumentError("settings: options: is not a JSON object");
  }
  Json options = OptionsJson(RoundOptions());
  Merge(patch, options);
  return ParseOptions("settings", options);
}

void Lay(const google::protobuf::Struct& over, google::protobuf::Struct& options) {
  for (const auto& [name, value] : over.fields()) {
    google::protobuf::Value& there = (*options.mutable_fields())[name];
    if (value.has_struct_value() && there.has_struct_value()) {
      Lay(value.struct_value(), *there.mutable_struct_value());
    } else {
      there = value;
    }
  }
}

}  // namespace

absl::StatusOr<SessionSettings> ParseSettings(const wire::Settings& settings,
                                              const SessionOptions& session) {
  absl::StatusOr<RoundOptions> options = ParseOptionsOf(settings.options());
  if (!options.ok()) return options.status();
  SessionSettings parsed{
      .given = settings, .options = *std::move(options), .texts = {}, .groups = {}};
  parsed.options.load.limits.bytes_max = session.dump_bytes_max;
  parsed.options.load.assume_complete |= session.as_given;
  if (!settings.node_groups().empty()) {
    parsed.texts.groups = NamedText{
        settings.node_groups_name().empty() ? "settings.node_groups" : settings.node_groups_name(),
        settings.node_groups()};
  }
  for (const wire::GroupSize& size : settings.group_sizes()) {
    if (!ReadCloudGroupName(size.name()) || size.min_size() < 0 ||
        size.max_size() < size.min_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "settings.group_sizes: ", Printable(size.name()),
          ": needs a name as --nodes takes it, without MIN:MAX:, and 0 <= min_size <= max_size"));
    }
    parsed.texts.group_sizes.push_back(
        {.name = size.name(), .min_size = size.min_size(), .max_size = size.max_size()});
  }
  absl::StatusOr<RoundSettings> made = MakeSettings(parsed.options, parsed.texts);
  if (!made.ok()) return made.status();
  parsed.groups = std::move(made->groups);
  return parsed;
}

bool SaysHowToLoad(const wire::Settings& settings) {
  return settings.options().fields().contains("load");
}

wire::Settings MergedSettings(wire::Settings settings, const wire::Settings& over) {
  Lay(over.options(), *settings.mutable_options());
  if (!over.node_groups().empty()) {
    settings.set_node_groups(over.node_groups());
    settings.set_node_groups_name(over.node_groups_name());
  }
  absl::flat_hash_set<std::string_view> named;
  for (const wire::GroupSize& size : over.group_sizes()) named.insert(size.name());
  auto& sizes = *settings.mutable_group_sizes();
  const auto is_named = [&](const wire::GroupSize& size) { return named.contains(size.name()); };
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), is_named), sizes.end());
  sizes.MergeFrom(over.group_sizes());
  return settings;
}

void SetAssumeComplete(bool assume_complete, SessionSettings& settings) {
  settings.options.load.assume_complete = assume_complete;
  auto& given = *settings.given.mutable_options()->mutable_fields();
  const auto load = given.find("load");
  if (load == given.end() || !load->second.has_struct_value()) return;
  auto& fields = *load->second.mutable_struct_value()->mutable_fields();
  fields.erase("assumeComplete");
  if (assume_complete) fields["assumeComplete"].set_bool_value(true);
}

absl::Status PutOptions(const Json& options, wire::Settings& settings) {
  const auto put =
      google::protobuf::util::JsonStringToMessage(CompactJson(options), settings.mutable_options());
  return put.ok() ? absl::OkStatus() : absl::InternalError("options that are not JSON");
}

}  // namespace ebb
