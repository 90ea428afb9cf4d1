#include "simulation/score_cache.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simulation/scheduler.h"
#include "tests/support/random_cluster.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::score_cache_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;

// Two schedulers with the same draws place the same pods: one with a cache, one without.
class Twins {
 public:
  Twins(const ClusterSnapshot& snapshot, uint64_t seed)
      : snapshot_(snapshot),
        facts_(snapshot.catalog()),
        placed_(snapshot),
        cache_(snapshot_, facts_, placed_),
        quick_(seed, &cache_),
        slow_(seed) {}

  const ClusterSnapshot& snapshot() const { return snapshot_; }

  void Evict(PodId pod) {
    const NodeId from = snapshot_.NodeOf(pod);
    snapshot_.RemovePod(pod);
    cache_.OnRemove(pod, from);
  }
  // Returns whether a node takes the pod.
  bool Place(PodId pod, const NodeSet* closed) {
    const std::vector<NodeId> peers = PeersOf(snapshot_, pod);
    const NodeId node = quick_.Choose(snapshot_, pod, peers, closed);
    EXPECT_EQ(node, slow_.Choose(snapshot_, pod, peers, closed))
        << snapshot_.catalog().PodName(pod);
    if (node == kNoNode) return false;
    snapshot_.AddPod(pod, node);
    cache_.OnAdd(pod, node);
    return true;
  }
  void CheckLoads() const {
    snapshot_.alive().ForEach([&](NodeId node) {
      const NodeLoad is = cache_.Load(node);
      const NodeLoad should_be = LoadOf(snapshot_, node);
      EXPECT_EQ(is.allocatable, should_be.allocatable);
      EXPECT_EQ(is.requested, should_be.requested);
      EXPECT_EQ(is.defaults, should_be.defaults);
      EXPECT_EQ(is.balance, should_be.balance);
    });
  }

 private:
  ClusterSnapshot snapshot_;
  ScoreFacts facts_;
  PlacedShapes placed_;
  ScoreCache cache_;
  SimulatedScheduler quick_;
  SimulatedScheduler slow_;
};

// Evicts pods at random and places them again, some of them later.
size_t Play(Twins& twins, size_t evictions, Dice& dice) {
  const ClusterSnapshot& snapshot = twins.snapshot();
  NodeSet closed(snapshot.catalog().nodes());
  snapshot.alive().ForEach([&](NodeId node) {
    if (dice.Percent(20)) closed.Insert(node);
  });
  size_t placed = 0;
  std::vector<PodId> waiting;
  for (size_t i = 0; i < evictions; ++i) {
    const PodId pod{static_cast<uint32_t>(dice.Below(static_cast<int>(snapshot.catalog().pods())))};
    if (snapshot.NodeOf(pod) != kNoNode) {
      twins.Evict(pod);
      waiting.push_back(pod);
    }
    if (waiting.empty() || dice.Percent(30)) continue;
    const NodeSet* const except = dice.Percent(50) ? &closed : nullptr;
    if (!twins.Place(waiting.back(), except)) continue;
    waiting.pop_back();
    ++placed;
  }
  twins.CheckLoads();
  return placed;
}

TEST(ScoreCacheTest, RandomClustersGiveTheChoicesThatASchedulerWithoutCacheMakes) {
  Dice dice(test::RandomSeed());
  size_t placed = 0;
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    std::vector<uint8_t> bytes(2000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(dice.Below(256));
    test::Choices choices(bytes);
    const absl::StatusOr<ClusterSnapshot> snapshot =
        test::BuildSnapshot(test::RandomCluster(choices));
    if (!snapshot.ok() || snapshot->catalog().pods() == 0) continue;
    Twins twins(*snapshot, /*seed=*/static_cast<uint64_t>(round));
    placed += Play(twins, 40, dice);
  }
  EXPECT_GT(placed, 1000);
}

// A cluster in which a search ends before it has looked at all nodes.
ClusterSnapshot LargeCluster(Dice& dice) {
  Cluster cluster;
  constexpr int kNodes = 260;
  const std::vector<std::string> zones = {"x", "y", "z"};
  const std::vector<std::string> apps = {"web", "db", "mail", "search"};
  const std::string zone = "topology.kubernetes.io/zone";
  for (int n = 0; n < kNodes; ++n) {
    Node node("n" + std::to_string(n));
    node.Cpu(1000 * (1 + dice.Below(8))).Memory(test::kGiB * (1 + dice.Below(16)));
    if (dice.Percent(90)) node.Label(zone, dice.Of(zones));
    if (dice.Percent(90)) node.Label("kubernetes.io/hostname", node.raw.meta.name);
    if (dice.Percent(10)) node.Taint("own");
    if (dice.Percent(10)) node.Taint("meh", "", "PreferNoSchedule");
    if (dice.Percent(30)) node.raw.images = {{{"web:1"}, 300 * test::kMiB}};
    cluster.Add(node);
  }
  for (int p = 0; p < 4 * kNodes; ++p) {
    const std::string& app = dice.Of(apps);
    Pod pod("p" + std::to_string(p));
    pod.On("n" + std::to_string(dice.Below(kNodes))).Label("app", app).OwnedBy("ReplicaSet", app);
    if (dice.Percent(80)) pod.Cpu(50 * dice.Below(10)).Memory(test::kMiB * dice.Below(600));
    if (app == "web") {
      pod.raw.containers[0].image = "web:1";
      pod.Spread(zone, 1, test::Select("app", "web"));
      pod.Spread("kubernetes.io/hostname", 2, test::Select("app", "web"));
      for (auto& each : pod.raw.spread) each.when_unsatisfiable = "ScheduleAnyway";
    } else if (app == "db") {
      pod.Near(zone, test::Select("app", "search"));
    } else if (app == "mail") {
      pod.raw.preferred_anti_affinity = {
          {10, Pod::Term("kubernetes.io/hostname", test::Select("app", "mail"))}};
    }
    cluster.Add(pod);
  }
  return cluster.Build();
}

TEST(ScoreCacheTest, LargeClustersGiveTheSameChoices) {
  Dice dice(test::RandomSeed());
  const ClusterSnapshot snapshot = LargeCluster(dice);
  Twins twins(snapshot, 1);
  EXPECT_GT(Play(twins, 400, dice), 150u);
}

}  // namespace
}  // namespace ebb::score_cache_test
