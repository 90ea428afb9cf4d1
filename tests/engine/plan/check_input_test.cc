// Wrong input is rejected by each front door.

#include "engine/plan/check_input.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/time_range.h"
#include "engine/make_plan.h"
#include "engine/scale_down/round.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::check_input_test {
namespace {

using test::Cluster;
using test::kPassTime;
using test::Node;
using test::NodeNamed;
using test::OneGroup;
using test::Pod;
using test::PodNamed;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two nodes, each with a pod, and two pending pods.
class CheckInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    input_.now_s = kPassTime;
    candidates_ = {N("a"), N("b")};
    pending_ = {P("w"), P("x")};
    input_.candidates = candidates_;
    input_.pending = pending_;
  }

  static ClusterSnapshot Make(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>()) {
    return Cluster(std::move(symbols))
        .Add(Node("a"))
        .Add(Node("b"))
        .Add(Pod("p").On("a").Cpu(100))
        .Add(Pod("q").On("b").Cpu(100))
        .Add(Pod("w").Cpu(100))
        .Add(Pod("x").Cpu(100))
        .Build();
  }

  NodeId N(const char* name) const { return NodeNamed(snapshot_, name); }
  PodId P(const char* name) const { return PodNamed(snapshot_, name); }

  // The error of each front door; "" for no error.  Nothing may have changed in either case.
  std::string FromPass() {
    return ErrorOf([&] { return planner_.Pass(snapshot_, groups_, input_); });
  }
  std::string FromMakePlan() {
    PlanRequest request;
    request.pass.now_s = input_.now_s;
    const std::vector<NodeId> candidates(input_.candidates.begin(), input_.candidates.end());
    request.candidates = &candidates;
    request.pass.destinations = input_.destinations;
    request.pass.pending = input_.pending;
    return ErrorOf([&] { return MakePlan(snapshot_, groups_, request); });
  }
  std::string FromRound() {
    const std::vector<NodeId> candidates(input_.candidates.begin(), input_.candidates.end());
    RoundInput input;
    input.now_s = input_.now_s;
    input.candidates = &candidates;
    input.pending = input_.pending;
    return ErrorOf([&] { return rounds_.Round(snapshot_, groups_, input); });
  }

  template <typename Ask>
  std::string ErrorOf(Ask&& ask) {
    const std::string before = snapshot_.Fingerprint();
    const absl::Status status = ask().status();
    EXPECT_EQ(snapshot_.Fingerprint(), before);
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  void ExpectFromAll(const std::string& message) {
    EXPECT_EQ(FromPass(), message);
    EXPECT_EQ(FromMakePlan(), message);
    EXPECT_EQ(FromRound(), message);
  }

  ClusterSnapshot snapshot_ = Make();
  NodeGroups groups_ = OneGroup(snapshot_);
  std::vector<NodeId> candidates_;
  std::vector<PodId> pending_;
  PassInput input_;
  Planner planner_{PlannerOptions()};
  ScaleDown rounds_{ScaleDownOptions()};
};

TEST_F(CheckInputTest, ValidInputIsAccepted) {
  ExpectFromAll("");
  ExpectFromAll("");  // Also by planners that remember the Symbols.
}

TEST_F(CheckInputTest, GroupOfThatDoesNotCoverTheNodesIsRefused) {
  groups_.group_of.pop_back();
  ExpectFromAll("groups.group_of: has 1 entries for 2 nodes");
  groups_.group_of.resize(3, kNoGroup);
  ExpectFromAll("groups.group_of: has 3 entries for 2 nodes");
}

TEST_F(CheckInputTest, NoGroupReasonThatDoesNotCoverTheNodesIsRefused) {
  groups_.no_group_reason = {NoGroupReason::kNoLabel};
  ExpectFromAll("groups.no_group_reason: has 1 entries for 2 nodes");
}

