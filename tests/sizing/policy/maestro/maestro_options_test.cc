#include "sizing/policy/maestro/maestro_options.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/maestro/maestro_types.h"

namespace ebb::maestro_options_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// ---------------------------------------------------------------- defaults

TEST(MaestroOptionsTest, DefaultsAreMaestros) {
  const MaestroOptions options;
  EXPECT_EQ(options.min, 0);
  EXPECT_EQ(options.max, 0);
  EXPECT_FALSE(options.enable_panic_scale);
  EXPECT_TRUE(options.prevent_rooms_creation_with_error);
  EXPECT_EQ(options.auto_scaling_period, 10);
  EXPECT_EQ(options.max_scale_up_amount, 300);
  EXPECT_EQ(options.key_timeout, 60);
}

TEST(MaestroOptionsTest, AnAbsentSectionHasItsOwnDefaults) {
  const MaestroOptions options;
  const MaestroTrigger trigger = {
      .type = "room", .usage = 80, .threshold = 80, .time = 600, .limit = 90};
  EXPECT_EQ(options.up, (MaestroScaling{.cooldown = 600, .delta = 1, .trigger = trigger}));
  EXPECT_EQ(options.down, options.up) << "usage 80 on the way down too";
}

TEST(MaestroOptionsTest, AGivenSectionIsZeroButForItsTrigger) {
  const MaestroScaling given;
  EXPECT_EQ(given.cooldown, 0);
  EXPECT_EQ(given.delta, 0);
  EXPECT_EQ(given.trigger, DefaultMaestroTrigger());
  EXPECT_THAT(given.metrics_trigger, IsEmpty());
  const MaestroTrigger zero = {
      .type = "", .usage = 0, .threshold = 0, .time = 0, .limit = 0, .delta = 0};
  EXPECT_EQ(MaestroTrigger(), zero);
}

TEST(MaestroOptionsTest, TheOldTriggerCountsAsARoomTriggerIfThereAreNoOthers) {
  const MaestroTrigger old = {
      .type = "cpu", .usage = 60, .threshold = 70, .time = 100, .limit = 85, .delta = 5};
  MaestroScaling scaling = {.delta = 3, .trigger = old};
  MaestroTrigger as_room = old;
  as_room.type = "room";
  EXPECT_THAT(Triggers(scaling), ElementsAre(as_room));

  const MaestroTrigger mem = {.type = "mem", .usage = 50};
  const MaestroTrigger legacy = {.type = "legacy", .delta = 2};
  scaling.metrics_trigger = {mem, legacy};
  EXPECT_THAT(Triggers(scaling), ElementsAre(mem, legacy)) << "without it, in their order";
}

TEST(MaestroOptionsTest, ALimitBelow1Is90) {
  EXPECT_EQ(UpLimit({.limit = 0}), 90);
  EXPECT_EQ(UpLimit({.limit = -1}), 90);
  EXPECT_EQ(UpLimit({.limit = kLeast}), 90);
  EXPECT_EQ(UpLimit({.limit = 1}), 1);
  EXPECT_EQ(UpLimit({.limit = 250}), 250);
}

TEST(MaestroOptionsTest, AWindowIsOfWholePeriods) {
  const MaestroOptions options = {.auto_scaling_period = 10};
  EXPECT_EQ(Window(options, {.time = 600}), 60);
  EXPECT_EQ(Window(options, {.time = 19}), 1);
  EXPECT_EQ(Window(options, {.time = 9}), 0);
  EXPECT_EQ(Window(options, {.time = 0}), 0);
  EXPECT_EQ(Window({.auto_scaling_period = 1}, {.time = kMost}), kMost);
}

// ---------------------------------------------------------------- what is refused

// The problems of default options after `change`.
template <typename Change>
std::vector<std::string> After(Change change) {
  MaestroOptions options;
  change(options);
  return Problems(options, MaestroTypes());
}

TEST(MaestroOptionsTest, DefaultsHaveNoProblem) {
  EXPECT_THAT(Problems({}, MaestroTypes()), IsEmpty());
}

TEST(MaestroOptionsTest, MaxBelowMin) {
  const auto bounds = [](int64_t min, int64_t max) {
    return After([=](MaestroOptions& options) {
      options.min = min;
      options.max = max;
    });
  };
  EXPECT_THAT(bounds(3, 2), ElementsAre("autoscaling.max: 2 is below min, 3"));
  EXPECT_THAT(bounds(2, 2), IsEmpty());
  EXPECT_THAT(bounds(3, 0), IsEmpty()) << "no upper bound";
  EXPECT_THAT(bounds(3, -1), IsEmpty()) << "Maestro checks a max above 0 only";
  EXPECT_THAT(bounds(-5, 1), IsEmpty());
}

TEST(MaestroOptionsTest, UnknownTypesAreProblems) {
  EXPECT_THAT(After([](MaestroOptions& options) {
                options.up.metrics_trigger = {{.type = "room"}, {.type = "memory"}};
                options.down.metrics_trigger = {{.type = "rooms"}, {.type = "queue_length"}};
              }),
              ElementsAre("autoscaling.up.metricsTrigger[1].type: there is no type \"memory\"; "
                          "there are cpu, legacy, mem, room",
                          "autoscaling.down.metricsTrigger[0].type: there is no type \"rooms\"; "
                          "did you mean \"room\"?",
                          "autoscaling.down.metricsTrigger[1].type: there is no type "
                          "\"queue_length\"; there are cpu, legacy, mem, room"));
}

