#include "cli/print/display_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace ebb::display_text_test {
namespace {

using testing::ElementsAre;

using Names = std::vector<std::string>;

size_t Apart(const Names& names) {
  return std::set<std::string>(names.begin(), names.end()).size();
}

TEST(DisplayTextTest, NamesThatDifferInFrontKeepTheirFronts) {
  EXPECT_THAT(ShortenedApart(Names{"ip-10-0-12-34.eu-central-1.compute.internal",
                                   "ip-10-0-99-34.eu-central-1.compute.internal"},
                             20),
              ElementsAre("ip-10-0-12\u2026.internal", "ip-10-0-99\u2026.internal"));
  // A cut in the middle would make both the same.
  const Names cut = ShortenedApart(Names{"ip-10-0-12-34.eu-central-1.compute.internal",
                                         "ip-10-0-12-35.eu-central-1.compute.internal"},
                                   20);
  EXPECT_THAT(cut, ElementsAre("ip-10-0-12-34\u2026ternal", "ip-10-0-12-35\u2026ternal"));
}

TEST(DisplayTextTest, NamesThatDifferAtTheEndKeepTheirEnds) {
  EXPECT_THAT(
      ShortenedApart(
          Names{"aks-nodepool1-12345678-vmss00001a", "aks-nodepool1-12345678-vmss00002a"}, 12),
      ElementsAre("aks-no\u20260001a", "aks-no\u20260002a"));
}

TEST(DisplayTextTest, TheCutKeepsAsManyNamesDistinctAsPossible) {
  const Names names = {"a-very-long-name-x", "b-very-long-name-x", "c-very-long-name-x",
                       "a-very-long-name-y"};
  const Names cut = ShortenedApart(names, 3);
  EXPECT_EQ(Apart(cut), 4u);
  for (const std::string& name : ShortenedApart(names, 9)) EXPECT_EQ(DisplayWidth(name), 9u);
}

TEST(DisplayTextTest, TextsThatFitStayAndWideCharactersStayWhole) {
  EXPECT_THAT(ShortenedApart(Names{"short", "\u6771\u4eac\u6771\u4eac\u6771\u4eac"}, 6),
              ElementsAre("short", "\u6771\u2026\u4eac"));
  EXPECT_EQ(ShortenedAtEnd("short", 5), "short");
  EXPECT_EQ(ShortenedAtEnd("longer", 5), "long\u2026");
}

TEST(DisplayTextTest, ADomainIsTheCommonEndOfAllNamesWithoutANumber) {
  EXPECT_EQ(CommonDomain(Names{"ip-10-0-12-34.ec2.internal", "ip-10-0-1-4.ec2.internal"}),
            ".ec2.internal");
  EXPECT_EQ(CommonDomain(Names{"10.0.1.7", "10.0.2.7"}), "");
  EXPECT_EQ(CommonDomain(Names{"a.internal", "internal"}), "");
  EXPECT_EQ(CommonDomain(Names{".internal", "a.internal"}), "");
  EXPECT_EQ(CommonDomain(Names{"a.b.internal"}), "");
  EXPECT_EQ(CommonDomain(Names{"a.x", "b.y"}), "");
}

TEST(DisplayTextTest, LinesAreBrokenAtBlanks) {
  EXPECT_EQ(Wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("one two three", 13), "one two three");
  EXPECT_EQ(Wrapped("one two three", 0), "one two three");
  EXPECT_EQ(Wrapped("extraordinary word", 5), "extraordinary\nword");
  EXPECT_EQ(Wrapped("  a: b c", 6, 4), "  a: b\n    c");
  EXPECT_EQ(Wrapped("", 5), "");
}

}  // namespace
}  // namespace ebb::display_text_test
