// Maestro as a Policy: its observations, options, decisions and figures.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "tests/sizing/policy/sample_pools.h"

namespace ebb::policy_test::maestro_policy_test {
namespace {

using ::testing::ElementsAre;

TEST(MaestroPolicyTest, MaestroTurnsRoomsIntoNodes) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms asked for"), "50");  // (75 * 100 - 50 * 100) / 50.
  EXPECT_EQ(decision.delta, 5);
  EXPECT_EQ(decision.reason, "trigger");
}

TEST(MaestroPolicyTest, MaestroReportsTheLimitOrThePointsOfATrigger) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const auto figure = [&](int64_t limit) {
    PolicySettings settings = MaestroSettings();
    settings.Set("up.metricsTrigger[0].limit", limit);
    std::string state;
    return Figure(Make("maestro", settings)->Decide(pool, kNow, &state),
                  "up.metricsTrigger[0] room");
  };
  EXPECT_EQ(figure(60), "utilization 0.75, limit hit, delta 50");
  EXPECT_EQ(figure(1000), "utilization 0.75, 1 of 1 point beyond, window 0, matches, delta 50");
}

// Nodes of 8 rooms, and at most 20 rooms.
PolicySettings MaestroOfEight() {
  PolicySettings settings = MaestroSettings();
  settings.Set("roomsPerNode", int64_t{8});
  settings.Set("min", int64_t{8});
  settings.Set("max", int64_t{20});
  settings.SetCount("down.metricsTrigger", 1);
  settings.Set("down.metricsTrigger[0].type", "room");
  settings.Set("down.metricsTrigger[0].usage", int64_t{40});
  return settings;
}

TEST(MaestroPolicyTest, MaestroGrowsByNoNodeWhoseRoomsWouldExceedMax) {
  const auto policy = Make("maestro", MaestroOfEight());
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 8};
  std::string state;
  EXPECT_EQ(policy->Decide(pool, kNow, &state).delta, 1);  // 16 rooms; two nodes would make 24.
  pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 16};
  state.clear();
  const PolicyDecision full = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(full.delta, 0);
  EXPECT_EQ(full.denied_by, "max");
}

TEST(MaestroPolicyTest, MaestroTriesItsTriggersIfTheRoomsAboveMaxFillNoNode) {
  const auto policy = Make("maestro", MaestroOfEight());
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 12};
  pool.signals["rooms_ready"] = {.value = 12};
  std::string state;
  const PolicyDecision half = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(half.delta, 0);
  EXPECT_EQ(half.reason, "none");
  EXPECT_EQ(half.denied_by, "");
  EXPECT_EQ(Figure(half, "rooms above max that fill no node"), "4");
  // With enough idle rooms, the down trigger removes nodes.
  pool.signals["rooms_occupied"] = {.value = 2};
  pool.signals["rooms_ready"] = {.value = 22};
  state.clear();
  const PolicyDecision idle = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(idle.reason, "trigger");
  EXPECT_EQ(idle.delta, -2);
  // A whole node of rooms above max is removed, whatever the triggers say.
  pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 20};
  pool.signals["rooms_ready"] = {.value = 12};
  state.clear();
  const PolicyDecision above = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(above.reason, "above_max");
  EXPECT_EQ(above.delta, -1);
}

TEST(MaestroPolicyTest, MaestroGrowsForPodsThatWait) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{2});
  settings.Set("min", int64_t{0});
  const auto policy = Make("maestro", settings);
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  AddPod(pool, 0, {.cpu_milli = 100});
  AddPod(pool, 0, {.cpu_milli = 100});
  pool.pending = std::vector<PolicyPod>(4, pool.nodes[0].pods[0]);
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms occupied"), "6");
  EXPECT_GT(decision.delta, 0);
}

TEST(MaestroPolicyTest, MaestroSeesMachinesThatBootAndNodesThatLeave) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{5});
  const auto policy = Make("maestro", settings);
  PolicyObservation pool = Pool(3, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.nodes[0].is_leaving = true;
  pool.cloud->desired = 5;
  std::string state;
  const PolicyDecision decision = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms creating"), "10");
  EXPECT_EQ(Figure(decision, "rooms ready"), "10");
}

