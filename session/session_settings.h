// SessionSettings: how a session plans, as its clients set it (Settings of planner.proto).
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
  wire::Settings given;  // As they travelled.
  RoundOptions options;
  RoundTexts texts;
  GroupRules groups;
};

// `session`: whose limits hold for dumps and whose as_given assumes that nothing is
// missing.
absl::StatusOr<SessionSettings> ParseSettings(const wire::Settings& settings,
                                              const SessionOptions& session);

// Whether they have options.load.  How a cluster was loaded stays as it is where they have none.
bool SaysHowToLoad(const wire::Settings& settings);

// `settings` with what `over` has in place of theirs: options member by member, the groups' file as
// a whole, and group sizes by their names.
wire::Settings MergedSettings(wire::Settings settings, const wire::Settings& over);

// Sets options.load.assumeComplete, in `given` too where it has options.load.
void SetAssumeComplete(bool assume_complete, SessionSettings& settings);

// Settings.options as they travel, from those of round_options.h.
absl::Status PutOptions(const nlohmann::ordered_json& options, wire::Settings& settings);

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_SETTINGS_H_
