#include "rounds/sqlite_state.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"
#include "rounds/sqlite_table.h"
#include "rounds/text_delta.h"

namespace ebb {
namespace {

constexpr int64_t kApplicationId = 0x65626273;  // "ebbs"
constexpr int64_t kStateVersion = 6;

// Limits for what a column may hold.
constexpr int64_t kCountMax = int64_t{1} << 53;  // Exact as a double.
using CountKind = IntKind<0, kCountMax>;
using UntilKind = IntKind<0, 2 * kLatestTimeS>;  // The sum of a time and a duration.
using MaybeTimeKind = MaybeKind<TimeKind>;
using EventTimeKind = IntKind<kEarliestTimeS, kLatestTimeS>;

// --- The tables ---------------------------------------------------------------------------

struct TimersTable {
  using Row = UnneededTimers::Timer;
  static constexpr const char* kName = "timers";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
  static constexpr auto kValues =
      std::tuple(Column<TextKind, &Row::uid>{"uid"}, Column<TimeKind, &Row::since_s>{"since_s"},
                 Column<FlagKind, &Row::judged>{"judged"});
  static auto Lists(auto& state) { return std::array{&state.timers}; }
};

struct SkippedTable {
  using Row = ScaleDownState::SkippedNode;
  static constexpr const char* kName = "skipped";
  static constexpr auto kValues =
      std::tuple(Column<NameKind, &Row::node>{"node"}, Column<TimeKind, &Row::since_s>{"since_s"});
  static auto Lists(auto& state) { return std::array{&state.skipped}; }
};

struct StartedTable {
  using Row = StartedDeletions::Deletion;
  static constexpr const char* kName = "started";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
  static constexpr auto kValues =
      std::tuple(Column<TextKind, &Row::uid>{"uid"},
                 Column<EnumKind<StartedDeletions::Phase::kSucceeded>, &Row::phase>{"phase"},
                 Column<TimeKind, &Row::at_s>{"at_s"});
  static auto Lists(auto& state) { return std::array{&state.started}; }
};

struct DeletionsTable {
  using Row = NodeInDeletion;
  static constexpr const char* kName = "deletions";
  static constexpr const char* kPart = "drained";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::name>{"node"});
  static constexpr auto kValues = std::tuple(Column<TextKind, &Row::group>{"node_group"});
  static auto Lists(auto& state) {
    return std::array{&state.actuation.empty, &state.actuation.drained};
  }
};

struct EvictionsTable {
  using Row = EvictedPod;
  static constexpr const char* kName = "evictions";
  static constexpr auto kKey =
      std::tuple(Column<TextKind, &Row::namespace_name>{"namespace"},
                 Column<NameKind, &Row::name>{"name"}, Column<TextKind, &Row::uid>{"uid"});
  static constexpr auto kValues = std::tuple(Column<TimeKind, &Row::evicted_at_s>{"evicted_at_s"},
                                             Column<TextKind, &Row::object>{"object"});
  static auto Lists(auto& state) { return std::array{&state.actuation.recent_evictions}; }
};

struct CooldownsTable {
  using Row = Cooldowns::Last;
  static constexpr const char* kName = "cooldowns";
  static constexpr auto kKey = std::tuple(Column<TextKind, &Row::group>{"node_group"});
  static constexpr auto kValues =
      std::tuple(Column<MaybeTimeKind, &Row::scale_up_s>{"scale_up_s"},
                 Column<MaybeTimeKind, &Row::deletion_s>{"deletion_s"},
                 Column<MaybeTimeKind, &Row::failed_deletion_s>{"failed_deletion_s"});
  static auto Lists(auto& state) { return std::array{&state.cooldowns}; }
};

struct HintsTable {
  using Row = PlannerMemory::Hint;
  static constexpr const char* kName = "hints";
  static constexpr const char* kPart = "pending";
  static constexpr auto kKey = std::tuple(Column<TextKind, &Row::pod_key>{"pod"});
  static constexpr auto kValues = std::tuple(Column<TextKind, &Row::node>{"node"});
  static auto Lists(auto& state) {
    return std::array{&state.planner.hints, &state.planner.pending_hints};
  }
};

struct UnremovableTable {
  using Row = PlannerMemory::Unremovable;
  static constexpr const char* kName = "unremovable";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
  static constexpr auto kValues = std::tuple(
      Column<UntilKind, &Row::until_s>{"until_s"}, Column<TextKind, &Row::reason>{"reason"},
      Column<TextKind, &Row::blocking_reason>{"blocking_reason"},
      Column<TextKind, &Row::pod_namespace>{"pod_namespace"},
      Column<TextKind, &Row::pod_name>{"pod_name"}, Column<TextKind, &Row::pdb>{"pdb"});
  static auto Lists(auto& state) { return std::array{&state.planner.unremovable}; }
};

struct CountersTable {
  using Row = StoredCounter;
  static constexpr const char* kName = "counters";
  static constexpr int64_t kBucketMax = 1000;  // Buckets of a histogram.
  static constexpr auto kKey =
      std::tuple(Column<NameKind, &Row::name>{"name"}, Column<TextKind, &Row::label>{"label"},
                 Column<IntKind<-1, kBucketMax>, &Row::bucket>{"bucket"});
  static constexpr auto kValues = std::tuple(Column<AmountKind, &Row::value>{"value"});
  static auto Lists(auto& counters) { return std::array{&counters}; }
  static void Check(Rows& rows, const Row& row) {
    if (row.bucket >= 0) rows.CheckWhole(std::tuple_size_v<decltype(kKey)>);
  }
};

struct PoolsTable {
  using Row = PoolState;
  static constexpr const char* kName = "pools";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::pool>{"pool"});
  static constexpr auto kValues = std::tuple(
      Column<TextKind, &Row::policy>{"policy"}, Column<BytesKind, &Row::state>{"state"},
      Column<TimeKind, &Row::at_s>{"at_s"}, Column<CountKind, &Row::failures>{"failures"},
      Column<FlagKind, &Row::failsafe>{"failsafe"}, Column<CountKind, &Row::grow_to>{"grow_to"},
      Column<CountKind, &Row::grow_by>{"grow_by"},
      Column<TimeKind, &Row::grow_since_s>{"grow_since_s"});
  static auto Lists(auto& sizing) { return std::array{&sizing.pools}; }
};

