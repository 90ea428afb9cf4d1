#include "planning/rebuild_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planning/live_cluster.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::rebuild_log_test {
namespace {

using test::Node;
using ::testing::ElementsAre;

LiveSnapshot::Options WatchedBy(RebuildObserver& observer) {
  LiveSnapshot::Options options = LiveCluster::LiveOptionsOf({});
  options.rebuild_observer = &observer;
  return options;
}

absl::Status Put(LiveCluster& cluster, const objects::ObjectRef& object) {
  const Change change{.object = object};
  return cluster.Take({&change, 1});
}

TEST(RebuildLogTest, CountsAndTimesEachRebuildByItsCause) {
  std::vector<std::string> causes;
  RebuildLog log([&](const TimedRebuild& rebuild) {
    EXPECT_GE(rebuild.seconds, 0);
    causes.emplace_back(ToString(rebuild.rebuilt));
  });
  LiveCluster cluster({}, WatchedBy(log));
  const Node node("a");
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "data";
  const objects::StorageObject data = claim;
  ASSERT_TRUE(Put(cluster, &node.raw).ok());
  (void)cluster.Snapshot();
  ASSERT_TRUE(Put(cluster, &data).ok());
  (void)cluster.Snapshot();
  (void)cluster.Snapshot();
  EXPECT_THAT(causes, ElementsAre("first", "volumes"));
  double seconds = 0;
  for (const RebuildTotals::Total& total : log.totals().by_cause) {
    EXPECT_EQ(total.rebuilds, total.cause == "first" || total.cause == "volumes" ? 1U : 0U);
    seconds += total.seconds;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(log.totals().text_renewals, 0U);
}

TEST(RebuildLogTest, ACopyOfTheClusterIsNotLogged) {
  RebuildLog log;
  LiveCluster cluster({}, WatchedBy(log));
  const Node node("a");
  ASSERT_TRUE(Put(cluster, &node.raw).ok());
  (void)cluster.Snapshot();
  const auto copy = cluster.Copy();
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ((*copy)->Snapshot().nodes(), 1U);
  EXPECT_EQ(log.totals().by_cause[0].rebuilds, 1U);
}

TEST(RebuildLogTest, TheTextNamesTheCauseAndHowLongItTook) {
  EXPECT_EQ(RebuildText({.rebuilt = {.cause = RebuildCause::kShape}, .seconds = 0.412}),
            "shape, 412 ms");
  EXPECT_EQ(RebuildText({.rebuilt = {.cause = RebuildCause::kDeadTexts, .renewed_texts = true},
                         .seconds = 1.3}),
            "dead-texts, 1.3 s, texts renewed");
  EXPECT_EQ(RebuildText({.rebuilt = {}, .seconds = 0}), "volumes, 0 s");
}

}  // namespace
}  // namespace ebb::rebuild_log_test
