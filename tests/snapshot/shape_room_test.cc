#include "snapshot/shape_room.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::shape_room_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

const PodShape& ShapeOf(const ClusterSnapshot& snapshot, std::string_view pod) {
  return snapshot.catalog().shape_of(PodNamed(snapshot, pod));
}

TEST(ShapeRoomTest, TakesWhatAPodTakesAndGivesItBack) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("n").Cpu(1000).Memory(1000).Pods(2))
                                 .Add(Pod("p").Cpu(400).Memory(100))
                                 .Build();
  const NodeId n = NodeNamed(snapshot, "n");
  ShapeRoom room;
  room.Begin(snapshot, ShapeOf(snapshot, "p"));
  EXPECT_TRUE(room.IsOn(n));
  room.Take(n);
  EXPECT_EQ(snapshot.Free(kCpu, n), 600);
  EXPECT_EQ(snapshot.Free(kMemory, n), 900);
  EXPECT_EQ(snapshot.Free(kPods, n), 1);
  EXPECT_TRUE(room.IsOn(n));
  room.Take(n);
  EXPECT_FALSE(room.IsOn(n)) << "no slot is left, and 200m";
  room.Give(n);
  room.Give(n);
  EXPECT_EQ(snapshot.Free(kCpu, n), 1000);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
}

TEST(ShapeRoomTest, EveryResourceCounts) {
  for (const std::string scarce :
       {"cpu", "memory", "ephemeral-storage", "example.com/a", "example.com/b", "example.com/c"}) {
    Node node("n");
    Pod pod("p");
    for (const std::string_view resource : {"cpu", "memory", "ephemeral-storage", "example.com/a",
                                            "example.com/b", "example.com/c"}) {
      node.Resource(resource, resource == scarce ? 9 : 10);
      pod.Request(resource, 10);
    }
    ClusterSnapshot snapshot = Cluster().Add(node).Add(pod).Build();
    ShapeRoom room;
    room.Begin(snapshot, ShapeOf(snapshot, "p"));
    EXPECT_FALSE(room.IsOn(NodeNamed(snapshot, "n"))) << scarce;
  }
}

TEST(ShapeRoomTest, APodWithoutRequestsNeedsOnlyASlot) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("n").Cpu(0).Memory(0).Pods(1)).Add(Pod("p")).Build();
  const NodeId n = NodeNamed(snapshot, "n");
  ShapeRoom room;
  room.Begin(snapshot, ShapeOf(snapshot, "p"));
  EXPECT_TRUE(room.IsOn(n));
  room.Take(n);
  EXPECT_FALSE(room.IsOn(n));
}

