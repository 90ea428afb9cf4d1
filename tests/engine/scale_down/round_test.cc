#include "engine/scale_down/round.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::round_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Controller;
using test::Node;
using test::NodeNamed;
using test::OneGroup;
using test::Pod;
using test::PodNamed;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kStart = 1'000'000;

std::string Names(const ClusterSnapshot& snapshot, const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) {
    if (!text.empty()) text += ' ';
    text += snapshot.catalog().NodeName(node);
  }
  return text;
}

std::string Names(const ClusterSnapshot& snapshot, const std::vector<DeletionBucket>& buckets) {
  std::vector<NodeId> nodes;
  for (const auto& bucket : buckets) {
    nodes.insert(nodes.end(), bucket.nodes.begin(), bucket.nodes.end());
  }
  return Names(snapshot, nodes);
}

std::string NotYetText(const ClusterSnapshot& snapshot, const RoundResult& result) {
  std::string text;
  for (const NotYet& node : result.may_go.not_yet) {
    if (!text.empty()) text += ' ';
    text += std::string(snapshot.catalog().NodeName(node.node)) + "=";
    text += ToString(node.reason);
  }
  return text;
}

ScaleDownOptions AtOnce() {
  ScaleDownOptions options;
  options.deletion.scale_down_unneeded_time_s = 0;
  return options;
}

// Rounds over a cluster that does not change.
class RoundTest : public testing::Test {
 protected:
  RoundResult Round(ScaleDown& scale_down, ClusterSnapshot& snapshot, int64_t now_s,
                    const ActuationStatus* actuation = nullptr,
                    const Deadline* deadline = nullptr) {
    const NodeGroups groups = OneGroup(snapshot);
    return scale_down
        .Round(snapshot, groups, {.now_s = now_s, .actuation = actuation, .deadline = deadline})
        .value();
  }

  // Two nodes with one pod each; either node has room for both.
  ClusterSnapshot pair_ = Cluster()
                              .Add(Node("a"))
                              .Add(Node("b"))
                              .Add(Pod("p").On("a").Cpu(500))
                              .Add(Pod("q").On("b").Cpu(500))
                              .Build();
};

TEST_F(RoundTest, NodeGoesOnlyAfterTheUnneededTimeIsOver) {
  ScaleDown scale_down({});
  EXPECT_EQ(Round(scale_down, pair_, kStart).status, ScaleDownStatus::kNoNodeDeleted);
  const RoundResult at = Round(scale_down, pair_, kStart + 600);
  EXPECT_EQ(NotYetText(pair_, at), "a=NotUnneededLongEnough");
  const RoundResult after = Round(scale_down, pair_, kStart + 601);
  EXPECT_EQ(after.status, ScaleDownStatus::kNodeDeleteStarted);
  EXPECT_EQ(Names(pair_, after.start.drain), "a");
}

TEST_F(RoundTest, TheTimerRestartsForAnotherMachineOfTheSameName) {
  const auto symbols = std::make_shared<Symbols>();
  const auto cluster = [&](std::string_view uid) {
    return Cluster(symbols)
        .Add(Node("a").With([&](objects::Node& node) { node.meta.uid = uid; }))
        .Add(Node("b").Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"))
        .Build();
  };
  ClusterSnapshot first = cluster("1");
  ClusterSnapshot second = cluster("2");
  ScaleDown scale_down({});
  Round(scale_down, first, kStart);
  const RoundResult result = Round(scale_down, second, kStart + 601);
  ASSERT_EQ(result.unneeded.size(), 1u);
  EXPECT_EQ(result.unneeded[0].since_s, kStart + 601);
  EXPECT_THAT(result.log, ElementsAre(HasSubstr("node a is another machine")));
}

TEST_F(RoundTest, AnotherMachineOfTheSameNameKeepsTheTimerIfConfigured) {
  const auto symbols = std::make_shared<Symbols>();
  const auto cluster = [&](std::string_view uid) {
    return Cluster(symbols)
        .Add(Node("a").With([&](objects::Node& node) { node.meta.uid = uid; }))
        .Add(Node("b").Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"))
        .Build();
  };
  ClusterSnapshot first = cluster("1");
  ClusterSnapshot second = cluster("2");
  ScaleDownOptions options;
  options.returned_node = ReturnedNode::kKeepsTimer;
  ScaleDown scale_down(options);
  Round(scale_down, first, kStart);
  const RoundResult result = Round(scale_down, second, kStart + 601);
  EXPECT_EQ(result.status, ScaleDownStatus::kNodeDeleteStarted);
  ASSERT_EQ(result.unneeded.size(), 1u);
  EXPECT_EQ(result.unneeded[0].since_s, kStart);
  EXPECT_THAT(result.log, ElementsAre(HasSubstr("its timer goes on")));
  // From now on the timer belongs to the new machine.
  EXPECT_THAT(Round(scale_down, second, kStart + 602).log, ElementsAre());
}

constexpr int64_t kFarAway = kStart + 73 * 365 * 86400LL;

TEST_F(RoundTest, ARoundFarAheadDeletesNothingAndTheNextOneContinuesAsBefore) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  const RoundResult jumped = Round(scale_down, pair_, kFarAway);
  EXPECT_EQ(jumped.status, ScaleDownStatus::kClockJumped);
  EXPECT_TRUE(jumped.start.drain.empty());
  EXPECT_THAT(jumped.message, HasSubstr("nothing is deleted"));
  EXPECT_TRUE(jumped.soft_taints.untaint.empty());

  const RoundResult back = Round(scale_down, pair_, kStart + 600);
  EXPECT_EQ(NotYetText(pair_, back), "a=NotUnneededLongEnough");
  EXPECT_THAT(back.log, ElementsAre());
  EXPECT_EQ(Round(scale_down, pair_, kStart + 601).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, SecondRoundAboutAsFarAheadIsBelieved) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  Round(scale_down, pair_, kStart + 40000);  // A night.
  EXPECT_EQ(Round(scale_down, pair_, kStart + 40010).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, EveryRoundThatIsFarFromTheLastOneWaits) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  for (const int64_t now_s : {kFarAway, kStart + 40000, kFarAway}) {
    EXPECT_EQ(Round(scale_down, pair_, now_s).status, ScaleDownStatus::kClockJumped);
  }
}

TEST_F(RoundTest, ClockThatWasAheadForTwoRoundsComesBackAfterTwo) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kFarAway);
  EXPECT_EQ(Round(scale_down, pair_, kStart).status, ScaleDownStatus::kClockJumped);
  const RoundResult second = Round(scale_down, pair_, kStart + 10);
  EXPECT_EQ(second.status, ScaleDownStatus::kNoNodeDeleted);
  ASSERT_EQ(second.unneeded.size(), 1u);
  // The node waits as long as it must, never less.
  EXPECT_EQ(second.unneeded[0].since_s, kStart + 10);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 610).status, ScaleDownStatus::kNoNodeDeleted);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 611).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, GrowthNotedByARoundFarAheadHoldsItsCooldownAndNoLonger) {
  ScaleDown scale_down(AtOnce());
  Round(scale_down, pair_, kStart);
  const std::vector<ScaleEvent> grown = {{ScaleEventKind::kScaleUp, "", kFarAway}};
  ASSERT_TRUE(scale_down.Round(pair_, OneGroup(pair_), {.now_s = kFarAway, .events = grown}).ok());
  EXPECT_EQ(Round(scale_down, pair_, kStart + 20).status, ScaleDownStatus::kInCooldown);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 619).status, ScaleDownStatus::kInCooldown);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 620).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, JumpThatWasSeenOutlivesTheProcess) {
  const std::shared_ptr<Symbols>& symbols = pair_.catalog().shared_symbols();
  ScaleDown first({});
  Round(first, pair_, kStart);
  Round(first, pair_, kStart + 40000);
  ScaleDown second({});
  second.Restore(first.Save(), symbols);
  EXPECT_EQ(Round(second, pair_, kStart + 40010).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, EveryTimeIsAcceptedIfConfigured) {
  ScaleDownOptions options;
  options.clock_jump_max_s = 0;
  ScaleDown scale_down(options);
  Round(scale_down, pair_, kStart);
  EXPECT_EQ(Round(scale_down, pair_, kFarAway).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, ADeletionThatNoActuatorBeginsIsOrderedAgainAndCountedOnce) {
  ScaleDown scale_down(AtOnce());
  EXPECT_EQ(Round(scale_down, pair_, kStart + 10).newly_started.size(), 1u);
  for (int64_t seconds : {20, 30, 1000, 3000}) {  // For any interval between rounds.
    const RoundResult again = Round(scale_down, pair_, kStart + seconds);
    EXPECT_EQ(Names(pair_, again.start.drain), "a");
    EXPECT_EQ(again.newly_started.size(), 0u) << seconds;
  }
}

TEST_F(RoundTest, NodeThatVanishedIsLoggedAndOthersKeepTheirTimers) {
  const auto symbols = std::make_shared<Symbols>();
  ClusterSnapshot both = Cluster(symbols).Add(Node("a")).Add(Node("b")).Build();
  ClusterSnapshot one = Cluster(symbols).Add(Node("b")).Build();
  ScaleDown scale_down({});
  Round(scale_down, both, kStart);
  const RoundResult result = Round(scale_down, one, kStart + 10);
  EXPECT_THAT(result.log, ElementsAre("node a was unneeded and has left the cluster"));
  EXPECT_EQ(result.unneeded.at(0).since_s, kStart);
}

TEST_F(RoundTest, ClockThatRunsBackwardsStopsAndIsLogged) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  const RoundResult result = Round(scale_down, pair_, kStart - 100);
  EXPECT_EQ(result.now_s, kStart);
  EXPECT_THAT(result.log,
              ElementsAre("the clock ran backwards by 1 min 40 s; the last round's time counts"));
  ASSERT_EQ(result.unneeded.size(), 1u);
  EXPECT_EQ(result.unneeded[0].since_s, kStart);
}

TEST_F(RoundTest, SameInstantTwiceKeepsTimers) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart - 5);
  Round(scale_down, pair_, kStart);
  const RoundResult result = Round(scale_down, pair_, kStart);
  EXPECT_EQ(result.unneeded.at(0).since_s, kStart - 5);
  EXPECT_THAT(result.log, ElementsAre("the time is that of the last round"));
}