TEST(MaestroPolicyTest, MaestroCoolsDownOnlyAfterWhatSucceeded) {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  ASSERT_EQ(policy->Decide(pool, kNow, &state).delta, 5);
  policy->Ended(false, kNow + 1, &state);
  ASSERT_EQ(policy->Decide(pool, kNow + 10, &state).delta, 5);
  policy->Ended(true, kNow + 11, &state);
  EXPECT_EQ(policy->Decide(pool, kNow + 20, &state).denied_by, "cooldown");
}

// 75 of 100 rooms are occupied, on 10 nodes.
PolicyObservation MaestroPool() {
  PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_occupied"] = {.value = 75};
  pool.signals["rooms_ready"] = {.value = 25};
  return pool;
}

TEST(MaestroPolicyTest, MaestroReadsATriggerInBothSpellings) {
  for (const std::string at : {"up.trigger.", "up.metricsTrigger[0]."}) {
    const auto reason = [&](int64_t time, int64_t threshold, int64_t limit) {
      PolicySettings settings = Sample("maestro");
      if (at != "up.trigger.") {
        settings.SetCount("up.metricsTrigger", 1);
        settings.Set(at + "type", "room");
      }
      settings.Set(at + "usage", int64_t{50});
      settings.Set(at + "time", time);
      settings.Set(at + "threshold", threshold);
      settings.Set(at + "limit", limit);
      std::string state;
      const PolicyDecision decision =
          Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
      EXPECT_EQ(decision.delta, decision.reason == "none" ? 0 : 5);
      return decision.reason;
    };
    EXPECT_EQ(reason(0, 80, 1000), "trigger") << at;
    EXPECT_EQ(reason(10, 99, 1000), "trigger") << at;
    EXPECT_EQ(reason(10, 100, 1000), "none") << at;
    EXPECT_EQ(reason(600, 80, 76), "none") << at;
    EXPECT_EQ(reason(600, 80, 75), "limit") << at;
  }
}

// An absent section has a cooldown of 600 s; a section with any key has none.
TEST(MaestroPolicyTest, MaestrosCooldownIsZeroIfItsSectionIsGiven) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 85};
  pool.signals["rooms_ready"] = {.value = 15};
  const auto growths = [&](const std::vector<std::pair<std::string, int64_t>>& keys) {
    PolicySettings settings = Sample("maestro");
    for (const auto& [key, value] : keys) settings.Set(key, value);
    const std::unique_ptr<Policy> policy = Make("maestro", settings);
    std::string state;
    int growths = 0;
    for (int64_t now_s = kNow; now_s < kNow + 1200; now_s += 10) {
      if (policy->Decide(pool, now_s, &state).delta <= 0) continue;
      ++growths;
      policy->Ended(true, now_s, &state);
    }
    return growths;
  };
  const int without = growths({{"up.cooldown", 0}});
  EXPECT_GT(without, growths({{"up.cooldown", 600}}));
  EXPECT_GT(without, growths({}));
  EXPECT_EQ(growths({{"up.trigger.usage", 80}}), without);
  EXPECT_EQ(growths({{"up.trigger.time", 600}}), without);
  EXPECT_EQ(growths({{"up.trigger.threshold", 80}}), without);
  EXPECT_EQ(growths({{"up.trigger.limit", 90}}), without);
}

TEST(MaestroPolicyTest, MaestroAddsTheRoomsThatATriggerOfTypeLegacySays) {
  PolicySettings settings = MaestroSettings();
  settings.Set("up.metricsTrigger[0].type", "legacy");
  settings.Set("up.metricsTrigger[0].delta", int64_t{30});
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms asked for"), "30");
  EXPECT_EQ(decision.delta, 3);
}

TEST(MaestroPolicyTest, MaestroMeasuresCpuAndMemoryOfPodsWhoseUseIsKnown) {
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = 1000});
  for (size_t i = 0; i < 10; ++i) {
    AddPod(pool, i % 2, {.cpu_milli = 100, .memory_bytes = 400});
    if (i == 0) continue;  // Not measured.
    pool.nodes[i % 2].pods.back().usage = {.cpu_milli = 80, .memory_bytes = 300};
  }
  AddPod(pool, 0, {.cpu_milli = 1, .memory_bytes = 1});
  pool.nodes[0].pods.back().is_daemonset = true;
  pool.nodes[0].pods.back().usage = {.cpu_milli = 100'000, .memory_bytes = 100'000};
  const auto decide = [&](const char* type) {
    PolicySettings settings = MaestroSettings();
    settings.Set("up.metricsTrigger[0].type", std::string(type));
    std::string state;
    return Make("maestro", settings)->Decide(pool, kNow, &state);
  };
  const PolicyDecision cpu = decide("cpu");
  EXPECT_EQ(Figure(cpu, "rooms occupied"), "10");
  EXPECT_EQ(Figure(cpu, "rooms ready"), "10");
  EXPECT_EQ(Figure(cpu, "rooms asked for"), "12");  // 20 * 0.8 / 0.5 - 20.
  EXPECT_EQ(cpu.delta, 2);
  const PolicyDecision memory = decide("mem");
  EXPECT_EQ(Figure(memory, "rooms asked for"), "10");
  EXPECT_EQ(memory.delta, 1);
}

