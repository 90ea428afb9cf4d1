#include "service/sqlite_state.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"

namespace ebb {
namespace {

constexpr int64_t kApplicationId = 0x65626273;  // "ebbs"
constexpr int64_t kStateVersion = 5;

// Of what a column may hold.
constexpr int64_t kUntilMax = 2 * kLatestTimeS;  // A time and a duration.
constexpr int64_t kCountMax = int64_t{1} << 53;  // Exact as a double.
constexpr int64_t kBucketMax = 1000;             // Of a histogram.
constexpr int64_t kQueueMax = static_cast<int64_t>(NodeQueue::kTerminate);
constexpr int64_t kPhaseMax = static_cast<int64_t>(StartedDeletions::Phase::kSucceeded);
constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();

constexpr const char* kSchema = R"sql(
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE timers(node TEXT PRIMARY KEY, uid TEXT, since_s INTEGER, judged INTEGER) WITHOUT ROWID;
CREATE TABLE skipped(place INTEGER PRIMARY KEY, node TEXT, since_s INTEGER);
CREATE TABLE started(node TEXT PRIMARY KEY, uid TEXT, phase INTEGER, at_s INTEGER) WITHOUT ROWID;
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
CREATE TABLE pools(pool TEXT PRIMARY KEY, policy TEXT, state BLOB, at_s INTEGER, failures INTEGER,
                   failsafe INTEGER, grow_to INTEGER, grow_by INTEGER,
                   grow_since_s INTEGER) WITHOUT ROWID;
CREATE TABLE queue(place INTEGER PRIMARY KEY, node TEXT, uid TEXT, pool TEXT, kind INTEGER,
                   since_s INTEGER, attempts INTEGER, retry_s INTEGER);
)sql";

// What a file holds beside the tables above.  SQLite's own, such as what ANALYZE leaves, is
// no matter; a trigger would change what is saved.
constexpr const char* kSelectForeign = R"sql(
SELECT type, name FROM sqlite_schema
WHERE NOT (type = 'table' AND name IN ('state', 'timers', 'skipped', 'started', 'deletions',
                                       'evictions', 'cooldowns', 'hints', 'unremovable',
                                       'counters', 'rounds', 'pools', 'queue'))
  AND NOT (type IN ('table', 'index') AND name GLOB 'sqlite_*')
)sql";