// Compares ShapeRoom with AddPod on a copy: free amounts must be equal, on nodes of several words.
TEST(ShapeRoomTest, TakesAsAddPodDoes) {
  Dice dice(test::RandomSeed());
  Cluster cluster;
  const std::vector<std::string> resources = {"cpu", "memory", "example.com/a", "example.com/b",
                                              "example.com/c"};
  constexpr int kNodeCount = 1100, kPodCount = 900;
  for (int n = 0; n < kNodeCount; ++n) {
    Node node("n" + std::to_string(n));
    for (const std::string& resource : resources) node.Resource(resource, dice.Below(100));
    cluster.Add(node);
  }
  for (int p = 0; p < kPodCount; ++p) {
    Pod pod("p" + std::to_string(p));
    for (const std::string& resource : resources) {
      if (dice.Percent(60)) pod.Request(resource, 1 + dice.Below(9));
    }
    // Requests and charges differ during a resize.
    if (dice.Percent(40)) {
      pod.With([&](objects::Pod& raw) {
        objects::ContainerStatus status;
        status.name = raw.containers[0].name;
        status.has_resources = true;
        for (const std::string& resource : resources) {
          if (dice.Percent(50)) status.requests.push_back({resource, 1 + dice.Below(30)});
          if (dice.Percent(50)) status.allocated.push_back({resource, 1 + dice.Below(30)});
        }
        raw.container_statuses = {status};
      });
    }
    cluster.Add(pod);
  }
  ClusterSnapshot taken = cluster.Build();
  ClusterSnapshot added = taken;
  ShapeRoom room;
  size_t full = 0, resized = 0;
  for (uint32_t p = 0; p < kPodCount; ++p) {
    const PodShape& shape = taken.catalog().shape_of(PodId{p});
    room.Begin(taken, shape);
    for (int tries = 0; tries < 4; ++tries) {
      const NodeId node{static_cast<uint32_t>(dice.Below(kNodeCount))};
      bool enough = added.Free(kPods, node) >= 1;
      for (const auto& [resource, amount] : shape.fit_requests) {
        enough = enough && added.Free(resource, node) >= amount;
      }
      ASSERT_EQ(room.IsOn(node), enough);
      full += enough ? 0 : 1;
      if (!enough) continue;
      resized += shape.fit_requests != shape.charge_requests ? 1 : 0;
      added.AddPod(PodId{p}, node);
      room.Take(node);
      break;
    }
  }
  EXPECT_GT(full, 0u);
  EXPECT_GT(resized, 0u);
  EXPECT_GT(added.placed_pods(), 100u);
  for (uint32_t n = 0; n < kNodeCount; ++n) {
    for (uint32_t r = 0; r < taken.catalog().resources(); ++r) {
      ASSERT_EQ(taken.Free(ResourceId{r}, NodeId{n}), added.Free(ResourceId{r}, NodeId{n}));
    }
  }
}

// Against IsOn and Take, node by node.
TEST(ShapeRoomTest, TakesOneNodeAfterAnother) {
  Dice dice(test::RandomSeed());
  constexpr int kNodeCount = 128;
  Cluster cluster;
  for (int n = 0; n < kNodeCount; ++n) {
    cluster.Add(Node("n" + std::to_string(n))
                    .Cpu(dice.Below(40))
                    .Resource("example.com/a", dice.Below(40))
                    .Label("zone", "z" + std::to_string(n % 3)));
  }
  cluster.Add(Pod("p").Cpu(3).Request("example.com/a", 2));
  cluster.Add(
      Pod("counted").Cpu(1).Label("app", "web").Spread("zone", 1, test::Select("app", "web")));
  ClusterSnapshot each = cluster.Build();
  ClusterSnapshot one = each;
  size_t stopped_early = 0, stopped_by_number = 0;
  for (int round = 0; round < 400; ++round) {
    const PodShape& shape = ShapeOf(each, round % 2 == 0 ? "p" : "counted");
    ShapeRoom room, other;
    room.Begin(each, shape);
    other.Begin(one, shape);
    const size_t word = dice.Below(2);
    uint64_t nodes = 0;
    for (int bit = 0; bit < 64; ++bit) nodes |= uint64_t{dice.Percent(30)} << bit;
    uint64_t expected_nodes = nodes;
    const size_t pods = dice.Below(20);
    std::vector<NodeId> taken(pods), expected;
    taken.resize(room.TakeEach(word, nodes, pods, taken.data()));
    for (; expected_nodes != 0 && expected.size() < pods; expected_nodes &= expected_nodes - 1) {
      const NodeId node{static_cast<uint32_t>(64 * word + std::countr_zero(expected_nodes))};
      if (!other.IsOn(node)) break;
      other.Take(node);
      expected.push_back(node);
    }
    ASSERT_EQ(taken, expected);
    ASSERT_EQ(nodes, expected_nodes);
    stopped_early += nodes != 0 && expected.size() < pods ? 1 : 0;
    stopped_by_number += nodes != 0 && expected.size() == pods ? 1 : 0;
  }
  EXPECT_GT(stopped_early, 20u);
  EXPECT_GT(stopped_by_number, 20u);
  EXPECT_EQ(each.Fingerprint(), one.Fingerprint());
}