TEST_F(RoundTest, UnknownNodeInDeletionIsLoggedAndCounts) {
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.drained = {{"nowhere", "group"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_THAT(result.log,
              ElementsAre("node nowhere is reported as in deletion, and is not in the cluster"));
  EXPECT_EQ(Names(pair_, result.start.drain), "");  // One drains at a time.
}

// Symptom: the round aborted.
TEST_F(RoundTest, NodeInDeletionThatWasTakenOutOfTheSnapshotIsNotInTheCluster) {
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.drained = {{"a", "group"}};
  ClusterSnapshot without = pair_;
  without.RemoveNode(NodeNamed(without, "a"));
  const RoundResult result = Round(scale_down, without, kStart, &actuation);
  EXPECT_THAT(result.log,
              ElementsAre("node a is reported as in deletion, and is not in the cluster"));
}

TEST_F(RoundTest, NodeInDeletionIsNeitherUnneededNorADestination) {
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.drained = {{"a", "group"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_TRUE(result.unneeded.empty());
  EXPECT_EQ(result.groups[0].in_deletion, 1);
  EXPECT_EQ(result.groups[0].needed, 1);
}

TEST_F(RoundTest, DeletionsAreRememberedIfTheNextRoundGetsNoReport) {
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.drained = {{"a", "group"}};
  Round(scale_down, pair_, kStart, &actuation);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 10).groups[0].in_deletion, 1);
}

TEST_F(RoundTest, PodsOfNodesInDeletionThatFitNowhereStopTheRound) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Pod("big").On("a").Cpu(3900))
                                 .Add(Pod("q").On("b").Cpu(500))
                                 .Add(Pod("r").On("c").Cpu(500))
                                 .Build();
  ActuationStatus actuation;
  actuation.drained = {{"a", "group"}};
  ScaleDown strict(AtOnce());
  const RoundResult stopped = Round(strict, snapshot, kStart, &actuation);
  EXPECT_EQ(stopped.status, ScaleDownStatus::kNoRoomForPods);
  EXPECT_TRUE(stopped.unneeded.empty());
  EXPECT_NE(stopped.message, "");

  ScaleDownOptions options = AtOnce();
  options.displaced_pods = DisplacedPods::kBestEffort;
  ScaleDown loose(options);
  EXPECT_EQ(Round(loose, snapshot, kStart, &actuation).unneeded.size(), 1u);
}

TEST_F(RoundTest, RoomForPodsOfNodesInDeletionIsNotGivenAway) {
  // The pods of b and c would fit on one node if a's pod did not need the room.
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a").Cpu(4000))
                                 .Add(Node("b").Cpu(4000))
                                 .Add(Node("c").Cpu(4000))
                                 .Add(Pod("p").On("a").Cpu(3000))
                                 .Add(Pod("q").On("b").Cpu(1000))
                                 .Add(Pod("r").On("c").Cpu(1500))
                                 .Build();
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  EXPECT_EQ(Round(scale_down, snapshot, kStart, &actuation).unneeded.size(), 1u);
  actuation.drained = {{"a", "group"}};
  const RoundResult result = Round(scale_down, snapshot, kStart + 10, &actuation);
  EXPECT_NE(result.status, ScaleDownStatus::kNoRoomForPods);
  EXPECT_TRUE(result.unneeded.empty());
}

TEST_F(RoundTest, PodsInEvictionSpendTheirBudgetsWithoutACheck) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Pod("p").On("a").Cpu(500).Label("app", "x"))
                                 .Add(Pod("q").On("b").Cpu(500).Label("app", "x"))
                                 .Add(Budget("x").Matching("app", "x").Allows(1))
                                 .Build();
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.drained = {{"a", "group"}};
  const RoundResult result = Round(scale_down, snapshot, kStart, &actuation);
  ASSERT_EQ(test::Kept(snapshot, result.plan), "b=BlockedByPod");
  EXPECT_EQ(result.plan.keep[0].blocking_reason, BlockingPodReason::kNotEnoughPdb);
}

// Evicted pods that may have to be put back.
// A node that was unneeded keeps its timer although a new node comes before it in the order.
class StableRoundTest : public RoundTest {
 protected:
  // a's pod fits on big alone, and so does new's; big has room for one of them.
  ClusterSnapshot Of(bool with_new, int64_t large) {
    Cluster cluster(symbols_);
    if (with_new) cluster.Add(Node("new").Cpu(1000)).Add(Pod("n").On("new").Cpu(400));
    return cluster.Add(Node("a").Cpu(1000))
        .Add(Node("big").Cpu(4000))
        .Add(Pod("p").On("a").Cpu(400))
        .Add(Pod("large").On("big").Cpu(large))
        .Build();
  }
  static ScaleDownOptions Options(bool stable) {
    ScaleDownOptions options;
    options.planner.scale_down_utilization_threshold = 0.45;
    options.planner.unremovable_node_recheck_timeout_s = 0;
    options.stable = {.on = stable, .margin = 0, .greedy_every = 0};
    return options;
  }
  static std::string Unneeded(const ClusterSnapshot& snapshot, const RoundResult& result) {
    std::string text;
    for (const UnneededNode& node : result.unneeded) {
      absl::StrAppend(&text, text.empty() ? "" : " ",
                      std::string(snapshot.catalog().NodeName(node.node)), "@",
                      node.since_s - kStart);
    }
    return text;
  }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
};

TEST_F(StableRoundTest, TriesUnneededNodesFirstAndPlacesNothingOnThem) {
  ClusterSnapshot before = Of(false, 3500);
  ClusterSnapshot after = Of(true, 3500);
  ScaleDown stable(Options(true));
  EXPECT_EQ(Unneeded(before, Round(stable, before, kStart)), "a@0");
  const RoundResult kept = Round(stable, after, kStart + 10);
  EXPECT_EQ(Unneeded(after, kept), "a@0");
  EXPECT_EQ(kept.timers_lost, 0U);
  EXPECT_TRUE(kept.changes.empty());
}

TEST_F(StableRoundTest, SaysWhyANodeIsNeededAgainAndWhyItIsUnneeded) {
  ClusterSnapshot roomy = Of(false, 3500);
  ClusterSnapshot full = Of(false, 3900);
  ScaleDown stable(Options(true));
  EXPECT_EQ(Unneeded(roomy, Round(stable, roomy, kStart)), "a@0");
  const RoundResult lost = Round(stable, full, kStart + 10);
  EXPECT_EQ(lost.timers_lost, 1U);
  ASSERT_EQ(lost.changes.size(), 1U);
  EXPECT_FALSE(lost.changes[0].removes);
  EXPECT_EQ(lost.changes[0].reason, UnremovableReason::kNoPlaceToMovePods);
  EXPECT_EQ(full.catalog().PodName(lost.changes[0].pod), "default/p");

  const RoundResult again = Round(stable, roomy, kStart + 20);
  EXPECT_EQ(Unneeded(roomy, again), "a@20");
  ASSERT_EQ(again.changes.size(), 1U);
  EXPECT_TRUE(again.changes[0].removes);
  EXPECT_EQ(again.changes[0].reason, UnremovableReason::kNoPlaceToMovePods);
}

