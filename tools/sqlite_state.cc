#include "tools/sqlite_state.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

constexpr int64_t kApplicationId = 0x65626273;  // "ebbs"
constexpr int64_t kVersion = 1;

constexpr const char* kSchema = R"sql(
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE timers(node TEXT PRIMARY KEY, uid TEXT, since_s INTEGER, judged INTEGER) WITHOUT ROWID;
CREATE TABLE skipped(place INTEGER PRIMARY KEY, node TEXT, since_s INTEGER);
CREATE TABLE deletions(node TEXT, node_group TEXT, drained INTEGER);
CREATE TABLE evictions(namespace TEXT, name TEXT, uid TEXT, evicted_at_s INTEGER);
CREATE TABLE cooldowns(node_group TEXT PRIMARY KEY, scale_up_s INTEGER, deletion_s INTEGER,
                       failed_deletion_s INTEGER) WITHOUT ROWID;
CREATE TABLE hints(pod TEXT, node TEXT, pending INTEGER);
CREATE TABLE unremovable(node TEXT PRIMARY KEY, until_s INTEGER) WITHOUT ROWID;
CREATE TABLE rounds(round INTEGER PRIMARY KEY, now_s INTEGER, input_digest TEXT, status TEXT,
                    decision TEXT, arguments TEXT, input BLOB);
)sql";

constexpr auto kStateTables = std::to_array<const char*>(
    {"DELETE FROM state", "DELETE FROM timers", "DELETE FROM skipped", "DELETE FROM deletions",
     "DELETE FROM evictions", "DELETE FROM cooldowns", "DELETE FROM hints",
     "DELETE FROM unremovable"});

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
  const absl::Status status = exists ? state->Check() : state->CreateTables();
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
  const int64_t version = Number(db_, "PRAGMA user_version").value_or(0);
  if (version > kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": was written by a later ebb (version ",
                                                   version, ", this one knows ", kVersion, ")"));
  }
  Statement check(db_, "PRAGMA quick_check(1)");
  if (!check.Next()) return Error("is damaged");
  if (check.Text(0) != "ok") {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is damaged: ", check.Text(0)));
  }
  return absl::OkStatus();
}

absl::Status SqliteState::CreateTables() {
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
    if (key == "scan_pointer") state.planner.scan_pointer = static_cast<uint64_t>(scalars.Int(1));
  }
  Statement timers(db_, "SELECT node, uid, since_s, judged FROM timers ORDER BY node");
  while (timers.Next()) {
    state.timers.push_back({timers.Text(0), timers.Text(1), timers.Int(2), timers.Int(3) != 0});
  }
  Statement skipped(db_, "SELECT node, since_s FROM skipped ORDER BY place");
  while (skipped.Next()) state.skipped.push_back({skipped.Text(0), skipped.Int(1)});
  Statement deletions(db_, "SELECT node, node_group, drained FROM deletions ORDER BY rowid");
  while (deletions.Next()) {
    auto& list = deletions.Int(2) != 0 ? state.actuation.drained : state.actuation.empty;
    list.push_back({deletions.Text(0), deletions.Text(1)});
  }
  Statement evictions(db_,
                      "SELECT namespace, name, uid, evicted_at_s FROM evictions ORDER BY rowid");
  while (evictions.Next()) {
    state.actuation.recent_evictions.push_back(
        {evictions.Text(0), evictions.Text(1), evictions.Text(2), evictions.Int(3)});
  }
  Statement cooldowns(db_,
                      "SELECT node_group, scale_up_s, deletion_s, failed_deletion_s "
                      "FROM cooldowns ORDER BY node_group");
  while (cooldowns.Next()) {
    state.cooldowns.push_back(
        {cooldowns.Text(0), cooldowns.MaybeInt(1), cooldowns.MaybeInt(2), cooldowns.MaybeInt(3)});
  }
  Statement hints(db_, "SELECT pod, node, pending FROM hints ORDER BY rowid");
  while (hints.Next()) {
    auto& list = hints.Int(2) != 0 ? state.planner.pending_hints : state.planner.hints;
    list.push_back({hints.Text(0), hints.Text(1)});
  }
  Statement unremovable(db_, "SELECT node, until_s FROM unremovable ORDER BY node");
  while (unremovable.Next()) {
    state.planner.unremovable.push_back({unremovable.Text(0), unremovable.Int(1)});
  }
  for (const Statement* s :
       {&scalars, &timers, &skipped, &deletions, &evictions, &cooldowns, &hints, &unremovable}) {
    if (!s->ok()) return Error("cannot be read");
  }
  if (!found) return std::nullopt;
  return state;
}

