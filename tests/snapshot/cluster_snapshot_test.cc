#include "snapshot/cluster_snapshot.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "snapshot/shape_room.h"
#include "tests/support/cluster_snapshot_twin.h"
#include "tests/support/random_seed.h"
#include "tests/support/random_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::cluster_snapshot_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;
using test::RandomSeed;
using test::SnapshotTwin;
using test::TwinObjects;

// Node "a" runs three pods, node "b" none.
ClusterSnapshot ThreeOnA() {
  return Cluster()
      .Add(Node("a").Cpu(1000).Label("zone", "x"))
      .Add(Node("b").Cpu(1000).Label("zone", "y"))
      .Add(Pod("p0")
               .On("a")
               .Cpu(100)
               .Label("app", "web")
               .Spread("zone", 1, test::Select("app", "web")))
      .Add(Pod("p1").On("a").Cpu(200))
      .Add(Pod("p2").On("a").Cpu(300))
      .Build();
}

std::vector<std::string> PodNamesOn(const ClusterSnapshot& snapshot, std::string_view node) {
  std::vector<std::string> names;
  for (const PodId pod : snapshot.PodsOn(NodeNamed(snapshot, node))) {
    names.push_back(snapshot.catalog().PodName(pod));
  }
  return names;
}

TEST(ClusterSnapshotTest, RemovingAPodMovesTheLastIntoItsPlace) {
  ClusterSnapshot snapshot = ThreeOnA();
  snapshot.RemovePod(PodNamed(snapshot, "p0"));
  EXPECT_EQ(PodNamesOn(snapshot, "a"), (std::vector<std::string>{"default/p2", "default/p1"}));
}

TEST(ClusterSnapshotTest, AFingerprintDependsOnTheOrderOfPodsOnEveryNode) {
  ClusterSnapshot first = ThreeOnA();
  ClusterSnapshot second = ThreeOnA();
  second.RemovePod(PodNamed(second, "p1"));
  second.AddPod(PodNamed(second, "p1"), NodeNamed(second, "a"));
  EXPECT_NE(first.Fingerprint(), second.Fingerprint());

  for (ClusterSnapshot* each : {&first, &second}) {
    for (const char* pod : {"p0", "p1", "p2"}) each->RemovePod(PodNamed(*each, pod));
  }
  for (const char* pod : {"p1", "p2"}) {
    first.AddPod(PodNamed(first, pod), NodeNamed(first, "b"));
  }
  for (const char* pod : {"p2", "p1"}) {
    second.AddPod(PodNamed(second, pod), NodeNamed(second, "b"));
  }
  EXPECT_NE(first.Fingerprint(), second.Fingerprint());
}

TEST(ClusterSnapshotTest, RevertRestoresTheOrderOfPods) {
  ClusterSnapshot snapshot = ThreeOnA();
  const std::string before = snapshot.Fingerprint();
  snapshot.Fork();
  snapshot.RemovePod(PodNamed(snapshot, "p0"));
  snapshot.RemovePod(PodNamed(snapshot, "p1"));
  snapshot.AddPod(PodNamed(snapshot, "p0"), NodeNamed(snapshot, "b"));
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), before);
}

TEST(ClusterSnapshotTest, RevertUndoesNestedForks) {
  ClusterSnapshot snapshot = ThreeOnA();
  const std::string before = snapshot.Fingerprint();
  snapshot.Fork();
  snapshot.MovePod(PodNamed(snapshot, "p0"), NodeNamed(snapshot, "b"));
  const std::string between = snapshot.Fingerprint();
  snapshot.Fork();
  snapshot.RemoveNode(NodeNamed(snapshot, "a"));
  snapshot.Fork();
  snapshot.AddNode(NodeNamed(snapshot, "a"));
  snapshot.Commit();
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), between);
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), before);
  EXPECT_EQ(snapshot.depth(), 0u);
}

TEST(ClusterSnapshotTest, CommitInsideAForkIsStillUndoneByItsRevert) {
  ClusterSnapshot snapshot = ThreeOnA();
  const std::string before = snapshot.Fingerprint();
  snapshot.Fork();
  snapshot.Fork();
  snapshot.RemovePod(PodNamed(snapshot, "p1"));
  snapshot.Commit();
  EXPECT_NE(snapshot.Fingerprint(), before);
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), before);
}