// A prepared statement.  After an error every call does nothing, so that a sequence
// of rows needs one look at ok().
//
// SQLite ends a transaction by itself where a disk is full or fails.  What another
// statement then wrote would be a transaction of its own and stay, beside the state before:
// Run() writes within a transaction only.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql)
      : ok_(sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }

  // Binds all parameters and runs to the end.  Fails outside a transaction.
  template <typename... Values>
  void Run(const Values&... values) {
    ok_ = ok_ && sqlite3_get_autocommit(sqlite3_db_handle(statement_)) == 0;
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
  [[nodiscard]] std::string Text(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
  }

 protected:
  [[nodiscard]] sqlite3_stmt* get() const { return statement_; }
  void Fail() { ok_ = false; }

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

// Reads the rows of a table and holds every value to what its column may hold.  The
// first that it may not ends the rows; what() says which.
class Rows : public Statement {
 public:
  Rows(sqlite3* db, const char* table, const char* sql) : Statement(db, sql), table_(table) {}

  // "table timers, column since_s: -5 is not from 0 to 9"; empty where no value is wrong.
  [[nodiscard]] const std::string& what() const { return what_; }

  int64_t Int(int column, int64_t min, int64_t max) {
    if (!Holds(column, SQLITE_INTEGER, "an integer")) return min;
    const int64_t value = sqlite3_column_int64(get(), column);
    if (value < min || value > max) {
      Wrong(column, absl::StrCat(value, " is not from ", min, " to ", max));
    }
    return value;
  }
  int64_t Time(int column) { return Int(column, 0, kLatestTimeS); }
  bool Flag(int column) { return Int(column, 0, 1) != 0; }
  std::optional<int64_t> MaybeTime(int column) {
    if (sqlite3_column_type(get(), column) == SQLITE_NULL) return std::nullopt;
    return Time(column);
  }
  // From 0 on.
  double Amount(int column) {
    if (!Holds(column, SQLITE_FLOAT, "a real number")) return 0;
    const double value = sqlite3_column_double(get(), column);
    if (!(value >= 0 && value <= static_cast<double>(kCountMax))) {
      Wrong(column, absl::StrCat(value, " is not an amount"));
    }
    return value;
  }
  void CheckWhole(int column) {
    const double value = sqlite3_column_double(get(), column);
    if (value != std::floor(value)) Wrong(column, absl::StrCat(value, " is not a whole number"));
  }
  std::string Text(int column) {
    return Holds(column, SQLITE_TEXT, "a text") ? Statement::Text(column) : "";
  }
  std::string Bytes(int column) {
    return Holds(column, SQLITE_BLOB, "bytes") ? Statement::Text(column) : "";
  }
  std::string Name(int column) {
    std::string name = Text(column);
    if (name.empty()) Wrong(column, "it is empty");
    return name;
  }
  void Wrong(int column, std::string_view how) {
    if (what_.empty()) {
      what_ = absl::StrCat("table ", table_, ", column ", sqlite3_column_name(get(), column), ": ",
                           Absl(how));
    }
    Fail();
  }

 private:
  bool Holds(int column, int type, const char* name) {
    if (sqlite3_column_type(get(), column) == type) return true;
    Wrong(column, absl::StrCat("it holds no value that is ", name));
    return false;
  }

  const char* table_;
  std::string what_;
};

// The state as one number, over every value that is saved.
class StateDigest {
 public:
  StateDigest() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~StateDigest() { XXH3_freeState(state_); }
  StateDigest(const StateDigest&) = delete;
  StateDigest& operator=(const StateDigest&) = delete;

  template <typename... Values>
  void Add(const Values&... values) {
    (Put(values), ...);
  }
  template <typename Row, typename Columns>
  void AddAll(const std::vector<Row>& rows, Columns columns) {
    Put(static_cast<int64_t>(rows.size()));
    for (const Row& row : rows) columns(row);
  }
  [[nodiscard]] int64_t Value() const { return static_cast<int64_t>(XXH3_64bits_digest(state_)); }

 private:
  void Put(double value) { Put(std::bit_cast<int64_t>(value)); }
  void Put(int64_t value) { XXH3_64bits_update(state_, &value, sizeof(value)); }
  void Put(const std::optional<int64_t>& value) {
    Put(int64_t{value.has_value()});
    Put(value.value_or(0));
  }
  void Put(const std::string& text) {
    Put(static_cast<int64_t>(text.size()));
    XXH3_64bits_update(state_, text.data(), text.size());
  }

  XXH3_state_t* state_;
};

int64_t Digest(const ScaleDownState& state) {
  StateDigest digest;
  digest.Add(state.rounds, state.latest_s, state.jump_s, state.limit.latest_update_s,
             state.limit.min_interval_s, int64_t{state.resume},
             static_cast<int64_t>(state.planner.scan_pointer));
  digest.AddAll(state.timers,
                [&](const auto& t) { digest.Add(t.node, t.uid, t.since_s, int64_t{t.judged}); });
  digest.AddAll(state.skipped, [&](const auto& s) { digest.Add(s.node, s.since_s); });
  digest.AddAll(state.started, [&](const auto& s) {
    digest.Add(s.node, s.uid, static_cast<int64_t>(s.phase), s.at_s);
  });
  for (const auto* list : {&state.actuation.empty, &state.actuation.drained}) {
    digest.AddAll(*list, [&](const auto& n) { digest.Add(n.name, n.group); });
  }
  digest.AddAll(state.actuation.recent_evictions, [&](const auto& e) {
    digest.Add(e.namespace_name, e.name, e.uid, e.evicted_at_s, e.object);
  });
  digest.AddAll(state.cooldowns, [&](const auto& c) {
    digest.Add(c.group, c.scale_up_s, c.deletion_s, c.failed_deletion_s);
  });
  for (const auto* list : {&state.planner.hints, &state.planner.pending_hints}) {
    digest.AddAll(*list, [&](const auto& h) { digest.Add(h.pod_key, h.node); });
  }
  digest.AddAll(state.planner.unremovable, [&](const auto& u) {
    digest.Add(u.node, u.until_s, u.reason, u.blocking_reason, u.pod_namespace, u.pod_name, u.pdb);
  });
  return digest.Value();
}

int64_t Digest(const std::vector<StoredCounter>& counters) {
  StateDigest digest;
  digest.AddAll(counters, [&](const auto& c) { digest.Add(c.name, c.label, c.bucket, c.value); });
  return digest.Value();
}

int64_t Digest(const SizingState& sizing) {
  StateDigest digest;
  digest.AddAll(sizing.pools, [&](const auto& p) {
    digest.Add(p.pool, p.policy, p.state, p.at_s, p.failures, int64_t{p.failsafe}, p.grow_to,
               p.grow_by, p.grow_since_s);
  });
  digest.AddAll(sizing.queue, [&](const auto& q) {
    digest.Add(q.node, q.uid, q.pool, static_cast<int64_t>(q.queue), q.since_s, q.attempts,
               q.retry_s);
  });
  return digest.Value();
}

std::optional<int64_t> Number(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  if (!statement.Next()) return std::nullopt;
  return statement.Int(0);
}

// --- Reading, a function a table ----------------------------------------------------------

struct Tables {
  sqlite3* db;
  int64_t version;
};

// How reading a table went.  `what`: as Rows::what().
struct TableRead {
  bool ok = true;
  std::string what = {};
};
TableRead ResultOf(const Rows& rows) { return {.ok = rows.ok(), .what = rows.what()}; }

// What the table `state` says beside the state.
struct FiguresRead {
  int64_t revision = 0;
  std::optional<int64_t> digest;
  std::optional<int64_t> counters_digest;
  std::optional<int64_t> sizing_digest;
  std::optional<int64_t> cluster;
  std::set<std::string> missing;  // Of kNeededFigures.
};
// That every state has.
constexpr const char* kNeededFigures[] = {"rounds", "latest_s", "resume", "scan_pointer"};

TableRead ReadFigures(const Tables& tables, ScaleDownState& state, FiguresRead& figures) {
  figures.missing.insert(std::begin(kNeededFigures), std::end(kNeededFigures));
  Rows rows(tables.db, "state", "SELECT key, value FROM state");
  while (rows.Next()) {
    const std::string key = rows.Text(0);
    figures.missing.erase(key);
    if (key == "rounds") state.rounds = rows.Int(1, 0, kCountMax);
    if (key == "latest_s") state.latest_s = rows.Time(1);
    if (key == "jump_s") state.jump_s = rows.MaybeTime(1);
    if (key == "limit_latest_update_s") state.limit.latest_update_s = rows.MaybeTime(1);
    if (key == "limit_min_interval_s") state.limit.min_interval_s = rows.MaybeTime(1);
    if (key == "resume") state.resume = rows.Flag(1);
    if (key == "scan_pointer") {
      state.planner.scan_pointer = static_cast<uint64_t>(rows.Int(1, kIntMin, kIntMax));
    }
    if (key == "revision") figures.revision = rows.Int(1, 0, kCountMax);
    if (key == "digest") figures.digest = rows.Int(1, kIntMin, kIntMax);
    if (key == "counters_digest") figures.counters_digest = rows.Int(1, kIntMin, kIntMax);
    if (key == "sizing_digest") figures.sizing_digest = rows.Int(1, kIntMin, kIntMax);
    if (key == "cluster") figures.cluster = rows.Int(1, kIntMin, kIntMax);
  }
  return ResultOf(rows);
}

TableRead ReadTimers(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "timers", "SELECT node, uid, since_s, judged FROM timers ORDER BY node");
  while (rows.Next()) {
    state.timers.push_back({rows.Name(0), rows.Text(1), rows.Time(2), rows.Flag(3)});
  }
  return ResultOf(rows);
}

