#include "snapshot/formats/object_name.h"

#include <string>

#include "gtest/gtest.h"

namespace ebb::object_name_test {
namespace {

TEST(ObjectNameTest, EachAsciiByteIsCheckedAtEachPlace) {
  for (size_t size = 1; size <= 20; ++size) {
    for (size_t place = 0; place < size; ++place) {
      for (int c = 0; c < 0x80; ++c) {
        std::string name(size, 'x');
        name[place] = static_cast<char>(c);
        const bool is_taken = c > ' ' && c != '/' && c != 0x7f;
        EXPECT_EQ(IsName(name), is_taken) << "byte " << c << " at " << place << " of " << size;
      }
    }
  }
}

TEST(ObjectNameTest, BytesBesideEachOtherDoNotHideOne) {
  for (int before = 1; before < 0x80; ++before) {
    for (const char refused : {' ', '/', '\x7f', '\n', '\0'}) {
      std::string name = "a-name-of-some-length";
      name[8] = static_cast<char>(before);
      name[9] = refused;
      EXPECT_FALSE(IsName(name)) << before;
    }
  }
}

TEST(ObjectNameTest, CharactersBeyondAsciiAreNamesIfTheyShowAndAreUtf8) {
  EXPECT_TRUE(IsName("n\u00f6"));
  EXPECT_TRUE(IsName("a-node-in-m\u00fcnchen"));
  EXPECT_FALSE(IsName("a-node-in-m\u00a0nchen"));
  EXPECT_FALSE(IsName("a-node-in-m\u202enchen"));
  EXPECT_FALSE(IsName("a-node-\u00fc-and-a blank"));
  EXPECT_FALSE(IsName("n\xff"));
  EXPECT_FALSE(IsName("a-node-of-some-length\xc3"));
}

TEST(ObjectNameTest, NoWideBlankIsPartOfAName) {
  for (const char* blank :
       {"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u2800", "\u3000"}) {
    EXPECT_FALSE(IsName(std::string("m\u00fc") + blank + "nchen")) << blank;
  }
  EXPECT_TRUE(IsName("m\u00fc\\nchen")) << "a backslash shows";
}

TEST(ObjectNameTest, NameProblemSaysWhatIsWrong) {
  EXPECT_EQ(NameProblem(""), "is empty");
  EXPECT_EQ(NameProblem(std::string(254, 'n')), "is a name of 254 bytes; at most 253 are taken");
  EXPECT_EQ(NameProblem(std::string(253, ' ')).substr(0, 2), "\" ") << "not too long";
  EXPECT_EQ(NameProblem("a/b"), "\"a/b\" is not a name: it has a \"/\"");
  EXPECT_EQ(NameProblem("a b"),
            "\"a b\" is not a name: it has blanks or characters that do not show");
  EXPECT_NE(NameProblem("a/\xff").find("it has bytes that are not UTF-8"), std::string::npos);
}

TEST(ObjectNameTest, LengthIsBound) {
  EXPECT_FALSE(IsName(""));
  EXPECT_TRUE(IsName(std::string(kNameBytesMax, 'n')));
  EXPECT_FALSE(IsName(std::string(kNameBytesMax + 1, 'n')));
}

}  // namespace
}  // namespace ebb::object_name_test
