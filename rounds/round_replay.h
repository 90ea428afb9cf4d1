// ReplayRecord makes the rounds of a record (`ebb plan --record`) once more and tells where
// one decides otherwise than it did.
//
// A pass that a deadline cut is cut at the same question.
//
// Errors:  one line naming the record, mostly the round: what is no record, is damaged, lacks
//          a round, was made by another version (round_record.h) or says something that this ebb
//          does not know.
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
  // "unneeded[0].since: recorded "...", now "...""; empty: it is the same bytes.
  std::string departure;
};

// Calls `on_round` after each round, in order.
absl::Status ReplayRecord(const std::string& path,
                          absl::FunctionRef<void(const ReplayedRound&)> on_round);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_REPLAY_H_