TableRead ReadSkipped(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "skipped", "SELECT node, since_s FROM skipped ORDER BY place");
  while (rows.Next()) state.skipped.push_back({rows.Name(0), rows.Time(1)});
  return ResultOf(rows);
}

TableRead ReadStarted(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "started", "SELECT node, uid, phase, at_s FROM started ORDER BY node");
  while (rows.Next()) {
    state.started.push_back({rows.Name(0), rows.Text(1),
                             static_cast<StartedDeletions::Phase>(rows.Int(2, 0, kPhaseMax)),
                             rows.Time(3)});
  }
  return ResultOf(rows);
}

TableRead ReadDeletions(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "deletions",
            "SELECT node, node_group, drained FROM deletions ORDER BY node");
  while (rows.Next()) {
    auto& list = rows.Flag(2) ? state.actuation.drained : state.actuation.empty;
    list.push_back({rows.Name(0), rows.Text(1)});
  }
  return ResultOf(rows);
}

TableRead ReadEvictions(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "evictions",
            "SELECT namespace, name, uid, evicted_at_s, object FROM evictions "
            "ORDER BY namespace, name, uid");
  while (rows.Next()) {
    state.actuation.recent_evictions.push_back(
        {rows.Text(0), rows.Name(1), rows.Text(2), rows.Time(3), rows.Text(4)});
  }
  return ResultOf(rows);
}

TableRead ReadCooldowns(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "cooldowns",
            "SELECT node_group, scale_up_s, deletion_s, failed_deletion_s "
            "FROM cooldowns ORDER BY node_group");
  while (rows.Next()) {
    state.cooldowns.push_back(
        {rows.Text(0), rows.MaybeTime(1), rows.MaybeTime(2), rows.MaybeTime(3)});
  }
  return ResultOf(rows);
}

TableRead ReadHints(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "hints", "SELECT pod, node, pending FROM hints ORDER BY pod");
  while (rows.Next()) {
    auto& list = rows.Flag(2) ? state.planner.pending_hints : state.planner.hints;
    list.push_back({rows.Text(0), rows.Text(1)});
  }
  return ResultOf(rows);
}

TableRead ReadUnremovable(const Tables& tables, ScaleDownState& state) {
  Rows rows(tables.db, "unremovable",
            "SELECT node, until_s, reason, blocking_reason, pod_namespace, pod_name, pdb "
            "FROM unremovable ORDER BY node");
  while (rows.Next()) {
    state.planner.unremovable.push_back({.node = rows.Name(0),
                                         .until_s = rows.Int(1, 0, kUntilMax),
                                         .reason = rows.Text(2),
                                         .blocking_reason = rows.Text(3),
                                         .pod_namespace = rows.Text(4),
                                         .pod_name = rows.Text(5),
                                         .pdb = rows.Text(6)});
  }
  return ResultOf(rows);
}

// Those of the state.
constexpr TableRead (*kReadTables[])(const Tables& tables, ScaleDownState& state) = {
    ReadTimers,    ReadSkipped,   ReadStarted, ReadDeletions,
    ReadEvictions, ReadCooldowns, ReadHints,   ReadUnremovable};

TableRead ReadCounters(const Tables& tables, std::vector<StoredCounter>& counters) {
  Rows rows(tables.db, "counters",
            "SELECT name, label, bucket, value FROM counters ORDER BY name, label, bucket");
  while (rows.Next()) {
    counters.push_back({rows.Name(0), rows.Text(1), rows.Int(2, -1, kBucketMax), rows.Amount(3)});
    // Of a histogram's buckets.
    if (counters.back().bucket >= 0) rows.CheckWhole(3);
  }
  return ResultOf(rows);
}

