// The time limits of a plan, tested with deadlines that count how often they are asked.

#include "engine/make_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/limits.h"
#include "engine/scale_down/round.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::make_plan_test {
namespace {

using test::Budget;
using test::Cluster;
using test::ExpiresAfter;
using test::Node;
using test::NodesNamed;
using test::Pod;
using ::testing::AnyOf;

constexpr int kNever = std::numeric_limits<int>::max();

class MakePlanTest : public ::testing::Test {
 protected:
  // Nodes a, b and c are removed, in this order; their pods fit on big, which is used too much to
  // be removed.
  void SetUp() override { Make({"a", "b", "c"}); }

  // The same with other nodes to remove.
  void Make(const std::vector<const char*>& names) {
    Cluster cluster;
    for (const char* const name : names) {
      cluster.Add(Node(name).Cpu(1000));
      cluster.Add(Pod(std::string("of-") + name).On(name).Cpu(100).Label("app", "web"));
    }
    cluster.Add(Node("big").Cpu(10000)).Add(Pod("large").On("big").Cpu(6000));
    cluster.Add(Budget("web").Matching("app", "web").Allows(20));
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
  }

  // The nodes that are removed if each deadline expires after this many questions: "a b".
  std::string Removed(int of_passes, int of_verification) {
    const ExpiresAfter passes(of_passes);
    const ExpiresAfter verification(of_verification);
    request_.pass.deadline = &passes;
    request_.verification_ends = &verification;
    made_ = MakePlan(*snapshot_, groups_, request_).value();
    std::string names;
    for (const RemovableNode& removal : made_.plan.remove) {
      names += (names.empty() ? "" : " ") + Name(removal.node);
    }
    return names;
  }

  // Makes the nodes an atomic group.
  void MakeAtomic(const std::vector<std::string_view>& nodes, int64_t target_size) {
    groups_ = test::OneGroup(*snapshot_);
    groups_.groups.push_back(groups_.groups[0]);
    groups_.groups[1].name = "atomic";
    groups_.groups[1].target_size = target_size;
    groups_.groups[1].atomic = true;
    for (const NodeId node : NodesNamed(*snapshot_, nodes)) {
      groups_.group_of[Index(node)] = GroupId{1};
    }
  }

  std::string Skipped() const {
    std::string names;
    for (const NodeId node : made_.plan.skipped) names += (names.empty() ? "" : " ") + Name(node);
    return names;
  }

  // The verifier's verdict on the returned plan.
  std::string Verdict() const {
    PassInput input;
    input.now_s = request_.pass.now_s;
    input.candidates = made_.candidates;
    const absl::Status status = Verify(*snapshot_, groups_, request_.planner, input, made_.plan);
    return status.ok() ? "ok" : std::string(status.message());
  }

