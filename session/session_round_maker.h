// SessionRoundMaker makes the rounds of a session, keeps their state file, and receives a client's
// reports of deletions between rounds.
//
//   SessionRoundMaker rounds(cluster);                           // Borrows the SessionCluster.
//   absl::StatusOr<wire::RoundReply> made = rounds.Round(call, std::nullopt);
//
// The first call that needs the state file opens it.  A round is on disk when Round() returns.
// After an error of the file the next call opens it again: it may have been mended, or removed to
// start again.  One that holds fewer rounds than were made from it here is refused as long as this
// lives.
//
// Errors:  those of planner.proto.  FailedPrecondition: the cluster is being filled, no state file
//          is configured, or the file cannot be read, is of another cluster or holds fewer rounds
//          than before.  Internal: the file cannot be written.
// Cost:    for a round, that of RoundDriver::Make and RoundDriver::Save.
// Threads: one at a time; the cluster must not change meanwhile.

#ifndef EBB_SESSION_SESSION_ROUND_MAKER_H_
#define EBB_SESSION_SESSION_ROUND_MAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/scale_down/sizing_state.h"
#include "platform/clock.h"
#include "rounds/metrics.h"
#include "rounds/round_driver.h"
#include "rounds/round_settings.h"
#include "rounds/round_source.h"
#include "session/session_cluster.h"
#include "wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

class SessionRoundMaker {
 public:
  // `cluster` must outlive this object.
  explicit SessionRoundMaker(SessionCluster& cluster) : cluster_(cluster) {}

  // Sets the fields of a SessionStatus that concern rounds.  The first call may read the state
  // file.
  void PutStatus(wire::SessionStatus& status);

  // `end`: the deadline of the call.
  absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call,
                                         std::optional<Clock::time_point> end);
  absl::StatusOr<wire::ActuationReply> ReportActuation(const wire::ActuationReport& report);
  // The state of sizing policies.
  absl::StatusOr<wire::SizingReply> Sizing();

  // Null before the first round.
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;
  // Since when nodes are unneeded, as of the last round; empty: there was no round.
  struct Timer {
    std::string node;
    int64_t since_s = 0;
  };
  [[nodiscard]] std::vector<Timer> Timers() const;

 private:
  // The input of a round.
  struct Prepared {
    RoundSettings settings;
    RoundSource source;
    int64_t now_s = 0;
  };
  // REQUIRES: the driver is open.
  absl::StatusOr<Prepared> Prepare(const wire::RoundCall& call);
  // Stores in `told` the nodes that the caller excludes.
  absl::StatusOr<RoundSource> SourceOf(const wire::RoundCall& call, RoundSettings& told);
  // The time of the round; a doubtful time adds a warning to the cluster's warnings.
  [[nodiscard]] int64_t Now(const wire::PlanInput& input, LoadedCluster& cluster) const;
  [[nodiscard]] std::string StateFile() const;
  absl::Status OpenDriver();
  absl::Status CheckMayMakeRound(const wire::RoundCall& call) const;
  // Rounds that earlier processes made.
  int64_t RoundsBefore();

  SessionCluster& cluster_;

  struct LastRound {
    int64_t at_s = 0;
    wire::UnremovableNodes unremovable;
  };
  std::optional<LastRound> last_round_;  // The last round that this process made and saved.

  int64_t rounds_kept_ = 0;  // The number of the last round that was made and kept here.
  std::optional<int64_t> rounds_before_;  // Absent: not read yet.
  std::unique_ptr<RoundDriver> driver_;   // Null: no round yet.
};

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_ROUND_MAKER_H_