TEST_F(CheckInputTest, GpuLabelThatDoesNotCoverTheNodesIsRefused) {
  groups_.gpu_label = {true};
  ExpectFromAll("groups.gpu_label: has 1 entries for 2 nodes");
}

TEST_F(CheckInputTest, NotReadyThatDoesNotCoverTheNodesIsRefused) {
  groups_.not_ready = {NotReadyReason::kNoGpus};
  ExpectFromAll("groups.not_ready: has 1 entries for 2 nodes");
}

TEST_F(CheckInputTest, GroupThatDoesNotExistIsRefused) {
  groups_.group_of[1] = GroupId{7};
  ExpectFromAll("groups.group_of[1]: node b is in group 7, and there are 1 groups");
  groups_.group_of[1] = kNoGroup;
  ExpectFromAll("");
}

TEST_F(CheckInputTest, TwoGroupsOfOneNameAreRefused) {
  groups_.groups.push_back(groups_.groups[0]);
  ExpectFromAll("groups.groups[1].name: group group comes twice, first as groups.groups[0]");
}

TEST_F(CheckInputTest, SizesBelowZeroAreRefused) {
  groups_.groups[0].min_size = -1;
  ExpectFromAll("groups.groups[0].min_size: group group has -1, which is less than 0");
  groups_.groups[0].min_size = 0;
  groups_.groups[0].target_size = std::numeric_limits<int64_t>::min();
  ExpectFromAll(
      "groups.groups[0].target_size: group group has -9223372036854775808, which is less than 0");
  groups_.groups[0].target_size = 0;
  groups_.groups[0].max_size = -1;
  ExpectFromAll("groups.groups[0].max_size: group group has -1, which is less than 0");
}

TEST_F(CheckInputTest, MinimumsOfTheClusterBelowZeroAreRefused) {
  const auto message_of = [&](int64_t ClusterMinimums::* field) {
    ScaleDownOptions options;
    options.deletion.minimums.*field = std::numeric_limits<int64_t>::min();
    ScaleDown rounds(options);
    RoundInput input;
    input.now_s = kPassTime;
    return ErrorOf([&] { return rounds.Round(snapshot_, groups_, input); });
  };
  EXPECT_EQ(message_of(&ClusterMinimums::cores),
            "deletion.minimums.cores: -9223372036854775808 is negative");
  EXPECT_EQ(message_of(&ClusterMinimums::memory_bytes),
            "deletion.minimums.memory_bytes: -9223372036854775808 is negative");
  EXPECT_EQ(message_of(&ClusterMinimums::nodes),
            "deletion.minimums.nodes: -9223372036854775808 is negative");
}

// Pods that leave a live cluster leave their ids behind.
TEST_F(CheckInputTest, PodsThatHaveLeftTheClusterAreRefused) {
  LiveSnapshot live;
  const auto take = [&](const objects::ObjectRef& object, Change::Type type) {
    const Change change{.type = type, .object = object};
    ASSERT_TRUE(live.Take({&change, 1}).ok());
  };
  const Node a = Node("a");
  const Pod stays = Pod("stays");
  const Pod leaves = Pod("leaves");
  take(&a.raw, Change::Type::kPut);
  take(&leaves.raw, Change::Type::kPut);
  take(&stays.raw, Change::Type::kPut);
  const PodId gone = PodNamed(live.Snapshot(), "leaves");
  take(&leaves.raw, Change::Type::kDelete);
  ClusterSnapshot& snapshot = live.Snapshot();
  ASSERT_LT(Index(gone), snapshot.catalog().pods());
  const NodeGroups groups = OneGroup(snapshot);
  const std::string id = std::to_string(Index(gone));
  PassInput input;
  input.now_s = kPassTime;
  input.pending = {&gone, 1};
  EXPECT_EQ(Planner(PlannerOptions()).Pass(snapshot, groups, input).status().message(),
            "pending[0]: pod " + id + " has left the cluster");
  input.pending = {};
  input.evicting = {&gone, 1};
  EXPECT_EQ(Planner(PlannerOptions()).Pass(snapshot, groups, input).status().message(),
            "evicting[0]: pod " + id + " has left the cluster");
  PlanRequest request;
  request.pass.now_s = kPassTime;
  const Move move{gone, NodeId{0}};
  request.suggestions = {&move, 1};
  EXPECT_EQ(MakePlan(snapshot, groups, request).status().message(),
            "suggestions[0]: pod " + id + " has left the cluster");
}

