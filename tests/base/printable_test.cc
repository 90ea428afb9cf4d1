#include "base/printable.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "snapshot/formats/json_text.h"
#include "snapshot/formats/object_name.h"

namespace ebb::printable_test {
namespace {

TEST(PrintableTest, PlainTextIsReturnedUnchanged) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("ip-10-0-1-17.eu-west-1"), "ip-10-0-1-17.eu-west-1");
  EXPECT_EQ(Printable("größe 你好 🦀"), "größe 你好 🦀");
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(Printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Printable("\x7f"), "\\x7f");
  EXPECT_EQ(Printable("\u0085\u009b"), "\\u0085\\u009b");
  EXPECT_EQ(Printable("\u2028"), "\\u2028");
}

TEST(PrintableTest, InvisibleAndBidirectionalCharactersAreEscaped) {
  EXPECT_EQ(Printable("a\u200bb\u202ec\ufeff"), "a\\u200bb\\u202ec\\ufeff");
  EXPECT_EQ(Printable("\U000e0041"), "\\U000e0041");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreNamed) {
  EXPECT_EQ(Printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(Printable("\xe4\xbd"), "\\xe4\\xbd");
}

TEST(PrintableTest, CharactersThatUnicodeIgnoresAreShown) {
  for (const char* text :
       {"\u00ad", "\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u2065", "\u3164",
        "\ufe00", "\ufe0f", "\uffa0", "\ufff0", "\U0001d173", "\U000e0100", "\U000e0fff"}) {
    EXPECT_NE(Printable(text), text);
    EXPECT_FALSE(IsName(std::string("a") + text + "b"));
  }
  EXPECT_FALSE(IsName("a\u2800b"));  // A Braille pattern without dots.
  EXPECT_TRUE(IsName("größe-你好-🦀"));
}

TEST(PrintableTest, AMessageWithAnyQuotedTextIsOneLine) {
  std::ostringstream err;
  PrintMessage("no file \"a\nebb: wrote all\r\x1b[2J\u2028\\x1b\"", err);
  PrintMessage("x\n", err, "ebb plan");
  EXPECT_EQ(err.str(),
            "ebb: no file \"a\\nebb: wrote all\\r\\x1b[2J\\u2028\\x1b\"\nebb plan: x\\n\n");
}

TEST(PrintableTest, JsonAndYamlEscapeInvisibleCharactersAndKeepTheValue) {
  const std::string hidden = "a\u202eb\u00adc\U000e0041d\x7f";
  const nlohmann::ordered_json value = {{hidden, hidden}, {"plain", "größe 🦀"}};
  EXPECT_EQ(CompactJson(hidden), R"("a\u202eb\u00adc\udb40\udc41d\u007f")");
  for (const std::string& text : {CompactJson(value), IndentedJson(value)}) {
    EXPECT_EQ(nlohmann::ordered_json::parse(text), value);
    EXPECT_EQ(Printable(text).find("\\\\u202e") != std::string::npos, true) << "as an escape";
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_NE(text.find("größe 🦀"), std::string::npos);
  }
  const std::string yaml = Yaml(value);
  EXPECT_EQ(yaml.find("\u202e"), std::string::npos);
  const YAML::Node read = YAML::Load(yaml);
  EXPECT_EQ(read[hidden].as<std::string>(), hidden) << yaml;
}

TEST(PrintableTest, CompactJsonWritesEveryKindOfValueAsItsLibraryDoes) {
  using Json = nlohmann::ordered_json;
  const Json values = {
      {"texts", {"", "plain", "a \"quote\"", "back\\slash", "line\nbreak", "größe"}},
      {"a \"key\"", nullptr},
      {"numbers", {0, -1, INT64_MIN, UINT64_MAX, 0.1, 1e300, -0.0, 3.0}},
      {"no numbers", {std::nan(""), INFINITY}},
      {"bools", {true, false}},
      {"empty", {Json::object(), Json::array()}},
      {"nested", {{"list", {{{"a", 1}}, {{"b", {2}}}}}}}};
  EXPECT_EQ(CompactJson(values), values.dump());
  for (const Json& value : values) EXPECT_EQ(CompactJson(value), value.dump());
  EXPECT_EQ(CompactJson("not UTF-8: \xff"), "\"not UTF-8: \uFFFD\"");
}

TEST(PrintableTest, AnEscapeCannotBeForged) { EXPECT_EQ(Printable("\\n"), "\\\\n"); }

}  // namespace
}  // namespace ebb::printable_test