TEST(ClusterSnapshotTest, RevertOfAGhostCountsItsDomainAgain) {
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").Label("zone", "x"))
          .Add(Node("b").Label("zone", "y"))
          .Add(Pod("p")
                   .On("a")
                   .Label("app", "web")
                   .Spread("zone", 1, test::Select("app", "web"))
                   .With([](objects::Pod& pod) { pod.spread[0].node_taints_policy = "Honor"; }))
          .Build();
  const TableId table = snapshot.catalog().shape_of(PodNamed(snapshot, "p")).spread[0].table;
  ASSERT_EQ(snapshot.topology().Domains(snapshot.catalog(), table), 2u);
  snapshot.Fork();
  snapshot.SetGhost(NodeNamed(snapshot, "b"));
  EXPECT_EQ(snapshot.topology().Domains(snapshot.catalog(), table), 1u);
  EXPECT_EQ(snapshot.topology().MinCount(table), 1u);
  snapshot.Revert();
  EXPECT_EQ(snapshot.topology().Domains(snapshot.catalog(), table), 2u);
  EXPECT_EQ(snapshot.topology().MinCount(table), 0u);
  EXPECT_EQ(snapshot.ghost(), kNoNode);
}

TEST(ClusterSnapshotTest, ANodeThatReturnsTakesItsOldPlaceAndIsEmpty) {
  ClusterSnapshot snapshot = ThreeOnA();
  const NodeId a = NodeNamed(snapshot, "a");
  snapshot.RemoveNode(a);
  EXPECT_EQ(snapshot.nodes(), 1u);
  EXPECT_EQ(snapshot.placed_pods(), 0u);
  EXPECT_EQ(snapshot.NodeAt(0), NodeNamed(snapshot, "b"));
  snapshot.AddNode(a);
  EXPECT_EQ(snapshot.NodeAt(0), a);
  EXPECT_EQ(snapshot.PositionOf(NodeNamed(snapshot, "b")), 1u);
  EXPECT_TRUE(snapshot.PodsOn(a).empty());
  EXPECT_EQ(snapshot.Free(kCpu, a), 1000);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
}

TEST(ClusterSnapshotTest, PositionsCountOnlyNodesThatAreThereAcrossWords) {
  Cluster cluster;
  for (int n = 0; n < 130; ++n) cluster.Add(Node("n" + std::to_string(n)));
  ClusterSnapshot snapshot = cluster.Build();
  snapshot.RemoveNode(NodeId{0});
  snapshot.RemoveNode(NodeId{63});
  snapshot.RemoveNode(NodeId{64});
  EXPECT_EQ(snapshot.NodeAt(0), NodeId{1});
  EXPECT_EQ(snapshot.NodeAt(61), NodeId{62});
  EXPECT_EQ(snapshot.NodeAt(62), NodeId{65});
  EXPECT_EQ(snapshot.NodeAt(126), NodeId{129});
  EXPECT_EQ(snapshot.PositionOf(NodeId{129}), 126u);
  EXPECT_EQ(snapshot.nodes(), 127u);
}

TEST(ClusterSnapshotTest, FreeMayGoBelowZero) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a").Cpu(100)).Add(Pod("p").On("a").Cpu(250)).Build();
  EXPECT_EQ(snapshot.Free(kCpu, NodeNamed(snapshot, "a")), -150);
}

TEST(ClusterSnapshotTest, AnEmptyClusterIsFine) {
  ClusterSnapshot snapshot;
  EXPECT_EQ(snapshot.nodes(), 0u);
  snapshot.Fork();
  snapshot.Revert();
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  EXPECT_EQ(Cluster().Build().nodes(), 0u);
}

