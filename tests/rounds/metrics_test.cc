#include "rounds/metrics.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  // Observes a round that starts to delete a ready node and one that is not ready.
  void Observe(Metrics& metrics, double seconds) {
    RoundResult result;
    result.status = ScaleDownStatus::kNodeDeleteStarted;
    result.start.drain = {{GroupId{0}, {NodeId{0}, NodeId{1}}}};
    result.newly_started = {NodeId{0}, NodeId{1}};
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

TEST_F(MetricsTest, NodeThatIsNamedAgainIsCountedOnce) {
  Metrics metrics;
  Observe(metrics, 0.02);
  RoundResult again;
  again.status = ScaleDownStatus::kNodeDeleteStarted;
  again.start.drain = {{GroupId{0}, {NodeId{0}, NodeId{1}}}};
  metrics.Observe({.catalog = &snapshot_.catalog(), .result = &again});
  EXPECT_THAT(metrics.Text(), HasSubstr("scaled_down_nodes_total{reason=\"underutilized\"} 1\n"));
}

TEST_F(MetricsTest, GpuNodesAreCountedByResourceAlsoAfterARestart) {
  snapshot_ = test::Cluster()
                  .Add(test::Node("a").Resource("nvidia.com/gpu", 2))
                  .Add(test::Node("b").NotReady())
                  .Build();
  Metrics old;
  Observe(old, 0.02);
  Metrics restored;
  restored.Restore(old.Save());
  Observe(restored, 0.02);
  EXPECT_THAT(restored.Text(),
              HasSubstr("scaled_down_gpu_nodes_total{gpu_name=\"generic\",gpu_resource_name="
                        "\"nvidia.com/gpu\",reason=\"underutilized\"} 2\n"));
}

TEST_F(MetricsTest, ClusterIsCountedAsTheAutoscalerCountsIt) {
  Metrics metrics;
  RoundResult result;
  result.now_s = 1000;
  metrics.Observe({.catalog = &snapshot_.catalog(),
                   .result = &result,
                   .snapshot = &snapshot_,
                   .unregistered_nodes = 3,
                   .pending_pods = 5});
  const std::string text = metrics.Text();
  for (const char* line :
       {"nodes_count{state=\"ready\"} 1\n", "nodes_count{state=\"unready\"} 1\n",
        "nodes_count{state=\"notStarted\"} 0\n", "nodes_count{state=\"unregistered\"} 3\n",
        "cluster_safe_to_autoscale 1\n", "unschedulable_pods_count{type=\"unschedulable\"} 5\n",
        "last_activity{activity=\"main\"} 1000\n", "last_activity{activity=\"scaleDown\"} 1000\n",
        "errors_total{type=\"internalError\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  result.status = ScaleDownStatus::kClusterUnhealthy;
  result.now_s = 1010;
  metrics.Observe({.catalog = &snapshot_.catalog(),
                   .result = &result,
                   .snapshot = &snapshot_,
                   .max_node_startup_time_s = 900000});
  const std::string after = metrics.Text();
  for (const char* line : {"cluster_safe_to_autoscale 0\n", "nodes_count{state=\"notStarted\"} 1\n",
                           "last_activity{activity=\"main\"} 1010\n",
                           "last_activity{activity=\"scaleDown\"} 1000\n"}) {
    EXPECT_THAT(after, HasSubstr(line));
  }
}

TEST_F(MetricsTest, ErrorCountersOfTheStateContinue) {
  Metrics metrics;
  metrics.Restore({{Metrics::kErrors, "internalError", -1, 2}});
  EXPECT_THAT(metrics.Text(), HasSubstr("errors_total{type=\"internalError\"} 2\n"));
}

TEST_F(MetricsTest, RestoredMetricsContinueLikeTheOriginals) {
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

// Symptom: "0 unneeded" for minutes, and the reason for all kept nodes was RecentlyUnremovable.
TEST_F(MetricsTest, UnremovableNodesAreCountedByTheirCauseAndWithWhenTheyAreTriedAgain) {
  Metrics metrics;
  RoundResult result;
  result.unremovable = {.nodes = 3,
                        .reasons = {{"NotEnoughPdb", 2}, {"NotUnderutilized", 1}},
                        .remembered = 2,
                        .first_recheck_s = 1300,
                        .last_recheck_s = 1310};
  metrics.Observe({.catalog = &snapshot_.catalog(), .result = &result});
  for (const char* line : {"ebb_unremovable_nodes{reason=\"NotEnoughPdb\"} 2\n",
                           "ebb_unremovable_nodes{reason=\"NotUnderutilized\"} 1\n",
                           "ebb_remembered_unremovable_nodes 2\n",
                           "ebb_unremovable_first_recheck_timestamp_seconds 1300\n",
                           "ebb_unremovable_last_recheck_timestamp_seconds 1310\n"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(line));
  }
  RoundResult nothing;
  metrics.Observe({.catalog = &snapshot_.catalog(), .result = &nothing});
  for (const char* line : {"ebb_unremovable_nodes{reason=\"NotEnoughPdb\"} 0\n",
                           "ebb_remembered_unremovable_nodes 0\n",
                           "ebb_unremovable_first_recheck_timestamp_seconds 0\n"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(line));
  }
}

TEST_F(MetricsTest, UnknownCountersOfAnotherVersionAreDropped) {
  Metrics metrics;
  metrics.Restore({{"ebb_of_tomorrow_total", "x", -1, 5},
                   {"cluster_autoscaler_function_duration_seconds", "scaleDown", 99, 5}});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("tomorrow")));
}

}  // namespace
}  // namespace ebb::metrics_test
