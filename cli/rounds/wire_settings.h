// The flags of a command as the settings of a daemon's session.
//
// Errors: those of reading --node-groups, naming the file.

#ifndef EBB_CLI_ROUNDS_WIRE_SETTINGS_H_
#define EBB_CLI_ROUNDS_WIRE_SETTINGS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "cli/commands/plan_command.h"
#include "session/session_settings.h"

namespace ebb {

// All settings of the command.
absl::StatusOr<wire::Settings> SettingsOf(const PlanCommand& command);

// Settings that override a session's own: only the options that differ from the defaults of the
// command line, or whose flag was given.  Empty if no flag decides how to plan.
absl::StatusOr<wire::Settings> GivenOptionsOf(const PlanCommand& command);

// The settings that override a session's own for `changed`: also the options in which it differs
// from `command`.
absl::StatusOr<wire::Settings> ChangedOptionsOf(const PlanCommand& command,
                                                const PlanCommand& changed);

// Settings that replace a session's own; absent if no flag decides how to plan.  They include how
// the cluster is loaded only if a flag changes that.
absl::StatusOr<std::optional<wire::Settings>> GivenSettingsOf(const PlanCommand& command);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_WIRE_SETTINGS_H_