TEST(ClusterSnapshotTest, RemovingAnyPodAndAddingItBackRestoresEveryCounter) {
  Dice dice(RandomSeed());
  for (int round = 0; round < 20; ++round) {
    const auto objects = test::RandomObjects(dice, {.nodes = 6, .pods = 30});
    ClusterSnapshot snapshot = test::BuildSnapshot(*objects);
    SnapshotTwin twin(objects);
    for (uint32_t p = 0; p < snapshot.catalog().pods(); ++p) {
      const NodeId node = snapshot.NodeOf(PodId{p});
      if (node == kNoNode) continue;
      snapshot.RemovePod(PodId{p});
      snapshot.AddPod(PodId{p}, node);
      twin.RemovePod(static_cast<int>(p));
      twin.AddPod(static_cast<int>(p), static_cast<int>(Index(node)));
    }
    ASSERT_EQ(twin.Compare(snapshot), "") << "round " << round;
    ASSERT_EQ(snapshot.CheckInvariants().message(), "") << "round " << round;
  }
}

TEST(ClusterSnapshotTest, ARevertedForkLeavesTheSameFingerprint) {
  Dice dice(RandomSeed());
  for (int round = 0; round < 20; ++round) {
    const auto objects = test::RandomObjects(dice, {});
    ClusterSnapshot snapshot = test::BuildSnapshot(*objects);
    SnapshotTwin twin(objects);
    const std::string before = snapshot.Fingerprint();
    snapshot.Fork();
    twin.Fork();
    for (int step = 0; step < 200; ++step) {
      test::Change(snapshot, twin, *objects, dice, /*keep_open=*/1);
    }
    ASSERT_NE(snapshot.Fingerprint(), before) << "round " << round;
    while (snapshot.depth() > 0) snapshot.Revert();
    ASSERT_EQ(snapshot.Fingerprint(), before) << "round " << round;
  }
}

TEST(ClusterSnapshotTest, ACopyAndItsOriginalDoNotSeeEachOthersChanges) {
  Dice dice(RandomSeed());
  const auto objects = test::RandomObjects(dice, {});
  ClusterSnapshot original = test::BuildSnapshot(*objects);
  SnapshotTwin original_twin(objects);
  ClusterSnapshot copy = original;
  SnapshotTwin copy_twin = original_twin;
  const std::string before = original.Fingerprint();

  for (int step = 0; step < 100; ++step) test::Change(copy, copy_twin, *objects, dice);
  EXPECT_EQ(original.Fingerprint(), before);
  const std::string changed = copy.Fingerprint();
  ASSERT_NE(changed, before);
  for (int step = 0; step < 100; ++step) test::Change(original, original_twin, *objects, dice);
  EXPECT_EQ(copy.Fingerprint(), changed);
  EXPECT_EQ(copy_twin.Compare(copy), "");
  EXPECT_EQ(original_twin.Compare(original), "");
}

TEST(ClusterSnapshotTest, ACopyOutlivesItsOriginal) {
  auto original = std::make_unique<ClusterSnapshot>(ThreeOnA());
  ClusterSnapshot copy = *original;
  const std::string before = original->Fingerprint();
  original.reset();
  EXPECT_EQ(copy.Fingerprint(), before);
  copy.MovePod(PodNamed(copy, "p0"), NodeNamed(copy, "b"));
  EXPECT_TRUE(copy.CheckInvariants().ok());
}

// 100,000 random operations on a snapshot and up to three branches, which are copies of
// the snapshot or of each other.
TEST(ClusterSnapshotTest, AgreesWithTheTwinUnderRandomOperations) {
  constexpr int kClusters = 20;
  constexpr int kSteps = 5000;
  const uint64_t seed = RandomSeed();
  for (int c = 0; c < kClusters; ++c) {
    Dice dice(seed * 1000 + c);
    const auto objects =
        test::RandomObjects(dice, {.nodes = 1 + dice.Below(14), .pods = 1 + dice.Below(50)});
    struct Branch {
      ClusterSnapshot snapshot;
      SnapshotTwin twin;
    };
    std::vector<Branch> branches;
    branches.push_back({test::BuildSnapshot(*objects), SnapshotTwin(objects)});
    for (int step = 0; step < kSteps; ++step) {
      const std::string where = "cluster " + std::to_string(c) + " step " + std::to_string(step);
      const size_t b = dice.Below(static_cast<int>(branches.size()));
      if (branches[b].twin.depth() == 0 && dice.Percent(3)) {
        const Branch copy = branches[b];
        if (branches.size() < 4) {
          branches.push_back(copy);
        } else {
          branches[dice.Below(4)] = copy;
        }
        continue;
      }
      auto& [snapshot, twin] = branches[b];
      test::Change(snapshot, twin, *objects, dice);
      const int node = dice.Below(static_cast<int>(objects->nodes.size()));
      const int pod = dice.Below(static_cast<int>(objects->pods.size()));
      ASSERT_EQ(twin.CompareDigest(snapshot, node, pod), "") << where;
      if (step % 100 != 0 && step != kSteps - 1) continue;
      for (const Branch& branch : branches) {
        ASSERT_EQ(branch.twin.Compare(branch.snapshot), "") << where;
        ASSERT_EQ(branch.snapshot.CheckInvariants().message(), "") << where;
      }
    }
  }
}

