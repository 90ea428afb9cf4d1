#include "engine/simulation/scheduler.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::scheduler_test {
namespace {

using test::Cluster;
using test::kGiB;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

std::string Choice(const ClusterSnapshot& snapshot, std::vector<NodeId> peers = {},
                   uint64_t seed = 1) {
  SimulatedScheduler scheduler(seed);
  const NodeId node = scheduler.Choose(snapshot, PodNamed(snapshot, "new"), peers);
  return node == kNoNode ? "" : std::string(snapshot.catalog().NodeName(node));
}

TEST(SchedulerTest, TheEmptierNodeIsChosen) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a"))
                       .Add(Node("b"))
                       .Add(Pod("p").On("a").Cpu(2000).Memory(4 * kGiB))
                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                       .Build()),
            "b");
}

TEST(SchedulerTest, ANodeThatDoesNotFitIsNeverChosen) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a"))
                       .Add(Node("b").Taint("dedicated"))
                       .Add(Pod("p").On("a").Cpu(3000))
                       .Add(Pod("new").Cpu(500))
                       .Build()),
            "a");
  EXPECT_EQ(Choice(Cluster().Add(Node("a")).Add(Pod("new").Cpu(5000)).Build()), "");
}

TEST(SchedulerTest, ASoftTaintedNodeIsAvoided) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a").Taint("candidate", "1", "PreferNoSchedule"))
                       .Add(Node("b"))
                       .Add(Pod("p").On("b").Cpu(2000).Memory(4 * kGiB))
                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                       .Build()),
            "b");
}

TEST(SchedulerTest, PodsOfAControllerAreSpreadOverNodesAndZones) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x"))
                                       .Add(Node("b").Label(zone, "x"))
                                       .Add(Node("c").Label(zone, "y"))
                                       .Add(Pod("p").On("a").Cpu(100))
                                       .Add(Pod("q").On("b").Cpu(100))
                                       .Add(Pod("big").On("c").Cpu(800).Memory(kGiB))
                                       .Add(Pod("new").Cpu(100))
                                       .Build();
  EXPECT_EQ(Choice(snapshot, {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")}), "c");
}

TEST(SchedulerTest, APodThatAsksForNothingCountsWithTheDefaults) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b")).Add(Pod("new").OwnedByNobody());
  for (int i = 0; i < 5; ++i) cluster.Add(Pod("p" + std::to_string(i)).On("a"));
  EXPECT_EQ(Choice(cluster.Build()), "b");
}

TEST(SchedulerTest, TiesAreDrawnBySeed) {
  Cluster cluster;
  for (int i = 0; i < 8; ++i) cluster.Add(Node("n" + std::to_string(i)));
  const ClusterSnapshot snapshot = cluster.Add(Pod("new").Cpu(100)).Build();
  std::set<std::string> chosen;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    chosen.insert(Choice(snapshot, {}, seed));
    EXPECT_EQ(Choice(snapshot, {}, seed), Choice(snapshot, {}, seed));
  }
  EXPECT_GT(chosen.size(), 4);
}

TEST(SchedulerTest, ASearchGoesOnWhereTheLastOneEnded) {
  Cluster cluster;
  for (int i = 0; i < 200; ++i) cluster.Add(Node("n" + std::to_string(i)));
  const ClusterSnapshot snapshot = cluster.Add(Pod("new").Cpu(100)).Build();
  SimulatedScheduler scheduler(1);
  const PodId pod = PodNamed(snapshot, "new");
  for (int search = 0; search < 6; ++search) {
    const size_t chosen = Index(scheduler.Choose(snapshot, pod, {}));
    EXPECT_EQ(chosen < 100, search % 2 == 0) << chosen;
  }
}

TEST(SchedulerTest, LargeClustersAreLookedAtInPart) {
  EXPECT_EQ(NodesToFind(99), 99);
  EXPECT_EQ(NodesToFind(100), 100);
  EXPECT_EQ(NodesToFind(1000), 420);
  EXPECT_EQ(NodesToFind(6000), 300);
}

// What was looked up once is what is looked up each time.
TEST(SchedulerTest, FactsOfACatalogChangeNoScore) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "z1"))
                                       .Add(Node("b").Label(zone, "z2"))
                                       .Add(Node("c"))
                                       .Add(Pod("asks").On("a").Cpu(1000).Memory(kGiB))
                                       .Add(Pod("asks-nothing").On("b").Cpu(0).Memory(0))
                                       .Add(Pod("asks-cpu").On("c").Cpu(500).Memory(0))
                                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                                       .Build();
  const ScoreFacts facts(snapshot.catalog());
  const std::vector<NodeId> nodes = {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b"),
                                     NodeNamed(snapshot, "c")};
  const std::vector<NodeId> peers = {nodes[0], nodes[1], nodes[1]};
  const PodId pod = PodNamed(snapshot, "new");
  EXPECT_EQ(SimulatedScheduler::Score(snapshot, pod, nodes, peers, &facts),
            SimulatedScheduler::Score(snapshot, pod, nodes, peers));
}

}  // namespace
}  // namespace ebb::scheduler_test