  std::string Name(NodeId node) const { return std::string(snapshot_->catalog().NodeName(node)); }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  PlanResult made_;
};

// Twice the parallelism if no node was unneeded before.
TEST_F(MakePlanTest, ParallelismLimitsHowManyNodesGo) {
  request_.pass.unneeded_limit = FirstPassLimit(1);
  EXPECT_EQ(Removed(kNever, kNever), "a b");
  request_.pass.unneeded_limit = FirstPassLimit(2);
  EXPECT_EQ(Removed(kNever, kNever), "a b c");
}

TEST_F(MakePlanTest, ADeadlineThatIsMetDoesNotChangeThePlan) {
  EXPECT_EQ(Removed(kNever, kNever), "a b c");
  EXPECT_EQ(made_.plan.termination, Termination::kComplete);
  EXPECT_EQ(Verdict(), "ok");
  EXPECT_EQ(Skipped(), "");
}

TEST_F(MakePlanTest, AVerificationThatIsCutShortLeavesTheVerifiedPart) {
  // The deadline is asked once before all nodes, and before each.
  const char* const removed[] = {"", "", "a", "a b", "a b c"};
  const char* const skipped[] = {"a b c", "a b c", "b c", "c", ""};
  for (int questions = 0; questions <= 4; ++questions) {
    EXPECT_EQ(Removed(kNever, questions), removed[questions]);
    EXPECT_EQ(Skipped(), skipped[questions]);
    EXPECT_EQ(made_.plan.termination,
              questions == 4 ? Termination::kComplete : Termination::kDeadline);
    EXPECT_EQ(Verdict(), "ok") << "after " << questions << " questions";
  }
}

// More than the number of questions of passes and verification.
constexpr int kEnough = 12;

TEST_F(MakePlanTest, PassesThatAreCutLeaveAShorterPlan) {
  std::set<std::string> removed;
  for (int questions = 0; questions <= kEnough; ++questions) {
    removed.insert(Removed(questions, kNever));
    EXPECT_EQ(made_.plan.termination,
              Skipped().empty() ? Termination::kComplete : Termination::kDeadline);
    EXPECT_EQ(Verdict(), "ok") << "after " << questions << " questions";
  }
  EXPECT_EQ(removed, (std::set<std::string>{"", "a", "a b", "a b c"}));
}

TEST_F(MakePlanTest, WithoutTimeForAnotherPassAGroupIsCutAtItsMinimum) {
  groups_.groups[0].min_size = 3;  // Of 4: one may go.
  EXPECT_EQ(Removed(kNever, kNever), "a");
  EXPECT_EQ(made_.passes, 2u);
  bool cut_at_the_minimum = false;
  for (int questions = 0; questions <= kEnough; ++questions) {
    const std::string removed = Removed(questions, kNever);
    EXPECT_THAT(removed, AnyOf("", "a"));
    EXPECT_EQ(Verdict(), "ok") << "after " << questions << " questions";
    cut_at_the_minimum |= removed == "a" && made_.passes == 1;
  }
  EXPECT_TRUE(cut_at_the_minimum);
}

TEST_F(MakePlanTest, AtomicGroupIsNotCutInHalf) {
  // The third node of a larger group has never joined the cluster: only two nodes are registered.
  for (const int64_t target_size : {2, 3}) {
    MakeAtomic({"b", "c"}, target_size);
    EXPECT_EQ(Removed(kNever, 4), "a b c");
    EXPECT_EQ(Removed(kNever, 3), "a");  // b was verified too.
    EXPECT_EQ(Skipped(), "b c");
    for (int questions = 0; questions <= kEnough; ++questions) {
      EXPECT_THAT(Removed(questions, kNever), AnyOf("", "a", "a b c"));
      EXPECT_EQ(Verdict(), "ok") << "after " << questions << " questions to passes";
      EXPECT_THAT(Removed(kNever, questions), AnyOf("", "a", "a b c"));
      EXPECT_EQ(Verdict(), "ok") << "after " << questions << " questions to verification";
    }
  }
}

TEST_F(MakePlanTest, AnAtomicGroupGoesIfTheCutComesAfterIt) {
  Make({"a", "b", "c", "d"});
  MakeAtomic({"a", "b", "c"}, 3);
  bool cut_behind = false;
  for (int questions = 0; questions <= kEnough; ++questions) {
    const std::string removed = Removed(questions, kNever);
    EXPECT_THAT(removed, AnyOf("", "a b c", "a b c d"));
    cut_behind |= removed == "a b c";
  }
  EXPECT_TRUE(cut_behind);
}

TEST_F(MakePlanTest, AnAtomicGroupStaysWholeIfOneOfItsNodesStays) {
  MakeAtomic({"c", "big"}, 2);
  EXPECT_EQ(Removed(kNever, kNever), "a b");
  MakeAtomic({"c", "big"}, 1);  // The group's target size is one node.
  EXPECT_EQ(Removed(kNever, kNever), "a b c");
}

// Symptom: `ebb plan` kept an atomic group that a round removed.
TEST_F(MakePlanTest, PlansAndRoundsAgreeWhichAtomicGroupsAreWhole) {
  ScaleDownOptions at_once;
  at_once.deletion.scale_down_unneeded_time_s = 0;
  for (const int64_t target_size : {1, 2, 3, 4, 5}) {
    MakeAtomic({"a", "b", "c"}, target_size);
    groups_.groups[1].min_size = 0;
    const RoundResult round =
        ScaleDown(at_once).Round(*snapshot_, groups_, {.now_s = request_.pass.now_s}).value();
    std::set<NodeId> go(round.may_go.empty.begin(), round.may_go.empty.end());
    go.insert(round.may_go.drain.begin(), round.may_go.drain.end());
    const std::string removed = Removed(kNever, kNever);
    EXPECT_EQ(made_.plan.remove.size(), go.size()) << removed << " of " << target_size;
  }
}

// Symptom: `ebb plan` reported a node with an expired taint as being deleted, and kept the others
// because of the group's minimum; a round removed them.
TEST_F(MakePlanTest, PlansAndRoundsAgreeWhichNodesAreBeingDeleted) {
  ScaleDownOptions at_once;
  at_once.deletion.scale_down_unneeded_time_s = 0;
  for (const int64_t age_s : {299, 300}) {
    const std::string since = std::to_string(request_.pass.now_s - age_s);
    snapshot_.emplace(Cluster()
                          .Add(Node("a"))
                          .Add(Node("b").Taint("ToBeDeletedByClusterAutoscaler", since))
                          .Build());
    groups_ = test::OneGroup(*snapshot_);
    groups_.groups[0].min_size = 1;
    groups_.groups[0].target_size = 2;
    ActuationStatus actuation;
    if (age_s < 300) actuation.empty = {{"b", groups_.groups[0].name}};
    const RoundResult round =
        ScaleDown(at_once)
            .Round(*snapshot_, groups_, {.now_s = request_.pass.now_s, .actuation = &actuation})
            .value();
    EXPECT_EQ(Removed(kNever, kNever), age_s < 300 ? "" : "a");
    EXPECT_EQ(round.may_go.empty.size(), made_.plan.remove.size()) << age_s;
  }
}

// The pass that reached the group's minimum had used up the budget for a node that stays.
TEST_F(MakePlanTest, ANodeKeptByItsGroupsMinimumIsNotReportedAsBlockedByABudget) {
  snapshot_.emplace(Cluster()
                        .Add(Node("a").Cpu(1000))
                        .Add(Node("b").Cpu(1000))
                        .Add(Node("c").Cpu(1000))
                        .Add(Node("busy").Cpu(1000))
                        .Add(Node("local").Cpu(1000))
                        .Add(Node("big").Cpu(9000))
                        .Add(Pod("p").On("a").Cpu(100).Label("app", "other"))
                        .Add(Pod("q").On("b").Cpu(100).Label("app", "web"))
                        .Add(Pod("r").On("c").Cpu(100).Label("app", "web"))
                        .Add(Pod("s").On("busy").Cpu(900))
                        .Add(Pod("bare").On("local").Cpu(100).WithoutOwner())
                        .Add(Pod("large").On("big").Cpu(6000))
                        .Add(Budget("web").Matching("app", "web").Allows(1))
                        .Build());
  groups_ = test::OneGroup(*snapshot_);
  groups_.groups[0].min_size = 5;
  EXPECT_EQ(Removed(kNever, kNever), "a");
  EXPECT_GT(made_.passes, 1u);
  std::string kept;
  for (const auto* const list : {&made_.plan.keep, &made_.excluded}) {
    for (const UnremovableNode& node : *list) {
      kept += std::string(Name(node.node)) + "=" + std::string(ToString(node.reason)) + " ";
    }
  }
  // `local` has its own reason, whichever nodes are removed.
  EXPECT_EQ(kept,
            "b=NodeGroupMinSizeReached c=NodeGroupMinSizeReached busy=NotUnderutilized "
            "local=BlockedByPod big=NotUnderutilized ");
  for (const char* const name : {"b", "c", "busy", "local", "big"}) {
    EXPECT_TRUE(made_.plan.utilization[Index(test::NodeNamed(*snapshot_, name))]) << name;
  }
}

TEST_F(MakePlanTest, OnlyTheRequestedNodesAreCandidates) {
  const std::vector<NodeId> candidates = NodesNamed(*snapshot_, {"c", "a"});
  request_.candidates = &candidates;
  EXPECT_EQ(Removed(kNever, kNever), "c a");
  EXPECT_EQ(made_.order, candidates);
}

TEST_F(MakePlanTest, PodsMoveToDestinationsAlone) {
  NodeSet destinations(snapshot_->catalog().nodes());
  destinations.Insert(test::NodeNamed(*snapshot_, "c"));
  request_.pass.destinations = &destinations;
  EXPECT_EQ(Removed(kNever, kNever), "a b");
  for (const RemovableNode& removal : made_.plan.remove) {
    for (const Move& move : removal.moves) EXPECT_EQ(Name(move.to), "c");
  }
}

TEST_F(MakePlanTest, APlanIsVerifiedUnlessTheCallerDisablesIt) {
  EXPECT_EQ(Removed(kNever, 0), "") << "no time to verify anything";
  request_.verify = false;
  EXPECT_EQ(Removed(kNever, 0), "a b c");
}

TEST_F(MakePlanTest, PlanThatIsWrongIsRefusedAlthoughTimeIsShort) {
  // VerifyUntil checks the removals that it reaches like Verify does.
  Plan plan;
  PassInput input;
  const std::vector<NodeId> candidates = NodesNamed(*snapshot_, {"a", "b"});
  input.candidates = candidates;
  input.now_s = test::kPassTime;
  for (const NodeId node : candidates) plan.remove.emplace_back().node = node;
  plan.pdb_remaining = {20};
  EXPECT_FALSE(
      VerifyUntil(ExpiresAfter(2), *snapshot_, groups_, {}, input, plan).ok());  // a's pod stays.
  const auto part = VerifyUntil(ExpiresAfter(1), *snapshot_, groups_, {}, input, plan);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->removals, 0u);
}

