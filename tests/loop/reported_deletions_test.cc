#include "loop/reported_deletions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::reported_deletions_test {
namespace {

using testing::ElementsAre;

TEST(ReportedDeletionsTest, TheReportHasRunningEndedAndFailedDeletions) {
  ActuatorStatus status;
  status.running = {{.node = "a", .group = "g", .drain = true},
                    {.node = "b", .group = "h", .drain = false},
                    {.node = "c", .group = "g", .drain = true}};
  status.results = {{.node = "x", .group = "g", .ok = true, .at_s = 5},
                    {.node = "y", .group = "h", .ok = false, .at_s = 6, .why = "no"},
                    {.node = "z", .group = "g", .ok = false, .at_s = 7, .why = "no"}};
  status.recent_evictions = {
      {.namespace_name = "default", .name = "p", .uid = "u", .evicted_at_s = 4}};
  const ReportedDeletions reported = ReportDeletions(status);
  EXPECT_THAT(reported.in_progress.drained,
              ElementsAre(NodeInDeletion{"a", "g"}, NodeInDeletion{"c", "g"}));
  EXPECT_THAT(reported.in_progress.empty, ElementsAre(NodeInDeletion{"b", "h"}));
  EXPECT_EQ(reported.in_progress.recent_evictions, status.recent_evictions);
  ASSERT_EQ(reported.ended.size(), 3);
  EXPECT_EQ(reported.ended[0].node, "x");
  EXPECT_TRUE(reported.ended[0].ok);
  EXPECT_EQ(reported.ended[2].node, "z");
  EXPECT_FALSE(reported.ended[2].ok);
  ASSERT_EQ(reported.failed.size(), 2);
  EXPECT_EQ(reported.failed[0].kind, ScaleEventKind::kFailedDeletion);
  EXPECT_EQ(reported.failed[0].group, "h");
  EXPECT_EQ(reported.failed[0].at_s, 6);
  EXPECT_EQ(reported.failed[1].group, "g");
}

TEST(ReportedDeletionsTest, ADeletionThatDidNotBeginIsReportedUnlessTheActuatorReportsIt) {
  ActuatorStatus status;
  status.running = {{.node = "runs"}};
  status.results = {{.node = "ended", .ok = true}};
  std::vector<DeletionResult> not_begun = {{.node = "runs", .ok = false},
                                           {.node = "ended", .ok = false},
                                           {.node = "first", .ok = false},
                                           {.node = "second", .ok = false}};
  AddNotBegun(not_begun, status);
  ASSERT_EQ(not_begun.size(), 2);
  EXPECT_EQ(not_begun[0].node, "first");
  // The actuator's own results come first, since Acknowledge() counts from the first.
  ASSERT_EQ(status.results.size(), 3);
  EXPECT_EQ(status.results[0].node, "ended");
  EXPECT_EQ(status.results[1].node, "first");
  EXPECT_EQ(status.results[2].node, "second");
}

}  // namespace
}  // namespace ebb::reported_deletions_test