struct QueueTable {
  using Row = QueuedNode;
  static constexpr const char* kName = "queue";
  static constexpr auto kValues = std::tuple(
      Column<NameKind, &Row::node>{"node"}, Column<TextKind, &Row::uid>{"uid"},
      Column<TextKind, &Row::pool>{"pool"},
      Column<EnumKind<NodeQueue::kTerminate>, &Row::queue>{"kind"},
      Column<TimeKind, &Row::since_s>{"since_s"}, Column<CountKind, &Row::attempts>{"attempts"},
      Column<UntilKind, &Row::retry_s>{"retry_s"});
  static auto Lists(auto& sizing) { return std::array{&sizing.queue}; }
};

// A round as it is stored: `decision` is the difference (text_delta.h) from the decision of round
// `key_round` in the table key_decisions.
struct StoredRound : RoundRecord {
  int64_t key_round = 0;
};
struct RoundsTable {
  using Row = StoredRound;
  static constexpr const char* kName = "rounds";
  static constexpr auto kKey = std::tuple(Column<CountKind, &Row::round>{"round"});
  static constexpr auto kValues = std::tuple(
      Column<TimeKind, &Row::now_s>{"now_s"}, Column<TextKind, &Row::input_digest>{"input_digest"},
      Column<TextKind, &Row::status>{"status"}, Column<CountKind, &Row::key_round>{"key_round"},
      Column<BytesKind, &Row::decision>{"decision"}, Column<TextKind, &Row::arguments>{"arguments"},
      Column<BytesKind, &Row::input>{"input"});
  static auto Lists(auto& rounds) { return std::array{&rounds}; }
};

struct StoredKey {
  int64_t round = 0;
  std::string packed;  // Packed without a base.
};
struct KeyDecisionsTable {
  using Row = StoredKey;
  static constexpr const char* kName = "key_decisions";
  static constexpr auto kKey = std::tuple(Column<CountKind, &Row::round>{"round"});
  static constexpr auto kValues = std::tuple(Column<BytesKind, &Row::packed>{"decision"});
  static auto Lists(auto& keys) { return std::array{&keys}; }
};
// A decision becomes a new key if its packed difference is longer than kDeltaBytes, and longer than
// the packed previous key divided by kDeltaPart.
constexpr size_t kDeltaBytes = 1000;
constexpr size_t kDeltaPart = 3;

// The tables of a report (held_reports.h), which hold a DeletionReport.  Lists that are appended
// to, or replaced as a whole, are stored by position.
struct ReportedDeletionsTable {
  using Row = DeletionReport::Deletion;
  static constexpr const char* kName = "reported_deletions";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
  static constexpr auto kValues = std::tuple(Column<TextKind, &Row::group>{"node_group"},
                                             Column<MaybeKind<FlagKind>, &Row::drained>{"drained"});
  static auto Lists(auto& report) { return std::array{&report.in_progress}; }
};

struct ReportedResultsTable {
  using Row = DeletionReport::DeletionResult;
  static constexpr const char* kName = "reported_results";
  static constexpr auto kValues =
      std::tuple(Column<NameKind, &Row::node>{"node"}, Column<TextKind, &Row::group>{"node_group"},
                 Column<NameKind, &Row::result>{"result"},
                 Column<MaybeKind<EventTimeKind>, &Row::at_s>{"at_s"});
  static auto Lists(auto& report) { return std::array{&report.results}; }
};

