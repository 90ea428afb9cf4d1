#include "engine/search/packing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/random_apps.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::packing_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;

std::vector<NodeId> AllNodes(const ClusterSnapshot& snapshot) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  return nodes;
}

class PackingTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.planner.scale_down_utilization_threshold = 1;
    request_.now_s = test::kPassTime;
  }
  // Where may the pod of a go?
  void BeginWithRoomyAndFull() {
    Make(Cluster()
             .Add(Node("a").Cpu(1000))
             .Add(Node("roomy").Cpu(4000))
             .Add(Node("full").Cpu(4000))
             .Add(Pod("small").On("a").Cpu(100))
             .Add(Pod("large").On("full").Cpu(3000)));
    Begin();
  }
  void Begin() {
    problem_.emplace(*snapshot_, *snapshot_, groups_, request_, AllNodes(*snapshot_), worth_);
    packing_.emplace(*snapshot_, *problem_);
  }
  size_t Unit(std::string_view node) const {
    const NodeId id = test::NodeNamed(*snapshot_, node);
    for (size_t u = 0; u < problem_->units.size(); ++u) {
      if (std::ranges::count(problem_->units[u].nodes, id) > 0) return u;
    }
    return problem_->units.size();
  }
  bool IsUnit(std::string_view node) const { return Unit(node) < problem_->units.size(); }
  bool Remove(std::string_view node) { return packing_->Remove(Unit(node)); }
  std::string Where(std::string_view pod) const {
    const NodeId node = packing_->snapshot().NodeOf(test::PodNamed(*snapshot_, pod));
    return node == kNoNode ? "" : std::string(snapshot_->catalog().NodeName(node));
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  std::vector<int64_t> worth_;
  std::optional<PackingProblem> problem_;
  std::optional<Packing> packing_;
};

TEST_F(PackingTest, PodsGoWhereItIsFullest) {
  BeginWithRoomyAndFull();
  EXPECT_TRUE(Remove("a"));
  EXPECT_EQ(Where("small"), "full");
  EXPECT_EQ(packing_->worth(), 1);
}

TEST_F(PackingTest, NodesThatAreToGoLaterTakePodsLast) {
  BeginWithRoomyAndFull();
  packing_->SetBias(Unit("full"), 100);
  EXPECT_TRUE(Remove("a"));
  EXPECT_EQ(Where("small"), "roomy");
}

TEST_F(PackingTest, APodMovesAgainWhenItsHostGoesAndComesHomeFromThere) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(1000))
           .Add(Node("c").Cpu(4000))
           .Add(Pod("of-a").On("a").Cpu(100))
           .Add(Pod("of-b").On("b").Cpu(500))
           .Add(Pod("daemon").On("a").Cpu(10).DaemonSet()));
  Begin();
  const std::string before = packing_->snapshot().Fingerprint();
  ASSERT_TRUE(Remove("a"));
  EXPECT_EQ(Where("of-a"), "b");
  EXPECT_EQ(Where("daemon"), "");
  ASSERT_TRUE(Remove("b"));
  EXPECT_EQ(Where("of-a"), "c");
  EXPECT_FALSE(Remove("c"));
  ASSERT_EQ(packing_->Places().size(), 2u);
  EXPECT_EQ(packing_->Places()[0].to, test::NodeNamed(*snapshot_, "c"));
  packing_->PutBack(Unit("a"));
  EXPECT_EQ(Where("of-a"), "a");
  EXPECT_EQ(Where("daemon"), "a");
  EXPECT_EQ(Where("of-b"), "c");
  packing_->PutBack(Unit("b"));
  EXPECT_EQ(packing_->worth(), 0);
  EXPECT_TRUE(packing_->removed().empty());
  EXPECT_TRUE(packing_->snapshot().CheckInvariants().ok());
}

TEST_F(PackingTest, BudgetsAndQuotasAreSpentAndComeBack) {
  Make(Cluster()
           .Add(Node("a"))
           .Add(Node("b"))
           .Add(Node("c"))
           .Add(Pod("of-a").On("a").Label("app", "web"))
           .Add(Pod("of-b").On("b").Label("app", "web"))
           .Add(Budget("web").Matching("app", "web").Allows(1)));
  Begin();
  EXPECT_TRUE(Remove("a"));
  EXPECT_FALSE(Remove("b"));
  packing_->PutBack(Unit("a"));
  EXPECT_TRUE(Remove("b"));
  packing_->PutBack(Unit("b"));
  groups_.groups[0].min_size = 2;
  Begin();
  EXPECT_TRUE(Remove("a"));
  EXPECT_FALSE(Remove("c"));
}

