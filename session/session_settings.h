// SessionSettings: how a session plans, as set by its clients (Settings of planner.proto).
//
//   absl::StatusOr<SessionSettings> settings = ParseSettings(request.settings(), options);
//   absl::StatusOr<SessionSettings> of_call =                    // Changes some of them.
//       ParseSettings(MergedSettings(settings->given, input.settings()), options);
//
// Errors:  InvalidArgument, naming the field.
// Threads: pure.

#ifndef EBB_SESSION_SESSION_SETTINGS_H_
#define EBB_SESSION_SESSION_SETTINGS_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "groups/groups.h"
#include "rounds/round_settings.h"
#include "session/session_options.h"
#include "wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

struct SessionSettings {
  wire::Settings given;  // As received.
  RoundOptions options;
  RoundTexts texts;
  GroupRules groups;
};

// Uses from `session` the limits for dumps, and as_given, which assumes that nothing is missing.
absl::StatusOr<SessionSettings> ParseSettings(const wire::Settings& settings,
                                              const SessionOptions& session);

// Whether the settings have options.load.  Without it, the way of loading objects does not change.
bool SaysHowToLoad(const wire::Settings& settings);

// `settings`, overridden by `over`: options member by member, the groups file as a whole, and group
// sizes by name.
wire::Settings MergedSettings(wire::Settings settings, const wire::Settings& over);

// Sets options.load.assumeComplete, and also updates `given` if that has options.load.
void SetAssumeComplete(bool assume_complete, SessionSettings& settings);

// Sets Settings.options from the options of round_options.h.
absl::Status PutOptions(const nlohmann::ordered_json& options, wire::Settings& settings);

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_SETTINGS_H_
