// RoundSettings: what a round is told beside the cluster and the time.  Node groups are there as a
// text, which a record keeps, and as what the text says.

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

// A text, and what it is called in errors.
struct NamedText {
  std::string name;
  std::string text;
};

struct RoundTexts {
  std::optional<NamedText> groups;     // As groups.h describes them; absent: labels tell.
  std::vector<GroupSize> group_sizes;  // Over what `groups` says.
  std::optional<NamedText> events;     // As round_events.h describes them; absent: none.
};

struct RoundSettings {
  RoundOptions options;
  RoundTexts texts;
  GroupRules groups;
  DeletionReport report;  // As `texts.events` says, or as the caller has it.
};

// Errors: those of ParseGroups and ParseEvents.
absl::StatusOr<RoundSettings> MakeSettings(const RoundOptions& options, RoundTexts texts);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_SETTINGS_H_
