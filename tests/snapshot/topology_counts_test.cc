// Compares the counts in every layout of a table with a map.

#include "snapshot/topology_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/cluster_snapshot.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::topology_counts_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::RandomSeed;

// Each node is a rack.  All pods spread over racks and over three zones.
ClusterSnapshot Racks(uint32_t nodes, uint32_t pods) {
  Cluster cluster;
  for (uint32_t n = 0; n < nodes; ++n) {
    cluster.Add(Node("n" + std::to_string(n))
                    .Label("rack", "r" + std::to_string(n))
                    .Label("zone", "z" + std::to_string(n % 3))
                    .Pods(1 << 20));
  }
  for (uint32_t p = 0; p < pods; ++p) {
    cluster.Add(Pod("p" + std::to_string(p))
                    .Label("app", "web")
                    .Spread("rack", 1, test::Select("app", "web"))
                    .Spread("zone", 1, test::Select("app", "web")));
  }
  return cluster.Build();
}

// Recounts the pods' two tables from where the pods are.
void ExpectRecounted(const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  for (const SpreadConstraint& spread : catalog.shape_of(PodId{0}).spread) {
    std::map<DomainId, uint32_t> pods;
    snapshot.alive().ForEach([&](NodeId node) {
      pods[catalog.DomainOf(spread.key, node)] += snapshot.PodsOn(node).size();
    });
    uint32_t min = ~uint32_t{0};
    uint32_t total = 0;
    for (const auto& [domain, count] : pods) {
      ASSERT_EQ(snapshot.topology().Count(spread.table, domain), count);
      min = std::min(min, count);
      total += count;
    }
    ASSERT_EQ(snapshot.topology().Total(spread.table), total);
    ASSERT_EQ(snapshot.topology().MinCount(spread.table), min);
    ASSERT_EQ(snapshot.topology().Domains(catalog, spread.table), pods.size());
  }
}

// From a few pods to many and back.  Racks are first kept by pod, then hashed; with 40 nodes
// and 500 pods they are kept by domain, as zones always are.
TEST(TopologyCountsTest, CountsEqualARecountForAnyNumberOfPods) {
  Dice dice(RandomSeed());
  for (const uint32_t nodes : {3u, 40u, 2000u}) {
    constexpr uint32_t kPods = 500;
    ClusterSnapshot snapshot = Racks(nodes, kPods);
    std::vector<PodId> placed;
    for (uint32_t p = 0; p < kPods; ++p) {
      const uint32_t node = dice.Below(nodes);
      snapshot.AddPod(PodId{p}, NodeId{node});
      placed.push_back(PodId{p});
      if (p % 3 == 0) snapshot.MovePod(placed[dice.Below(placed.size())], NodeId{node});
      if (p % 20 == 0) ExpectRecounted(snapshot);
    }
    ASSERT_TRUE(snapshot.CheckInvariants().ok());
    const ClusterSnapshot branch = snapshot;
    const std::string before = branch.Fingerprint();
    while (!placed.empty()) {
      std::swap(placed[dice.Below(placed.size())], placed.back());
      snapshot.RemovePod(placed.back());
      placed.pop_back();
      if (placed.size() % 20 == 0) ExpectRecounted(snapshot);
    }
    EXPECT_EQ(branch.Fingerprint(), before) << "a branch shares no change";
  }
}

TEST(TopologyCountsTest, CountsThatDifferInOnePlaceAreNotTheSame) {
  ClusterSnapshot snapshot = Racks(100, 60);
  for (uint32_t p = 0; p < 50; ++p) snapshot.AddPod(PodId{p}, NodeId{p});
  const TopologyCounts before = snapshot.topology();
  EXPECT_TRUE(snapshot.topology().CountsAs(before));
  snapshot.MovePod(PodId{0}, NodeId{60});
  EXPECT_FALSE(snapshot.topology().CountsAs(before));
  snapshot.MovePod(PodId{0}, NodeId{0});
  EXPECT_TRUE(snapshot.topology().CountsAs(before));
}

TEST(TopologyCountsTest, CountsThatDifferInTheLastTableAloneAreNotTheSame) {
  Cluster cluster;
  for (const char* zone : {"x", "y", "z"}) {
    cluster.Add(Node(zone).Label("zone", zone).Label("rack", zone));
  }
  for (const char* app : {"web", "db"}) {
    cluster.Add(
        Pod(app)
            .Label("app", app)
            .Spread(app == std::string("web") ? "rack" : "zone", 1, test::Select("app", app)));
  }
  ClusterSnapshot snapshot = cluster.Build();
  snapshot.AddPod(PodId{0}, NodeId{0});
  snapshot.AddPod(PodId{1}, NodeId{0});
  const TopologyCounts before = snapshot.topology();
  for (const PodId pod : {PodId{0}, PodId{1}}) {
    snapshot.MovePod(pod, NodeId{1});
    EXPECT_FALSE(snapshot.topology().CountsAs(before));
    snapshot.MovePod(pod, NodeId{0});
    EXPECT_TRUE(snapshot.topology().CountsAs(before));
  }
}

TEST(TopologyCountsTest, RevertToTakesTheCountsOfTheFork) {
  ClusterSnapshot snapshot = Racks(50, 40);
  for (uint32_t p = 0; p < 30; ++p) snapshot.AddPod(PodId{p}, NodeId{p});
  const std::string before = snapshot.Fingerprint();
  TopologyCounts counts = snapshot.topology();
  snapshot.Fork();
  snapshot.AddPod(PodId{35}, NodeId{40});
  snapshot.RemovePod(PodId{3});
  snapshot.SetGhost(NodeId{5});
  snapshot.RemoveNode(NodeId{5});
  snapshot.RemoveNode(NodeId{49});
  EXPECT_NE(snapshot.Fingerprint(), before);
  snapshot.RevertTo(std::move(counts));
  EXPECT_EQ(snapshot.Fingerprint(), before);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
}

// Includes the case that every domain has pods, so that the minimum is above zero, and one goes.
TEST(TopologyCountsTest, TheMinimumCountIsThatOfThePresentDomains) {
  Dice dice(RandomSeed());
  for (const uint32_t nodes : {5u, 12u, 30u}) {
    ClusterSnapshot snapshot = Racks(nodes, nodes * 6);
    for (uint32_t p = 0; p < nodes * 6; ++p) snapshot.AddPod(PodId{p}, NodeId{p % nodes});
    for (int step = 0; step < 300; ++step) {
      const uint32_t pod = dice.Below(nodes * 6);
      const uint32_t node = dice.Below(nodes);
      snapshot.MovePod(PodId{pod}, NodeId{node});
      ExpectRecounted(snapshot);
      if (step % 7 > 0) continue;
      // Removing the node removes its pods and its domain.
      snapshot.Fork();
      snapshot.RemoveNode(NodeId{node});
      ExpectRecounted(snapshot);
      ASSERT_TRUE(snapshot.CheckInvariants().ok());
      snapshot.Revert();
      ExpectRecounted(snapshot);
    }
  }
}

}  // namespace
}  // namespace ebb::topology_counts_test
