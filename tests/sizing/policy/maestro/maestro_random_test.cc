// Random rounds of Maestro: invariants of every decision, and a second implementation of the rules.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "sizing/policy/maestro/maestro.h"
#include "tests/policies/maestro_panic.h"

namespace ebb::maestro_random_test {
namespace {

using Reason = MaestroReason;
using Status = MaestroStatus;

constexpr int kPools = 3000;
constexpr int kRounds = 25;

int64_t Between(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(high - low + 1)));
}
bool OneIn(Random& random, uint64_t n) { return random.Below(n) == 0; }

// ---------------------------------------------------------------- random pools

MaestroTrigger RandomTrigger(Random& random, bool up) {
  static constexpr const char* kTypes[] = {"room", "room", "legacy", "cpu", "mem"};
  MaestroTrigger trigger = {.type = kTypes[random.Below(5)]};
  trigger.usage = 10 * Between(random, up ? 3 : 1, up ? 9 : 8);
  if (OneIn(random, 25)) trigger.usage = 0;
  trigger.threshold = OneIn(random, 3) ? 100 : 10 * Between(random, 0, 9);
  trigger.time = Between(random, 0, 59);
  trigger.limit = OneIn(random, 2) ? 0 : Between(random, 40, 150);
  trigger.delta = Between(random, up ? -1 : -6, up ? 6 : 1);
  return trigger;
}

MaestroScaling RandomScaling(Random& random, bool up) {
  MaestroScaling scaling = {.cooldown = Between(random, 0, 40), .delta = Between(random, -1, 5)};
  if (OneIn(random, 4)) {
    scaling.trigger = RandomTrigger(random, up);
    return scaling;
  }
  const int64_t triggers = Between(random, 1, 4);
  for (int64_t i = 0; i < triggers; ++i) {
    scaling.metrics_trigger.push_back(RandomTrigger(random, up));
  }
  return scaling;
}

MaestroOptions RandomOptions(Random& random) {
  MaestroOptions options;
  options.min = Between(random, 0, 8);
  options.max = OneIn(random, 3) ? 0 : options.min + Between(random, 0, 12);
  options.enable_panic_scale = !OneIn(random, 4);
  options.up = RandomScaling(random, true);
  options.down = RandomScaling(random, false);
  options.prevent_rooms_creation_with_error = !OneIn(random, 3);
  options.auto_scaling_period = Between(random, 1, 12);
  options.max_scale_up_amount = Between(random, 0, 10);
  options.key_timeout = Between(random, 0, 30);
  return options;
}