TEST(ClusterSnapshotParallelTest, TwoThreadsMayChangeTwoBranchesAtOnce) {
  Dice dice(RandomSeed());
  const auto objects = test::RandomObjects(dice, {.nodes = 40, .pods = 200});
  const ClusterSnapshot base = test::BuildSnapshot(*objects);
  const std::string before = base.Fingerprint();
  std::array<ClusterSnapshot, 2> branches = {base, base};
  std::array<SnapshotTwin, 2> twins = {SnapshotTwin(objects), SnapshotTwin(objects)};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        Dice mine(1000 + t);
        for (int step = 0; step < 3000; ++step) {
          test::Change(branches[t], twins[t], *objects, mine);
          if (twins[t].depth() == 0 && mine.Percent(5)) {
            const ClusterSnapshot copy = branches[t];  // Made while the other thread writes.
            branches[t] = copy;
          }
        }
      });
    }
  }
  for (int t = 0; t < 2; ++t) {
    EXPECT_EQ(twins[t].Compare(branches[t]), "");
    EXPECT_EQ(branches[t].CheckInvariants().message(), "");
  }
  EXPECT_EQ(base.Fingerprint(), before);
}

TEST(ClusterSnapshotTest, AFingerprintDependsOnEveryPartOfTheSnapshot) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a").Cpu(1000).Memory(64).Pods(9).Label("zone", "x"))
                                 .Add(Node("b").Cpu(1000).Memory(64).Pods(9).Label("zone", "y"))
                                 .Add(Node("c").Cpu(500).Memory(32).Pods(5).Label("zone", "y"))
                                 .Add(Pod("p0")
                                          .On("a")
                                          .Cpu(100)
                                          .Label("app", "web")
                                          .Spread("zone", 1, test::Select("app", "web")))
                                 .Add(Pod("p1").On("a").Memory(4).With([](objects::Pod& p) {
                                   objects::Volume& volume = p.volumes.emplace_back();
                                   volume.source = "persistentVolumeClaim";
                                   volume.claim_name = "data";
                                 }))
                                 .Build();
  // The figures are cpu, memory, ephemeral storage and pod slots.
  EXPECT_EQ(snapshot.Fingerprint(),
            "a free 900 60 0 7 pods 0 1\n"
            "b free 1000 64 0 9 pods\n"
            "c free 500 32 0 5 pods\n"
            "claim 0 1\n"
            "table 0 total 1 domains 2 min 0 1 0\n");
  snapshot.RemoveNode(NodeNamed(snapshot, "c"));
  snapshot.MovePod(PodNamed(snapshot, "p0"), NodeNamed(snapshot, "b"));
  snapshot.SetGhost(NodeNamed(snapshot, "a"));
  EXPECT_EQ(snapshot.Fingerprint(),
            "a ghost free 1000 64 0 9 pods\n"
            "b free 900 64 0 8 pods 0\n"
            "c gone free 500 32 0 5 pods\n"
            "claim 0 0\n"
            "table 0 total 1 domains 2 min 0 0 1\n");
  EXPECT_EQ(snapshot.placed_pods(), 1u);
  EXPECT_EQ(snapshot.CheckInvariants().message(), "");
}

