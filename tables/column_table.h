// ColumnTable: a table as columns in Arrow's memory layout, handed out without a copy.
//
//   ColumnTable table("nodes", {{"node", ColumnType::kText}, {"cpu_milli", ColumnType::kInteger}});
//   table.Row().Text("n1").Integer(4000);
//   ArrowArrayStream stream;
//   absl::Status status = std::move(table).Export(stream);
//
// Each value may be null.  The exported stream has one batch.  Its schema has the metadata
// ebb.table (the name) and ebb.schema (kTablesVersion), and each column with a unit the metadata
// unit.  docs/tables.md describes the tables.
//
// Cost:      a row costs its values and a bit each; Export moves the columns.
// Ownership: the stream, and each schema and array from it, lives until its release is called, in
// any
//            order and on any thread.
// Threads:   one at a time.
// Errors:    ResourceExhausted: the texts of a column have more than 2 GiB.

#ifndef EBB_TABLES_COLUMN_TABLE_H_
#define EBB_TABLES_COLUMN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tables/arrow_c.h"

namespace ebb {

// The version of all schemas: increases if a column changes its type or meaning, or goes.  New
// columns are added at the end and do not change it.
inline constexpr std::string_view kTablesVersion = "1";

enum class ColumnType : uint8_t {
  kText,     // utf8
  kInteger,  // int64
  kReal,     // float64
  kSwitch,   // bool
  kTime,     // timestamp[s, UTC]
};

struct ColumnSpec {
  std::string_view name;
  ColumnType type = ColumnType::kText;
  std::string_view unit = "";  // "milli-CPU", "bytes"; empty: none.
};

// The values of one column.
class TableColumn {
 public:
  explicit TableColumn(const ColumnSpec& spec) : spec_(spec) {
    if (spec.type == ColumnType::kText) offsets_.push_back(0);
  }

  void AddNull();
  // REQUIRES: the column has the type.
  void AddText(std::string_view text);
  void AddInteger(int64_t value);  // Also for kTime.
  void AddReal(double value);
  void AddSwitch(bool value);

  [[nodiscard]] const ColumnSpec& spec() const { return spec_; }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t nulls() const { return nulls_; }
  [[nodiscard]] bool is_too_long() const { return is_too_long_; }
  // The pointers that ArrowArray::buffers has: validity, then values (for texts, offsets and
  // bytes).
  [[nodiscard]] std::vector<const void*> Buffers() const;

 private:
  void Mark(bool is_valid);

  ColumnSpec spec_;
  size_t rows_ = 0;
  size_t nulls_ = 0;
  bool is_too_long_ = false;
  std::vector<uint8_t> valid_;  // A bit a row, from the lowest.
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  std::vector<uint8_t> switches_;  // A bit a row.
  std::vector<int32_t> offsets_;
  std::string texts_;
};

class ColumnTable {
 public:
  // `specs`: texts that live as long as the program.
  ColumnTable(std::string_view name, const std::vector<ColumnSpec>& specs);

  // Fills the columns of one row, in their order.  For values that are absent, or empty texts where
  // a function says so, the row has null.
  class RowWriter {
   public:
    explicit RowWriter(ColumnTable& table) : table_(table) {}
    RowWriter& Text(const std::optional<std::string_view>& text);
    RowWriter& TextOrNull(std::string_view text);  // Empty: null.
    RowWriter& Integer(const std::optional<int64_t>& value);
    RowWriter& Real(const std::optional<double>& value);
    RowWriter& Switch(const std::optional<bool>& value);

   private:
    TableColumn& Next();

    ColumnTable& table_;
    size_t next_ = 0;
  };
  // REQUIRES: every column of the row is filled before the next row.
  RowWriter Row() { return RowWriter(*this); }

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }
  [[nodiscard]] size_t rows() const { return columns_.empty() ? 0 : columns_.front().rows(); }

  // `out` need not be initialised; the caller releases it.  After an error it is unchanged.
  absl::Status Export(ArrowArrayStream& out) &&;

 private:
  std::string name_;
  std::vector<TableColumn> columns_;
};

}  // namespace ebb

#endif  // EBB_TABLES_COLUMN_TABLE_H_
