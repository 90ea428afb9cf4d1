// SessionRounds: rounds of a loop (rounds.h) that a session makes (Round of planner.proto), in a
// daemon or in this process.
//
//   SessionRoundsOptions of{.session = "prod"};
//   SessionRounds rounds(calls, of);
//   Loop loop(rounds, actuator, {});
//
// First the session is told what the actuator tells (ReportActuation): all that is in deletion
// now, in place of what was told before, so that a loop that was started anew corrects what its
// last one left; each result and each eviction once.  It is on disk when the session answers.
//
// Doubt:  a reply that cannot be is an error that names the field, and nothing of it is done: a
//         name that no node has, a node told twice, a deletion of a node that is in deletion, or
//         beside delete_empty and delete_drain, or without the status that says so; a round that
//         is none after the last one.  The session has made the round then, and the next one
//         names its nodes again (started_deletions.h).
// Warns:  what the session warns of is in a round's log when it comes, and not in every round's.
// Again:  a round whose answer is lost is such a round too.
//
// Errors:  those of the calls; FailedPrecondition: the session has no whole cluster, or, where
//          needs_feed, nobody who keeps it up to date.  Internal: above.
// Cost:    two calls; the session's round.
// Threads: one at a time.

#ifndef EBB_LOOP_RUN_SESSION_ROUNDS_H_
#define EBB_LOOP_RUN_SESSION_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/session_calls.h"
#include "engine/scale_down/sizing_state.h"
#include "loop/rounds.h"
#include "snapshot/import/input_warning.h"
#include "wire/planner.pb.h"

namespace ebb {

struct SessionRoundsOptions {
  std::string session = "default";
  std::optional<wire::Settings> settings = {};  // Absent: the session's own.
  // A round ends after so long with the plan so far.
  std::optional<double> time_limit_seconds = {};
  bool needs_feed = true;
  bool allow_incomplete = false;  // PlanInput.allow_incomplete.
  // What a sizer is shown (session_sizing.h).  Null: no pool is sized.
  ClusterSource* cluster = nullptr;
  // What sizing policies remember, to be kept with each round (session_sizing.h).  Null: no pool is
  // sized.
  std::function<SizingState()> sizing = nullptr;
};

class SessionRounds : public Rounds {
 public:
  // Borrows the calls.
  SessionRounds(SessionCalls& calls, SessionRoundsOptions options)
      : calls_(calls), options_(std::move(options)) {}

  absl::StatusOr<Observation*> Observe(int64_t now_s) override;
  absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t now_s,
                                   std::span<const std::string> left_alone = {}) override;

  // Evictions that the actuator told, each counted once.
  [[nodiscard]] uint64_t evictions() const { return evictions_; }

 private:
  using Result = std::tuple<std::string, int64_t, bool>;  // Node, time, ok.
  using Eviction = std::tuple<std::string, std::string, std::string, int64_t>;

  absl::Status Report(const ActuatorStatus& status);
  void PutResults(const ActuatorStatus& status, wire::ActuationReport& report) const;

  SessionCalls& calls_;
  const SessionRoundsOptions options_;
  std::set<Result> told_results_;                // Of those that the actuator tells now.
  std::set<Eviction> told_evictions_;            // The same.
  std::map<std::string, DeletionPhase> phases_;  // Of what is in deletion, and has been of late.
  std::optional<Observation> observed_;
  NewWarnings warnings_;
  uint64_t evictions_ = 0;
  int64_t last_round_ = 0;
};

// What a reply says, if it can be so.  `running`: what is in deletion.
// Errors: Internal, naming the field: "deletions[3].node: \"\" names no node".
absl::StatusOr<RoundOrders> ReadRoundReply(const wire::RoundReply& reply,
                                           const ActuatorStatus& running);

}  // namespace ebb

#endif  // EBB_LOOP_RUN_SESSION_ROUNDS_H_
