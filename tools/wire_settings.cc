#include "tools/wire_settings.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "service/round_options.h"
#include "service/session/session.h"
#include "service/settings_file.h"
#include "tools/round_command.h"

namespace ebb {
namespace {

// Whether no flag says how to plan.
bool IsDefault(const PlanCommand& command) {
  return command.node_groups.empty() && command.nodes.empty() &&
         OptionsJson(RoundOptionsOf(command)) == OptionsJson(RoundOptionsOf(PlanCommand()));
}

}  // namespace

absl::StatusOr<wire::Settings> SettingsOf(const PlanCommand& command) {
  wire::Settings settings;
  if (absl::Status s = PutOptions(OptionsJson(RoundOptionsOf(command)), settings); !s.ok()) {
    return s;
  }
  if (!command.node_groups.empty()) {
    absl::StatusOr<std::string> text = ReadWholeFile(command.node_groups);
    if (!text.ok()) return text.status();
    // Errors name the file here, where there is one.
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

absl::StatusOr<std::optional<wire::Settings>> GivenSettingsOf(const PlanCommand& command) {
  if (IsDefault(command)) return std::nullopt;
  absl::StatusOr<wire::Settings> settings = SettingsOf(command);
  if (!settings.ok()) return settings.status();
  const LoadOptions usual;
  if (command.load.assume_complete == usual.assume_complete &&
      command.load.expendable_pods_priority_cutoff == usual.expendable_pods_priority_cutoff) {
    settings->mutable_options()->mutable_fields()->erase("load");
  }
  return *std::move(settings);
}

}  // namespace ebb
