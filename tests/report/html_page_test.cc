#include "report/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ebb::html_page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlReportTest, NoTextEndsTheDataElement) {
  const std::string page = HtmlReport({{"title", "</script><script>alert(1)</script><!--"}});
  EXPECT_EQ(CountOf(page, "</script>"), 2u);
  EXPECT_EQ(CountOf(page, "alert"), 1u);
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
}

TEST(HtmlReportTest, LongTextsAreShortenedAndStayDifferent) {
  const std::string same(1'000'000, 'x');
  const std::string page = HtmlReport({{"a", same + "a"}, {"b", same + "b"}, {"c", same + "b"}});
  EXPECT_LT(page.size(), 200'000u);
  const size_t a = page.find("\"a\":\"");
  const auto value_of = [&](const std::string& name) {
    const size_t begin = page.find("\"" + name + "\":\"", a) + 5;
    return page.substr(begin, page.find('"', begin) - begin);
  };
  EXPECT_THAT(value_of("a"), HasSubstr("xxx... (1,000,001 bytes, "));
  EXPECT_NE(value_of("a"), value_of("b"));
  EXPECT_EQ(value_of("b"), value_of("c"));
}

TEST(HtmlReportTest, TextsAreCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xe2\x82\xac";  // Euro signs, three bytes each.
  EXPECT_THAT(HtmlReport({{"a", "x" + text}}), Not(HasSubstr("\xef\xbf\xbd")));
}

TEST(HtmlReportTest, ThePolicyAllowsOnlyTheFilesOfThePage) {
  const std::string page = HtmlReport({{"a", 1}});
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(ServedPage(), HasSubstr("<script src=\"/page.js\"></script>"));
}

}  // namespace
}  // namespace ebb::html_page_test
