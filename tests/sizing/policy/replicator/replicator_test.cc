#include "sizing/policy/replicator/replicator.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/replicator_operation.h"
#include "tests/support/random_seed.h"

namespace ebb::replicator_test {
namespace {

using Reason = ReplicatorReason;
using testing::ElementsAre;

constexpr int64_t kNow = 1'000'000;

// `count` nodes of 1000 cpu; the last node has all of `used`.
std::vector<ReplicatorNode> Nodes(int count, int64_t used) {
  std::vector<ReplicatorNode> nodes;
  for (int i = 0; i < count; ++i) {
    const std::string id = "n" + std::to_string(i);
    nodes.push_back({.id = id, .address = "10.0.0." + std::to_string(i), .capacity = {1000, 1, 1}});
  }
  if (count > 0) nodes.back().allocations.push_back({.job = "web", .resources = {used, 0, 0}});
  return nodes;
}

ReplicatorObservation Observe(int count, int64_t used) {
  return {.nodes = Nodes(count, used),
          .group = ReplicatorGroup{.min = 1, .max = 10, .desired = count}};
}
ReplicatorObservation Idle() { return Observe(5, 10); }
ReplicatorObservation Full() { return Observe(5, 5000); }

// Options under which a round acts if it passes all checks.
ReplicatorOptions AtOnce() {
  return {.replicator_worker_pool = "web",
          .replicator_notification_uid = "REP1",
          .replicator_scaling_threshold = 1};
}

ReplicatorDecision DecideOnce(const ReplicatorOptions& options,
                              const ReplicatorObservation& observation,
                              ReplicatorState state = {}) {
  return Decide(options, observation, kNow, &state);
}

TEST(ReplicatorTest, IdlePoolLosesItsLeastAllocatedNode) {
  const ReplicatorDecision decision = DecideOnce(AtOnce(), Idle());
  EXPECT_EQ(decision.reason, Reason::kScaleIn);
  EXPECT_EQ(decision.delta, -1);
  EXPECT_EQ(decision.target, 4);
  EXPECT_EQ(decision.node, "n0");
  EXPECT_EQ(decision.address, "10.0.0.0");
}

TEST(ReplicatorTest, FullPoolGainsANode) {
  const ReplicatorDecision decision = DecideOnce(AtOnce(), Full());
  EXPECT_EQ(decision.reason, Reason::kScaleOut);
  EXPECT_EQ(decision.delta, 1);
  EXPECT_EQ(decision.target, 6);
  EXPECT_EQ(decision.node, "");
}

TEST(ReplicatorTest, FactorOnlyAppliesToGrowingAndIsCutToBothBounds) {
  ReplicatorOptions options = AtOnce();
  options.replicator_scale_factor = 3;
  EXPECT_EQ(DecideOnce(options, Full()).target, 8);
  EXPECT_EQ(DecideOnce(options, Idle()).target, 4);
  options.replicator_scale_factor = 9;
  EXPECT_EQ(DecideOnce(options, Full()).target, 10) << "the group's";
  options.replicator_max = 7;
  EXPECT_EQ(DecideOnce(options, Full()).target, 7) << "the pool's";
}

TEST(ReplicatorTest, FactorThatAddsNothingIsDenied) {
  ReplicatorOptions options = AtOnce();
  for (const int64_t factor : {0, -3}) {
    options.replicator_scale_factor = factor;
    EXPECT_EQ(DecideOnce(options, Full()).reason, Reason::kScaleFactor);
    EXPECT_EQ(DecideOnce(options, Idle()).reason, Reason::kScaleIn);
  }
}

TEST(ReplicatorTest, ThirdRequestInARowIsAllowed) {
  ReplicatorOptions options = AtOnce();
  options.replicator_scaling_threshold = 3;
  ReplicatorState state;
  EXPECT_EQ(Decide(options, Full(), kNow, &state).reason, Reason::kScalingThreshold);
  EXPECT_EQ(Decide(options, Full(), kNow, &state).reason, Reason::kScalingThreshold);
  EXPECT_EQ(state.scale_out_requests, 2);
  const ReplicatorDecision third = Decide(options, Full(), kNow, &state);
  EXPECT_EQ(third.reason, Reason::kScaleOut);
  EXPECT_EQ(third.requests, 3);
  EXPECT_EQ(state.scale_out_requests, 0);
}

TEST(ReplicatorTest, ARequestInTheOtherDirectionResetsTheCount) {
  ReplicatorOptions options = AtOnce();
  options.replicator_scaling_threshold = 3;
  ReplicatorState state{.scale_out_requests = 2};
  Decide(options, Idle(), kNow, &state);
  EXPECT_EQ(state.scale_out_requests, 0);
  EXPECT_EQ(state.scale_in_requests, 1);
}

TEST(ReplicatorTest, RoundDeniedBeforeItsNumberNeitherCountsNorInterrupts) {
  ReplicatorOptions options = AtOnce();
  options.replicator_scaling_threshold = 3;
  const ReplicatorState before{.scale_in_requests = 1, .scale_out_requests = 2};
  ReplicatorObservation mismatch = Idle();
  mismatch.group->desired = 6;
  ReplicatorObservation unread = Full();
  unread.group.reset();
  ReplicatorObservation unreadable = Full();
  unreadable.readable = false;
  for (const ReplicatorObservation& observation :
       {mismatch, unread, unreadable, Observe(5, 2900), Observe(0, 0)}) {
    ReplicatorState state = before;
    EXPECT_EQ(Decide(options, observation, kNow, &state).delta, 0);
    EXPECT_EQ(state, before);
  }
}

TEST(ReplicatorTest, CountPastItsThresholdPermits) {
  for (const int64_t threshold : {2, 1, 0, -1}) {
    ReplicatorOptions options = AtOnce();
    options.replicator_scaling_threshold = threshold;
    ReplicatorState state{.scale_out_requests = 4};
    EXPECT_EQ(Decide(options, Full(), kNow, &state).reason, Reason::kScaleOut);
    EXPECT_EQ(state.scale_out_requests, 0);
  }
}

TEST(ReplicatorTest, SimulationWithinTenPercentIsDenied) {
  // Five nodes, one in reserve: 3000 are allowed with one node less.
  EXPECT_EQ(DecideOnce(AtOnce(), Observe(5, 2699)).reason, Reason::kScaleIn);
  EXPECT_EQ(DecideOnce(AtOnce(), Observe(5, 2700)).reason, Reason::kSimulation);
}

TEST(ReplicatorTest, GroupThatCannotBeReadDenies) {
  ReplicatorObservation observation = Full();
  observation.group.reset();
  EXPECT_EQ(DecideOnce(AtOnce(), observation).reason, Reason::kProviderUnreadable);
}

TEST(ReplicatorTest, TheGroupMustHaveAsManyNodesAsAreRegistered) {
  for (const int64_t desired : {4, 6}) {
    ReplicatorObservation observation = Full();
    observation.group->desired = desired;
    EXPECT_EQ(DecideOnce(AtOnce(), observation).reason, Reason::kProviderCountMismatch);
  }
}

TEST(ReplicatorTest, TheGroupsBoundsHoldForTheRequestedDirection) {
  ReplicatorObservation idle = Idle();
  idle.group->min = 5;
  EXPECT_EQ(DecideOnce(AtOnce(), idle).reason, Reason::kProviderMin);
  idle.group->min = 4;
  idle.group->max = 0;
  EXPECT_EQ(DecideOnce(AtOnce(), idle).reason, Reason::kScaleIn);
  ReplicatorObservation full = Full();
  full.group->max = 5;
  EXPECT_EQ(DecideOnce(AtOnce(), full).reason, Reason::kProviderMax);
  full.group->max = 6;
  full.group->min = 9;
  EXPECT_EQ(DecideOnce(AtOnce(), full).reason, Reason::kScaleOut);
}

TEST(ReplicatorTest, ThePoolsBoundsHoldForTheRequestedDirection) {
  ReplicatorOptions options = AtOnce();
  options.replicator_min = 5;
  EXPECT_EQ(DecideOnce(options, Idle()).reason, Reason::kPoolMin);
  options.replicator_min = 4;
  EXPECT_EQ(DecideOnce(options, Idle()).reason, Reason::kScaleIn);
  options.replicator_max = 5;
  EXPECT_EQ(DecideOnce(options, Full()).reason, Reason::kPoolMax);
  options.replicator_max = 6;
  EXPECT_EQ(DecideOnce(options, Full()).reason, Reason::kScaleOut);
}

TEST(ReplicatorTest, PoolWithAMinimumKeepsItsLastNode) {
  ReplicatorOptions options = AtOnce();
  options.replicator_node_fault_tolerance = -1;  // The simulation would allow the removal.
  ReplicatorObservation one = Observe(1, 10);
  one.group->min = 0;
  EXPECT_EQ(DecideOnce(options, one).reason, Reason::kScaleIn);
  options.replicator_min = 0;
  EXPECT_EQ(DecideOnce(options, one).reason, Reason::kPoolMin);
}

TEST(ReplicatorTest, MinimumAboveMaximumNeverActs) {
  ReplicatorOptions options = AtOnce();
  options.replicator_min = 9;
  options.replicator_max = 2;
  EXPECT_EQ(DecideOnce(options, Idle()).reason, Reason::kPoolMin);
  EXPECT_EQ(DecideOnce(options, Full()).reason, Reason::kPoolMax);
}

TEST(ReplicatorTest, CooldownEndsAtItsVeryEnd) {
  const ReplicatorOptions options = AtOnce();  // 300 s.
  ReplicatorState state{.last_event_ms = kNow - 299'999};
  EXPECT_EQ(DecideOnce(options, Full(), state).reason, Reason::kCooldown);
  EXPECT_EQ(DecideOnce(options, Idle(), state).reason, Reason::kCooldown);
  state.last_event_ms = kNow - 300'000;
  EXPECT_EQ(DecideOnce(options, Full(), state).reason, Reason::kScaleOut);
}

TEST(ReplicatorTest, ACooldownOfAnyLengthDoesNotCrash) {
  ReplicatorOptions options = AtOnce();
  options.replicator_cooldown = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(DecideOnce(options, Full(), {.last_event_ms = kNow}).reason, Reason::kCooldown);
  options.replicator_cooldown = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(DecideOnce(options, Full(), {.last_event_ms = kNow}).reason, Reason::kScaleOut);
}

TEST(ReplicatorTest, EveryCheckThatDeniesIsReportedInOrder) {
  ReplicatorOptions options = AtOnce();
  options.replicator_min = 5;
  ReplicatorObservation observation = Observe(5, 2900);
  observation.group = ReplicatorGroup{.min = 6, .max = 10, .desired = 6};
  const ReplicatorDecision decision = DecideOnce(options, observation, {.last_event_ms = kNow});
  EXPECT_EQ(decision.reason, Reason::kSimulation);
  EXPECT_THAT(decision.denied_by,
              ElementsAre(Reason::kSimulation, Reason::kProviderCountMismatch, Reason::kProviderMin,
                          Reason::kPoolMin, Reason::kCooldown));
}

TEST(ReplicatorTest, ProtectedNodeStays) {
  ReplicatorObservation observation = Idle();
  observation.protected_node = "n0";
  EXPECT_EQ(DecideOnce(AtOnce(), observation).node, "n1");
}

TEST(ReplicatorTest, NodeWithoutAnAddressEndsTheRound) {
  ReplicatorObservation observation = Idle();
  observation.nodes[0].address = "";
  ReplicatorState state;
  const ReplicatorDecision decision = Decide(AtOnce(), observation, kNow, &state);
  EXPECT_EQ(decision.reason, Reason::kNoNode);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(state.failure_count, 0);
}

TEST(ReplicatorTest, PoolWithoutNodesIsNotDecided) {
  EXPECT_EQ(DecideOnce(AtOnce(), Observe(0, 0)).reason, Reason::kNoNodes);
}

TEST(ReplicatorTest, NodesWithoutCapacityDoNotCrash) {
  ReplicatorObservation observation = Idle();
  for (ReplicatorNode& node : observation.nodes) node = {.id = node.id, .address = node.address};
  EXPECT_EQ(DecideOnce(AtOnce(), observation).reason, Reason::kScaleOut)
      << "0 of 0 is no number: nothing is used of nothing allowed";
}

TEST(ReplicatorTest, ThreeFailuresPutThePoolIntoFailsafe) {
  ReplicatorState state{.failure_count = 2};
  EXPECT_EQ(Decide(AtOnce(), Full(), kNow, &state).reason, Reason::kScaleOut);
  state.failure_count = 3;
  const ReplicatorDecision decision = Decide(AtOnce(), Full(), kNow, &state);
  EXPECT_EQ(decision.reason, Reason::kFailsafeEntered);
  EXPECT_EQ(decision.notice, (ReplicatorNotice{.alert_uid = "REP1", .resource_id = "web"}));
  EXPECT_TRUE(state.failsafe);
  EXPECT_EQ(state.last_notification_ms, kNow);
}

TEST(ReplicatorTest, FailsafeSurvivesARestartAndIsReportedOnce) {
  ReplicatorState state{.failure_count = 3};
  Decide(AtOnce(), Full(), kNow, &state);
  ReplicatorState restarted = state;
  for (int i = 1; i < 5; ++i) {
    const ReplicatorDecision decision = Decide(AtOnce(), Full(), kNow + i, &restarted);
    EXPECT_EQ(decision.reason, Reason::kFailsafe);
    EXPECT_FALSE(decision.notice);
    EXPECT_EQ(restarted, state);
  }
}

TEST(ReplicatorTest, ANoticeWithoutNotifiersIsNotANotification) {
  ReplicatorObservation observation = Full();
  observation.notifiers = false;
  ReplicatorState state{.failure_count = 3};
  EXPECT_TRUE(Decide(AtOnce(), observation, kNow, &state).notice);
  EXPECT_EQ(state.last_notification_ms, std::nullopt);
}

TEST(ReplicatorTest, RetryThresholdOfZeroIsFailsafeAtOnce) {
  ReplicatorOptions options = AtOnce();
  options.replicator_retry_threshold = 0;
  EXPECT_EQ(DecideOnce(options, Full()).reason, Reason::kFailsafeEntered);
}

TEST(ReplicatorTest, OperatorEndsFailsafeAndForgetsOnlyFailures) {
  std::optional<ReplicatorState> none;
  EXPECT_EQ(SetFailsafe(true, &none), ReplicatorFailsafeAnswer::kNoState);
  std::optional<ReplicatorState> state = ReplicatorState{
      .scale_in_requests = 2, .failure_count = 3, .failsafe = true, .last_event_ms = 5};
  EXPECT_EQ(SetFailsafe(true, &state), ReplicatorFailsafeAnswer::kAlreadySo);
  EXPECT_EQ(state->failure_count, 3);
  EXPECT_EQ(SetFailsafe(false, &state), ReplicatorFailsafeAnswer::kDone);
  EXPECT_EQ(*state, (ReplicatorState{.scale_in_requests = 2, .last_event_ms = 5}));
  EXPECT_EQ(SetFailsafe(false, &state), ReplicatorFailsafeAnswer::kAlreadySo);
  EXPECT_EQ(SetFailsafe(true, &state), ReplicatorFailsafeAnswer::kDone);
  EXPECT_TRUE(state->failsafe);
  EXPECT_EQ(state->last_notification_ms, std::nullopt);
}

TEST(ReplicatorTest, NothingIsDecidedWhileAnOperationRuns) {
  ReplicatorState state;
  StartScaleOut(6, kNow, &state);
  state.failure_count = 3;  // The operation may be in its last attempt.
  const ReplicatorState running = state;
  EXPECT_EQ(Decide(AtOnce(), Full(), kNow, &state).reason, Reason::kOperationRunning);
  EXPECT_EQ(state, running);
  state.operation->outcome = ReplicatorOperation::Outcome::kFailed;
  EXPECT_EQ(Decide(AtOnce(), Full(), kNow, &state).reason, Reason::kFailsafeEntered);
  EXPECT_FALSE(state.operation);
}

TEST(ReplicatorTest, EveryReasonHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Reason::kNoNode); ++i) {
    names.push_back(Name(static_cast<Reason>(i)));
    EXPECT_NE(names.back(), "");
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

// ---------------------------------------------------------------- whatever comes

class Chance {
 public:
  explicit Chance(uint64_t seed) : dice_(seed) {}

  ReplicatorOptions Options() {
    ReplicatorOptions options = AtOnce();
    options.replicator_cooldown = Number(40);
    options.replicator_node_fault_tolerance = Number(3);
    options.replicator_retry_threshold = 1 + dice_.Below(4);
    options.replicator_scaling_threshold = Number(4);
    options.replicator_scale_factor = Number(5);
    if (dice_.Percent(50)) options.replicator_min = Number(8);
    if (dice_.Percent(50)) options.replicator_max = Number(12);
    return options;
  }

  ReplicatorObservation Observation(int64_t desired) {
    ReplicatorObservation observation;
    const int count = static_cast<int>(dice_.Percent(90) ? desired : dice_.Below(9));
    for (int i = 0; i < count; ++i) {
      ReplicatorNode node{.id = "n" + std::to_string(i), .address = "x"};
      node.capacity = Resources();
      node.allocations.push_back({.job = "web", .resources = Resources()});
      observation.nodes.push_back(node);
    }
    if (dice_.Percent(95)) {
      observation.group = ReplicatorGroup{.min = Number(4), .max = Number(14), .desired = desired};
    }
    observation.readable = dice_.Percent(95);
    if (dice_.Percent(20)) observation.protected_node = "n0";
    return observation;
  }

  bool Percent(int percent) { return dice_.Percent(percent); }
  int Below(int bound) { return dice_.Below(bound); }

 private:
  int64_t Number(int bound) {
    if (dice_.Percent(3)) return std::numeric_limits<int64_t>::max();
    if (dice_.Percent(3)) return std::numeric_limits<int64_t>::min();
    return dice_.Below(bound + 2) - 1;
  }
  ReplicatorResources Resources() {
    if (dice_.Percent(2)) return {Number(10), Number(10), Number(10)};
    ReplicatorResources resources;
    resources.cpu = dice_.Below(1000);
    resources.memory = dice_.Below(1000);
    resources.disk = dice_.Below(1000);
    return resources;
  }

  test::Dice dice_;
};

// Invariants of a decision, written from the rules and not from the code.
void ExpectSound(const ReplicatorOptions& options, const ReplicatorObservation& observation,
                 int64_t now_ms, const ReplicatorState& before, const ReplicatorState& after,
                 const ReplicatorDecision& decision) {
  const bool acts = decision.delta != 0;
  ASSERT_EQ(acts, decision.reason == Reason::kScaleIn || decision.reason == Reason::kScaleOut);
  if (!acts) return;
  ASSERT_FALSE(before.failsafe);
  ASSERT_LT(before.failure_count, options.replicator_retry_threshold);
  ASSERT_TRUE(observation.group && observation.readable && !observation.nodes.empty());
  ASSERT_EQ(static_cast<int64_t>(observation.nodes.size()), observation.group->desired);
  ASSERT_EQ(decision.target, observation.group->desired + decision.delta);
  if (before.last_event_ms) {
    ASSERT_GE((now_ms - *before.last_event_ms) / 1000, options.replicator_cooldown);
  }
  if (decision.delta > 0) {
    ASSERT_LE(decision.target, observation.group->max);
    ASSERT_LE(decision.target, options.replicator_max.value_or(decision.target));
    ASSERT_LE(decision.delta, options.replicator_scale_factor);
  } else {
    ASSERT_EQ(decision.delta, -1);
    ASSERT_GE(decision.target, observation.group->min);
    ASSERT_GE(decision.target, options.replicator_min.value_or(decision.target));
    ASSERT_NE(decision.node, observation.protected_node);
    ASSERT_NE(decision.node, "");
  }
  ASSERT_EQ(after.scale_in_requests, 0);
  ASSERT_EQ(after.scale_out_requests, 0);
}

TEST(ReplicatorTest, NoDecisionBreaksABoundOrActsWhenItMustNot) {
  const uint64_t seed = test::RandomSeed();
  int64_t acted = 0;
  for (uint64_t game = 0; game < 400; ++game) {
    Chance chance(seed * 1'000'003 + game);
    const ReplicatorOptions options = chance.Options();
    ReplicatorState state;
    int64_t now_ms = kNow;
    int64_t desired = 1 + chance.Below(6);
    for (int i = 0; i < 60; ++i) {
      now_ms += 10'000;
      const ReplicatorObservation observation = chance.Observation(desired);
      const ReplicatorState before = state;
      ReplicatorState restarted = state;
      const ReplicatorDecision decision = Decide(options, observation, now_ms, &state);
      Decide(options, observation, now_ms, &restarted);
      ASSERT_EQ(state, restarted);
      ASSERT_NO_FATAL_FAILURE(ExpectSound(options, observation, now_ms, before, state, decision));
      if (decision.delta == 0) continue;
      ++acted;
      if (chance.Percent(70)) {
        desired = decision.target;
        state.last_event_ms = now_ms;
        state.failure_count = 0;
      } else {
        ++state.failure_count;
      }
      if (state.failsafe && chance.Percent(20)) state = {};
    }
  }
  EXPECT_GT(acted, 500);
}

TEST(ReplicatorTest, ReasonsHaveNames) {
  const std::pair<Reason, const char*> kNames[] = {
      {Reason::kScaleOut, "ScaleOut"},
      {Reason::kScaleIn, "ScaleIn"},
      {Reason::kFailsafe, "Failsafe"},
      {Reason::kFailsafeEntered, "FailsafeEntered"},
      {Reason::kOperationRunning, "OperationRunning"},
      {Reason::kUnreadable, "Unreadable"},
      {Reason::kNoNodes, "NoNodes"},
      {Reason::kSimulation, "Simulation"},
      {Reason::kProviderUnreadable, "ProviderUnreadable"},
      {Reason::kProviderCountMismatch, "ProviderCountMismatch"},
      {Reason::kProviderMin, "ProviderMin"},
      {Reason::kProviderMax, "ProviderMax"},
      {Reason::kPoolMin, "PoolMin"},
      {Reason::kPoolMax, "PoolMax"},
      {Reason::kScaleFactor, "ScaleFactor"},
      {Reason::kCooldown, "Cooldown"},
      {Reason::kScalingThreshold, "ScalingThreshold"},
      {Reason::kNoNode, "NoNode"}};
  for (const auto& [reason, name] : kNames) EXPECT_EQ(Name(reason), name);
}

TEST(ReplicatorTest, AnEndedOperationIsForgottenAndTheRoundContinues) {
  ReplicatorState state;
  StartScaleOut(6, kNow, &state);
  state.operation->outcome = ReplicatorOperation::Outcome::kSucceeded;
  EXPECT_EQ(Decide(AtOnce(), Full(), kNow, &state).reason, Reason::kScaleOut);
  EXPECT_FALSE(state.operation);
}

TEST(ReplicatorTest, AnUnreadableRoundIsReportedAndItsTargetIsTheGroups) {
  ReplicatorObservation observation = Full();
  observation.readable = false;
  const ReplicatorDecision decision = DecideOnce(AtOnce(), observation);
  EXPECT_EQ(decision.reason, Reason::kUnreadable);
  EXPECT_EQ(decision.target, 5);
  EXPECT_FALSE(decision.figures);
}

TEST(ReplicatorTest, EveryCheckThatDeniesGrowthIsReportedInOrder) {
  ReplicatorOptions options = AtOnce();
  options.replicator_max = 5;
  options.replicator_scale_factor = 0;
  ReplicatorObservation observation = Full();
  observation.group = ReplicatorGroup{.min = 1, .max = 6, .desired = 6};
  EXPECT_THAT(DecideOnce(options, observation, {.last_event_ms = kNow}).denied_by,
              ElementsAre(Reason::kProviderCountMismatch, Reason::kProviderMax, Reason::kPoolMax,
                          Reason::kScaleFactor, Reason::kCooldown));
}

TEST(ReplicatorTest, MoreFailuresThanTheThresholdAreFailsafeToo) {
  ReplicatorState state{.failure_count = 4};  // A last attempt has failed as well.
  EXPECT_EQ(Decide(AtOnce(), Full(), kNow, &state).reason, Reason::kFailsafeEntered);
  EXPECT_TRUE(state.failsafe);
  EXPECT_EQ(state.failure_count, 4);
}

TEST(ReplicatorTest, APoolWithOnlyItsProtectedNodeLosesNone) {
  ReplicatorOptions options = AtOnce();
  options.replicator_node_fault_tolerance = -1;  // The simulation would allow the removal.
  ReplicatorObservation one = Observe(1, 10);
  one.group->min = 0;
  one.protected_node = "n0";
  const ReplicatorDecision decision = DecideOnce(options, one);
  EXPECT_EQ(decision.reason, Reason::kNoNode);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.target, 1);
  EXPECT_EQ(decision.node, "");
}

TEST(ReplicatorTest, ARequestToGrowEndsTheCountOfThoseToShrink) {
  ReplicatorOptions options = AtOnce();
  options.replicator_scaling_threshold = 3;
  ReplicatorState state{.scale_in_requests = 2};
  const ReplicatorDecision decision = Decide(options, Full(), kNow, &state);
  EXPECT_EQ(decision.reason, Reason::kScalingThreshold);
  EXPECT_EQ(decision.requests, 1);
  EXPECT_EQ(decision.target, 5);
  EXPECT_EQ(state, ReplicatorState{.scale_out_requests = 1});
}

}  // namespace
}  // namespace ebb::replicator_test
