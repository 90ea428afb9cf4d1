// RoundDriver makes rounds of the planner over time and keeps what must outlive the process:
// state, metrics and, if one is wanted, a record.  It is for the command, a loop and a daemon
// alike: it prints nothing, and where the cluster comes from is the caller's business.
//
//   auto driver = RoundDriver::Open({.state = "ebb.db", .record = "rounds.db"});
//   const std::vector<std::string> inputs = {"dump.json"};           // Or a cluster at hand.
//   settings.report = (*driver)->reports().With(settings.report);
//   absl::StatusOr<RoundSource> source = ReadSource(inputs, settings, (*driver)->before());
//   absl::Status status = (*driver)->CheckCluster(*source);
//   auto round = (*driver)->Make(settings, now_s, *source);          // Decides; keeps nothing.
//   status = (*driver)->Save(**round, *source);                      // Now it counts.
//   // Only now act on (*round)->result.start, or tell somebody.
//
// Make and Save alternate.  A round that is made and not saved never happened: nobody may
// act on it.  After a Save that failed, Reload() comes before the next round.
//
// A driver lives for one round or for many.  From one round to the next it keeps the planner
// in memory if the snapshots share one Symbols, and reads it anew from the state otherwise;
// both decide the same.
//
// Errors:  of files: one line naming the file (sqlite_state.h); the state stays as it was.  A
// record
//          is no state file, and a state file is no record: neither is written to.
//          Aborted: another process made a round from the same state meanwhile.
// Threads: one at a time.

#ifndef EBB_SERVICE_ROUND_DRIVER_H_
#define EBB_SERVICE_ROUND_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "engine/round.h"
#include "engine/sizing_state.h"
#include "service/made_round.h"
#include "service/metrics.h"
#include "service/round_settings.h"
#include "service/round_source.h"
#include "service/sqlite_state.h"

namespace ebb {

struct RoundFiles {
  std::string state;          // As SqliteState.
  int64_t rounds_kept = 100;  // In the state file; 0: all.
  std::string record = "";    // Empty: none is kept.
};

class RoundDriver {
 public:
  static absl::StatusOr<std::unique_ptr<RoundDriver>> Open(const RoundFiles& files);

  // What the last round remembered; absent: there was none.
  [[nodiscard]] const std::optional<ScaleDownState>& before() const { return before_; }

  // What was reported for the next round.
  [[nodiscard]] const HeldReports& reports() const { return state_->reports(); }
  // Adds to it; on disk when it returns.  A round that was made and not saved is none then.
  // Errors: those of HeldReports::ChangesOf.  Aborted: another process has written the state since;
  // what it wrote counts from now on, so the same report may be sent again.  Internal: it cannot be
  // written.  Nothing of the report is kept.
  absl::Status Report(const ReportUpdate& update);

  // Whether the state may be of the cluster at hand.  Where `source.cluster_uid` tells, it is
  // certain; else the nodes are looked at that the state remembers and that no deletion was
  // asked for, and a doubt becomes a warning of the cluster.
  // Errors: it is another cluster's.
  absl::Status CheckCluster(RoundSource& source);

  // `deadline`: of the pass; null: there is time for all.  A plan that did not pass its
  // verification (ScaleDownStatus::kError) is counted in the state, and is not to be saved.
  // Errors: the record does not end where this round begins; those of ScaleDown::Round.
  // REQUIRES: the cluster outlives the round.
  absl::StatusOr<std::unique_ptr<MadeRound>> Make(const RoundSettings& settings, int64_t now_s,
                                                  RoundSource& source,
                                                  const Deadline* deadline = nullptr);

  // Keeps the round that Make() returned last, which was told of all that reports() has.  Takes
  // source.objects.  With `sizing` the state file holds that of sized pools from then on, in the
  // same transaction.
  absl::Status Save(const MadeRound& round, RoundSource& source,
                    std::optional<SizingState> sizing = std::nullopt);

  // What the state file held of sized pools when it was last read or saved here.
  [[nodiscard]] SizingState sizing() const { return state_->sizing(); }

  // Goes back to what the state file holds.
  absl::Status Reload();

  // In Prometheus' text form, with the last round that was saved.
  [[nodiscard]] std::string MetricsText() const { return metrics_->Text(); }
  [[nodiscard]] MetricsSnapshot CollectMetrics() const { return metrics_->Collect(); }

 private:
  explicit RoundDriver(RoundFiles files) : files_(std::move(files)) {}

  // Makes scale_down_ ready for a round with these options over a snapshot with these Symbols.
  void Prepare(const ScaleDownOptions& options, const std::shared_ptr<Symbols>& symbols);
  // Whether round `number` may be added to the record: a replay goes from round to round, so
  // that there may be no gap.  True: the record begins with it.
  absl::StatusOr<bool> MayBegin(int64_t number);
  // Two states have rounds of the same numbers: the round before must be the same in both
  // files, where both have it.  REQUIRES: the record was loaded.
  absl::Status CheckRecordIsOfThisState(int64_t number);
  // Adds the round to the record.  One that begins with it gets the state before it too.
  absl::Status AddToRecord(const RoundRecord& round);

  RoundFiles files_;
  std::unique_ptr<SqliteState> state_;
  std::unique_ptr<SqliteState> record_;  // May be null.
  std::unique_ptr<Metrics> metrics_;
  std::optional<ScaleDownState> before_;
  std::optional<ClusterId> cluster_;  // Of the last source that told it.

  std::unique_ptr<ScaleDown> scale_down_;  // Null: it is to be made of before_.
  std::shared_ptr<Symbols> symbols_;       // The same.

  bool unsaved_ = false;            // A round was made and not saved.
  ScaleDownState recorded_before_;  // The state before it, where a record is kept.
  bool must_reload_ = false;        // A Save failed.
};

}  // namespace ebb

#endif  // EBB_SERVICE_ROUND_DRIVER_H_
