#include "engine/pass/fits_word.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "predicates/node_resources_fit.h"
#include "snapshot/shape_room.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::fits_word_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::PodNamed;

// The twin compares the amounts that were drawn.  The forms of the test are: yes or no, which
// resource is short, 64 nodes at once, and a run of pods.
TEST(FitsWordTest, EveryFormOfTheFitTestAgreesWithTheTwin) {
  Dice dice(test::RandomSeed());
  const std::vector<std::string> resources = {"cpu", "memory", "example.com/a"};
  // Several words of nodes; the last word is not full.
  constexpr int kNodeCount = 330, kPodCount = 60;
  Cluster cluster;
  std::vector<std::vector<int>> capacities, requests;
  std::vector<int> slots;
  for (int n = 0; n < kNodeCount; ++n) {
    Node node("n" + std::to_string(n));
    node.Pods(slots.emplace_back(dice.Below(4)));
    std::vector<int>& capacity = capacities.emplace_back();
    for (const std::string& resource : resources) {
      node.Resource(resource, capacity.emplace_back(dice.Below(9)));
    }
    cluster.Add(node);
  }
  for (int p = 0; p < kPodCount; ++p) {
    Pod pod("p" + std::to_string(p));
    std::vector<int>& request = requests.emplace_back();
    for (const std::string& resource : resources) {
      request.push_back(dice.Percent(60) ? dice.Below(9) : 0);
      if (request.back() > 0) pod.Request(resource, request.back());
    }
    cluster.Add(pod);
  }
  const auto twin = [&](int p, int n) {
    for (size_t r = 0; r < resources.size(); ++r) {
      if (requests[p][r] > capacities[n][r]) return false;
    }
    return slots[n] > 0;
  };

  ClusterSnapshot snapshot = cluster.Build();
  int fits = 0;
  ShapeRoom room;
  for (int p = 0; p < kPodCount; ++p) {
    const PodShape& shape =
        snapshot.catalog().shape_of(PodNamed(snapshot, "p" + std::to_string(p)));
    room.Begin(snapshot, shape);
    for (int n = 0; n < kNodeCount; ++n) {
      const NodeId node = *snapshot.catalog().FindNode("n" + std::to_string(n));
      const bool wanted = twin(p, n);
      const std::string where = "pod " + std::to_string(p) + " on node " + std::to_string(n);
      ASSERT_EQ(FitsNodeResources(snapshot, shape, node), wanted) << where;
      std::vector<std::string> shortages;
      AppendShortages(snapshot, shape, node, shortages);
      ASSERT_EQ(shortages.empty(), wanted) << where;
      ASSERT_EQ(room.IsOn(node), wanted) << where;
      const size_t word = Index(node) / kNodesPerWord;
      const uint64_t bit = uint64_t{1} << (Index(node) % kNodesPerWord);
      ASSERT_EQ((FitsWord(snapshot, shape, word) & bit) != 0, wanted) << where;
      for (size_t way = 0; way < FitsWordWays(); ++way) {
        ASSERT_EQ((FitsWord(snapshot, shape, word, way) & bit) != 0, wanted)
            << way << ": " << where;
      }
      fits += wanted ? 1 : 0;
    }
  }
  EXPECT_GT(fits, 100);
}

}  // namespace
}  // namespace ebb::fits_word_test
