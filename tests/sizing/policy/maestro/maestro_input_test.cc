// Invalid input, numbers that are too large, and the names of enumeration values.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sizing/policy/maestro/maestro.h"
#include "tests/sizing/policy/maestro_pool.h"

namespace ebb::maestro_input_test {
namespace {

using Reason = MaestroReason;
using Status = MaestroStatus;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

MaestroPool WithUp(std::vector<MaestroTrigger> triggers) {
  MaestroPool pool;
  pool.options.up.metrics_trigger = std::move(triggers);
  return pool;
}

MaestroPool WithDown(std::vector<MaestroTrigger> triggers) {
  MaestroPool pool;
  pool.options.down.metrics_trigger = std::move(triggers);
  return pool;
}

TEST(MaestroInputTest, OptionsWithProblemsGiveNoActionAndNoPoint) {
  const auto expect_invalid = [](auto change) {
    MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
    pool.state.status = Status::kOverdimensioned;
    const MaestroState before = pool.state;
    change(pool.options);
    const MaestroDecision made = pool.Round(9, 10);
    EXPECT_EQ(made.reason, Reason::kInvalidOptions);
    EXPECT_EQ(made.delta, 0);
    EXPECT_EQ(made.now_s, pool.now_s);
    EXPECT_EQ(pool.state, before);
  };
  expect_invalid([](MaestroOptions& options) {
    options.min = 20;
    options.max = 19;
  });
  expect_invalid([](MaestroOptions& options) { options.auto_scaling_period = 0; });
  expect_invalid([](MaestroOptions& options) { options.auto_scaling_period = -1; });
  expect_invalid([](MaestroOptions& options) { options.max_scale_up_amount = -1; });
  expect_invalid([](MaestroOptions& options) { options.down.metrics_trigger[0].type = "memory"; });
  expect_invalid([](MaestroOptions& options) { options.up.metrics_trigger[0].time = -1; });
}

TEST(MaestroInputTest, InvalidCountsGiveNoActionAndNoPoint) {
  MaestroPool pool = WithUp({LegacyTrigger(50, 1)});
  pool.options.min = 5;
  pool.state.status = Status::kOverdimensioned;
  const MaestroState before = pool.state;
  for (const MaestroRooms rooms :
       {MaestroRooms{.creating = -1, .occupied = 9}, MaestroRooms{.ready = -1, .occupied = 9},
        MaestroRooms{.ready = 9, .occupied = -1},
        MaestroRooms{.ready = kMost, .occupied = kMost}}) {
    pool.observation.counts.rooms = rooms;
    const MaestroDecision made = pool.Again();
    EXPECT_EQ(made.reason, Reason::kInvalidCounts);
    EXPECT_EQ(made.delta, 0);
    EXPECT_EQ(pool.state, before);
  }
}

TEST(MaestroInputTest, ADeltaThatIsNotANumberGivesNoAction) {
  MaestroPool pool = WithUp({{.type = "cpu", .usage = 50}, LegacyTrigger(50, 5)});
  pool.options.down.metrics_trigger = {LegacyTrigger(100, -3)};
  pool.state.status = Status::kOverdimensioned;
  pool.observation.counts.containers = {{.cpu_usage_milli = 1, .cpu_request_milli = 0}};
  const MaestroDecision made = pool.Round(6, 10);
  EXPECT_EQ(made.reason, Reason::kNoNumber) << "use without requests is beyond any limit";
  EXPECT_EQ(made.delta, 0);
  EXPECT_EQ(made.asked, 0);
  EXPECT_EQ(made.decided_by, 0U);
  EXPECT_EQ(made.checks.size(), 1U);
  EXPECT_TRUE(made.checks[0].limit_hit);
  EXPECT_EQ(made.checks[0].delta, std::nullopt);
  EXPECT_EQ(pool.state.status, Status::kOverdimensioned);
  EXPECT_EQ(pool.state.last_scale_op_at, 0);
  EXPECT_EQ(pool.state.points.at("cpu").size(), 1U) << "the point is kept";
}

TEST(MaestroInputTest, UtilizationMayBeNotANumberWhileOldPointsMatch) {
  MaestroPool pool = WithUp({{.type = "cpu", .usage = 50, .threshold = 50, .time = 20}});
  pool.observation.counts.containers = {{.cpu_usage_milli = 6, .cpu_request_milli = 10}};
  pool.fails = true;
  pool.Round(0, 10);
  pool.Round(0, 10);
  pool.observation.counts.containers = {};
  const MaestroDecision made = pool.Round(0, 10);
  EXPECT_TRUE(made.checks[0].matched);
  EXPECT_EQ(made.reason, Reason::kNoNumber);
  EXPECT_EQ(made.delta, 0);
}

TEST(MaestroInputTest, AUsageOf0GivesNoNumber) {
  MaestroPool pool = WithUp({RoomTrigger(0)});
  EXPECT_EQ(pool.Round(0, 10).reason, Reason::kNone) << "nothing is above";
  EXPECT_EQ(pool.Round(1, 10).reason, Reason::kNoNumber);
}

TEST(MaestroInputTest, ExcessiveDeltasGiveNoAction) {
  MaestroPool pool = WithUp({LegacyTrigger(-1, kMost)});
  pool.options.max_scale_up_amount = 5;
  EXPECT_EQ(pool.Round(0, 1).reason, Reason::kNoNumber);
  EXPECT_EQ(pool.state.status, Status::kInSync);
  pool.options.up.metrics_trigger = {LegacyTrigger(-1, kMost - 1)};
  EXPECT_EQ(pool.Round(0, 1).delta, 5);

  MaestroPool down = WithDown({LegacyTrigger(1000, kLeast)});
  down.options.min = 4;
  EXPECT_EQ(down.Round(0, 10).reason, Reason::kNoNumber);
  down.options.down.metrics_trigger = {LegacyTrigger(1000, kLeast + 1)};
  EXPECT_EQ(down.Round(0, 10).delta, -6);
}

TEST(MaestroInputTest, ExtremeCountsAreCountedWith) {
  MaestroPool pool;
  pool.options.max = 1;
  EXPECT_EQ(pool.Round(0, kMost).delta, 1 - kMost);
  pool.options = MaestroPool().options;
  pool.options.min = kMost;
  EXPECT_EQ(pool.Round(0, 0).asked, kMost);
  EXPECT_EQ(pool.Round(0, 0).delta, 300);
}

TEST(MaestroInputTest, AForeignStateIsUsedUnchanged) {
  MaestroPool pool = WithUp({RoomTrigger(80, 100, 2)});
  pool.state.points = {{"room", {}}, {"no such", {{1.0F}}}};
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kNone);
  pool.state.points["room"] = std::vector<MaestroPoint>(50, MaestroPoint{0.9F});
  EXPECT_EQ(pool.Round(9, 10).reason, Reason::kTrigger);
  EXPECT_EQ(pool.state.points["room"].size(), 3U);
}

// ---------------------------------------------------------------- names

template <typename Enum>
std::string Names(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += std::string(Name(static_cast<Enum>(i))) + " ";
  return names;
}

TEST(MaestroInputTest, DecisionsHaveNames) {
  EXPECT_EQ(Names<Status>(5), "in-sync subdimensioned overdimensioned creating terminating ");
  EXPECT_EQ(Names<MaestroDirection>(2), "up down ");
  EXPECT_EQ(Names<Reason>(10),
            "none state below_min above_max limit trigger cooldown no_number invalid_options "
            "invalid_counts ");
  EXPECT_EQ(Names<MaestroBound>(4), "none min max max_scale_up_amount ");
  EXPECT_EQ(Names<MaestroRefusal>(4), "none pending_pods image_error too_few_ready ");
}

}  // namespace
}  // namespace ebb::maestro_input_test
