// ReplayRecord repeats the rounds of a record (`ebb plan --record`) and reports where one decides
// differently now.
//
// A pass that was cut by a deadline is cut at the same point, counted in queries of the deadline.
//
// Errors:  one line naming the record and usually the round: the file is not a record, is damaged,
//          lacks a round, was made by another version (round_record.h) or contains something that
//          this version does not know.
// Cost:    that of the rounds; the whole record is held in memory.
// Threads: none.

#ifndef EBB_ROUNDS_ROUND_REPLAY_H_
#define EBB_ROUNDS_ROUND_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace ebb {

struct ReplayedRound {
  int64_t round = 0;
  int64_t now_s = 0;
  // "unneeded[0].since: recorded "...", now "...""; empty: the decision is the same, byte for byte.
  std::string departure;
  // Of the decision that was made now.
  std::string status = {};  // "ScaleDownNoCandidates", ...
  size_t nodes = 0;
  size_t unneeded = 0;
  size_t started = 0;      // Deletions that the round starts.
  size_t in_deletion = 0;  // Deletions in progress.
};

// Calls `on_round` after each round, in order.
absl::Status ReplayRecord(const std::string& path,
                          absl::FunctionRef<void(const ReplayedRound&)> on_round);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_REPLAY_H_