TEST(MaestroOptionsTest, AddedTypesAreKnown) {
  MaestroTypes types;
  ASSERT_TRUE(
      types.Add("queue", {.delta = [](const MaestroTrigger&, const MaestroCounts&) { return 1; },
                          .utilization = [](const MaestroCounts&) { return 1.0F; }}));
  MaestroOptions options;
  options.up.metrics_trigger = {{.type = "queue"}};
  EXPECT_THAT(Problems(options, types), IsEmpty());
  EXPECT_EQ(Problems(options, MaestroTypes()).size(), 1U);
}

TEST(MaestroOptionsTest, TimeBelowZero) {
  EXPECT_THAT(After([](MaestroOptions& options) {
                options.up.metrics_trigger = {{.type = "room", .time = -1}};
                options.down.trigger.time = kLeast;
              }),
              ElementsAre("autoscaling.up.metricsTrigger[0].time: -1 is below 0",
                          "autoscaling.down.trigger.time: -9223372036854775808 is below 0"));
}

TEST(MaestroOptionsTest, AnUnusedOldTriggerIsNotChecked) {
  EXPECT_THAT(After([](MaestroOptions& options) {
                options.up.trigger = {.type = "no such", .time = -1};
                options.up.metrics_trigger = {{.type = "room"}};
                options.down.trigger.type = "no such";
              }),
              IsEmpty());
}

TEST(MaestroOptionsTest, KeysOfTheWatcher) {
  EXPECT_THAT(After([](MaestroOptions& options) { options.auto_scaling_period = 0; }),
              ElementsAre("watcher.autoScalingPeriod: 0 is below 1"));
  EXPECT_THAT(After([](MaestroOptions& options) { options.auto_scaling_period = -10; }),
              ElementsAre("watcher.autoScalingPeriod: -10 is below 1"));
  EXPECT_THAT(After([](MaestroOptions& options) { options.max_scale_up_amount = -1; }),
              ElementsAre("watcher.maxScaleUpAmount: -1 is below 0"));
  EXPECT_THAT(After([](MaestroOptions& options) {
                options.auto_scaling_period = 1;
                options.max_scale_up_amount = 0;
              }),
              IsEmpty());
}

TEST(MaestroOptionsTest, EachProblemIsNamed) {
  EXPECT_EQ(After([](MaestroOptions& options) {
              options.min = 2;
              options.max = 1;
              options.up.metrics_trigger = {{.type = "x", .time = -1}};
              options.auto_scaling_period = 0;
              options.max_scale_up_amount = -1;
            }).size(),
            5U);
}

// Maestro does not check these numbers, and each of them has a meaning.
TEST(MaestroOptionsTest, OtherNumbersAreAccepted) {
  EXPECT_THAT(
      After([](MaestroOptions& options) {
        options.min = -3;
        options.up = {
            .cooldown = -1,
            .delta = -1,
            .metrics_trigger = {
                {.type = "room", .usage = 0, .threshold = 200},
                {.type = "legacy", .usage = -5, .threshold = -1, .limit = -1, .delta = -1}}};
        options.key_timeout = -1;
      }),
      IsEmpty());
}

// ---------------------------------------------------------------- requests

MaestroOptions WithTypes(std::string up, std::string down) {
  MaestroOptions options;
  options.up.metrics_trigger = {{.type = "room"}, {.type = std::move(up)}};
  options.down.metrics_trigger = {{.type = std::move(down)}};
  return options;
}

TEST(MaestroOptionsTest, RequestsMustBeSetForTriggersThatMeasureThem) {
  constexpr char kCpu[] = "requests.cpu: must be set for triggers of type cpu";
  constexpr char kMem[] = "requests.memory: must be set for triggers of type mem";
  const std::vector<MaestroRequests> neither = {{}};
  EXPECT_THAT(RequestProblems(WithTypes("cpu", "room"), neither), ElementsAre(kCpu));
  EXPECT_THAT(RequestProblems(WithTypes("room", "mem"), neither), ElementsAre(kMem));
  EXPECT_THAT(RequestProblems(WithTypes("mem", "cpu"), neither), ElementsAre(kCpu, kMem));
  EXPECT_THAT(RequestProblems(WithTypes("mem", "cpu"), {}), ElementsAre(kCpu, kMem));
  EXPECT_THAT(RequestProblems(WithTypes("room", "legacy"), neither), IsEmpty());
  EXPECT_THAT(RequestProblems(WithTypes("mem", "cpu"), {{.cpu = "1", .memory = "1Gi"}}), IsEmpty());
  EXPECT_THAT(RequestProblems(WithTypes("mem", "cpu"), {{.cpu = "1"}}), ElementsAre(kMem));
}

TEST(MaestroOptionsTest, RequestsMustBeSetOnEveryContainer) {
  const std::vector<MaestroRequests> containers = {{.container = "game", .cpu = "1"},
                                                   {.container = "log", .memory = "1Gi"},
                                                   {.container = "proxy"}};
  EXPECT_THAT(
      RequestProblems(WithTypes("cpu", "mem"), containers),
      ElementsAre("containers, log: requests.cpu: must be set for triggers of type cpu",
                  "containers, proxy: requests.cpu: must be set for triggers of type cpu",
                  "containers, game: requests.memory: must be set for triggers of type mem",
                  "containers, proxy: requests.memory: must be set for triggers of type mem"));
}

TEST(MaestroOptionsTest, AnOldTriggerNeedsNoRequests) {
  MaestroOptions options;
  options.up.trigger.type = "cpu";
  EXPECT_THAT(RequestProblems(options, {}), IsEmpty()) << "it counts as a room trigger";
}

}  // namespace
}  // namespace ebb::maestro_options_test
