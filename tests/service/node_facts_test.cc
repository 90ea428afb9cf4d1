#include "service/node_facts.h"

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

// Symptom: a node with one GPU that is shared by eight counted as eight GPUs.
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
  EXPECT_EQ(slices[0].requested, 3);
  EXPECT_EQ(slices[0].allocatable, 7);
  EXPECT_EQ(slices[1].requested, 0);
}

}  // namespace
}  // namespace ebb::node_facts_test
