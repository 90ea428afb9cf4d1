#include "rounds/text_delta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace ebb::text_delta_test {
namespace {

std::string Decision(int nodes, int changed) {
  std::string text = R"({"keep":[)";
  for (int i = 0; i < nodes; ++i) {
    absl::StrAppend(&text, R"({"node":"node-)", i, R"(","utilization":)", (i * 7919) % 10007,
                    R"(,"reason":")", i < changed ? "NotJudged" : "NotUnderutilized", R"("},)");
  }
  return text + "]}";
}

TEST(TextDeltaTest, ATextComesBackFromItsBaseAndFromNone) {
  std::mt19937_64 random(7);
  const std::string base = Decision(200, 50);
  for (int attempt = 0; attempt < 300; ++attempt) {
    std::string text = Decision(200, static_cast<int>(random() % 200));
    for (uint64_t edits = random() % 8; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      switch (random() % 3) {
        case 0:
          text.insert(at, absl::StrCat("inserted-", random() % 100));
          break;
        case 1:
          text.erase(at, random() % 500);
          break;
        default:
          text.insert(at, base.substr(random() % base.size(), random() % 3000));
      }
    }
    for (const std::string& from : {base, std::string()}) {
      const auto back = UnpackDelta(from, PackDelta(DeltaBase(from), text));
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_EQ(*back, text);
    }
  }
  EXPECT_EQ(*UnpackDelta("", PackDelta(DeltaBase(), "")), "");
  EXPECT_EQ(*UnpackDelta(base, PackDelta(DeltaBase(base), "")), "");
}

TEST(TextDeltaTest, ItIsAsLongAsWhatChanged) {
  const std::string base = Decision(1000, 500);
  EXPECT_LT(PackDelta(DeltaBase(base), base).size(), 40u);
  EXPECT_LT(PackDelta(DeltaBase(base), Decision(1000, 510)).size(), 250u);
  EXPECT_GT(PackDelta(DeltaBase(), base).size(), 2000u);
}

TEST(TextDeltaTest, DamagedDeltasAreRefusedOrGiveAText) {
  std::mt19937_64 random(11);
  const std::string base = Decision(100, 10);
  const std::string good = PackDelta(DeltaBase(base), Decision(100, 60));
  size_t refused = 0;
  for (int attempt = 0; attempt < 2000; ++attempt) {
    std::string delta = good.substr(0, random() % 4 == 0 ? random() % good.size() : good.size());
    for (uint64_t flips = 1 + random() % 3; flips > 0 && !delta.empty(); --flips) {
      delta[random() % delta.size()] ^= static_cast<char>(1 + random() % 255);
    }
    refused += UnpackDelta(base, delta).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1900u);
  // With another base: the delta copies bytes that this base lacks.
  EXPECT_FALSE(UnpackDelta("", good).ok());
}

}  // namespace
}  // namespace ebb::text_delta_test
