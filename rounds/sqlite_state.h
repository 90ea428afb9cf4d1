// SqliteState keeps a planner's state, and recorded rounds, in an SQLite file.
//
//   absl::StatusOr<std::unique_ptr<SqliteState>> state = SqliteState::Open("ebb.db", {});
//
// Each kind of state has its own table, so that `sqlite3 ebb.db` answers questions: timers,
// skipped, started, deletions, evictions, cooldowns, hints, unremovable, counters, rounds.  The
// tables pools and queue belong to sizing policies; reported_*, unready_nodes and
// unregistered_nodes hold the reports for the next round.  `rounds` stores each decision as its
// compressed difference from an entry of key_decisions; `ebb state show FILE --round N` prints one.
// A round is saved in one transaction, which also deletes the reports that the round used, and
// writes the pools that SetSizing() set before.
//
// A file is used in one of two ways.  A state file holds the current state, and Save replaces it
// with each round.  A record holds the state before its first round, and Append adds rounds to it.
//
// Names:   a path is always the name of a file: ":memory:" and "file:x.db" are files of these
//          names.
// Errors:  one line naming the file.  A file is rejected, and never written to, if it is not a
//          regular file, is not a database, belongs to another program, is a record in place of a
//          state file or the other way round, fails SQLite's own check, has an unknown version, has
//          tables or triggers that are not of this class, holds a value that its column must not
//          hold or rounds that the state does not know, or if the digests of state, counters, pools
//          or reports do not match.
// Cost:    Open runs SQLite's quick check over the whole file.  Load and LoadCounters each read the
//          state and the counters and check the rounds that are kept.  Save writes the rows that
//          differ from what Load read, a few microseconds each, reads the counters once more, and
//          syncs the file once.  SaveReport writes only the rows of the report, however much is
//          held.
// Threads: not thread-safe.  If two processes make a round from the same state, the second one to
//          save fails (Aborted) until it loads again.  While another process is saving, a call
//          waits for it.  If the file holds less than this object last read or wrote, for example
//          because an older copy replaced it, a save fails (FailedPrecondition) until Load.

#ifndef EBB_ROUNDS_SQLITE_STATE_H_
#define EBB_ROUNDS_SQLITE_STATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/scale_down/sizing_state.h"
#include "engine/scale_down/state_store.h"
#include "rounds/held_reports.h"
#include "rounds/text_delta.h"

struct sqlite3;

namespace ebb {

// What the caller expects the file to be.  An empty file may become either.
enum class SqliteUse {
  kAny,
  kState,   // Refuses a record: its state is that before its first round, and may not change.
  kRecord,  // Refuses a file without rounds, and one whose oldest round cannot be replayed.
};

struct SqliteStateOptions {
  // How many rounds are kept; older ones are dropped.  0: all.
  int64_t rounds_max = 100;
  // The file must exist and is only read.  An exception is the journal of a process that was
  // stopped while it wrote: it is rolled back, so that the unfinished write never happened.
  bool read_only = false;
  // The file must exist, and may be written.
  bool must_exist = false;
  // Open checks it, and every transaction that writes does so again.
  SqliteUse use = SqliteUse::kAny;
};

// A cluster as a number, derived from the UID of its namespace kube-system: this namespace is as
// old as the cluster, and no other cluster has its UID.
enum class ClusterId : int64_t {};
ClusterId ClusterOf(std::string_view kube_system_uid);

class SqliteState final : public StateStore {
 public:
  // If there is no file or it is empty, the first save makes the tables.
  static absl::StatusOr<std::unique_ptr<SqliteState>> Open(const std::string& path,
                                                           const SqliteStateOptions& options);
  ~SqliteState() override;
  SqliteState(const SqliteState&) = delete;
  SqliteState& operator=(const SqliteState&) = delete;

  absl::StatusOr<std::optional<ScaleDownState>> Load() override;
  absl::StatusOr<std::vector<StoredCounter>> LoadCounters() override;
  absl::Status Save(const ScaleDownState& state, const RoundRecord& round,
                    const std::vector<StoredCounter>& counters) override;

  // As Save, but calls `before_commit` when it is certain that no other process saved since Load
  // and that none can save before this call ends.  If `before_commit` fails, nothing is saved and
  // its error is returned.  If the process is killed or the disk fails after `before_commit`, its
  // effects remain while the state is still the old one.
  absl::Status SaveAfter(const ScaleDownState& state, const RoundRecord& round,
                         const std::vector<StoredCounter>& counters,
                         const std::function<absl::Status()>& before_commit);

