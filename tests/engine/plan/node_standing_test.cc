// Nodes that something else is deleting, that are still being set up, and that count as not ready.

#include "engine/plan/node_standing.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/make_plan.h"
#include "engine/scale_down/round.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::node_standing_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::HasSubstr;

constexpr int64_t kNow = test::kPassTime;

Node OfKarpenter(std::string_view name) { return Node(name).Label("karpenter.sh/nodepool", "p"); }

Node Deleted(std::string_view name) {
  return Node(name).With([](objects::Node& node) { node.meta.deletion_time = kNow - 60; });
}

Node CreatedAgo(std::string_view name, int64_t age_s) {
  return Node(name).With([&](objects::Node& node) { node.meta.creation_time = kNow - age_s; });
}

objects::StorageObject DyingMachine(std::string_view node) {
  objects::Machine machine;
  machine.meta.namespace_name = "ns";
  machine.meta.name = "m";
  machine.meta.deletion_time = kNow;
  machine.node_name = test::Keep(node);
  return machine;
}

class NodeStandingTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    groups_.max_node_startup_time_s = 900;
  }
  const Catalog& catalog() const { return snapshot_->catalog(); }
  NodeId Find(std::string_view node) { return test::NodeNamed(*snapshot_, node); }

  // Why nodes are kept, and which are removed: "a=NotStarted ...; b: p>c".
  std::string Plan(const std::vector<PodId>& pending = {}) {
    PlanRequest request;
    request.order = CandidateOrder::kInput;
    request.pass.now_s = kNow;
    request.pass.pending = pending;
    const PlanResult made = MakePlan(*snapshot_, groups_, request).value();
    std::string text;
    for (const UnremovableNode& node : made.excluded) {
      text += std::string(catalog().NodeName(node.node)) + "=" +
              std::string(ToString(node.reason)) + " ";
    }
    return text + test::Kept(*snapshot_, made.plan) + "; " + test::Removals(*snapshot_, made.plan);
  }
  RoundResult Round(ScaleDown& scale_down, int64_t now_s, std::span<const ScaleEvent> events = {}) {
    return scale_down.Round(*snapshot_, groups_, {.now_s = now_s, .events = events}).value();
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
};

TEST_F(NodeStandingTest, TheReasonOfADeletionIsNamed) {
  Make(Cluster()
           .Add(Deleted("a"))
           .Add(Node("b").Taint("karpenter.sh/disrupted"))
           .Add(Node("c").Taint("karpenter.sh/disruption", "disrupting"))
           .Add(Node("d"))
           .Add(Node("e"))
           .Add(DyingMachine("d")));
  EXPECT_EQ(WhyLeaving(catalog(), Find("a")),
            "under deletion: it has a metadata.deletionTimestamp");
  EXPECT_EQ(WhyLeaving(catalog(), Find("b")), "tainted karpenter.sh/disrupted");
  EXPECT_EQ(WhyLeaving(catalog(), Find("c")), "tainted karpenter.sh/disruption");
  EXPECT_EQ(WhyLeaving(catalog(), Find("d")), "on Machine ns/m, which is being deleted");
  EXPECT_EQ(WhyLeaving(catalog(), Find("e")), "");
  EXPECT_TRUE(IsLeaving(catalog(), Find("d")));
  EXPECT_FALSE(IsLeaving(catalog(), Find("e")));
  EXPECT_EQ(Plan(),
            "a=CurrentlyBeingDeleted b=CurrentlyBeingDeleted c=CurrentlyBeingDeleted "
            "d=CurrentlyBeingDeleted ; e:");
}