TEST_F(PackingTest, AShareOfAWorkloadIsNeverExceeded) {
  Make(Cluster()
           .Add(Node("a"))
           .Add(Node("two"))
           .Add(Node("b"))
           .Add(Node("c"))
           .Add(Pod("web-1").On("a").OwnedBy("ReplicaSet", "web"))
           .Add(Pod("web-2").On("two").OwnedBy("ReplicaSet", "web"))
           .Add(Pod("web-3").On("two").OwnedBy("ReplicaSet", "web"))
           .Add(Pod("other").On("b").OwnedBy("ReplicaSet", "other")));
  request_.max_workload_share = 0.5;  // Of 3 pods 2, of 1 pod 1.
  Begin();
  EXPECT_TRUE(Remove("a"));
  EXPECT_FALSE(Remove("two"));  // Which a budget that allows 2 would let go.
  EXPECT_TRUE(Remove("b"));
  packing_->PutBack(Unit("a"));
  EXPECT_TRUE(Remove("two"));
}

TEST_F(PackingTest, NodesThatNoPlanMayRemoveAreNoUnits) {
  Make(Cluster()
           .Add(Node("free"))
           .Add(Node("busy").Cpu(1000))
           .Add(Node("held"))
           .Add(Node("waits"))
           .Add(Node("worthless"))
           .Add(Pod("large").On("busy").Cpu(900))
           .Add(Pod("bare").On("held").OwnedByNobody())
           .Add(Pod("job").On("waits").SafeToEvict("on-completion")));
  request_.planner.scale_down_utilization_threshold = 0.5;
  worth_.assign(snapshot_->catalog().nodes(), 3);
  worth_[Index(test::NodeNamed(*snapshot_, "worthless"))] = 0;
  Begin();
  EXPECT_EQ(problem_->units.size(), 1u);
  EXPECT_TRUE(IsUnit("free"));
  EXPECT_TRUE(Remove("free"));
  EXPECT_EQ(packing_->worth(), 3);
}

TEST_F(PackingTest, AnAtomicGroupIsOneUnitOrNone) {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c"}) {
    cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(400));
  }
  cluster.Add(Node("big").Cpu(900)).Add(Pod("large").On("big").Cpu(100));
  Make(cluster);
  groups_.groups.push_back(groups_.groups[0]);
  groups_.groups[1].name = "atomic";
  groups_.groups[1].target_size = 2;
  groups_.groups[1].atomic = true;
  groups_.group_of[Index(test::NodeNamed(*snapshot_, "a"))] = GroupId{1};
  groups_.group_of[Index(test::NodeNamed(*snapshot_, "b"))] = GroupId{1};
  Begin();
  EXPECT_EQ(Unit("a"), Unit("b"));
  EXPECT_NE(Unit("a"), Unit("c"));
  ASSERT_TRUE(Remove("a"));
  EXPECT_EQ(packing_->worth(), 2);
  groups_.groups[1].target_size = 3;  // One more is to come, and two are not all.
  groups_.group_of[Index(test::NodeNamed(*snapshot_, "c"))] = GroupId{1};
  request_.planner.scale_down_utilization_threshold = 0.3;
  Begin();
  EXPECT_FALSE(IsUnit("a"));
}

// Random steps, with what is undone, against a packing that never made them.
TEST_F(PackingTest, WhatIsUndoneLeavesNoTrace) {
  for (int run = 0; run < 40; ++run) {
    Dice dice(static_cast<uint64_t>(run));
    const int nodes = 5 + dice.Below(20);
    Cluster cluster;
    for (int n = 0; n < nodes; ++n) cluster.Add(test::RandomNode(n, dice));
    std::vector<test::App> apps;
    for (int a = 0; a < 6; ++a) apps.emplace_back(a, dice);
    for (int p = 0; p < nodes * 3; ++p) {
      Pod pod = dice.Of(apps).Make(p, dice);
      pod.On(test::Name("n", dice.Below(nodes)));
      cluster.Add(pod);
    }
    Make(cluster);
    request_.planner.scale_down_utilization_threshold = 2;
    request_.planner.drain.skip_nodes_with_system_pods = false;
    Begin();
    Packing& packing = *packing_;
    const auto step = [&](Dice& by) {
      if (problem_->units.empty()) return;
      const auto unit = static_cast<size_t>(by.Below(static_cast<int>(problem_->units.size())));
      packing.IsRemoved(unit) ? packing.PutBack(unit) : static_cast<void>(packing.Remove(unit));
    };
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 5; ++i) step(dice);
      const std::string before = packing.snapshot().Fingerprint();
      const std::vector<uint32_t> order = packing.removed();
      const Packing kept = packing;
      packing.Begin();
      for (int i = 0; i < 10; ++i) step(dice);
      packing.Revert();
      ASSERT_EQ(packing.snapshot().Fingerprint(), before) << "run " << run;
      ASSERT_EQ(packing.removed(), order);
      ASSERT_EQ(packing.worth(), kept.worth());
      // From here on both do the same.
      Packing other = kept;
      for (size_t unit = 0; unit < problem_->units.size(); ++unit) {
        if (packing.IsRemoved(unit)) continue;
        ASSERT_EQ(packing.Remove(unit), other.Remove(unit)) << "run " << run;
      }
      ASSERT_EQ(packing.snapshot().Fingerprint(), other.snapshot().Fingerprint());
      const absl::Status sound = packing.snapshot().CheckInvariants();
      ASSERT_TRUE(sound.ok()) << sound.message();
    }
  }
}

}  // namespace
}  // namespace ebb::packing_test