TEST(MaestroPolicyTest, MaestroAddsNoMoreRoomsThanItsMostAndNoneWhileAPodWaits) {
  PolicySettings settings = MaestroSettings();
  settings.Set("maxScaleUpAmount", int64_t{20});
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_ready"] = {.value = 5};
  pool.signals["rooms_creating"] = {.value = 20};
  std::string state;
  const PolicyDecision most = Make("maestro", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(most.delta, 2);
  EXPECT_EQ(Figure(most, "rooms creating"), "20");
  EXPECT_EQ(Figure(most, "rooms asked for"), "50");
  EXPECT_EQ(Figure(most, "within bounds"), "20");
  EXPECT_EQ(Figure(most, "bounded by"), "max_scale_up_amount");
  AddPending(pool, {.cpu_milli = 1});
  const PolicyDecision none = Make("maestro", settings)->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kUp);
  EXPECT_EQ(none.denied_by, "pending_pods");
  EXPECT_EQ(Figure(none, "pending pods"), "1");
}

TEST(MaestroPolicyTest, MaestroShrinksByWholeNodesOfReadyRoomsAndThenCoolsDown) {
  PolicySettings settings = MaestroSettings();
  settings.SetCount("down.metricsTrigger", 1);
  settings.Set("down.metricsTrigger[0].type", "room");
  settings.Set("down.metricsTrigger[0].usage", int64_t{50});
  settings.Set("down.cooldown", int64_t{90});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = MaestroPool();
  std::string state;
  const auto decide = [&](double occupied, double ready, int64_t now_s) {
    pool.signals["rooms_occupied"] = {.value = occupied};
    pool.signals["rooms_ready"] = {.value = ready};
    pool.signals["rooms_creating"] = {.value = 100 - occupied - ready};
    return policy->Decide(pool, now_s, &state);
  };
  const PolicyDecision part = decide(48, 52, kNow);  // 4 rooms do not fill a node.
  EXPECT_EQ(part.delta, 0);
  EXPECT_EQ(part.direction, PolicyDirection::kDown);
  EXPECT_EQ(part.denied_by, "rooms_per_node");
  EXPECT_EQ(decide(40, 19, kNow).denied_by, "too_few_ready");
  ASSERT_EQ(decide(40, 20, kNow).delta, -2);
  policy->Ended(true, kNow + 5, &state);
  EXPECT_EQ(decide(40, 60, kNow + 90).denied_by, "cooldown");
  EXPECT_EQ(decide(40, 60, kNow + 91).delta, -2);
}

TEST(MaestroPolicyTest, ASuccessOfMaestroIsAsOldAsItsRoundAndEndsItsAction) {
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  // The status, the last success, the points of type room, a panic's lock, and the time of the
  // action.
  const std::string kept = "9 maestro/1 0 5 1 4 room 1 0.5 1 8 1 7 ";
  std::string state = kept;
  policy->Ended(true, kNow, &state);
  EXPECT_EQ(state, "9 maestro/1 0 7 1 4 room 1 0.5 1 8 0 ");
  state = kept;
  policy->Ended(false, kNow, &state);
  EXPECT_EQ(state, "9 maestro/1 0 5 1 4 room 1 0.5 1 8 0 ");
}