struct ReportedEvictionsTable {
  using Row = DeletionReport::Eviction;
  static constexpr const char* kName = "reported_evictions";
  static constexpr auto kValues =
      std::tuple(Column<TextKind, &Row::pod, &EvictedPod::namespace_name>{"namespace"},
                 Column<NameKind, &Row::pod, &EvictedPod::name>{"name"},
                 Column<TextKind, &Row::pod, &EvictedPod::uid>{"uid"},
                 Column<TextKind, &Row::pod, &EvictedPod::object>{"object"},
                 Column<MaybeKind<EventTimeKind>, &Row::at_s>{"at_s"});
  static auto Lists(auto& report) { return std::array{&report.evictions}; }
};

struct ReportedScaleUpsTable {
  using Row = DeletionReport::ScaleUp;
  static constexpr const char* kName = "reported_scale_ups";
  static constexpr auto kValues = std::tuple(Column<NameKind, &Row::group>{"node_group"},
                                             Column<MaybeKind<EventTimeKind>, &Row::at_s>{"at_s"});
  static auto Lists(auto& report) { return std::array{&report.scale_ups}; }
};

struct UnreadyNodesTable {
  using Row = std::string;
  static constexpr const char* kName = "unready_nodes";
  static constexpr auto kValues = std::tuple(Column<NameKind>{"node"});
  static auto Lists(auto& report) { return std::array{&report.unready}; }
};

struct UnregisteredNodesTable {
  using Row = DeletionReport::Unregistered;
  static constexpr const char* kName = "unregistered_nodes";
  static constexpr auto kValues = std::tuple(Column<NameKind, &Row::group>{"node_group"},
                                             Column<CountKind, &Row::count>{"machines"});
  static auto Lists(auto& report) { return std::array{&report.unregistered}; }
};

using StateTables = Tables<TimersTable, SkippedTable, StartedTable, DeletionsTable, EvictionsTable,
                           CooldownsTable, HintsTable, UnremovableTable>;
using CounterTables = Tables<CountersTable>;
using SizingTables = Tables<PoolsTable, QueueTable>;
using ReportTables = Tables<ReportedDeletionsTable, ReportedResultsTable, ReportedEvictionsTable,
                            ReportedScaleUpsTable, UnreadyNodesTable, UnregisteredNodesTable>;
using RoundTables = Tables<RoundsTable, KeyDecisionsTable>;

// The figures of a state: rows of the table `state`, by their names.
struct StateFigures {
  int64_t rounds = 0;
  int64_t latest_s = 0;
  std::optional<int64_t> jump_s;
  std::optional<int64_t> limit_latest_update_s;
  std::optional<int64_t> limit_min_interval_s;
  bool resume = false;
  int64_t scan_pointer = 0;
};
constexpr auto kStateFigures =
    std::tuple(Column<CountKind, &StateFigures::rounds>{"rounds"},
               Column<TimeKind, &StateFigures::latest_s>{"latest_s"},
               Column<MaybeTimeKind, &StateFigures::jump_s>{"jump_s"},
               Column<MaybeTimeKind, &StateFigures::limit_latest_update_s>{"limit_latest_update_s"},
               Column<MaybeTimeKind, &StateFigures::limit_min_interval_s>{"limit_min_interval_s"},
               Column<FlagKind, &StateFigures::resume>{"resume"},
               Column<AnyIntKind, &StateFigures::scan_pointer>{"scan_pointer"});
// Figures that every state has.
constexpr const char* kNeededFigures[] = {"rounds", "latest_s", "resume", "scan_pointer"};

// Figures of the table that are not part of the state.
struct FileFigures {
  int64_t revision = 0;
  std::optional<int64_t> digest;
  std::optional<int64_t> counters_digest;
  std::optional<int64_t> sizing_digest;
  int64_t reports_digest = 0;
  std::optional<int64_t> cluster;
};
constexpr auto kFileFigures =
    std::tuple(Column<CountKind, &FileFigures::revision>{"revision"},
               Column<AnyIntKind, &FileFigures::digest>{"digest"},
               Column<AnyIntKind, &FileFigures::counters_digest>{"counters_digest"},
               Column<AnyIntKind, &FileFigures::sizing_digest>{"sizing_digest"},
               Column<AnyIntKind, &FileFigures::reports_digest>{"reports_digest"},
               Column<AnyIntKind, &FileFigures::cluster>{"cluster"});

StateFigures FiguresOf(const ScaleDownState& state) {
  return {.rounds = state.rounds,
          .latest_s = state.latest_s,
          .jump_s = state.jump_s,
          .limit_latest_update_s = state.limit.latest_update_s,
          .limit_min_interval_s = state.limit.min_interval_s,
          .resume = state.resume,
          .scan_pointer = static_cast<int64_t>(state.planner.scan_pointer)};
}
void SetFigures(const StateFigures& figures, ScaleDownState& state) {
  state.rounds = figures.rounds;
  state.latest_s = figures.latest_s;
  state.jump_s = figures.jump_s;
  state.limit = {.latest_update_s = figures.limit_latest_update_s,
                 .min_interval_s = figures.limit_min_interval_s};
  state.resume = figures.resume;
  state.planner.scan_pointer = static_cast<uint64_t>(figures.scan_pointer);
}