TEST_F(StableRoundTest, TakesAPlanInTheAutoscalersOrderThatIsBetter) {
  // Four small nodes: each pod of s0 to s3 needs a quarter of the room that a's pod needs.
  const auto cluster = [&](bool with_small) {
    Cluster made(symbols_);
    for (int i = 0; with_small && i < 4; ++i) {
      const std::string name = absl::StrCat("s", i);
      made.Add(Node(name).Cpu(250)).Add(Pod(absl::StrCat("of-", name)).On(name).Cpu(100));
    }
    return made.Add(Node("a").Cpu(1000))
        .Add(Node("big").Cpu(4000))
        .Add(Pod("p").On("a").Cpu(400))
        .Add(Pod("large").On("big").Cpu(3600))
        .Build();
  };
  ClusterSnapshot before = cluster(false);
  ClusterSnapshot after = cluster(true);
  ScaleDownOptions options = Options(true);
  options.stable.greedy_every = 2;
  ScaleDown stable(options);
  EXPECT_EQ(Unneeded(before, Round(stable, before, kStart)), "a@0");
  const RoundResult better = Round(stable, after, kStart + 10);
  ASSERT_TRUE(better.greedy_removes.has_value());
  EXPECT_TRUE(better.took_greedy);
  EXPECT_EQ(better.unneeded.size(), *better.greedy_removes);
  // The next round keeps what was taken.
  const RoundResult next = Round(stable, after, kStart + 20);
  EXPECT_EQ(Unneeded(after, next), Unneeded(after, better));
  EXPECT_EQ(next.timers_lost, 0U);
}

class PutBackTest : public RoundTest {
 protected:
  // Pods e0..e2 were evicted.  Their owner wants three pods and has `running`.
  ClusterSnapshot Evicted(int64_t running, int64_t cpu) {
    Cluster cluster;
    cluster.Add(Node("a")).Add(Node("b")).Add(Pod("q").On("b").Cpu(500));
    for (const char* name : {"e0", "e1", "e2"}) {
      cluster.Add(Pod(name).Uid(name).Cpu(cpu).OwnedBy("ReplicaSet", "web"));
    }
    Controller owner(objects::ControllerKind::kReplicaSet, "web");
    owner.Replicas(3);
    owner.raw.status_replicas = running;
    return cluster.Add(owner).Build();
  }
  static ActuationStatus Evictions(int64_t at_s) {
    ActuationStatus status;
    for (const char* name : {"e0", "e1", "e2"}) {
      status.recent_evictions.push_back({"default", name, name, at_s});
    }
    return status;
  }
};

TEST_F(PutBackTest, EvictedPodsWithoutReplacementNeedRoom) {
  ClusterSnapshot snapshot = Evicted(0, 3000);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 1, &status).status,
            ScaleDownStatus::kNoRoomForPods);
}

TEST_F(PutBackTest, EvictionsOfLongAgoDoNotCount) {
  ClusterSnapshot snapshot = Evicted(0, 3000);
  for (const auto& [age_s, displaced] :
       {std::pair(119, 3), std::pair(120, 0), std::pair(1000, 0)}) {
    ScaleDown scale_down(AtOnce());
    const ActuationStatus status = Evictions(kStart);
    EXPECT_EQ(Round(scale_down, snapshot, kStart + age_s, &status).displaced,
              static_cast<size_t>(displaced))
        << age_s;
  }
}

TEST_F(PutBackTest, OnlyAsManyPodsAsTheOwnerLacksArePutBack) {
  ClusterSnapshot snapshot = Evicted(2, 3000);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 1, &status).plan.packed.size(), 1u);
}

TEST_F(PutBackTest, ReplacedPodsAreNotPutBack) {
  ClusterSnapshot snapshot = Evicted(3, 3000);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  EXPECT_TRUE(Round(scale_down, snapshot, kStart + 1, &status).plan.packed.empty());
}

TEST_F(PutBackTest, EvictionsAreForgottenAfterTheirTime) {
  ClusterSnapshot snapshot = Evicted(0, 3000);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  Round(scale_down, snapshot, kStart + 1, &status);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 119).status, ScaleDownStatus::kNoRoomForPods);
  EXPECT_NE(Round(scale_down, snapshot, kStart + 120).status, ScaleDownStatus::kNoRoomForPods);
}

TEST_F(RoundTest, UnhealthyClusterLosesEveryTimer) {
  Cluster cluster(pair_.catalog().shared_symbols());
  for (const char* name : {"a", "b", "c", "d"}) cluster.Add(Node(name).NotReady());
  ClusterSnapshot sick = cluster.Add(Node("e")).Build();
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  const RoundResult result = Round(scale_down, sick, kStart + 10);
  EXPECT_EQ(result.status, ScaleDownStatus::kClusterUnhealthy);
  EXPECT_EQ(result.plan.utilization.size(), 5);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 20).unneeded.at(0).since_s, kStart + 20);
}

TEST_F(RoundTest, FewUnreadyNodesDoNotMakeTheClusterUnhealthy) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.Add(Node(name).NotReady());
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDown scale_down({});
  EXPECT_NE(Round(scale_down, snapshot, kStart).status, ScaleDownStatus::kClusterUnhealthy);
}

TEST_F(RoundTest, StartingNodesCountAsUnreadyOnlyAfterTheirStartupTime) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d"}) {
    cluster.Add(
        Node(name).NotReady().With([](objects::Node& node) { node.meta.creation_time = kStart; }));
  }
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDown scale_down({});
  EXPECT_NE(Round(scale_down, snapshot, kStart + 899).status, ScaleDownStatus::kClusterUnhealthy);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 900).status, ScaleDownStatus::kClusterUnhealthy);
}

TEST_F(RoundTest, ACooldownHoldsDeletionsBackAndTimersContinue) {
  ScaleDown scale_down(AtOnce());
  const NodeGroups groups = OneGroup(pair_);
  const ScaleEvent up[] = {{ScaleEventKind::kScaleUp, "group", kStart}};
  const RoundResult held =
      scale_down.Round(pair_, groups, {.now_s = kStart + 1, .events = up}).value();
  EXPECT_EQ(held.status, ScaleDownStatus::kInCooldown);
  EXPECT_EQ(held.unneeded.size(), 1u);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 599).status, ScaleDownStatus::kInCooldown);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 600).status, ScaleDownStatus::kNodeDeleteStarted);
}

TEST_F(RoundTest, LocalCooldownHoldsItsGroupAlone) {
  ScaleDownOptions options = AtOnce();
  options.cooldown.scale_down_delay_type_local = true;
  ScaleDown scale_down(options);
  NodeGroups groups;
  groups.groups.resize(2);
  groups.groups[0].name = "one";
  groups.groups[1].name = "two";
  groups.groups[0].target_size = groups.groups[1].target_size = 1;
  groups.group_of = {GroupId{0}, GroupId{1}};
  const ScaleEvent up[] = {{ScaleEventKind::kScaleUp, "one", kStart}};
  const RoundResult result =
      scale_down.Round(pair_, groups, {.now_s = kStart + 1, .events = up}).value();
  EXPECT_EQ(Names(pair_, result.start.drain), "b");
}

