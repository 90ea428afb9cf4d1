#include "sizing/policy/maestro/maestro_types.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::maestro_types_test {
namespace {

using testing::ElementsAre;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

MaestroCounts Rooms(int64_t occupied, int64_t available) {
  return {.rooms = {.ready = available - occupied, .occupied = occupied}};
}

float Utilization(const char* type, const MaestroCounts& counts) {
  return MaestroTypes().Find(type)->utilization(counts);
}

std::optional<int64_t> Delta(const char* type, int64_t usage, const MaestroCounts& counts) {
  return MaestroTypes().Find(type)->delta({.type = type, .usage = usage}, counts);
}

std::optional<int64_t> RoomDelta(int64_t usage, int64_t occupied, int64_t available) {
  return Delta("room", usage, Rooms(occupied, available));
}

// `ready` rooms, and one container with this usage and request of cpu.
std::optional<int64_t> CpuDelta(int64_t usage, int64_t used, int64_t requested, int64_t ready) {
  return Delta("cpu", usage,
               {.rooms = {.ready = ready},
                .containers = {{.cpu_usage_milli = used, .cpu_request_milli = requested}}});
}

// ---------------------------------------------------------------- counts

TEST(MaestroTypesTest, AvailableRoomsAreCreatingReadyAndOccupied) {
  EXPECT_EQ(Available({.creating = 1, .ready = 20, .occupied = 300, .terminating = 4000}), 321);
  EXPECT_EQ(Available({}), 0);
}

TEST(MaestroTypesTest, InvalidCountsHaveNoSum) {
  EXPECT_EQ(Available({.creating = -1, .ready = 9}), std::nullopt);
  EXPECT_EQ(Available({.ready = -1, .occupied = 9}), std::nullopt);
  EXPECT_EQ(Available({.ready = 9, .occupied = -1}), std::nullopt);
  EXPECT_EQ(Available({.ready = kMost, .occupied = 1}), std::nullopt);
  EXPECT_EQ(Available({.creating = 1, .ready = 1, .occupied = kMost - 2}), kMost);
}

// ---------------------------------------------------------------- room and legacy

TEST(MaestroTypesTest, RoomUtilizationIsOccupiedOfAvailable) {
  const MaestroCounts counts = {
      .rooms = {.creating = 1, .ready = 2, .occupied = 7, .terminating = 90}};
  EXPECT_EQ(Utilization("room", counts), 0.7F);
  EXPECT_EQ(Utilization("legacy", counts), 0.7F);
}

TEST(MaestroTypesTest, NoRoomHasNoUtilization) {
  EXPECT_TRUE(std::isnan(Utilization("room", {})));
  EXPECT_TRUE(std::isnan(Utilization("legacy", {.rooms = {.terminating = 1}})));
  EXPECT_TRUE(std::isnan(Utilization("room", {.rooms = {.ready = 2, .occupied = -1}})));
}

TEST(MaestroTypesTest, RoomDeltaMakesOccupiedRoomsTheUsageOfAll) {
  EXPECT_EQ(RoomDelta(50, 9, 10), 8) << "9 of 18";
  EXPECT_EQ(RoomDelta(80, 8, 10), 0);
  EXPECT_EQ(RoomDelta(80, 4, 10), -5) << "4 of 5";
  EXPECT_EQ(RoomDelta(80, 0, 10), -10);
  EXPECT_EQ(RoomDelta(200, 10, 10), -5);
}

TEST(MaestroTypesTest, RoomDeltaRoundsHalvesAwayFromZero) {
  EXPECT_EQ(RoomDelta(80, 10, 10), 3) << "2.5";
  EXPECT_EQ(RoomDelta(200, 1, 2), -2) << "-1.5";
  EXPECT_EQ(RoomDelta(200, 3, 4), -3) << "-2.5";
  EXPECT_EQ(RoomDelta(300, 2, 2), -1) << "-4/3";
}

// In exact arithmetic (occupied * 100 - usage * total) / usage is the same; in doubles it is 1.5
// here.
TEST(MaestroTypesTest, RoomDeltaIsComputedInTheProgramsOrder) { EXPECT_EQ(RoomDelta(40, 1, 1), 1); }

TEST(MaestroTypesTest, CreatingRoomsCountInADelta) {
  EXPECT_EQ(Delta("room", 50, {.rooms = {.creating = 4, .occupied = 6}}), 2);
  EXPECT_EQ(Delta("room", 50, {.rooms = {.occupied = 6, .terminating = 4}}), 6);
}

TEST(MaestroTypesTest, ARoomDeltaThatIsNotANumberIsAbsent) {
  EXPECT_EQ(RoomDelta(0, 1, 2), std::nullopt) << "infinite";
  EXPECT_EQ(RoomDelta(0, 0, 0), std::nullopt) << "0 / 0";
  EXPECT_EQ(RoomDelta(50, 0, 0), 0);
  EXPECT_EQ(RoomDelta(1, kMost / 2, kMost / 2), std::nullopt);
  EXPECT_EQ(Delta("room", 50, {.rooms = {.ready = -1, .occupied = 2}}), std::nullopt);
}

TEST(MaestroTypesTest, LargestRoomDeltaIsBelowTwoToThe63) {
  constexpr int64_t kUnit = int64_t{1} << 60;
  EXPECT_EQ(RoomDelta(25, 3 * kUnit, 4 * kUnit), std::nullopt) << "exactly 2^63";
  EXPECT_EQ(RoomDelta(25, 3 * kUnit - 1024, 4 * kUnit), kMost - 4095);
}

TEST(MaestroTypesTest, LegacyDeltaIsTheTriggersOwn) {
  const MaestroTypes types;
  for (const int64_t delta : {int64_t{3}, int64_t{0}, int64_t{-3}, kMost, kLeast}) {
    const MaestroTrigger trigger = {.type = "legacy", .usage = 0, .delta = delta};
    EXPECT_EQ(types.Find("legacy")->delta(trigger, Rooms(1, 2)), delta);
    EXPECT_EQ(types.Find("room")->delta(trigger, Rooms(1, 2)), std::nullopt);
  }
}

// ---------------------------------------------------------------- cpu and mem

TEST(MaestroTypesTest, ResourceUtilizationIsOneSumOverTheOther) {
  const MaestroCounts counts = {.containers = {{.cpu_usage_milli = 100,
                                                .cpu_request_milli = 1000,
                                                .mem_usage_bytes = 30,
                                                .mem_request_bytes = 40},
                                               {.cpu_usage_milli = 900,
                                                .cpu_request_milli = 1000,
                                                .mem_usage_bytes = 30,
                                                .mem_request_bytes = 40}}};
  EXPECT_EQ(Utilization("cpu", counts), 0.5F) << "not the mean of 0.1 and 0.9 of unlike requests";
  EXPECT_EQ(Utilization("mem", counts), 0.75F);
}

// A 32-bit float cannot represent 2^24 + 1.
TEST(MaestroTypesTest, SumsAreOf32BitsContainerByContainer) {
  constexpr int64_t kLarge = 1 << 24;
  const MaestroContainer large = {.mem_usage_bytes = kLarge, .mem_request_bytes = kLarge};
  const MaestroContainer small = {.mem_usage_bytes = 0, .mem_request_bytes = 1};
  EXPECT_EQ(Utilization("mem", {.containers = {large, small, small}}), 1.0F);
  EXPECT_LT(Utilization("mem", {.containers = {small, small, large}}), 1.0F);
}

TEST(MaestroTypesTest, AZeroDivisorGivesNoUtilization) {
  const MaestroCounts used = {.containers = {{.cpu_usage_milli = 1, .mem_usage_bytes = 1}}};
  const MaestroCounts idle = {.containers = {{}}};
  for (const char* type : {"cpu", "mem"}) {
    EXPECT_TRUE(std::isnan(Utilization(type, {}))) << type;
    EXPECT_TRUE(std::isnan(Utilization(type, idle))) << type;
    EXPECT_EQ(Utilization(type, used), kInfinity) << type;
    EXPECT_EQ(Delta(type, 50, {}), std::nullopt) << type;
    EXPECT_EQ(Delta(type, 50, idle), std::nullopt) << type;
    MaestroCounts counts = used;
    counts.rooms.ready = 5;
    EXPECT_EQ(Delta(type, 50, counts), std::nullopt) << type;
  }
}

TEST(MaestroTypesTest, ResourceDeltaIsRoundedUp) {
  EXPECT_EQ(CpuDelta(50, 750, 1000, 10), 5) << "1.5 times as many";
  EXPECT_EQ(CpuDelta(50, 375, 1000, 10), -2) << "7.5 of 10";
  EXPECT_EQ(CpuDelta(50, 0, 1000, 10), -10);
  EXPECT_EQ(CpuDelta(50, 750, 1000, 0), 0);
  EXPECT_EQ(Delta("mem", 50,
                  {.rooms = {.creating = 1, .ready = 2, .occupied = 7, .terminating = 9},
                   .containers = {{.mem_usage_bytes = 3, .mem_request_bytes = 4}}}),
            5);
}

TEST(MaestroTypesTest, RatioIsRoundedToHundredthsBeforeRooms) {
  EXPECT_EQ(CpuDelta(50, 1, 3, 1000), -330) << "0.67, not 0.6667";
  EXPECT_EQ(CpuDelta(50, 3125, 10'000, 100), -37) << "0.625: away from zero";
  // 0.8 as a 32-bit float is slightly more than 0.8, and would need one more room.
  EXPECT_EQ(CpuDelta(80, 800, 1000, 10), 0);
  EXPECT_EQ(CpuDelta(80, 803, 1000, 1000), 0) << "1.00375";
  EXPECT_EQ(CpuDelta(80, 805, 1000, 1000), 10) << "1.00625";
}

// 0.07 * 100 is slightly more than 7 in doubles.
TEST(MaestroTypesTest, RoomsAreRoundedUpAsTheyAreComputed) {
  EXPECT_EQ(CpuDelta(50, 35, 1000, 100), 8 - 100);
}

TEST(MaestroTypesTest, AResourceDeltaThatIsNotANumberIsAbsent) {
  EXPECT_EQ(CpuDelta(0, 1, 2, 3), std::nullopt);
  EXPECT_EQ(CpuDelta(1, 1000, 1, kMost), std::nullopt);
  EXPECT_EQ(CpuDelta(50, 1, 2, -1), std::nullopt);
  EXPECT_EQ(CpuDelta(100, -4, 1, kMost / 4), std::nullopt) << "rooms fit, their difference not";
}

// ---------------------------------------------------------------- types that users add

TEST(MaestroTypesTest, UsersAddTypes) {
  MaestroTypes types;
  EXPECT_THAT(types.Names(), ElementsAre("cpu", "legacy", "mem", "room"));
  const auto utilization = [](const MaestroCounts& counts) {
    return static_cast<float>(counts.signals.at("queue"));
  };
  const auto delta = [](const MaestroTrigger& trigger, const MaestroCounts& counts) {
    return trigger.usage + counts.rooms.ready;
  };
  ASSERT_TRUE(types.Add("queue", {.delta = delta, .utilization = utilization}));
  EXPECT_THAT(types.Names(), ElementsAre("cpu", "legacy", "mem", "queue", "room"));
  const MaestroCounts counts = {.rooms = {.ready = 3}, .signals = {{"queue", 0.25}}};
  EXPECT_EQ(types.Find("queue")->utilization(counts), 0.25F);
  EXPECT_EQ(types.Find("queue")->delta({.usage = 4}, counts), 7);
}

TEST(MaestroTypesTest, TypesThatCannotBeAddedChangeNothing) {
  MaestroTypes types;
  const MaestroPolicyType whole = {
      .delta = [](const MaestroTrigger&, const MaestroCounts&) { return 99; },
      .utilization = [](const MaestroCounts&) { return 9.0F; }};
  EXPECT_FALSE(types.Add("", whole));
  EXPECT_FALSE(types.Add("room", whole)) << "taken";
  EXPECT_FALSE(types.Add("queue", {.delta = whole.delta, .utilization = nullptr}));
  EXPECT_FALSE(types.Add("queue", {.delta = nullptr, .utilization = whole.utilization}));
  EXPECT_THAT(types.Names(), ElementsAre("cpu", "legacy", "mem", "room"));
  EXPECT_EQ(types.Find("room")->utilization(Rooms(1, 2)), 0.5F);
  ASSERT_TRUE(types.Add("queue", whole));
  EXPECT_FALSE(types.Add("queue", whole));
}

TEST(MaestroTypesTest, NamesAreExact) {
  const MaestroTypes types;
  for (const char* name : {"memory", "Room", "rooms", "", "queue"}) {
    EXPECT_EQ(types.Find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace ebb::maestro_types_test
