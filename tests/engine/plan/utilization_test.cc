#include "engine/plan/utilization.h"

#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/objects/quantity.h"
#include "tests/support/filter_twin.h"
#include "tests/support/random_cluster.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::utilization_test {
namespace {

using test::Cluster;
using test::kGiB;
using test::Node;
using test::Pod;

constexpr int64_t kNow = 1'000'000;

class UtilizationTest : public testing::Test {
 protected:
  std::optional<Utilization> Measure(const Cluster& cluster, UtilizationOptions options = {}) {
    snapshot_ = cluster.Build();
    const auto utilization = CalculateUtilization(snapshot_, NodeId{0}, options, kNow);
    if (snapshot_.catalog().deletion_times().empty() &&
        snapshot_.catalog().pods_counted_otherwise().empty()) {
      options.all_as_charged = true;  // The fast path gives the same result.
      const auto same = CalculateUtilization(snapshot_, NodeId{0}, options, kNow);
      EXPECT_EQ(same.has_value(), utilization.has_value());
      const auto equal = [](double a, double b) { return a == b || (a != a && b != b); };
      EXPECT_TRUE(!same ||
                  (equal(same->cpu, utilization->cpu) && equal(same->memory, utilization->memory) &&
                   equal(same->gpu, utilization->gpu)));
    }
    return utilization;
  }
  std::string_view Name(const std::optional<Utilization>& utilization) const {
    return snapshot_.catalog().Text(utilization->resource);
  }

