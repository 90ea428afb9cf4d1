// States of policies as text.

#include "sizing/policy/state_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb::state_text_test {
namespace {

struct Everything {
  bool yes = true;
  float third = 1.0f / 3;
  double none = std::numeric_limits<double>::quiet_NaN();
  double endless = -std::numeric_limits<double>::infinity();
  std::string text = "with blanks 12 and \n lines";
  std::optional<int64_t> absent{};
  std::vector<std::string> texts{"", "a b"};
};

template <typename A>
void Fields(A& a, Everything& e) {
  a(e.yes, e.third, e.none, e.endless, e.text, e.absent, e.texts);
}

TEST(StateTextTest, EveryFieldComesBackExactly) {
  const std::string text = StateText("e/1", Everything{});
  Everything read{.yes = false, .third = 0, .text = "", .absent = 3, .texts = {}};
  ASSERT_TRUE(ReadStateText("e/1", text, &read));
  EXPECT_TRUE(read.yes);
  EXPECT_EQ(read.third, 1.0f / 3);
  EXPECT_NE(read.none, read.none);
  EXPECT_EQ(read.endless, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.text, Everything().text);
  EXPECT_EQ(read.absent, std::nullopt);
  EXPECT_EQ(read.texts, Everything().texts);
}

TEST(StateTextTest, TruncatedAndLongerTextsAreRejected) {
  const std::string text = StateText("e/1", Everything{});
  Everything read;
  for (size_t size = 1; size < text.size(); ++size) {
    EXPECT_FALSE(ReadStateText("e/1", text.substr(0, size), &read)) << size;
  }
  EXPECT_FALSE(ReadStateText("e/1", text + " ", &read));
  EXPECT_FALSE(ReadStateText("e/2", text, &read));
}

enum class Shade : uint8_t { kDark, kLight };

struct Small {
  bool yes = false;
  Shade shade = Shade::kDark;
  int64_t number = 0;
  std::map<std::string, int64_t> counts{};
  std::array<int64_t, 2> pair{};
};

template <typename A>
void Fields(A& a, Small& s) {
  a(s.yes, s.shade, s.number, s.counts, s.pair);
}

TEST(StateTextTest, FieldsAreWordsInOrder) {
  const Small small{
      .yes = true, .shade = Shade::kLight, .number = -5, .counts = {{"k", 9}}, .pair = {3, 4}};
  const std::string text = StateText("n/1", small);
  EXPECT_EQ(text, "3 n/1 1 1 -5 1 1 k 9 3 4 ");
  Small read;
  ASSERT_TRUE(ReadStateText("n/1", text, &read));
  EXPECT_TRUE(read.yes);
  EXPECT_EQ(read.shade, Shade::kLight);
  EXPECT_EQ(read.number, -5);
  EXPECT_EQ(read.counts, small.counts);
  EXPECT_EQ(read.pair, small.pair);
}

TEST(StateTextTest, ADamagedTextIsRefusedAndNothingOfItIsRead) {
  for (const char* const damaged : {
           "3 n/1 2 1 -5 1 1 k 9 3 4 ",                    // Not a bool.
           "3 n/1 1 256 -5 1 1 k 9 3 4 ",                  // Not an enum of one byte.
           "3 n/1 1 1 -5x 1 1 k 9 3 4 ",                   // Not a number.
           "3 n/1 1 1 x 1 1 k 9 3 4 ",                     //
           "3 n/1 1 1  1 1 k 9 3 4 ",                      //
           "3 n/1 1 1 99999999999999999999 1 1 k 9 3 4 ",  // The number is too large.
           "3 n/1 1 1 -5 99 1 k 9 3 4 ",                   // Too few items.
           "3 n/1 1 1 -5 1 1 kk 9 3 4 ",   // The text is longer than its length says.
           "3 n/1 1 1 -5 1 99 k 9 3 4 ",   // The text is shorter than its length says.
           "3 n/1 1 1 -5 1 1 k 9 3 4",     // The final blank is missing.
           "3 n/1 1 1 -5 1 1 k 9 3 4 5 ",  // Text after the last field.
       }) {
    Small read{.number = 7};
    EXPECT_FALSE(ReadStateText("n/1", damaged, &read)) << damaged;
    EXPECT_EQ(read.number, 7) << damaged;
    EXPECT_FALSE(read.yes) << damaged;
  }
}

TEST(StateTextTest, AnEmptyTextIsANewState) {
  Small read{.yes = true, .number = 7};
  ASSERT_TRUE(ReadStateText("n/1", "", &read));
  EXPECT_FALSE(read.yes);
  EXPECT_EQ(read.number, 0);
}

}  // namespace
}  // namespace ebb::state_text_test