// `missing`: the kNeededFigures that the table lacks.
TableRead ReadFigures(sqlite3* db, StateFigures& state, FileFigures& file,
                      std::set<std::string>& missing) {
  missing.insert(std::begin(kNeededFigures), std::end(kNeededFigures));
  Rows rows(db, "state", "SELECT key, value FROM state");
  while (rows.Next()) {
    const std::string key = rows.Text(0);
    missing.erase(key);
    ForEachColumn(kStateFigures, [&](const auto& figure, int) {
      if (key == figure.name) figure.Read(rows, 1, state);
    });
    ForEachColumn(kFileFigures, [&](const auto& figure, int) {
      if (key == figure.name) figure.Read(rows, 1, file);
    });
  }
  return ResultOf(rows);
}

std::string Schema() {
  return absl::StrCat("CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;\n",
                      StateTables::Schema(), CounterTables::Schema(), SizingTables::Schema(),
                      ReportTables::Schema(), RoundTables::Schema());
}

// Selects what a file has besides the tables above.  SQLite's own objects, such as the tables of
// ANALYZE, are allowed.  A trigger is not: it would change what is saved.
std::string SelectForeign() {
  std::vector<std::string> names = {"state"};
  for (const auto& more : {StateTables::Names(), CounterTables::Names(), SizingTables::Names(),
                           ReportTables::Names(), RoundTables::Names()}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  return absl::StrCat(
      "SELECT type, name FROM sqlite_schema WHERE NOT (type = 'table' AND name IN ('",
      absl::StrJoin(names, "', '"),
      "')) AND NOT (type IN ('table', 'index') AND name GLOB 'sqlite_*')");
}

int64_t Digest(const ScaleDownState& state) {
  StateDigest digest;
  const StateFigures figures = FiguresOf(state);
  ForEachColumn(kStateFigures,
                [&](const auto& figure, int) { digest.Add(figure.Stored(figures)); });
  StateTables::Digest(state, digest);
  return digest.Value();
}

int64_t Digest(const std::vector<StoredCounter>& counters) {
  StateDigest digest;
  CounterTables::Digest(counters, digest);
  return digest.Value();
}

int64_t Digest(const SizingState& sizing) {
  StateDigest digest;
  SizingTables::Digest(sizing, digest);
  return digest.Value();
}

// The digest of the reports is a sum over rows, so that saving a report costs only its own rows.
template <typename Table>
uint64_t ReportDigest(const typename Table::Row& row, int64_t place = 0) {
  StateDigest digest;
  digest.Add(std::string(Table::kName), place);
  DigestRow<Table>(row, digest);
  return static_cast<uint64_t>(digest.Value());
}

// Adds and removes rows of one report table, and keeps the sum of their digests current.
template <typename Table>
class ReportRows {
 public:
  ReportRows(sqlite3* db, uint64_t& sum) : put_(db, PutSqlOf<Table>()), db_(db), sum_(sum) {}

  void Put(const typename Table::Row& row) {
    PutRow<Table>(put_, row);
    sum_ += ReportDigest<Table>(row);
  }
  void Erase(const typename Table::Row& row) {
    Statement erase(db_, EraseSqlOf<Table>());
    std::apply([&](const auto&... column) { erase.Run(column.Stored(row)...); }, Table::kKey);
    if (!erase.ok()) ok_ = false;
    sum_ -= ReportDigest<Table>(row);
  }
  // Appends after the `held` rows that the table has.
  void Append(const std::vector<typename Table::Row>& rows, size_t held) {
    auto place = static_cast<int64_t>(held);
    for (const auto& row : rows) {
      PutRow<Table>(put_, row, place);
      sum_ += ReportDigest<Table>(row, place++);
    }
  }
  // Removes all rows of the table, which are `rows`.
  void Clear(const std::vector<typename Table::Row>& rows) {
    if (rows.empty()) return;
    Statement erase(db_, absl::StrCat("DELETE FROM ", Table::kName, " WHERE place >= ?"));
    erase.Run(int64_t{0});
    if (!erase.ok()) ok_ = false;
    int64_t place = 0;
    for (const auto& row : rows) sum_ -= ReportDigest<Table>(row, place++);
  }
  [[nodiscard]] bool ok() const { return ok_ && put_.ok(); }

 private:
  Statement put_;
  sqlite3* db_;
  uint64_t& sum_;
  bool ok_ = true;
};

// The sum over all rows that are held.
uint64_t ReportsDigest(const DeletionReport& report) {
  uint64_t sum = 0;
  const auto add = [&]<typename Table>(const std::vector<typename Table::Row>& rows, bool places) {
    int64_t place = 0;
    for (const auto& row : rows) sum += ReportDigest<Table>(row, places ? place++ : 0);
  };
  add.operator()<ReportedDeletionsTable>(report.in_progress, false);
  add.operator()<ReportedResultsTable>(report.results, true);
  add.operator()<ReportedEvictionsTable>(report.evictions, true);
  add.operator()<ReportedScaleUpsTable>(report.scale_ups, true);
  add.operator()<UnreadyNodesTable>(report.unready, true);
  add.operator()<UnregisteredNodesTable>(report.unregistered, true);
  return sum;
}

std::string DamagedDecision(const char* table, int64_t round) {
  return absl::StrCat("table ", table, ", column decision: that of round ", round,
                      " cannot be unpacked");
}

std::optional<int64_t> Number(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  if (!statement.Next()) return std::nullopt;
  return statement.Int(0);
}

// Checks the columns of `rounds`.  A round of a state file has no arguments; a round of a record
// has.  `last` becomes the last round without arguments.
TableRead CheckRounds(sqlite3* db, int64_t& last) {
  Rows rows(db, "rounds",
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

// 0 if the file cannot be examined.
int64_t BytesOf(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

// A database has at least its header.  SQLite treats a file of one byte as empty, and would
// overwrite a file that may be the caller's.
constexpr int64_t kHeaderBytes = 100;

// SQLite gives some names another meaning than a file name: ":memory:", "" and, in some builds,
// URIs ("file:x?mode=memory").  With a folder in front, a name is only a file name.
std::string PlainName(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// A path that exists and is not a regular file: SQLite would put a journal beside a device.
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
  const auto error = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", doing, ": ", Absl(why)));
  };
  if (db_ == nullptr) return error("no memory");
  const std::string message = Printable(sqlite3_errmsg(db_));
  switch (sqlite3_errcode(db_)) {
    case SQLITE_OK:  // A later call succeeded, so the code and message are lost.
      return error("the disk is full or fails");
    case SQLITE_BUSY:
      return error("another program uses it: " + message);
    case SQLITE_CORRUPT:
      return Damaged(absl::StrCat(doing, ": ", message));
    default:
      return error(message);
  }
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
  // A connection that may write rolls back the journal when it first reads.
  bool done = sqlite3_open_v2(PlainName(path_).c_str(), &writer, SQLITE_OPEN_READWRITE, nullptr) ==
              SQLITE_OK;
  sqlite3_busy_timeout(writer, 5000);
  done = done && Number(writer, "SELECT count(*) FROM sqlite_schema").has_value();
  sqlite3_close(writer);
  if (!done) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": the program that wrote it stopped in the middle of a write; its journal ", path_,
        "-journal must be rolled back first, and for that the file and its "
        "folder must be writable; copy file and journal elsewhere, or change the permissions"));
  }
  if (sqlite3_open_v2(PlainName(path_).c_str(), &db_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    return Error("cannot be opened");
  }
  sqlite3_busy_timeout(db_, 5000);
  return absl::OkStatus();
}

SqliteState::~SqliteState() { sqlite3_close(db_); }

absl::Status SqliteState::CheckVersion() {
  // One after the other: what follows an error would replace it.
  const std::optional<int64_t> tables = Number(db_, "SELECT count(*) FROM sqlite_schema");
  if (!tables) return Error("cannot be read");
  const std::optional<int64_t> application = Number(db_, "PRAGMA application_id");
  if (!application) return Error("cannot be read");
  const std::optional<int64_t> version = Number(db_, "PRAGMA user_version");
  if (!version) return Error("cannot be read");
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
  Statement foreign(db_, SelectForeign());
  if (foreign.Next()) {
    return Damaged(absl::StrCat("holds the ", Printable(foreign.Text(0)), " ",
                                Printable(foreign.Text(1)), ", which is not ebb's"));
  }
  if (!foreign.ok()) return Error("cannot be read");
  version_ = *version;
  return absl::OkStatus();
}

// Only reads, so that a rejected file stays unchanged.
absl::Status SqliteState::Check() {
  if (absl::Status s = CheckVersion(); !s.ok()) return s;
  Statement check(db_, "PRAGMA quick_check(1)");
  if (!check.Next()) return Error("is damaged");
  if (check.Text(0) != "ok") {
    std::string what = check.Text(0);  // May begin with a heading line.
    std::replace(what.begin(), what.end(), '\n', ' ');
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is damaged: ", Printable(what)));
  }
  return CheckUse();
}

// Only the rounds of a record have arguments.
absl::Status SqliteState::CheckUse() {
  if (options_.use == SqliteUse::kAny || version_ == 0) return absl::OkStatus();
  const std::optional<int64_t> recorded = Number(
      db_, "SELECT coalesce((SELECT arguments != '' FROM rounds ORDER BY round LIMIT 1), 0)");
  if (!recorded) return Error("cannot be read");
  const bool is_record = *recorded != 0;
  if (is_record == (options_.use == SqliteUse::kRecord)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path_, is_record ? ": is a record, not a state file" : ": is a state file, not a record"));
}

