#include "groups/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/cluster_builder.h"

namespace ebb::node_facts_test {
namespace {

using test::Cluster;
using test::kGiB;
using test::Node;
using test::Pod;

Node Machine(const char* name) { return Node(name).Cpu(4000).Memory(8 * kGiB); }

// Symptom: a node with one GPU that eight pods share counted as eight GPUs.
TEST(NodeFactsTest, GpusAreCountedByTheMachine) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Machine("whole").Resource("nvidia.com/gpu", 4))
          .Add(
              Machine("shared").Resource("nvidia.com/gpu", 8).Label("nvidia.com/gpu.replicas", "8"))
          .Add(Machine("counted")
                   .Resource("nvidia.com/gpu", 8)
                   .Label("nvidia.com/gpu.count", "2")
                   .Label("nvidia.com/gpu.replicas", "4"))
          .Add(Machine("mig")
                   .Resource("nvidia.com/mig-1g.5gb", 7)
                   .Label("nvidia.com/gpu.count", "1"))
          .Add(Machine("none").Label("nvidia.com/gpu.count", "2"))
          .Add(Machine("odd").Resource("nvidia.com/gpu", 2).Label("nvidia.com/gpu.count", "many"))
          .Add(Machine("other").Resource("amd.com/gpu", 3).Label("nvidia.com/gpu.count", "9"))
          .Build();
  std::vector<int64_t> gpus;
  for (const NodeFacts& facts : FactsOfNodes(snapshot.catalog())) {
    gpus.push_back(facts.allocatable.gpus);
  }
  EXPECT_THAT(gpus, ::testing::ElementsAre(4, 1, 2, 1, 0, 2, 3));
}

TEST(NodeFactsTest, TheRegionIsTheLabelsOrThatOfTheZone) {
  const auto in = [](const char* name, const char* zone) {
    return Node(name).Label("topology.kubernetes.io/zone", zone);
  };
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(in("a", "us-east-1a"))
          .Add(in("b", "us-central1-b"))
          .Add(in("c", "eastus-1"))
          .Add(in("d", "za"))
          .Add(in("e", "rack"))
          .Add(in("f", "us-east-1a").Label("topology.kubernetes.io/region", "of-label"))
          .Add(Node("g"))
          .Build();
  std::vector<std::string_view> regions;
  for (const NodeFacts& facts : FactsOfNodes(snapshot.catalog())) regions.push_back(facts.region);
  EXPECT_THAT(regions,
              ::testing::ElementsAre("us-east-1", "us-central1", "eastus", "", "", "of-label", ""));
}

// Symptom: a node with eight GPUs that are partitioned into 56 MIG devices counted as 56 GPUs.
TEST(NodeFactsTest, MigDevicesCountAsTheGpusThatHoldThem) {
  const auto single = [](const char* name, const char* product, const char* count) {
    return Machine(name)
        .Resource("nvidia.com/gpu", 56)
        .Label("nvidia.com/mig.strategy", "single")
        .Label("nvidia.com/gpu.product", product)
        .Label("nvidia.com/gpu.count", count);
  };
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(single("sevenths", "A100-SXM4-40GB-MIG-1g.5gb", "56"))
          .Add(single("quarters", "NVIDIA-A100-SXM4-40GB-MIG-1g.10gb", "8"))
          .Add(single("halves", "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb", "16"))
          .Add(single("part", "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb", "4"))
          .Add(single("unknown", "NVIDIA-X1-MIG-1g.6gb", "8"))
          .Add(single("whole", "NVIDIA-A100-SXM4-40GB", "8"))
          .Add(single("a30", "NVIDIA-A30-MIG-1g.6gb", "16"))
          .Add(single("h200", "NVIDIA-H200-MIG-1g.18gb", "56"))
          .Add(single("media", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me", "8"))
          .Build();
  const std::vector<NodeFacts> facts = FactsOfNodes(snapshot.catalog());
  std::vector<int64_t> gpus;
  std::vector<std::string> texts;
  for (const NodeFacts& each : facts) {
    gpus.push_back(each.allocatable.gpus);
    texts.push_back(ToText(each.gpu_sharing));
  }
  EXPECT_THAT(gpus, ::testing::ElementsAre(8, 2, 8, 2, 8, 8, 4, 8, 8));
  EXPECT_THAT(texts, ::testing::ElementsAre("MIG devices 1g.5gb", "MIG devices 1g.10gb",
                                            "MIG devices 3g.40gb", "MIG devices 2g.10gb",
                                            "MIG devices 1g.6gb", "", "MIG devices 1g.6gb",
                                            "MIG devices 1g.18gb", "MIG devices 1g.5gb.me"));
  EXPECT_FALSE(facts[0].gpu_sharing.devices_are_counted);
  EXPECT_TRUE(facts[4].gpu_sharing.devices_are_counted);
}

TEST(NodeFactsTest, SharedGpusAndPartitionedOnesDiffer) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(
              Machine("slices").Resource("nvidia.com/gpu", 8).Label("nvidia.com/gpu.replicas", "4"))
          .Add(Machine("mps")
                   .Resource("nvidia.com/gpu", 8)
                   .Label("nvidia.com/gpu.replicas", "8")
                   .Label("nvidia.com/gpu.sharing-strategy", "mps"))
          .Add(Machine("gke")
                   .Resource("nvidia.com/gpu", 4)
                   .Label("cloud.google.com/gke-max-shared-clients-per-gpu", "4")
                   .Label("cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"))
          .Add(Machine("mixed")
                   .Resource("nvidia.com/mig-1g.5gb", 7)
                   .Label("nvidia.com/mig.strategy", "mixed")
                   .Label("nvidia.com/gpu.count", "1"))
          .Add(Machine("whole")
                   .Resource("nvidia.com/gpu", 8)
                   .Label("nvidia.com/gpu.replicas", "1")
                   .Label("nvidia.com/gpu.sharing-strategy", "none"))
          .Add(Machine("renamed")
                   .Resource("nvidia.com/gpu.shared", 8)
                   .Label("nvidia.com/gpu.replicas", "4"))
          .Build();
  std::vector<int64_t> gpus;
  std::vector<std::string> texts;
  for (const NodeFacts& each : FactsOfNodes(snapshot.catalog())) {
    gpus.push_back(each.allocatable.gpus);
    texts.push_back(ToText(each.gpu_sharing));
  }
  EXPECT_THAT(gpus, ::testing::ElementsAre(2, 1, 1, 1, 8, 2));
  EXPECT_THAT(texts, ::testing::ElementsAre("each GPU offered 4 times (time-slicing)",
                                            "each GPU offered 8 times (mps)",
                                            "each GPU offered 4 times (time-slicing)", "", "",
                                            "each GPU offered 4 times (time-slicing)"));
}

TEST(NodeFactsTest, PartsOfGpusAreNamedWithWhatIsRequested) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Machine("mig")
                                                .Resource("nvidia.com/mig-1g.5gb", 7)
                                                .Resource("nvidia.com/mig-2g.10gb", 2))
                                       .Add(Pod("p").On("mig").Request("nvidia.com/mig-1g.5gb", 3))
                                       .Build();
  const std::vector<GpuSlices> slices = GpuSlicesOf(snapshot, NodeId{0});
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].resource, "nvidia.com/mig-1g.5gb");
  EXPECT_EQ(slices[0].profile, "1g.5gb");
  EXPECT_EQ(slices[0].requested, 3);
  EXPECT_EQ(slices[0].allocatable, 7);
  EXPECT_EQ(slices[1].requested, 0);
}

}  // namespace
}  // namespace ebb::node_facts_test
