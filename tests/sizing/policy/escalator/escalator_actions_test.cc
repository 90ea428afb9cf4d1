#include "sizing/policy/escalator/escalator_actions.h"

#include <limits>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace ebb::escalator_actions_test {
namespace {

using Nodes = std::vector<size_t>;
using ReapError = EscalatorReap::Error;

constexpr int64_t kNow = 1'000'000;
constexpr int64_t kMinute = 60'000'000'000;

// Records the calls, such as "taint b, desired 7", and fails the calls that a test names.
class Calls final : public EscalatorCalls {
 public:
  absl::Status Taint(const EscalatorNode& node) override { return Make("taint " + node.name); }
  absl::Status Untaint(const EscalatorNode& node) override { return Make("untaint " + node.name); }
  absl::Status Terminate(const EscalatorNode& node) override {
    return Make("terminate " + node.name);
  }
  absl::Status DeleteNode(const EscalatorNode& node) override {
    return Make("delete " + node.name);
  }
  absl::Status SetDesired(int64_t desired) override {
    return Make("desired " + std::to_string(desired));
  }

  std::string made;
  std::set<std::string> failing;

 private:
  absl::Status Make(const std::string& call) {
    if (failing.contains(call)) return absl::UnavailableError("no " + call);
    made += (made.empty() ? "" : ", ") + call;
    return absl::OkStatus();
  }
};

// A group of nodes a, b, c, ...; the first is the oldest.  Soft period 5 min, hard period 10 min.
struct Group {
  explicit Group(int count) {
    for (int i = 0; i < count; ++i) {
      observation.nodes.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                                   .allocatable = {1000, 1000},
                                   .created_s = kNow - 100'000 + i,
                                   .labels = {{"k", "v"}},
                                   .ready = true});
    }
  }

  EscalatorNode& Node(size_t i) { return observation.nodes[i]; }
  // Taints the node `age_s` seconds ago.
  EscalatorNode& Taint(size_t i, int64_t age_s = 0) {
    Node(i).taint = std::to_string(kNow - age_s);
    return Node(i);
  }
  void AddPod(const char* node) {
    observation.pods.push_back({.node = node, .node_selector = {{"k", "v"}}});
  }

  EscalatorRound Round() {
    group = Select({.name = "g", .label_key = "k", .label_value = "v"}, observation);
    Classify(observation, dry_mode, state.taint_tracker, &group);
    return {.observation = observation,
            .durations = {.soft_delete_ns = 5 * kMinute,
                          .hard_delete_ns = 10 * kMinute,
                          .cool_down_ns = kMinute,
                          .unhealthy_grace_ns = unhealthy_grace_ns},
            .cloud = cloud,
            .min_nodes = min_nodes,
            .dry_mode = dry_mode,
            .now_s = kNow,
            .group = group,
            .state = state,
            .calls = calls,
            .forced = forced};
  }

  std::string Forced() const {
    std::string text;
    for (const EscalatorForce force : forced) text += std::string(Name(force)) + " ";
    return text;
  }

  EscalatorObservation observation;
  EscalatorCloudGroup cloud{.min = 0, .max = 20, .desired = 10};
  int64_t min_nodes = 0;
  bool dry_mode = false;
  int64_t unhealthy_grace_ns = 0;
  EscalatorGroup group;
  EscalatorState state;
  Calls calls;
  std::vector<EscalatorForce> forced;
};

// ---------------------------------------------------------------- ScaleUp

TEST(EscalatorScaleUpTest, UntaintsTheNewestBeforeItCallsTheCloud) {
  Group group(4);
  group.Taint(0);
  group.Taint(1);
  group.Taint(2);
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "untaint c, untaint b");
  EXPECT_EQ(up.Result(), 2);
  EXPECT_EQ(group.state, EscalatorState{});  // No lock.
}

TEST(EscalatorScaleUpTest, RequestsTheRestFromTheCloudAndTakesTheLock) {
  Group group(2);
  group.Taint(0);
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 4);
  EXPECT_EQ(group.calls.made, "untaint a, desired 13");
  EXPECT_EQ(up.Result(), 4);
  EXPECT_TRUE(group.state.is_locked);
  EXPECT_EQ(group.state.requested, 3);
  EXPECT_EQ(group.state.locked_at_s, kNow);
}

TEST(EscalatorScaleUpTest, UnhealthyNodesStayTainted) {
  Group group(2);
  group.Taint(0);
  group.Taint(1).ready = false;
  ScaleGroupUp(group.Round(), 1);
  EXPECT_EQ(group.calls.made, "untaint b");  // Health does not matter.
  group.calls.made.clear();
  group.unhealthy_grace_ns = kMinute;
  ScaleGroupUp(group.Round(), 1);
  EXPECT_EQ(group.calls.made, "untaint a");
}

