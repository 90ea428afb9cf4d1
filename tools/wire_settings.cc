#include "tools/wire_settings.h"

#include <CLI/CLI.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "base/text.h"
#include "service/round_options.h"
#include "service/session/session.h"
#include "service/settings_file.h"
#include "tools/round_command.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// "unremovableNodeRecheckTimeoutSeconds" is --unremovable-node-recheck-timeout.
std::string FlagOf(std::string_view option) {
  std::string flag = "--";
  for (const char c : absl::StripSuffix(Absl(option), "Seconds")) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c))) flag += '-';
    flag += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return flag;
}

// Leaves of `options` those that are not as usual, that are not as `before`, or whose flag was
// given.
void DropUsual(Json& options, const Json& usual, const Json& before, const CLI::App* app) {
  const auto is_given = [&](const std::string& option) {
    const CLI::Option* const flag =
        app == nullptr ? nullptr : app->get_option_no_throw(FlagOf(option));
    return flag != nullptr && flag->count() > 0;
  };
  for (auto it = options.begin(); it != options.end();) {
    if (it->is_object()) DropUsual(*it, usual.at(it.key()), before.at(it.key()), app);
    const bool drops = it->is_object() ? it->empty()
                                       : *it == usual.at(it.key()) && *it == before.at(it.key()) &&
                                             !is_given(it.key());
    it = drops ? options.erase(it) : std::next(it);
  }
}

// Whether no flag says how to plan.
bool IsDefault(const PlanCommand& command) {
  return command.node_groups.empty() && command.nodes.empty() &&
         OptionsJson(RoundOptionsOf(command)) == OptionsJson(RoundOptionsOf(PlanCommand()));
}

// The options, and of the command the file of node groups and the sizes.
absl::StatusOr<wire::Settings> SettingsWith(const Json& options, const PlanCommand& command) {
  wire::Settings settings;
  if (absl::Status s = PutOptions(options, settings); !s.ok()) return s;
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

}  // namespace

absl::StatusOr<wire::Settings> SettingsOf(const PlanCommand& command) {
  return SettingsWith(OptionsJson(RoundOptionsOf(command)), command);
}

absl::StatusOr<wire::Settings> GivenOptionsOf(const PlanCommand& command) {
  return ChangedOptionsOf(command, command);
}

absl::StatusOr<wire::Settings> ChangedOptionsOf(const PlanCommand& command,
                                                const PlanCommand& changed) {
  Json options = OptionsJson(RoundOptionsOf(changed));
  DropUsual(options, OptionsJson(RoundOptionsOf(PlanCommand())),
            OptionsJson(RoundOptionsOf(command)), command.at_server.app);
  return SettingsWith(options, changed);
}

absl::StatusOr<std::optional<wire::Settings>> GivenSettingsOf(const PlanCommand& command) {
  if (IsDefault(command)) return std::nullopt;
  absl::StatusOr<wire::Settings> settings = SettingsOf(command);
  if (!settings.ok()) return settings.status();
  const LoadOptions usual;
  if (command.load.assume_complete == usual.assume_complete &&
      command.load.bypassed_schedulers == usual.bypassed_schedulers &&
      command.load.expendable_pods_priority_cutoff == usual.expendable_pods_priority_cutoff &&
      command.load.match_os == usual.match_os &&
      command.load.kubernetes_version == usual.kubernetes_version) {
    settings->mutable_options()->mutable_fields()->erase("load");
  }
  return *std::move(settings);
}

}  // namespace ebb
