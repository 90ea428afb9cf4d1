// What the flags of a command say, as the settings of a daemon's session.
//
// Errors: those of reading --node-groups, naming the file.

#ifndef EBB_CLI_ROUNDS_WIRE_SETTINGS_H_
#define EBB_CLI_ROUNDS_WIRE_SETTINGS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "cli/commands/plan_command.h"
#include "session/session_settings.h"

namespace ebb {

// All of them.
absl::StatusOr<wire::Settings> SettingsOf(const PlanCommand& command);

// To be laid over a session's own: of the options those that are not as usual, or whose flag was
// given; empty where no flag says how to plan.
absl::StatusOr<wire::Settings> GivenOptionsOf(const PlanCommand& command);

// The same of `changed`, and the options in which that command differs from `command`.
absl::StatusOr<wire::Settings> ChangedOptionsOf(const PlanCommand& command,
                                                const PlanCommand& changed);

// In place of a session's own; absent where no flag says how to plan.  How its cluster was loaded
// is not asked again, unless a flag says so.
absl::StatusOr<std::optional<wire::Settings>> GivenSettingsOf(const PlanCommand& command);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_WIRE_SETTINGS_H_