TEST(EscalatorScaleUpTest, ForceTaintedNodesAreNotUntainted) {
  Group group(1);
  group.Taint(0).force_taint = true;
  ScaleGroupUp(group.Round(), 1);
  EXPECT_EQ(group.calls.made, "desired 11");
}

TEST(EscalatorScaleUpTest, AfterAFailedUntaintTheNextIsTried) {
  Group group(2);
  group.Taint(0);
  group.Taint(1);
  group.calls.failing = {"untaint b"};
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 1);
  EXPECT_EQ(group.calls.made, "untaint a");
  EXPECT_EQ(up.untainted.failures, (std::vector<EscalatorFailure>{{1, "no untaint b"}}));
}

TEST(EscalatorScaleUpTest, GrowthIsCutAtTheCloudsMax) {
  Group group(0);
  group.cloud.max = 12;
  EXPECT_EQ(ScaleGroupUp(group.Round(), 2).added, 2);
  EXPECT_EQ(group.Forced(), "");
  EXPECT_EQ(ScaleGroupUp(group.Round(), 3).added, 2);
  EXPECT_EQ(group.Forced(), "cloud_max ");
  EXPECT_EQ(group.state.requested, 2);
}

TEST(EscalatorScaleUpTest, AtTheCloudsMaxItIsAnErrorWithoutALockAndUntaintingStays) {
  for (const int64_t max : {10, 9}) {
    Group group(1);
    group.Taint(0);
    group.cloud.max = max;
    const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 2);
    EXPECT_EQ(group.calls.made, "untaint a");
    EXPECT_EQ(up.error, EscalatorScaleUp::Error::kBeyondMaximum);
    EXPECT_EQ(up.Result(), 0);
    EXPECT_FALSE(group.state.is_locked);
  }
}

TEST(EscalatorScaleUpTest, ACloudErrorTakesNoLock) {
  Group group(0);
  group.calls.failing = {"desired 12"};
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 2);
  EXPECT_EQ(up.error, EscalatorScaleUp::Error::kCloud);
  EXPECT_EQ(up.why, "no desired 12");
  EXPECT_EQ(up.Result(), 0);
  EXPECT_EQ(group.state, EscalatorState{});
}

TEST(EscalatorScaleUpTest, DryModeForgetsTheFirstMentionAndLocks) {
  Group group(3);
  group.dry_mode = true;
  group.state.taint_tracker = {"b", "gone", "a", "b"};
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 3);
  EXPECT_EQ(group.calls.made, "");
  EXPECT_EQ(group.state.taint_tracker, (std::vector<std::string>{"gone", "b"}));
  EXPECT_EQ(up.Result(), 3);
  EXPECT_EQ(up.desired, std::nullopt);
  EXPECT_EQ(group.state.requested, 1);
}

TEST(EscalatorScaleUpTest, NumbersAtTheEndOfTheirRange) {
  Group group(0);
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  group.cloud = {.min = 0, .max = kLargest, .desired = 5};
  EXPECT_EQ(ScaleGroupUp(group.Round(), kLargest).desired, kLargest);
}

// ---------------------------------------------------------------- reaping

std::string Reap(Group& group, bool only_unhealthy = false) {
  group.calls.made.clear();
  ReapTainted(group.Round(), only_unhealthy);
  return group.calls.made;
}

TEST(EscalatorReapTest, AnEmptyNodeGoesAfterTheSoftPeriod) {
  Group group(1);
  group.Taint(0, 300);
  EXPECT_EQ(Reap(group), "");
  group.Taint(0, 301);
  EXPECT_EQ(Reap(group), "terminate a, delete a");
}

TEST(EscalatorReapTest, AnyNodeGoesAfterTheHardPeriod) {
  Group group(1);
  group.AddPod("a");
  group.Taint(0, 600);
  EXPECT_EQ(Reap(group), "");
  group.Taint(0, 601);
  EXPECT_EQ(Reap(group), "terminate a, delete a");
}

TEST(EscalatorReapTest, NoDeleteKeepsANodeUnlessItIsEmpty) {
  Group group(1);
  group.Taint(0, 5000).no_delete = "why";
  EXPECT_EQ(Reap(group), "");
  group.Node(0).no_delete = "";
  EXPECT_EQ(Reap(group), "terminate a, delete a");
}

