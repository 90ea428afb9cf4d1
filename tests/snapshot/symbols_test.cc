#include "snapshot/symbols.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/objects/pod_columns.h"
#include "tests/support/random_seed.h"

namespace ebb::symbols_test {
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

// Texts just below, at and above the size at which a text gets its own block.  Small texts before
// and after them must keep their bytes.
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

TEST(SymbolsTest, AReleasedTextGivesItsIdToAnother) {
  Symbols symbols;
  const TextId web = symbols.Hold("web");
  EXPECT_EQ(symbols.Hold("web"), web);
  symbols.Release(web);
  EXPECT_EQ(symbols.Find("web"), web);
  symbols.Release(web);
  EXPECT_EQ(symbols.Find("web"), std::nullopt);
  EXPECT_EQ(symbols.Hold("db"), web);
  EXPECT_EQ(symbols.Text(web), "db");
  EXPECT_EQ(symbols.Find("web"), std::nullopt);
}

TEST(SymbolsTest, InternedTextsStay) {
  Symbols symbols;
  const TextId held = symbols.Hold("held first");
  EXPECT_EQ(symbols.Intern("held first"), held);
  symbols.Release(held);
  EXPECT_EQ(symbols.Find("held first"), held);
  const TextId kept = symbols.Intern("kept first");
  EXPECT_EQ(symbols.Hold("kept first"), kept);
  symbols.Release(kept);
  symbols.Release(kept);
  EXPECT_EQ(symbols.Find("kept first"), kept);
  // Even if its id belonged to another text before.
  const TextId gone = symbols.Hold("gone");
  symbols.Release(gone);
  EXPECT_EQ(symbols.Intern("next"), gone);
  symbols.Release(gone);
  EXPECT_EQ(symbols.Text(gone), "next");
}

TEST(SymbolsTest, APinKeepsIdsFromOthers) {
  const auto symbols = std::make_shared<Symbols>();
  const TextId web = symbols->Hold("web");
  std::optional<Symbols::Pin> pin(std::in_place, symbols);
  symbols->Release(web);
  EXPECT_EQ(symbols->Text(web), "web");
  EXPECT_NE(symbols->Hold("db"), web);
  // Holding and releasing it again does not give the id back twice.
  EXPECT_EQ(symbols->Hold("web"), web);
  symbols->Release(web);
  pin.reset();
  EXPECT_EQ(symbols->Hold("one"), web);
  EXPECT_NE(symbols->Hold("two"), web);
}

// Compares with a map, for texts of all sizes.
TEST(SymbolsTest, RandomHoldsAndReleasesKeepEveryText) {
  Symbols symbols;
  test::Dice dice(test::RandomSeed());
  std::map<std::string, std::pair<TextId, int>> held;
  for (int step = 0; step < 20'000; ++step) {
    const int size = dice.Percent(90) ? dice.Below(40) : dice.Below(1'200);
    const std::string text = std::to_string(dice.Below(200)) + std::string(size, 'x');
    const auto it = held.find(text);
    if (it != held.end() && dice.Percent(60)) {
      symbols.Release(it->second.first);
      if (--it->second.second == 0) held.erase(it);
    } else {
      const TextId id = symbols.Hold(text);
      auto& [known, holds] = held.try_emplace(text, id, 0).first->second;
      ASSERT_EQ(known, id);
      ++holds;
    }
    if (held.size() > 300) {
      const auto first = held.begin();
      for (int i = 0; i < first->second.second; ++i) symbols.Release(first->second.first);
      held.erase(first);
    }
    if (step % 100 != 0) continue;
    for (const auto& [each, id] : held) ASSERT_EQ(symbols.Text(id.first), each);
  }
  EXPECT_LT(symbols.size(), 400U);
}

// Guess takes no lock.
TEST(SymbolsTest, NoIdIsPredictedWhileOtherThreadsMayIntern) {
  Symbols symbols;
  const TextId id = symbols.Intern("text");
  EXPECT_EQ(symbols.Guess("text"), id);
  symbols.ShareWithThreads();
  EXPECT_EQ(symbols.Guess("text"), kNoText);
  EXPECT_EQ(symbols.Find("text"), id);
}

TEST(SymbolsTest, OtherThreadsReadWhileTextsComeAndGo) {
  const auto symbols = std::make_shared<Symbols>();
  symbols->ShareWithThreads();
  std::vector<TextId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(symbols->Hold("text-" + std::to_string(i)));
  std::thread reader([&, pin = Symbols::Pin(symbols)] {
    for (int round = 0; round < 200; ++round) {
      for (int i = 0; i < 100; ++i) {
        const std::string want = "text-" + std::to_string(i);
        EXPECT_EQ(symbols->Text(ids[static_cast<size_t>(i)]), want);
        if (i % 10 == 0) {
          EXPECT_EQ(symbols->Find(want), ids[static_cast<size_t>(i)]);
        }
      }
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    const TextId id = symbols->Hold("other-" + std::to_string(i));
    if (i % 2 == 0) symbols->Release(id);
    if (i < 100) symbols->Release(ids[static_cast<size_t>(i)]);
  }
  reader.join();
}

TEST(SymbolsTest, PermanentTextsAreCountedOnce) {
  Symbols symbols;
  EXPECT_EQ(symbols.kept(), 1U) << "the empty text";
  (void)symbols.Intern("a");
  (void)symbols.Intern("a");
  EXPECT_EQ(symbols.kept(), 2U);
  const TextId held = symbols.Hold("b");
  EXPECT_EQ(symbols.kept(), 2U);
  (void)symbols.Intern("b");
  (void)symbols.Intern("b");
  EXPECT_EQ(symbols.kept(), 3U);
  (void)symbols.Hold("a");
  symbols.Release(held);
  EXPECT_EQ(symbols.kept(), 3U);
  symbols.Release(symbols.Hold("c"));
  (void)symbols.Intern("d");  // It gets the id that "c" had.
  EXPECT_EQ(symbols.kept(), 4U);
  EXPECT_EQ(symbols.size(), 4U);
}

TEST(SymbolsTest, ATextIsHeldByItsIdToo) {
  Symbols symbols;
  const TextId web = symbols.Hold("web");
  symbols.Hold(web);
  symbols.Release(web);
  EXPECT_EQ(symbols.Find("web"), web);
  symbols.Release(web);
  EXPECT_EQ(symbols.Find("web"), std::nullopt);
  {
    const TextId db = symbols.Hold("db");
    HeldText held(symbols, db);
    symbols.Release(db);
    HeldText moved = std::move(held);
    EXPECT_EQ(symbols.Find("db"), db);
    HeldText none;
    none = std::move(moved);
    EXPECT_EQ(symbols.Find("db"), db);
  }
  EXPECT_EQ(symbols.Find("db"), std::nullopt);
}

// Texts that Intern() adds between two held texts have no entry of their own in holds_.
TEST(SymbolsTest, TextsInternedBetweenReleasedOnesStay) {
  Symbols symbols;
  const TextId first = symbols.Hold("first");
  const TextId kept = symbols.Intern("kept");
  const TextId last = symbols.Hold("last");
  symbols.Hold(kept);
  for (int i = 0; i < 3; ++i) symbols.Release(kept);
  EXPECT_EQ(symbols.Find("kept"), kept);
  symbols.Release(first);
  symbols.Release(last);
  EXPECT_EQ(symbols.Hold("one"), last) << "the last that went comes first";
  EXPECT_EQ(symbols.Hold("two"), first);
  EXPECT_EQ(symbols.Text(kept), "kept");
  EXPECT_EQ(symbols.size(), 4U);
}

TEST(SymbolsTest, APinThatIsMovedOrAssignedToIsOnePin) {
  const auto symbols = std::make_shared<Symbols>();
  const TextId web = symbols->Hold("web");
  Symbols::Pin kept;
  {
    Symbols::Pin first(symbols);
    Symbols::Pin second(std::move(first));
    kept = std::move(second);
  }
  symbols->Release(web);
  EXPECT_NE(symbols->Hold("db"), web) << "it is pinned";
  EXPECT_EQ(symbols->Text(web), "web");
  kept = Symbols::Pin();
  EXPECT_EQ(symbols->Hold("one"), web);
}

// When the last pin goes, released ids are given back, except those of texts that are held again.
TEST(SymbolsTest, ATextHeldAgainUnderAPinKeepsItsId) {
  const auto symbols = std::make_shared<Symbols>();
  std::optional<Symbols::Pin> pin(std::in_place, symbols);
  const TextId web = symbols->Hold("web");
  const TextId db = symbols->Hold("db");
  symbols->Release(web);
  symbols->Release(db);
  EXPECT_EQ(symbols->Hold("web"), web);
  symbols->Release(web);
  EXPECT_EQ(symbols->Hold("web"), web);
  pin.reset();
  EXPECT_EQ(symbols->Hold("one"), db);
  EXPECT_EQ(symbols->Text(web), "web");
  symbols->Release(web);
  EXPECT_EQ(symbols->Hold("two"), web);
}

TEST(SymbolsTest, BytesOfTextsThatWentAreUsedAgainForTextsOfAboutTheirSize) {
  Symbols symbols;
  const auto held = [&](size_t size, char c) { return symbols.Hold(std::string(size, c)); };
  const auto bytes = [&](TextId id) -> const void* { return symbols.Text(id).data(); };
  for (const size_t size : {size_t{8}, size_t{16}, size_t{504}, size_t{512}}) {
    const TextId first = held(size, 'a');
    const TextId other = held(size, 'b');
    const void* const before = bytes(first);
    symbols.Release(first);
    const TextId longer = held(size == 512 ? 600 : size + 1, 'c');
    EXPECT_NE(bytes(longer), before) << size;
    const TextId shorter = held(size - 7, 'd');
    EXPECT_EQ(bytes(shorter), before) << size;
    EXPECT_EQ(symbols.Text(shorter), std::string(size - 7, 'd'));
    EXPECT_EQ(symbols.Text(other), std::string(size, 'b'));
    EXPECT_EQ(symbols.Text(longer), std::string(size == 512 ? 600 : size + 1, 'c'));
    for (const TextId id : {other, longer, shorter}) symbols.Release(id);
  }
}

// A table of texts, with its bytes behind `owner`.
TextTable TableOf(const std::vector<std::string>& texts) {
  struct Bytes {
    std::string all;
    std::vector<uint32_t> offsets = {0};
  };
  const auto bytes = std::make_shared<Bytes>();
  for (const std::string& text : texts) {
    bytes->all += text;
    bytes->offsets.push_back(static_cast<uint32_t>(bytes->all.size()));
  }
  return {.bytes = bytes->all.data(), .offsets = bytes->offsets, .owner = bytes};
}

TEST(SymbolsTest, AdoptedTextsHaveIdsAndStayWhereTheyAre) {
  Symbols symbols;
  const TextId old = symbols.Intern("known");
  const TextTable table = TableOf({"a", "known", "b"});
  const absl::StatusOr<AdoptedTexts> ids = symbols.Adopt(table);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ((*ids)[0], kNoText);
  EXPECT_EQ((*ids)[2], old);
  for (uint32_t number = 1; number <= table.size(); ++number) {
    const TextId id = (*ids)[number];
    EXPECT_EQ(symbols.Text(id), table[number]);
    EXPECT_EQ(symbols.Intern(std::string(table[number])), id);
    EXPECT_EQ(symbols.Intern(table[number]), id);
    EXPECT_EQ(symbols.Hold(table[number]), id);
    EXPECT_EQ(symbols.Find(table[number]), id);
    EXPECT_EQ(symbols.Guess(table[number]), id);
    symbols.Release(id);  // Adopted texts are kept.
    EXPECT_EQ(symbols.Find(table[number]), id);
  }
  EXPECT_EQ(symbols.Text((*ids)[1]).data(), table[1].data());
  EXPECT_EQ(symbols.Find("c"), std::nullopt);
  const TextId c = symbols.Intern("c");
  EXPECT_EQ(symbols.Text(c), "c");
  EXPECT_EQ(symbols.Find("c"), c);
}

TEST(SymbolsTest, ViewsWithinAdoptedTextsAreTextsOfTheirOwn) {
  Symbols symbols;
  const TextTable table = TableOf({"a,b", "a"});
  const absl::StatusOr<AdoptedTexts> ids = symbols.Adopt(table);
  ASSERT_TRUE(ids.ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(symbols.Intern(table[1].substr(0, 1)), (*ids)[2]);
    EXPECT_EQ(symbols.Text(symbols.Intern(table[1].substr(0, 2))), "a,");
    EXPECT_EQ(symbols.Intern(table[1]), (*ids)[1]);
  }
}

TEST(SymbolsTest, ASecondTableAndATableWithoutOwnerAreCopied) {
  Symbols symbols;
  const TextTable first = TableOf({"a", "b"});
  ASSERT_TRUE(symbols.Adopt(first).ok());
  TextTable second = TableOf({"b", "c", "d"});
  const absl::StatusOr<AdoptedTexts> ids = symbols.Adopt(second);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ((*ids)[1], symbols.Find("b"));
  second.owner = nullptr;
  EXPECT_EQ(symbols.Text((*ids)[3]), "d");
  const std::vector<std::string> texts = {"x", "y"};
  TextTable third = TableOf(texts);
  Symbols fresh;
  const std::shared_ptr<const void> owner = std::exchange(third.owner, nullptr);
  const absl::StatusOr<AdoptedTexts> copied = fresh.Adopt(third);
  ASSERT_TRUE(copied.ok());
  EXPECT_NE(fresh.Text((*copied)[1]).data(), third[1].data());
  EXPECT_EQ(fresh.Text((*copied)[2]), "y");
}

TEST(SymbolsTest, ATableWithATextTwiceIsRefusedAndNamesIt) {
  for (const bool is_first : {true, false}) {
    Symbols symbols;
    if (!is_first) {
      ASSERT_TRUE(symbols.Adopt(TableOf({"z"})).ok());
    }
    std::vector<std::string> texts;
    for (int i = 0; i < 100; ++i) texts.push_back("text-" + std::to_string(i));
    ASSERT_TRUE(symbols.Adopt(TableOf(texts)).ok());
    Symbols again;
    if (!is_first) {
      ASSERT_TRUE(again.Adopt(TableOf({"z"})).ok());
    }
    texts.push_back("text-7");
    EXPECT_EQ(again.Adopt(TableOf(texts)).status().message(),
              "the table of texts has \"text-7\" twice");
  }
}

// Beyond some dozen texts of its own, a Symbols looks each text up.
TEST(SymbolsTest, ManyAdoptedTextsAreFoundWhetherOrNotTheTableWasNew) {
  std::vector<std::string> texts;
  for (int i = 0; i < 50'000; ++i) texts.push_back("pod-" + std::to_string(i));
  for (const int before : {0, 1'000}) {
    Symbols symbols;
    for (int i = 0; i < before; ++i) symbols.Intern("pod-" + std::to_string(7 * i));
    const size_t had = symbols.kept();
    const TextTable table = TableOf(texts);
    const absl::StatusOr<AdoptedTexts> ids = symbols.Adopt(table);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(symbols.kept(), had + texts.size() - static_cast<size_t>(before));
    for (uint32_t number = 1; number <= table.size(); ++number) {
      ASSERT_EQ(symbols.Find(texts[number - 1]), (*ids)[number]);
      ASSERT_EQ(symbols.Text((*ids)[number]), texts[number - 1]);
    }
  }
}

}  // namespace
}  // namespace ebb::symbols_test