TEST_F(RoundTest, SpentBudgetsAreThrottling) {
  ScaleDownOptions options = AtOnce();
  options.budgets.max_scale_down_parallelism = 1;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.empty = {{"elsewhere", "other"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_EQ(result.status, ScaleDownStatus::kThrottled);
  EXPECT_THAT(result.message, HasSubstr("1 may go, and the budgets admit none with 1 in deletion"));
}

TEST_F(RoundTest, ASpentDrainBudgetIsThrottlingIfAllNodesMustDrain) {
  ScaleDownOptions options = AtOnce();
  options.budgets.max_scale_down_parallelism = 5;
  options.budgets.max_drain_parallelism = 1;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.drained = {{"elsewhere", "other"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_EQ(result.status, ScaleDownStatus::kThrottled);
  EXPECT_TRUE(result.may_go.empty.empty());
}

TEST_F(RoundTest, LongestUnneededGoesFirst) {
  const auto symbols = std::make_shared<Symbols>();
  const auto cluster = [&](bool b_is_busy) {
    Cluster cluster(symbols);
    cluster.Add(Node("a")).Add(Node("b")).Add(Node("c"));
    cluster.Add(Pod("p").On(b_is_busy ? "a" : "b").Cpu(2500));
    return cluster.Build();
  };
  ClusterSnapshot before = cluster(true);  // a is used.
  ClusterSnapshot after = cluster(false);  // b is used, a newly unneeded.
  ScaleDownOptions options = AtOnce();
  options.budgets.max_scale_down_parallelism = 1;
  ScaleDown scale_down(options);
  Round(scale_down, before, kStart);
  const RoundResult result = Round(scale_down, after, kStart + 10);
  EXPECT_EQ(result.unneeded.size(), 2u);
  EXPECT_EQ(Names(after, result.start.empty), "c");
}

TEST_F(RoundTest, MinimumSizeCountsDeletionsInProgress) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Node("d")).Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.groups[0].min_size = 2;
  ActuationStatus actuation;
  actuation.empty = {{"a", "group"}};
  ScaleDown scale_down(AtOnce());
  const RoundResult result =
      scale_down.Round(snapshot, groups, {.now_s = kStart, .actuation = &actuation}).value();
  EXPECT_EQ(Names(snapshot, result.start.empty), "b");
  EXPECT_EQ(NotYetText(snapshot, result), "c=NodeGroupMinSizeReached d=NodeGroupMinSizeReached");
}

TEST_F(RoundTest, ClusterMinimumsHold) {
  ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Build();
  ScaleDownOptions options = AtOnce();
  options.deletion.minimums.cores = 5;  // Of 12; a node has 4.
  ScaleDown scale_down(options);
  const RoundResult result = Round(scale_down, snapshot, kStart);
  EXPECT_EQ(Names(snapshot, result.start.empty), "a");
  EXPECT_EQ(NotYetText(snapshot, result),
            "b=MinimalResourceLimitExceeded c=MinimalResourceLimitExceeded");
}

// A virtual kubelet reports a huge number of cores; they do not belong to the cluster.
TEST_F(RoundTest, ClusterMinimumsDoNotCountVirtualKubelets) {
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Node("v")
                   .Cpu(1'000'000)
                   .Label("type", "virtual-kubelet")
                   .Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"))
          .Build();
  ScaleDownOptions options = AtOnce();
  options.deletion.minimums.cores = 4;  // Of 8 that are real.
  ScaleDown scale_down(options);
  NodeGroups groups = OneGroup(snapshot);
  groups.group_of[2] = kNoGroup;
  const RoundResult result = scale_down.Round(snapshot, groups, {.now_s = kStart}).value();
  EXPECT_EQ(Names(snapshot, result.start.empty), "a");
  EXPECT_EQ(NotYetText(snapshot, result), "b=MinimalResourceLimitExceeded");
}

// The autoscaler counts all GPUs of the cluster before it deletes any node.
TEST_F(RoundTest, NothingGoesWhileSomeNodesGpusCannotBeCounted) {
  ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(Node("b")).Add(Node("gpu")).Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.gpu_label = {false, false, true};
  const auto may_go = [&](bool templates) {
    ScaleDownOptions options = AtOnce();
    options.deletion.groups_have_templates = templates;
    ScaleDown scale_down(options);
    const RoundResult result = scale_down.Round(snapshot, groups, {.now_s = kStart}).value();
    EXPECT_EQ(result.log.empty(), !result.may_go.empty.empty());
    return Names(snapshot, result.may_go.empty);
  };
  EXPECT_EQ(may_go(true), "a b gpu");
  EXPECT_EQ(may_go(false), "a b gpu");  // The first node of the group represents all.
  groups.gpu_label = {true, false, false};
  EXPECT_EQ(may_go(true), "a b gpu");
  EXPECT_EQ(may_go(false), "");
  groups.group_of[0] = kNoGroup;
  EXPECT_EQ(may_go(true), "");
}

TEST_F(RoundTest, AtomicGroupGoesWholeOrNotAtAll) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Pod("stays").On("c").WithoutOwner())
                                 .Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.groups[0].atomic = true;
  ScaleDown scale_down(AtOnce());
  const RoundResult result = scale_down.Round(snapshot, groups, {.now_s = kStart}).value();
  EXPECT_EQ(NotYetText(snapshot, result), "a=AtomicScaleDownFailed b=AtomicScaleDownFailed");
  EXPECT_TRUE(result.start.empty.empty());
}

TEST_F(RoundTest, RiskyNodesGoLast) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b").Taint("takes-no-pods")).Add(Node("c"));
  cluster.Add(Pod("p").On("a").Cpu(100).Label("app", "x"));
  cluster.Add(Pod("q").On("a").Cpu(100).Label("app", "x"));
  cluster.Add(Pod("r").On("b").Cpu(100));
  cluster.Add(Pod("s").On("c").Cpu(100).WithoutOwner());
  ClusterSnapshot snapshot = cluster.Add(Budget("x").Matching("app", "x").Allows(1)).Build();
  ScaleDown scale_down(AtOnce());
  EXPECT_EQ(Names(snapshot, Round(scale_down, snapshot, kStart).may_go.drain), "b a");
}

TEST_F(RoundTest, NodeWithOnCompletionPodsWaits) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Pod("p").On("a").Cpu(100).SafeToEvict("on-completion")).Build();
  ScaleDown scale_down(AtOnce());
  EXPECT_EQ(NotYetText(snapshot, Round(scale_down, snapshot, kStart)),
            "a=BlockedByOnCompletionPod");
}

TEST_F(RoundTest, SoftTaintsFollowTheUnneededSetWithinTheirBudget) {
  const char* const kSoft = "DeletionCandidateOfClusterAutoscaler";
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c").Taint(kSoft, "1", "PreferNoSchedule"))
                                 .Add(Pod("p").On("c").Cpu(3000))
                                 .Build();
  ScaleDownOptions options;
  options.max_bulk_soft_taint_count = 2;
  ScaleDown scale_down(options);
  const RoundResult result = Round(scale_down, snapshot, kStart);
  EXPECT_EQ(Names(snapshot, result.soft_taints.untaint), "c");
  EXPECT_EQ(Names(snapshot, result.soft_taints.taint), "a");
  EXPECT_EQ(result.soft_taints.waiting, 1u);
}

TEST_F(RoundTest, TimersAreTakenFromTaintsInTheFirstRound) {
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").Taint("DeletionCandidateOfClusterAutoscaler", std::to_string(kStart - 50),
                               "PreferNoSchedule"))
          .Build();
  ScaleDownOptions options;
  options.node_deletion_candidate_ttl_s = 100;
  ScaleDown scale_down(options);
  EXPECT_EQ(Round(scale_down, snapshot, kStart).unneeded.at(0).since_s, kStart - 50);
}

// Expires after a number of questions.
class CountedDeadline final : public Deadline {
 public:
  explicit CountedDeadline(int questions) : left_(questions) {}
  bool Expired() const override { return left_-- <= 0; }

 private:
  mutable int left_;
};

TEST_F(RoundTest, APassCutShortContinuesAtTheNextCandidateAndTimersHold) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    cluster.Add(Node(name)).Add(Pod(std::string("p-") + name).On(name).Cpu(100).WithoutOwner());
  }
  ClusterSnapshot snapshot = cluster.Build();
  const NodeGroups groups = OneGroup(snapshot);
  ScaleDownOptions options;
  options.planner.min_nodes_per_pass = 2;
  options.planner.unremovable_node_recheck_timeout_s = 0;
  ScaleDown scale_down(options);
  std::string judged;
  int64_t longest = 0;
  for (int round = 0; round < 3; ++round) {
    const CountedDeadline deadline(0);
    const RoundResult result =
        scale_down.Round(snapshot, groups, {.now_s = kStart + 10 * round, .deadline = &deadline})
            .value();
    for (const UnremovableNode& node : result.plan.keep) {
      judged += snapshot.catalog().NodeName(node.node);
    }
    longest = std::max(longest, result.longest_skipped_s);
    if (round == 1) {
      EXPECT_EQ(snapshot.catalog().NodeName(result.longest_skipped), "e");
    }
  }
  EXPECT_EQ(judged, "abcdef");
  EXPECT_EQ(longest, 10);
}

TEST_F(RoundTest, NodesSkippedByTheLimitAreCountedAsWaitingAndDoNotJumpTheQueue) {
  Cluster cluster;
  for (int n = 0; n < 5; ++n) cluster.Add(Node("n" + std::to_string(n)));
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDownOptions options;
  options.budgets.max_scale_down_parallelism = 1;
  options.deletion.scale_down_unneeded_time_s = 10;
  for (const int64_t start_s : {kStart, int64_t{15}}) {
    ScaleDown scale_down(options);
    int64_t longest_s = 0;
    std::string unneeded;
    for (int round = 0; round < 3; ++round) {  // The limit: twice the parallelism.
      const RoundResult result = Round(scale_down, snapshot, start_s + 10 * round);
      EXPECT_EQ(result.plan.termination, Termination::kLimit);
      unneeded += " " + std::to_string(result.unneeded.size());
      for (const UnneededNode& node : result.unneeded) EXPECT_EQ(node.since_s, start_s);
      longest_s = result.longest_skipped_s;
      EXPECT_EQ(snapshot.catalog().NodeName(result.longest_skipped), "n2");
    }
    EXPECT_EQ(unneeded, " 2 2 2");
    EXPECT_EQ(longest_s, 20);
  }
}