TEST_F(CheckInputTest, APlanOfAnotherClusterIsRefused) {
  Plan plan;
  EXPECT_TRUE(CheckPlan(snapshot_.catalog(), plan).ok());
  plan.remove = {
      {.node = N("a"), .moves = {{P("p"), N("b")}}, .daemonset = {}, .on_completion = {}}};
  EXPECT_TRUE(CheckPlan(snapshot_.catalog(), plan).ok());
  const std::string wrong = "plan.remove[0]: has a node or a pod that the catalog does not have";
  plan.remove[0].node = NodeId{2};
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
  plan.remove[0].node = N("a");
  plan.remove[0].moves[0].to = kNoNode;
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
  plan.remove[0].moves[0] = {PodId{4}, N("b")};
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
}

TEST_F(CheckInputTest, VerificationRefusesGroupsOfAnotherCluster) {
  const Plan plan;
  for (const absl::Status& status :
       {Verify(snapshot_, NodeGroups(), PlannerOptions(), input_, plan),
        VerifyUntil(test::ExpiresAfter(100), snapshot_, NodeGroups(), PlannerOptions(), input_,
                    plan)
            .status()}) {
    EXPECT_EQ(status.message(), "groups.group_of: has 0 entries for 2 nodes");
  }
}

TEST_F(CheckInputTest, PodsThatNoPassKnowsHaveNoHint) {
  EXPECT_EQ(planner_.Hint(P("p")), kNoNode);
  EXPECT_EQ(FromPass(), "");
  EXPECT_EQ(planner_.Hint(PodId{4}), kNoNode);
}

TEST_F(CheckInputTest, CandidateThatDoesNotExistIsRefused) {
  for (const NodeId none : {NodeId{2}, kNoNode}) {
    candidates_[1] = none;
    input_.candidates = candidates_;
    ExpectFromAll("candidates[1]: there is no node " + std::to_string(Index(none)) +
                  "; the catalog has 2");
  }
}

TEST_F(CheckInputTest, CandidateThatComesTwiceIsRefused) {
  candidates_ = {N("b"), N("a"), N("b")};
  input_.candidates = candidates_;
  ExpectFromAll("candidates[2]: node b comes twice, first as candidates[0]");
}

TEST_F(CheckInputTest, DestinationsThatDoNotRangeOverTheNodesAreRefused) {
  NodeSet destinations(1);
  destinations.Insert(NodeId{0});
  input_.destinations = &destinations;
  const std::string message = "destinations: ranges over 1 nodes, and the catalog has 2";
  EXPECT_EQ(FromPass(), message);
  EXPECT_EQ(FromMakePlan(), message);
  destinations = NodeSet();  // It has no words that could be written.
  EXPECT_EQ(FromPass(), "destinations: ranges over 0 nodes, and the catalog has 2");
  destinations.Resize(2);
  EXPECT_EQ(FromPass(), "");
  EXPECT_EQ(FromMakePlan(), "");
}

TEST_F(CheckInputTest, NodesInDeletionAreNodesThatComeOnceEach) {
  std::vector<NodeId> nodes = {N("a"), NodeId{9}};
  input_.in_deletion = nodes;
  EXPECT_EQ(FromPass(), "in_deletion[1]: there is no node 9; the catalog has 2");
  nodes[1] = N("a");
  EXPECT_EQ(FromPass(), "in_deletion[1]: node a comes twice, first as in_deletion[0]");
  input_.in_deletion = std::span(nodes).first(1);
  EXPECT_EQ(FromPass(), "");
}

