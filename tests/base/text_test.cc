#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"

namespace ebb::text_test {
namespace {

TEST(TextTest, AQuotedTextIsOneWordOfAShell) {
  EXPECT_EQ(ShellQuoted("node/a"), "'node/a'");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("it's $(rm)"), "'it'\\''s $(rm)'");
}

TEST(TextTest, PartsBetweenSeparatorsMayBeEmpty) {
  EXPECT_THAT(SplitAtAny("a,b/c", ",/"), testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitAtAny(",a,,", ","), testing::ElementsAre("", "a", "", ""));
  EXPECT_THAT(SplitAtAny("", ","), testing::ElementsAre(""));
}

TEST(TextTest, ACutIsBetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abc", 2), "ab");
  EXPECT_EQ(CutUtf8("a\xe6\x97\xa5", 3), "a");
  EXPECT_EQ(CutUtf8("a\xe6\x97\xa5z", 4), "a\xe6\x97\xa5");
  EXPECT_EQ(CutUtf8("\xe6\x97\xa5", 2), "");
}

}  // namespace
}  // namespace ebb::text_test