  // Adds a round and leaves the state unchanged, as the state before the first round.
  absl::Status Append(const RoundRecord& round);
  // Writes only the state.
  absl::Status SaveState(const ScaleDownState& state);
  // Whether the content was read.  For assertions.
  [[nodiscard]] bool is_loaded() const { return known_.has_value(); }
  // The cluster of the state, if it was ever set.
  [[nodiscard]] std::optional<ClusterId> cluster() const {
    return known_ ? known_->cluster : std::nullopt;
  }
  // The next Save stores `cluster`.
  void SetCluster(ClusterId cluster) { cluster_ = cluster; }
  // The state of sizing policies; empty: none yet.  As with Load, the next save is compared with
  // it, and another process that saves in between makes that save fail with Aborted.
  absl::StatusOr<SizingState> LoadSizing();
  // Writes only the pools.
  absl::Status SaveSizing(SizingState sizing);
  // As of the last Load or save by this object; empty before.
  [[nodiscard]] SizingState sizing() const { return known_ ? known_->sizing : SizingState(); }
  // The next Save or SaveState writes `sizing` in its own transaction, unless a Load comes first.
  void SetSizing(SizingState sizing) { sizing_ = std::move(sizing); }
  // The reports for the next round; empty before the first Load or save.
  [[nodiscard]] const HeldReports& reports() const {
    static const HeldReports* const none = new HeldReports();
    return known_ ? known_->reports : *none;
  }
  // Adds a report.  `changes`: computed by reports().ChangesOf.
  absl::Status SaveReport(const HeldReports::Changes& changes);
  // Adds to one counter and changes nothing else.  A file without rounds stays as it is.
  absl::Status Count(const StoredCounter& more);
  // All rounds that the file holds, oldest first.
  absl::StatusOr<std::vector<RoundRecord>> Rounds();

  // The number of the last round; 0: there are no rounds.
  absl::StatusOr<int64_t> LastRound();

  // Distinguishes a round from the round of the same number of another state.
  struct RoundMark {
    int64_t now_s = 0;
    std::string input_digest;
    friend bool operator==(const RoundMark&, const RoundMark&) = default;
  };
  // Absent: the file does not hold the round.
  absl::StatusOr<std::optional<RoundMark>> MarkOf(int64_t round);

  // The number of rows that this object has inserted, replaced or deleted so far.
  [[nodiscard]] int64_t rows_written() const;

 private:
  // What the file holds, as far as this object has read it.
  struct Content {
    std::optional<ScaleDownState> state;
    std::vector<StoredCounter> counters;
    int64_t revision = 0;  // Increases with every change of the state.
    std::optional<ClusterId> cluster;
    SizingState sizing;
    HeldReports reports;
    uint64_t reports_digest = 0;
  };
  // What a transaction writes; null: not that part.
  struct Writing {
    const ScaleDownState* state = nullptr;
    const RoundRecord* round = nullptr;
    const std::vector<StoredCounter>* counters = nullptr;
    const HeldReports::Changes* report = nullptr;
    const SizingState* sizing = nullptr;
    std::function<absl::Status()> before_commit = nullptr;
    // Whether the transaction changes what the next writer must have read.
    [[nodiscard]] bool OfState() const {
      return state != nullptr || report != nullptr || sizing != nullptr;
    }
  };

  SqliteState(std::string path, SqliteStateOptions options)
      : path_(std::move(path)), options_(options) {}

  absl::Status Check();
  // Rolls back the last transaction of a process that was stopped while it wrote.
  absl::Status RollBack();
  absl::Status CheckVersion();
  // Checks that the file is what options_.use says: a state file or a record.
  absl::Status CheckUse();
  // Creates or upgrades the tables for this version.  REQUIRES: in a transaction that writes.
  absl::Status PrepareTables();
  absl::Status Damaged(std::string_view what) const;
  absl::Status Execute(const char* sql);
  absl::StatusOr<Content> Read();
  absl::StatusOr<Content> ReadAtOnce();
  // Reads the file if that has not happened yet, else checks that no other process wrote to it.
  absl::Status CatchUp();
  // The error of a file that holds less than this object has read or written before.  `rounds`: the
  // number of rounds of the file's state; below 0: it has no state.
  [[nodiscard]] absl::Status WentBack(int64_t rounds) const;
  absl::Status WriteState(const ScaleDownState& before, const ScaleDownState& after);
  absl::Status WriteCounters(const std::vector<StoredCounter>& before,
                             const std::vector<StoredCounter>& after);
  absl::Status WriteCountersDigest();
  absl::Status LoadKeyDecision();
  absl::Status WriteRound(const RoundRecord& round);
  absl::Status WriteSizing(const SizingState& after);
  absl::Status WriteReport(const HeldReports::Changes& changes);
  absl::Status ForgetRoundsReports();
  absl::Status WriteReportsDigest();
  absl::Status WriteRevision();
  // REQUIRES: in a transaction.
  absl::Status Write(const Writing& what);
  absl::Status InTransaction(Writing what);
  absl::Status Error(const char* doing) const;

  std::string path_;
  SqliteStateOptions options_;
  sqlite3* db_ = nullptr;
  int64_t version_ = 0;  // Of the file's tables; 0: it has none yet.
  std::optional<Content> known_;
  // The decision relative to which later decisions are stored, as far as this object has read it.
  struct KeyDecision {
    int64_t round = 0;
    std::string packed;
    DeltaBase base;
  };
  std::optional<KeyDecision> key_decision_;
  std::optional<ClusterId> cluster_;
  std::optional<SizingState> sizing_;  // For the next save.
  bool overtaken_ = false;             // Another process saved after Load.
};

}  // namespace ebb

#endif  // EBB_ROUNDS_SQLITE_STATE_H_
