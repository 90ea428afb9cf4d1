#include "snapshot/symbols.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb {
namespace {

TEST(SymbolsTest, EqualTextHasEqualId) {
  Symbols symbols;
  const TextId a = symbols.Intern("zone-a");
  EXPECT_EQ(symbols.Intern(std::string("zone-") + "a"), a);
  EXPECT_NE(symbols.Intern("zone-b"), a);
  EXPECT_EQ(symbols.Text(a), "zone-a");
}

TEST(SymbolsTest, TheEmptyTextIsIdZero) {
  Symbols symbols;
  EXPECT_EQ(symbols.Intern(""), kNoText);
  EXPECT_EQ(symbols.Find(""), kNoText);
  EXPECT_EQ(symbols.Text(kNoText), "");
}

TEST(SymbolsTest, FindDoesNotIntern) {
  Symbols symbols;
  const size_t before = symbols.size();
  EXPECT_EQ(symbols.Find("nobody"), std::nullopt);
  EXPECT_EQ(symbols.size(), before);
  const TextId id = symbols.Intern("nobody");
  EXPECT_EQ(symbols.Find("nobody"), id);
}

TEST(SymbolsTest, TextsWithZeroBytesAreDistinct) {
  Symbols symbols;
  EXPECT_NE(symbols.Intern(std::string_view("a\0b", 3)), symbols.Intern("a"));
}

// Texts just below, at and above the size at which one gets a block of its own, with
// small ones before and after that must keep their bytes.
TEST(SymbolsTest, ViewsLiveThroughGrowthAndLargeTexts) {
  Symbols symbols;
  std::vector<std::pair<TextId, std::string>> all;
  const auto add = [&](std::string text) { all.emplace_back(symbols.Intern(text), text); };
  for (int i = 0; i < 30'000; ++i) add("pod-" + std::to_string(i));
  for (const size_t bytes : {64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 256 * 1024, 1 << 20}) {
    add(std::string(bytes, 'x'));
    add("after-" + std::to_string(bytes));
  }
  const std::string_view early = symbols.Text(all.front().first);
  for (const auto& [id, text] : all) ASSERT_EQ(symbols.Text(id), text);
  EXPECT_EQ(early, "pod-0");
}

}  // namespace
}  // namespace ebb