absl::Status SqliteState::PrepareTables() {
  EBB_DCHECK(sqlite3_txn_state(db_, "main") == SQLITE_TXN_WRITE);
  // Another process may have made the tables since the file was opened.
  if (absl::Status s = CheckVersion(); !s.ok()) return s;
  if (version_ == kStateVersion) return CheckUse();
  const std::string id = absl::StrCat("PRAGMA application_id = ", kApplicationId);
  if (absl::Status s = Execute(Schema().c_str()); !s.ok()) return s;
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

// Reads all tables as of one moment, whatever other processes write meanwhile.
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

absl::Status SqliteState::WentBack(int64_t rounds) const {
  const std::string now = version_ == 0 ? "is empty"
                          : rounds < 0  ? "holds no round"
                                        : absl::StrCat("ends with round ", rounds);
  const std::string before =
      known_->state ? absl::StrCat("ended with round ", known_->state->rounds) : "held reports";
  return absl::FailedPreconditionError(
      absl::StrCat(path_, ": ", now, " now, and ", before,
                   " when this process last read or wrote it: it was emptied, or an older copy "
                   "was put in its place"));
}

absl::StatusOr<SqliteState::Content> SqliteState::Read() {
  if (version_ == 0) return Content();
  ScaleDownState state;
  StateFigures state_figures;
  FileFigures figures;
  std::set<std::string> missing;
  Content content;
  int64_t last_round = 0;
  TableRead read = ReadFigures(db_, state_figures, figures, missing);
  if (read.ok) read = StateTables::Read(db_, state);
  if (read.ok) read = CounterTables::Read(db_, content.counters);
  if (read.ok) read = SizingTables::Read(db_, content.sizing);
  DeletionReport report;
  if (read.ok) read = ReportTables::Read(db_, report);
  if (read.ok) read = CheckRounds(db_, last_round);
  if (!read.what.empty()) return Damaged(read.what);
  if (!read.ok) return Error("cannot be read");
  content.revision = figures.revision;
  if (figures.sizing_digest.value_or(Digest(SizingState())) != Digest(content.sizing)) {
    return Damaged("the pools do not match their digest (table state)");
  }
  content.reports_digest = static_cast<uint64_t>(figures.reports_digest);
  if (content.reports_digest != ReportsDigest(report)) {
    return Damaged("the reports do not match their digest (table state)");
  }
  content.reports = HeldReports(std::move(report));
  if (figures.cluster) content.cluster = ClusterId{*figures.cluster};
  if (missing.size() == std::size(kNeededFigures)) {  // No round yet.
    const bool empty = state.timers.empty() && state.cooldowns.empty() && !figures.digest;
    if (!empty) return Damaged("table state lacks its rows");
    return content;
  }
  if (!missing.empty()) {
    return Damaged(absl::StrCat("table state lacks the row ", *missing.begin()));
  }
  SetFigures(state_figures, state);
  if (last_round > state.rounds) {
    return Damaged(absl::StrCat("table rounds, column round: ", last_round,
                                " is after the state's last round, ", state.rounds));
  }
  if (figures.digest != Digest(state)) {
    return Damaged("the state does not match its digest (table state)");
  }
  if (figures.counters_digest != Digest(content.counters)) {
    return Damaged("the counters do not match their digest (table state)");
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
    // Both only go up.
    if (rounds < known_rounds || revision < known_->revision) return WentBack(rounds);
  }
  known_.reset();
  overtaken_ = true;
  return absl::AbortedError(
      absl::StrCat(path_, ": another round was made from the same state meanwhile; run again"));
}

// Turns the rows of `before` into those of `after`.
absl::Status SqliteState::WriteState(const ScaleDownState& before, const ScaleDownState& after) {
  Statement put(db_, "INSERT OR REPLACE INTO state VALUES(?, ?)");
  const StateFigures figures = FiguresOf(after);
  ForEachColumn(kStateFigures, [&](const auto& figure, int) {
    put.Run(std::string(figure.name), figure.Stored(figures));
  });
  put.Run(std::string("digest"), Digest(after));
  if (cluster_ && cluster_ != known_->cluster) {
    put.Run(std::string("cluster"), static_cast<int64_t>(*cluster_));
  }
  return put.ok() && StateTables::Write(db_, before, after) ? absl::OkStatus()
                                                            : Error("cannot be written");
}

absl::Status SqliteState::WriteCounters(const std::vector<StoredCounter>& before,
                                        const std::vector<StoredCounter>& after) {
  return CounterTables::Write(db_, before, after) ? WriteCountersDigest()
                                                  : Error("cannot be written");
}

// The digest of what the table holds, because Count may have added to it since it was loaded.
absl::Status SqliteState::WriteCountersDigest() {
  std::vector<StoredCounter> counters;
  const TableRead read = CounterTables::Read(db_, counters);
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

// Reads the last key again only if another process has written it.
absl::Status SqliteState::LoadKeyDecision() {
  Rows rows(db_, "key_decisions",
            "SELECT round, decision FROM key_decisions ORDER BY round DESC LIMIT 1");
  if (!rows.Next()) {
    key_decision_.reset();
    return rows.ok() ? absl::OkStatus() : Error("cannot be read");
  }
  StoredKey key = ReadRow<KeyDecisionsTable>(rows);
  if (!rows.what().empty()) return Damaged(rows.what());
  if (key_decision_ && key_decision_->round == key.round && key_decision_->packed == key.packed) {
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> text = UnpackDelta("", key.packed);
  if (!text.ok()) return Damaged(DamagedDecision("key_decisions", key.round));
  key_decision_ = {
      .round = key.round, .packed = std::move(key.packed), .base = DeltaBase(*std::move(text))};
  return absl::OkStatus();
}

absl::Status SqliteState::WriteRound(const RoundRecord& round) {
  if (absl::Status s = LoadKeyDecision(); !s.ok()) return s;
  StoredRound stored{round};
  if (key_decision_) {
    stored.decision = PackDelta(key_decision_->base, round.decision);
    stored.key_round = key_decision_->round;
  }
  const size_t most =
      key_decision_ ? std::max(kDeltaBytes, key_decision_->packed.size() / kDeltaPart) : 0;
  if (!key_decision_ || stored.decision.size() > most) {
    key_decision_ = {.round = round.round,
                     .packed = PackDelta(DeltaBase(), round.decision),
                     .base = DeltaBase(round.decision)};
    Statement put(db_, PutSqlOf<KeyDecisionsTable>());
    PutRow<KeyDecisionsTable>(put, {.round = round.round, .packed = key_decision_->packed});
    if (!put.ok()) return Error("cannot be written");
    stored.decision = PackDelta(key_decision_->base, round.decision);
    stored.key_round = round.round;
  }
  Statement insert(db_, PutSqlOf<RoundsTable>());
  PutRow<RoundsTable>(insert, stored);
  if (!insert.ok()) return Error("cannot be written");
  if (options_.rounds_max <= 0) return absl::OkStatus();
  Statement drop(db_, "DELETE FROM rounds WHERE round <= ?");
  drop.Run(round.round - options_.rounds_max);
  Statement drop_keys(db_,
                      "DELETE FROM key_decisions "
                      "WHERE round < (SELECT min(key_round) FROM rounds)");
  drop_keys.Run();
  return drop.ok() && drop_keys.ok() ? absl::OkStatus() : Error("cannot be written");
}

// Turns the rows of pools and of the queue into those of `after`.
absl::Status SqliteState::WriteSizing(const SizingState& after) {
  if (!SizingTables::Write(db_, known_->sizing, after)) return Error("cannot be written");
  Statement put(db_, "INSERT OR REPLACE INTO state VALUES('sizing_digest', ?)");
  put.Run(Digest(after));
  return put.ok() ? absl::OkStatus() : Error("cannot be written");
}

// REQUIRES: known_->reports is what the file holds.
absl::Status SqliteState::WriteReport(const HeldReports::Changes& changes) {
  EBB_DCHECK(known_.has_value());
  const HeldReports& held = known_->reports;
  uint64_t& sum = known_->reports_digest;
  ReportRows<ReportedDeletionsTable> deletions(db_, sum);
  for (const auto& each : changes.ended) deletions.Erase(each);
  for (const auto& each : changes.begun) {
    const auto before = held.in_progress().find(each.node);
    if (before != held.in_progress().end()) deletions.Erase(before->second);
    deletions.Put(each);
  }
  ReportRows<ReportedResultsTable> results(db_, sum);
  results.Append(changes.results, held.rest().results.size());
  ReportRows<ReportedEvictionsTable> evictions(db_, sum);
  evictions.Append(changes.evictions, held.rest().evictions.size());
  ReportRows<ReportedScaleUpsTable> scale_ups(db_, sum);
  scale_ups.Append(changes.scale_ups, held.rest().scale_ups.size());
  ReportRows<UnreadyNodesTable> unready(db_, sum);
  if (changes.unready && *changes.unready != held.rest().unready) {
    unready.Clear(held.rest().unready);
    unready.Append(*changes.unready, 0);
  }
  ReportRows<UnregisteredNodesTable> unregistered(db_, sum);
  if (changes.unregistered && *changes.unregistered != held.rest().unregistered) {
    unregistered.Clear(held.rest().unregistered);
    unregistered.Append(*changes.unregistered, 0);
  }
  const bool ok = deletions.ok() && results.ok() && evictions.ok() && scale_ups.ok() &&
                  unready.ok() && unregistered.ok();
  return ok ? WriteReportsDigest() : Error("cannot be written");
}

// Deletes the reports that were for one round only, because a round has used them.
absl::Status SqliteState::ForgetRoundsReports() {
  const DeletionReport& held = known_->reports.rest();
  uint64_t& sum = known_->reports_digest;
  ReportRows<ReportedResultsTable> results(db_, sum);
  results.Clear(held.results);
  ReportRows<ReportedEvictionsTable> evictions(db_, sum);
  evictions.Clear(held.evictions);
  ReportRows<ReportedScaleUpsTable> scale_ups(db_, sum);
  scale_ups.Clear(held.scale_ups);
  const bool ok = results.ok() && evictions.ok() && scale_ups.ok();
  return ok ? WriteReportsDigest() : Error("cannot be written");
}

absl::Status SqliteState::WriteRevision() {
  Statement put(db_, "INSERT OR REPLACE INTO state VALUES('revision', ?)");
  put.Run(known_->revision + 1);
  return put.ok() ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::WriteReportsDigest() {
  Statement put(db_,
                "INSERT INTO state VALUES('reports_digest', ?) "
                "ON CONFLICT DO UPDATE SET value = excluded.value "
                "WHERE value IS NOT excluded.value");
  put.Run(static_cast<int64_t>(known_->reports_digest));
  return put.ok() ? absl::OkStatus() : Error("cannot be written");
}

absl::Status SqliteState::Write(const Writing& what) {
  EBB_DCHECK(sqlite3_get_autocommit(db_) == 0);
  if (absl::Status s = PrepareTables(); !s.ok()) return s;
  if (what.OfState()) {
    if (absl::Status s = CatchUp(); !s.ok()) return s;
  }
  absl::Status status;
  if (what.state != nullptr) {
    status = WriteState(known_->state.value_or(ScaleDownState()), *what.state);
    if (status.ok()) {
      status = WriteCounters(known_->counters,
                             what.counters != nullptr ? *what.counters : known_->counters);
    }
    if (status.ok() && what.round != nullptr) status = ForgetRoundsReports();
  }
  if (status.ok() && what.report != nullptr) status = WriteReport(*what.report);
  if (status.ok() && what.sizing != nullptr) status = WriteSizing(*what.sizing);
  if (status.ok() && what.OfState()) status = WriteRevision();
  if (status.ok() && what.round != nullptr) status = WriteRound(*what.round);
  if (status.ok() && what.before_commit) status = what.before_commit();
  return status;
}

absl::Status SqliteState::InTransaction(Writing what) {
  // Pools that SetSizing() set are written with the round's state; a record of rounds has no pools.
  if (sizing_ && (what.state != nullptr || what.round == nullptr)) what.sizing = &*sizing_;
  const bool was_known = known_.has_value();
  const uint64_t reports_digest = was_known ? known_->reports_digest : 0;
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = Write(what);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    // Content that was read within the transaction is discarded.
    if (!was_known) known_.reset();
    if (known_) known_->reports_digest = reports_digest;
    return status;
  }
  version_ = kStateVersion;
  if (what.state != nullptr) {
    known_->state = *what.state;
    if (cluster_) known_->cluster = cluster_;
    if (what.round != nullptr) known_->reports.ForgetRound();
  }
  if (what.report != nullptr) known_->reports.Apply(*what.report);
  if (what.sizing != nullptr) known_->sizing = *std::exchange(sizing_, std::nullopt);
  if (what.OfState()) ++known_->revision;
  if (what.counters != nullptr) known_->counters = *what.counters;
  return status;
}

absl::Status SqliteState::Save(const ScaleDownState& state, const RoundRecord& round,
                               const std::vector<StoredCounter>& counters) {
  return SaveAfter(state, round, counters, nullptr);
}

absl::Status SqliteState::SaveAfter(const ScaleDownState& state, const RoundRecord& round,
                                    const std::vector<StoredCounter>& counters,
                                    const std::function<absl::Status()>& before_commit) {
  return InTransaction(
      {.state = &state, .round = &round, .counters = &counters, .before_commit = before_commit});
}

absl::Status SqliteState::Append(const RoundRecord& round) {
  return InTransaction({.round = &round});
}

absl::Status SqliteState::SaveState(const ScaleDownState& state) {
  return InTransaction({.state = &state});
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
  absl::Status saved = InTransaction({});
  sizing_.reset();
  return saved;
}

absl::Status SqliteState::SaveReport(const HeldReports::Changes& changes) {
  return InTransaction({.report = &changes});
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
  std::vector<StoredRound> stored;
  std::vector<StoredKey> keys;
  TableRead read = ReadTable<RoundsTable>(db_, stored);
  if (read.ok) read = ReadTable<KeyDecisionsTable>(db_, keys);
  if (!read.what.empty()) return Damaged(read.what);
  if (!read.ok) return Error("cannot be read");
  std::map<int64_t, std::string> texts;
  for (const StoredKey& key : keys) {
    absl::StatusOr<std::string> text = UnpackDelta("", key.packed);
    if (!text.ok()) return Damaged(DamagedDecision("key_decisions", key.round));
    texts[key.round] = *std::move(text);
  }
  for (StoredRound& each : stored) {
    absl::StatusOr<std::string> text = UnpackDelta(texts[each.key_round], each.decision);
    if (!text.ok()) return Damaged(DamagedDecision("rounds", each.round));
    each.decision = *std::move(text);
    rounds.push_back(std::move(each));
  }
  return rounds;
}

}  // namespace ebb