MaestroObservation RandomObservation(Random& random) {
  MaestroObservation observation;
  MaestroRooms& rooms = observation.counts.rooms;
  rooms.creating = OneIn(random, 2) ? 0 : Between(random, 0, 4);
  rooms.ready = Between(random, 0, 8);
  rooms.occupied = Between(random, 0, 12);
  if (OneIn(random, 20)) rooms = {};
  rooms.terminating = Between(random, 0, 9);
  const int64_t containers = OneIn(random, 15) ? 0 : Between(random, 1, 4);
  for (int64_t i = 0; i < containers; ++i) {
    MaestroContainer container;
    container.cpu_usage_milli = Between(random, 0, 900);
    container.cpu_request_milli = OneIn(random, 10) ? 0 : Between(random, 100, 1000);
    container.mem_usage_bytes = Between(random, 0, 900'000'000);
    container.mem_request_bytes = OneIn(random, 10) ? 0 : Between(random, 1, 1'000'000'000);
    observation.counts.containers.push_back(container);
  }
  if (OneIn(random, 8)) observation.pending_pods = 1;
  if (OneIn(random, 8)) observation.image_error_pods = 1;
  return observation;
}

// ---------------------------------------------------------------- a second reading

// Keeps every past utilization, and derives each list from the rules.
class Twin {
 public:
  explicit Twin(const MaestroOptions& options) : options_(options) {
    for (const bool up : {true, false}) {
      for (const MaestroTrigger& trigger : Tried(up)) {
        kept_[trigger.type] = trigger.time / options_.auto_scaling_period + 1;
      }
    }
  }

  // The rooms that a round asks for; absent if the number is invalid.
  std::optional<int64_t> Ask(const MaestroCounts& counts, int64_t now_s) {
    for (const auto& [type, kept] : kept_) history_[type].push_front(Use(type, counts));
    const int64_t total = Total(counts);
    if (total < options_.min) return options_.min - total;
    if (options_.max > 0 && total > options_.max) return options_.max - total;

    std::optional<int64_t> asked = 0;
    bool found = false;
    if (options_.max == 0 || total < options_.max) asked = AskTriggers(true, counts, now_s, found);
    if (!found && total > options_.min) asked = AskTriggers(false, counts, now_s, found);
    return asked;
  }

  // The rooms that are left after the bounds.
  [[nodiscard]] int64_t Bounded(int64_t asked, int64_t total) const {
    const int64_t most = options_.max > 0 ? options_.max : total + 1'000'000'000;
    if (asked > 0) {
      const int64_t to = std::min(std::max(total + asked, options_.min), most);
      return std::clamp<int64_t>(to - total, 0, options_.max_scale_up_amount);
    }
    const int64_t to = options_.min > 0 ? std::max(total + asked, options_.min) : total + asked;
    return std::min<int64_t>(std::min(to, most) - total, 0);
  }

  void Scaled(int64_t now_s) { scaled_s_ = now_s; }

 private:
  [[nodiscard]] std::vector<MaestroTrigger> Tried(bool up) const {
    const MaestroScaling& scaling = up ? options_.up : options_.down;
    if (!scaling.metrics_trigger.empty()) return scaling.metrics_trigger;
    MaestroTrigger old = scaling.trigger;
    old.type = "room";
    return {old};
  }

  static int64_t Total(const MaestroCounts& counts) {
    return counts.rooms.creating + counts.rooms.ready + counts.rooms.occupied;
  }

  static float Use(const std::string& type, const MaestroCounts& counts) {
    float part = 0;
    float whole = 0;
    if (type == "room" || type == "legacy") {
      part = static_cast<float>(counts.rooms.occupied);
      whole = static_cast<float>(Total(counts));
    }
    for (const MaestroContainer& container : counts.containers) {
      if (type == "cpu") part += static_cast<float>(container.cpu_usage_milli);
      if (type == "cpu") whole += static_cast<float>(container.cpu_request_milli);
      if (type == "mem") part += static_cast<float>(container.mem_usage_bytes);
      if (type == "mem") whole += static_cast<float>(container.mem_request_bytes);
    }
    return part / whole;
  }

  static std::optional<int64_t> Delta(const MaestroTrigger& trigger, const MaestroCounts& counts) {
    if (trigger.type == "legacy") return trigger.delta;
    const double u = static_cast<double>(trigger.usage) / 100.0;
    const auto total = static_cast<double>(Total(counts));
    double to = 0;
    if (trigger.type == "room") {
      const double wanted = u * total;
      const double missing = static_cast<double>(counts.rooms.occupied) - wanted;
      to = std::round(missing / u) + total;
    } else {
      const double ratio = static_cast<double>(Use(trigger.type, counts)) / u;
      to = std::ceil(std::round(ratio * 100) / 100 * total);
    }
    if (!std::isfinite(to)) return std::nullopt;
    return static_cast<int64_t>(to) - Total(counts);
  }

  [[nodiscard]] bool Matches(const MaestroTrigger& trigger, bool up) const {
    const std::deque<float>& history = history_.at(trigger.type);
    const int64_t n = trigger.time / options_.auto_scaling_period;
    const int64_t looked = std::min({n + 1, kept_.at(trigger.type), std::ssize(history)});
    int64_t beyond = 0;
    for (int64_t i = 0; i < looked; ++i) {
      const float usage = static_cast<float>(trigger.usage) / 100.0F;
      const float point = history[static_cast<size_t>(i)];
      if (up ? point > usage : point < usage) ++beyond;
    }
    return beyond * 100 > trigger.threshold * n;
  }

  std::optional<int64_t> AskTriggers(bool up, const MaestroCounts& counts, int64_t now_s,
                                     bool& found) {
    const int64_t cooldown = up ? options_.up.cooldown : options_.down.cooldown;
    for (const MaestroTrigger& trigger : Tried(up)) {
      const float limit = static_cast<float>(trigger.limit > 0 ? trigger.limit : 90) / 100.0F;
      if (up && Use(trigger.type, counts) >= limit) {
        found = true;
        return Delta(trigger, counts);
      }
      if (!Matches(trigger, up)) continue;
      const std::optional<int64_t> delta = Delta(trigger, counts);
      if (!delta) {
        found = true;
        return delta;
      }
      if (up ? *delta <= 0 : *delta >= 0) continue;
      found = true;
      if (now_s - scaled_s_ > cooldown) return delta;
    }
    return 0;
  }

  const MaestroOptions options_;
  std::map<std::string, int64_t> kept_;
  std::map<std::string, std::deque<float>> history_;
  int64_t scaled_s_ = 0;
};

// ---------------------------------------------------------------- what holds

struct Before {
  MaestroOptions options;
  MaestroObservation observation;
  MaestroState state;
};

void ExpectWithinBounds(const Before& before, const MaestroDecision& made) {
  const MaestroOptions& options = before.options;
  const int64_t after = made.available + made.delta;
  EXPECT_GE(after, 0);
  if (made.delta > 0) {
    if (options.max > 0) {
      EXPECT_LE(after, options.max);
    }
    EXPECT_LE(made.delta, options.max_scale_up_amount);
    EXPECT_EQ(before.observation.pending_pods, 0);
    if (options.prevent_rooms_creation_with_error) {
      EXPECT_EQ(before.observation.image_error_pods, 0);
    }
  }
  if (made.delta < 0) {
    EXPECT_GE(after, options.min);
    if (options.max > 0) {
      EXPECT_LE(after, options.max);
    }
    EXPECT_LE(-made.delta, before.observation.counts.rooms.ready);
  }
}

void ExpectCooldownKept(const Before& before, const MaestroDecision& made) {
  if (made.asked == 0 || made.reason != Reason::kTrigger) return;
  const MaestroScaling& scaling = made.asked > 0 ? before.options.up : before.options.down;
  EXPECT_GT(made.now_s - before.state.last_scale_op_at, scaling.cooldown);
}

void ExpectStateFollows(const Before& before, const MaestroDecision& made,
                        const MaestroState& after) {
  if (made.asked == 0 || made.refusal != MaestroRefusal::kNone || made.delta != 0) {
    EXPECT_EQ(after.last_scale_op_at, before.state.last_scale_op_at);
  } else {
    EXPECT_EQ(after.last_scale_op_at, made.now_s) << "bounds left nothing to do";
  }
  if (made.asked != 0) {
    EXPECT_EQ(after.status, Status::kInSync);
  }
  if (made.reason == Reason::kNone) {
    EXPECT_EQ(after.status, Status::kInSync);
  }
  for (const MaestroSample& sample : made.samples) {
    EXPECT_EQ(MaestroPoint{sample.utilization}, after.points.at(sample.type).front());
    EXPECT_LE(std::ssize(after.points.at(sample.type)), sample.kept);
  }
}

void ExpectTheSame(const MaestroDecision& a, const MaestroDecision& b) {
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.delta, b.delta);
  EXPECT_EQ(a.asked, b.asked);
  EXPECT_EQ(a.bounded, b.bounded);
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_EQ(a.refusal, b.refusal);
  EXPECT_EQ(a.decided_by, b.decided_by);
  ASSERT_EQ(a.checks.size(), b.checks.size());
  for (size_t i = 0; i < a.checks.size(); ++i) {
    EXPECT_EQ(a.checks[i].beyond, b.checks[i].beyond);
    EXPECT_EQ(a.checks[i].points, b.checks[i].points);
    EXPECT_EQ(a.checks[i].delta, b.checks[i].delta);
  }
}

