// A table of a state file, described once: its columns, and the lists whose items are its rows.
// The schema, the reader, the writer of changed rows, and the digest follow from the description.
//
//   struct TimersTable {
//     using Row = UnneededTimers::Timer;
//     static constexpr const char* kName = "timers";
//     static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
//     static constexpr auto kValues = std::tuple(Column<TextKind, &Row::uid>{"uid"},
//                                                Column<TimeKind, &Row::since_s>{"since_s"},
//                                                Column<FlagKind, &Row::judged>{"judged"});
//     static auto Lists(auto& state) { return std::array{&state.timers}; }
//   };
//
// A table without kKey identifies its rows by their position in the list (column `place`).  A table
// with kPart holds two lists, and the column of that name says to which list a row belongs.
// Check(rows, row), if defined, checks conditions that span several columns.
//
// Errors:  Rows::what() names table, column and value.
// Threads: none.

#ifndef EBB_ROUNDS_SQLITE_TABLE_H_
#define EBB_ROUNDS_SQLITE_TABLE_H_

#include <sqlite3.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text_hasher.h"

namespace ebb {

// Bytes for a column of type BLOB.
struct SqliteBlob {
  const std::string& bytes;
};

// A prepared statement.  After an error every call does nothing, so the caller checks ok() once
// after a sequence of rows.
//
// SQLite ends a transaction by itself if the disk is full or fails.  Any later statement would be a
// transaction of its own and would persist beside the old state, so Run() fails outside a
// transaction.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql)
      : ok_(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK) {}
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

  // Advances to the next row of the result.
  bool Next();
  [[nodiscard]] int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string Text(int column) const;

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
  void Bind(int index, std::string_view value) {
    // Null data would be bound as NULL.
    Check(sqlite3_bind_text64(statement_, index, value.empty() ? "" : value.data(), value.size(),
                              SQLITE_STATIC, SQLITE_UTF8));
  }
  void Bind(int index, const SqliteBlob& value) {
    Check(sqlite3_bind_blob64(statement_, index, value.bytes.data(), value.bytes.size(),
                              SQLITE_STATIC));
  }

  sqlite3_stmt* statement_ = nullptr;
  bool ok_;
};

// Reads the rows of a table and checks every value against what its column may hold.  The first
// invalid value ends the rows; what() describes it.
class Rows : public Statement {
 public:
  Rows(sqlite3* db, const char* table, const std::string& sql)
      : Statement(db, sql), table_(table) {}

  // "table timers, column since_s: -5 is not from 0 to 9"; empty if no value is wrong.
  [[nodiscard]] const std::string& what() const { return what_; }

  int64_t Int(int column, int64_t min, int64_t max);
  int64_t Time(int column);
  bool Flag(int column) { return Int(column, 0, 1) != 0; }
  [[nodiscard]] bool IsNull(int column) const {
    return sqlite3_column_type(get(), column) == SQLITE_NULL;
  }
  // A number that is not negative.
  double Amount(int column);
  void CheckWhole(int column);
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
  void Wrong(int column, std::string_view how);

 private:
  bool Holds(int column, int type, const char* name);

  const char* table_;
  std::string what_;
};

// The result of reading a table.  `what`: as Rows::what().
struct TableRead {
  bool ok = true;
  std::string what = {};
};
inline TableRead ResultOf(const Rows& rows) { return {.ok = rows.ok(), .what = rows.what()}; }

// A hash over values.
class StateDigest {
 public:
  template <typename... Values>
  void Add(const Values&... values) {
    (Put(values), ...);
  }
  [[nodiscard]] int64_t Value() const { return static_cast<int64_t>(hasher_.Value()); }

 private:
  void Put(double value) { Put(std::bit_cast<int64_t>(value)); }
  void Put(int64_t value) { hasher_.Add({reinterpret_cast<const char*>(&value), sizeof(value)}); }
  void Put(const std::optional<int64_t>& value) {
    Put(int64_t{value.has_value()});
    Put(value.value_or(0));
  }
  void Put(const SqliteBlob& blob) { Put(blob.bytes); }
  void Put(std::string_view text) {
    Put(static_cast<int64_t>(text.size()));
    hasher_.Add(text);
  }