TEST_F(CheckInputTest, PendingPodThatDoesNotExistIsRefused) {
  for (const PodId none : {PodId{4}, kNoPod}) {
    pending_[0] = none;
    input_.pending = pending_;
    ExpectFromAll("pending[0]: there is no pod " + std::to_string(Index(none)) +
                  "; the catalog has 4");
  }
}

TEST_F(CheckInputTest, PendingPodThatIsPlacedIsRefused) {
  pending_[1] = P("q");
  input_.pending = pending_;
  ExpectFromAll("pending[1]: pod default/q runs on node b");
}

TEST_F(CheckInputTest, PendingPodThatComesTwiceIsRefused) {
  pending_ = {P("x"), P("w"), P("x")};
  input_.pending = pending_;
  ExpectFromAll("pending[2]: pod default/x comes twice, first as pending[0]");
}

TEST_F(CheckInputTest, MorePodsThatMustFitThanPendingOnesAreRefused) {
  input_.must_fit = 2;
  EXPECT_EQ(FromPass(), "");
  input_.must_fit = 3;
  EXPECT_EQ(FromPass(), "must_fit: 3 is more than the 2 pods of pending");
}

TEST_F(CheckInputTest, StandingCandidatesAreCandidatesAndNoDestinations) {
  input_.standing = input_.candidates.size() + 1;
  EXPECT_EQ(FromPass(), absl::StrCat("standing: ", input_.standing, " is more than the ",
                                     input_.candidates.size(), " candidates"));
  input_.standing = 1;
  EXPECT_THAT(FromPass(), ::testing::EndsWith(" is a destination"));
  NodeSet destinations = snapshot_.alive();
  destinations.Erase(input_.candidates.front());
  input_.destinations = &destinations;
  EXPECT_EQ(FromPass(), "");
}

TEST_F(CheckInputTest, EvictedPodThatDoesNotExistOrComesTwiceIsRefused) {
  std::vector<PodId> evicting = {P("p"), PodId{9}};
  input_.evicting = evicting;
  EXPECT_EQ(FromPass(), "evicting[1]: there is no pod 9; the catalog has 4");
  evicting[1] = P("p");
  EXPECT_EQ(FromPass(), "evicting[1]: pod default/p comes twice, first as evicting[0]");
}

TEST_F(CheckInputTest, TimeOutsideTheCalendarIsRefused) {
  for (const int64_t time_s :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    input_.now_s = time_s;
    ExpectFromAll("now_s: " + std::to_string(time_s) +
                  " is not a Unix time between the years 1 and 9999");
  }
}

TEST_F(CheckInputTest, TimesOfEventsAndEvictionsAreCheckedToo) {
  RoundInput input;
  input.now_s = kPassTime;
  const std::vector<ScaleEvent> events = {
      {ScaleEventKind::kScaleUp, "group", kPassTime},
      {ScaleEventKind::kScaleUp, "group", std::numeric_limits<int64_t>::max()}};
  input.events = events;
  EXPECT_THAT(ErrorOf([&] { return rounds_.Round(snapshot_, groups_, input); }),
              StartsWith("events[1].at_s: 9223372036854775807 is not a Unix time"));
  ActuationStatus actuation;
  actuation.recent_evictions.emplace_back().evicted_at_s = std::numeric_limits<int64_t>::min();
  input.events = {};
  input.actuation = &actuation;
  EXPECT_THAT(ErrorOf([&] { return rounds_.Round(snapshot_, groups_, input); }),
              StartsWith("actuation.recent_evictions[0].evicted_at_s: -9223372036854775808 is no"));
}

