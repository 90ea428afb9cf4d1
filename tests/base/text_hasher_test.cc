#include "base/text_hasher.h"

#include <string>

#include "base/text.h"
#include "gtest/gtest.h"

namespace ebb::text_hasher_test {
namespace {

TEST(TextHasherTest, IsTheHashOfTheJoinedPieces) {
  EXPECT_EQ(TextHasher().Value(), HashOfText(""));
  const std::string text(1'000, 'x');
  for (size_t cut = 0; cut <= text.size(); cut += 100) {
    TextHasher hasher;
    hasher.Add(text.substr(0, cut));
    hasher.Add(text.substr(cut));
    EXPECT_EQ(hasher.Value(), HashOfText(text)) << cut;
  }
}

}  // namespace
}  // namespace ebb::text_hasher_test