TEST(MaestroPolicyTest, MaestroTakesItsKeysWithTheirTypesAndRanges) {
  using enum PolicyValueType;
  constexpr double kMost = 9e18;
  ExpectKeys("maestro", {{"roomsPerNode", kInt, "10", true, 1},
                         {"min", kInt, "10", true, 0},
                         {"max", kInt, "100", false, 0},
                         {"autoScalingPeriod", kInt, "10", false, 1},
                         {"maxScaleUpAmount", kInt, "300", false, 0},
                         {"preventRoomsCreationWithError", kBool, "true"},
                         {"up.cooldown", kInt, "60", false, 0},
                         {"up.metricsTrigger[].type", kText, "room", true, -kMost, kMost},
                         {"up.metricsTrigger[].usage", kInt, "70", true, 0, kMost},
                         {"up.metricsTrigger[].threshold", kInt, "80", false, 0, 100},
                         {"up.metricsTrigger[].time", kInt, "200", false, 0, kMost},
                         {"up.metricsTrigger[].limit", kInt, "90", false, 0, kMost},
                         {"up.metricsTrigger[].delta", kInt, "0", false, -kMost, kMost},
                         {"up.trigger.usage", kInt, "80", false, 0},
                         {"up.trigger.threshold", kInt, "80", false, 0},
                         {"up.trigger.time", kInt, "80", false, 0},
                         {"up.trigger.limit", kInt, "80", false, 0},
                         {"down.cooldown", kInt, "300", false, 0},
                         {"down.metricsTrigger[].type", kText, "room", true, -kMost, kMost},
                         {"down.metricsTrigger[].usage", kInt, "50", true, 0, kMost},
                         {"down.metricsTrigger[].threshold", kInt, "80", false, 0, 100},
                         {"down.metricsTrigger[].time", kInt, "200", false, 0, kMost},
                         {"down.metricsTrigger[].delta", kInt, "0", false, -kMost, kMost},
                         {"down.trigger.usage", kInt, "80", false, 0},
                         {"down.trigger.threshold", kInt, "80", false, 0},
                         {"down.trigger.time", kInt, "80", false, 0},
                         {"down.trigger.limit", kInt, "80", false, 0}});
}

TEST(MaestroPolicyTest, MaestrosRoomsAreRoundedAndTooManyAreInvalid) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 74.6};
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  const PolicyDecision rounded = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(rounded, "rooms creating"), "0");
  EXPECT_EQ(Figure(rounded, "rooms ready"), "25");
  EXPECT_EQ(Figure(rounded, "rooms occupied"), "75");
  pool.signals["rooms_occupied"] = {.value = 9e15};
  const PolicyDecision too_many = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(too_many.denied_by, "invalid_counts");
  EXPECT_EQ(too_many.reason, "invalid_counts");
  EXPECT_EQ(Figure(too_many, "rooms occupied"), "-1");
}

TEST(MaestroPolicyTest, MaestroCountsPodsAsRoomsWithoutASignalOfRooms) {
  PolicySettings settings = MaestroSettings();
  settings.Set("roomsPerNode", int64_t{2});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["queue"] = {.value = 5};
  pool.cloud->desired = 1;  // Fewer than the present nodes.
  for (size_t i = 0; i < 3; ++i) AddPod(pool, i % 2, {.cpu_milli = 1});
  std::string state;
  const PolicyDecision some = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(some, "rooms occupied"), "3");
  EXPECT_EQ(Figure(some, "rooms ready"), "1");
  EXPECT_EQ(Figure(some, "rooms creating"), "0");
  for (size_t i = 0; i < 3; ++i) AddPod(pool, i % 2, {.cpu_milli = 1});
  AddPending(pool, {.cpu_milli = 1});
  pool.cloud.reset();
  const PolicyDecision full = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(Figure(full, "rooms occupied"), "7");
  EXPECT_EQ(Figure(full, "rooms ready"), "0");
  EXPECT_EQ(Figure(full, "rooms creating"), "0");
  EXPECT_EQ(Figure(full, "pending pods"), "0");
}

TEST(MaestroPolicyTest, AListOfTriggersAloneCountsAsAGivenSection) {
  PolicySettings settings = MaestroSettings();
  PolicySettings without_cooldown = Sample("maestro");
  without_cooldown.SetCount("up.metricsTrigger", 1);
  without_cooldown.Set("up.metricsTrigger[0].type", "room");
  without_cooldown.Set("up.metricsTrigger[0].usage", int64_t{50});
  without_cooldown.Set("up.metricsTrigger[0].limit", int64_t{1000});
  const auto second = [](const PolicySettings& with) {
    const std::unique_ptr<Policy> policy = Make("maestro", with);
    std::string state;
    EXPECT_EQ(policy->Decide(MaestroPool(), kNow, &state).delta, 5);
    policy->Ended(true, kNow, &state);
    return policy->Decide(MaestroPool(), kNow + 10, &state);
  };
  EXPECT_EQ(second(without_cooldown).delta, 5);
  const PolicyDecision cooling = second(settings);
  EXPECT_EQ(cooling.delta, 0);
  EXPECT_EQ(cooling.denied_by, "cooldown");
  EXPECT_EQ(Figure(cooling, "up.metricsTrigger[0] room"),
            "utilization 0.75, 1 of 1 point beyond, window 0, matches, delta 50, in cooldown");
}

