#include "tests/policies/replicator_operation.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::replicator_operation_test {
namespace {

using Kind = ReplicatorCallKind;
using Outcome = ReplicatorOperation::Outcome;
using testing::ElementsAre;

const ReplicatorAnswer kDone = {ReplicatorAnswer::kDone};
constexpr int64_t kStart = 1'000'000;

ReplicatorAnswer NotYet() { return {ReplicatorAnswer::kNotYet}; }
ReplicatorAnswer Error() { return {ReplicatorAnswer::kError}; }

ReplicatorCall CallAt(Kind kind, int64_t after_ms, int64_t until_ms) {
  return {kind, kStart + after_ms, kStart + until_ms};
}

// The call that follows the answer.
ReplicatorCall Next(ReplicatorState& state, int64_t after_ms, const ReplicatorAnswer& answer) {
  Answer({}, answer, kStart + after_ms, &state);
  return state.operation->call;
}

// A world that gives each call the answer that a test has set, or otherwise kDone.
class Player {
 public:
  explicit Player(ReplicatorState state = {}) : state_(std::move(state)) {}

  ReplicatorOptions options;
  std::map<Kind, std::function<ReplicatorAnswer(int64_t now_ms)>> answers;

  Outcome ScaleOut() {
    StartScaleOut(8, kStart, &state_);
    return Play();
  }
  Outcome ScaleIn() {
    StartScaleIn("node-a", "i-a", kStart, &state_);
    return Play();
  }

  [[nodiscard]] const ReplicatorState& state() const { return state_; }
  [[nodiscard]] const std::vector<Kind>& calls() const { return calls_; }
  [[nodiscard]] int64_t took_ms() const { return now_ms_ - kStart; }
  [[nodiscard]] size_t Count(Kind kind) const {
    return static_cast<size_t>(std::count(calls_.begin(), calls_.end(), kind));
  }

 private:
  Outcome Play() {
    for (int i = 0; i < 10'000 && state_.operation->outcome == Outcome::kRunning; ++i) {
      const ReplicatorCall call = state_.operation->call;
      EXPECT_GE(call.at_ms, now_ms_);
      now_ms_ = call.at_ms;
      calls_.push_back(call.kind);
      ReplicatorAnswer answer = kDone;
      if (call.kind == Kind::kFindNewest) answer = {ReplicatorAnswer::kDone, "i-new", now_ms_};
      if (const auto given = answers.find(call.kind); given != answers.end()) {
        answer = given->second(now_ms_);
      }
      ReplicatorState restarted = state_;
      Answer(options, answer, now_ms_, &state_);
      Answer(options, answer, now_ms_, &restarted);
      EXPECT_EQ(state_, restarted);
    }
    return state_.operation->outcome;
  }