TableRead ReadSizing(const Tables& tables, SizingState& sizing) {
  Rows pools(tables.db, "pools",
             "SELECT pool, policy, state, at_s, failures, failsafe, grow_to, grow_by, grow_since_s "
             "FROM pools ORDER BY pool");
  while (pools.Next()) {
    sizing.pools.push_back({.pool = pools.Name(0),
                            .policy = pools.Name(1),
                            .state = pools.Bytes(2),
                            .at_s = pools.Time(3),
                            .failures = pools.Int(4, 0, kCountMax),
                            .failsafe = pools.Flag(5),
                            .grow_to = pools.Int(6, 0, kCountMax),
                            .grow_by = pools.Int(7, 0, kCountMax),
                            .grow_since_s = pools.Time(8)});
  }
  if (!pools.ok()) return ResultOf(pools);
  Rows rows(tables.db, "queue",
            "SELECT node, uid, pool, kind, since_s, attempts, retry_s FROM queue ORDER BY place");
  while (rows.Next()) {
    sizing.queue.push_back({.node = rows.Name(0),
                            .uid = rows.Text(1),
                            .pool = rows.Text(2),
                            .queue = static_cast<NodeQueue>(rows.Int(3, 0, kQueueMax)),
                            .since_s = rows.Time(4),
                            .attempts = rows.Int(5, 0, kCountMax),
                            .retry_s = rows.Int(6, 0, kUntilMax)});
  }
  return ResultOf(rows);
}

// A state file has the rounds that led to its state, and a record those that came after it:
// `last` is the last of the former.
TableRead CheckRounds(const Tables& tables, int64_t& last) {
  Rows rows(tables.db, "rounds",
            "SELECT round, now_s, input_digest, status, decision = '' AS decision, "
            "arguments = '' AS arguments FROM rounds ORDER BY round");
  while (rows.Next()) {
    const int64_t round = rows.Int(0, 0, kCountMax);
    rows.Time(1);
    rows.Text(2);
    rows.Text(3);
    rows.Flag(4);
    if (rows.Flag(5)) last = std::max(last, round);
  }
  return ResultOf(rows);
}

// --- Writing, a function a table ----------------------------------------------------------

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

// The rows of a table that `before` has become those that `after` has.  False: an error.

bool WriteTimers(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM timers WHERE node = ?");
  Statement put(db, "INSERT OR REPLACE INTO timers VALUES(?, ?, ?, ?)");
  Diff(
      before.timers, after.timers, [](const auto& t) -> const auto& { return t.node; },
      [&](const auto& t) { erase.Run(t.node); },
      [&](const auto& t) { put.Run(t.node, t.uid, t.since_s, int64_t{t.judged}); });
  return erase.ok() && put.ok();
}

// By their places in the list, which is in no order of names.
bool WriteSkipped(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM skipped WHERE place >= ?");
  Statement put(db, "INSERT OR REPLACE INTO skipped VALUES(?, ?, ?)");
  for (size_t i = 0; i < after.skipped.size(); ++i) {
    if (i < before.skipped.size() && before.skipped[i] == after.skipped[i]) continue;
    put.Run(static_cast<int64_t>(i), after.skipped[i].node, after.skipped[i].since_s);
  }
  if (after.skipped.size() < before.skipped.size()) {
    erase.Run(static_cast<int64_t>(after.skipped.size()));
  }
  return erase.ok() && put.ok();
}

bool WriteStarted(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM started WHERE node = ?");
  Statement put(db, "INSERT OR REPLACE INTO started VALUES(?, ?, ?, ?)");
  Diff(
      before.started, after.started, [](const auto& s) -> const auto& { return s.node; },
      [&](const auto& s) { erase.Run(s.node); },
      [&](const auto& s) { put.Run(s.node, s.uid, static_cast<int64_t>(s.phase), s.at_s); });
  return erase.ok() && put.ok();
}

bool WriteDeletions(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM deletions WHERE node = ? AND drained = ?");
  Statement put(db, "INSERT OR REPLACE INTO deletions VALUES(?, ?, ?)");
  for (const int64_t drained : {0, 1}) {
    const auto list = drained != 0 ? &ActuationStatus::drained : &ActuationStatus::empty;
    Diff(
        before.actuation.*list, after.actuation.*list,
        [](const auto& n) -> const auto& { return n.name; },
        [&](const auto& n) { erase.Run(n.name, drained); },
        [&](const auto& n) { put.Run(n.name, drained, n.group); });
  }
  return erase.ok() && put.ok();
}

bool WriteEvictions(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM evictions WHERE namespace = ? AND name = ? AND uid = ?");
  Statement put(db, "INSERT OR REPLACE INTO evictions VALUES(?, ?, ?, ?, ?)");
  Diff(
      before.actuation.recent_evictions, after.actuation.recent_evictions,
      [](const auto& e) { return std::tie(e.namespace_name, e.name, e.uid); },
      [&](const auto& e) { erase.Run(e.namespace_name, e.name, e.uid); },
      [&](const auto& e) { put.Run(e.namespace_name, e.name, e.uid, e.evicted_at_s, e.object); });
  return erase.ok() && put.ok();
}