TEST_F(NodeStandingTest, PodsOfANodeThatLeavesNeedRoomAndNothingLandsThere) {
  for (const bool by_machine : {false, true}) {
    const Node leaves = by_machine ? Node("b") : Deleted("b");
    const auto cluster = [&](int64_t room) {
      Cluster made;
      made.Add(Node("a").Cpu(4000)).Add(Node(leaves).Cpu(4000)).Add(Node("z").Cpu(4000));
      if (by_machine) made.Add(DyingMachine("b"));
      return made.Add(Pod("of-a").On("a").Cpu(1000))
          .Add(Pod("of-b").On("b").Cpu(1000))
          .Add(Pod("of-z").On("z").Cpu(4000 - room));
    };
    ScaleDownOptions at_once;
    at_once.deletion.scale_down_unneeded_time_s = 0;
    Make(cluster(1550));
    EXPECT_EQ(Plan(), "b=CurrentlyBeingDeleted z=NotUnderutilized a=NoPlaceToMovePods; ");
    ScaleDown full(at_once);
    const RoundResult none = Round(full, kNow);
    EXPECT_EQ(test::Removals(*snapshot_, none.plan), "");
    EXPECT_EQ(none.displaced, 1U);
    EXPECT_EQ(none.groups[0].in_deletion, 1);
    Make(cluster(2000));
    EXPECT_EQ(Plan(), "b=CurrentlyBeingDeleted z=NotUnderutilized; a: of-a>z");
    ScaleDown roomy(at_once);
    EXPECT_EQ(test::Removals(*snapshot_, Round(roomy, kNow).plan), "a: of-a>z");
  }
}

TEST_F(NodeStandingTest, ANodeThatLeavesMakesItsGroupSmaller) {
  Make(Cluster().Add(Node("a")).Add(Node("b")).Add(Deleted("c")));
  groups_.groups[0].min_size = 1;
  EXPECT_EQ(Plan(), "c=CurrentlyBeingDeleted b=NodeGroupMinSizeReached ; a:");
  ScaleDownOptions at_once;
  at_once.deletion.scale_down_unneeded_time_s = 0;
  ScaleDown scale_down(at_once);
  const RoundResult round = Round(scale_down, kNow);
  EXPECT_EQ(round.may_go.empty.size(), 1U);
  ASSERT_EQ(round.may_go.not_yet.size(), 1U);
  EXPECT_EQ(round.may_go.not_yet[0].reason, UnremovableReason::kNodeGroupMinSizeReached);
}

TEST_F(NodeStandingTest, KarpentersNodesStartUntilTheyAreInitialized) {
  Make(Cluster()
           .Add(OfKarpenter("unregistered").Taint("karpenter.sh/unregistered", "", "NoExecute"))
           .Add(OfKarpenter("registered").Label("karpenter.sh/registered", "true"))
           .Add(OfKarpenter("initialized").Label("karpenter.sh/initialized", "true"))
           .Add(OfKarpenter("stripped"))
           .Add(OfKarpenter("young").With(
               [](objects::Node& node) { node.meta.creation_time = kNow - 899; })));
  const auto why = [&](std::string_view node) {
    EXPECT_EQ(IsStarting(catalog(), groups_, Find(node), kNow),
              !WhyStarting(catalog(), groups_, Find(node), kNow).empty());
    return WhyStarting(catalog(), groups_, Find(node), kNow);
  };
  EXPECT_EQ(why("unregistered"), "tainted karpenter.sh/unregistered");
  EXPECT_EQ(why("registered"), "without the label karpenter.sh/initialized=true");
  EXPECT_EQ(why("initialized"), "");
  EXPECT_EQ(why("stripped"), "");
  EXPECT_EQ(why("young"), "without the label karpenter.sh/initialized=true");
  EXPECT_EQ(Plan(),
            "unregistered=NotStarted registered=NotStarted young=NotStarted; initialized:; "
            "stripped:");
  groups_.max_node_startup_time_s = 0;
  EXPECT_EQ(why("unregistered"), "");
}

TEST_F(NodeStandingTest, AYoungNodeThatIsNotReadyIsStarting) {
  Make(Cluster()
           .Add(CreatedAgo("young", 120).NotReady())
           .Add(CreatedAgo("old", 900).NotReady())
           .Add(CreatedAgo("ready", 120))
           .Add(Node("full").Cpu(1000))
           .Add(Pod("p").On("full").Cpu(400))
           .Add(Pod("waits").Cpu(100)));
  EXPECT_EQ(WhyStarting(catalog(), groups_, Find("young"), kNow),
            "created 2 min ago, and not Ready yet");
  EXPECT_FALSE(IsStarting(catalog(), groups_, Find("old"), kNow));
  EXPECT_FALSE(IsStarting(catalog(), groups_, Find("ready"), kNow));
  EXPECT_THAT(Plan(), ::testing::StartsWith("young=NotStarted"));
}