  ReplicatorState state_;
  std::vector<Kind> calls_;
  int64_t now_ms_ = kStart;
};

// Answers kDone from `at_ms` after the start on.
std::function<ReplicatorAnswer(int64_t)> From(int64_t at_ms) {
  return [at_ms](int64_t now_ms) { return now_ms - kStart >= at_ms ? kDone : NotYet(); };
}
std::function<ReplicatorAnswer(int64_t)> Always(ReplicatorAnswer answer) {
  return [answer = std::move(answer)](int64_t) { return answer; };
}

TEST(ReplicatorOperationTest, ScaleOutEndsWhenTheNewestInstanceHasJoined) {
  Player player({.failure_count = 2});
  EXPECT_EQ(player.ScaleOut(), Outcome::kSucceeded);
  EXPECT_THAT(player.calls(), ElementsAre(Kind::kSetDesired, Kind::kReadInstances,
                                          Kind::kFindNewest, Kind::kFindMember));
  EXPECT_EQ(player.took_ms(), 20'500);
  EXPECT_EQ(player.state().failure_count, 0);
  EXPECT_EQ(player.state().last_event_ms, kStart + 20'500);
  EXPECT_EQ(player.state().operation->instance, "i-new");
  EXPECT_EQ(player.state().operation->desired, 8);
}

TEST(ReplicatorOperationTest, ScaleInDrainsDetachesAndTerminates) {
  Player player({.failure_count = 2});
  EXPECT_EQ(player.ScaleIn(), Outcome::kSucceeded);
  EXPECT_THAT(player.calls(), ElementsAre(Kind::kDrain, Kind::kReadAllocations, Kind::kDetach,
                                          Kind::kTerminate, Kind::kReadTermination));
  EXPECT_EQ(player.took_ms(), 10'500);
  EXPECT_EQ(player.state().failure_count, 0);
  EXPECT_EQ(player.state().last_event_ms, kStart + 10'500);
}

TEST(ReplicatorOperationTest, DetachmentThatTakesTimeIsWaitedFor) {
  Player player;
  player.answers[Kind::kDetach] = Always(NotYet());
  player.answers[Kind::kReadDetach] = From(30'000);
  EXPECT_EQ(player.ScaleIn(), Outcome::kSucceeded);
  EXPECT_EQ(player.Count(Kind::kReadDetach), 3U);
  EXPECT_EQ(player.took_ms(), 40'500);
}

TEST(ReplicatorOperationTest, StepOfAScaleInThatFailsTerminatesNothingAndCounts) {
  for (const Kind kind : {Kind::kDrain, Kind::kReadAllocations, Kind::kDetach}) {
    Player player({.failure_count = 1, .last_event_ms = 7});
    player.answers[kind] = Always(Error());
    EXPECT_EQ(player.ScaleIn(), Outcome::kFailed);
    EXPECT_EQ(player.state().operation->call.kind, kind);
    EXPECT_EQ(player.state().failure_count, 2);
    EXPECT_EQ(player.state().last_event_ms, 7);
    EXPECT_EQ(player.Count(Kind::kTerminate), 0U);
  }
}

TEST(ReplicatorOperationTest, TerminationThatFailsCounts) {
  for (const Kind kind : {Kind::kTerminate, Kind::kReadTermination}) {
    Player player;
    player.answers[kind] = Always(Error());
    EXPECT_EQ(player.ScaleIn(), Outcome::kFailed);
    EXPECT_EQ(player.state().failure_count, 1);
    EXPECT_EQ(player.state().last_event_ms, std::nullopt);
  }
}

TEST(ReplicatorOperationTest, DrainMayTakeThreeMinutes) {
  Player player;
  player.answers[Kind::kReadAllocations] = From(180'000);
  EXPECT_EQ(player.ScaleIn(), Outcome::kSucceeded);
  EXPECT_EQ(player.Count(Kind::kReadAllocations), 360U);
}

TEST(ReplicatorOperationTest, DrainThatDoesNotEndTerminatesNothingAndCounts) {
  Player player;
  player.answers[Kind::kReadAllocations] = Always(NotYet());
  EXPECT_EQ(player.ScaleIn(), Outcome::kFailed);
  EXPECT_EQ(player.took_ms(), 180'000);
  EXPECT_EQ(player.state().failure_count, 1);
  EXPECT_EQ(player.Count(Kind::kDetach), 0U);
  EXPECT_EQ(player.Count(Kind::kTerminate), 0U);
}

TEST(ReplicatorOperationTest, EveryLookHasItsEnd) {
  Player detach;
  detach.answers[Kind::kDetach] = Always(NotYet());
  detach.answers[Kind::kReadDetach] = Always(NotYet());
  EXPECT_EQ(detach.ScaleIn(), Outcome::kFailed);
  EXPECT_EQ(detach.took_ms(), 500 + 600'000);
  EXPECT_EQ(detach.Count(Kind::kTerminate), 0U);

  Player termination;
  termination.answers[Kind::kReadTermination] = Always(NotYet());
  EXPECT_EQ(termination.ScaleIn(), Outcome::kFailed);
  EXPECT_EQ(termination.took_ms(), 500 + 180'000);

  Player instances;
  instances.answers[Kind::kReadInstances] = Always(NotYet());
  EXPECT_EQ(instances.ScaleOut(), Outcome::kFailed);
  EXPECT_EQ(instances.took_ms(), 180'000);
  EXPECT_EQ(instances.state().failure_count, 1);
}

TEST(ReplicatorOperationTest, GroupThatCannotBeReadIsReadAgain) {
  Player player;
  player.answers[Kind::kReadInstances] = [](int64_t now_ms) {
    return now_ms - kStart >= 5'000 ? kDone : Error();
  };
  EXPECT_EQ(player.ScaleOut(), Outcome::kSucceeded);
}

TEST(ReplicatorOperationTest, DesiredCountThatIsRefusedCounts) {
  Player player;
  player.answers[Kind::kSetDesired] = Always(Error());
  EXPECT_EQ(player.ScaleOut(), Outcome::kFailed);
  EXPECT_EQ(player.state().failure_count, 1);
}

TEST(ReplicatorOperationTest, InstanceLaunchedNinetySecondsBeforeTheSearchIsNotNew) {
  const auto outcome = [](int64_t launched_ms) {
    Player player;
    player.options.replicator_retry_threshold = 0;
    player.answers[Kind::kFindNewest] = [launched_ms](int64_t) {
      return ReplicatorAnswer{ReplicatorAnswer::kDone, "i-old", launched_ms};
    };
    return player.ScaleOut();
  };
  const int64_t search_ms = kStart + 500;
  EXPECT_EQ(outcome(search_ms - 90'000), Outcome::kFailed);
  EXPECT_EQ(outcome(search_ms - 89'999), Outcome::kSucceeded);
}

TEST(ReplicatorOperationTest, InstanceThatDoesNotJoinIsReplaced) {
  Player player;
  player.answers[Kind::kFindMember] = From(400'000);
  EXPECT_EQ(player.ScaleOut(), Outcome::kSucceeded);
  EXPECT_EQ(player.Count(Kind::kTerminate), 1U);
  EXPECT_EQ(player.Count(Kind::kDetach), 0U);
  EXPECT_EQ(player.state().failure_count, 0);
  EXPECT_EQ(player.Count(Kind::kSetDesired), 1U);
}

TEST(ReplicatorOperationTest, LastInstanceThatDoesNotJoinIsLeftRunningAndOneMoreTryFollows) {
  Player player;
  bool detached = false;
  player.answers[Kind::kFindMember] = Always(NotYet());
  player.answers[Kind::kDetach] = [&](int64_t) {
    detached = true;
    return kDone;
  };
  player.answers[Kind::kFindNewest] = [&](int64_t now_ms) {
    return detached ? Error() : ReplicatorAnswer{ReplicatorAnswer::kDone, "i", now_ms};
  };
  EXPECT_EQ(player.ScaleOut(), Outcome::kFailed);
  EXPECT_EQ(player.Count(Kind::kTerminate), 2U);
  EXPECT_EQ(player.Count(Kind::kDetach), 1U);
  EXPECT_EQ(player.state().failure_count, 4) << "one more than the threshold";
  EXPECT_EQ(player.took_ms(), 500 + 3 * 310'000 + 2 * 10'000 + 300'000);
  EXPECT_FALSE(player.state().failsafe) << "comes with the next round";
}

TEST(ReplicatorOperationTest, FailuresBeforeCountForTheLastInstance) {
  Player player({.failure_count = 2});
  player.answers[Kind::kFindMember] = Always(NotYet());
  EXPECT_EQ(player.ScaleOut(), Outcome::kFailed);
  EXPECT_EQ(player.Count(Kind::kDetach), 1U);
  EXPECT_EQ(player.Count(Kind::kTerminate), 1U) << "of the try after it";
}

TEST(ReplicatorOperationTest, CleanUpThatFailsDoesNotEndTheTries) {
  Player player;
  player.answers[Kind::kFindMember] = From(400'000);
  player.answers[Kind::kTerminate] = Always(Error());
  EXPECT_EQ(player.ScaleOut(), Outcome::kSucceeded);
  Player slow;
  slow.answers[Kind::kFindMember] = From(600'000);
  slow.answers[Kind::kReadTermination] = Always(NotYet());
  EXPECT_EQ(slow.ScaleOut(), Outcome::kSucceeded);
  EXPECT_EQ(slow.Count(Kind::kReadTermination), 18U);
}

TEST(ReplicatorOperationTest, FailsafeEndsAnOperationBeforeItsNextCall) {
  ReplicatorState state;
  StartScaleIn("node-a", "i-a", kStart, &state);
  state.failsafe = true;
  Answer({}, kDone, kStart, &state);
  EXPECT_EQ(state.operation->outcome, Outcome::kAbandoned);
  EXPECT_EQ(state.failure_count, 0);
}

TEST(ReplicatorOperationTest, FailsafeLeavesAnOperationAsItEnded) {
  ReplicatorState state;
  StartScaleIn("node-a", "i-a", kStart, &state);
  state.failsafe = true;
  Answer({}, Error(), kStart, &state);
  EXPECT_EQ(state.operation->outcome, Outcome::kFailed);
}

TEST(ReplicatorOperationTest, AnswerWithoutARunningOperationChangesNothing) {
  ReplicatorState state;
  Answer({}, kDone, kStart, &state);
  EXPECT_EQ(state, ReplicatorState{});
  StartScaleIn("node-a", "i-a", kStart, &state);
  Answer({}, Error(), kStart, &state);
  const ReplicatorState failed = state;
  Answer({}, Error(), kStart, &state);
  EXPECT_EQ(state, failed);
}

TEST(ReplicatorOperationTest, CallThatIsNotTheOperationsFailsIt) {
  ReplicatorState state;
  StartScaleIn("node-a", "i-a", kStart, &state);
  state.operation->call.kind = Kind::kSetDesired;
  Answer({}, kDone, kStart, &state);
  EXPECT_EQ(state.operation->outcome, Outcome::kFailed);
}

TEST(ReplicatorOperationTest, EveryCallHasItsName) {
  using enum ReplicatorCallKind;
  std::vector<std::string> names;
  for (const ReplicatorCallKind kind :
       {kSetDesired, kReadInstances, kFindNewest, kFindMember, kDrain, kReadAllocations, kDetach,
        kReadDetach, kTerminate, kReadTermination}) {
    names.emplace_back(Name(kind));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("SetDesired", "ReadInstances", "FindNewest",
                                            "FindMember", "Drain", "ReadAllocations", "Detach",
                                            "ReadDetach", "Terminate", "ReadTermination"));
}

TEST(ReplicatorOperationTest, AnOperationBeginsWithItsFirstCallAtOnce) {
  ReplicatorState state;
  StartScaleOut(8, kStart, &state);
  EXPECT_EQ(state.operation, (ReplicatorOperation{.direction = ReplicatorDirection::kOut,
                                                  .call = {Kind::kSetDesired, kStart, kStart},
                                                  .desired = 8}));
  StartScaleIn("node-a", "i-a", kStart, &state);
  EXPECT_EQ(state.operation, (ReplicatorOperation{.direction = ReplicatorDirection::kIn,
                                                  .call = {Kind::kDrain, kStart, kStart},
                                                  .node = "node-a",
                                                  .instance = "i-a"}));
}

TEST(ReplicatorOperationTest, EachCallOfAScaleInHasItsTimes) {
  ReplicatorState state;
  StartScaleIn("node-a", "i-a", kStart, &state);
  EXPECT_EQ(Next(state, 5, kDone), CallAt(Kind::kReadAllocations, 505, 180'005));
  EXPECT_EQ(Next(state, 600, NotYet()), CallAt(Kind::kReadAllocations, 1'100, 180'005));
  EXPECT_EQ(Next(state, 1'100, kDone), CallAt(Kind::kDetach, 1'100, 1'100));
  EXPECT_EQ(Next(state, 1'200, NotYet()), CallAt(Kind::kReadDetach, 11'200, 601'200));
  EXPECT_EQ(Next(state, 11'200, NotYet()), CallAt(Kind::kReadDetach, 21'200, 601'200));
  EXPECT_EQ(Next(state, 21'200, kDone), CallAt(Kind::kTerminate, 21'200, 21'200));
  EXPECT_EQ(Next(state, 21'300, kDone), CallAt(Kind::kReadTermination, 31'300, 201'300));
  EXPECT_EQ(Next(state, 31'300, NotYet()), CallAt(Kind::kReadTermination, 41'300, 201'300));
  EXPECT_EQ(state.operation->outcome, Outcome::kRunning);
  Next(state, 41'300, kDone);
  EXPECT_EQ(state.operation->outcome, Outcome::kSucceeded);
  EXPECT_EQ(state.last_event_ms, kStart + 41'300);
  EXPECT_EQ(state.operation->node, "node-a");
}

TEST(ReplicatorOperationTest, EachCallOfAScaleOutHasItsTimesAndALostInstanceIsForgotten) {
  ReplicatorState state;
  StartScaleOut(8, kStart, &state);
  EXPECT_EQ(Next(state, 0, kDone), CallAt(Kind::kReadInstances, 500, 180'000));
  EXPECT_EQ(Next(state, 500, Error()), CallAt(Kind::kReadInstances, 1'000, 180'000));
  EXPECT_EQ(Next(state, 1'000, kDone), CallAt(Kind::kFindNewest, 11'000, 301'000));
  EXPECT_EQ(Next(state, 11'000, NotYet()), CallAt(Kind::kFindNewest, 21'000, 301'000));
  const ReplicatorAnswer newest = {ReplicatorAnswer::kDone, "i-new", kStart};
  EXPECT_EQ(Next(state, 21'000, newest), CallAt(Kind::kFindMember, 31'000, 321'000));
  EXPECT_EQ(Next(state, 31'000, NotYet()), CallAt(Kind::kFindMember, 41'000, 321'000));
  EXPECT_EQ(state.failure_count, 0);
  // The instance does not join.
  EXPECT_EQ(Next(state, 321'000, NotYet()), CallAt(Kind::kTerminate, 321'000, 321'000));
  EXPECT_EQ(state.failure_count, 1);
  EXPECT_EQ(state.operation->instance, "i-new");
  EXPECT_EQ(Next(state, 321'000, NotYet()), CallAt(Kind::kReadTermination, 331'000, 501'000));
  EXPECT_EQ(state.operation->instance, "i-new");
  EXPECT_EQ(Next(state, 331'000, kDone), CallAt(Kind::kFindNewest, 341'000, 631'000));
  EXPECT_EQ(state.operation->instance, "");
  EXPECT_EQ(state.operation->outcome, Outcome::kRunning);
}

TEST(ReplicatorOperationTest, ADetachmentThatTakesTimeIsWaitedForInAScaleOutToo) {
  Player player;
  player.options.replicator_retry_threshold = 1;
  player.answers[Kind::kFindMember] = From(400'000);
  player.answers[Kind::kDetach] = Always(NotYet());
  player.answers[Kind::kReadDetach] = From(330'000);
  EXPECT_EQ(player.ScaleOut(), Outcome::kSucceeded);
  EXPECT_EQ(player.Count(Kind::kDetach), 1U);
  EXPECT_EQ(player.Count(Kind::kReadDetach), 2U);
  EXPECT_EQ(player.Count(Kind::kTerminate), 0U);
  EXPECT_EQ(player.took_ms(), 400'500);
}

}  // namespace
}  // namespace ebb::replicator_operation_test