// Symptom: every node was eligible with such a threshold.
TEST_F(CheckInputTest, ThresholdsThatAreNotNumbersAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  groups_.groups[0].scale_down_utilization_threshold = nan;
  ExpectFromAll("groups.groups[0].scale_down_utilization_threshold: is not a number");
  groups_.groups[0].scale_down_utilization_threshold.reset();
  PlannerOptions options;
  options.scale_down_gpu_utilization_threshold = nan;
  Planner planner(options);
  EXPECT_EQ(ErrorOf([&] { return planner.Pass(snapshot_, groups_, input_); }),
            "scale_down_gpu_utilization_threshold: is not a number");
  ScaleDownOptions of_rounds;
  of_rounds.max_total_unready_percentage = nan;
  ScaleDown rounds(of_rounds);
  RoundInput input;
  input.now_s = kPassTime;
  EXPECT_EQ(ErrorOf([&] { return rounds.Round(snapshot_, groups_, input); }),
            "max_total_unready_percentage: is not a number");
}

TEST_F(CheckInputTest, DurationsOfMoreThanACenturyAreRefused) {
  constexpr int64_t kTooLong = kLongestDurationS + 1;
  groups_.groups[0].scale_down_unready_time_s = kTooLong;
  ExpectFromAll(
      "groups.groups[0].scale_down_unready_time_s: 3162240001 s is longer than a century");
  groups_.groups[0].scale_down_unready_time_s.reset();
  const auto expect_refused = [&](int64_t& duration_s, ScaleDownOptions& options,
                                  const std::string& field) {
    duration_s = std::numeric_limits<int64_t>::max();
    ScaleDown rounds(options);
    RoundInput input;
    input.now_s = kPassTime;
    EXPECT_THAT(ErrorOf([&] { return rounds.Round(snapshot_, groups_, input); }),
                StartsWith(field + ": 9223372036854775807 s is longer"));
    duration_s = 0;
  };
  ScaleDownOptions options;
  expect_refused(options.planner.unremovable_node_recheck_timeout_s, options,
                 "unremovable_node_recheck_timeout_s");
  expect_refused(options.planner.drain.blocking_system_pod_disruption_timeout_s, options,
                 "drain.blocking_system_pod_disruption_timeout_s");
  expect_refused(options.deletion.scale_down_unneeded_time_s, options,
                 "deletion.scale_down_unneeded_time_s");
  expect_refused(options.deletion.scale_down_unready_time_s, options,
                 "deletion.scale_down_unready_time_s");
  expect_refused(options.cooldown.scale_down_delay_after_add_s, options,
                 "cooldown.scale_down_delay_after_add_s");
  expect_refused(options.cooldown.scale_down_delay_after_delete_s, options,
                 "cooldown.scale_down_delay_after_delete_s");
  expect_refused(options.cooldown.scale_down_delay_after_failure_s, options,
                 "cooldown.scale_down_delay_after_failure_s");
  expect_refused(options.max_node_startup_time_s, options, "max_node_startup_time_s");
  expect_refused(options.clock_jump_max_s, options, "clock_jump_max_s");
  expect_refused(options.node_deletion_candidate_ttl_s, options, "node_deletion_candidate_ttl_s");
  expect_refused(options.recent_eviction_ttl_s, options, "recent_eviction_ttl_s");
}

TEST_F(CheckInputTest, OpenForkIsRefusedByPlansAndRounds) {
  snapshot_.Fork();
  EXPECT_EQ(FromMakePlan(), "snapshot: 1 fork is open");
  EXPECT_EQ(FromRound(), "snapshot: 1 fork is open");
  EXPECT_EQ(FromPass(), "") << "a pass is one fork more";
  snapshot_.Fork();
  EXPECT_EQ(FromRound(), "snapshot: 2 forks are open");
  snapshot_.Revert();
  snapshot_.Revert();
  EXPECT_EQ(FromRound(), "");
}

TEST_F(CheckInputTest, GhostIsRefused) {
  snapshot_.SetGhost(N("b"));
  ExpectFromAll("snapshot: node b is a ghost");
}

