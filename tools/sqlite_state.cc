#include "tools/sqlite_state.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

constexpr int64_t kApplicationId = 0x65626273;  // "ebbs"
constexpr int64_t kVersion = 3;

// What takes a file of an earlier version one version further.
struct Upgrade {
  int64_t from;
  const char* sql;
};
constexpr Upgrade kUpgrades[] = {
    {2, R"sql(
ALTER TABLE unremovable ADD COLUMN reason TEXT;
ALTER TABLE unremovable ADD COLUMN blocking_reason TEXT;
ALTER TABLE unremovable ADD COLUMN pod_namespace TEXT;
ALTER TABLE unremovable ADD COLUMN pod_name TEXT;
ALTER TABLE unremovable ADD COLUMN pdb TEXT;
)sql"},
};

constexpr const char* kSchema = R"sql(
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE timers(node TEXT PRIMARY KEY, uid TEXT, since_s INTEGER, judged INTEGER) WITHOUT ROWID;
CREATE TABLE skipped(place INTEGER PRIMARY KEY, node TEXT, since_s INTEGER);
CREATE TABLE deletions(node TEXT, drained INTEGER, node_group TEXT,
                       PRIMARY KEY(node, drained)) WITHOUT ROWID;
CREATE TABLE evictions(namespace TEXT, name TEXT, uid TEXT, evicted_at_s INTEGER, object TEXT,
                       PRIMARY KEY(namespace, name, uid)) WITHOUT ROWID;
CREATE TABLE cooldowns(node_group TEXT PRIMARY KEY, scale_up_s INTEGER, deletion_s INTEGER,
                       failed_deletion_s INTEGER) WITHOUT ROWID;
CREATE TABLE hints(pod TEXT, pending INTEGER, node TEXT, PRIMARY KEY(pod, pending)) WITHOUT ROWID;
CREATE TABLE unremovable(node TEXT PRIMARY KEY, until_s INTEGER, reason TEXT, blocking_reason TEXT,
                         pod_namespace TEXT, pod_name TEXT, pdb TEXT) WITHOUT ROWID;
CREATE TABLE counters(name TEXT, label TEXT, bucket INTEGER, value REAL,
                      PRIMARY KEY(name, label, bucket)) WITHOUT ROWID;
CREATE TABLE rounds(round INTEGER PRIMARY KEY, now_s INTEGER, input_digest TEXT, status TEXT,
                    decision TEXT, arguments TEXT, input BLOB);
)sql";

// A prepared statement.  After an error every call does nothing, so that a sequence
// of rows needs one look at ok().
class Statement {
 public:
  Statement(sqlite3* db, const char* sql)
      : ok_(sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }

  // Binds all parameters and runs to the end.
  template <typename... Values>
  void Run(const Values&... values) {
    if (!ok_) return;
    int index = 0;
    (Bind(++index, values), ...);
    ok_ = ok_ && sqlite3_step(statement_) == SQLITE_DONE;
    sqlite3_reset(statement_);
  }

  // The next row of an answer.
  bool Next() {
    if (!ok_) return false;
    const int result = sqlite3_step(statement_);
    ok_ = result == SQLITE_ROW || result == SQLITE_DONE;
    return result == SQLITE_ROW;
  }
  [[nodiscard]] int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::optional<int64_t> MaybeInt(int column) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    return Int(column);
  }
  [[nodiscard]] double Real(int column) const { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::string Text(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
  }

 private:
  void Check(int result) { ok_ = ok_ && result == SQLITE_OK; }
  void Bind(int index, int64_t value) { Check(sqlite3_bind_int64(statement_, index, value)); }
  void Bind(int index, const std::optional<int64_t>& value) {
    Check(value ? sqlite3_bind_int64(statement_, index, *value)
                : sqlite3_bind_null(statement_, index));
  }
  void Bind(int index, double value) { Check(sqlite3_bind_double(statement_, index, value)); }
  void Bind(int index, const std::string& value) {
    Check(sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
  }
  struct Blob {
    const std::string& bytes;
  };
  void Bind(int index, const Blob& value) {
    Check(sqlite3_bind_blob64(statement_, index, value.bytes.data(), value.bytes.size(),
                              SQLITE_STATIC));
  }

 public:
  static Blob AsBlob(const std::string& bytes) { return {bytes}; }

 private:
  sqlite3_stmt* statement_ = nullptr;
  bool ok_;
};

std::optional<int64_t> Number(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  if (!statement.Next()) return std::nullopt;
  return statement.Int(0);
}

// Visits what differs between two lists sorted by the same key, as the rows to erase
// and the rows to put (new, or changed under their key).
template <typename Row, typename Key, typename Erase, typename Put>
void Diff(const std::vector<Row>& before, const std::vector<Row>& after, Key key, Erase erase,
          Put put) {
  size_t b = 0;
  for (const Row& row : after) {
    while (b < before.size() && key(before[b]) < key(row)) erase(before[b++]);
    const bool known = b < before.size() && key(before[b]) == key(row);
    if (!known || !(before[b] == row)) put(row);
    if (known) ++b;
  }
  for (; b < before.size(); ++b) erase(before[b]);
}

bool HasContent(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

absl::Status SqliteState::Error(const char* doing) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": ", doing, ": ", db_ != nullptr ? sqlite3_errmsg(db_) : "no memory"));
}

