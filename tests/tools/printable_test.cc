#include "tools/printable.h"

#include <gtest/gtest.h>

namespace ebb {
namespace {

TEST(PrintableTest, TextWithoutSurprisesComesBackAsItIs) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("ip-10-0-1-17.eu-west-1"), "ip-10-0-1-17.eu-west-1");
  EXPECT_EQ(Printable("größe 你好 🦀"), "größe 你好 🦀");
}

TEST(PrintableTest, NothingMovesTheCursorOrBreaksTheLine) {
  EXPECT_EQ(Printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(Printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Printable("\x7f"), "\\x7f");
  EXPECT_EQ(Printable("\u0085\u009b"), "\\u0085\\u009b");
  EXPECT_EQ(Printable("\u2028"), "\\u2028");
}

TEST(PrintableTest, NothingHidesOrTurnsAround) {
  EXPECT_EQ(Printable("a\u200bb\u202ec\ufeff"), "a\\u200bb\\u202ec\\ufeff");
  EXPECT_EQ(Printable("\U000e0041"), "\\U000e0041");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreNamed) {
  EXPECT_EQ(Printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(Printable("\xe4\xbd"), "\\xe4\\xbd");
}

TEST(PrintableTest, AnEscapeCannotBeForged) { EXPECT_EQ(Printable("\\n"), "\\\\n"); }

}  // namespace
}  // namespace ebb