TEST(MaestroRandomTest, NoDecisionBreaksABound) {
  std::map<Reason, int> reasons;
  for (int seed = 0; seed < kPools && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const MaestroOptions options = RandomOptions(random);
    MaestroState state;
    int64_t now_s = 1'000'000;
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(round);
      const Before before = {options, RandomObservation(random), state};
      now_s += options.auto_scaling_period;
      const MaestroDecision made = Decide(options, {}, before.observation, now_s, &state);
      ++reasons[made.reason];
      ExpectWithinBounds(before, made);
      ExpectCooldownKept(before, made);
      ExpectStateFollows(before, made, state);
      if (!OneIn(random, 5)) Succeeded(made, &state);
      if (made.delta != 0) {
        EXPECT_LE(state.last_scale_op_at, now_s);
      }
    }
  }
  for (const Reason reason : {Reason::kNone, Reason::kBelowMin, Reason::kAboveMax, Reason::kLimit,
                              Reason::kTrigger, Reason::kCooldown, Reason::kNoNumber}) {
    EXPECT_GT(reasons[reason], kPools * kRounds / 200) << Name(reason);
  }
}

// The state that is stored after a round and read before the next one is all that the next one
// needs.
TEST(MaestroRandomTest, ARestartChangesNothing) {
  for (int seed = 0; seed < kPools && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const MaestroOptions options = RandomOptions(random);
    const MaestroTypes types;
    MaestroState lasting;
    MaestroState written;
    int64_t now_s = 1'000'000;
    for (int round = 0; round < kRounds; ++round) {
      const MaestroObservation observation = RandomObservation(random);
      now_s += options.auto_scaling_period;
      MaestroState read = written;
      const MaestroTypes others;
      const MaestroDecision made = Decide(options, types, observation, now_s, &lasting);
      ExpectTheSame(made, Decide(options, others, observation, now_s, &read));
      if (OneIn(random, 2)) {
        Succeeded(made, &lasting);
        Succeeded(made, &read);
      }
      EXPECT_EQ(Panic(options, observation, now_s, &lasting).delta,
                Panic(options, observation, now_s, &read).delta);
      EXPECT_EQ(lasting, read);
      written = read;
    }
  }
}

