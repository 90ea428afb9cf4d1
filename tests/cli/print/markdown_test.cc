#include "cli/print/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli/print/plan_print.h"
#include "wire/planner.pb.h"

namespace ebb::markdown_test {
namespace {

using ::testing::HasSubstr;

TEST(MarkdownTest, NoNameEndsACodeSpanOrARow) {
  EXPECT_EQ(MarkdownCode("shop/web-1"), "`shop/web-1`");
  EXPECT_EQ(MarkdownCode(""), "-");
  EXPECT_EQ(MarkdownCode("a|b"), "`a\\|b`");
  EXPECT_EQ(MarkdownCode("a\\|b"), "`a\\\\\\|b`");
  EXPECT_EQ(MarkdownCode("`<script>`"), "`'<script>'`");
  EXPECT_EQ(MarkdownCode("a\nb"), "`a\\nb`");
  EXPECT_EQ(MarkdownCode("a\u202eb"), "`a\\u202eb`");
}

TEST(MarkdownTest, ALongNameIsCut) {
  const std::string code = MarkdownCode(std::string(10'000'000, 'x'));
  EXPECT_LT(code.size(), kMarkdownCell + 10);
  EXPECT_THAT(code, HasSubstr("…"));
}

TEST(MarkdownTest, APlanHasItsFiguresAndAtMostTwentyNodes) {
  v1alpha1::PlanReply reply;
  reply.set_removes(30);
  reply.set_nodes(100);
  reply.set_pods(1000);
  v1alpha1::PlanTables& tables = *reply.mutable_tables();
  tables.set_termination("complete");
  tables.set_moved_pods(70);
  tables.set_kept(70);
  tables.set_saved_per_hour(2);
  tables.set_currency("U|D");
  tables.mutable_freed()->set_cpu_milli(4000);
  for (int i = 0; i < 30; ++i) {
    tables.add_remove()->set_node("node-" + std::to_string(i));
  }
  std::ostringstream out;
  PrintMarkdown(reply, out);
  EXPECT_THAT(out.str(), HasSubstr("### 30 of 100 nodes can go (30.0%)"));
  EXPECT_THAT(out.str(), HasSubstr("70 of 1,000 pods move."));
  EXPECT_THAT(out.str(), HasSubstr("Saved: 2.00 `U\\|D` an hour, 1,460.00 `U\\|D` a month."));
  EXPECT_THAT(out.str(), HasSubstr("| `node-19` | - | 0 |"));
  EXPECT_THAT(out.str(), Not(HasSubstr("node-20")));
  EXPECT_THAT(out.str(), HasSubstr("... 10 more"));
}

TEST(MarkdownTest, AComparisonHasTheDifferences) {
  PlanComparison comparison;
  comparison.before = {
      .nodes = 10, .removed = 3, .moved_pods = 5, .saved_per_hour = 1.0, .currency = "USD"};
  comparison.after = {
      .nodes = 10, .removed = 2, .moved_pods = 9, .saved_per_hour = 2.5, .currency = "USD"};
  comparison.in_both = 2;
  comparison.no_more = {{.node = "a|", .group = "g", .kept_because = "NotUnderutilized"}};
  std::ostringstream out;
  PrintMarkdown(comparison, out);
  EXPECT_THAT(out.str(), HasSubstr("### 2 nodes can go, 3 before (-1)"));
  EXPECT_THAT(out.str(), HasSubstr("| pods that move | 5 | 9 | +4 |"));
  EXPECT_THAT(out.str(), HasSubstr("| saved an hour | 1.00 `USD` | 2.50 `USD` | +1.50 `USD` |"));
  EXPECT_THAT(out.str(), HasSubstr("| `a\\|` | `g` | `NotUnderutilized` |"));
}

}  // namespace
}  // namespace ebb::markdown_test
