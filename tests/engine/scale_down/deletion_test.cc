#include "engine/scale_down/deletion.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::deletion_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;

constexpr int64_t kNow = 1'000'000;
constexpr const char* kKeep = "cluster-autoscaler.kubernetes.io/scale-down-disabled";

// Empty nodes that a plan removes, each unneeded for some time.
class DeletionTest : public testing::Test {
 protected:
  DeletionTest() {
    options_.scale_down_unneeded_time_s = 0;
    options_.scale_down_unready_time_s = 0;
  }

  void Make(std::initializer_list<Node> nodes) {
    Cluster cluster;
    for (const Node& node : nodes) cluster.Add(node);
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    plan_.remove.clear();
    timers_.clear();
    for (const Node& node : nodes) LetGo(node.raw.meta.name, kNow - 1000);
  }
  // The same for one node, unneeded since `since_s`.
  void LetGo(std::string_view name, int64_t since_s) {
    const NodeId node = NodeNamed(*snapshot_, name);
    std::erase_if(plan_.remove, [&](const RemovableNode& r) { return r.node == node; });
    std::erase_if(timers_, [&](const UnneededTimers::Timer& t) { return t.node == name; });
    plan_.remove.emplace_back().node = node;
    timers_.push_back({.node = std::string(name), .uid = "", .since_s = since_s});
  }

  // "a b, not yet: c=NotAutoscaled".
  std::string Chosen() {
    UnneededTimers timers;
    timers.Restore(timers_, *snapshot_->catalog().shared_symbols());
    const std::vector<int64_t> in_deletion(groups_.groups.size());
    const NodesToDelete chosen =
        ChooseNodesToDelete(*snapshot_, groups_, plan_, timers, in_deletion, options_, kNow);
    EXPECT_TRUE(chosen.drain.empty());
    std::string text;
    for (const NodeId node : chosen.empty) {
      text += (text.empty() ? "" : " ") + Name(node);
    }
    for (const NotYet& node : chosen.not_yet) {
      text += (&node == chosen.not_yet.data() ? ", not yet: " : " ") + Name(node.node) + "=" +
              std::string(ToString(node.reason));
    }
    return text;
  }
  std::string Name(NodeId node) const { return std::string(snapshot_->catalog().NodeName(node)); }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  Plan plan_;
  std::vector<UnneededTimers::Timer> timers_;
  DeletionOptions options_;
};

TEST_F(DeletionTest, ANodeThatIsNotReadyWaitsForATimeOfItsOwn) {
  Make({Node("a"), Node("b").NotReady()});
  options_.scale_down_unneeded_time_s = 999;
  options_.scale_down_unready_time_s = 1000;
  EXPECT_EQ(Chosen(), "a, not yet: b=NotUnreadyLongEnough");
  options_.scale_down_unneeded_time_s = 1000;
  options_.scale_down_unready_time_s = 999;
  EXPECT_EQ(Chosen(), "b, not yet: a=NotUnneededLongEnough");
}

TEST_F(DeletionTest, TheTimesOfAGroupReplaceTheGeneralOnes) {
  Make({Node("a"), Node("b").NotReady()});
  options_.scale_down_unneeded_time_s = 5000;
  options_.scale_down_unready_time_s = 5000;
  groups_.groups[0].scale_down_unneeded_time_s = 999;
  EXPECT_EQ(Chosen(), "a, not yet: b=NotUnreadyLongEnough");
  groups_.groups[0].scale_down_unneeded_time_s = 1000;
  groups_.groups[0].scale_down_unready_time_s = 999;
  EXPECT_EQ(Chosen(), "b, not yet: a=NotUnneededLongEnough");
}

TEST_F(DeletionTest, WithAnUnneededTimeOfZeroANodeGoesAtOnce) {
  Make({Node("a"), Node("b")});
  LetGo("b", kNow);
  EXPECT_EQ(Chosen(), "a b");
  options_.scale_down_unneeded_time_s = 1;
  EXPECT_EQ(Chosen(), "a, not yet: b=NotUnneededLongEnough");
}

TEST_F(DeletionTest, ANodeWithoutATimerIsLeftOutAndTheLongestUnneededComesFirst) {
  Make({Node("a"), Node("b"), Node("c")});
  LetGo("a", kNow - 10);
  LetGo("c", kNow - 2000);
  EXPECT_EQ(Chosen(), "c b a");
  std::erase_if(timers_, [](const UnneededTimers::Timer& timer) { return timer.node == "b"; });
  EXPECT_EQ(Chosen(), "c a");
}

