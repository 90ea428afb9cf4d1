#include "cli/print/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/figures.h"
#include "base/printable.h"

namespace ebb::table_test {
namespace {

std::string Text(const Table& table) {
  std::ostringstream out;
  table.Print(out);
  return out.str();
}

TEST(TableTest, ColumnsAreAlignedAsATerminalShowsThem) {
  Table table({"NAME", "N"});
  table.AlignRight(1);
  table.AddRow({"ab", "1"});
  table.AddRow({"\u6771\u4eac", "22"});  // Two columns each.
  table.AddRow({"e\u0301", "3"});        // An accent on an e.
  EXPECT_EQ(Text(table),
            "NAME   N\n"
            "ab     1\n"
            "\u6771\u4eac  22\n"
            "e\u0301      3\n");
}

TEST(TableTest, CellsMoveNoCursorAndBreakNoLine) {
  Table table({""});
  table.AddRow({"a\x1b[2J\nb\xff"});
  EXPECT_EQ(Text(table), "a\\x1b[2J\\nb\\xff\n");
}

// Symptom: names in sentences were escaped twice, by the code that made the sentence and by the
// table.
TEST(TableTest, AnEscapeIsNotEscapedAgain) {
  Table table({""});
  table.AddRow({Printable("a\x1b") + " is there"});
  EXPECT_EQ(Text(table), "a\\x1b is there\n");
}

// In `ebb policy simulate` the names of pools are headings.
TEST(TableTest, HeadingsMoveNoCursorAndBreakNoLine) {
  Table table({"a\x1b[31mRED\x07"});
  table.AddRow({"1"});
  EXPECT_EQ(Text(table), "a\\x1b[31mRED\\x07\n1\n");
}

TEST(TableTest, WidestShrinkableColumnGivesWayFirst) {
  Table table({"NAME", "KEPT", "MORE"});
  table.FitTo(38).ShortenNames(0).ShortenEnd(2);
  table.AddRow({"first-00000000000-last", "never-shortened", "short"});
  EXPECT_EQ(Text(table),
            "NAME            KEPT             MORE\n"
            "first-0\u20260-last  never-shortened  short\n");
}

TEST(TableTest, WideCharactersAreNotCutInHalf) {
  Table table({"NAME"});
  table.FitTo(10).ShortenEnd(0);
  table.AddRow({"\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771"});
  EXPECT_EQ(Text(table), "NAME\n\u6771\u4eac\u6771\u4eac\u2026\n");
}

TEST(TableTest, TableThatMayNotShrinkStaysWide) {
  Table table({"NAME"});
  table.FitTo(3).ShortenNames(0);
  table.AddRow({"0123456789abc"});
  EXPECT_EQ(Text(table), "NAME\n01234\u20269abc\n");
}

TEST(TableTest, AmountsReadAsPeopleSayThem) {
  EXPECT_EQ(Cores(3920), "3.9");
  EXPECT_EQ(Cores(16000), "16.0");
  EXPECT_EQ(Cores(1234500), "1,234.5");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(int64_t{8} << 30), "8.0 GiB");
  EXPECT_EQ(Bytes(16374562816), "15.2 GiB");
  EXPECT_EQ(Gibibytes(int64_t{1003} << 30), "1,003.0 GiB");
  EXPECT_EQ(Gibibytes(int64_t{1} << 53), "8,388,608.0 GiB");
}

}  // namespace
}  // namespace ebb::table_test
