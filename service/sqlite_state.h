// SqliteState keeps a planner's state in an SQLite file, and recorded rounds.
//
//   absl::StatusOr<std::unique_ptr<SqliteState>> state = SqliteState::Open("ebb.db", {});
//
// A table per kind of thing that is remembered, so that `sqlite3 ebb.db` answers
// questions: timers, skipped, started, deletions, evictions, cooldowns, hints,
// unremovable, counters, rounds; pools and queue are of sizing policies; reported_*, unready_nodes
// and unregistered_nodes hold what was reported for the next round.  Of decisions `rounds` holds
// what differs from one of key_decisions, compressed: `ebb state show FILE --round N` prints one.
// A round is one transaction, in which what was reported for it goes, and so is a round with the
// pools that were set before it.
//
// Names:   a path is the name of a file and nothing else: ":memory:" and "file:x.db" are
//          files of these names.
// Errors:  one line naming the file.  What is no regular file, is no database, is another
//          program's, is a record in place of a state file or the other way round, fails SQLite's
//          own check, is of a version that is not known, holds tables or triggers that are not of
//          this class, a value that its column cannot hold, rounds that the state does not know of,
//          or a state, counters, pools or reports that are not those that were saved (by their
//          digests), is refused and never written to.
// Cost:    Open runs SQLite's quick check over the whole file.  Load and LoadCounters each
//          read the state and the counters and look over the rounds that are kept.
//          Save writes the rows that differ from what Load read, some microseconds each,
//          reads the counters once more, and syncs the file once.  SaveReport writes what the
//          report says, whatever is held.
// Threads: none.  Of two processes that make a round from the same state the second
//          to save is refused (Aborted) until it loads anew; one that saves meanwhile
//          is waited for.  Where the file holds less than this handle read or wrote last, as after
//          an older copy was put in its place, a save is refused (FailedPrecondition) until Load.

#ifndef EBB_SERVICE_SQLITE_STATE_H_
#define EBB_SERVICE_SQLITE_STATE_H_

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
#include "engine/sizing_state.h"
#include "engine/state_store.h"
#include "service/held_reports.h"

struct sqlite3;

namespace ebb {

// What the caller takes a file for.  A file that holds nothing yet becomes either.
enum class SqliteUse {
  kAny,
  kState,   // Refuses a record: its state is that before its first round, and may not change.
  kRecord,  // Refuses a file without rounds, and one whose oldest round cannot be replayed.
};

struct SqliteStateOptions {
  // How many rounds are kept; older ones are dropped.  0: all.
  int64_t rounds_max = 100;
  // The file must exist and is only read.  What a process that was stopped in the middle of
  // writing it left in a journal is rolled back all the same: it never happened.
  bool read_only = false;
  // The file must exist, and may be written.
  bool must_exist = false;
  // Open checks it, and every transaction that writes does so again.
  SqliteUse use = SqliteUse::kAny;
};

// A cluster as a number, made of the UID of its namespace kube-system: that is as old as
// the cluster, and no other has it.
enum class ClusterId : int64_t {};
ClusterId ClusterOf(std::string_view kube_system_uid);

class SqliteState final : public StateStore {
 public:
  // The tables are made by the first save, if there is no file or it is empty.
  static absl::StatusOr<std::unique_ptr<SqliteState>> Open(const std::string& path,
                                                           const SqliteStateOptions& options);
  ~SqliteState() override;
  SqliteState(const SqliteState&) = delete;
  SqliteState& operator=(const SqliteState&) = delete;

  absl::StatusOr<std::optional<ScaleDownState>> Load() override;
  absl::StatusOr<std::vector<StoredCounter>> LoadCounters() override;
  absl::Status Save(const ScaleDownState& state, const RoundRecord& round,
                    const std::vector<StoredCounter>& counters) override;

  // As Save, and calls `before_commit` once it is certain that nobody else saved since Load
  // and that nobody will before this ends.  If that fails nothing is saved, and its error
  // is returned.  A process that is killed after it, or a disk that fails then, leaves what
  // it did beside the state before.
  absl::Status SaveAfter(const ScaleDownState& state, const RoundRecord& round,
                         const std::vector<StoredCounter>& counters,
                         const std::function<absl::Status()>& before_commit);

