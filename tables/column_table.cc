#include "tables/column_table.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/version.h"

namespace ebb {
namespace {

constexpr size_t kTextsMax = std::numeric_limits<int32_t>::max();

void SetBit(std::vector<uint8_t>& bits, size_t at, bool value) {
  if (at / 8 == bits.size()) bits.push_back(0);
  if (value) bits[at / 8] |= static_cast<uint8_t>(1u << (at % 8));
}

const char* FormatOf(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return "u";
    case ColumnType::kInteger:
      return "l";
    case ColumnType::kReal:
      return "g";
    case ColumnType::kSwitch:
      return "b";
    case ColumnType::kTime:
      return "tss:UTC";
  }
  return "";
}

// Metadata of a schema: the number of pairs, then for each key and value its length and its bytes.
std::string Metadata(const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string text;
  const auto put = [&](size_t number) {
    const auto value = static_cast<int32_t>(number);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text.append(bytes, sizeof value);
  };
  put(pairs.size());
  for (const auto& [key, value] : pairs) {
    put(key.size());
    text += key;
    put(value.size());
    text += value;
  }
  return text;
}

// --- Schemas ---------------------------------------------------------------------------------

// What an ArrowSchema points to, and the children that were not moved elsewhere.
struct OwnedSchema {
  std::string name;
  std::string metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
};

void ReleaseSchema(ArrowSchema* schema) {
  const std::unique_ptr<OwnedSchema> owned(static_cast<OwnedSchema*>(schema->private_data));
  for (const auto& child : owned->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  schema->release = nullptr;
}

void SetSchema(const char* format, std::unique_ptr<OwnedSchema> owned, ArrowSchema& out) {
  for (const auto& child : owned->children) owned->pointers.push_back(child.get());
  out = {.format = format,
         .name = owned->name.c_str(),
         .metadata = owned->metadata.empty() ? nullptr : owned->metadata.data(),
         .flags = ARROW_FLAG_NULLABLE,
         .n_children = static_cast<int64_t>(owned->pointers.size()),
         .children = owned->pointers.empty() ? nullptr : owned->pointers.data(),
         .dictionary = nullptr,
         .release = ReleaseSchema,
         .private_data = owned.release()};  // Last; ReleaseSchema deletes it.
}

void SetSchema(const ColumnTable& table, ArrowSchema& out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->metadata = Metadata(
      {{"ebb.table", table.name()}, {"ebb.schema", kTablesVersion}, {"ebb.version", kVersion}});
  for (const TableColumn& column : table.columns()) {
    auto of_column = std::make_unique<OwnedSchema>();
    of_column->name = column.spec().name;
    if (!column.spec().unit.empty()) {
      of_column->metadata = Metadata({{"unit", column.spec().unit}});
    }
    owned->children.push_back(std::make_unique<ArrowSchema>());
    SetSchema(FormatOf(column.spec().type), std::move(of_column), *owned->children.back());
  }
  SetSchema("+s", std::move(owned), out);
}

// --- Arrays ----------------------------------------------------------------------------------

// What an ArrowArray points to.  All arrays of a table share its columns, because a reader may keep
// one of them longer than the others.
struct OwnedArray {
  std::shared_ptr<const ColumnTable> table;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
};

void ReleaseArray(ArrowArray* array) {
  const std::unique_ptr<OwnedArray> owned(static_cast<OwnedArray*>(array->private_data));
  for (const auto& child : owned->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  array->release = nullptr;
}

void SetArray(size_t rows, size_t nulls, std::unique_ptr<OwnedArray> owned, ArrowArray& out) {
  for (const auto& child : owned->children) owned->pointers.push_back(child.get());
  out = {.length = static_cast<int64_t>(rows),
         .null_count = static_cast<int64_t>(nulls),
         .offset = 0,
         .n_buffers = static_cast<int64_t>(owned->buffers.size()),
         .n_children = static_cast<int64_t>(owned->pointers.size()),
         .buffers = owned->buffers.data(),
         .children = owned->pointers.empty() ? nullptr : owned->pointers.data(),
         .dictionary = nullptr,
         .release = ReleaseArray,
         .private_data = owned.release()};  // Last; ReleaseArray deletes it.
}

void SetArray(const std::shared_ptr<const ColumnTable>& table, ArrowArray& out) {
  auto owned = std::make_unique<OwnedArray>();
  owned->table = table;
  owned->buffers = {nullptr};  // No row of the table itself is null.
  for (const TableColumn& column : table->columns()) {
    auto of_column = std::make_unique<OwnedArray>();
    of_column->table = table;
    of_column->buffers = column.Buffers();
    owned->children.push_back(std::make_unique<ArrowArray>());
    SetArray(column.rows(), column.nulls(), std::move(of_column), *owned->children.back());
  }
  SetArray(table->rows(), 0, std::move(owned), out);
}

// --- The stream ------------------------------------------------------------------------------

struct OwnedStream {
  std::shared_ptr<const ColumnTable> table;
  bool is_read = false;
};

OwnedStream& Of(ArrowArrayStream* stream) {
  return *static_cast<OwnedStream*>(stream->private_data);
}

// Runs `body`; no exception may leave a callback.
template <typename Body>
int Guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {  // Only memory can be exhausted.
    return ENOMEM;
  }
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  return Guarded([&] { SetSchema(*Of(stream).table, *out); });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  return Guarded([&] {
    if (Of(stream).is_read) {
      *out = {};  // The end.
      return;
    }
    SetArray(Of(stream).table, *out);
    Of(stream).is_read = true;
  });
}

const char* GetLastError(ArrowArrayStream*) { return nullptr; }

void ReleaseStream(ArrowArrayStream* stream) {
  delete static_cast<OwnedStream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

// --- Columns ---------------------------------------------------------------------------------

void TableColumn::Mark(bool is_valid) {
  SetBit(valid_, rows_, is_valid);
  ++rows_;
  if (!is_valid) ++nulls_;
}

void TableColumn::AddNull() {
  switch (spec_.type) {
    case ColumnType::kText:
      offsets_.push_back(offsets_.back());
      break;
    case ColumnType::kInteger:
    case ColumnType::kTime:
      integers_.push_back(0);
      break;
    case ColumnType::kReal:
      reals_.push_back(0);
      break;
    case ColumnType::kSwitch:
      SetBit(switches_, rows_, false);
      break;
  }
  Mark(false);
}

void TableColumn::AddText(std::string_view text) {
  EBB_DCHECK(spec_.type == ColumnType::kText);
  if (texts_.size() + text.size() > kTextsMax) {
    is_too_long_ = true;
    return AddNull();
  }
  texts_ += text;
  offsets_.push_back(static_cast<int32_t>(texts_.size()));
  Mark(true);
}

void TableColumn::AddInteger(int64_t value) {
  EBB_DCHECK(spec_.type == ColumnType::kInteger || spec_.type == ColumnType::kTime);
  integers_.push_back(value);
  Mark(true);
}

void TableColumn::AddReal(double value) {
  EBB_DCHECK(spec_.type == ColumnType::kReal);
  reals_.push_back(value);
  Mark(true);
}

void TableColumn::AddSwitch(bool value) {
  EBB_DCHECK(spec_.type == ColumnType::kSwitch);
  SetBit(switches_, rows_, value);
  Mark(true);
}

std::vector<const void*> TableColumn::Buffers() const {
  const void* const valid = nulls_ == 0 ? nullptr : valid_.data();
  switch (spec_.type) {
    case ColumnType::kText:
      return {valid, offsets_.data(), texts_.data()};
    case ColumnType::kInteger:
    case ColumnType::kTime:
      return {valid, integers_.data()};
    case ColumnType::kReal:
      return {valid, reals_.data()};
    case ColumnType::kSwitch:
      return {valid, switches_.data()};
  }
  return {};
}

// --- Tables ----------------------------------------------------------------------------------

ColumnTable::ColumnTable(std::string_view name, const std::vector<ColumnSpec>& specs)
    : name_(name) {
  columns_.reserve(specs.size());
  for (const ColumnSpec& spec : specs) columns_.emplace_back(spec);
}

TableColumn& ColumnTable::RowWriter::Next() {
  EBB_DCHECK(next_ < table_.columns_.size());
  return table_.columns_[next_++];
}

ColumnTable::RowWriter& ColumnTable::RowWriter::Text(const std::optional<std::string_view>& text) {
  TableColumn& column = Next();
  text ? column.AddText(*text) : column.AddNull();
  return *this;
}

ColumnTable::RowWriter& ColumnTable::RowWriter::TextOrNull(std::string_view text) {
  return Text(text.empty() ? std::nullopt : std::optional(text));
}

ColumnTable::RowWriter& ColumnTable::RowWriter::Integer(const std::optional<int64_t>& value) {
  TableColumn& column = Next();
  value ? column.AddInteger(*value) : column.AddNull();
  return *this;
}

ColumnTable::RowWriter& ColumnTable::RowWriter::Real(const std::optional<double>& value) {
  TableColumn& column = Next();
  value ? column.AddReal(*value) : column.AddNull();
  return *this;
}

ColumnTable::RowWriter& ColumnTable::RowWriter::Switch(const std::optional<bool>& value) {
  TableColumn& column = Next();
  value ? column.AddSwitch(*value) : column.AddNull();
  return *this;
}

absl::Status ColumnTable::Export(ArrowArrayStream& out) && {
  for (const TableColumn& column : columns_) {
    EBB_DCHECK(column.rows() == rows());
    if (column.is_too_long()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "table ", name_, ": the texts of ", Absl(column.spec().name), " have more than 2 GiB"));
    }
  }
  auto owned = std::make_unique<OwnedStream>();
  owned->table = std::make_shared<const ColumnTable>(std::move(*this));
  out = {.get_schema = GetSchema,
         .get_next = GetNext,
         .get_last_error = GetLastError,
         .release = ReleaseStream,
         .private_data = owned.release()};
  return absl::OkStatus();
}

}  // namespace ebb
