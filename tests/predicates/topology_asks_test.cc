// Compares TopologyAsks with TopologyFits, node by node.

#include "predicates/topology_asks.h"

#include <gtest/gtest.h>

#include <string>

#include "predicates/filters.h"
#include "tests/support/random_seed.h"
#include "tests/support/random_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::topology_asks_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::PodNamed;
using test::RandomSeed;
using test::Select;

// The shape with at most two of the things that it asks.
PodShape Trimmed(PodShape shape) {
  const auto keep_first = [](auto& list) {
    if (list.size() > 1) list.erase(list.begin() + 1, list.end());
  };
  shape.affinity.clear();
  shape.repelled_by.erase(shape.repelled_by.begin(),
                          shape.repelled_by.begin() + shape.repelled_by_own);
  shape.repelled_by_own = 0;
  keep_first(shape.spread);
  keep_first(shape.anti_affinity);
  keep_first(shape.repelled_by);
  if (!shape.spread.empty() && !shape.anti_affinity.empty()) shape.repelled_by.clear();
  return shape;
}

TEST(TopologyAsksTest, FitWhereTopologyFitsInRandomClusters) {
  Dice dice(RandomSeed());
  int learned = 0, refused = 0, left_out = 0;
  for (int round = 0; round < 60; ++round) {
    const auto objects =
        test::RandomObjects(dice, {.nodes = round % 2 == 0 ? 10 : 150, .pods = 60});
    const ClusterSnapshot snapshot = test::BuildSnapshot(*objects);
    for (uint32_t s = 0; s < snapshot.catalog().pod_shapes(); ++s) {
      const PodShape& whole = snapshot.catalog().shape(PodShapeId{s});
      TopologyAsks asks;
      const bool learns = asks.Learn(whole);
      left_out += learns ? 0 : 1;
      const PodShape shape = learns ? whole : Trimmed(whole);
      ASSERT_TRUE(asks.Learn(shape));
      learned += shape.spread.empty() && shape.anti_affinity.empty() ? 0 : 1;
      snapshot.alive().ForEach([&](NodeId node) {
        const bool fits = TopologyFits(snapshot, shape, node);
        ASSERT_EQ(asks.Fit(snapshot, node), fits) << "round " << round << ", shape " << s;
        refused += fits ? 0 : 1;
      });
    }
  }
  EXPECT_GT(learned, 50);
  EXPECT_GT(refused, 500);
  EXPECT_GT(left_out, 50);
}

// Whether TopologyAsks has room for what the pod asks.
bool Learns(const Pod& pod) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("n").Label("host", "h").Label("zone", "z")).Add(pod).Build();
  TopologyAsks asks;
  return asks.Learn(snapshot.catalog().shape_of(PodNamed(snapshot, "p")));
}

TEST(TopologyAsksTest, TwoAsksAreLearnedMoreAndAffinityAreNot) {
  const auto others = Select("app", "db");
  EXPECT_TRUE(Learns(Pod("p")));
  EXPECT_TRUE(Learns(Pod("p").Spread("zone", 1, others).Away("host", others)));
  EXPECT_TRUE(Learns(Pod("p").Away("zone", others).Away("host", others)));
  EXPECT_FALSE(
      Learns(Pod("p").Spread("zone", 1, others).Spread("host", 1, others).Away("host", others)));
  EXPECT_FALSE(Learns(Pod("p").Near("zone", others)));
}

}  // namespace
}  // namespace ebb::topology_asks_test