TEST_F(RoundTest, EveryCandidateGetsItsTurnEvenWithShortPasses) {
  Cluster cluster;
  for (int n = 0; n < 9; ++n) {
    const std::string name = "n" + std::to_string(n);
    cluster.Add(Node(name)).Add(Pod("p" + name).On(name).Cpu(100).WithoutOwner());
  }
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDownOptions options;
  options.planner.min_nodes_per_pass = 2;
  options.planner.unremovable_node_recheck_timeout_s = 0;
  ScaleDown scale_down(options);
  std::vector<int64_t> judged_at(9, -1);
  for (int64_t round = 0; round < 60; ++round) {
    const CountedDeadline deadline(0);
    const RoundResult result = Round(scale_down, snapshot, kStart + 10 * round, nullptr, &deadline);
    // Nine candidates, two per round: no node waits for more than four rounds.
    EXPECT_LE(result.longest_skipped_s, 40) << round;
    for (const UnremovableNode& node : result.plan.keep) judged_at[Index(node.node)] = round;
    if (round < 5) continue;
    for (const int64_t at : judged_at) EXPECT_GE(at, round - 5) << round;
  }
}

TEST_F(RoundTest, ARestoredStateContinuesLikeTheOriginal) {
  ScaleDown old({});
  ActuationStatus actuation;
  actuation.recent_evictions = {{"default", "gone", "uid", kStart}};
  Round(old, pair_, kStart, &actuation);
  const std::shared_ptr<Symbols>& symbols = pair_.catalog().shared_symbols();
  ScaleDown restarted({});
  restarted.Restore(old.Save(), symbols);
  const RoundResult expected = Round(old, pair_, kStart + 601);
  const RoundResult result = Round(restarted, pair_, kStart + 601);
  EXPECT_EQ(Names(pair_, result.start.drain), Names(pair_, expected.start.drain));
  EXPECT_EQ(result.unneeded.at(0).since_s, kStart);
  EXPECT_EQ(restarted.Save().planner, old.Save().planner);
}

TEST_F(RoundTest, OneUnreadyNodeAboveTheLimitMakesTheClusterUnhealthy) {
  const auto round = [&](int unready, int ready) {
    Cluster cluster;
    for (int n = 0; n < unready; ++n) cluster.Add(Node("u" + std::to_string(n)).NotReady());
    for (int n = 0; n < ready; ++n) cluster.Add(Node("r" + std::to_string(n)));
    ClusterSnapshot snapshot = cluster.Build();
    ScaleDownOptions options;
    options.max_total_unready_percentage = 50;
    ScaleDown scale_down(options);
    return Round(scale_down, snapshot, kStart);
  };
  EXPECT_NE(round(4, 4).status, ScaleDownStatus::kClusterUnhealthy);
  const RoundResult unhealthy = round(5, 4);
  EXPECT_EQ(unhealthy.status, ScaleDownStatus::kClusterUnhealthy);
  EXPECT_EQ(unhealthy.message, "5 of 9 nodes are not ready");
}

TEST_F(RoundTest, ARoundMovesNoGangs) {
  ScaleDownOptions options;
  options.planner.drain.gangs = Gangs::kMove;
  ScaleDown scale_down(options);
  const absl::StatusOr<RoundResult> result =
      scale_down.Round(pair_, test::OneGroup(pair_), {.now_s = kStart});
  EXPECT_EQ(result.status().message(),
            "drain.gangs: move is for plans; a round may delete some nodes of a gang later");
}

TEST_F(RoundTest, TheMessageOfAJumpHasItsDistanceAndItsTime) {
  ScaleDown ahead({});
  Round(ahead, pair_, kStart);
  EXPECT_THAT(Round(ahead, pair_, kStart + 3601).message,
              HasSubstr("the time lies 1 h after the last round's"));
  ScaleDown behind({});
  Round(behind, pair_, kStart);
  EXPECT_THAT(Round(behind, pair_, kStart - 3601).message,
              HasSubstr("the time lies 1 h before the last round's"));
  ScaleDown near({});
  Round(near, pair_, kStart);
  EXPECT_NE(Round(near, pair_, kStart + 3600).status, ScaleDownStatus::kClockJumped);
  EXPECT_NE(Round(near, pair_, kStart).status, ScaleDownStatus::kClockJumped);
}

TEST(ScaleDownStatusTest, EveryStatusHasItsName) {
  using enum ScaleDownStatus;
  EXPECT_EQ(ToString(kNoCandidates), "ScaleDownNoCandidates");
  EXPECT_EQ(ToString(kInCooldown), "ScaleDownInCooldown");
  EXPECT_EQ(ToString(kNoNodeDeleted), "ScaleDownNoNodeDeleted");
  EXPECT_EQ(ToString(kThrottled), "ScaleDownThrottled");
  EXPECT_EQ(ToString(kNodeDeleteStarted), "ScaleDownNodeDeleteStarted");
  EXPECT_EQ(ToString(kClusterUnhealthy), "ScaleDownClusterUnhealthy");
  EXPECT_EQ(ToString(kNoRoomForPods), "ScaleDownNoRoomForPods");
  EXPECT_EQ(ToString(kClockJumped), "ScaleDownClockJumped");
  EXPECT_EQ(ToString(kError), "ScaleDownError");
}

TEST_F(RoundTest, NodesOfGroupsAreCountedByWhatBecomesOfThem) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Node("d"))
                                 .Add(Node("e"))
                                 .Add(Pod("bare").On("b").Cpu(100).WithoutOwner())
                                 .Add(Pod("large").On("c").Cpu(3000))
                                 .Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.group_of[Index(NodeNamed(snapshot, "d"))] = kNoGroup;
  ActuationStatus actuation;
  actuation.empty = {{"e", "group"}};
  ScaleDown scale_down({});
  const RoundResult result =
      scale_down.Round(snapshot, groups, {.now_s = kStart, .actuation = &actuation}).value();
  ASSERT_EQ(result.groups.size(), 1U);
  EXPECT_EQ(result.groups[0].nodes, 4);
  EXPECT_EQ(result.groups[0].unneeded, 1);
  EXPECT_EQ(result.groups[0].needed, 2);
  EXPECT_EQ(result.groups[0].unremovable, 2);
  EXPECT_EQ(result.groups[0].in_deletion, 1);
  EXPECT_EQ(Names(snapshot, result.needed), "b c");
  ASSERT_EQ(result.unneeded.size(), 1U);
  EXPECT_EQ(result.unneeded[0].node, NodeNamed(snapshot, "a"));
}