TEST(EscalatorReapTest, ATaintWithoutATimeKeepsItsNode) {
  for (const char* taint : {"", "abc", "12.5", " 5", "99999999999999999999"}) {
    Group group(2);
    group.Node(0).taint = taint;
    group.Taint(1, 5000);
    const EscalatorReap reap = ReapTainted(group.Round(), false);
    EXPECT_EQ(reap.unread_taints, Nodes{0}) << taint;
    EXPECT_EQ(reap.ready, Nodes{1});
  }
}

TEST(EscalatorReapTest, TaintTimesFarInTheFutureOrPastDoNoHarm) {
  Group group(2);
  group.Node(0).taint = "9223372036854775807";
  group.Node(1).taint = "-9223372036854775808";
  EXPECT_EQ(Reap(group), "terminate b, delete b");
}

TEST(EscalatorReapTest, InAnUnhealthyGroupOnlyUnhealthyNodesGo) {
  Group group(2);
  group.unhealthy_grace_ns = kMinute;
  group.Taint(0, 5000);
  group.Taint(1, 5000).ready = false;
  EXPECT_EQ(Reap(group, /*only_unhealthy=*/true), "terminate b, delete b");
  EXPECT_EQ(Reap(group), "terminate a, terminate b, delete a, delete b");
}

TEST(EscalatorReapTest, ABatchGoesAsAWholeOrNotAtAll) {
  Group group(2);
  group.Taint(0, 5000);
  group.Taint(1, 5000);
  group.cloud = {.min = 3, .max = 9, .desired = 3};
  EXPECT_EQ(ReapTainted(group.Round(), false).error, ReapError::kCloudAtMinimum);
  group.cloud.desired = 2;
  EXPECT_EQ(ReapTainted(group.Round(), false).error, ReapError::kCloudAtMinimum);
  group.cloud.desired = 4;
  EXPECT_EQ(ReapTainted(group.Round(), false).error, ReapError::kCloudBelowMinimum);
  EXPECT_EQ(group.calls.made, "");
  group.cloud.desired = 5;
  EXPECT_EQ(Reap(group), "terminate a, terminate b, delete a, delete b");
}

TEST(EscalatorReapTest, ANodeOfAnotherGroupStopsTheBatch) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) group.Taint(i, 5000);
  group.Node(1).in_cloud_group = false;
  const EscalatorReap reap = ReapTainted(group.Round(), false);
  EXPECT_EQ(group.calls.made, "terminate a");
  EXPECT_EQ(reap.error, ReapError::kForeignNode);
  EXPECT_EQ(reap.node, 1);
  EXPECT_EQ(reap.terminated, Nodes{0});
  EXPECT_EQ(reap.deleted, Nodes{});
}

TEST(EscalatorReapTest, AFailedCallStopsTheBatch) {
  Group group(2);
  group.Taint(0, 5000);
  group.Taint(1, 5000);
  group.calls.failing = {"terminate b"};
  EXPECT_EQ(ReapTainted(group.Round(), false).error, ReapError::kCloud);
  EXPECT_EQ(group.calls.made, "terminate a");
  group.calls.made.clear();
  group.calls.failing = {"delete a"};
  EXPECT_EQ(ReapTainted(group.Round(), false).error, ReapError::kDeleteNode);
  EXPECT_EQ(group.calls.made, "terminate a, terminate b");
}

TEST(EscalatorReapTest, EmptyForceTaintedNodesGoAtOnceDespiteTheirAnnotation) {
  Group group(3);
  for (size_t i = 0; i < 2; ++i) group.Node(i).force_taint = true;
  group.Node(0).no_delete = "why";
  group.AddPod("b");
  ReapForceTainted(group.Round());
  EXPECT_EQ(group.calls.made, "terminate a, delete a");
}

TEST(EscalatorReapTest, DryModeReportsAndCallsNothing) {
  Group group(2);
  group.dry_mode = true;
  group.Taint(0, 5000);
  group.Taint(1, 5000);
  group.state.taint_tracker = {"a"};
  const EscalatorReap reap = ReapTainted(group.Round(), false);
  EXPECT_EQ(reap.ready, Nodes{0});
  EXPECT_EQ(reap.terminated, Nodes{});
  EXPECT_EQ(group.calls.made, "");
}

// ---------------------------------------------------------------- ScaleDown and step 2

TEST(EscalatorScaleDownTest, TaintsTheOldestAndReapsFirst) {
  Group group(4);
  group.Taint(1, 5000);
  const EscalatorScaleDown down = ScaleGroupDown(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "terminate b, delete b, taint a, taint c");
  EXPECT_EQ(down.allowed, 2);
  EXPECT_EQ(group.Forced(), "");
}