absl::StatusOr<std::unique_ptr<SqliteState>> SqliteState::Open(const std::string& path,
                                                               const SqliteStateOptions& options) {
  std::unique_ptr<SqliteState> state(new SqliteState(path, options));
  const bool exists = HasContent(path);
  if (options.read_only && !exists) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no such record"));
  }
  const int flags =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &state->db_, flags, nullptr) != SQLITE_OK) {
    return state->Error("cannot be opened");
  }
  sqlite3_busy_timeout(state->db_, 5000);
  absl::Status status = exists ? state->Check() : state->CreateTables();
  if (status.ok() && state->version_ < kVersion && !options.read_only) {
    status = state->UpgradeTables();
  }
  if (!status.ok()) return status;
  return state;
}

SqliteState::~SqliteState() { sqlite3_close(db_); }

// Reads only: what is refused stays as it is.
absl::Status SqliteState::Check() {
  const std::optional<int64_t> application = Number(db_, "PRAGMA application_id");
  if (!application) return Error("cannot be read");
  if (*application != kApplicationId) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is not a state file of ebb"));
  }
  version_ = Number(db_, "PRAGMA user_version").value_or(0);
  if (version_ > kVersion || version_ < kUpgrades[0].from) {
    const bool later = version_ > kVersion;
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": was written by ", later ? "a later" : "an earlier", " ebb (version ", version_,
        ", this one knows ", kVersion, ")", later ? "" : "; remove it to start anew"));
  }
  Statement check(db_, "PRAGMA quick_check(1)");
  if (!check.Next()) return Error("is damaged");
  if (check.Text(0) != "ok") {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is damaged: ", check.Text(0)));
  }
  return absl::OkStatus();
}

absl::Status SqliteState::UpgradeTables() {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  // Another process may have been faster.
  version_ = Number(db_, "PRAGMA user_version").value_or(version_);
  for (const Upgrade& upgrade : kUpgrades) {
    if (status.ok() && upgrade.from >= version_) status = Execute(upgrade.sql);
  }
  if (status.ok()) status = Execute(absl::StrCat("PRAGMA user_version = ", kVersion).c_str());
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
  version_ = kVersion;
  return status;
}

absl::Status SqliteState::CreateTables() {
  version_ = kVersion;
  const std::string sql =
      absl::StrCat("BEGIN IMMEDIATE;", kSchema, "PRAGMA application_id = ", kApplicationId,
                   ";PRAGMA user_version = ", kVersion, ";COMMIT;");
  return Execute(sql.c_str());
}

absl::Status SqliteState::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Error("cannot be written");
}

absl::StatusOr<std::optional<ScaleDownState>> SqliteState::Load() {
  absl::StatusOr<Content> content = ReadAtOnce();
  if (!content.ok()) return content.status();
  known_ = *std::move(content);
  return known_->state;
}

absl::StatusOr<std::vector<StoredCounter>> SqliteState::LoadCounters() {
  absl::StatusOr<Content> content = ReadAtOnce();
  if (!content.ok()) return content.status();
  return std::move(content->counters);
}

// All tables as of one moment, whoever writes meanwhile.
absl::StatusOr<SqliteState::Content> SqliteState::ReadAtOnce() {
  if (absl::Status s = Execute("BEGIN"); !s.ok()) return s;
  absl::StatusOr<Content> content = Read();
  sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return content;
}