TEST_F(MakePlanTest, NodesOfNoGroupAndOfOnesThatMayNotShrinkAreExcluded) {
  groups_.groups.push_back(groups_.groups[0]);
  groups_.groups[1].name = "small";
  groups_.groups[1].target_size = groups_.groups[1].min_size = 1;
  groups_.group_of[Index(test::NodeNamed(*snapshot_, "a"))] = kNoGroup;
  groups_.group_of[Index(test::NodeNamed(*snapshot_, "b"))] = GroupId{1};
  int passes_done = 0;
  request_.on_passes_done = [&] { ++passes_done; };
  EXPECT_EQ(Removed(kNever, kNever), "c");
  EXPECT_EQ(passes_done, 1);
  EXPECT_EQ(made_.passes, 1U);
  EXPECT_EQ(made_.order, NodesNamed(*snapshot_, {"c", "big"}));
  ASSERT_EQ(made_.excluded.size(), 2U);
  EXPECT_EQ(made_.excluded[0].node, test::NodeNamed(*snapshot_, "a"));
  EXPECT_EQ(made_.excluded[0].reason, UnremovableReason::kNotAutoscaled);
  EXPECT_EQ(made_.excluded[1].node, test::NodeNamed(*snapshot_, "b"));
  EXPECT_EQ(made_.excluded[1].reason, UnremovableReason::kNodeGroupMinSizeReached);
  EXPECT_EQ(test::Kept(*snapshot_, made_.plan), "big=NotUnderutilized");
}