TEST_F(CheckInputTest, SnapshotWithOtherSymbolsThanThoseRememberedIsRefused) {
  ExpectFromAll("");
  const std::shared_ptr<Symbols> symbols = snapshot_.catalog().shared_symbols();
  snapshot_ = Make();
  EXPECT_THAT(FromPass(), HasSubstr("snapshot: its Symbols are not those of the snapshots before"));
  EXPECT_THAT(FromRound(),
              HasSubstr("snapshot: its Symbols are not those of the snapshots before"));
  EXPECT_EQ(FromMakePlan(), "") << "a plan remembers nothing";
  snapshot_ = Make(symbols);
  ExpectFromAll("");
}

TEST_F(CheckInputTest, SnapshotWithOtherSymbolsThanThoseRestoredIsRefused) {
  const auto others = std::make_shared<Symbols>();
  planner_.Restore(PlannerMemory(), others);
  rounds_.Restore(ScaleDownState(), others);
  EXPECT_THAT(FromPass(), HasSubstr("its Symbols are not those"));
  EXPECT_THAT(FromRound(), HasSubstr("its Symbols are not those"));
  snapshot_ = Make(others);
  EXPECT_EQ(FromPass(), "");
  EXPECT_EQ(FromRound(), "");
}

TEST_F(CheckInputTest, RoundThatIsRefusedChangesNoState) {
  EXPECT_EQ(FromRound(), "");
  const ScaleDownState before = rounds_.Save();
  input_.now_s += 3600;
  candidates_[0] = kNoNode;
  input_.candidates = candidates_;
  EXPECT_NE(FromRound(), "");
  const ScaleDownState after = rounds_.Save();
  EXPECT_EQ(after.rounds, before.rounds);
  EXPECT_EQ(after.latest_s, before.latest_s);
  EXPECT_EQ(after.timers, before.timers);
  EXPECT_EQ(after.planner, before.planner);
}

TEST_F(CheckInputTest, PassThatIsRefusedChangesNoMemory) {
  EXPECT_EQ(FromPass(), "");
  const PlannerMemory before = planner_.Save();
  ASSERT_FALSE(before.hints.empty());
  input_.now_s += 3600;
  groups_.group_of.clear();
  EXPECT_NE(FromPass(), "");
  EXPECT_EQ(planner_.Save(), before);
}

TEST_F(CheckInputTest, ASettledPassStillRejectsInvalidInput) {
  for (int pass = 0; pass < 10; ++pass) ASSERT_EQ(FromPass(), "");
  ASSERT_GT(planner_.repeated_passes(), 0u);
  NodeSet destinations(1);
  input_.destinations = &destinations;
  EXPECT_NE(FromPass(), "");
  input_.destinations = nullptr;
  groups_.group_of[0] = GroupId{1};
  EXPECT_NE(FromPass(), "");
}

TEST_F(CheckInputTest, EveryOptionOfAGroupIsChecked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  NodeGroup& group = groups_.groups[0];
  group.scale_down_gpu_utilization_threshold = nan;
  ExpectFromAll("groups.groups[0].scale_down_gpu_utilization_threshold: is not a number");
  group.scale_down_gpu_utilization_threshold.reset();
  group.scale_down_unneeded_time_s = -kLongestDurationS - 1;
  ExpectFromAll(
      "groups.groups[0].scale_down_unneeded_time_s: -3162240001 s is longer than a century");
  // Only the first error is reported.
  group.scale_down_unready_time_s = kLongestDurationS + 1;
  group.scale_down_utilization_threshold = nan;
  ExpectFromAll("groups.groups[0].scale_down_utilization_threshold: is not a number");
  group.scale_down_utilization_threshold = 0.5;
  group.scale_down_unneeded_time_s = -kLongestDurationS;
  group.scale_down_unready_time_s = kLongestDurationS;
  EXPECT_EQ(FromPass(), "");
  EXPECT_EQ(FromMakePlan(), "");
  EXPECT_EQ(FromRound(), "");
}