TEST(EscalatorScaleDownTest, NodesOfOneSecondGoInListOrder) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) group.Node(i).created_s = 5;
  ScaleGroupDown(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "taint a, taint b");
}

TEST(EscalatorScaleDownTest, TaintingContinuesAfterAFailedReap) {
  Group group(2);
  group.Taint(1, 5000);
  group.calls.failing = {"terminate b"};
  ScaleGroupDown(group.Round(), 1);
  EXPECT_EQ(group.calls.made, "taint a");
}

TEST(EscalatorScaleDownTest, AfterAFailedTaintTheNextOldestIsTainted) {
  Group group(3);
  group.calls.failing = {"taint a"};
  const EscalatorScaleDown down = ScaleGroupDown(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "taint b, taint c");
  EXPECT_EQ(down.tainted.failures, (std::vector<EscalatorFailure>{{0, "no taint a"}}));
}

TEST(EscalatorScaleDownTest, MinNodesBoundsTaints) {
  Group group(5);
  group.min_nodes = 3;
  EXPECT_EQ(ScaleGroupDown(group.Round(), 2).allowed, 2);
  EXPECT_EQ(group.Forced(), "");
  EXPECT_EQ(ScaleGroupDown(group.Round(), 3).allowed, 2);
  EXPECT_EQ(group.Forced(), "min_nodes ");
}

TEST(EscalatorScaleDownTest, TheCloudsMinBoundsTaintsUnlessTheGroupIsBelowIt) {
  Group group(5);
  group.cloud = {.min = 8, .max = 20, .desired = 10};
  EXPECT_EQ(ScaleGroupDown(group.Round(), 2).allowed, 2);
  EXPECT_EQ(group.Forced(), "");
  EXPECT_EQ(ScaleGroupDown(group.Round(), 3).allowed, 2);
  EXPECT_EQ(group.Forced(), "cloud_min ");
  group.cloud.desired = 8;
  EXPECT_EQ(ScaleGroupDown(group.Round(), 3).allowed, 0);
  group.cloud.desired = 7;
  EXPECT_EQ(ScaleGroupDown(group.Round(), 3).allowed, 3);
}

TEST(EscalatorScaleDownTest, DryModeRemembersNames) {
  Group group(3);
  group.dry_mode = true;
  group.state.taint_tracker = {"a"};
  ScaleGroupDown(group.Round(), 1);
  EXPECT_EQ(group.state.taint_tracker, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(group.calls.made, "");
}

TEST(EscalatorUnhealthyTest, EveryUnhealthyNodeIsTaintedInListOrder) {
  Group group(5);
  group.unhealthy_grace_ns = kMinute;
  group.Node(0).ready = false;
  group.Node(1).ready = std::nullopt;
  group.Node(2).ready = false;
  group.Node(2).unschedulable = true;
  group.Node(3).ready = false;
  group.Node(3).created_s = kNow - 59;
  group.calls.failing = {"taint a"};
  const EscalatorTaints taints = TaintUnhealthy(group.Round());
  EXPECT_EQ(group.calls.made, "taint b");
  EXPECT_EQ(taints.failures.size(), 1);
  group.unhealthy_grace_ns = 0;
  EXPECT_EQ(TaintUnhealthy(group.Round()), EscalatorTaints{});
}

TEST(EscalatorReapTest, ErrorsAndForcesHaveNames) {
  EXPECT_EQ(Name(ReapError::kNone), "");
  EXPECT_EQ(Name(ReapError::kCloudAtMinimum), "min sized reached, nodes will not be deleted");
  EXPECT_EQ(Name(ReapError::kCloudBelowMinimum), "terminating nodes will breach minimum node size");
  EXPECT_EQ(Name(ReapError::kForeignNode), "belongs in a different node group");
  EXPECT_EQ(Name(ReapError::kCloud), "failed to terminate instance");
  EXPECT_EQ(Name(ReapError::kDeleteNode), "failed to delete the node");
  EXPECT_EQ(Name(EscalatorForce::kStarve), "starve");
  EXPECT_EQ(Name(EscalatorForce::kMaxAge), "max_age");
  EXPECT_EQ(Name(EscalatorForce::kOverMax), "over_max");
  EXPECT_EQ(Name(EscalatorForce::kUnhealthy), "unhealthy");
  EXPECT_EQ(Name(EscalatorForce::kCloudMax), "cloud_max");
  EXPECT_EQ(Name(EscalatorForce::kMinNodes), "min_nodes");
  EXPECT_EQ(Name(EscalatorForce::kCloudMin), "cloud_min");
}

TEST(EscalatorReapTest, ANodeThatMayNotGoDoesNotBlockTheNext) {
  Group group(6);
  group.Taint(0, 5000).no_delete = "why";
  group.Taint(1, 10);   // Too young.
  group.Taint(2, 400);  // Old enough if it were empty.
  group.AddPod("c");
  group.Taint(3, 5000);
  group.Taint(4, 5000);
  group.calls.failing = {"delete e"};
  const EscalatorReap reap = ReapTainted(group.Round(), false);
  EXPECT_EQ(reap.ready, (Nodes{3, 4}));
  EXPECT_EQ(reap.terminated, (Nodes{3, 4}));
  EXPECT_EQ(reap.deleted, Nodes{3});
  EXPECT_EQ(reap.error, ReapError::kDeleteNode);
  EXPECT_EQ(reap.node, 4);
  EXPECT_EQ(reap.why, "no delete e");
}

TEST(EscalatorReapTest, ARefusalByTheCloudNamesTheFirstNode) {
  Group group(3);
  group.Taint(1, 5000);
  group.Taint(2, 5000);
  group.cloud = {.min = 3, .max = 9, .desired = 4};
  const EscalatorReap reap = ReapTainted(group.Round(), false);
  EXPECT_EQ(reap.error, ReapError::kCloudBelowMinimum);
  EXPECT_EQ(reap.node, 1);
  EXPECT_EQ(reap.why, "");
}

TEST(EscalatorScaleUpTest, UntaintingContinuesAfterFailuresUpToTheOldest) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) group.Taint(i);
  group.calls.failing = {"untaint c", "untaint b"};
  const EscalatorScaleUp up = ScaleGroupUp(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "untaint a, desired 11");
  EXPECT_EQ(up.untainted.failures.size(), 2u);
  EXPECT_EQ(up.added, 1);
  EXPECT_EQ(up.desired, 11);
}

