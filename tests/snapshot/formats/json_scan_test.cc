#include "snapshot/formats/json_scan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace ebb::json_scan::json_scan_test {
namespace {

size_t Length(std::string_view text, const char* after) {
  return after == nullptr ? std::string_view::npos : static_cast<size_t>(after - text.data());
}

// The length by each implementation; all must agree.
size_t ContainerLength(std::string_view text) {
  const char* const end = text.data() + text.size();
  const size_t length = Length(text, SkipContainer(text.data(), end));
  for (size_t way = 0; way < ContainerWays(); ++way) {
    EXPECT_EQ(Length(text, SkipContainer(text.data(), end, way)), length) << way << ": " << text;
  }
  return length;
}

// The slow twin: reads one character after the other.
size_t SlowContainerLength(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

TEST(JsonScanTest, TheEndOfAContainerAgreesWithABytewiseScan) {
  std::mt19937_64 random(7);
  // Backslashes and quotes are frequent, so that runs cross the borders of blocks.
  constexpr std::string_view kAlphabet = "\\\\\\\"\"{}[]a,: ";
  int ended = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = "{";
    const size_t size = random() % 300;
    // Outside of strings JSON has no backslashes; keep them inside.
    bool in_string = false;
    while (text.size() < size) {
      const char c = kAlphabet[random() % kAlphabet.size()];
      if (c == '\\') {
        if (!in_string) continue;
        text += c;
        text += kAlphabet[random() % kAlphabet.size()];
        continue;
      }
      if (c == '"') in_string = !in_string;
      text += c;
    }
    ASSERT_EQ(ContainerLength(text), SlowContainerLength(text)) << text;
    ended += ContainerLength(text) != std::string_view::npos ? 1 : 0;
  }
  EXPECT_GT(ended, 5'000);
}

TEST(JsonScanTest, LongRunsOfBackslashesEscapeByTheirParity) {
  for (size_t run = 0; run < 200; ++run) {
    for (size_t before = 0; before < 70; before += 23) {
      const std::string text =
          "{\"" + std::string(before, 'a') + std::string(run, '\\') + "\"}\"}]";
      ASSERT_EQ(ContainerLength(text), SlowContainerLength(text)) << run << " " << before;
    }
  }
}

TEST(JsonScanTest, OneValueIsSkippedAndNoMore) {
  const auto rest = [](std::string_view text) {
    const char* const after = SkipValue(text.data(), text.data() + text.size());
    return after == nullptr ? std::string("cut off")
                            : std::string(text.substr(static_cast<size_t>(after - text.data())));
  };
  EXPECT_EQ(rest("12,3"), ",3");
  EXPECT_EQ(rest("true}"), "}");
  EXPECT_EQ(rest("null ]"), " ]");
  EXPECT_EQ(rest("\"a\\\"b\" :"), " :");
  EXPECT_EQ(rest("[1,[2]],3"), ",3");
  EXPECT_EQ(rest("{\"a\":{}}x"), "x");
  EXPECT_EQ(rest("\"a"), "cut off");
  EXPECT_EQ(rest("\"a\\"), "cut off");
  EXPECT_EQ(rest("[1,[2],3"), "cut off");
  EXPECT_EQ(rest(","), "cut off");
}

TEST(JsonScanTest, OnlyTheFourBlanksOfJsonAreSkipped) {
  const auto rest = [](std::string_view text) {
    const char* const after = SkipBlanks(text.data(), text.data() + text.size());
    return std::string(text.substr(static_cast<size_t>(after - text.data())));
  };
  EXPECT_EQ(rest(" \n\r\t x "), "x ");
  EXPECT_EQ(rest("  "), "");
  EXPECT_EQ(rest(""), "");
  for (const char* other : {"\v ", "\f ", "\x01 ", "\xa0 "}) EXPECT_EQ(rest(other), other);
}

TEST(JsonScanTest, AStringEndsAfterItsClosingQuote) {
  const auto length = [](std::string_view text) {
    return Length(text, SkipString(text.data(), text.data() + text.size()));
  };
  EXPECT_EQ(length(R"("")"), 2u);
  EXPECT_EQ(length(R"("a"b")"), 3u);
  EXPECT_EQ(length(R"("\"" )"), 4u);
  EXPECT_EQ(length(R"("\\" ")"), 4u);
  for (const char* cut : {"\"", "\"a", "\"\\", "\"\\\""}) {
    EXPECT_EQ(length(cut), std::string_view::npos) << cut;
  }
}

TEST(JsonScanTest, EachMemberOfAnObjectIsGivenWithItsText) {
  const auto members = [](std::string_view text) {
    std::string listing;
    const bool is_json = ForEachMember(text, [&](std::string_view key, std::string_view value) {
      listing.append(key).append("=").append(value).append(";");
    });
    return listing + (is_json ? "" : "no JSON");
  };
  EXPECT_EQ(members("{}"), "");
  EXPECT_EQ(members(R"({"a":1, "b" : [2,{}] ,"c":{"d":3},"":"x}"})"),
            R"(a=1;b=[2,{}];c={"d":3};="x}";)");
  EXPECT_EQ(members("{\n\"a\"\t:\r null }"), "a=null;");
  for (const char* other : {"", "[]", " {}", "{", "{\"a\"", "{\"a", "{\"a\"1}",
                            "{\"a\":", "{\"a\":}", "{\"a\":]}", "{5:1}", "{\"a\":\"x}"}) {
    EXPECT_EQ(members(other), "no JSON") << other;
  }
  EXPECT_EQ(members("{\"a\":1"), "a=1;no JSON");
}

}  // namespace
}  // namespace ebb::json_scan::json_scan_test