TEST_F(CheckInputTest, TheThresholdOfAllMustBeANumberToo) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  PlannerOptions options;
  options.scale_down_utilization_threshold = nan;
  Planner planner(options);
  EXPECT_EQ(ErrorOf([&] { return planner.Pass(snapshot_, groups_, input_); }),
            "scale_down_utilization_threshold: is not a number");
  options.scale_down_gpu_utilization_threshold = nan;
  Planner other(options);
  EXPECT_EQ(ErrorOf([&] { return other.Pass(snapshot_, groups_, input_); }),
            "scale_down_utilization_threshold: is not a number");
}

TEST_F(CheckInputTest, APlanFindsTheCandidatesOfItsPassesItself) {
  const std::vector<NodeId> candidates = {N("a")};
  PlanRequest request;
  request.pass.now_s = kPassTime;
  request.pass.candidates = candidates;
  EXPECT_EQ(ErrorOf([&] { return MakePlan(snapshot_, groups_, request); }),
            "pass.candidates: a plan finds those of its passes; name nodes in candidates");
}

TEST_F(CheckInputTest, ASuggestionNamesAPodOnceAndANodeThatExists) {
  const auto expect_message = [&](const std::vector<Move>& places, const std::string& message) {
    PlanRequest request;
    request.pass.now_s = kPassTime;
    request.suggestions = places;
    EXPECT_EQ(ErrorOf([&] { return MakePlan(snapshot_, groups_, request); }), message);
    RoundInput input;
    input.now_s = kPassTime;
    input.suggestions = places;
    EXPECT_EQ(ErrorOf([&] { return rounds_.Round(snapshot_, groups_, input); }), message);
  };
  expect_message({{P("p"), NodeId{2}}}, "suggestions[0]: there is no node 2, the catalog has 2");
  expect_message({{P("p"), N("b")}, {P("q"), kNoNode}},
                 "suggestions[1]: there is no node 4294967295, the catalog has 2");
  expect_message({{PodId{4}, N("b")}}, "suggestions[0]: there is no pod 4; the catalog has 4");
  expect_message({{P("p"), N("b")}, {P("q"), N("a")}, {P("p"), N("b")}},
                 "suggestions[2]: pod default/p comes twice, first as suggestions[0]");
  expect_message({{P("p"), N("b")}, {P("q"), N("a")}}, "");
}

TEST_F(CheckInputTest, EveryRemovalOfAPlanIsChecked) {
  const std::string wrong = "plan.remove[1]: has a node or a pod that the catalog does not have";
  Plan plan;
  plan.remove.resize(2);
  plan.remove[0].node = N("a");
  plan.remove[0].moves = {{P("p"), N("b")}};
  plan.remove[1].node = N("b");
  plan.remove[1].moves = {{P("q"), N("a")}, {P("p"), N("a")}};
  EXPECT_TRUE(CheckPlan(snapshot_.catalog(), plan).ok());
  plan.remove[1].moves[1].to = NodeId{2};
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
  plan.remove[1].moves[1] = {PodId{4}, N("a")};
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
  plan.remove[1].moves.clear();
  plan.remove[1].node = NodeId{2};
  EXPECT_EQ(CheckPlan(snapshot_.catalog(), plan).message(), wrong);
}

TEST_F(CheckInputTest, AShareIsAboveZeroAndAtMostOne) {
  input_.max_workload_share = 0;
  EXPECT_EQ(FromPass(), "max_workload_share: 0 is not above 0 and at most 1");
  input_.max_workload_share = 1.5;
  EXPECT_EQ(FromPass(), "max_workload_share: 1.5 is not above 0 and at most 1");
  input_.max_workload_share = 0.001;
  EXPECT_EQ(FromPass(), "");
  input_.max_workload_share = 1;
  EXPECT_EQ(FromPass(), "");
}

}  // namespace
}  // namespace ebb::check_input_test
