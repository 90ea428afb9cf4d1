// What a record (sqlite_state.h) says of a round that it holds: all that the round was given
// beside the objects, as data.
//
//   {"optionsVersion":1,"options":{...},"nodeGroups":"","groupSizes":[],"events":"",
//    "warnings":[],"deadlineQuestion":null,"rules":4}
//
// `options` is as round_options.h says; `nodeGroups` and `events` are the texts of the files;
// `warnings` rest on what a record does not hold; `deadlineQuestion` is as
// MadeRound::deadline_question, null where it is absent.  `rules` tells which ebb decided:
//   1  believed every time that it was given;
//   2  waited where the clock jumped;
//   3  called a round that judged nothing notStarted and a round that the budgets held back
//      ScaleDownThrottled;
//   4  decided as 3 did, and is the first to keep options as data.  Before it there were
//      the flags of the command line (old_round_flags.h), which are still read.
//
// Errors:  one line naming the record, the round and the field.
// Threads: pure functions.

#ifndef EBB_SERVICE_ROUND_RECORD_H_
#define EBB_SERVICE_ROUND_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/round_settings.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

inline constexpr int64_t kRulesWithJumps = 2;
inline constexpr int64_t kRulesWithNotStarted = 3;
inline constexpr int64_t kRulesWithOptions = 4;
inline constexpr int64_t kRulesWithComplete = 5;
inline constexpr int64_t kRulesWithDurations = 6;  // Of one form in texts (base/duration.h).
// Those of today.  They go up when a round decides or tells otherwise than before, or when
// the form above changes; what reads old records then learns what was otherwise.
inline constexpr int64_t kRecordRules = kRulesWithDurations;

struct RoundArguments {
  RoundSettings settings;
  std::vector<InputWarning> warnings;
  std::optional<int64_t> deadline_question;
  int64_t rules = kRecordRules;
};

std::string ArgumentsText(const RoundOptions& options, const RoundTexts& texts,
                          const std::vector<InputWarning>& warnings,
                          std::optional<int64_t> deadline_question);

// `name` stands for the record and its round in errors.
absl::StatusOr<RoundArguments> ParseArguments(const std::string& name, const std::string& text);

// Of all that a round was given: the same input has the same digest.
std::string RoundDigest(std::string_view arguments, std::string_view objects);

}  // namespace ebb

#endif  // EBB_SERVICE_ROUND_RECORD_H_