TEST_F(MakePlanTest, ANodeThatWaitsForAPodIsExcludedAndThePodIsNamed) {
  snapshot_.emplace(Cluster()
                        .Add(Node("w").Cpu(1000))
                        .Add(Node("v").Cpu(1000))
                        .Add(Node("a").Cpu(1000))
                        .Add(Node("big").Cpu(10000))
                        .Add(Pod("p").On("w").Cpu(100))
                        .Add(Pod("job").On("w").Cpu(100).SafeToEvict("on-completion"))
                        .Add(Pod("other").On("v").Cpu(100).SafeToEvict("on-completion"))
                        .Add(Pod("q").On("a").Cpu(100))
                        .Add(Pod("large").On("big").Cpu(6000))
                        .Build());
  groups_ = test::OneGroup(*snapshot_);
  EXPECT_EQ(Removed(kNever, kNever), "a");
  EXPECT_EQ(made_.passes, 2U);
  EXPECT_EQ(made_.order, NodesNamed(*snapshot_, {"w", "v", "a", "big"}));
  EXPECT_EQ(made_.candidates, NodesNamed(*snapshot_, {"a", "big"}));
  ASSERT_EQ(made_.excluded.size(), 2U);
  EXPECT_EQ(made_.excluded[0].node, test::NodeNamed(*snapshot_, "w"));
  EXPECT_EQ(made_.excluded[0].reason, UnremovableReason::kBlockedByOnCompletionPod);
  EXPECT_EQ(made_.excluded[0].pod, test::PodNamed(*snapshot_, "job"));
  EXPECT_EQ(made_.excluded[1].node, test::NodeNamed(*snapshot_, "v"));
  EXPECT_EQ(made_.excluded[1].pod, test::PodNamed(*snapshot_, "other"));
}