TEST_F(NodeStandingTest, NothingLandsOnANodeThatIsStarting) {
  const auto cluster = [](const Node& to) {
    return Cluster()
        .Add(Node("a").Cpu(2000))
        .Add(to)
        .Add(Pod("of-a").On("a").Cpu(800))
        .Add(Pod("waits").Cpu(1500).ToleratesEverything());
  };
  Make(cluster(CreatedAgo("b", 120).NotReady().Cpu(4000)));
  const std::vector<PodId> waits = test::PodsNamed(*snapshot_, {"waits"});
  EXPECT_EQ(Plan(waits), "b=NotStarted a=NoPlaceToMovePods; ");
  Make(cluster(CreatedAgo("b", 1000).NotReady().Cpu(4000)));
  EXPECT_EQ(Plan(waits), "b=NoPlaceToMovePods; a: of-a>b");
}

TEST_F(NodeStandingTest, TheVerifierRefusesPodsOnAStartingOrLeavingNode) {
  for (const Node& to :
       {Deleted("b"), Node("b").Taint("karpenter.sh/disrupted"), CreatedAgo("b", 120).NotReady(),
        OfKarpenter("b").Label("karpenter.sh/registered", "true")}) {
    Make(Cluster().Add(Node("a")).Add(to).Add(Pod("p").On("a").Cpu(10).ToleratesEverything()));
    const std::vector<NodeId> candidates = test::NodesNamed(*snapshot_, {"a"});
    PassInput input;
    input.now_s = kNow;
    input.candidates = candidates;
    ebb::Plan plan;
    plan.utilization.resize(2);
    plan.remove.push_back({.node = Find("a"),
                           .moves = {{test::PodNamed(*snapshot_, "p"), Find("b")}},
                           .daemonset = {},
                           .on_completion = {}});
    EXPECT_THAT(std::string(Verify(*snapshot_, groups_, {}, input, plan).message()),
                HasSubstr("moves to node \"b\", which"));
    // Nor may the node itself be removed.
    const std::vector<NodeId> other = test::NodesNamed(*snapshot_, {"b"});
    PassInput of_b = input;
    of_b.candidates = other;
    plan.remove = {{.node = Find("b"), .moves = {}, .daemonset = {}, .on_completion = {}}};
    EXPECT_FALSE(Verify(*snapshot_, groups_, {}, of_b, plan).ok());
  }
}

TEST_F(NodeStandingTest, ANodeThatTheGroupsCallUnreadyWaitsAsAnUnreadyOne) {
  Make(Cluster().Add(Node("a")).Add(Node("b")));
  groups_.not_ready = {NotReadyReason::kStartupTaint, NotReadyReason::kNone};
  EXPECT_FALSE(IsReady(catalog(), groups_, Find("a")));
  ScaleDown scale_down({});
  (void)Round(scale_down, kNow);
  const RoundResult eleven_minutes = Round(scale_down, kNow + 660);
  EXPECT_EQ(eleven_minutes.may_go.empty, test::NodesNamed(*snapshot_, {"b"}));
  ASSERT_EQ(eleven_minutes.may_go.not_yet.size(), 1U);
  EXPECT_EQ(eleven_minutes.may_go.not_yet[0].reason, UnremovableReason::kNotUnreadyLongEnough);
  EXPECT_EQ(Round(scale_down, kNow + 1201).may_go.empty.size(), 2U);
  ScaleDownOptions options;
  options.planner.scale_down_unready_enabled = false;
  ScaleDown without(options);
  EXPECT_EQ(test::Kept(*snapshot_, Round(without, kNow).plan), "a=ScaleDownUnreadyDisabled");
}