TEST_F(RoundTest, ADeletionThatIsReportedTwiceCountsOnce) {
  ScaleDownOptions options = AtOnce();
  options.budgets.max_drain_parallelism = 2;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.drained = {{"nowhere", "group"}, {"nowhere", "group"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_EQ(result.log.size(), 1U);
  EXPECT_EQ(Names(pair_, result.start.drain), "a");
}

TEST_F(RoundTest, ADeletionOfANodeThatIsGoneCountsForItsGroupsMinimum) {
  for (const auto& [group, started] :
       {std::pair("group", "a"), std::pair("other", "a b"), std::pair("", "a b")}) {
    ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Build();
    NodeGroups groups = OneGroup(snapshot);
    groups.groups[0].min_size = 1;
    ActuationStatus actuation;
    actuation.empty = {{"nowhere", group}};
    ScaleDown scale_down(AtOnce());
    const RoundResult result =
        scale_down.Round(snapshot, groups, {.now_s = kStart, .actuation = &actuation}).value();
    EXPECT_EQ(Names(snapshot, result.start.empty), started) << group;
  }
}

TEST_F(RoundTest, TheLatestReportedEvictionOfAPodIsKept) {
  ScaleDown scale_down(AtOnce());
  ActuationStatus actuation;
  actuation.recent_evictions = {{"ns", "b", "1", kStart - 50}, {"ns", "a", "1", kStart - 60},
                                {"ns", "a", "2", kStart - 70}, {"ns", "a", "1", kStart - 20},
                                {"ns", "a", "1", kStart - 90}, {"ns", "c", "1", kStart - 120}};
  Round(scale_down, pair_, kStart, &actuation);
  EXPECT_EQ(scale_down.Save().actuation.recent_evictions,
            (std::vector<EvictedPod>{{"ns", "a", "1", kStart - 20},
                                     {"ns", "a", "2", kStart - 70},
                                     {"ns", "b", "1", kStart - 50}}));
  // Remembered evictions count in addition to reported ones.
  actuation.recent_evictions = {{"ns", "a", "2", kStart + 5}};
  Round(scale_down, pair_, kStart + 60, &actuation);
  EXPECT_EQ(scale_down.Save().actuation.recent_evictions,
            (std::vector<EvictedPod>{{"ns", "a", "1", kStart - 20},
                                     {"ns", "a", "2", kStart + 5},
                                     {"ns", "b", "1", kStart - 50}}));
}

TEST_F(PutBackTest, PodsWithoutRoomAreCountedAndTheFirstIsNamed) {
  ClusterSnapshot snapshot = Evicted(0, 3000);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  const RoundResult result = Round(scale_down, snapshot, kStart + 1, &status);
  EXPECT_EQ(result.displaced, 3U);
  EXPECT_EQ(result.displaced_placed, 2U);
  EXPECT_EQ(result.message,
            "1 of 3 pods of nodes in deletion or recently evicted find no room, first default/e2");
}

TEST_F(PutBackTest, APodThatIsAlsoPendingIsPutBackOnce) {
  ClusterSnapshot snapshot = Evicted(0, 500);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  const std::vector<PodId> pending = test::PodsNamed(snapshot, {"e2", "e0"});
  const RoundResult result =
      scale_down
          .Round(snapshot, OneGroup(snapshot),
                 {.now_s = kStart + 1, .actuation = &status, .pending = pending})
          .value();
  EXPECT_EQ(result.displaced, 3U);
  EXPECT_EQ(result.displaced_placed, 3U);
  EXPECT_EQ(result.plan.packed.size(), 3U);
}

TEST_F(RoundTest, TimersComeFromTaintsThatAreNeitherTooOldNorAhead) {
  for (const auto& [tainted_s, since_s] :
       {std::pair(kStart, kStart), std::pair(kStart - 99, kStart - 99),
        std::pair(kStart - 100, kStart - 100), std::pair(kStart - 101, kStart),
        std::pair(kStart - 5000, kStart), std::pair(kStart + 1, kStart)}) {
    ClusterSnapshot snapshot =
        Cluster()
            .Add(Node("a").Taint("DeletionCandidateOfClusterAutoscaler", std::to_string(tainted_s),
                                 "PreferNoSchedule"))
            .Build();
    ScaleDownOptions options;
    options.node_deletion_candidate_ttl_s = 100;
    ScaleDown scale_down(options);
    EXPECT_EQ(Round(scale_down, snapshot, kStart).unneeded.at(0).since_s, since_s) << tainted_s;
  }
}

TEST_F(RoundTest, TaintsAreReadOnlyInTheFirstRoundAndOnlyIfEnabled) {
  const auto symbols = std::make_shared<Symbols>();
  ClusterSnapshot other = Cluster(symbols).Add(Node("z")).Build();
  ClusterSnapshot tainted =
      Cluster(symbols)
          .Add(Node("a").Taint("DeletionCandidateOfClusterAutoscaler", std::to_string(kStart - 50),
                               "PreferNoSchedule"))
          .Build();
  ScaleDownOptions options;
  options.node_deletion_candidate_ttl_s = 100;
  ScaleDown later(options);
  Round(later, other, kStart - 10);
  EXPECT_EQ(Round(later, tainted, kStart).unneeded.at(0).since_s, kStart);
  ScaleDown unasked({});
  EXPECT_EQ(Round(unasked, tainted, kStart).unneeded.at(0).since_s, kStart);
}

TEST_F(RoundTest, ADeletionThatStartedHoldsTheNextOnesBack) {
  ScaleDownOptions options = AtOnce();
  options.cooldown.scale_down_delay_after_delete_s = 100;
  ScaleDown scale_down(options);
  EXPECT_EQ(Round(scale_down, pair_, kStart).status, ScaleDownStatus::kNodeDeleteStarted);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 99).status, ScaleDownStatus::kInCooldown);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 100).status, ScaleDownStatus::kNodeDeleteStarted);
  using Last = Cooldowns::Last;
  EXPECT_EQ(scale_down.Save().cooldowns,
            (std::vector<Last>{{"", std::nullopt, kStart + 100, std::nullopt},
                               {"group", std::nullopt, kStart + 100, std::nullopt}}));
}

TEST_F(RoundTest, APartOfAnAtomicGroupIsHeldBackByTheRestAndNotByBudgets) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Pod("job").On("b").Cpu(100).SafeToEvict("on-completion"))
                                 .Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.groups[0].atomic = true;
  ScaleDown scale_down(AtOnce());
  const RoundResult result = scale_down.Round(snapshot, groups, {.now_s = kStart}).value();
  EXPECT_EQ(result.status, ScaleDownStatus::kNoNodeDeleted);
  EXPECT_EQ(result.message, "1 may go, but not without the rest of their groups");
  EXPECT_EQ(NotYetText(snapshot, result), "b=BlockedByOnCompletionPod");
}

TEST_F(RoundTest, TheMessageOfACutPassCountsTheWaitingCandidates) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) cluster.Add(Node(name));
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDownOptions options;
  options.planner.min_nodes_per_pass = 2;
  ScaleDown scale_down(options);
  const CountedDeadline deadline(0);
  const RoundResult cut = Round(scale_down, snapshot, kStart, nullptr, &deadline);
  EXPECT_EQ(cut.message, "4 of 6 candidates wait for the next round");
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 10).message, "");
}

TEST_F(RoundTest, TimesThatWereRememberedAheadAreCountedWhenTheClockComesBack) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kFarAway);
  Round(scale_down, pair_, kStart);
  const RoundResult back = Round(scale_down, pair_, kStart + 10);
  // The times of the last round, of node a's timer and of the last pass.
  EXPECT_THAT(back.log, testing::IsSupersetOf(
                            {"a second round is at about this time, so the time counts as right",
                             "3 lay after it and start again"}));
  EXPECT_EQ(back.now_s, kStart + 10);
}

TEST_F(RoundTest, OnlyTheGivenCandidatesAreTriedInTheirOrder) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Node("d")).Build();
  const NodeGroups groups = OneGroup(snapshot);
  const std::vector<NodeId> candidates = test::NodesNamed(snapshot, {"c", "d", "a"});
  ActuationStatus actuation;
  actuation.empty = {{"d", "group"}};
  ScaleDown scale_down(AtOnce());
  const RoundResult result =
      scale_down
          .Round(snapshot, groups,
                 {.now_s = kStart, .actuation = &actuation, .candidates = &candidates})
          .value();
  EXPECT_EQ(test::Removals(snapshot, result.plan), "c:; a:");
  EXPECT_EQ(result.newly_started, test::NodesNamed(snapshot, {"c", "a"}));
}

TEST_F(RoundTest, ARoundThatDecidesNothingReportsTheBudgets) {
  const auto symbols = std::make_shared<Symbols>();
  ClusterSnapshot snapshot = Cluster(symbols)
                                 .Add(Node("a"))
                                 .Add(Budget("x").MatchingEverything().Allows(3))
                                 .Add(Budget("y").MatchingEverything().Allows(0))
                                 .Build();
  ScaleDown scale_down({});
  Round(scale_down, snapshot, kStart);
  const RoundResult jumped = Round(scale_down, snapshot, kFarAway);
  EXPECT_EQ(jumped.plan.termination, Termination::kNotStarted);
  EXPECT_EQ(jumped.plan.pdb_remaining, (std::vector<int32_t>{3, 0}));
  EXPECT_EQ(jumped.plan.utilization.size(), 1U);
  EXPECT_EQ(jumped.now_s, kFarAway);
  EXPECT_EQ(scale_down.Save().rounds, 2);
  EXPECT_EQ(scale_down.Save().latest_s, kStart);
  EXPECT_EQ(scale_down.Save().jump_s, kFarAway);
}

TEST_F(RoundTest, AFirstRoundMayBeAtAnyTime) {
  for (const int64_t now_s : {int64_t{0}, int64_t{-5}}) {
    ScaleDown scale_down({});
    const RoundResult result = Round(scale_down, pair_, now_s);
    EXPECT_THAT(result.log, ElementsAre());
    EXPECT_EQ(result.now_s, now_s);
    EXPECT_EQ(result.unneeded.at(0).since_s, now_s);
  }
}