absl::StatusOr<SqliteState::Content> SqliteState::Read() {
  ScaleDownState state;
  bool found = false;
  Statement scalars(db_, "SELECT key, value FROM state");
  while (scalars.Next()) {
    found = true;
    const std::string key = scalars.Text(0);
    if (key == "rounds") state.rounds = scalars.Int(1);
    if (key == "latest_s") state.latest_s = scalars.Int(1);
    if (key == "limit_latest_update_s") state.limit.latest_update_s = scalars.MaybeInt(1);
    if (key == "limit_min_interval_s") state.limit.min_interval_s = scalars.MaybeInt(1);
    if (key == "resume") state.resume = scalars.Int(1) != 0;
    if (key == "scan_pointer") state.planner.scan_pointer = static_cast<uint64_t>(scalars.Int(1));
  }
  Statement timers(db_, "SELECT node, uid, since_s, judged FROM timers ORDER BY node");
  while (timers.Next()) {
    state.timers.push_back({timers.Text(0), timers.Text(1), timers.Int(2), timers.Int(3) != 0});
  }
  Statement skipped(db_, "SELECT node, since_s FROM skipped ORDER BY place");
  while (skipped.Next()) state.skipped.push_back({skipped.Text(0), skipped.Int(1)});
  Statement deletions(db_, "SELECT node, node_group, drained FROM deletions ORDER BY node");
  while (deletions.Next()) {
    auto& list = deletions.Int(2) != 0 ? state.actuation.drained : state.actuation.empty;
    list.push_back({deletions.Text(0), deletions.Text(1)});
  }
  Statement evictions(db_,
                      "SELECT namespace, name, uid, evicted_at_s, object FROM evictions "
                      "ORDER BY namespace, name, uid");
  while (evictions.Next()) {
    state.actuation.recent_evictions.push_back({evictions.Text(0), evictions.Text(1),
                                                evictions.Text(2), evictions.Int(3),
                                                evictions.Text(4)});
  }
  Statement cooldowns(db_,
                      "SELECT node_group, scale_up_s, deletion_s, failed_deletion_s "
                      "FROM cooldowns ORDER BY node_group");
  while (cooldowns.Next()) {
    state.cooldowns.push_back(
        {cooldowns.Text(0), cooldowns.MaybeInt(1), cooldowns.MaybeInt(2), cooldowns.MaybeInt(3)});
  }
  Statement hints(db_, "SELECT pod, node, pending FROM hints ORDER BY pod");
  while (hints.Next()) {
    auto& list = hints.Int(2) != 0 ? state.planner.pending_hints : state.planner.hints;
    list.push_back({hints.Text(0), hints.Text(1)});
  }
  Statement unremovable(
      db_, version_ < 3 ? "SELECT node, until_s, '', '', '', '', '' FROM unremovable ORDER BY node"
                        : "SELECT node, until_s, reason, blocking_reason, pod_namespace, pod_name, "
                          "pdb FROM unremovable ORDER BY node");
  while (unremovable.Next()) {
    state.planner.unremovable.push_back({.node = unremovable.Text(0),
                                         .until_s = unremovable.Int(1),
                                         .reason = unremovable.Text(2),
                                         .blocking_reason = unremovable.Text(3),
                                         .pod_namespace = unremovable.Text(4),
                                         .pod_name = unremovable.Text(5),
                                         .pdb = unremovable.Text(6)});
  }
  Content content;
  Statement counters(db_,
                     "SELECT name, label, bucket, value FROM counters "
                     "ORDER BY name, label, bucket");
  while (counters.Next()) {
    content.counters.push_back(
        {counters.Text(0), counters.Text(1), counters.Int(2), counters.Real(3)});
  }
  for (const Statement* s : {&scalars, &timers, &skipped, &deletions, &evictions, &cooldowns,
                             &hints, &unremovable, &counters}) {
    if (!s->ok()) return Error("cannot be read");
  }
  if (found) content.state = std::move(state);
  return content;
}

absl::Status SqliteState::CatchUp() {
  if (!known_) {
    absl::StatusOr<Content> content = Read();
    if (!content.ok()) return content.status();
    known_ = *std::move(content);
    return absl::OkStatus();
  }
  Statement rounds(db_, "SELECT value FROM state WHERE key = 'rounds'");
  constexpr int64_t kNone = -1;  // No state yet.
  const int64_t in_file = rounds.Next() ? rounds.Int(0) : kNone;
  if (!rounds.ok()) return Error("cannot be read");
  if (in_file == (known_->state ? known_->state->rounds : kNone)) return absl::OkStatus();
  known_.reset();
  return absl::AbortedError(
      absl::StrCat(path_, ": another process made a round meanwhile; this one is not kept"));
}

