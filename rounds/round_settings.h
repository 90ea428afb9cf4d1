// RoundSettings: the arguments of a round beside the cluster and the time.  Node groups are stored
// twice: as a text, which a record keeps, and parsed.

#ifndef EBB_ROUNDS_ROUND_SETTINGS_H_
#define EBB_ROUNDS_ROUND_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "groups/groups.h"
#include "options/round_options.h"
#include "rounds/round_events.h"

namespace ebb {

// A text, and its name in errors.
struct NamedText {
  std::string name;
  std::string text;
};

struct RoundTexts {
  std::optional<NamedText> groups;     // In the form of groups.h; absent: labels decide.
  std::vector<GroupSize> group_sizes;  // Take precedence over `groups`.
  std::optional<NamedText> events;     // In the form of round_events.h; absent: no events.
};

struct RoundSettings {
  RoundOptions options;
  RoundTexts texts;
  GroupRules groups;
  DeletionReport report;  // Parsed from `texts.events`, or set by the caller.
};

// Errors: those of ParseGroups and ParseEvents.
absl::StatusOr<RoundSettings> MakeSettings(const RoundOptions& options, RoundTexts texts);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_SETTINGS_H_
