#include "tables/column_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebb::column_table_test {
namespace {

// A stream, and what was read from it, until released.
struct Read {
  ArrowArrayStream stream{};
  ArrowSchema schema{};
  ArrowArray array{};

  explicit Read(ColumnTable table) {
    EXPECT_TRUE(std::move(table).Export(stream).ok());
    EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
    EXPECT_EQ(stream.get_next(&stream, &array), 0);
  }
  ~Read() {
    if (stream.release != nullptr) stream.release(&stream);
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
  }
};

ColumnTable Example() {
  ColumnTable table("example", {{"name"},
                                {"cpu", ColumnType::kInteger, "milli-CPU"},
                                {"share", ColumnType::kReal},
                                {"ready", ColumnType::kSwitch},
                                {"made", ColumnType::kTime}});
  table.Row().Text("a").Integer(250).Real(0.5).Switch(true).Integer(1'780'315'200);
  table.Row()
      .TextOrNull("")
      .Integer(std::nullopt)
      .Real(std::nullopt)
      .Switch(std::nullopt)
      .Integer(std::nullopt);
  table.Row().Text("\xc3\xa9").Integer(-1).Real(2).Switch(false).Integer(0);
  return table;
}

bool Bit(const void* bits, int64_t at) {
  return (static_cast<const uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

std::string_view TextAt(const ArrowArray& column, int64_t row) {
  const auto* const offsets = static_cast<const int32_t*>(column.buffers[1]);
  return std::string_view(static_cast<const char*>(column.buffers[2]))
      .substr(offsets[row], offsets[row + 1] - offsets[row]);
}

TEST(ColumnTableTest, TheSchemaHasTheNamesAndTheFormatsOfArrow) {
  const Read read(Example());
  EXPECT_STREQ(read.schema.format, "+s");
  ASSERT_EQ(read.schema.n_children, 5);
  const std::pair<const char*, const char*> expected[] = {
      {"name", "u"}, {"cpu", "l"}, {"share", "g"}, {"ready", "b"}, {"made", "tss:UTC"}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_STREQ(read.schema.children[i]->name, expected[i].first);
    EXPECT_STREQ(read.schema.children[i]->format, expected[i].second);
  }
  // One pair: its key and its value, each behind its length.
  const std::string unit("\1\0\0\0\4\0\0\0unit\t\0\0\0milli-CPU", 25);
  EXPECT_EQ(std::string(read.schema.children[1]->metadata, unit.size()), unit);
  EXPECT_EQ(read.schema.children[0]->metadata, nullptr);
}

TEST(ColumnTableTest, TheBatchHasTheValuesAndTheNulls) {
  const Read read(Example());
  ASSERT_EQ(read.array.length, 3);
  ASSERT_EQ(read.array.n_children, 5);
  for (int64_t i = 0; i < 5; ++i) {
    const ArrowArray& column = *read.array.children[i];
    EXPECT_EQ(column.length, 3);
    EXPECT_EQ(column.null_count, 1);
    EXPECT_TRUE(Bit(column.buffers[0], 0));
    EXPECT_FALSE(Bit(column.buffers[0], 1));
    EXPECT_TRUE(Bit(column.buffers[0], 2));
  }
  EXPECT_EQ(TextAt(*read.array.children[0], 0), "a");
  EXPECT_EQ(TextAt(*read.array.children[0], 1), "");
  EXPECT_EQ(TextAt(*read.array.children[0], 2), "\xc3\xa9");
  EXPECT_EQ(static_cast<const int64_t*>(read.array.children[1]->buffers[1])[2], -1);
  EXPECT_EQ(static_cast<const double*>(read.array.children[2]->buffers[1])[0], 0.5);
  EXPECT_TRUE(Bit(read.array.children[3]->buffers[1], 0));
  EXPECT_FALSE(Bit(read.array.children[3]->buffers[1], 2));
}

TEST(ColumnTableTest, TheStreamEndsAfterOneBatch) {
  Read read(Example());
  ArrowArray second{};
  second.release = read.array.release;  // Must be cleared.
  EXPECT_EQ(read.stream.get_next(&read.stream, &second), 0);
  EXPECT_EQ(second.release, nullptr);
}

TEST(ColumnTableTest, AColumnThatWasMovedOutOutlivesTheStreamAndTheBatch) {
  ArrowArray column{};
  {
    Read read(Example());
    column = *read.array.children[0];
    read.array.children[0]->release = nullptr;  // Moved.
  }
  EXPECT_EQ(TextAt(column, 0), "a");
  column.release(&column);
  EXPECT_EQ(column.release, nullptr);
}

TEST(ColumnTableTest, ATableWithoutRowsHasItsColumns) {
  const Read read(ColumnTable("empty", {{"name"}, {"ready", ColumnType::kSwitch}}));
  EXPECT_EQ(read.array.length, 0);
  EXPECT_EQ(read.array.n_children, 2);
  EXPECT_EQ(static_cast<const int32_t*>(read.array.children[0]->buffers[1])[0], 0);
}

TEST(ColumnTableTest, MoreThanEightRowsHaveABitEach) {
  ColumnTable table("many", {{"ready", ColumnType::kSwitch}});
  for (int row = 0; row < 20; ++row) table.Row().Switch(row % 3 == 0);
  const Read read(std::move(table));
  for (int row = 0; row < 20; ++row) {
    EXPECT_EQ(Bit(read.array.children[0]->buffers[1], row), row % 3 == 0) << row;
  }
}

}  // namespace
}  // namespace ebb::column_table_test