TEST(MaestroPolicyTest, MaestroReportsTriggersThatDoNotMatch) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = {.value = 40};
  pool.signals["rooms_ready"] = {.value = 60};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.direction, PolicyDirection::kStay);
  EXPECT_EQ(decision.denied_by, "");
  EXPECT_EQ(Figure(decision, "point of room"), "0.4");
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[0] room"),
            "utilization 0.4, 0 of 1 point beyond, window 0, no match");
  EXPECT_EQ(Figure(decision, "down.metricsTrigger[0] room"),
            "utilization 0.4, 1 of 1 point beyond, window 60 (60 points missing), no match");
  EXPECT_EQ(Figure(decision, "rooms asked for"), "0");
  EXPECT_EQ(Figure(decision, "bounded by"), "(absent)");
  EXPECT_EQ(Figure(decision, "rooms to change"), "0");
  EXPECT_EQ(Figure(decision, "rooms per node"), "10");
}

TEST(MaestroPolicyTest, MaestroFillsAnEmptyPoolWhoseUtilizationIsNotANumber) {
  PolicyObservation pool = MaestroPool();
  pool.signals["rooms_occupied"] = pool.signals["rooms_ready"] = {.value = 0};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.reason, "below_min");
  EXPECT_EQ(decision.delta, 1);
  EXPECT_EQ(Figure(decision, "point of room"), "unknown (no usage)");
  EXPECT_EQ(Figure(decision, "rooms to change"), "10");
}

TEST(MaestroPolicyTest, MaestroReportsWhyItDidNotAct) {
  PolicySettings no_number = MaestroSettings();
  no_number.Set("up.metricsTrigger[0].usage", int64_t{0});
  std::string state;
  const PolicyDecision infinite = Make("maestro", no_number)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(infinite.delta, 0);
  EXPECT_EQ(infinite.denied_by, "no_number");
  EXPECT_EQ(infinite.direction, PolicyDirection::kStay);

  PolicySettings none_at_once = MaestroSettings();
  none_at_once.Set("maxScaleUpAmount", int64_t{0});
  const PolicyDecision none =
      Make("maestro", none_at_once)->Decide(MaestroPool(), kNow, &(state = ""));
  EXPECT_EQ(none.delta, 0);
  EXPECT_EQ(none.direction, PolicyDirection::kUp);
  EXPECT_EQ(none.denied_by, "max_scale_up_amount");

  state = "9 maestro/1 3 5 0 0 0 ";  // The pool is being created.
  const PolicyDecision created =
      Make("maestro", MaestroSettings())->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(created.delta, 0);
  EXPECT_EQ(created.reason, "state");
  EXPECT_EQ(created.denied_by, "state");
}

TEST(MaestroPolicyTest, MaestroTakesNoMoreNodesThanThereAre) {
  PolicySettings settings = Sample("maestro");
  settings.Set("max", int64_t{10});
  PolicyObservation pool = Pool(2, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_ready"] = {.value = 50};
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(pool, kNow, &state);
  EXPECT_EQ(decision.reason, "above_max");
  EXPECT_EQ(Figure(decision, "rooms to change"), "-40");
  EXPECT_EQ(decision.delta, -2);
}

TEST(MaestroPolicyTest, AMaxOfOneRoomIsAMax) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{8});
  settings.Set("min", int64_t{1});
  settings.Set("max", int64_t{1});
  const std::unique_ptr<Policy> policy = Make("maestro", settings);
  PolicyObservation pool = Pool(1, {.cpu_milli = 1000, .memory_bytes = kGib});
  pool.signals["rooms_ready"] = {.value = 0};
  std::string state;
  const PolicyDecision empty = policy->Decide(pool, kNow, &state);
  EXPECT_EQ(empty.delta, 0);
  EXPECT_EQ(empty.denied_by, "max");
  pool.signals["rooms_ready"] = {.value = 8};
  const PolicyDecision node = policy->Decide(pool, kNow, &(state = ""));
  EXPECT_EQ(node.delta, 0);
  EXPECT_EQ(node.reason, "none");
  EXPECT_EQ(Figure(node, "rooms above max that fill no node"), "7");
}