TEST_F(RoundTest, TheOptionsDecideHowFarAJumpIs) {
  const auto jumps = [&](int64_t clock_jump_max_s, int64_t later_s) {
    ScaleDownOptions options;
    options.clock_jump_max_s = clock_jump_max_s;
    ScaleDown scale_down(options);
    Round(scale_down, pair_, kStart);
    return Round(scale_down, pair_, kStart + later_s).status == ScaleDownStatus::kClockJumped;
  };
  EXPECT_FALSE(jumps(1, 1));
  EXPECT_FALSE(jumps(1, -1));
  EXPECT_TRUE(jumps(1, 2));
  EXPECT_TRUE(jumps(1, -2));
  EXPECT_FALSE(jumps(-1, 900'000)) << "below zero is zero";
}

TEST_F(RoundTest, AfterAJumpASlightlySlowClockMovesNoTimer) {
  ScaleDown scale_down({});
  Round(scale_down, pair_, kStart);
  Round(scale_down, pair_, kFarAway);
  const RoundResult back = Round(scale_down, pair_, kStart - 100);
  EXPECT_THAT(back.log, ElementsAre("the clock ran backwards by 1 min 40 s; the last round's time "
                                    "counts"));
  EXPECT_EQ(back.now_s, kStart);
  EXPECT_EQ(back.unneeded.at(0).since_s, kStart);
  EXPECT_EQ(scale_down.Save().jump_s, std::nullopt);
}

TEST_F(RoundTest, ASingleTimeThatLayAheadIsLogged) {
  ScaleDown scale_down(AtOnce());
  Round(scale_down, pair_, kStart);
  const std::vector<ScaleEvent> grown = {{ScaleEventKind::kScaleUp, "", kFarAway}};
  ASSERT_TRUE(scale_down.Round(pair_, OneGroup(pair_), {.now_s = kFarAway, .events = grown}).ok());
  EXPECT_THAT(Round(scale_down, pair_, kStart + 20).log,
              ElementsAre("1 lay after it and start again"));
}

// The jumped time is not accepted: it ends no deletion, whether not seen to run yet or reported as
// done.
TEST_F(RoundTest, AJumpEndsNoOrderedDeletion) {
  for (const bool succeeded : {false, true}) {
    ScaleDown scale_down(AtOnce());
    EXPECT_EQ(Round(scale_down, pair_, kStart).newly_started.size(), 1u);
    const std::vector<EndedDeletion> ended = {{"a", true}};
    RoundInput input;
    input.now_s = kStart + 10;
    if (succeeded) input.ended = ended;
    ASSERT_TRUE(scale_down.Round(pair_, OneGroup(pair_), input).ok());
    Round(scale_down, pair_, kFarAway);
    const RoundResult back = Round(scale_down, pair_, kStart + 20);
    EXPECT_EQ(Names(pair_, back.start.drain), "a");
    EXPECT_TRUE(back.newly_started.empty()) << succeeded;
  }
}

TEST_F(RoundTest, ADeletionThatNoRoundNamesForLongIsForgotten) {
  ScaleDown scale_down(AtOnce());
  EXPECT_EQ(Round(scale_down, pair_, kStart).newly_started.size(), 1u);
  const std::vector<ScaleEvent> grown = {{ScaleEventKind::kScaleUp, "", kStart + 10}};
  const NodeGroups groups = OneGroup(pair_);
  ASSERT_TRUE(scale_down.Round(pair_, groups, {.now_s = kStart + 10, .events = grown}).ok());
  EXPECT_EQ(scale_down.Save().started.size(), 1u);
  EXPECT_EQ(Round(scale_down, pair_, kStart + 350).status, ScaleDownStatus::kInCooldown);
  EXPECT_TRUE(scale_down.Save().started.empty());
  EXPECT_EQ(Round(scale_down, pair_, kStart + 610).newly_started.size(), 1u);
}

TEST_F(RoundTest, DeletionsOfUnknownNodesAreLoggedByNameAndCountOnceEach) {
  ScaleDownOptions options = AtOnce();
  options.budgets.max_drain_parallelism = 3;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.drained = {{"zz", "other"}, {"aa", "other"}, {"zz", "other"}};
  const RoundResult result = Round(scale_down, pair_, kStart, &actuation);
  EXPECT_THAT(result.log,
              ElementsAre("node aa is reported as in deletion, and is not in the cluster",
                          "node zz is reported as in deletion, and is not in the cluster"));
  EXPECT_EQ(Names(pair_, result.start.drain), "a");
}

TEST_F(RoundTest, NodesOfBothDeletionListsCountForTheirGroupsMinimum) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Node("d"))
                                 .Add(Node("of-none"))
                                 .Build();
  NodeGroups groups = OneGroup(snapshot);
  groups.groups[0].target_size = 4;
  groups.groups[0].min_size = 1;
  groups.group_of[Index(NodeNamed(snapshot, "of-none"))] = kNoGroup;
  ActuationStatus actuation;
  actuation.empty = {{"a", "group"}, {"b", "group"}, {"of-none", ""}};
  actuation.drained = {{"c", "group"}};
  ScaleDown scale_down(AtOnce());
  const RoundResult result =
      scale_down.Round(snapshot, groups, {.now_s = kStart, .actuation = &actuation}).value();
  EXPECT_THAT(result.log, ElementsAre());
  ASSERT_EQ(result.groups.size(), 1U);
  EXPECT_EQ(result.groups[0].nodes, 4);
  EXPECT_EQ(result.groups[0].in_deletion, 3);
  EXPECT_EQ(result.groups[0].unneeded, 1);
  EXPECT_EQ(result.groups[0].needed, 0);
  EXPECT_EQ(NotYetText(snapshot, result), "d=NodeGroupMinSizeReached");
}

TEST_F(RoundTest, BesideAnEmptyNodesDeletionPodsOfADrainedOneNeedRoomToo) {
  ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Pod("p").On("b").Cpu(100)).Build();
  ActuationStatus actuation;
  actuation.empty = {{"a", "group"}};
  actuation.drained = {{"b", "group"}};
  ScaleDown scale_down(AtOnce());
  const RoundResult result = Round(scale_down, snapshot, kStart, &actuation);
  EXPECT_EQ(result.displaced, 1U);
  EXPECT_EQ(result.displaced_placed, 1U);
  EXPECT_EQ(result.groups.at(0).in_deletion, 2);
  EXPECT_EQ(test::Kept(snapshot, result.plan), "c=NoPlaceToMovePods");
}

TEST_F(RoundTest, TheMessageCountsThrottledNodesAndRunningDeletionsOfBothKinds) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c").Cpu(1000))
                                 .Add(Pod("p").On("a").Cpu(100))
                                 .Add(Pod("large").On("c").Cpu(900))
                                 .Build();
  ScaleDownOptions options = AtOnce();
  options.budgets.max_scale_down_parallelism = 2;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.empty = {{"elsewhere", "other"}};
  actuation.drained = {{"nowhere", "other"}};
  const RoundResult result = Round(scale_down, snapshot, kStart, &actuation);
  EXPECT_EQ(result.status, ScaleDownStatus::kThrottled);
  EXPECT_EQ(result.message, "2 may go, and the budgets admit none with 2 in deletion");
  EXPECT_EQ(result.may_go.empty, test::NodesNamed(snapshot, {"b"}));
  EXPECT_EQ(result.may_go.drain, test::NodesNamed(snapshot, {"a"}));
}

TEST_F(RoundTest, ACutPassAndSpentBudgetsAreReportedTogether) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) cluster.Add(Node(name));
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDownOptions options = AtOnce();
  options.planner.min_nodes_per_pass = 2;
  options.budgets.max_scale_down_parallelism = 1;
  ScaleDown scale_down(options);
  ActuationStatus actuation;
  actuation.empty = {{"elsewhere", "other"}};
  const CountedDeadline deadline(0);
  const RoundResult result = Round(scale_down, snapshot, kStart, &actuation, &deadline);
  EXPECT_EQ(result.status, ScaleDownStatus::kThrottled);
  EXPECT_EQ(result.message,
            "4 of 6 candidates wait for the next round; 2 may go, and the budgets admit none with "
            "1 in deletion");
}

TEST_F(RoundTest, AJumpMarksAndUnmarksNothing) {
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").Taint("DeletionCandidateOfClusterAutoscaler", "1", "PreferNoSchedule"))
          .Build();
  ScaleDown scale_down({});
  EXPECT_TRUE(Round(scale_down, snapshot, kStart).soft_taints.untaint.empty());
  const RoundResult jumped = Round(scale_down, snapshot, kFarAway);
  EXPECT_EQ(jumped.status, ScaleDownStatus::kClockJumped);
  EXPECT_TRUE(jumped.soft_taints.untaint.empty());
  EXPECT_EQ(jumped.soft_taints.waiting, 0u);
}

TEST_F(PutBackTest, AJumpForgetsNoEviction) {
  ClusterSnapshot snapshot = Evicted(0, 500);
  ScaleDown scale_down(AtOnce());
  const ActuationStatus status = Evictions(kStart);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 1, &status).displaced, 3U);
  Round(scale_down, snapshot, kFarAway);
  EXPECT_EQ(Round(scale_down, snapshot, kStart + 20).displaced, 3U);
}

TEST_F(RoundTest, AnUnhealthyClusterForgetsTheNextCandidate) {
  const auto symbols = std::make_shared<Symbols>();
  const auto cluster = [&](bool ready) {
    Cluster cluster(symbols);
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      Node node(name);
      if (!ready) node.NotReady();
      cluster.Add(node);
    }
    return cluster.Build();
  };
  ClusterSnapshot well = cluster(true);
  ClusterSnapshot sick = cluster(false);
  ScaleDownOptions options;
  options.planner.min_nodes_per_pass = 2;
  ScaleDown scale_down(options);
  const CountedDeadline deadline(0);
  Round(scale_down, well, kStart, nullptr, &deadline);
  ASSERT_TRUE(scale_down.Save().resume);
  ASSERT_EQ(scale_down.Save().skipped.size(), 4U);
  EXPECT_EQ(Round(scale_down, sick, kStart + 10).status, ScaleDownStatus::kClusterUnhealthy);
  const ScaleDownState state = scale_down.Save();
  EXPECT_FALSE(state.resume);
  EXPECT_TRUE(state.skipped.empty());
  EXPECT_TRUE(state.timers.empty());
}