TEST_F(DeletionTest, NodesThatMustStayAreNamedWithWhy) {
  Make({Node("a").Annotation(kKeep, "true"), Node("b"), Node("c")});
  groups_.group_of[Index(NodeNamed(*snapshot_, "b"))] = kNoGroup;
  EXPECT_EQ(Chosen(), "c, not yet: a=ScaleDownDisabledAnnotation b=NotAutoscaled");
}

TEST_F(DeletionTest, AGroupKeepsItsMinimumOfWhatItIsToHave) {
  Make({Node("a"), Node("b"), Node("c")});
  groups_.groups[0].min_size = 2;
  EXPECT_EQ(Chosen(), "a, not yet: b=NodeGroupMinSizeReached c=NodeGroupMinSizeReached");
  groups_.groups[0].target_size = 4;  // One node is not in the cluster yet.
  EXPECT_EQ(Chosen(), "a b, not yet: c=NodeGroupMinSizeReached");
}

TEST_F(DeletionTest, TheClusterKeepsItsMemory) {
  Make({Node("a"), Node("b"), Node("c")});  // 8 GiB each.
  options_.minimums.memory_bytes = 8 * test::kGiB;
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
  options_.minimums.memory_bytes += 1;
  EXPECT_EQ(Chosen(), "a, not yet: b=MinimalResourceLimitExceeded c=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, TheClusterKeepsItsNodes) {
  Make({Node("a"), Node("b"), Node("c")});
  options_.minimums.nodes = 1;
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
  options_.minimums.nodes = 5;
  EXPECT_EQ(Chosen(),
            ", not yet: a=MinimalResourceLimitExceeded b=MinimalResourceLimitExceeded "
            "c=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, APartOfACoreCountsAsACore) {
  Make({Node("a").Cpu(1500), Node("b").Cpu(1500), Node("c").Cpu(1500)});
  options_.minimums.cores = 2;  // Of 6.
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
  options_.minimums.cores = 3;
  EXPECT_EQ(Chosen(), "a, not yet: b=MinimalResourceLimitExceeded c=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, TheFirstNodeOfAGroupGivesTheSizeOfAll) {
  Make({Node("a").Cpu(1000), Node("b").Cpu(8000), Node("c").Cpu(8000)});
  options_.minimums.cores = 1;  // Of 3.
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
  groups_.groups.push_back(groups_.groups[0]);
  groups_.groups[1].name = "large";
  groups_.group_of = {GroupId{0}, GroupId{1}, GroupId{1}};
  options_.minimums.cores = 8;  // Of 17.
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, AtomicGroupsComeLastAndABrokenOneBlocksNoLaterOne) {
  Make({Node("a"), Node("b"), Node("c"), Node("d"), Node("e")});
  groups_.groups.resize(3);
  groups_.groups[1] = groups_.groups[2] = groups_.groups[0];
  groups_.groups[1].name = "broken";
  groups_.groups[2].name = "whole";
  groups_.groups[1].target_size = groups_.groups[2].target_size = 2;
  groups_.groups[1].atomic = groups_.groups[2].atomic = true;
  groups_.group_of = {GroupId{1}, GroupId{2}, GroupId{0}, GroupId{1}, GroupId{2}};
  EXPECT_EQ(Chosen(), "c a d b e") << "both are whole, and first met first";
  std::erase_if(plan_.remove, [&](const RemovableNode& removable) {
    return removable.node == NodeNamed(*snapshot_, "d");
  });
  EXPECT_EQ(Chosen(), "c b e, not yet: a=AtomicScaleDownFailed");
}

TEST_F(DeletionTest, ANodeThatFallsOutLateHasUsedUpItsShareOfTheMinimums) {
  Make({Node("a"), Node("b"), Node("c"), Node("x")});
  groups_.groups.push_back(groups_.groups[0]);
  groups_.groups[1].name = "atomic";
  groups_.groups[1].atomic = true;
  groups_.groups[1].target_size = 2;
  groups_.group_of = {GroupId{1}, GroupId{0}, GroupId{0}, GroupId{1}};
  std::erase_if(plan_.remove, [&](const RemovableNode& removable) {
    return removable.node == NodeNamed(*snapshot_, "x");
  });
  options_.minimums.nodes = 2;  // Of 4.
  EXPECT_EQ(Chosen(), "b, not yet: c=MinimalResourceLimitExceeded a=AtomicScaleDownFailed");
}

TEST_F(DeletionTest, OnlyTheLabelsValueMakesAVirtualKubelet) {
  Make({Node("a").Label("type", "other"), Node("b"), Node("c")});
  options_.minimums.nodes = 1;
  EXPECT_EQ(Chosen(), "a b, not yet: c=MinimalResourceLimitExceeded");
  Make({Node("a").Label("type", "virtual-kubelet"), Node("b"), Node("c")});
  EXPECT_EQ(Chosen(), "a, not yet: b=MinimalResourceLimitExceeded c=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, GpusThatANodeOfNoGroupOffersAreCounted) {
  const auto chosen = [this](const Node& labelled) {
    Make({Node("a"), labelled});
    groups_.gpu_label = {false, true};
    groups_.group_of[1] = kNoGroup;
    return Chosen();
  };
  EXPECT_EQ(chosen(Node("g").Resource("nvidia.com/gpu", 1)), "a, not yet: g=NotAutoscaled");
  EXPECT_EQ(chosen(Node("g").Resource("nvidia.com/gpu", 0)), "");
  for (const char* const gpu : {"amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe",
                                "microsoft.com/directx", "nvidia.com/mig-1g.5gb"}) {
    EXPECT_EQ(chosen(Node("g").Resource(gpu, 1)), "a, not yet: g=NotAutoscaled") << gpu;
  }
  EXPECT_EQ(chosen(Node("g").Resource("example.com/gpu", 1)), "");
  EXPECT_EQ(chosen(Node("g").Label("type", "virtual-kubelet")), "a, not yet: g=NotAutoscaled");
}

TEST_F(DeletionTest, TheFirstNodeWhoseGpusCannotBeCountedIsNamed) {
  Make({Node("a"), Node("g"), Node("h")});
  groups_.gpu_label = {false, true, true};
  groups_.group_of[1] = groups_.group_of[2] = kNoGroup;
  UnneededTimers timers;
  const std::vector<int64_t> none(1);
  EXPECT_EQ(
      ChooseNodesToDelete(*snapshot_, groups_, plan_, timers, none, options_, kNow).uncounted_gpus,
      NodeNamed(*snapshot_, "g"));
  groups_.gpu_label = {false, false, false};
  EXPECT_EQ(
      ChooseNodesToDelete(*snapshot_, groups_, plan_, timers, none, options_, kNow).uncounted_gpus,
      kNoNode);
}

TEST_F(DeletionTest, NodesWithPodsToMoveComeApartAndRiskyOnesLast) {
  Make({Node("a"), Node("b"), Node("c"), Node("d")});
  for (RemovableNode& removable : plan_.remove) {
    const std::string name = Name(removable.node);
    if (name != "d") removable.moves = {{PodId{0}, NodeId{3}}};
    removable.risky = name == "a";
    if (name == "b") removable.on_completion = {PodId{1}};
  }
  UnneededTimers timers;
  timers.Restore(timers_, *snapshot_->catalog().shared_symbols());
  const std::vector<int64_t> none(1);
  const NodesToDelete chosen =
      ChooseNodesToDelete(*snapshot_, groups_, plan_, timers, none, options_, kNow);
  EXPECT_EQ(chosen.empty, test::NodesNamed(*snapshot_, {"d"}));
  EXPECT_EQ(chosen.drain, test::NodesNamed(*snapshot_, {"c", "a"}));
  ASSERT_EQ(chosen.not_yet.size(), 1U);
  EXPECT_EQ(chosen.not_yet[0].node, NodeNamed(*snapshot_, "b"));
  EXPECT_EQ(chosen.not_yet[0].reason, UnremovableReason::kBlockedByOnCompletionPod);
}

TEST_F(DeletionTest, NothingGoesIfTheClusterIsAtItsMinimum) {
  Make({Node("a").Cpu(1000).Memory(1), Node("b").Cpu(1000).Memory(1)});
  const std::string none =
      ", not yet: a=MinimalResourceLimitExceeded b=MinimalResourceLimitExceeded";
  for (const int64_t least : {2, 9}) {
    options_.minimums = {.cores = least};
    EXPECT_EQ(Chosen(), none) << least;
    options_.minimums = {.memory_bytes = least};
    EXPECT_EQ(Chosen(), none) << least;
    options_.minimums = {.nodes = least};
    EXPECT_EQ(Chosen(), none) << least;
  }
  options_.minimums = {.cores = 1, .memory_bytes = 1, .nodes = 1};
  EXPECT_EQ(Chosen(), "a, not yet: b=MinimalResourceLimitExceeded");
}

TEST_F(DeletionTest, ANodeWithoutResourcesMayGoBelowTheClustersMinimum) {
  Make({Node("y").Cpu(0).Memory(0), Node("z").Cpu(0).Memory(0)});
  options_.minimums = {.cores = 9, .memory_bytes = 9};
  EXPECT_EQ(Chosen(), "y z");
}

}  // namespace
}  // namespace ebb::deletion_test
