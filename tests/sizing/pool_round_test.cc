#include "sizing/pool_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <set>

#include "rounds/sqlite_state.h"
#include "sizing/policy_schema.h"
#include "tests/sizing/fixed_policy_file.h"
#include "tests/support/random_seed.h"

namespace ebb::pool_round_test {
namespace {

using test::FixedPolicyFile;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1'750'000'000;

SizedPool PoolWithPolicy() {
  SizedPool pool{.name = "web", .policy_name = "fixed"};
  auto policy = std::make_unique<FixedPolicyFile>();
  policy->delta = 3;
  pool.policy = std::move(policy);
  return pool;
}

TEST(PoolRoundTest, FailsafeMeansNoActionForAnyPolicy) {
  const SizedPool pool = PoolWithPolicy();
  PoolState memory{.pool = "web", .policy = "fixed", .failures = 3, .failsafe = true};
  const PolicyDecision decision = DecidePool(pool, {}, kNow, memory);
  EXPECT_EQ(decision.delta, 0);
  EXPECT_EQ(decision.denied_by, "failsafe");
  EXPECT_TRUE(memory.failsafe);
}

TEST(PoolRoundTest, ATimeBeforeTheLastRoundGivesNoRound) {
  const SizedPool pool = PoolWithPolicy();
  PoolState memory{.pool = "web", .policy = "fixed", .at_s = kNow + 1};
  const PoolState before = memory;
  EXPECT_EQ(DecidePool(pool, {}, kNow, memory).denied_by, "clock");
  EXPECT_EQ(memory, before);
  EXPECT_EQ(DecidePool(pool, {}, kNow + 1, memory).delta, 3);
}

TEST(PoolRoundTest, ThePolicyIsNotCalledIfASignalIsOlderThanItsPeriod) {
  SizedPool pool = PoolWithPolicy();
  pool.signal_period_s = 60;
  PolicyObservation seen;
  seen.signals["cpus"] = {.value = 1, .at_s = kNow - 61};
  PoolState memory{.pool = "web", .policy = "fixed"};
  EXPECT_EQ(DecidePool(pool, seen, kNow, memory).denied_by, "signalPeriod");
  EXPECT_EQ(memory.state, "");
  seen.signals["cpus"].at_s = kNow - 60;
  EXPECT_EQ(DecidePool(pool, seen, kNow, memory).delta, 3);
}

TEST(PoolRoundTest, TheStateOfAnotherPolicyIsDroppedWithAWarning) {
  const SizedPool pool = PoolWithPolicy();
  PoolState memory{.pool = "web", .policy = "escalator", .state = "escalator/1 ..."};
  const PolicyDecision decision = DecidePool(pool, {}, kNow, memory);
  EXPECT_EQ(decision.delta, 3);
  EXPECT_THAT(decision.warnings, ElementsAre("what escalator remembered of the pool is forgotten"));
  EXPECT_EQ(memory.policy, "fixed");
}

// --- The four schools ------------------------------------------------------------------

SizedPool Sample(const std::string& school) {
  const PolicyRegistry registry;
  auto pools = ReadPolicyFile("pools.yaml", PolicyFileSample(*registry.Find(school)), registry);
  EXPECT_TRUE(pools.ok()) << pools.status();
  return std::move(pools->front());
}

PolicyObservation RandomPool(test::Dice& dice, const SizedPool& pool, int64_t now_s) {
  PolicyObservation seen{.pool = pool.name};
  const int nodes = dice.Below(9);
  for (int n = 0; n < nodes; ++n) {
    const PolicyResources each{.cpu_milli = 1000 * dice.Below(4),
                               .memory_bytes = int64_t{1 + dice.Below(8)} << 30,
                               .disk_bytes = int64_t{10} << 30};
    PolicyNode node{.name = "n" + std::to_string(n),
                    .capacity = each,
                    .allocatable = each,
                    .created_s = now_s - dice.Below(100'000),
                    .ready = !dice.Percent(10),
                    .is_cordoned = dice.Percent(5),
                    .is_leaving = dice.Percent(10),
                    .labels = pool.nodes};
    const int pods = dice.Below(6);
    for (int p = 0; p < pods; ++p) {
      PolicyPod pod{.name = "a/p" + std::to_string(n) + "-" + std::to_string(p),
                    .owner = "shop/ReplicaSet/web",
                    .requests = {.cpu_milli = 100 * dice.Below(12),
                                 .memory_bytes = int64_t{dice.Below(3)} << 30},
                    .node_selector = pool.nodes};
      pod.containers.push_back(
          {.cpu_milli = pod.requests.cpu_milli, .memory_bytes = pod.requests.memory_bytes});
      node.pods.push_back(std::move(pod));
    }
    seen.nodes.push_back(std::move(node));
  }
  seen.cloud = {.min = 1, .max = 10, .desired = nodes + (dice.Percent(20) ? 1 : 0)};
  if (dice.Percent(50)) {
    seen.signals["cpus"] = {.value = static_cast<double>(dice.Below(12)), .at_s = now_s};
  }
  return seen;
}

class SchoolRoundTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string Path() {
    return testing::TempDir() + "ebb-sizing-" + std::to_string(getpid()) + ".db";
  }
  static SizingState Restarted(const SizingState& state) {
    auto store = SqliteState::Open(Path(), {});
    EXPECT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->SaveSizing(state).ok());
    store = SqliteState::Open(Path(), {});
    const auto loaded = (*store)->LoadSizing();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *loaded;
  }
  void TearDown() override { std::remove(Path().c_str()); }
};

TEST_P(SchoolRoundTest, ARestartBetweenAnyTwoRoundsChangesNothing) {
  test::Dice dice(test::RandomSeed());
  size_t acted = 0;
  for (int run = 0; run < 4; ++run) {
    const SizedPool one = Sample(GetParam());
    PoolState never_restarted{.pool = one.name, .policy = one.policy_name};
    SizingState kept;
    int64_t now_s = kNow;
    for (int round = 0; round < 40; ++round) {
      now_s += 10 * (1 + dice.Below(60));
      const SizedPool again = Sample(GetParam());  // As a new process would read it.
      const PolicyObservation seen = RandomPool(dice, one, now_s);
      const PolicyDecision a = DecidePool(one, seen, now_s, never_restarted);
      kept = Restarted(kept);
      PoolState& memory = MemoryOf(again, kept);
      const PolicyDecision b = DecidePool(again, seen, now_s, memory);
      ASSERT_EQ(a, b) << "round " << round;
      const bool succeeded = !dice.Percent(30);
      if (a.delta != 0) {
        ++acted;
        one.policy->Ended(succeeded, now_s, &never_restarted.state);
        again.policy->Ended(succeeded, now_s, &memory.state);
      }
      if (never_restarted.failsafe && dice.Percent(20)) {
        never_restarted.failsafe = memory.failsafe = false;
      }
      ASSERT_EQ(never_restarted, memory) << "round " << round;
    }
  }
  EXPECT_GT(acted, 3u);
}

TEST_P(SchoolRoundTest, FailsafeOfThePoolIsFailsafeOfThePolicyAndEndsWithIt) {
  test::Dice dice(test::RandomSeed());
  const SizedPool pool = Sample(GetParam());
  PoolState memory{.pool = pool.name, .policy = pool.policy_name};
  int64_t now_s = kNow;
  bool was_failsafe = false;
  for (int round = 0; round < 400; ++round) {
    now_s += 400;
    const PolicyDecision decision = DecidePool(pool, RandomPool(dice, pool, now_s), now_s, memory);
    if (memory.failsafe) {
      EXPECT_EQ(decision.delta, 0);
      was_failsafe = true;
      if (dice.Percent(30)) memory.failsafe = false;  // An operator ends failsafe.
    } else if (decision.delta != 0) {
      pool.policy->Ended(false, now_s, &memory.state);
    }
  }
  EXPECT_EQ(was_failsafe, std::string(GetParam()) == "replicator");
}

// How long each school's sample waits after an operation, and the reasons for which it acts
// nevertheless.
struct Cooldown {
  int64_t seconds;
  std::set<std::string> exceptions;
};
Cooldown CooldownOf(const std::string& school) {
  if (school == "escalator") return {599, {"below_untainted_min"}};
  if (school == "maestro") return {60, {"below_min", "above_max", "limit"}};
  if (school == "replicator") return {299, {}};
  return {-1, {}};  // Clusterman has no cooldown.
}

TEST_P(SchoolRoundTest, InCooldownOnlyTheExceptionsOfTheSchoolAct) {
  test::Dice dice(test::RandomSeed());
  const SizedPool pool = Sample(GetParam());
  const Cooldown cooldown = CooldownOf(GetParam());
  PoolState memory{.pool = pool.name, .policy = pool.policy_name};
  int64_t now_s = kNow;
  int64_t acted_s = 0;
  size_t in_cooldown = 0;
  for (int round = 0; round < 600; ++round) {
    now_s += 10 * (1 + dice.Below(40));
    PolicyObservation seen = RandomPool(dice, pool, now_s);
    for (PolicyNode& node : seen.nodes) node.is_leaving = false;
    const PolicyDecision decision = DecidePool(pool, seen, now_s, memory);
    if (decision.delta == 0) continue;
    if (now_s - acted_s <= cooldown.seconds) {
      EXPECT_TRUE(cooldown.exceptions.contains(decision.reason))
          << decision.reason << " after " << now_s - acted_s << " s";
      ++in_cooldown;
    }
    pool.policy->Ended(true, now_s, &memory.state);
    // Escalator's lock applies only to growth.
    if (decision.delta > 0 || pool.policy_name != "escalator") acted_s = now_s;
  }
  EXPECT_GT(acted_s, 0);
  EXPECT_EQ(in_cooldown > 0, !cooldown.exceptions.empty());
}

TEST_P(SchoolRoundTest, PoolsAtTheEdgesMoveNothingThatTheyShouldNot) {
  const SizedPool pool = Sample(GetParam());
  const auto decide = [&](PolicyObservation seen) {
    PoolState memory{.pool = pool.name, .policy = pool.policy_name};
    if (!seen.cloud) seen.cloud = {.min = 0, .max = 10, .desired = std::ssize(seen.nodes)};
    return DecidePool(pool, seen, kNow, memory).delta;
  };
  PolicyObservation none{.pool = "web"};
  EXPECT_GE(decide(none), 0);
  EXPECT_LE(decide(none), 10);
  PolicyObservation full{.pool = "web", .cloud = PolicyCloud{.min = 0, .max = 0, .desired = 0}};
  EXPECT_LE(decide(full), std::string(GetParam()) == "maestro" ? 1 : 0);
  PolicyObservation without_capacity{.pool = "web"};
  for (int n = 0; n < 3; ++n) {
    without_capacity.nodes.push_back(
        {.name = "n" + std::to_string(n), .ready = true, .labels = pool.nodes});
  }
  EXPECT_LE(decide(without_capacity), 10);
  EXPECT_GE(decide(without_capacity), -3);
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    PolicyObservation odd = without_capacity;
    for (const char* const name : {"cpus", "mem", "rooms_ready", "rooms_occupied"}) {
      odd.signals[name] = {.value = value, .at_s = kNow};
    }
    EXPECT_LE(decide(odd), 10) << value;
    EXPECT_GE(decide(odd), -3) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Schools, SchoolRoundTest,
                         ::testing::Values("clusterman", "escalator", "maestro", "replicator"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ebb::pool_round_test