// With tables of every layout (topology_counts.h): few nodes, few pods, many pods.
TEST(ShapeRoomTest, APodThatLeavesAGhostIsCountedWhereItGoes) {
  for (const auto& [nodes, pods] : {std::pair(10, 30), std::pair(400, 20), std::pair(400, 60)}) {
    Cluster cluster;
    for (int n = 0; n < nodes; ++n) {
      cluster.Add(Node("n" + std::to_string(n))
                      .Label("host", "h" + std::to_string(n))
                      .Label("zone", "z" + std::to_string(n % 3)));
    }
    for (int p = 0; p < pods; ++p) {
      cluster.Add(Pod("p" + std::to_string(p))
                      .On("n" + std::to_string(p % nodes))
                      .Label("app", "web")
                      .Spread("zone", 1, test::Select("app", "web"))
                      .Away("host", test::Select("app", "web")));
    }
    ClusterSnapshot snapshot = cluster.Build();
    const std::string before = snapshot.Fingerprint();
    const Catalog& catalog = snapshot.catalog();
    const PodShape& shape = catalog.shape_of(PodId{0});
    const AntiAffinityTerm& term = shape.anti_affinity[0];
    const TableId spread = shape.spread[0].table;
    const auto count = [&](NodeId node) {
      return snapshot.topology().Count(term.table, catalog.DomainOf(term.key, node));
    };
    const NodeId from{1}, to{5};
    const uint32_t here = count(to);
    const uint32_t all = snapshot.topology().Total(spread);
    const auto on_ghost = static_cast<uint32_t>(snapshot.PodsOn(from).size());

    snapshot.Fork();
    snapshot.SetGhost(from, ClusterSnapshot::GhostPods::kCounted);
    EXPECT_EQ(snapshot.topology().Total(spread), all);
    for (uint32_t i = 0; i < on_ghost; ++i)
      ShapeRoom::CountOnGhost(snapshot, shape.feeds, from, -1);
    EXPECT_EQ(count(from), on_ghost) << "no pod requests it";
    EXPECT_EQ(snapshot.topology().Total(spread), all - on_ghost);
    ShapeRoom room;
    room.Begin(snapshot, shape);
    room.Take(to);
    EXPECT_EQ(count(from), on_ghost - 1);
    EXPECT_EQ(count(to), here + 1);
    EXPECT_EQ(snapshot.topology().Total(spread), all - on_ghost + 1);
    room.Give(to);
    EXPECT_EQ(count(from), on_ghost);
    EXPECT_EQ(count(to), here);
    for (uint32_t i = 0; i < on_ghost; ++i)
      ShapeRoom::CountOnGhost(snapshot, shape.feeds, from, +1);
    snapshot.ClearGhost();
    snapshot.Revert();
    EXPECT_EQ(snapshot.Fingerprint(), before);
    EXPECT_TRUE(snapshot.CheckInvariants().ok());

    // With kUncounted, all tables count as they do for AddPod.
    snapshot.SetGhost(from);
    EXPECT_EQ(count(from), 0u);
    room.Begin(snapshot, shape);
    room.Take(to);
    EXPECT_EQ(count(to), here + 1);
  }
}

TEST(ShapeRoomTest, SavedAmountsCanBeRestored) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a").Cpu(1000)).Add(Node("b").Cpu(500)).Add(Pod("p").Cpu(300)).Build();
  const ClusterSnapshot other = snapshot;  // Shares pages with `snapshot`.
  const std::string before = snapshot.Fingerprint();
  std::vector<int64_t> saved;
  snapshot.SaveFree(saved);
  ShapeRoom room;
  room.Begin(snapshot, ShapeOf(snapshot, "p"));
  room.Take(NodeNamed(snapshot, "a"));
  room.Take(NodeNamed(snapshot, "b"));
  EXPECT_NE(snapshot.Fingerprint(), before);
  EXPECT_EQ(other.Fingerprint(), before);
  snapshot.RestoreFree(saved);
  EXPECT_EQ(snapshot.Fingerprint(), before);
  EXPECT_EQ(other.Fingerprint(), before);
}

}  // namespace
}  // namespace ebb::shape_room_test
