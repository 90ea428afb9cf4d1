#include "sizing/policy/maestro/maestro.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"

namespace ebb {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kMost : kLeast;
}

int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? kMost : kLeast;
}

// The number of points that a trigger with `window` looks at.
int64_t Looked(int64_t window) { return window == kMost ? kMost : window + 1; }

// Whether `delta` can be negated, and added to `available`, without overflow.
bool Fits(int64_t available, int64_t delta) { return delta <= kMost - available && delta > kLeast; }

float Fraction(int64_t percent) { return static_cast<float>(percent) / 100; }

// One round over valid input.
class Round {
 public:
  Round(const MaestroOptions& options, const MaestroTypes& types,
        const MaestroObservation& observation, int64_t now_s, int64_t available,
        MaestroState* state)
      : options_(options),
        types_(types),
        observation_(observation),
        up_(Triggers(options.up)),
        down_(Triggers(options.down)),
        state_(*state) {
    made_.now_s = now_s;
    made_.available = available;
  }

  MaestroDecision Run() {
    PushPoints();
    if (state_.status == MaestroStatus::kCreating || state_.status == MaestroStatus::kTerminating) {
      made_.reason = MaestroReason::kState;
      return std::move(made_);
    }
    if (!AskBounds()) AskTriggers();
    if (!Fits(made_.available, made_.asked)) made_.reason = MaestroReason::kNoNumber;
    if (made_.reason == MaestroReason::kNoNumber) {
      made_.asked = 0;
      return std::move(made_);
    }
    state_.status = status_;
    if (made_.asked != 0) Act();
    return std::move(made_);
  }

 private:
  // Step 1.
  void PushPoints() {
    std::map<std::string, int64_t> kept;
    for (const MaestroTrigger& trigger : up_) kept[trigger.type] = Window(options_, trigger);
    for (const MaestroTrigger& trigger : down_) kept[trigger.type] = Window(options_, trigger);
    for (const auto& [type, window] : kept) {
      const float utilization = types_.Find(type)->utilization(observation_.counts);
      std::vector<MaestroPoint>& points = state_.points[type];
      points.insert(points.begin(), {utilization});
      const int64_t most = Looked(window);
      if (std::cmp_greater(points.size(), most)) points.resize(static_cast<size_t>(most));
      made_.samples.push_back({.type = type, .utilization = utilization, .kept = most});
    }
  }

  // Step 3: whether a bound decides.
  bool AskBounds() {
    if (made_.available < options_.min) {
      made_.reason = MaestroReason::kBelowMin;
      made_.asked = options_.min - made_.available;
    } else if (options_.max > 0 && made_.available > options_.max) {
      made_.reason = MaestroReason::kAboveMax;
      made_.asked = options_.max - made_.available;
    }
    return made_.reason != MaestroReason::kNone;
  }

  // Steps 4 and 5.
  void AskTriggers() {
    if (options_.max == 0 || made_.available < options_.max) {
      AskList(MaestroDirection::kUp, up_, options_.up.cooldown);
    }
    if (made_.reason == MaestroReason::kNone && made_.available > options_.min) {
      AskList(MaestroDirection::kDown, down_, options_.down.cooldown);
    }
  }

  // Sets reason and asked; stops at the first trigger that decides.
  void AskList(MaestroDirection direction, const std::vector<MaestroTrigger>& triggers,
               int64_t cooldown) {
    const bool up = direction == MaestroDirection::kUp;
    for (size_t i = 0; i < triggers.size(); ++i) {
      const MaestroTrigger& trigger = triggers[i];
      made_.checks.push_back({.direction = direction, .index = i, .type = trigger.type});
      MaestroCheck& check = made_.checks.back();
      check.utilization = state_.points[trigger.type].front().utilization;
      check.limit_hit = up && check.utilization >= Fraction(UpLimit(trigger));
      if (!check.limit_hit) Match(trigger, &check);
      if (!check.limit_hit && !check.matched) continue;

      check.delta = types_.Find(trigger.type)->delta(trigger, observation_.counts);
      if (!check.delta) return DecidedBy(MaestroReason::kNoNumber);
      const bool forward = up ? *check.delta > 0 : *check.delta < 0;
      if (!check.limit_hit && !forward) continue;

      status_ = up ? MaestroStatus::kSubdimensioned : MaestroStatus::kOverdimensioned;
      const int64_t since = SaturatingSubtract(made_.now_s, state_.last_scale_op_at);
      check.cooldown = !check.limit_hit && since <= cooldown;
      if (!check.cooldown) {
        made_.asked = *check.delta;
        return DecidedBy(check.limit_hit ? MaestroReason::kLimit : MaestroReason::kTrigger);
      }
      made_.reason = MaestroReason::kCooldown;
    }
  }

  void Match(const MaestroTrigger& trigger, MaestroCheck* check) {
    const std::vector<MaestroPoint>& points = state_.points[trigger.type];
    const float usage = Fraction(trigger.usage);
    check->window = Window(options_, trigger);
    check->points = std::min(std::ssize(points), Looked(check->window));
    for (const MaestroPoint& point : std::span(points).first(static_cast<size_t>(check->points))) {
      const bool beyond = check->direction == MaestroDirection::kUp ? point.utilization > usage
                                                                    : point.utilization < usage;
      if (beyond) ++check->beyond;
    }
    check->matched = SaturatingMultiply(check->beyond, 100) >
                     SaturatingMultiply(trigger.threshold, check->window);
  }

