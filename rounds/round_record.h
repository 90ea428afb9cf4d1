// The arguments of a round in a record (sqlite_state.h): everything that the round was given except
// the objects, as data.
//
//   {"optionsVersion":1,"options":{...},"nodeGroups":"","groupSizes":[],"events":"",
//    "warnings":[],"deadlineQuestion":null,"rules":6}
//
// `options` is as round_options.h says; `nodeGroups` is the text of the file and `events` the
// report as text (round_events.h); `warnings` are stored because they depend on input that a record
// does not hold; `deadlineQuestion` is RoundOutcome::deadline_question, null if absent.  `rules` is
// kRecordRules; docs/compatibility.md says when it is raised.
//
// Errors:  one line naming the record, the round and the field.  A round with other rules, or with
//          options of another version, is rejected with an error that names both versions.
// Threads: pure functions.

#ifndef EBB_ROUNDS_ROUND_RECORD_H_
#define EBB_ROUNDS_ROUND_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rounds/round_settings.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// Raised when a round decides or reports differently than before, or when the form above changes.
inline constexpr int64_t kRecordRules = 6;

struct RoundArguments {
  RoundSettings settings;
  std::vector<InputWarning> warnings;
  std::optional<int64_t> deadline_question;
};

// Uses the node groups and their sizes of `texts`.
std::string ArgumentsText(const RoundOptions& options, const RoundTexts& texts,
                          const DeletionReport& report, const std::vector<InputWarning>& warnings,
                          std::optional<int64_t> deadline_question);

// `name` names the record and its round in errors.
absl::StatusOr<RoundArguments> ParseArguments(const std::string& name, const std::string& text);

// The digest of everything that a round was given: the same input has the same digest.
std::string RoundDigest(std::string_view arguments, std::string_view objects);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_RECORD_H_