// The rows of `before` become those of `after`.
absl::Status SqliteState::WriteState(const ScaleDownState& before, const ScaleDownState& after) {
  Statement put_scalar(db_, "INSERT OR REPLACE INTO state VALUES(?, ?)");
  const auto scalar = [&](const char* key, std::optional<int64_t> value) {
    put_scalar.Run(std::string(key), value);
  };
  scalar("rounds", after.rounds);
  scalar("latest_s", after.latest_s);
  scalar("limit_latest_update_s", after.limit.latest_update_s);
  scalar("limit_min_interval_s", after.limit.min_interval_s);
  scalar("resume", after.resume ? 1 : 0);
  scalar("scan_pointer", static_cast<int64_t>(after.planner.scan_pointer));

  Statement erase_timer(db_, "DELETE FROM timers WHERE node = ?");
  Statement put_timer(db_, "INSERT OR REPLACE INTO timers VALUES(?, ?, ?, ?)");
  Diff(
      before.timers, after.timers, [](const auto& t) -> const auto& { return t.node; },
      [&](const auto& t) { erase_timer.Run(t.node); },
      [&](const auto& t) { put_timer.Run(t.node, t.uid, t.since_s, int64_t{t.judged}); });

  Statement erase_skipped(db_, "DELETE FROM skipped WHERE place >= ?");
  Statement put_skipped(db_, "INSERT OR REPLACE INTO skipped VALUES(?, ?, ?)");
  for (size_t i = 0; i < after.skipped.size(); ++i) {
    if (i < before.skipped.size() && before.skipped[i] == after.skipped[i]) continue;
    put_skipped.Run(static_cast<int64_t>(i), after.skipped[i].node, after.skipped[i].since_s);
  }
  if (after.skipped.size() < before.skipped.size()) {
    erase_skipped.Run(static_cast<int64_t>(after.skipped.size()));
  }

  Statement erase_deletion(db_, "DELETE FROM deletions WHERE node = ? AND drained = ?");
  Statement put_deletion(db_, "INSERT OR REPLACE INTO deletions VALUES(?, ?, ?)");
  for (const int64_t drained : {0, 1}) {
    const auto list = drained != 0 ? &ActuationStatus::drained : &ActuationStatus::empty;
    Diff(
        before.actuation.*list, after.actuation.*list,
        [](const auto& n) -> const auto& { return n.name; },
        [&](const auto& n) { erase_deletion.Run(n.name, drained); },
        [&](const auto& n) { put_deletion.Run(n.name, drained, n.group); });
  }

  Statement erase_eviction(db_,
                           "DELETE FROM evictions WHERE namespace = ? AND name = ? AND uid = ?");
  Statement put_eviction(db_, "INSERT OR REPLACE INTO evictions VALUES(?, ?, ?, ?, ?)");
  Diff(
      before.actuation.recent_evictions, after.actuation.recent_evictions,
      [](const auto& e) { return std::tie(e.namespace_name, e.name, e.uid); },
      [&](const auto& e) { erase_eviction.Run(e.namespace_name, e.name, e.uid); },
      [&](const auto& e) {
        put_eviction.Run(e.namespace_name, e.name, e.uid, e.evicted_at_s, e.object);
      });

  Statement erase_cooldown(db_, "DELETE FROM cooldowns WHERE node_group = ?");
  Statement put_cooldown(db_, "INSERT OR REPLACE INTO cooldowns VALUES(?, ?, ?, ?)");
  Diff(
      before.cooldowns, after.cooldowns, [](const auto& c) -> const auto& { return c.group; },
      [&](const auto& c) { erase_cooldown.Run(c.group); },
      [&](const auto& c) {
        put_cooldown.Run(c.group, c.scale_up_s, c.deletion_s, c.failed_deletion_s);
      });

  Statement erase_hint(db_, "DELETE FROM hints WHERE pod = ? AND pending = ?");
  Statement put_hint(db_, "INSERT OR REPLACE INTO hints VALUES(?, ?, ?)");
  for (const int64_t pending : {0, 1}) {
    const auto list = pending != 0 ? &PlannerMemory::pending_hints : &PlannerMemory::hints;
    Diff(
        before.planner.*list, after.planner.*list,
        [](const auto& h) -> const auto& { return h.pod_key; },
        [&](const auto& h) { erase_hint.Run(h.pod_key, pending); },
        [&](const auto& h) { put_hint.Run(h.pod_key, pending, h.node); });
  }

  Statement erase_unremovable(db_, "DELETE FROM unremovable WHERE node = ?");
  Statement put_unremovable(db_, "INSERT OR REPLACE INTO unremovable VALUES(?, ?, ?, ?, ?, ?, ?)");
  Diff(
      before.planner.unremovable, after.planner.unremovable,
      [](const auto& u) -> const auto& { return u.node; },
      [&](const auto& u) { erase_unremovable.Run(u.node); },
      [&](const auto& u) {
        put_unremovable.Run(u.node, u.until_s, u.reason, u.blocking_reason, u.pod_namespace,
                            u.pod_name, u.pdb);
      });

  for (const Statement* s :
       {&put_scalar, &erase_timer, &put_timer, &erase_skipped, &put_skipped, &erase_deletion,
        &put_deletion, &erase_eviction, &put_eviction, &erase_cooldown, &put_cooldown, &erase_hint,
        &put_hint, &erase_unremovable, &put_unremovable}) {
    if (!s->ok()) return Error("cannot be written");
  }
  return absl::OkStatus();
}