  void DecidedBy(MaestroReason reason) {
    made_.reason = reason;
    made_.decided_by = made_.checks.size() - 1;
  }

  // Step 6.  Whatever the result, the status is then in-sync.
  void Act() {
    state_.status = MaestroStatus::kInSync;
    if (made_.asked > 0) {
      auto [amount, bound] = BoundUp(options_, made_.available, made_.asked);
      if (amount > options_.max_scale_up_amount) {
        amount = options_.max_scale_up_amount;
        bound = MaestroBound::kMaxScaleUpAmount;
      }
      made_.bounded = amount;
      made_.bound = bound;
      made_.refusal = RefuseCreation(options_, observation_);
    } else {
      const auto [amount, bound] = BoundDown(options_, made_.available, -made_.asked);
      made_.bounded = -amount;
      made_.bound = bound;
      if (observation_.counts.rooms.ready < amount) made_.refusal = MaestroRefusal::kTooFewReady;
    }
    if (made_.refusal != MaestroRefusal::kNone) return;
    made_.delta = made_.bounded;
    if (made_.delta == 0) state_.last_scale_op_at = made_.now_s;
  }

  const MaestroOptions& options_;
  const MaestroTypes& types_;
  const MaestroObservation& observation_;
  const std::vector<MaestroTrigger> up_;
  const std::vector<MaestroTrigger> down_;
  MaestroState& state_;
  MaestroStatus status_ = MaestroStatus::kInSync;  // As the triggers determine it.
  MaestroDecision made_;
};

}  // namespace

bool MaestroPoint::operator==(const MaestroPoint& other) const {
  return utilization == other.utilization ||
         (std::isnan(utilization) && std::isnan(other.utilization));
}

MaestroDecision Decide(const MaestroOptions& options, const MaestroTypes& types,
                       const MaestroObservation& observation, int64_t now_s, MaestroState* state) {
  if (!Problems(options, types).empty()) {
    return {.reason = MaestroReason::kInvalidOptions, .now_s = now_s};
  }
  const std::optional<int64_t> available = Available(observation.counts.rooms);
  if (!available) return {.reason = MaestroReason::kInvalidCounts, .now_s = now_s};
  return Round(options, types, observation, now_s, *available, state).Run();
}

void Succeeded(const MaestroDecision& decision, MaestroState* state) {
  if (decision.delta != 0) state->last_scale_op_at = decision.now_s;
}

MaestroBounded BoundUp(const MaestroOptions& options, int64_t available, int64_t amount) {
  EBB_DCHECK(amount <= 0 || available <= std::numeric_limits<int64_t>::max() - amount);
  if (options.max > 0) {
    if (available >= options.max) return {0, MaestroBound::kMax};
    if (available + amount > options.max) return {options.max - available, MaestroBound::kMax};
  }
  if (available + amount < options.min) return {options.min - available, MaestroBound::kMin};
  return {amount, MaestroBound::kNone};
}

MaestroBounded BoundDown(const MaestroOptions& options, int64_t available, int64_t amount) {
  if (options.min > 0) {
    if (available <= options.min) return {0, MaestroBound::kMin};
    if (available - amount < options.min) return {available - options.min, MaestroBound::kMin};
  }
  if (options.max > 0 && available - amount > options.max) {
    return {available - options.max, MaestroBound::kMax};
  }
  return {amount, MaestroBound::kNone};
}

MaestroRefusal RefuseCreation(const MaestroOptions& options,
                              const MaestroObservation& observation) {
  if (observation.pending_pods > 0) return MaestroRefusal::kPendingPods;
  if (options.prevent_rooms_creation_with_error && observation.image_error_pods > 0) {
    return MaestroRefusal::kImageError;
  }
  return MaestroRefusal::kNone;
}

std::string_view Name(MaestroStatus status) {
  switch (status) {
    using enum MaestroStatus;
    case kInSync:
      return "in-sync";
    case kSubdimensioned:
      return "subdimensioned";
    case kOverdimensioned:
      return "overdimensioned";
    case kCreating:
      return "creating";
    case kTerminating:
      return "terminating";
  }
  return "";
}

std::string_view Name(MaestroDirection direction) {
  return direction == MaestroDirection::kUp ? "up" : "down";
}

std::string_view Name(MaestroReason reason) {
  switch (reason) {
    using enum MaestroReason;
    case kNone:
      return "none";
    case kState:
      return "state";
    case kBelowMin:
      return "below_min";
    case kAboveMax:
      return "above_max";
    case kLimit:
      return "limit";
    case kTrigger:
      return "trigger";
    case kCooldown:
      return "cooldown";
    case kNoNumber:
      return "no_number";
    case kInvalidOptions:
      return "invalid_options";
    case kInvalidCounts:
      return "invalid_counts";
  }
  return "";
}

std::string_view Name(MaestroBound bound) {
  switch (bound) {
    using enum MaestroBound;
    case kNone:
      return "none";
    case kMin:
      return "min";
    case kMax:
      return "max";
    case kMaxScaleUpAmount:
      return "max_scale_up_amount";
  }
  return "";
}

std::string_view Name(MaestroRefusal refusal) {
  switch (refusal) {
    using enum MaestroRefusal;
    case kNone:
      return "none";
    case kPendingPods:
      return "pending_pods";
    case kImageError:
      return "image_error";
    case kTooFewReady:
      return "too_few_ready";
  }
  return "";
}

}  // namespace ebb