TEST_F(MakePlanTest, VerdictsThatDependOnRemovalsAfterTheCutAreTakenBack) {
  Cluster cluster;
  for (const char* const name : {"early", "a", "b", "late", "local", "c"}) {
    cluster.Add(Node(name).Cpu(1000).Label("only", name));
  }
  cluster.Add(Node("big").Cpu(10000)).Add(Pod("large").On("big").Cpu(6000));
  for (const char* const name : {"early", "late"}) {  // Fits only on its own node.
    cluster.Add(Pod(std::string("of-") + name).On(name).Cpu(100).NodeSelector("only", name));
  }
  for (const char* const name : {"a", "b", "c"}) {
    cluster.Add(Pod(std::string("of-") + name).On(name).Cpu(100).Label("app", "web"));
  }
  cluster.Add(Pod("bare").On("local").Cpu(100).WithoutOwner());
  cluster.Add(Budget("web").Matching("app", "web").Allows(20));
  snapshot_.emplace(cluster.Build());
  groups_ = test::OneGroup(*snapshot_);
  NodeSet destinations(snapshot_->catalog().nodes());
  destinations.Insert(test::NodeNamed(*snapshot_, "big"));
  request_.pass.destinations = &destinations;
  EXPECT_EQ(Removed(kNever, kNever), "a b c");
  EXPECT_EQ(test::Kept(*snapshot_, made_.plan),
            "big=NotUnderutilized early=NoPlaceToMovePods late=NoPlaceToMovePods "
            "local=BlockedByPod");
  EXPECT_EQ(made_.plan.pdb_remaining, std::vector<int32_t>{17});

  CutPlan(*snapshot_, groups_, request_, 3, Termination::kRobust, made_);
  EXPECT_EQ(made_.plan.termination, Termination::kComplete) << "nothing was cut";
  CutPlan(*snapshot_, groups_, request_, 1, Termination::kRobust, made_);
  EXPECT_EQ(made_.plan.termination, Termination::kRobust);
  ASSERT_EQ(made_.plan.remove.size(), 1U);
  EXPECT_EQ(Name(made_.plan.remove[0].node), "a");
  EXPECT_EQ(Skipped(), "b late c");
  EXPECT_EQ(test::Kept(*snapshot_, made_.plan),
            "big=NotUnderutilized early=NoPlaceToMovePods local=BlockedByPod");
  EXPECT_EQ(made_.plan.pdb_remaining, std::vector<int32_t>{19});
  EXPECT_EQ(Verdict(), "ok");
}

