// SessionRounds: the rounds of a loop (rounds.h), made by a session in a daemon or in this process
// (Round of planner.proto).
//
//   SessionRoundsOptions of{.session = "prod"};
//   SessionRounds rounds(calls, of);
//   Loop loop(rounds, actuator, {});
//
// Before each round the session receives a report of the actuator's status (ReportActuation).  The
// report lists all deletions in progress and replaces the list of the report before, so a restarted
// loop corrects the list that its predecessor left.  Each result and each eviction is reported
// once.  The session writes the report to disk before it replies.
//
// Doubt:  an impossible reply is an error that names the field, and nothing of the reply is carried
//         out.  These are impossible: a string that is not the name of a node; a node that occurs
//         twice; a deletion of a node that is already in deletion, that disagrees with delete_empty
//         and delete_drain, or that comes with a status that starts no deletion; a round number
//         that does not increase.  The session has made such a round, and its next round names the
//         nodes again (started_deletions.h).
// Warns:  a warning of the session is logged in the first round that has it, not in every round.
// Again:  if the answer of a round is lost, the next round also names its nodes again.
//
// Errors:  those of the calls; FailedPrecondition: the session has no whole cluster or, with
//          needs_feed, no client that feeds it.  Internal: an impossible reply.
// Cost:    two calls, and the session's round.
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
  // A round ends after this time with the plan so far.
  std::optional<double> time_limit_seconds = {};
  bool needs_feed = true;
  bool allow_incomplete = false;  // PlanInput.allow_incomplete.
  // The cluster that a sizer observes (session_sizing.h).  Null: no pool is sized.
  ClusterSource* cluster = nullptr;
  // The state of the sizing policies, stored with each round (session_sizing.h).  Null: no pool is
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

  // The actuator's evictions, each counted once.
  [[nodiscard]] uint64_t evictions() const { return evictions_; }

 private:
  using Result = std::tuple<std::string, int64_t, bool>;  // Node, time, ok.
  using Eviction = std::tuple<std::string, std::string, std::string, int64_t>;

  absl::Status Report(const ActuatorStatus& status);
  void PutResults(const ActuatorStatus& status, wire::ActuationReport& report) const;

  SessionCalls& calls_;
  const SessionRoundsOptions options_;
  std::set<Result> reported_results_;      // Those of the actuator's last status.
  std::set<Eviction> reported_evictions_;  // Those of the actuator's last status.
  // By node: phases of deletions in progress and of deletions that have just ended.
  std::map<std::string, DeletionPhase> phases_;
  std::optional<Observation> observed_;
  NewWarnings warnings_;
  uint64_t evictions_ = 0;
  int64_t last_round_ = 0;
};

// Checks and reads a reply.  `running`: the deletions in progress.
// Errors: Internal, naming the field: "the daemon's round: deletions[3].node: \"\" names no node".
absl::StatusOr<RoundOrders> ReadRoundReply(const wire::RoundReply& reply,
                                           const ActuatorStatus& running);

}  // namespace ebb

#endif  // EBB_LOOP_RUN_SESSION_ROUNDS_H_