bool WriteCooldowns(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM cooldowns WHERE node_group = ?");
  Statement put(db, "INSERT OR REPLACE INTO cooldowns VALUES(?, ?, ?, ?)");
  Diff(
      before.cooldowns, after.cooldowns, [](const auto& c) -> const auto& { return c.group; },
      [&](const auto& c) { erase.Run(c.group); },
      [&](const auto& c) { put.Run(c.group, c.scale_up_s, c.deletion_s, c.failed_deletion_s); });
  return erase.ok() && put.ok();
}

bool WriteHints(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM hints WHERE pod = ? AND pending = ?");
  Statement put(db, "INSERT OR REPLACE INTO hints VALUES(?, ?, ?)");
  for (const int64_t pending : {0, 1}) {
    const auto list = pending != 0 ? &PlannerMemory::pending_hints : &PlannerMemory::hints;
    Diff(
        before.planner.*list, after.planner.*list,
        [](const auto& h) -> const auto& { return h.pod_key; },
        [&](const auto& h) { erase.Run(h.pod_key, pending); },
        [&](const auto& h) { put.Run(h.pod_key, pending, h.node); });
  }
  return erase.ok() && put.ok();
}

bool WriteUnremovable(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  Statement erase(db, "DELETE FROM unremovable WHERE node = ?");
  Statement put(db, "INSERT OR REPLACE INTO unremovable VALUES(?, ?, ?, ?, ?, ?, ?)");
  Diff(
      before.planner.unremovable, after.planner.unremovable,
      [](const auto& u) -> const auto& { return u.node; },
      [&](const auto& u) { erase.Run(u.node); },
      [&](const auto& u) {
        put.Run(u.node, u.until_s, u.reason, u.blocking_reason, u.pod_namespace, u.pod_name, u.pdb);
      });
  return erase.ok() && put.ok();
}

// The queue is rewritten as a whole where it changed: it is short.
bool WriteSizingRows(sqlite3* db, const SizingState& before, const SizingState& after) {
  Statement erase(db, "DELETE FROM pools WHERE pool = ?");
  Statement put(db, "INSERT OR REPLACE INTO pools VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Diff(
      before.pools, after.pools, [](const auto& p) -> const auto& { return p.pool; },
      [&](const auto& p) { erase.Run(p.pool); },
      [&](const auto& p) {
        put.Run(p.pool, p.policy, Statement::AsBlob(p.state), p.at_s, p.failures,
                int64_t{p.failsafe}, p.grow_to, p.grow_by, p.grow_since_s);
      });
  if (!erase.ok() || !put.ok()) return false;
  if (before.queue == after.queue) return true;
  Statement empty(db, "DELETE FROM queue WHERE place >= ?");
  Statement add(db, "INSERT INTO queue VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  empty.Run(int64_t{0});
  int64_t place = 0;
  for (const QueuedNode& q : after.queue) {
    add.Run(place++, q.node, q.uid, q.pool, static_cast<int64_t>(q.queue), q.since_s, q.attempts,
            q.retry_s);
  }
  return empty.ok() && add.ok();
}

constexpr bool (*kWriteTables[])(sqlite3* db, const ScaleDownState& before,
                                 const ScaleDownState& after) = {
    WriteTimers,    WriteSkipped,   WriteStarted, WriteDeletions,
    WriteEvictions, WriteCooldowns, WriteHints,   WriteUnremovable};

// 0 also where there is no such file.
int64_t BytesOf(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

// A database has at least its header.  SQLite takes a file of one byte for an empty one, and
// would write over what may be a caller's.
constexpr int64_t kHeaderBytes = 100;

// SQLite takes some names for more than the name of a file: ":memory:", "" and, as some
// systems build it, URIs ("file:x?mode=memory").  After a folder a name is a name.
std::string PlainName(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// SQLite would put a journal beside a device.
bool IsNoFile(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

ClusterId ClusterOf(std::string_view kube_system_uid) {
  return ClusterId{
      static_cast<int64_t>(XXH3_64bits(kube_system_uid.data(), kube_system_uid.size()))};
}

absl::Status SqliteState::Error(const char* doing) const {
  std::string why = "no memory";
  if (db_ != nullptr) {
    // The message of an error that a later call has replaced is lost.
    const bool lost = sqlite3_errcode(db_) == SQLITE_OK;
    why = lost ? "the disk is full or fails" : Printable(sqlite3_errmsg(db_));
  }
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", doing, ": ", why));
}

absl::StatusOr<std::unique_ptr<SqliteState>> SqliteState::Open(const std::string& path,
                                                               const SqliteStateOptions& options) {
  std::unique_ptr<SqliteState> state(new SqliteState(path, options));
  if (IsNoFile(path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  const int64_t bytes = BytesOf(path);
  if (bytes > 0 && bytes < kHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a database"));
  }
  const bool exists = bytes > 0;
  if (!exists && (options.read_only || options.must_exist)) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no such file, or it is empty"));
  }
  const int flags =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(PlainName(path).c_str(), &state->db_, flags, nullptr) != SQLITE_OK) {
    return state->Error("cannot be opened");
  }
  sqlite3_busy_timeout(state->db_, 5000);
  if (!options.read_only && sqlite3_db_readonly(state->db_, "main") == 1) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": may not be written"));
  }
  if (!exists) return state;
  absl::Status checked = state->Check();
  const int error = sqlite3_extended_errcode(state->db_);
  const bool half_written = error == SQLITE_READONLY_ROLLBACK || error == SQLITE_READONLY_RECOVERY;
  if (!checked.ok() && options.read_only && half_written) {
    if (absl::Status s = state->RollBack(); !s.ok()) return s;
    checked = state->Check();
  }
  if (!checked.ok()) return checked;
  return state;
}

absl::Status SqliteState::RollBack() {
  sqlite3_close(std::exchange(db_, nullptr));
  sqlite3* writer = nullptr;
  // Whoever may write rolls back when it reads first.
  bool done = sqlite3_open_v2(PlainName(path_).c_str(), &writer, SQLITE_OPEN_READWRITE, nullptr) ==
              SQLITE_OK;
  sqlite3_busy_timeout(writer, 5000);
  done = done && Number(writer, "SELECT count(*) FROM sqlite_schema").has_value();
  sqlite3_close(writer);
  if (!done) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": the program that wrote it was stopped in the middle; what it left in ", path_,
        "-journal has to be rolled back first, for which the file and its "
        "folder must be writable: copy both elsewhere, or change that"));
  }
  if (sqlite3_open_v2(PlainName(path_).c_str(), &db_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    return Error("cannot be opened");
  }
  sqlite3_busy_timeout(db_, 5000);
  return absl::OkStatus();
}

