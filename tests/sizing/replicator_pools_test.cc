#include "sizing/replicator_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::replicator_pools_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PolicyNode NodeOf(const std::string& name, const std::string& pool) {
  return {.name = name,
          .capacity = {.cpu_milli = 1000, .memory_bytes = 1000},
          .ready = true,
          .labels = {{"x/replicator_enabled", "true"},
                     {"x/replicator_worker_pool", pool},
                     {"x/replicator_region", "here"},
                     {"x/replicator_provider", "aws"},
                     {"other", "1"}},
          .annotations = {{"x/replicator_notification_uid", "uid"},
                          {"x/replicator_min", "2"},
                          {"x/replicator_max", "7"}}};
}

DiscoveredPools Discover(const std::vector<PolicyNode>& nodes) {
  return DiscoverPools(nodes, "x/", PolicyRegistry());
}

TEST(ReplicatorPoolsTest, NodesMakePoolsByTheirLabelsAndAnnotations) {
  const DiscoveredPools found =
      Discover({NodeOf("b", "web"), NodeOf("a", "web"), NodeOf("c", "batch"), {.name = "d"}});
  EXPECT_THAT(found.warnings, IsEmpty());
  ASSERT_THAT(found.pools, SizeIs(2));
  EXPECT_EQ(found.pools[0].name, "batch");
  EXPECT_EQ(found.pools[1].name, "web");
  EXPECT_EQ(found.pools[1].policy_name, "replicator");
  EXPECT_THAT(found.pools[1].members, ElementsAre("a", "b"));
  EXPECT_EQ(found.pools[1].cloud.min, 2);
  EXPECT_EQ(found.pools[1].cloud.max, 7);
  EXPECT_NE(found.pools[1].policy, nullptr);
}

TEST(ReplicatorPoolsTest, AnAnnotationCountsMoreThanALabel) {
  PolicyNode node = NodeOf("a", "web");
  node.annotations["x/replicator_worker_pool"] = "batch";
  EXPECT_EQ(Discover({node}).pools.at(0).name, "batch");
}

TEST(ReplicatorPoolsTest, TheLastOfDisagreeingNodesWinsWithAWarningThatNamesThem) {
  PolicyNode other = NodeOf("b", "web");
  other.annotations["x/replicator_max"] = "9";
  const DiscoveredPools found = Discover({NodeOf("a", "web"), other});
  EXPECT_EQ(found.pools.at(0).cloud.max, 9);
  ASSERT_THAT(found.warnings, SizeIs(1));
  EXPECT_THAT(found.warnings[0], HasSubstr("replicator_max"));
  EXPECT_THAT(found.warnings[0], HasSubstr("a"));
}

TEST(ReplicatorPoolsTest, ANodeWhoseKeysMakeNoPoolGivesAWarningAndOneWithoutKeysDoesNot) {
  PolicyNode lacks = NodeOf("a", "web");
  lacks.labels.erase("x/replicator_region");
  PolicyNode wrong = NodeOf("b", "web");
  wrong.annotations["x/replicator_max"] = "many";
  const DiscoveredPools found = Discover({lacks, wrong, {.name = "c"}});
  EXPECT_THAT(found.pools, IsEmpty());
  ASSERT_THAT(found.warnings, SizeIs(2));
  EXPECT_THAT(found.warnings[1], HasSubstr("replicator_max"));
}

TEST(ReplicatorPoolsTest, NodesThatAreNotReadyOrCordonedOrNotEnabledAreOfNoPool) {
  PolicyNode unready = NodeOf("a", "web");
  unready.ready = false;
  PolicyNode cordoned = NodeOf("b", "web");
  cordoned.is_cordoned = true;
  PolicyNode disabled = NodeOf("c", "web");
  disabled.labels["x/replicator_enabled"] = "false";
  const DiscoveredPools found = Discover({unready, cordoned, disabled, NodeOf("d", "web")});
  ASSERT_THAT(found.pools, SizeIs(1));
  EXPECT_THAT(found.pools[0].members, ElementsAre("d"));
}

}  // namespace
}  // namespace ebb::replicator_pools_test
