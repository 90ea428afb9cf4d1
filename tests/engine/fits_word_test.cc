#include "engine/fits_word.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "predicates/node_resources_fit.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::PodNamed;

// Beside the filter that names what is short, asked node by node, over several words of
// which the last is not full.
TEST(FitsWordTest, SaysInEveryWayWhatNodeResourcesFitSaysOfEachNode) {
  Dice dice(test::RandomSeed());
  const std::vector<std::string> resources = {"cpu", "memory", "example.com/a"};
  constexpr int kNodeCount = 330, kPodCount = 60;
  Cluster cluster;
  for (int n = 0; n < kNodeCount; ++n) {
    Node node("n" + std::to_string(n));
    node.Pods(dice.Below(4));
    for (const std::string& resource : resources) node.Resource(resource, dice.Below(9));
    cluster.Add(node);
  }
  for (int p = 0; p < kPodCount; ++p) {
    Pod pod("p" + std::to_string(p));
    for (const std::string& resource : resources) {
      if (dice.Percent(60)) pod.Request(resource, dice.Below(9));
    }
    cluster.Add(pod);
  }
  const ClusterSnapshot snapshot = cluster.Build();
  int fits = 0;
  for (int p = 0; p < kPodCount; ++p) {
    const PodShape& shape =
        snapshot.catalog().shape_of(PodNamed(snapshot, "p" + std::to_string(p)));
    for (uint32_t n = 0; n < kNodeCount; ++n) {
      std::vector<std::string> reasons;
      AppendShortages(snapshot, shape, NodeId{n}, reasons);
      const size_t word = n / kNodesPerWord;
      const uint64_t bits = FitsWord(snapshot, shape, word);
      ASSERT_EQ(bits >> (n % kNodesPerWord) & 1, reasons.empty() ? 1 : 0) << p << " " << n;
      for (size_t way = 0; way < FitsWordWays(); ++way) {
        ASSERT_EQ(FitsWord(snapshot, shape, word, way), bits) << way << ": " << p << " " << n;
      }
      fits += reasons.empty() ? 1 : 0;
    }
  }
  EXPECT_GT(fits, 100);
}

}  // namespace
}  // namespace ebb