TEST_F(RoundTest, ANodeThatLeftGivesItsTurnToTheNext) {
  const auto symbols = std::make_shared<Symbols>();
  const auto cluster = [&](const std::vector<std::string>& names) {
    Cluster cluster(symbols);
    for (const std::string& name : names) {
      cluster.Add(Node(name)).Add(Pod("p-" + name).On(name).Cpu(100).WithoutOwner());
    }
    return cluster.Build();
  };
  ClusterSnapshot all = cluster({"a", "b", "c", "d", "e", "f"});
  ClusterSnapshot without = cluster({"a", "b", "d", "e", "f"});
  ScaleDownOptions options;
  options.planner.min_nodes_per_pass = 2;
  options.planner.unremovable_node_recheck_timeout_s = 0;
  ScaleDown scale_down(options);
  const CountedDeadline first(0);
  EXPECT_EQ(test::Kept(all, Round(scale_down, all, kStart, nullptr, &first).plan),
            "a=BlockedByPod b=BlockedByPod");
  const CountedDeadline second(0);
  EXPECT_EQ(test::Kept(without, Round(scale_down, without, kStart + 10, nullptr, &second).plan),
            "d=BlockedByPod e=BlockedByPod");
}

TEST_F(RoundTest, ACandidateOfNoGroupIsKeptAndCountsForNone) {
  NodeGroups groups = OneGroup(pair_);
  groups.group_of[Index(NodeNamed(pair_, "a"))] = kNoGroup;
  const std::vector<NodeId> candidates = test::NodesNamed(pair_, {"a", "b"});
  ScaleDown scale_down({});
  const RoundResult result =
      scale_down.Round(pair_, groups, {.now_s = kStart, .candidates = &candidates}).value();
  EXPECT_EQ(test::Kept(pair_, result.plan), "a=NotAutoscaled");
  EXPECT_EQ(test::Removals(pair_, result.plan), "b: q>a");
  ASSERT_EQ(result.groups.size(), 1U);
  EXPECT_EQ(result.groups[0].nodes, 1);
  EXPECT_EQ(result.groups[0].unremovable, 0);
}

TEST_F(RoundTest, NodesOfAGroupThatMayNotShrinkAreNotCandidates) {
  NodeGroups groups = OneGroup(pair_);
  groups.groups[0].min_size = 2;  // The current number of nodes.
  ScaleDown scale_down({});
  const RoundResult result = scale_down.Round(pair_, groups, {.now_s = kStart}).value();
  EXPECT_EQ(result.status, ScaleDownStatus::kNoCandidates);
  EXPECT_EQ(test::Removals(pair_, result.plan), "");
  EXPECT_EQ(test::Kept(pair_, result.plan), "");
}

TEST_F(RoundTest, WithoutTheLimitAPassFindsAllThatMayGo) {
  Cluster cluster;
  for (int n = 0; n < 5; ++n) cluster.Add(Node("n" + std::to_string(n)));
  ClusterSnapshot snapshot = cluster.Build();
  ScaleDownOptions options;
  options.budgets.max_scale_down_parallelism = 1;
  options.unneeded_limit = false;
  ScaleDown scale_down(options);
  const RoundResult result = Round(scale_down, snapshot, kStart);
  EXPECT_EQ(result.plan.termination, Termination::kComplete);
  EXPECT_EQ(result.unneeded.size(), 5U);
}

TEST_F(RoundTest, ASuggestedPlaceIsTriedFirstAndMustExist) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Node("d"))
                                 .Add(Pod("p").On("a").Cpu(100))
                                 .Build();
  const NodeGroups groups = OneGroup(snapshot);
  const std::vector<NodeId> candidates = test::NodesNamed(snapshot, {"a"});
  std::vector<Move> places;
  const auto round = [&] {
    ScaleDown scale_down({});
    return scale_down.Round(snapshot, groups,
                            {.now_s = kStart, .candidates = &candidates, .suggestions = places});
  };
  EXPECT_EQ(test::Removals(snapshot, round()->plan), "a: p>b");
  places = {{PodNamed(snapshot, "p"), NodeNamed(snapshot, "d")}};
  EXPECT_EQ(test::Removals(snapshot, round()->plan), "a: p>d");
  places[0].to = NodeId{4};
  EXPECT_EQ(round().status().message(), "suggestions[0]: there is no node 4, the catalog has 4");
}

TEST_F(RoundTest, ANodeWhoseGpusCannotBeCountedIsNamedInTheLog) {
  NodeGroups groups = OneGroup(pair_);
  groups.gpu_label = {true, false};
  ScaleDownOptions options = AtOnce();
  options.deletion.groups_have_templates = false;
  ScaleDown scale_down(options);
  const RoundResult result = scale_down.Round(pair_, groups, {.now_s = kStart}).value();
  EXPECT_THAT(result.log,
              ElementsAre("node a is labelled to have GPUs and gives none: the cluster's GPUs "
                          "cannot be counted, and nothing is deleted"));
  EXPECT_EQ(result.status, ScaleDownStatus::kNoNodeDeleted);
  EXPECT_EQ(result.message, "");
}

TEST_F(RoundTest, NodesWhoseTimersComeFromTaintsAreTriedFirst) {
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b").Taint("DeletionCandidateOfClusterAutoscaler", std::to_string(kStart - 50),
                               "PreferNoSchedule"))
          .Build();
  ScaleDownOptions options;
  options.node_deletion_candidate_ttl_s = 100;
  ScaleDown scale_down(options);
  const RoundResult result = Round(scale_down, snapshot, kStart);
  ASSERT_EQ(result.unneeded.size(), 2U);
  EXPECT_EQ(result.unneeded[0].node, NodeNamed(snapshot, "b"));
  EXPECT_EQ(result.unneeded[0].since_s, kStart - 50);
  EXPECT_EQ(result.unneeded[1].node, NodeNamed(snapshot, "a"));
  EXPECT_EQ(result.unneeded[1].since_s, kStart);
}

TEST(ScaleDownStateTest, ARestoredStateIsSavedAgainAndReplacesTheOld) {
  ScaleDownState full;
  full.rounds = 7;
  full.latest_s = 5000;
  full.jump_s = 9000;
  full.limit = {.latest_update_s = 4990, .min_interval_s = 10};
  full.timers = {{"a", "1", 4000, true}, {"b", "2", 4100, false}};
  full.skipped = {{"d", 4300}, {"c", 4200}};
  full.resume = true;
  full.actuation.empty = {{"e", "group"}};
  full.actuation.drained = {{"f", "other"}};
  full.actuation.recent_evictions = {{"ns", "p", "u", 4400}};
  full.started = {{"g", "3", StartedDeletions::Phase::kRunning, 4500}};
  full.cooldowns = {{"", 1, 2, 3}, {"group", 4, std::nullopt, 5}};
  full.planner.hints = {{"default/p", "a"}, {"default/q", "b"}};
  full.planner.pending_hints = {{"default/r", "c"}};
  full.planner.unremovable = {{.node = "h",
                               .until_s = 6000,
                               .reason = "BlockedByPod",
                               .blocking_reason = "NotEnoughPdb",
                               .pod_namespace = "ns",
                               .pod_name = "p",
                               .pdb = "web"}};
  full.planner.scan_pointer = 3;
  const auto symbols = std::make_shared<Symbols>();
  ScaleDown scale_down({});
  for (const ScaleDownState& state : {full, full, ScaleDownState(), full}) {
    scale_down.Restore(state, symbols);
    const ScaleDownState saved = scale_down.Save();
    EXPECT_EQ(saved.rounds, state.rounds);
    EXPECT_EQ(saved.latest_s, state.latest_s);
    EXPECT_EQ(saved.jump_s, state.jump_s);
    EXPECT_TRUE(saved.limit == state.limit);
    EXPECT_TRUE(saved.timers == state.timers);
    EXPECT_TRUE(saved.skipped == state.skipped);
    EXPECT_EQ(saved.resume, state.resume);
    EXPECT_TRUE(saved.actuation.empty == state.actuation.empty);
    EXPECT_TRUE(saved.actuation.drained == state.actuation.drained);
    EXPECT_TRUE(saved.actuation.recent_evictions == state.actuation.recent_evictions);
    EXPECT_TRUE(saved.started == state.started);
    EXPECT_TRUE(saved.cooldowns == state.cooldowns);
    EXPECT_TRUE(saved.planner == state.planner);
  }
}

}  // namespace
}  // namespace ebb::round_test