absl::Status SqliteState::WriteCounters(const std::vector<StoredCounter>& before,
                                        const std::vector<StoredCounter>& after) {
  Statement erase(db_, "DELETE FROM counters WHERE name = ? AND label = ? AND bucket = ?");
  Statement put(db_, "INSERT OR REPLACE INTO counters VALUES(?, ?, ?, ?)");
  Diff(
      before, after, [](const auto& c) { return std::tie(c.name, c.label, c.bucket); },
      [&](const auto& c) { erase.Run(c.name, c.label, c.bucket); },
      [&](const auto& c) { put.Run(c.name, c.label, c.bucket, c.value); });
  return erase.ok() && put.ok() ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::WriteRound(const RoundRecord& round) {
  Statement insert(db_, "INSERT OR REPLACE INTO rounds VALUES(?, ?, ?, ?, ?, ?, ?)");
  insert.Run(round.round, round.now_s, round.input_digest, round.status, round.decision,
             round.arguments, Statement::AsBlob(round.input));
  if (!insert.ok()) return Error("cannot be written");
  if (options_.rounds_max <= 0) return absl::OkStatus();
  Statement drop(db_, "DELETE FROM rounds WHERE round <= ?");
  drop.Run(round.round - options_.rounds_max);
  return drop.ok() ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::InTransaction(const ScaleDownState* state, const RoundRecord* round,
                                        const std::vector<StoredCounter>* counters) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  if (state != nullptr) {
    status = CatchUp();
    if (status.ok()) status = WriteState(known_->state.value_or(ScaleDownState()), *state);
    if (status.ok() && counters != nullptr) status = WriteCounters(known_->counters, *counters);
  }
  if (status.ok() && round != nullptr) status = WriteRound(*round);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
  if (state != nullptr) known_->state = *state;
  if (counters != nullptr) known_->counters = *counters;
  return status;
}

absl::Status SqliteState::Save(const ScaleDownState& state, const RoundRecord& round,
                               const std::vector<StoredCounter>& counters) {
  return InTransaction(&state, &round, &counters);
}

absl::Status SqliteState::Append(const RoundRecord& round) {
  return InTransaction(nullptr, &round, nullptr);
}

absl::Status SqliteState::SaveState(const ScaleDownState& state) {
  return InTransaction(&state, nullptr, nullptr);
}

absl::StatusOr<int64_t> SqliteState::LastRound() {
  const std::optional<int64_t> last = Number(db_, "SELECT coalesce(max(round), 0) FROM rounds");
  if (!last) return Error("cannot be read");
  return *last;
}

int64_t SqliteState::rows_written() const { return sqlite3_total_changes64(db_); }

absl::StatusOr<std::vector<RoundRecord>> SqliteState::Rounds() {
  std::vector<RoundRecord> rounds;
  Statement select(db_,
                   "SELECT round, now_s, input_digest, status, decision, arguments, input "
                   "FROM rounds ORDER BY round");
  while (select.Next()) {
    rounds.push_back({select.Int(0), select.Int(1), select.Text(2), select.Text(3), select.Text(4),
                      select.Text(5), select.Text(6)});
  }
  if (!select.ok()) return Error("cannot be read");
  return rounds;
}

}  // namespace ebb
