#include "tests/policies/replicator_operation.h"

#include <utility>

namespace ebb {
namespace {

using Kind = ReplicatorCallKind;
using Outcome = ReplicatorOperation::Outcome;

constexpr int64_t kNewestAgeMaxMs = 90'000;

// How a step is polled: period and timeout, in milliseconds.  Zero for steps that are not polled.
struct Patience {
  int64_t period_ms;
  int64_t total_ms;
};
constexpr Patience PatienceFor(Kind kind) {
  switch (kind) {
    case Kind::kReadInstances:
    case Kind::kReadAllocations:
      return {500, 180'000};
    case Kind::kFindNewest:
    case Kind::kFindMember:
      return {10'000, 300'000};
    case Kind::kReadDetach:
      return {10'000, 600'000};
    case Kind::kReadTermination:
      return {10'000, 180'000};
    default:
      return {0, 0};
  }
}

// One operation, and the state that it changes.
class Operation {
 public:
  Operation(const ReplicatorOptions& options, int64_t now_ms, ReplicatorState* state)
      : options_(options), now_ms_(now_ms), state_(*state), operation_(*state->operation) {}

  void Take(const ReplicatorAnswer& answer) {
    if (operation_.direction == ReplicatorDirection::kOut) {
      TakeScaleOut(answer);
    } else {
      TakeScaleIn(answer);
    }
    if (state_.failsafe && operation_.outcome == Outcome::kRunning) {
      operation_.outcome = Outcome::kAbandoned;
    }
  }

 private:
  // The meaning of an answer for its step.
  enum class Step { kDone, kWaits, kFailed };

  void TakeScaleOut(const ReplicatorAnswer& answer) {
    switch (operation_.call.kind) {
      case Kind::kSetDesired:
        return After(Judge(answer), Kind::kReadInstances);
      case Kind::kReadInstances:
        return After(JudgeLook(answer), Kind::kFindNewest);
      case Kind::kFindNewest:
        return TakeNewest(answer);
      case Kind::kFindMember:
        return TakeMember(answer);
      default:
        return TakeCleanUp(answer);
    }
  }

  void TakeScaleIn(const ReplicatorAnswer& answer) {
    switch (operation_.call.kind) {
      case Kind::kDrain:
        return After(Judge(answer), Kind::kReadAllocations);
      case Kind::kReadAllocations:
        return After(JudgeLook(answer), Kind::kDetach);
      case Kind::kDetach:
        if (answer.status == ReplicatorAnswer::kNotYet) return Next(Kind::kReadDetach);
        return After(Judge(answer), Kind::kTerminate);
      case Kind::kReadDetach:
        return After(JudgeLook(answer), Kind::kTerminate);
      case Kind::kTerminate:
        return After(Judge(answer), Kind::kReadTermination);
      case Kind::kReadTermination: {
        const Step step = JudgeLook(answer);
        return step == Step::kDone ? Succeed() : After(step, Kind::kReadTermination);
      }
      default:
        return Fail();  // Not a call of a scale-in: the stored state is damaged.
    }
  }

  void TakeNewest(const ReplicatorAnswer& answer) {
    const int64_t started_ms =
        SaturatedSubtract(operation_.call.until_ms, PatienceFor(Kind::kFindNewest).total_ms);
    const bool found = answer.status == ReplicatorAnswer::kDone &&
                       answer.launched_ms > SaturatedSubtract(started_ms, kNewestAgeMaxMs);
    if (found) {
      operation_.instance = answer.instance;
      return Next(Kind::kFindMember);
    }
    if (now_ms_ < operation_.call.until_ms) return Again();
    CountFailure();
    SearchOn();
  }

  void TakeMember(const ReplicatorAnswer& answer) {
    if (answer.status == ReplicatorAnswer::kDone) return Succeed();
    if (now_ms_ < operation_.call.until_ms) return Again();
    CountFailure();
    const bool last = state_.failure_count == options_.replicator_retry_threshold;
    Next(last ? Kind::kDetach : Kind::kTerminate);
  }

  // Cleans up an instance that did not join.  The search goes on even if the cleanup fails.
  void TakeCleanUp(const ReplicatorAnswer& answer) {
    const Kind kind = operation_.call.kind;
    if (kind == Kind::kDetach && answer.status == ReplicatorAnswer::kNotYet) {
      return Next(Kind::kReadDetach);
    }
    if (kind == Kind::kTerminate && answer.status != ReplicatorAnswer::kError) {
      return Next(Kind::kReadTermination);
    }
    const bool look = kind == Kind::kReadDetach || kind == Kind::kReadTermination;
    if (look && JudgeLook(answer) == Step::kWaits) return Again();
    operation_.instance.clear();
    SearchOn();
  }

  static Step Judge(const ReplicatorAnswer& answer) {
    return answer.status == ReplicatorAnswer::kError ? Step::kFailed : Step::kDone;
  }

  // An error in reading the group's instances counts as "not yet"; an error in other polls is a
  // failure.
  [[nodiscard]] Step JudgeLook(const ReplicatorAnswer& answer) const {
    if (answer.status == ReplicatorAnswer::kDone) return Step::kDone;
    const bool error =
        answer.status == ReplicatorAnswer::kError && operation_.call.kind != Kind::kReadInstances;
    return error || now_ms_ >= operation_.call.until_ms ? Step::kFailed : Step::kWaits;
  }

  void After(Step step, Kind next) {
    switch (step) {
      case Step::kDone:
        return Next(next);
      case Step::kWaits:
        return Again();
      case Step::kFailed:
        return Fail();
    }
  }

  void Next(Kind kind) {
    const Patience patience = PatienceFor(kind);
    operation_.call = {.kind = kind,
                       .at_ms = SaturatedAdd(now_ms_, patience.period_ms),
                       .until_ms = SaturatedAdd(now_ms_, patience.total_ms)};
  }

  void Again() {
    operation_.call.at_ms = SaturatedAdd(now_ms_, PatienceFor(operation_.call.kind).period_ms);
  }

  // Searches for a newer instance unless the failures exceed the threshold.  So one more search
  // follows the failure that equals the threshold.
  void SearchOn() {
    if (state_.failure_count > options_.replicator_retry_threshold) {
      operation_.outcome = Outcome::kFailed;
    } else {
      Next(Kind::kFindNewest);
    }
  }

  void CountFailure() { state_.failure_count = SaturatedAdd(state_.failure_count, 1); }

  void Fail() {
    CountFailure();
    operation_.outcome = Outcome::kFailed;
  }

  void Succeed() {
    state_.failure_count = 0;
    state_.last_event_ms = now_ms_;
    operation_.outcome = Outcome::kSucceeded;
  }

  const ReplicatorOptions& options_;
  const int64_t now_ms_;
  ReplicatorState& state_;
  ReplicatorOperation& operation_;
};

}  // namespace

void StartScaleOut(int64_t desired, int64_t now_ms, ReplicatorState* state) {
  state->operation = {.direction = ReplicatorDirection::kOut,
                      .call = {.kind = Kind::kSetDesired, .at_ms = now_ms, .until_ms = now_ms},
                      .desired = desired};
}

void StartScaleIn(std::string node, std::string instance, int64_t now_ms, ReplicatorState* state) {
  state->operation = {.direction = ReplicatorDirection::kIn,
                      .call = {.kind = Kind::kDrain, .at_ms = now_ms, .until_ms = now_ms},
                      .node = std::move(node),
                      .instance = std::move(instance)};
}

void Answer(const ReplicatorOptions& options, const ReplicatorAnswer& answer, int64_t now_ms,
            ReplicatorState* state) {
  if (!state->operation || state->operation->outcome != Outcome::kRunning) return;
  Operation(options, now_ms, state).Take(answer);
}

}  // namespace ebb
