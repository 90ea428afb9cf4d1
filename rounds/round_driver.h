// RoundDriver makes rounds of the planner over time and persists what must outlive the process:
// state, metrics and, optionally, a record.  The command, a loop and a daemon use it alike: it
// prints nothing, and the caller decides where the cluster comes from.
//
//   auto driver = RoundDriver::Open({.state = "ebb.db", .record = "rounds.db"});
//   const std::vector<std::string> inputs = {"dump.json"};           // Or a cluster in memory.
//   settings.report = (*driver)->reports().With(settings.report);
//   absl::StatusOr<RoundSource> source = ReadSource(inputs, settings, (*driver)->before());
//   absl::Status status = (*driver)->CheckCluster(*source);
//   auto round = (*driver)->Make(settings, now_s, *source);          // Decides; keeps nothing.
//   status = (*driver)->Save(**round, *source);                      // Now it counts.
//   // Only now act on (*round)->result.start, or report it.
//
// Make and Save alternate.  A round that is made and not saved never happened, and must not be
// acted upon.  After a Save that failed, call Reload() before the next round.
//
// A driver lives for one round or for many.  Between rounds it keeps the planner in memory if the
// snapshots share one Symbols object; otherwise it restores the planner from the state.  The
// decisions are the same either way.
//
// Errors:  of files: one line naming the file (sqlite_state.h); the state is unchanged.  A record
//          is not a state file, and a state file is not a record: neither is written to.  Aborted:
//          another process made a round from the same state in the meantime.
// Threads: one at a time.

#ifndef EBB_ROUNDS_ROUND_DRIVER_H_
#define EBB_ROUNDS_ROUND_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "engine/scale_down/round.h"
#include "engine/scale_down/sizing_state.h"
#include "rounds/metrics.h"
#include "rounds/round_outcome.h"
#include "rounds/round_settings.h"
#include "rounds/round_source.h"
#include "rounds/sqlite_state.h"

namespace ebb {

struct RoundFiles {
  std::string state;          // A path, as SqliteState takes it.
  int64_t rounds_kept = 100;  // In the state file; 0: all.
  std::string record = "";    // Empty: no record is written.
};

class RoundDriver {
 public:
  static absl::StatusOr<std::unique_ptr<RoundDriver>> Open(const RoundFiles& files);

  // The state after the last round; absent: there was no round.
  [[nodiscard]] const std::optional<ScaleDownState>& before() const { return before_; }

  // The reports for the next round.
  [[nodiscard]] const HeldReports& reports() const { return state_->reports(); }
  // Adds a report for the next round; it is on disk when the call returns.  If a round was made and
  // not saved, it is discarded.
  // Errors: those of HeldReports::ChangesOf.  Aborted: another process has written the state; the
  // driver has loaded that state, so the caller may send the same report again.  Internal: the
  // state file cannot be written.  After an error nothing of the report is kept.
  absl::Status Report(const ReportUpdate& update);

  // Checks whether the state may belong to this cluster.  If `source.cluster_uid` is known and the
  // state has a cluster, the answer is certain.  Otherwise compares the cluster's nodes with the
  // nodes that the state remembers and whose deletion was not requested; a doubt becomes a warning
  // of the cluster.
  // Errors: the state is another cluster's.
  absl::Status CheckCluster(RoundSource& source);

  // `deadline`: for the pass; null: no time limit.  A plan that did not pass its verification
  // (ScaleDownStatus::kError) is counted in the state, and must not be saved.
  // Errors: the record does not end where this round begins; those of ScaleDown::Round.
  // REQUIRES: the cluster outlives the round.
  absl::StatusOr<std::unique_ptr<RoundOutcome>> Make(const RoundSettings& settings, int64_t now_s,
                                                     RoundSource& source,
                                                     const Deadline* deadline = nullptr);

  // Persists the round that Make() returned last, which used all of reports().  Moves
  // source.objects.  With `sizing`, the same transaction replaces the state of sized pools.
  absl::Status Save(const RoundOutcome& round, RoundSource& source,
                    std::optional<SizingState> sizing = std::nullopt);

  // The state of sized pools as of the last read or save by this driver.
  [[nodiscard]] SizingState sizing() const { return state_->sizing(); }

  // Goes back to what the state file holds.
  absl::Status Reload();

  // The metrics in Prometheus' text form, up to the last saved round.
  [[nodiscard]] std::string MetricsText() const { return metrics_->Text(); }
  [[nodiscard]] MetricsSnapshot CollectMetrics() const { return metrics_->Collect(); }

 private:
  explicit RoundDriver(RoundFiles files) : files_(std::move(files)) {}

  // Makes scale_down_ ready for a round with these options over a snapshot with these Symbols.
  void Prepare(const ScaleDownOptions& options, const std::shared_ptr<Symbols>& symbols);
  // Whether round `number` may be added to the record.  A replay goes from round to round, so the
  // record must have no gap.  True: the record begins with this round.
  absl::StatusOr<bool> MayBegin(int64_t number);
  // Checks that the record belongs to this state, since two states may have rounds of the same
  // numbers: if both files have the round before `number`, it must be the same round.
  // REQUIRES: the record was loaded.
  absl::Status CheckRecordIsOfThisState(int64_t number);
  // Adds the round to the record.  The first round of a record is stored with the state before it.
  absl::Status AddToRecord(const RoundRecord& round);

  RoundFiles files_;
  std::unique_ptr<SqliteState> state_;
  std::unique_ptr<SqliteState> record_;  // May be null.
  std::unique_ptr<Metrics> metrics_;
  std::optional<ScaleDownState> before_;
  std::optional<ClusterId> cluster_;  // The cluster of the last source that had a cluster_uid.

  std::unique_ptr<ScaleDown> scale_down_;  // Null: must be restored from before_.
  std::shared_ptr<Symbols> symbols_;       // The symbols of scale_down_.

  bool unsaved_ = false;            // A round was made and not saved.
  ScaleDownState recorded_before_;  // The state before that round, if a record is written.
  bool must_reload_ = false;        // A Save failed.
};

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_DRIVER_H_