TEST_F(NodeStandingTest, UnreadyByTheGroupsCountsAgainstTheClustersHealth) {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c", "d", "e"}) cluster.Add(Node(name));
  Make(cluster);
  groups_.not_ready.assign(5, NotReadyReason::kNoGpus);
  groups_.not_ready[0] = NotReadyReason::kNone;
  ScaleDown scale_down({});
  EXPECT_EQ(Round(scale_down, kNow).status, ScaleDownStatus::kClusterUnhealthy);
}

TEST_F(NodeStandingTest, AnyYoungNodeThatWaitsForItsGpusIsStarting) {
  Make(Cluster().Add(CreatedAgo("a", 180)).Add(CreatedAgo("b", 900)).Add(CreatedAgo("c", 180)));
  groups_.not_ready = {NotReadyReason::kNoGpus, NotReadyReason::kNoGpus, NotReadyReason::kNone};
  groups_.max_node_startup_time_s = 900;
  EXPECT_EQ(WhyStarting(catalog(), groups_, Find("a"), kNow),
            "created 3 min ago, and counts as not ready: GPU label, and no GPU is allocatable");
  EXPECT_FALSE(IsStarting(catalog(), groups_, Find("b"), kNow));
  // In a round the unready timer keeps it; the timer starts at once, as in the autoscaler.
  NodeGroups timed = groups_;
  timed.has_unready_timers = true;
  EXPECT_FALSE(IsStarting(catalog(), timed, Find("a"), kNow));
  ScaleDown scale_down({});
  const RoundResult round = Round(scale_down, kNow);
  EXPECT_EQ(test::Kept(*snapshot_, round.plan), "");
  EXPECT_TRUE(round.may_go.empty.empty());
  // The verifier finds the fault too.
  const std::vector<NodeId> candidates = test::NodesNamed(*snapshot_, {"a"});
  PassInput input;
  input.now_s = kNow;
  input.candidates = candidates;
  ebb::Plan plan;
  plan.utilization.resize(3);
  plan.remove = {{.node = Find("a"), .moves = {}, .daemonset = {}, .on_completion = {}}};
  EXPECT_THAT(std::string(Verify(*snapshot_, groups_, {}, input, plan).message()),
              HasSubstr("is still being set up"));
}

TEST_F(NodeStandingTest, ARoundOfAnUnhealthyClusterNamesTheUnreadyNodesAndWhy) {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c", "d", "e", "f"}) cluster.Add(Node(name));
  Make(cluster);
  groups_.not_ready.assign(6, NotReadyReason::kNoGpus);
  groups_.not_ready[0] = NotReadyReason::kNone;
  groups_.not_ready[2] = NotReadyReason::kStartupTaint;
  ScaleDown scale_down({});
  EXPECT_EQ(Round(scale_down, kNow).message,
            "5 of 6 nodes are not ready: b (GPU label, and no GPU is allocatable), c (startup "
            "taint), d (GPU label, and no GPU is allocatable) and 2 more");
}

TEST_F(NodeStandingTest, AfterAScaleUpNodesOfTheGroupThatAreNotReadyAreStarting) {
  Make(Cluster().Add(CreatedAgo("a", 120)).Add(CreatedAgo("b", 120)));
  groups_.not_ready = {NotReadyReason::kStartupTaint, NotReadyReason::kNone};
  ScaleDown alone({});
  EXPECT_EQ(test::Kept(*snapshot_, Round(alone, kNow).plan), "");
  ScaleDown with_events({});
  const std::vector<ScaleEvent> events = {
      {ScaleEventKind::kScaleUp, groups_.groups[0].name, kNow - 150}};
  EXPECT_EQ(test::Kept(*snapshot_, Round(with_events, kNow, events).plan), "a=NotStarted");
  // The round uses the start-up time of its options; the node is older than that.
  EXPECT_EQ(test::Kept(*snapshot_, Round(with_events, kNow + 780).plan), "");
}

}  // namespace
}  // namespace ebb::node_standing_test