SqliteState::~SqliteState() { sqlite3_close(db_); }

absl::Status SqliteState::CheckVersion() {
  const std::optional<int64_t> tables = Number(db_, "SELECT count(*) FROM sqlite_schema");
  const std::optional<int64_t> application = Number(db_, "PRAGMA application_id");
  const std::optional<int64_t> version = Number(db_, "PRAGMA user_version");
  if (!tables || !application || !version) return Error("cannot be read");
  version_ = 0;
  if (*tables == 0 && *application == 0 && *version == 0) return absl::OkStatus();
  if (*application != kApplicationId) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is not a state file of ebb"));
  }
  if (*version != kStateVersion) {
    const bool later = *version > kStateVersion;
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": was written by ", later ? "a later" : "an earlier", " ebb (version ", *version,
        ", this one knows ", kStateVersion, ")", later ? "" : "; remove it to start again"));
  }
  Statement foreign(db_, kSelectForeign);
  if (foreign.Next()) {
    return Damaged(absl::StrCat("holds the ", Printable(foreign.Text(0)), " ",
                                Printable(foreign.Text(1)), ", which is not ebb's"));
  }
  if (!foreign.ok()) return Error("cannot be read");
  version_ = *version;
  return absl::OkStatus();
}

// Reads only: what is refused stays as it is.
absl::Status SqliteState::Check() {
  if (absl::Status s = CheckVersion(); !s.ok()) return s;
  Statement check(db_, "PRAGMA quick_check(1)");
  if (!check.Next()) return Error("is damaged");
  if (check.Text(0) != "ok") {
    std::string what = check.Text(0);  // May have a heading line.
    std::replace(what.begin(), what.end(), '\n', ' ');
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is damaged: ", Printable(what)));
  }
  return absl::OkStatus();
}

absl::Status SqliteState::PrepareTables() {
  // Another process may have been here since the file was opened.
  if (absl::Status s = CheckVersion(); !s.ok()) return s;
  if (version_ == kStateVersion) return absl::OkStatus();
  const std::string id = absl::StrCat("PRAGMA application_id = ", kApplicationId);
  if (absl::Status s = Execute(kSchema); !s.ok()) return s;
  if (absl::Status s = Execute(id.c_str()); !s.ok()) return s;
  return Execute(absl::StrCat("PRAGMA user_version = ", kStateVersion).c_str());
}

absl::Status SqliteState::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Error("cannot be written");
}

absl::StatusOr<std::optional<ScaleDownState>> SqliteState::Load() {
  absl::StatusOr<Content> content = ReadAtOnce();
  if (!content.ok()) return content.status();
  known_ = *std::move(content);
  overtaken_ = false;
  sizing_.reset();
  return known_->state;
}

absl::StatusOr<std::vector<StoredCounter>> SqliteState::LoadCounters() {
  absl::StatusOr<Content> content = ReadAtOnce();
  if (!content.ok()) return content.status();
  return std::move(content->counters);
}

// All tables as of one moment, whoever writes meanwhile.
absl::StatusOr<SqliteState::Content> SqliteState::ReadAtOnce() {
  if (sqlite3_exec(db_, "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Error("cannot be read");
  }
  absl::StatusOr<Content> content = Content();
  if (absl::Status s = CheckVersion(); !s.ok()) {
    content = s;
  } else {
    content = Read();
  }
  sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return content;
}

absl::Status SqliteState::Damaged(std::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": ", Absl(what),
                   "; the file is damaged or was changed by another program: put back a "
                   "copy, or remove it to start again"));
}