  ClusterSnapshot snapshot_;
};

Node N() { return Node("n").Cpu(4000).Memory(8 * kGiB); }
Pod On(const char* name) { return Pod(name).On("n"); }

TEST_F(UtilizationTest, LargerOfCpuAndMemoryCounts) {
  const auto cpu = Measure(Cluster().Add(N()).Add(On("p").Cpu(1000).Memory(kGiB)));
  EXPECT_EQ(cpu->cpu, 0.25);
  EXPECT_EQ(cpu->memory, 0.125);
  EXPECT_EQ(cpu->utilization, 0.25);
  EXPECT_EQ(Name(cpu), "cpu");
  const auto memory = Measure(Cluster().Add(N()).Add(On("p").Cpu(1000).Memory(4 * kGiB)));
  EXPECT_EQ(memory->utilization, 0.5);
  EXPECT_EQ(Name(memory), "memory");
}

TEST_F(UtilizationTest, TieNamesMemory) {
  EXPECT_EQ(Name(Measure(Cluster().Add(N()))), "memory");
  EXPECT_EQ(Name(Measure(Cluster().Add(N()).Add(On("p").Cpu(2000).Memory(4 * kGiB)))), "memory");
}

TEST_F(UtilizationTest, MissingOrZeroAllocatableGivesNoUtilization) {
  EXPECT_FALSE(Measure(Cluster().Add(N().Cpu(0))));
  EXPECT_FALSE(Measure(Cluster().Add(N().Memory(0))));
  EXPECT_FALSE(Measure(Cluster().Add(N().NoAllocatable())));
}

TEST_F(UtilizationTest, ExactThirdsAreTheSameFractionAsTheAutoscalers) {
  const auto result = Measure(Cluster().Add(N().Cpu(3000)).Add(On("p").Cpu(1000)));
  EXPECT_EQ(result->cpu, 1000.0 / 3000.0);
}

TEST_F(UtilizationTest, DaemonSetPodsCountUnlessExcludedFromBothSides) {
  const Cluster cluster =
      Cluster().Add(N()).Add(On("ds").DaemonSet().Cpu(2000)).Add(On("p").Cpu(1000));
  EXPECT_EQ(Measure(cluster)->cpu, 0.75);
  EXPECT_EQ(Measure(cluster, {.ignore_daemonsets = true})->cpu, 0.5);
}

TEST_F(UtilizationTest, PodAnnotatedAsOfADaemonSetIsExcludedToo) {
  const Cluster cluster = Cluster().Add(N()).Add(
      On("p").Cpu(2000).Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true"));
  EXPECT_EQ(Measure(cluster, {.ignore_daemonsets = true})->cpu, 0.0);
}

TEST_F(UtilizationTest, MirrorPodsCountUnlessExcludedFromBothSides) {
  const Cluster cluster =
      Cluster().Add(N()).Add(On("static").Mirror().Cpu(2000)).Add(On("p").Cpu(1000));
  EXPECT_EQ(Measure(cluster, {.ignore_daemonsets = true})->cpu, 0.75);
  EXPECT_EQ(Measure(cluster, {.ignore_mirror_pods = true})->cpu, 0.5);
}

TEST_F(UtilizationTest, LongTerminatingPodsCountForNothing) {
  EXPECT_EQ(Measure(Cluster().Add(N()).Add(On("p").Cpu(1000).DeletedAt(kNow - 61)))->cpu, 0.0);
  EXPECT_EQ(Measure(Cluster().Add(N()).Add(On("p").Cpu(1000).DeletedAt(kNow - 60)))->cpu, 0.25);
}

TEST_F(UtilizationTest, ExclusionComesBeforeLongTermination) {
  const auto result = Measure(Cluster()
                                  .Add(N())
                                  .Add(On("ds").DaemonSet().Cpu(2000).DeletedAt(kNow - 61))
                                  .Add(On("p").Cpu(1000)),
                              {.ignore_daemonsets = true});
  EXPECT_EQ(result->cpu, 0.5);
}

TEST_F(UtilizationTest, ARequestOfAZeroAllocatableIsInfinite) {
  const auto result =
      Measure(Cluster().Add(N()).Add(On("ds").DaemonSet().Cpu(4000)).Add(On("p").Cpu(1)),
              {.ignore_daemonsets = true});
  EXPECT_EQ(result->utilization, std::numeric_limits<double>::infinity());
}

TEST_F(UtilizationTest, ZeroOfZeroIsNotANumberAndMemoryIsNamed) {
  const auto cpu =
      Measure(Cluster().Add(N()).Add(On("ds").DaemonSet().Cpu(4000)).Add(On("p").Memory(kGiB)),
              {.ignore_daemonsets = true});
  EXPECT_TRUE(std::isnan(cpu->cpu));
  EXPECT_EQ(cpu->utilization, 0.125);
  const auto memory =
      Measure(Cluster().Add(N()).Add(On("ds").DaemonSet().Memory(8 * kGiB)).Add(On("p").Cpu(4000)),
              {.ignore_daemonsets = true});
  EXPECT_EQ(memory->cpu, 1.0);
  EXPECT_TRUE(std::isnan(memory->utilization));  // 1 > NaN is false.
}

TEST_F(UtilizationTest, OnlyGpusCountOnANodeWithGpus) {
  const auto result = Measure(Cluster()
                                  .Add(N().Resource("nvidia.com/gpu", 4))
                                  .Add(On("p").Cpu(4000).Request("nvidia.com/gpu", 1)));
  EXPECT_EQ(result->utilization, 0.25);
  EXPECT_EQ(result->gpu, 0.25);
  EXPECT_EQ(result->cpu, 0.0);
  EXPECT_EQ(Name(result), "nvidia.com/gpu");
}

TEST_F(UtilizationTest, GpuNodeNeedsNeitherCpuNorMemory) {
  const auto result = Measure(Cluster().Add(N().Cpu(0).Memory(0).Resource("amd.com/gpu", 2)));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->utilization, 0.0);
}

TEST_F(UtilizationTest, TheAutoscalersFirstOfTwoKindsOfGpusCounts) {
  const auto result = Measure(Cluster()
                                  .Add(N().Resource("amd.com/gpu", 2).Resource("nvidia.com/gpu", 4))
                                  .Add(On("p").Request("nvidia.com/gpu", 1)));
  EXPECT_EQ(Name(result), "nvidia.com/gpu");
  EXPECT_EQ(result->gpu, 0.25);
}

TEST_F(UtilizationTest, NodeWithoutAnyOfItsGpusIsAnOrdinaryNode) {
  const auto result =
      Measure(Cluster().Add(N().Resource("nvidia.com/gpu", 0)).Add(On("p").Cpu(1000)));
  EXPECT_EQ(Name(result), "cpu");
}

TEST_F(UtilizationTest, OtherExtendedResourcesAreNotGpus) {
  const auto result =
      Measure(Cluster().Add(N().Resource("example.com/fpga", 2)).Add(On("p").Cpu(1000)));
  EXPECT_EQ(Name(result), "cpu");
}

TEST_F(UtilizationTest, TheGpuLabelCountsIfTheNodeOffersNoGpu) {
  const Pod busy = On("p").Cpu(3000);
  const auto labelled = Measure(Cluster().Add(N()).Add(busy), {.gpu_label = true});
  EXPECT_EQ(Name(labelled), "nvidia.com/gpu");
  EXPECT_EQ(labelled->utilization, 0);
  EXPECT_EQ(labelled->cpu, 0);
  const auto zero =
      Measure(Cluster().Add(N().Resource("nvidia.com/gpu", 0)).Add(busy), {.gpu_label = true});
  EXPECT_EQ(Name(zero), "nvidia.com/gpu");
  EXPECT_EQ(zero->utilization, 0);
  const auto offered =
      Measure(Cluster().Add(N().Resource("amd.com/gpu", 4)).Add(On("q").Request("amd.com/gpu", 1)),
              {.gpu_label = true});
  EXPECT_EQ(Name(offered), "amd.com/gpu");
  EXPECT_EQ(offered->utilization, 0.25);
  EXPECT_EQ(Name(Measure(Cluster().Add(N()).Add(busy))), "cpu");
}

// During a resize the scheduler charges the requests of the status; utilization uses the pod-level
// requests of the spec.
TEST_F(UtilizationTest, PodLevelResourcesCountBySpecAndContainersByStatus) {
  const Pod resized = On("p").Cpu(100).With([](objects::Pod& pod) {
    pod.has_pod_resources = true;
    pod.pod_requests = {{"cpu", 1000}, {"memory", kGiB}};
    pod.has_pod_status_resources = true;
    pod.pod_status_requests = {{"cpu", 3000}, {"memory", kGiB}};
  });
  EXPECT_EQ(Measure(Cluster().Add(N()).Add(resized))->cpu, 0.25);
  EXPECT_EQ(snapshot_.Free(kCpu, NodeId{0}), 1000);
  EXPECT_EQ(snapshot_.catalog().pods_counted_otherwise().size(), 1u);

  const Pod container = On("p").Cpu(100).With([](objects::Pod& pod) {
    objects::ContainerStatus& status = pod.container_statuses.emplace_back();
    status.name = "main";
    status.has_resources = true;
    status.requests = {{"cpu", 2000}};
  });
  EXPECT_EQ(Measure(Cluster().Add(N()).Add(container))->cpu, 0.5);
  EXPECT_TRUE(snapshot_.catalog().pods_counted_otherwise().empty());
}

TEST_F(UtilizationTest, UncountableRequestsExceedTheNodeWithoutOverflow) {
  Cluster cluster;
  cluster.Add(N());
  for (const char* name : {"p", "q", "r"}) cluster.Add(On(name).Memory(kUncountable));
  EXPECT_GT(Measure(cluster)->memory, 3e9);
  cluster.Add(On("ds").DaemonSet().Memory(kUncountable));
  EXPECT_LT(Measure(cluster, {.ignore_daemonsets = true})->memory, 0.0) << "as upstream divides";
}

TEST_F(UtilizationTest, ANodeWhoseMemoryCannotBeCountedHasNoUtilization) {
  EXPECT_FALSE(Measure(Cluster().Add(N().Memory(kUncountable))).has_value());
}

TEST(UtilizationRandomTest, AgreesWithASlowTwinThatReadsTheObjects) {
  const uint64_t seed = test::RandomSeed();
  std::mt19937_64 random(seed);
  int otherwise = 0;
  for (int c = 0; c < 3000; ++c) {
    std::vector<uint8_t> bytes(2000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    test::Choices choices(bytes);
    const test::RawCluster raw = test::RandomCluster(choices);
    const absl::StatusOr<ClusterSnapshot> snapshot = test::BuildSnapshot(raw);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    otherwise += snapshot->catalog().pods_counted_otherwise().empty() ? 0 : 1;
    for (size_t n = 0; n < raw.nodes.size(); ++n) {
      const NodeId node{static_cast<uint32_t>(n)};
      const auto ours = CalculateUtilization(*snapshot, node, {}, /*now_s=*/0);
      if (const std::optional<ResourceId> gpu = GpuOf(snapshot->catalog(), node)) {
        ASSERT_TRUE(ours);
        ASSERT_EQ(ours->gpu, test::TwinUtilization(raw, n, snapshot->catalog().ResourceName(*gpu)))
            << "EBB_TEST_SEED=" << seed << " cluster " << c;
        continue;
      }
      const auto cpu = test::TwinUtilization(raw, n, "cpu");
      const auto memory = test::TwinUtilization(raw, n, "memory");
      ASSERT_EQ(ours.has_value(), cpu && memory) << "EBB_TEST_SEED=" << seed << " cluster " << c;
      if (!ours) continue;
      ASSERT_EQ(ours->cpu, *cpu) << "EBB_TEST_SEED=" << seed << " cluster " << c;
      ASSERT_EQ(ours->memory, *memory) << "EBB_TEST_SEED=" << seed << " cluster " << c;
    }
  }
  EXPECT_GT(otherwise, 100);
}

}  // namespace
}  // namespace ebb::utilization_test