TEST(MaestroRandomTest, ASecondReadingAgrees) {
  int64_t acted = 0;
  for (int seed = 0; seed < kPools && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const MaestroOptions options = RandomOptions(random);
    MaestroState state;
    Twin twin(options);
    int64_t now_s = 1'000'000;
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(round);
      const MaestroObservation observation = RandomObservation(random);
      now_s += options.auto_scaling_period;
      const MaestroDecision made = Decide(options, {}, observation, now_s, &state);
      const std::optional<int64_t> asked = twin.Ask(observation.counts, now_s);
      EXPECT_EQ(made.reason == Reason::kNoNumber, !asked);
      EXPECT_EQ(made.asked, asked.value_or(0));
      const int64_t bounded = twin.Bounded(asked.value_or(0), made.available);
      EXPECT_EQ(made.bounded, bounded);
      if (made.asked != 0 && made.refusal == MaestroRefusal::kNone) {
        EXPECT_EQ(made.delta, bounded);
        Succeeded(made, &state);
        twin.Scaled(now_s);
        ++acted;
      }
    }
  }
  EXPECT_GT(acted, kPools * kRounds / 5);
}

// A panic grows a pool that is over its limit, within bounds, and one panic at a time.
TEST(MaestroRandomTest, PanicsKeepToBoundsAndLock) {
  int64_t acted = 0;
  for (int seed = 0; seed < kPools && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const MaestroOptions options = RandomOptions(random);
    MaestroState state;
    int64_t now_s = 1'000'000;
    int64_t locked_until = 0;
    for (int round = 0; round < kRounds; ++round) {
      now_s += Between(random, 0, 5);
      if (OneIn(random, 5)) {
        PanicEnded(&state);
        locked_until = 0;
      }
      const MaestroObservation observation = RandomObservation(random);
      const MaestroPanic panic = Panic(options, observation, now_s, &state);
      EXPECT_GE(panic.delta, 0);
      if (panic.delta == 0) continue;
      ++acted;
      EXPECT_TRUE(options.enable_panic_scale);
      EXPECT_GT(100 * observation.counts.rooms.occupied, panic.available * panic.limit);
      if (options.max > 0) {
        EXPECT_LE(panic.available + panic.delta, options.max);
      }
      EXPECT_GE(now_s, locked_until);
      locked_until = now_s + options.key_timeout;
    }
  }
  EXPECT_GT(acted, kPools / 2);
}

}  // namespace
}  // namespace ebb::maestro_random_test