TEST(ClusterSnapshotTest, CheckInvariantsNamesTheDifferenceFromARecount) {
  ClusterSnapshot snapshot = ThreeOnA();
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  ShapeRoom room;
  room.Begin(snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "p1")));
  room.Take(NodeNamed(snapshot, "b"));
  EXPECT_EQ(snapshot.CheckInvariants(),
            absl::InternalError("differs from a recount: \"b free 800 8589934592 0 109 pods\""));
  room.Give(NodeNamed(snapshot, "b"));
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  room.Take(NodeNamed(snapshot, "a"));
  EXPECT_EQ(snapshot.CheckInvariants().message(),
            "differs from a recount: \"a free 200 8589934592 0 106 pods 0 1 2\"");
}

TEST(ClusterSnapshotTest, AStateHasANameUntilItChangesAndAfterRevertAgain) {
  ClusterSnapshot snapshot = ThreeOnA();
  const PodId pod = PodNamed(snapshot, "p0");
  const NodeId a = NodeNamed(snapshot, "a");
  const NodeId b = NodeNamed(snapshot, "b");
  const uint64_t first = snapshot.StateId();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(snapshot.StateId(), first);
  ClusterSnapshot copy = snapshot;
  EXPECT_EQ(copy.StateId(), first);
  std::set<uint64_t> known = {first};
  const auto is_new = [&] { return known.insert(snapshot.StateId()).second; };

  snapshot.Fork();
  EXPECT_EQ(snapshot.StateId(), first);
  snapshot.RemovePod(pod);
  EXPECT_TRUE(is_new());
  snapshot.AddPod(pod, b);
  EXPECT_TRUE(is_new());
  snapshot.SetGhost(a);
  EXPECT_TRUE(is_new());
  snapshot.ClearGhost();
  EXPECT_TRUE(is_new());
  snapshot.RemoveNode(a);
  EXPECT_TRUE(is_new());
  snapshot.AddNode(a);
  EXPECT_TRUE(is_new());
  const uint64_t between = snapshot.StateId();
  snapshot.Fork();
  snapshot.RemovePod(pod);
  EXPECT_TRUE(is_new());
  snapshot.Revert();
  EXPECT_EQ(snapshot.StateId(), between);
  snapshot.Revert();
  EXPECT_EQ(snapshot.StateId(), first);

  TopologyCounts counts = snapshot.topology();
  snapshot.Fork();
  snapshot.MovePod(pod, b);
  EXPECT_TRUE(is_new());
  snapshot.RevertTo(std::move(counts));
  EXPECT_EQ(snapshot.StateId(), first);
  // A committed change keeps its state id.
  snapshot.Fork();
  snapshot.MovePod(pod, b);
  const uint64_t moved = snapshot.StateId();
  snapshot.Commit();
  EXPECT_EQ(snapshot.StateId(), moved);
  EXPECT_TRUE(is_new());
  EXPECT_EQ(copy.StateId(), first);
  copy.MovePod(pod, b);
  EXPECT_TRUE(known.insert(copy.StateId()).second) << "no two snapshots give one name";
}

TEST(ClusterSnapshotTest, FreeAmountsOfAllWordsAndResourcesAreRestored) {
  Cluster cluster;
  for (int n = 0; n < 600; ++n) {
    cluster.Add(Node("n" + std::to_string(n)).Cpu(1000 + n).Resource("example.com/x", 5));
  }
  cluster.Add(Pod("p").Cpu(10).Memory(3).Request("example.com/x", 1));
  ClusterSnapshot snapshot = cluster.Build();
  const std::string before = snapshot.Fingerprint();
  std::vector<int64_t> saved = {7};  // SaveFree overwrites it.
  snapshot.SaveFree(saved);
  EXPECT_EQ(saved.size(), 5u * 640);
  EXPECT_EQ(saved[599], 1599);
  EXPECT_EQ(saved[4 * 640 + 599], 5);
  ShapeRoom room;
  room.Begin(snapshot, snapshot.catalog().shape_of(PodId{0}));
  for (const uint32_t n : {0u, 63u, 64u, 511u, 512u, 599u}) {
    room.Take(NodeId{n});
    EXPECT_EQ(snapshot.Free(kCpu, NodeId{n}), 990 + n);
  }
  EXPECT_NE(snapshot.Fingerprint(), before);
  snapshot.RestoreFree(saved);
  EXPECT_EQ(snapshot.Fingerprint(), before);
}

}  // namespace
}  // namespace ebb::cluster_snapshot_test