  TextHasher hasher_;
};

// --- Kinds of columns ---------------------------------------------------------------------
//
// Read() returns the value of a row's column; Stored() returns what the column stores for a value.

struct TextKind {
  static constexpr const char* kType = "TEXT";
  static std::string Read(Rows& rows, int column) { return rows.Text(column); }
  static std::string_view Stored(std::string_view value) { return value; }
};
// A text that is not empty.
struct NameKind : TextKind {
  static std::string Read(Rows& rows, int column) { return rows.Name(column); }
};
struct BytesKind {
  static constexpr const char* kType = "BLOB";
  static std::string Read(Rows& rows, int column) { return rows.Bytes(column); }
  static SqliteBlob Stored(const std::string& value) { return {value}; }
};
template <int64_t kMin, int64_t kMax>
struct IntKind {
  static constexpr const char* kType = "INTEGER";
  static int64_t Read(Rows& rows, int column) { return rows.Int(column, kMin, kMax); }
  template <typename Integer>
  static int64_t Stored(Integer value) {
    return static_cast<int64_t>(value);
  }
};
using AnyIntKind =
    IntKind<std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()>;
struct TimeKind : AnyIntKind {
  static int64_t Read(Rows& rows, int column) { return rows.Time(column); }
};
struct FlagKind : AnyIntKind {
  static bool Read(Rows& rows, int column) { return rows.Flag(column); }
};
struct AmountKind {
  static constexpr const char* kType = "REAL";
  static double Read(Rows& rows, int column) { return rows.Amount(column); }
  static double Stored(double value) { return value; }
};
// An enumeration from 0 to kLast.
template <auto kLast>
struct EnumKind : IntKind<0, static_cast<int64_t>(kLast)> {
  static decltype(kLast) Read(Rows& rows, int column) {
    return static_cast<decltype(kLast)>(rows.Int(column, 0, static_cast<int64_t>(kLast)));
  }
};
// A value that may be absent.
template <typename Kind>
struct MaybeKind : Kind {
  static auto Read(Rows& rows, int column) -> std::optional<decltype(Kind::Read(rows, column))> {
    if (rows.IsNull(column)) return std::nullopt;
    return Kind::Read(rows, column);
  }
  template <typename Value>
  static std::optional<int64_t> Stored(const std::optional<Value>& value) {
    if (!value) return std::nullopt;
    return static_cast<int64_t>(*value);
  }
};

// A member of a row, and its column.  `kPath`: the member, or the path to it through other members;
// empty: the row itself.
template <typename Kind, auto... kPath>
struct Column {
  const char* name;

  static constexpr const char* kType = Kind::kType;
  template <typename Row>
  static void Read(Rows& rows, int column, Row& row) {
    auto& member = (row.*....*kPath);
    member = static_cast<std::remove_reference_t<decltype(member)>>(Kind::Read(rows, column));
  }
  template <typename Row>
  static decltype(auto) Stored(const Row& row) {
    return Kind::Stored((row.*....*kPath));
  }
  template <typename Row>
  static const auto& Value(const Row& row) {
    return (row.*....*kPath);
  }
};

// --- What follows from a description ------------------------------------------------------

template <typename Table>
inline constexpr bool kHasKey = requires { Table::kKey; };
template <typename Table>
inline constexpr bool kHasParts = requires { Table::kPart; };

// The columns that hold members.
template <typename Table>
constexpr auto MembersOf() {
  if constexpr (kHasKey<Table>) {
    return std::tuple_cat(Table::kKey, Table::kValues);
  } else {
    return Table::kValues;
  }
}

