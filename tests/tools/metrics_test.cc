#include "tools/metrics.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  // A round that starts to delete a ready node and one that is not.
  void Observe(Metrics& metrics, double seconds) {
    RoundResult result;
    result.status = ScaleDownStatus::kNodeDeleteStarted;
    result.start.drain = {{GroupId{0}, {NodeId{0}, NodeId{1}}}};
    result.plan.keep.emplace_back().reason = UnremovableReason::kNotUnderutilized;
    metrics.Observe({.catalog = &snapshot_.catalog(), .result = &result, .seconds = seconds});
  }

  ClusterSnapshot snapshot_ =
      test::Cluster().Add(test::Node("a")).Add(test::Node("b").NotReady()).Build();
};

TEST_F(MetricsTest, NodesAreCountedByTheAutoscalersReasons) {
  Metrics metrics;
  Observe(metrics, 0.02);
  EXPECT_THAT(metrics.Text(), HasSubstr("scaled_down_nodes_total{reason=\"underutilized\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("scaled_down_nodes_total{reason=\"unready\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("scaled_down_nodes_total{reason=\"empty\"} 0\n"));
}

TEST_F(MetricsTest, RestoredMetricsGoOnAsTheOldOnesWouldHave) {
  Metrics old;
  for (const double seconds : {0.001, 0.02, 0.02, 7.0, 5000.0}) Observe(old, seconds);
  Metrics restored;
  restored.Restore(old.Save());
  EXPECT_EQ(restored.Save(), old.Save());
  Observe(old, 0.3);
  Observe(restored, 0.3);
  EXPECT_EQ(restored.Text(), old.Text());
}

TEST_F(MetricsTest, ReasonThatNoNodeHasAnyMoreIsZero) {
  Metrics metrics;
  Observe(metrics, 0.02);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("unremovable_nodes_count{reason=\"NotUnderutilized\"} 1\n"));
  RoundResult nothing;
  metrics.Observe({.catalog = &snapshot_.catalog(), .result = &nothing});
  EXPECT_THAT(metrics.Text(),
              HasSubstr("unremovable_nodes_count{reason=\"NotUnderutilized\"} 0\n"));
}

TEST_F(MetricsTest, UnknownCountersOfAnotherVersionAreDropped) {
  Metrics metrics;
  metrics.Restore({{"ebb_of_tomorrow_total", "x", -1, 5},
                   {"cluster_autoscaler_function_duration_seconds", "scaleDown", 99, 5}});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("tomorrow")));
}

}  // namespace
}  // namespace ebb