  // Adds a round and leaves the state alone, which stays that before the first one.
  absl::Status Append(const RoundRecord& round);
  // Sets the state alone.
  absl::Status SaveState(const ScaleDownState& state);
  // Which cluster the state is of, where that was told.
  [[nodiscard]] std::optional<ClusterId> cluster() const {
    return known_ ? known_->cluster : std::nullopt;
  }
  // The next Save remembers it.
  void SetCluster(ClusterId cluster) { cluster_ = cluster; }
  // What sizing policies remember; empty: nothing yet.  As Load: it is what the next save differs
  // from, and whoever saved meanwhile makes that save Aborted.
  absl::StatusOr<SizingState> LoadSizing();
  // Sets the pools alone.
  absl::Status SaveSizing(SizingState sizing);
  // As the last Load or save left them here; empty before.
  [[nodiscard]] SizingState sizing() const { return known_ ? known_->sizing : SizingState(); }
  // The next Save or SaveState writes these in its own transaction, unless there is a Load before.
  void SetSizing(SizingState sizing) { sizing_ = std::move(sizing); }
  // What was reported for the next round; empty before the first Load or save.
  [[nodiscard]] const HeldReports& reports() const {
    static const HeldReports* const none = new HeldReports();
    return known_ ? known_->reports : *none;
  }
  // Adds a report.  `changes`: of reports().
  absl::Status SaveReport(const HeldReports::Changes& changes);
  // Adds to one counter and leaves all else alone.  A file without rounds stays as it is.
  absl::Status Count(const StoredCounter& more);
  // In order.
  absl::StatusOr<std::vector<RoundRecord>> Rounds();

  // The number of the last round; 0: there is none.
  absl::StatusOr<int64_t> LastRound();

  // What tells a round from another state's of the same number.
  struct RoundMark {
    int64_t now_s = 0;
    std::string input_digest;
    friend bool operator==(const RoundMark&, const RoundMark&) = default;
  };
  // Absent: the file does not hold the round.
  absl::StatusOr<std::optional<RoundMark>> MarkOf(int64_t round);

  // Rows that this handle inserted, replaced or deleted so far.
  [[nodiscard]] int64_t rows_written() const;

 private:
  // What the file holds, as far as it is known here.
  struct Content {
    std::optional<ScaleDownState> state;
    std::vector<StoredCounter> counters;
    int64_t revision = 0;  // Goes up with every change of the state.
    std::optional<ClusterId> cluster;
    SizingState sizing;
    HeldReports reports;
    uint64_t reports_digest = 0;
  };
  // What a transaction writes; null: it does not.
  struct Writing {
    const ScaleDownState* state = nullptr;
    const RoundRecord* round = nullptr;
    const std::vector<StoredCounter>* counters = nullptr;
    const HeldReports::Changes* report = nullptr;
    const SizingState* sizing = nullptr;
    std::function<absl::Status()> before_commit = nullptr;
    // Whether it changes what the next writer has to know.
    [[nodiscard]] bool OfState() const {
      return state != nullptr || report != nullptr || sizing != nullptr;
    }
  };

  SqliteState(std::string path, SqliteStateOptions options)
      : path_(std::move(path)), options_(options) {}

  absl::Status Check();
  // Undoes what a process that was stopped in the middle left of its last transaction.
  absl::Status RollBack();
  absl::Status CheckVersion();
  // Whether the file is what options_.use takes it for.
  absl::Status CheckUse();
  // Makes them what this version knows.  REQUIRES: in a transaction that writes.
  absl::Status PrepareTables();
  absl::Status Damaged(std::string_view what) const;
  absl::Status Execute(const char* sql);
  absl::StatusOr<Content> Read();
  absl::StatusOr<Content> ReadAtOnce();
  // Reads the file where that has not happened yet, else sees that nobody else wrote.
  absl::Status CatchUp();
  // The error where the file holds less than is known of it.  `rounds`: of its state now; below 0:
  // it has none.
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
  // The decision that those of later rounds are stored by, as far as it is known here.
  struct KeyDecision {
    int64_t round = 0;
    std::string packed;
    std::string text;
  };
  std::optional<KeyDecision> key_decision_;
  std::optional<ClusterId> cluster_;
  std::optional<SizingState> sizing_;  // For the next save.
  bool overtaken_ = false;             // Somebody saved after Load.
};

}  // namespace ebb

#endif  // EBB_SERVICE_SQLITE_STATE_H_