// Calls `visit`(column, its index in MembersOf).
template <typename Columns, typename Visit>
void ForEachColumn(const Columns& columns, Visit visit) {
  int place = 0;
  std::apply([&](const auto&... column) { (visit(column, place++), ...); }, columns);
}

// Names of the columns of the primary key.
template <typename Table>
std::vector<std::string> KeyNames() {
  std::vector<std::string> names;
  if constexpr (kHasKey<Table>) {
    ForEachColumn(Table::kKey, [&](const auto& column, int) { names.emplace_back(column.name); });
  } else {
    names.emplace_back("place");
  }
  if constexpr (kHasParts<Table>) names.emplace_back(Table::kPart);
  return names;
}

// All columns, in the order in which statements name them.
template <typename Table>
std::vector<std::string> ColumnNames() {
  std::vector<std::string> names;
  ForEachColumn(MembersOf<Table>(),
                [&](const auto& column, int) { names.emplace_back(column.name); });
  if constexpr (!kHasKey<Table>) names.emplace_back("place");
  if constexpr (kHasParts<Table>) names.emplace_back(Table::kPart);
  return names;
}

template <typename Table>
std::string SchemaOf() {
  std::vector<std::string> columns;
  ForEachColumn(MembersOf<Table>(), [&](const auto& column, int) {
    columns.push_back(absl::StrCat(column.name, " ", column.kType));
  });
  if constexpr (kHasParts<Table>) columns.push_back(absl::StrCat(Table::kPart, " INTEGER"));
  if constexpr (!kHasKey<Table>) {
    columns.emplace_back("place INTEGER PRIMARY KEY");
    return absl::StrCat("CREATE TABLE ", Table::kName, "(", absl::StrJoin(columns, ", "), ");\n");
  } else {
    return absl::StrCat("CREATE TABLE ", Table::kName, "(", absl::StrJoin(columns, ", "),
                        ", PRIMARY KEY(", absl::StrJoin(KeyNames<Table>(), ", "),
                        ")) WITHOUT ROWID;\n");
  }
}

template <typename Table>
std::string SelectOf() {
  return absl::StrCat("SELECT ", absl::StrJoin(ColumnNames<Table>(), ", "), " FROM ", Table::kName,
                      " ORDER BY ", absl::StrJoin(KeyNames<Table>(), ", "));
}
template <typename Table>
std::string PutSqlOf() {
  const std::vector<std::string> names = ColumnNames<Table>();
  return absl::StrCat("INSERT OR REPLACE INTO ", Table::kName, "(", absl::StrJoin(names, ", "),
                      ") VALUES(", absl::StrJoin(std::vector<std::string>(names.size(), "?"), ", "),
                      ")");
}
template <typename Table>
std::string EraseSqlOf() {
  return absl::StrCat("DELETE FROM ", Table::kName, " WHERE ",
                      absl::StrJoin(KeyNames<Table>(), " = ? AND "), " = ?");
}

// The current row of `rows`.
template <typename Table>
typename Table::Row ReadRow(Rows& rows) {
  typename Table::Row row{};
  ForEachColumn(MembersOf<Table>(),
                [&](const auto& column, int at) { column.Read(rows, at, row); });
  if constexpr (requires { Table::Check(rows, row); }) Table::Check(rows, row);
  return row;
}

// Adds the table's rows to the lists of `owner`, which are empty.
template <typename Table, typename Owner>
TableRead ReadTable(sqlite3* db, Owner& owner) {
  constexpr int kMembers = std::tuple_size_v<decltype(MembersOf<Table>())>;
  const auto lists = Table::Lists(owner);
  Rows rows(db, Table::kName, SelectOf<Table>());
  while (rows.Next()) {
    size_t part = 0;
    if constexpr (kHasParts<Table>) part = rows.Flag(kMembers) ? 1 : 0;
    lists[part]->push_back(ReadRow<Table>(rows));
  }
  return ResultOf(rows);
}