TEST(MaestroPolicyTest, MaestrosProblemsAreReported) {
  PolicySettings settings = Sample("maestro");
  settings.Set("roomsPerNode", int64_t{0});
  settings.Set("max", int64_t{5});
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("maestro", settings, &problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(PolicyProblem{"", "autoscaling.max: 5 is below min, 10"},
                                    PolicyProblem{"roomsPerNode", "must be 1 or more"}));
  problems.clear();
  settings.Set("max", int64_t{10});
  EXPECT_EQ(PolicyRegistry().Make("maestro", settings, &problems), nullptr);
  EXPECT_EQ(problems.size(), 1u);
}

TEST(MaestroPolicyTest, SignalsOfOtherNamesDoNotHideMaestrosRooms) {
  PolicyObservation pool = MaestroPool();
  pool.signals["a queue"] = pool.signals["zone"] = {.value = 5};
  std::string state;
  const PolicyDecision decision = Make("maestro", MaestroSettings())->Decide(pool, kNow, &state);
  EXPECT_EQ(Figure(decision, "rooms occupied"), "75");
  EXPECT_EQ(Figure(decision, "rooms ready"), "25");
  EXPECT_EQ(Figure(decision, "rooms above max that fill no node"), "(absent)");
}

TEST(MaestroPolicyTest, MaestroTriesItsTriggersInTheirOrder) {
  PolicySettings settings = MaestroSettings();
  settings.SetCount("up.metricsTrigger", 2);
  settings.Set("up.metricsTrigger[0].usage", int64_t{90});
  settings.Set("up.metricsTrigger[1].type", "legacy");
  settings.Set("up.metricsTrigger[1].usage", int64_t{50});
  settings.Set("up.metricsTrigger[1].delta", int64_t{30});
  std::string state;
  const PolicyDecision decision = Make("maestro", settings)->Decide(MaestroPool(), kNow, &state);
  EXPECT_EQ(decision.delta, 3);
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[0] room"),
            "utilization 0.75, 0 of 1 point beyond, window 0, no match");
  EXPECT_EQ(Figure(decision, "up.metricsTrigger[1] legacy"),
            "utilization 0.75, 1 of 1 point beyond, window 0, matches, delta 30");
}

TEST(MaestroPolicyTest, MaestrosNodesWithMoreRoomsThanCanBeCountedHaveNone) {
  const auto ready = [](int64_t rooms_per_node) {
    PolicySettings settings = Sample("maestro");
    settings.Set("roomsPerNode", rooms_per_node);
    std::string state;
    return Figure(Make("maestro", settings)->Decide(Pool(1, {}), kNow, &state), "rooms ready");
  };
  EXPECT_EQ(ready(8'999'999'999'999'999), "8999999999999999");
  EXPECT_EQ(ready(9'000'000'000'000'000), "0");
}

TEST(MaestroPolicyTest, AnActionOfMaestroEndsOnceAndWithTheNextRoundAtTheLatest) {
  const std::unique_ptr<Policy> policy = Make("maestro", MaestroSettings());
  std::string state;
  ASSERT_EQ(policy->Decide(MaestroPool(), kNow, &state).delta, 5);
  policy->Ended(true, kNow + 1, &state);
  const std::string ended = state;
  for (const bool succeeded : {true, false}) {
    policy->Ended(succeeded, kNow + 2, &state);
    EXPECT_EQ(state, ended);
  }
  // Ended is not called for this action: in the next round there is nothing to do.
  ASSERT_EQ(policy->Decide(MaestroPool(), kNow + 1000, &state).delta, 5);
  PolicyObservation enough = MaestroPool();
  enough.signals["rooms_occupied"] = {.value = 40};
  enough.signals["rooms_ready"] = {.value = 60};
  ASSERT_EQ(policy->Decide(enough, kNow + 1010, &state).delta, 0);
  const std::string after = state;
  policy->Ended(true, kNow + 1011, &state);
  EXPECT_EQ(state, after);
}

}  // namespace
}  // namespace ebb::policy_test::maestro_policy_test