TEST_F(MakePlanTest, ACutLeavesNoGroupBelowItsMinimumAndNoPodToWaitFor) {
  EXPECT_EQ(Removed(kNever, kNever), "a b c");
  const auto left = [&](const PlanResult& whole, size_t removals) {
    PlanResult made = whole;
    CutPlan(*snapshot_, groups_, request_, removals, Termination::kEvictionLimit, made);
    EXPECT_EQ(made.plan.termination, Termination::kEvictionLimit);
    return made.plan.remove.size();
  };
  EXPECT_EQ(left(made_, 2), 2U);
  EXPECT_EQ(left(made_, 0), 0U);
  PlanResult waits = made_;
  waits.plan.remove[1].on_completion.push_back(test::PodNamed(*snapshot_, "of-b"));
  EXPECT_EQ(left(waits, 2), 1U);
  groups_.groups[0].min_size = 3;  // Of 4.
  EXPECT_EQ(left(made_, 2), 1U);
}

TEST(PlanTextTest, ReasonsAreSpelledAsTheAutoscalerDoesAndReadAgain) {
  using enum UnremovableReason;
  const std::pair<UnremovableReason, std::string_view> names[] = {
      {kNoReason, "NoReason"},
      {kScaleDownDisabledAnnotation, "ScaleDownDisabledAnnotation"},
      {kScaleDownUnreadyDisabled, "ScaleDownUnreadyDisabled"},
      {kNotAutoscaled, "NotAutoscaled"},
      {kNotUnneededLongEnough, "NotUnneededLongEnough"},
      {kNotUnreadyLongEnough, "NotUnreadyLongEnough"},
      {kNodeGroupMinSizeReached, "NodeGroupMinSizeReached"},
      {kNodeGroupMaxDeletionCountReached, "NodeGroupMaxDeletionCountReached"},
      {kAtomicScaleDownFailed, "AtomicScaleDownFailed"},
      {kMinimalResourceLimitExceeded, "MinimalResourceLimitExceeded"},
      {kCurrentlyBeingDeleted, "CurrentlyBeingDeleted"},
      {kNotUnderutilized, "NotUnderutilized"},
      {kNotUnneededOtherReason, "NotUnneededOtherReason"},
      {kRecentlyUnremovable, "RecentlyUnremovable"},
      {kNoPlaceToMovePods, "NoPlaceToMovePods"},
      {kBlockedByPod, "BlockedByPod"},
      {kUnexpectedError, "UnexpectedError"},
      {kNoNodeInfo, "NoNodeInfo"},
      {kBlockedByOnCompletionPod, "BlockedByOnCompletionPod"},
      {kNotStarted, "NotStarted"},
      {kHeadroomReached, "HeadroomReached"},
      {kNodeClaimNotFound, "NodeClaimNotFound"},
      {kNodeNotInitialized, "NodeNotInitialized"},
      {kNodePoolNotFound, "NodePoolNotFound"},
      {kStaticNodePool, "StaticNodePool"},
      {kConsolidationDisabled, "ConsolidationDisabled"},
      {kNodeNotEmpty, "NodeNotEmpty"},
      {kConsolidationPolicyNotEvaluated, "ConsolidationPolicyNotEvaluated"},
      {kNotConsolidatable, "NotConsolidatable"},
      {kEmptyBudgetReached, "EmptyBudgetReached"},
      {kUnderutilizedBudgetReached, "UnderutilizedBudgetReached"}};
  for (const auto& [reason, name] : names) {
    EXPECT_EQ(ToString(reason), name);
    EXPECT_EQ(UnremovableReasonOf(name), reason) << name;
  }
  for (const char* none : {"", "blockedByPod", "NoPlaceToMovePod", "NoPlaceToMovePodsAtAll"}) {
    EXPECT_EQ(UnremovableReasonOf(none), kNoReason) << none;
  }
}

