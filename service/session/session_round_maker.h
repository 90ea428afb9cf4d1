// SessionRoundMaker makes the rounds of a session, keeps their state file, and takes what a client
// reports of deletions between two rounds.
//
//   SessionRoundMaker rounds(cluster);                           // Borrows the SessionCluster.
//   absl::StatusOr<wire::RoundReply> made = rounds.Round(call, std::nullopt);
//
// The first call that needs the state file opens it.  A round is on disk when Round() returns.
// After an error of the file the next call opens it again: it may have been mended, or removed to
// start again.  One that holds fewer rounds than were made from it here is refused as long as this
// lives.
//
// Errors:  those of planner.proto.  FailedPrecondition: the cluster is being filled, there is no
//          place for a state file, or the file cannot be read, is of another cluster or holds fewer
//          rounds than before.  Internal: it cannot be written.
// Cost:    a round that of RoundDriver::Make and RoundDriver::Save.
// Threads: one at a time, and the cluster does not change meanwhile.

#ifndef EBB_SERVICE_SESSION_SESSION_ROUND_MAKER_H_
#define EBB_SERVICE_SESSION_SESSION_ROUND_MAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sizing_state.h"
#include "service/clock.h"
#include "service/metrics.h"
#include "service/round_driver.h"
#include "service/round_settings.h"
#include "service/round_source.h"
#include "service/session/session_cluster.h"
#include "service/wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

class SessionRoundMaker {
 public:
  // `cluster` outlives it.
  explicit SessionRoundMaker(SessionCluster& cluster) : cluster_(cluster) {}

  // The fields of a SessionStatus on rounds.  The first time, it may read the state file.
  void PutStatus(wire::SessionStatus& status);

  // `end`: of the time that the call has.
  absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call,
                                         std::optional<Clock::time_point> end);
  absl::StatusOr<wire::ActuationReply> ReportActuation(const wire::ActuationReport& report);
  // What sizing policies remember.
  absl::StatusOr<wire::SizingReply> Sizing();

  // Null while there was no round.
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;
  // Since when nodes are unneeded, by the last round; empty: there was no round.
  struct Timer {
    std::string node;
    int64_t since_s = 0;
  };
  [[nodiscard]] std::vector<Timer> Timers() const;

 private:
  // What a round is made of.
  struct Prepared {
    RoundSettings settings;
    RoundSource source;
    int64_t now_s = 0;
  };
  // REQUIRES: the driver is open.
  absl::StatusOr<Prepared> Prepare(const wire::RoundCall& call);
  // `told` learns which nodes the caller wants left alone.
  absl::StatusOr<RoundSource> SourceOf(const wire::RoundCall& call, RoundSettings& told);
  // The time that the round is for; the cluster's warnings say where it is a doubtful one.
  [[nodiscard]] int64_t Now(const wire::PlanInput& input, LoadedCluster& cluster) const;
  [[nodiscard]] std::string StateFile() const;
  absl::Status OpenDriver();
  absl::Status CheckMayMakeRound(const wire::RoundCall& call) const;
  // That an earlier process made.
  int64_t RoundsBefore();

  SessionCluster& cluster_;

  struct LastRound {
    int64_t at_s = 0;
    wire::UnremovableNodes unremovable;
  };
  std::optional<LastRound> last_round_;  // That this process made and kept.

  int64_t rounds_kept_ = 0;  // The number of the last round that was made and kept here.
  std::optional<int64_t> rounds_before_;  // Absent: nobody has looked.
  std::unique_ptr<RoundDriver> driver_;   // Null: no round yet.
};

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_SESSION_ROUND_MAKER_H_
