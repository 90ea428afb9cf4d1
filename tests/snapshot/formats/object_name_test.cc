#include "snapshot/formats/object_name.h"

#include <string>

#include "gtest/gtest.h"

namespace ebb::object_name_test {
namespace {

TEST(ObjectNameTest, EachAsciiByteIsJudgedAloneAtEachPlace) {
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

TEST(ObjectNameTest, LengthIsBound) {
  EXPECT_FALSE(IsName(""));
  EXPECT_TRUE(IsName(std::string(kNameBytesMax, 'n')));
  EXPECT_FALSE(IsName(std::string(kNameBytesMax + 1, 'n')));
}

}  // namespace
}  // namespace ebb::object_name_test