TEST(PlanTextTest, EveryTerminationHasItsName) {
  EXPECT_EQ(ToString(Termination::kComplete), "complete");
  EXPECT_EQ(ToString(Termination::kLimit), "limit");
  EXPECT_EQ(ToString(Termination::kDeadline), "deadline");
  EXPECT_EQ(ToString(Termination::kNoRoomForPending), "noRoomForPending");
  EXPECT_EQ(ToString(Termination::kNotStarted), "notStarted");
  EXPECT_EQ(ToString(Termination::kRobust), "robust");
  EXPECT_EQ(ToString(Termination::kEvictionLimit), "evictionLimit");
}

TEST_F(MakePlanTest, APackingThatWasNotVerifiedInTimeIsNotReported) {
  snapshot_.emplace(Cluster().Add(Node("a")).Add(Pod("waits").Cpu(100)).Build());
  groups_ = test::OneGroup(*snapshot_);
  const std::vector<PodId> pending = test::PodsNamed(*snapshot_, {"waits"});
  const std::vector<NodeId> none;
  request_.candidates = &none;
  request_.pass.pending = pending;
  const auto plan = [&](int questions) {
    const ExpiresAfter verification(questions);
    request_.verification_ends = &verification;
    return MakePlan(*snapshot_, groups_, request_).value().plan;
  };
  const Plan cut = plan(0);
  EXPECT_TRUE(cut.packed.empty());
  EXPECT_EQ(cut.termination, Termination::kDeadline);
  const Plan whole = plan(1);
  EXPECT_EQ(whole.packed.size(), 1U);
  EXPECT_EQ(whole.termination, Termination::kComplete);
}

// Symptom: the verifier judged nodes with devices by cpu and memory and refused the plan.
TEST(MakePlanWithDevicesTest, ANodeWithDevicesIsJudgedByTheirUse) {
  const auto slice = [](std::string_view node) {
    objects::ResourceSlice slice;
    slice.meta.name = node;
    slice.driver = "gpu.example.com";
    slice.pool = node;
    slice.node_name = node;
    slice.slice_count = 1;
    slice.devices.resize(2);
    slice.devices[0].name = "gpu-0";
    slice.devices[1].name = "gpu-1";
    return slice;
  };
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "claim";
  claim.allocated = true;
  for (const std::string_view device : {"gpu-0", "gpu-1"}) {
    claim.devices.push_back({"gpu.example.com", "idle", device, false, {}, {}, {}, {}});
  }
  ClusterSnapshot snapshot =
      Cluster()
          .Add(slice("busy"))
          .Add(slice("idle"))
          .Add(claim)
          .Add(Node("busy").Cpu(1000))
          .Add(Node("idle").Cpu(1000))
          .Add(Node("big").Cpu(10000))
          .Add(Pod("p").On("busy").Cpu(900))
          .Add(Pod("large").On("big").Cpu(6000))
          .Add(Pod("computes").On("idle").Cpu(200).With([](objects::Pod& pod) {
            pod.resource_claims = {{"gpu", "claim", ""}};
          }))
          .Build();
  PlanRequest request;
  request.order = CandidateOrder::kInput;
  request.pass.now_s = test::kPassTime;
  const auto made = MakePlan(snapshot, test::OneGroup(snapshot), request);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(test::Removals(snapshot, made->plan), "busy: p>big");
  const auto kept =
      std::ranges::find(made->plan.keep, test::NodeNamed(snapshot, "idle"), &UnremovableNode::node);
  ASSERT_NE(kept, made->plan.keep.end());
  EXPECT_EQ(kept->reason, UnremovableReason::kNotUnderutilized);
}

}  // namespace
}  // namespace ebb::make_plan_test