TEST(EscalatorReapTest, ABatchThatStopsReportsTheNodeAndTheReason) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) group.Taint(i, 5000);
  group.calls.failing = {"terminate b"};
  EXPECT_EQ(ReapTainted(group.Round(), false), (EscalatorReap{.ready = Nodes{0, 1, 2},
                                                              .terminated = Nodes{0},
                                                              .error = ReapError::kCloud,
                                                              .node = 1,
                                                              .why = "no terminate b"}));
  group.calls.failing.clear();
  group.Node(1).in_cloud_group = false;
  EXPECT_EQ(ReapTainted(group.Round(), false), (EscalatorReap{.ready = Nodes{0, 1, 2},
                                                              .terminated = Nodes{0},
                                                              .error = ReapError::kForeignNode,
                                                              .node = 1}));
}

TEST(EscalatorReapTest, NothingToReapAtTheCloudsMinIsNotAnError) {
  Group group(2);
  group.cloud = {.min = 10, .max = 20, .desired = 10};
  group.Taint(0, 10);  // Too young.
  EXPECT_EQ(ReapTainted(group.Round(), false), EscalatorReap{});
  EXPECT_EQ(ReapForceTainted(group.Round()), EscalatorReap{});
}

TEST(EscalatorScaleDownTest, BothMinimaMayBoundOneAfterTheOther) {
  Group group(5);
  group.min_nodes = 2;
  group.cloud = {.min = 8, .max = 20, .desired = 10};
  EXPECT_EQ(ScaleGroupDown(group.Round(), 4).allowed, 2);
  EXPECT_EQ(group.Forced(), "min_nodes cloud_min ");
  EXPECT_EQ(group.calls.made, "taint a, taint b");
}

TEST(EscalatorScaleUpTest, NodesOfOneSecondAreUntaintedInListOrder) {
  Group group(3);
  for (size_t i = 0; i < 3; ++i) group.Taint(i).created_s = 5;
  ScaleGroupUp(group.Round(), 2);
  EXPECT_EQ(group.calls.made, "untaint a, untaint b");
}

TEST(EscalatorUnhealthyTest, ANodeThatCannotBeTaintedIsReportedAndTheNextIsTried) {
  Group group(3);
  group.unhealthy_grace_ns = kMinute;
  for (size_t i = 0; i < 3; ++i) group.Node(i).ready = false;
  group.calls.failing = {"taint a"};
  const EscalatorTaints taints = TaintUnhealthy(group.Round());
  EXPECT_EQ(taints.nodes, (Nodes{1, 2}));
  EXPECT_EQ(taints.failures, (std::vector<EscalatorFailure>{{0, "no taint a"}}));
}

}  // namespace
}  // namespace ebb::escalator_actions_test