absl::Status SqliteState::WriteState(const ScaleDownState& state) {
  for (const char* sql : kStateTables) {
    if (absl::Status s = Execute(sql); !s.ok()) return s;
  }
  Statement scalars(db_, "INSERT INTO state VALUES(?, ?)");
  scalars.Run(std::string("rounds"), state.rounds);
  scalars.Run(std::string("latest_s"), state.latest_s);
  scalars.Run(std::string("limit_latest_update_s"), state.limit.latest_update_s);
  scalars.Run(std::string("limit_min_interval_s"), state.limit.min_interval_s);
  scalars.Run(std::string("scan_pointer"), static_cast<int64_t>(state.planner.scan_pointer));
  Statement timers(db_, "INSERT INTO timers VALUES(?, ?, ?, ?)");
  for (const auto& t : state.timers) timers.Run(t.node, t.uid, t.since_s, int64_t{t.judged});
  Statement skipped(db_, "INSERT INTO skipped(node, since_s) VALUES(?, ?)");
  for (const auto& node : state.skipped) skipped.Run(node.node, node.since_s);
  Statement deletions(db_, "INSERT INTO deletions VALUES(?, ?, ?)");
  for (const auto& node : state.actuation.empty) deletions.Run(node.name, node.group, int64_t{0});
  for (const auto& node : state.actuation.drained) deletions.Run(node.name, node.group, int64_t{1});
  Statement evictions(db_, "INSERT INTO evictions VALUES(?, ?, ?, ?)");
  for (const EvictedPod& pod : state.actuation.recent_evictions) {
    evictions.Run(pod.namespace_name, pod.name, pod.uid, pod.evicted_at_s);
  }
  Statement cooldowns(db_, "INSERT INTO cooldowns VALUES(?, ?, ?, ?)");
  for (const Cooldowns::Last& last : state.cooldowns) {
    cooldowns.Run(last.group, last.scale_up_s, last.deletion_s, last.failed_deletion_s);
  }
  Statement hints(db_, "INSERT INTO hints VALUES(?, ?, ?)");
  for (const auto& hint : state.planner.hints) hints.Run(hint.pod_key, hint.node, int64_t{0});
  for (const auto& hint : state.planner.pending_hints) {
    hints.Run(hint.pod_key, hint.node, int64_t{1});
  }
  Statement unremovable(db_, "INSERT INTO unremovable VALUES(?, ?)");
  for (const auto& node : state.planner.unremovable) unremovable.Run(node.node, node.until_s);
  for (const Statement* s :
       {&scalars, &timers, &skipped, &deletions, &evictions, &cooldowns, &hints, &unremovable}) {
    if (!s->ok()) return Error("cannot be written");
  }
  return absl::OkStatus();
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

absl::Status SqliteState::InTransaction(const ScaleDownState* state, const RoundRecord* round) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  if (state != nullptr) status = WriteState(*state);
  if (status.ok() && round != nullptr) status = WriteRound(*round);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status SqliteState::Save(const ScaleDownState& state, const RoundRecord& round) {
  return InTransaction(&state, &round);
}

absl::Status SqliteState::Append(const RoundRecord& round) {
  return InTransaction(nullptr, &round);
}

absl::Status SqliteState::SaveState(const ScaleDownState& state) {
  return InTransaction(&state, nullptr);
}

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
