// Compares TopologyWords with TopologyFits, node by node.

#include "predicates/topology_words.h"

#include <gtest/gtest.h>

#include <string>

#include "predicates/filters.h"
#include "tests/support/random_seed.h"
#include "tests/support/random_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::topology_words_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::PodNamed;
using test::RandomSeed;
using test::Select;

// How many nodes TopologyWords rejects; -1 if it rejects a node that TopologyFits accepts.
int Refused(TopologyWords& words, const ClusterSnapshot& snapshot, const PodShape& shape) {
  int refused = 0;
  words.Begin(snapshot, shape);
  for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
    const bool admitted = words.Admitted(n / kNodesPerWord) >> (n % kNodesPerWord) & 1;
    const bool fits = TopologyFits(snapshot, shape, NodeId{n});
    if (fits && !admitted) return -1;
    refused += admitted ? 0 : 1;
  }
  return refused;
}

// How many nodes TopologyFits rejects.
int Unfit(const ClusterSnapshot& snapshot, const PodShape& shape) {
  int unfit = 0;
  for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
    unfit += TopologyFits(snapshot, shape, NodeId{n}) ? 0 : 1;
  }
  return unfit;
}

// With 10 nodes every key has few domains; with 150 nodes the hostname has many.
TEST(TopologyWordsTest, NoNodeThatFitsIsRefusedInRandomClusters) {
  Dice dice(RandomSeed());
  for (int round = 0; round < 60; ++round) {
    const auto objects =
        test::RandomObjects(dice, {.nodes = round % 2 == 0 ? 10 : 150, .pods = 60});
    const ClusterSnapshot snapshot = test::BuildSnapshot(*objects);
    TopologyWords words;
    words.Reset(snapshot.catalog());
    for (uint32_t s = 0; s < snapshot.catalog().pod_shapes(); ++s) {
      const PodShape& shape = snapshot.catalog().shape(PodShapeId{s});
      const int refused = Refused(words, snapshot, shape);
      ASSERT_GE(refused, 0) << "round " << round << ", shape " << s;
      // The words reject exactly the unfit nodes, with two exceptions: for the first pod of its
      // kind, and, for spread over many domains, nodes that are in no domain.
      if (!shape.affinity.empty() || !shape.spread.empty()) continue;
      ASSERT_EQ(refused, Unfit(snapshot, shape)) << "round " << round << ", shape " << s;
    }
  }
}

// 100 nodes: each is a host, every 20 are a rack, racks are in 4 zones; the last has no zone.
class TopologyWordsOfTermsTest : public testing::Test {
 protected:
  ClusterSnapshot With(const Pod& pod) {
    Cluster cluster;
    for (int n = 0; n < 100; ++n) {
      Node node("n" + std::to_string(n));
      node.Label("host", "h" + std::to_string(n)).Label("rack", "r" + std::to_string(n / 20));
      if (n < 99) node.Label("zone", "z" + std::to_string(n % 4));
      cluster.Add(node);
    }
    for (int p = 0; p < 3; ++p) {
      cluster.Add(Pod("db" + std::to_string(p)).On("n" + std::to_string(4 * p)).Label("app", "db"));
    }
    return cluster.Add(pod).Build();
  }
  int Refuses(const Pod& pod) {
    const ClusterSnapshot snapshot = With(pod);
    const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, "p"));
    TopologyWords words;
    words.Reset(snapshot.catalog());
    const int refused = Refused(words, snapshot, shape);
    EXPECT_EQ(refused, Unfit(snapshot, shape));
    return refused;
  }
};

TEST_F(TopologyWordsOfTermsTest, AntiAffinityRefusesTheDomainsOfThePodsThatItNames) {
  EXPECT_EQ(Refuses(Pod("p").Away("host", Select("app", "db"))), 3);
  EXPECT_EQ(Refuses(Pod("p").Away("rack", Select("app", "db"))), 20);
  EXPECT_EQ(Refuses(Pod("p").Away("zone", Select("app", "db"))), 25);
}

TEST_F(TopologyWordsOfTermsTest, AffinityRefusesAllOtherDomains) {
  EXPECT_EQ(Refuses(Pod("p").Near("host", Select("app", "db"))), 97);
  EXPECT_EQ(Refuses(Pod("p").Near("zone", Select("app", "db"))), 75);
  EXPECT_EQ(Refuses(Pod("p").Near("host", Select("app", "none"))), 100);
}

TEST_F(TopologyWordsOfTermsTest, SpreadRefusesFullDomainsAndNodesInNone) {
  EXPECT_EQ(Refuses(Pod("p").Label("app", "db").Spread("host", 1, Select("app", "db"))), 3);
  EXPECT_EQ(Refuses(Pod("p").Label("app", "db").Spread("zone", 1, Select("app", "db"))), 26);
  EXPECT_EQ(Refuses(Pod("p").Label("app", "db").Spread("zone", 4, Select("app", "db"))), 1);
}

}  // namespace
}  // namespace ebb::topology_words_test
