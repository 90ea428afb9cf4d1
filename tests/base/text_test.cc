#include "base/text.h"

#include <gtest/gtest.h>

namespace ebb::text_test {
namespace {

TEST(TextTest, AQuotedTextIsOneWordOfAShell) {
  EXPECT_EQ(ShellQuoted("node/a"), "'node/a'");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("it's $(rm)"), "'it'\\''s $(rm)'");
}

}  // namespace
}  // namespace ebb::text_test