absl::StatusOr<SqliteState::Content> SqliteState::Read() {
  if (version_ == 0) return Content();
  const Tables tables{.db = db_, .version = version_};
  ScaleDownState state;
  FiguresRead figures;
  Content content;
  int64_t last_round = 0;
  TableRead read = ReadFigures(tables, state, figures);
  for (const auto read_table : kReadTables) {
    if (read.ok) read = read_table(tables, state);
  }
  if (read.ok) read = ReadCounters(tables, content.counters);
  if (read.ok) read = ReadSizing(tables, content.sizing);
  if (read.ok) read = CheckRounds(tables, last_round);
  if (!read.what.empty()) return Damaged(read.what);
  if (!read.ok) return Error("cannot be read");
  content.revision = figures.revision;
  if (figures.sizing_digest.value_or(Digest(SizingState())) != Digest(content.sizing)) {
    return Damaged("the pools are not those that their digest (table state) was made of");
  }
  if (figures.cluster) content.cluster = ClusterId{*figures.cluster};
  if (figures.missing.size() == std::size(kNeededFigures)) {  // No round yet.
    const bool empty = state.timers.empty() && state.cooldowns.empty() && !figures.digest;
    if (!empty) return Damaged("table state lacks its rows");
    return content;
  }
  if (!figures.missing.empty()) {
    return Damaged(absl::StrCat("table state lacks the row ", *figures.missing.begin()));
  }
  if (last_round > state.rounds) {
    return Damaged(absl::StrCat("table rounds, column round: ", last_round,
                                " is after the state's last round, ", state.rounds));
  }
  if (figures.digest != Digest(state)) {
    return Damaged("the state is not the one that its digest (table state) was made of");
  }
  if (figures.counters_digest != Digest(content.counters)) {
    return Damaged("the counters are not those that their digest (table state) was made of");
  }
  content.state = std::move(state);
  return content;
}

absl::Status SqliteState::CatchUp() {
  if (!known_ && !overtaken_) {
    absl::StatusOr<Content> content = Read();
    if (!content.ok()) return content.status();
    known_ = *std::move(content);
    return absl::OkStatus();
  }
  if (!overtaken_) {
    constexpr int64_t kNone = -1;  // No state yet.
    int64_t rounds = kNone;
    int64_t revision = 0;
    Statement select(db_, version_ > 0 ? "SELECT key, value FROM state" : "SELECT 0, 0 WHERE 0");
    while (select.Next()) {
      if (select.Text(0) == "rounds") rounds = select.Int(1);
      if (select.Text(0) == "revision") revision = select.Int(1);
    }
    if (!select.ok()) return Error("cannot be read");
    const int64_t known_rounds = known_->state ? known_->state->rounds : kNone;
    if (rounds == known_rounds && revision == known_->revision) return absl::OkStatus();
  }
  known_.reset();
  overtaken_ = true;
  return absl::AbortedError(
      absl::StrCat(path_, ": another round was made from the same state meanwhile; run again"));
}