// Puts a row; `more`: its position, or its part.
template <typename Table, typename... More>
void PutRow(Statement& put, const typename Table::Row& row, More... more) {
  std::apply([&](const auto&... column) { put.Run(column.Stored(row)..., more...); },
             MembersOf<Table>());
}

// Compares two lists sorted by the same key.  Calls `erase` for each row that goes, and `put` for
// each row that is new or changed under its key.
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

template <typename Table>
bool WriteSortedList(sqlite3* db, const std::vector<typename Table::Row>& before,
                     const std::vector<typename Table::Row>& after, auto... part) {
  Statement erase(db, EraseSqlOf<Table>());
  Statement put(db, PutSqlOf<Table>());
  const auto key = [](const typename Table::Row& row) {
    return std::apply([&](const auto&... column) { return std::tie(column.Value(row)...); },
                      Table::kKey);
  };
  const auto erase_row = [&](const typename Table::Row& row) {
    std::apply([&](const auto&... column) { erase.Run(column.Stored(row)..., part...); },
               Table::kKey);
  };
  Diff(before, after, key, erase_row,
       [&](const typename Table::Row& row) { PutRow<Table>(put, row, part...); });
  return erase.ok() && put.ok();
}

// For a table whose rows are identified by their position in the list.
template <typename Table>
bool WritePlacedList(sqlite3* db, const std::vector<typename Table::Row>& before,
                     const std::vector<typename Table::Row>& after) {
  Statement erase(db, absl::StrCat("DELETE FROM ", Table::kName, " WHERE place >= ?"));
  Statement put(db, PutSqlOf<Table>());
  for (size_t i = 0; i < after.size(); ++i) {
    if (i < before.size() && before[i] == after[i]) continue;
    PutRow<Table>(put, after[i], static_cast<int64_t>(i));
  }
  if (after.size() < before.size()) erase.Run(static_cast<int64_t>(after.size()));
  return erase.ok() && put.ok();
}

// Turns the rows of `before` into those of `after`.  False: an error.
template <typename Table, typename Owner>
bool WriteTable(sqlite3* db, const Owner& before, const Owner& after) {
  const auto from = Table::Lists(before);
  const auto to = Table::Lists(after);
  if constexpr (!kHasKey<Table>) {
    return WritePlacedList<Table>(db, *from[0], *to[0]);
  } else if constexpr (kHasParts<Table>) {
    return WriteSortedList<Table>(db, *from[0], *to[0], int64_t{0}) &&
           WriteSortedList<Table>(db, *from[1], *to[1], int64_t{1});
  } else {
    return WriteSortedList<Table>(db, *from[0], *to[0]);
  }
}

template <typename Table>
void DigestRow(const typename Table::Row& row, StateDigest& digest) {
  ForEachColumn(MembersOf<Table>(),
                [&](const auto& column, int) { digest.Add(column.Stored(row)); });
}
template <typename Table, typename Owner>
void DigestTable(const Owner& owner, StateDigest& digest) {
  for (const auto* list : Table::Lists(owner)) {
    digest.Add(static_cast<int64_t>(list->size()));
    for (const auto& row : *list) DigestRow<Table>(row, digest);
  }
}

// Several tables whose lists have the same owner.
template <typename... Table>
struct Tables {
  static std::string Schema() { return absl::StrCat(SchemaOf<Table>()...); }
  static std::vector<std::string> Names() { return {Table::kName...}; }
  template <typename Owner>
  static TableRead Read(sqlite3* db, Owner& owner) {
    TableRead read;
    ((read = read.ok ? ReadTable<Table>(db, owner) : read), ...);
    return read;
  }
  template <typename Owner>
  static bool Write(sqlite3* db, const Owner& before, const Owner& after) {
    return (WriteTable<Table>(db, before, after) && ...);
  }
  template <typename Owner>
  static void Digest(const Owner& owner, StateDigest& digest) {
    (DigestTable<Table>(owner, digest), ...);
  }
};

}  // namespace ebb

#endif  // EBB_ROUNDS_SQLITE_TABLE_H_
