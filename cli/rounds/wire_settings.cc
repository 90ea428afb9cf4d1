#include "cli/rounds/wire_settings.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/option_flags.h"
#include "cli/rounds/round_command.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "platform/settings_file.h"
#include "session/session_settings.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Whether no flag changes how plans are made.
bool IsDefault(const PlanCommand& command) {
  return command.node_groups.empty() && command.nodes.empty() &&
         OptionsJson(command.options) == OptionsJson(CommandLineOptions());
}

// The given options, with the command's file of node groups and its group sizes.
absl::StatusOr<wire::Settings> SettingsWith(const Json& options, const PlanCommand& command) {
  wire::Settings settings;
  if (absl::Status s = PutOptions(options, settings); !s.ok()) return s;
  if (!command.node_groups.empty()) {
    absl::StatusOr<std::string> text = ReadWholeFile(command.node_groups);
    if (!text.ok()) return text.status();
    // Parsed here so that errors name the file, which the daemon does not have.
    const absl::StatusOr<GroupRules> rules = ParseGroups(command.node_groups, *text);
    if (!rules.ok()) return rules.status();
    settings.set_node_groups(*std::move(text));
    settings.set_node_groups_name(command.node_groups);
  }
  for (const GroupSize& size : command.GroupSizes()) {
    wire::GroupSize& told = *settings.add_group_sizes();
    told.set_name(size.name);
    told.set_min_size(size.min_size);
    told.set_max_size(size.max_size);
  }
  return settings;
}

}  // namespace

absl::StatusOr<wire::Settings> SettingsOf(const PlanCommand& command) {
  return SettingsWith(OptionsJson(command.options), command);
}

absl::StatusOr<wire::Settings> GivenOptionsOf(const PlanCommand& command) {
  return ChangedOptionsOf(command, command);
}

absl::StatusOr<wire::Settings> ChangedOptionsOf(const PlanCommand& command,
                                                const PlanCommand& changed) {
  RoundOptions before = command.options;
  RoundOptions after = changed.options;
  RoundOptions usual = CommandLineOptions();
  const std::vector<OptionField> before_fields = FieldsOf(before);
  const std::vector<OptionField> after_fields = FieldsOf(after);
  const std::vector<OptionField> usual_fields = FieldsOf(usual);
  std::vector<OptionField>
      sent;  // Options that differ from the defaults or from `command`, or whose flag was given.
  for (size_t i = 0; i < after_fields.size(); ++i) {
    const OptionField& field = after_fields[i];
    if (SameValue(field, usual_fields[i]) && SameValue(field, before_fields[i]) &&
        !IsGiven(field, changed.given)) {
      continue;
    }
    sent.push_back(field);
  }
  return SettingsWith(FormOf(sent), changed);
}

absl::StatusOr<std::optional<wire::Settings>> GivenSettingsOf(const PlanCommand& command) {
  if (IsDefault(command)) return std::nullopt;
  absl::StatusOr<wire::Settings> settings = SettingsOf(command);
  if (!settings.ok()) return settings.status();
  if (SameLoad(command.options.load, CommandLineOptions().load)) {
    settings->mutable_options()->mutable_fields()->erase("load");
  }
  return *std::move(settings);
}

}  // namespace ebb