// The rows of `before` become those of `after`.
absl::Status SqliteState::WriteState(const ScaleDownState& before, const ScaleDownState& after) {
  Statement put(db_, "INSERT OR REPLACE INTO state VALUES(?, ?)");
  const auto figure = [&](const char* key, std::optional<int64_t> value) {
    put.Run(std::string(key), value);
  };
  figure("rounds", after.rounds);
  figure("latest_s", after.latest_s);
  figure("jump_s", after.jump_s);
  figure("revision", known_->revision + 1);
  figure("digest", Digest(after));
  figure("limit_latest_update_s", after.limit.latest_update_s);
  figure("limit_min_interval_s", after.limit.min_interval_s);
  figure("resume", after.resume ? 1 : 0);
  figure("scan_pointer", static_cast<int64_t>(after.planner.scan_pointer));
  if (cluster_ && cluster_ != known_->cluster) {
    figure("cluster", static_cast<int64_t>(*cluster_));
  }
  bool ok = put.ok();
  for (const auto write_table : kWriteTables) ok = ok && write_table(db_, before, after);
  return ok ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::WriteCounters(const std::vector<StoredCounter>& before,
                                        const std::vector<StoredCounter>& after) {
  Statement erase(db_, "DELETE FROM counters WHERE name = ? AND label = ? AND bucket = ?");
  Statement put(db_, "INSERT OR REPLACE INTO counters VALUES(?, ?, ?, ?)");
  Diff(
      before, after, [](const auto& c) { return std::tie(c.name, c.label, c.bucket); },
      [&](const auto& c) { erase.Run(c.name, c.label, c.bucket); },
      [&](const auto& c) { put.Run(c.name, c.label, c.bucket, c.value); });
  return erase.ok() && put.ok() ? WriteCountersDigest() : Error("cannot be written");
}

// Of what the table holds: Count may have added to it since it was loaded.
absl::Status SqliteState::WriteCountersDigest() {
  std::vector<StoredCounter> counters;
  const TableRead read = ReadCounters({.db = db_, .version = version_}, counters);
  if (!read.what.empty()) return Damaged(read.what);
  if (!read.ok) return Error("cannot be read");
  const int64_t digest = Digest(counters);
  Statement put(db_,
                "INSERT INTO state VALUES('counters_digest', ?) "
                "ON CONFLICT DO UPDATE SET value = excluded.value "
                "WHERE value IS NOT excluded.value");
  put.Run(digest);
  return put.ok() ? absl::OkStatus() : Error("cannot be written");
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

// The rows of pools and of the queue become those of `after`.
absl::Status SqliteState::WriteSizing(const SizingState& after) {
  if (!WriteSizingRows(db_, known_->sizing, after)) return Error("cannot be written");
  Statement put(db_, "INSERT OR REPLACE INTO state VALUES(?, ?)");
  put.Run(std::string("sizing_digest"), Digest(after));
  put.Run(std::string("revision"), known_->revision + 1);
  return put.ok() ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::InTransaction(const ScaleDownState* state, const RoundRecord* round,
                                        const std::vector<StoredCounter>* counters,
                                        const std::function<absl::Status()>& before_commit) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = PrepareTables();
  if (status.ok() && state != nullptr) {
    status = CatchUp();
    if (status.ok()) status = WriteState(known_->state.value_or(ScaleDownState()), *state);
    if (status.ok()) {
      status = WriteCounters(known_->counters, counters != nullptr ? *counters : known_->counters);
    }
  }
  // Pools that were set go with the round's state; a record of rounds has none.
  const bool with_sizing = sizing_ && (state != nullptr || round == nullptr);
  if (status.ok() && with_sizing) {
    if (state == nullptr) status = CatchUp();
    if (status.ok()) status = WriteSizing(*sizing_);
  }
  if (status.ok() && round != nullptr) status = WriteRound(*round);
  if (status.ok() && before_commit) status = before_commit();
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
  version_ = kStateVersion;
  if (state != nullptr) {
    known_->state = *state;
    if (cluster_) known_->cluster = cluster_;
  }
  if (with_sizing) known_->sizing = *std::exchange(sizing_, std::nullopt);
  if (state != nullptr || with_sizing) ++known_->revision;
  if (counters != nullptr) known_->counters = *counters;
  return status;
}

absl::Status SqliteState::Save(const ScaleDownState& state, const RoundRecord& round,
                               const std::vector<StoredCounter>& counters) {
  return SaveAfter(state, round, counters, nullptr);
}

absl::Status SqliteState::SaveAfter(const ScaleDownState& state, const RoundRecord& round,
                                    const std::vector<StoredCounter>& counters,
                                    const std::function<absl::Status()>& before_commit) {
  return InTransaction(&state, &round, &counters, before_commit);
}

absl::Status SqliteState::Append(const RoundRecord& round) {
  return InTransaction(nullptr, &round, nullptr, nullptr);
}

absl::Status SqliteState::SaveState(const ScaleDownState& state) {
  return InTransaction(&state, nullptr, nullptr, nullptr);
}

absl::StatusOr<SizingState> SqliteState::LoadSizing() {
  absl::StatusOr<Content> content = ReadAtOnce();
  if (!content.ok()) return content.status();
  known_ = *std::move(content);
  overtaken_ = false;
  return known_->sizing;
}

absl::Status SqliteState::SaveSizing(SizingState sizing) {
  SetSizing(std::move(sizing));
  absl::Status saved = InTransaction(nullptr, nullptr, nullptr, nullptr);
  sizing_.reset();
  return saved;
}

absl::Status SqliteState::Count(const StoredCounter& more) {
  if (version_ != kStateVersion) return absl::OkStatus();
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = CheckVersion();
  if (status.ok()) status = Read().status();
  if (status.ok()) {
    Statement add(db_,
                  "INSERT INTO counters VALUES(?, ?, ?, ?) "
                  "ON CONFLICT DO UPDATE SET value = value + excluded.value");
    add.Run(more.name, more.label, more.bucket, more.value);
    status = add.ok() ? WriteCountersDigest() : Error("cannot be written");
  }
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::StatusOr<int64_t> SqliteState::LastRound() {
  if (version_ == 0) return 0;
  const std::optional<int64_t> last = Number(db_, "SELECT coalesce(max(round), 0) FROM rounds");
  if (!last) return Error("cannot be read");
  return *last;
}

absl::StatusOr<std::optional<SqliteState::RoundMark>> SqliteState::MarkOf(int64_t round) {
  std::optional<RoundMark> mark;
  if (version_ == 0) return mark;
  const std::string select =
      absl::StrCat("SELECT now_s, input_digest FROM rounds WHERE round = ", round);
  Rows rows(db_, "rounds", select.c_str());
  while (rows.Next()) mark = {.now_s = rows.Time(0), .input_digest = rows.Text(1)};
  if (!rows.what().empty()) return Damaged(rows.what());
  if (!rows.ok()) return Error("cannot be read");
  return mark;
}

int64_t SqliteState::rows_written() const { return sqlite3_total_changes64(db_); }

absl::StatusOr<std::vector<RoundRecord>> SqliteState::Rounds() {
  std::vector<RoundRecord> rounds;
  if (version_ == 0) return rounds;
  Rows select(db_, "rounds",
              "SELECT round, now_s, input_digest, status, decision, arguments, input "
              "FROM rounds ORDER BY round");
  while (select.Next()) {
    rounds.push_back({select.Int(0, 0, kCountMax), select.Time(1), select.Text(2), select.Text(3),
                      select.Text(4), select.Text(5), select.Bytes(6)});
  }
  if (!select.what().empty()) return Damaged(select.what());
  if (!select.ok()) return Error("cannot be read");
  return rounds;
}

}  // namespace ebb
