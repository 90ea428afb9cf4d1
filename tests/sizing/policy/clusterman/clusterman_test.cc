#include "sizing/policy/clusterman/clusterman.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "base/random.h"
#include "gtest/gtest.h"

namespace ebb::clusterman_test {
namespace {

using Kind = ClustermanActionKind;
using Refusal = ClustermanRefusal;

constexpr int64_t kNow = 1'000'000;

// A pool of two groups: "g" has `nodes` cluster nodes with 10 cores and a weight of 10 each, and
// "h" has none.  Setpoint 0.8, margin 0.1, and an outside signal.
struct Pool {
  explicit Pool(int nodes = 10) {
    options.service.setpoint = 0.8;
    options.service.target_capacity_margin = 0.1;
    options.limits = {.min_capacity = 0,
                      .max_capacity = 1000,
                      .max_weight_to_add = 1000,
                      .max_weight_to_remove = 1000};
    observation.groups = {{.id = "g", .target_capacity = 10.0 * nodes, .max_capacity = 500},
                          {.id = "h", .max_capacity = 500}};
    for (int i = 0; i < nodes; ++i) AddNode("g", std::to_string(i), true);
  }

  void AddNode(const std::string& group, const std::string& name, bool joined) {
    observation.instances.push_back(
        {.id = "i-" + name, .group_id = group, .ip = "ip-" + name, .weight = 10, .uptime_s = 5000});
    observation.groups[group == "g" ? 0 : 1].fulfilled_capacity += 10;
    if (!joined) return;
    observation.agents.push_back(
        {.name = "n-" + name, .ip = "ip-" + name, .allocatable = {10, 1000, 0, 0}, .pods = {}});
  }

  void Ask(double cpus) {
    observation.signal.request = {cpus, std::nullopt, std::nullopt, std::nullopt};
  }

  ClustermanDecision Decide(int64_t now_s = kNow) {
    return ebb::Decide(options, observation, now_s, &state);
  }

  ClustermanOptions options;
  ClustermanObservation observation;
  ClustermanState state;
};

// Such as "set capacity h:20".
std::string Actions(const ClustermanDecision& decision) {
  std::string text;
  for (const ClustermanAction& action : decision.actions) {
    if (!text.empty()) text += ", ";
    text += std::string(Name(action.kind)) + " " + action.group_id + ":";
    if (action.kind == Kind::kSetCapacity) text += std::to_string(action.size);
    for (const size_t node : action.nodes) text += decision.pool.nodes[node].id;
  }
  return text;
}

TEST(ClustermanTest, WorkedExampleScalesFrom100To120) {
  Pool pool;
  pool.Ask(96);
  const ClustermanDecision decision = pool.Decide();
  EXPECT_EQ(decision.refusal, Refusal::kNone);
  EXPECT_DOUBLE_EQ(*decision.asked, 120);
  EXPECT_EQ(decision.target_before, 100);
  EXPECT_EQ(decision.non_orphan_fulfilled_capacity, 100);
  EXPECT_EQ(decision.pool.total[0], 100);
  EXPECT_EQ(Actions(decision), "set capacity h:20");
}

TEST(ClustermanTest, NoSignalKeepsThePresentTarget) {
  Pool pool;
  EXPECT_EQ(pool.Decide().target->rule, ClustermanTargetRule::kNoRequest);
  EXPECT_EQ(Actions(pool.Decide()), "");
}

TEST(ClustermanTest, ShrinkingSetsTheGroupAndTerminatesOrDrainsWhatIsTooMuch) {
  Pool pool(3);
  pool.Ask(8);
  EXPECT_EQ(Actions(pool.Decide()), "set capacity g:10, terminate g:i-0i-1");
  pool.options.draining_enabled = true;
  EXPECT_EQ(Actions(pool.Decide()), "set capacity g:10, drain g:i-0, drain g:i-1");
}

TEST(ClustermanTest, ADryRunDecidesAndDoesNothing) {
  Pool pool(3);
  pool.Ask(8);
  pool.AddNode("h", "orphan", false);
  pool.options.dry_run = true;
  const ClustermanDecision decision = pool.Decide();
  EXPECT_EQ(Actions(decision), "");
  EXPECT_FALSE(decision.prune->chosen.empty());
}

TEST(ClustermanTest, APauseHoldsUpToItsLastSecondAndNothingIsDone) {
  Pool pool(3);
  pool.Ask(8);
  pool.state.pause = {.until_s = kNow};
  const ClustermanState before = pool.state;
  EXPECT_EQ(pool.Decide().refusal, Refusal::kPaused);
  EXPECT_EQ(Actions(pool.Decide()), "");
  EXPECT_EQ(pool.state, before);
  EXPECT_EQ(pool.Decide(kNow + 1).refusal, Refusal::kNone);
  pool.state.pause = ClustermanPause{};
  EXPECT_EQ(pool.Decide(kNow + 1'000'000'000).refusal, Refusal::kPaused);
}

TEST(ClustermanTest, AnOffsetIsAddedAfterTheMarginWhileItHolds) {
  Pool pool;
  pool.Ask(84);  // 105: within the margin.
  pool.state.offset = {.capacity = 30, .until_s = kNow};
  EXPECT_EQ(*pool.Decide().asked, 130);
  EXPECT_EQ(pool.Decide().target->capacity, 100);
  EXPECT_EQ(*pool.Decide(kNow + 1).asked, 100);
}

TEST(ClustermanTest, AnOffsetDoesNotPassTheLimits) {
  Pool pool;
  pool.options.limits.max_capacity = 110;
  pool.state.offset = ClustermanOffset{.capacity = 30};
  EXPECT_EQ(pool.Decide().constraint->capacity, 110);
}

TEST(ClustermanTest, MoreLostNodesThanTheThresholdForbidShrinking) {
  Pool pool(3);
  pool.Ask(8);
  pool.options.prevent_scale_down_after_capacity_loss = true;
  pool.options.instance_loss_threshold = 2;
  pool.state.nodes_at_last_reload = 5;
  EXPECT_FALSE(pool.Decide().no_scale_down);
  pool.state.nodes_at_last_reload = 6;
  const ClustermanDecision decision = pool.Decide();
  EXPECT_EQ(decision.lost_nodes, 3);
  EXPECT_TRUE(decision.no_scale_down);
  EXPECT_EQ(Actions(decision), "");
  EXPECT_FALSE(pool.Decide().no_scale_down);  // The next run counts from here.
  pool.options.prevent_scale_down_after_capacity_loss = false;
  pool.state.nodes_at_last_reload = 6;
  EXPECT_FALSE(pool.Decide().no_scale_down);
}

TEST(ClustermanTest, TheFirstRunHasLostNothing) {
  Pool pool;
  pool.options.prevent_scale_down_after_capacity_loss = true;
  EXPECT_EQ(pool.Decide().lost_nodes, 0);
  EXPECT_EQ(pool.state.nodes_at_last_reload, 10);
}

TEST(ClustermanTest, OldOrphansGoAtOnceOutsideAllLimits) {
  Pool pool(3);
  pool.options.limits.max_weight_to_remove = 0;
  pool.options.orphan_instance_uptime_threshold_seconds = 600;
  pool.options.draining_enabled = true;
  pool.AddNode("h", "old", false);
  pool.AddNode("h", "new", false);
  pool.AddNode("g", "cordoned", false);
  pool.AddNode("g", "stopped", false);
  pool.observation.instances[3].uptime_s = 601;
  pool.observation.instances[4].uptime_s = 600;
  pool.observation.instances[5].is_cordoned = true;
  pool.observation.instances[6].is_running = false;
  EXPECT_EQ(Actions(pool.Decide()), "terminate orphans h:i-old");
}

TEST(ClustermanTest, AnOrphanThatGoesCountsBelowAllTheSame) {
  Pool pool(1);
  pool.AddNode("h", "old", false);
  EXPECT_EQ(pool.Decide().prune->fulfilled_capacity, 20);
  EXPECT_EQ(Actions(pool.Decide()), "terminate orphans h:i-old, terminate h:i-old");
}

TEST(ClustermanTest, AFailedSignalIsReplacedByTheDefaultAndReported) {
  Pool pool(3);
  pool.observation.signal.failed = true;
  pool.options.default_signal.internal = true;
  pool.options.default_signal.parameters.v2 = true;
  pool.options.pool.target_capacity_margin = 0.5;
  ClustermanPod waiting;
  waiting.phase = ClustermanPodPhase::kUnschedulable;
  pool.observation.pending_pods = {waiting};
  const ClustermanDecision decision = pool.Decide();
  EXPECT_TRUE(decision.used_default_signal);
  // The default signal uses the service's margin of 0.1, not the pool's.
  EXPECT_DOUBLE_EQ(*(*decision.request)[0], 33);
  EXPECT_EQ(decision.refusal, Refusal::kNone);
}

TEST(ClustermanTest, TwoFailedSignalsGiveARoundWithoutAction) {
  Pool pool(3);
  pool.AddNode("h", "old", false);
  pool.observation.signal.failed = true;
  pool.observation.default_signal.failed = true;
  EXPECT_EQ(pool.Decide().refusal, Refusal::kSignalFailed);
  EXPECT_EQ(Actions(pool.Decide()), "");
}

TEST(ClustermanTest, ASignalOlderThanItsPeriodGivesARoundWithoutAction) {
  Pool pool;
  pool.Ask(96);
  pool.options.signal.period_minutes = 10;
  pool.observation.signal.at_s = kNow - 600;
  EXPECT_EQ(pool.Decide().refusal, Refusal::kNone);
  pool.observation.signal.at_s = kNow - 601;
  EXPECT_EQ(pool.Decide().refusal, Refusal::kSignalStale);
  EXPECT_EQ(Actions(pool.Decide()), "");
  pool.observation.signal.at_s = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(pool.Decide().refusal, Refusal::kSignalStale);
}

TEST(ClustermanTest, ASignalThatIsNotANumberGivesARoundWithoutAction) {
  for (const double cpus : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Pool pool;
    pool.Ask(cpus);
    EXPECT_EQ(pool.Decide().refusal, Refusal::kSignalNotFinite);
    EXPECT_EQ(Actions(pool.Decide()), "");
  }
}

TEST(ClustermanTest, InputThatMakesTheProgramFailGivesARoundWithoutAction) {
  Pool pool(3);
  pool.Ask(8);
  pool.AddNode("h", "old", false);
  const Pool good = pool;
  const auto refusal = [&](auto change) {
    pool = good;
    change(pool);
    const ClustermanDecision decision = pool.Decide();
    EXPECT_EQ(Actions(decision), "");
    return decision.refusal;
  };
  EXPECT_EQ(refusal([](Pool& p) {
              for (ClustermanGroup& group : p.observation.groups) group.is_stale = true;
            }),
            Refusal::kAllResourceGroupsStale);
  EXPECT_EQ(refusal([](Pool& p) { p.observation.groups.clear(); }), Refusal::kNoResourceGroups);
  EXPECT_EQ(
      refusal([](Pool& p) { p.options.pool.excluded_resources = {ClustermanResource::kCpus}; }),
      Refusal::kNoUsableResource);
  EXPECT_EQ(refusal([](Pool& p) {
              p.options.signal.internal = true;
              p.options.signal.parameters.per_pod_resource_requests = true;
            }),
            Refusal::kConfiguration);
  EXPECT_EQ(refusal([](Pool& p) { p.observation.agents[0].ip.clear(); }), Refusal::kObservation);
  EXPECT_EQ(refusal([](Pool& p) { p.options.limits.min_capacity = 2000; }),
            Refusal::kConfiguration);
  EXPECT_EQ(refusal([](Pool& p) { p.state.offset = ClustermanOffset{.capacity = std::nan("")}; }),
            Refusal::kTargetNotFinite);
  EXPECT_EQ(refusal([](Pool& p) {
              p.observation.agents[0].allocatable[0] = 1e308;
              p.observation.agents[1].allocatable[0] = 1e308;
            }),
            Refusal::kObservation);
  EXPECT_EQ(refusal([](Pool& p) {
              p.options.limits.max_capacity = p.options.limits.max_weight_to_add = int64_t{1} << 53;
              p.Ask(1e300);
            }),
            Refusal::kTooManySteps);
}

TEST(ClustermanTest, ARefusalNamesItsSubject) {
  Pool pool;
  pool.options.service.setpoint.reset();
  EXPECT_EQ(pool.Decide().subject, "service: autoscaling.setpoint: required");
  pool = Pool();
  pool.observation.agents[4].allocatable[0] = -1;
  EXPECT_EQ(pool.Decide().subject, "node n-4: allocatable");
}

TEST(ClustermanTest, AStaleGroupIsNotCalled) {
  Pool pool(3);
  pool.observation.groups[1].is_stale = true;
  pool.observation.groups[1].target_capacity = 50;
  pool.Ask(24);
  EXPECT_EQ(Actions(pool.Decide()), "");
  EXPECT_EQ(pool.Decide().target_before, 30);
}

TEST(ClustermanTest, AnEmptyPoolOfZeroNodesStartsWithOneAndThenByItsHistory) {
  Pool pool(0);
  pool.Ask(80);
  EXPECT_EQ(Actions(pool.Decide()), "set capacity g:1");
  EXPECT_EQ(pool.state.history, ClustermanHistory{});

  // The pool once had nodes: 10 cores are a weight of 10.
  Pool full(4);
  full.Decide();
  pool.state = full.state;
  EXPECT_EQ(*pool.Decide(kNow + 60).asked, 100);
}

TEST(ClustermanTest, HistoryStaysShort) {
  Pool pool(4);
  for (int64_t i = 0; i < 100; ++i) pool.Decide(kNow + i * 60);
  EXPECT_EQ(pool.state.history.non_orphan_fulfilled_capacity.size(), 5);
  EXPECT_EQ(pool.state.history.total[0].size(), 5);
}

// A pool that changes from round to round, sometimes with bad input.
ClustermanObservation Draw(Random& random) {
  Pool pool(0);
  const uint64_t nodes = random.Below(8);
  for (uint64_t i = 0; i < nodes; ++i) {
    const bool joined = random.Below(5) != 0;
    const bool in_g = random.Below(2) == 0;
    pool.AddNode(in_g ? "g" : "h", std::to_string(i), joined);
  }
  for (ClustermanGroup& group : pool.observation.groups) {
    group.target_capacity = static_cast<double>(random.Below(60));
    group.max_capacity = group.target_capacity + static_cast<double>(random.Below(30));
  }
  if (random.Below(20) == 0) pool.observation.groups[1].is_stale = true;
  pool.Ask(static_cast<double>(random.Below(100)));
  if (random.Below(20) == 0) pool.Ask(std::nan(""));
  if (random.Below(20) == 0) pool.observation.signal.failed = true;
  return pool.observation;
}

TEST(ClustermanTest, RandomRoundsKeepBoundsAndSurviveRestarts) {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    Pool pool(0);
    pool.options.limits = {.min_capacity = static_cast<int64_t>(random.Below(20)),
                           .max_capacity = 20 + static_cast<int64_t>(random.Below(80)),
                           .max_weight_to_add = static_cast<int64_t>(random.Below(40)),
                           .max_weight_to_remove = static_cast<int64_t>(random.Below(40)),
                           .max_tasks_to_kill = 3};
    pool.options.prevent_scale_down_after_capacity_loss = true;
    ClustermanState restarted;
    for (int64_t round = 0; round < 8; ++round) {
      pool.observation = Draw(random);
      restarted = pool.state;  // The state after a restart between two rounds.
      const ClustermanDecision again =
          ebb::Decide(pool.options, pool.observation, kNow + round * 60, &restarted);
      const ClustermanDecision decision = pool.Decide(kNow + round * 60);
      ASSERT_EQ(decision.actions, again.actions);
      ASSERT_EQ(pool.state, restarted);
      if (decision.refusal != Refusal::kNone) {
        ASSERT_TRUE(decision.actions.empty());
        continue;
      }
      const double step = decision.constraint->capacity - decision.target_before;
      ASSERT_LE(step, pool.options.limits.max_weight_to_add);
      ASSERT_LE(-step, pool.options.limits.max_weight_to_remove);
      if (decision.no_scale_down) {
        ASSERT_GE(step, 0);
      }
      for (const ClustermanAction& action : decision.actions) {
        if (action.kind != Kind::kSetCapacity) continue;
        for (const ClustermanGroup& group : pool.observation.groups) {
          if (group.id != action.group_id) continue;
          ASSERT_LE(action.size, group.max_capacity);
          ASSERT_GE(action.size, group.min_capacity);
        }
      }
    }
  }
}

// A number that is usually bad input.
double Nasty(Random& random) {
  constexpr double kNasty[] = {0,    -0.0, 1,     -1,    0.5,    10,     100,   1e9,
                               1e16, 1e18, 1e300, -1e18, 1e-320, 5e-324, -1e300};
  const uint64_t draw = random.Below(20);
  if (draw == 19) return std::nan("");
  if (draw == 18) return std::numeric_limits<double>::infinity();
  if (draw == 17) return -std::numeric_limits<double>::infinity();
  return draw < std::size(kNasty) ? kNasty[draw] : static_cast<double>(random.Below(50));
}

int64_t NastyInt(Random& random) {
  constexpr int64_t kNasty[] = {0,
                                -1,
                                1,
                                10,
                                1000,
                                int64_t{1} << 53,
                                std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max()};
  return kNasty[random.Below(std::size(kNasty))];
}

// Replaces one or a few numbers of a good pool.
void Spoil(Random& random, Pool& pool) {
  ClustermanObservation& observation = pool.observation;
  const uint64_t times = 1 + random.Below(3);
  for (uint64_t i = 0; i < times; ++i) {
    const double nasty = Nasty(random);
    const int64_t nasty_int = NastyInt(random);
    double* const numbers[] = {&observation.groups[0].target_capacity,
                               &observation.groups[0].min_capacity,
                               &observation.groups[0].max_capacity,
                               &observation.groups[1].fulfilled_capacity,
                               &observation.groups[1].stale_weight,
                               &observation.instances[1].weight,
                               &observation.instances[2].uptime_s,
                               &observation.agents[0].allocatable[0],
                               &observation.agents[1].allocatable[1],
                               &observation.pending_pods[0].requests[0],
                               &observation.pending_pods[0].age_s,
                               &*observation.signal.request[0],
                               &*pool.options.service.setpoint,
                               &*pool.options.service.target_capacity_margin,
                               &pool.options.limits.max_tasks_to_kill,
                               &pool.options.signal.parameters.pending_pods_multiplier,
                               &pool.state.offset->capacity};
    int64_t* const whole[] = {&pool.options.limits.min_capacity,
                              &pool.options.limits.max_capacity,
                              &pool.options.limits.max_weight_to_add,
                              &pool.options.limits.max_weight_to_remove,
                              &pool.options.limits.min_node_scalein_uptime_seconds,
                              &pool.options.instance_loss_threshold,
                              &pool.options.orphan_instance_uptime_threshold_seconds,
                              &pool.options.signal.period_minutes,
                              &*pool.state.offset->until_s,
                              &*pool.state.nodes_at_last_reload};
    const uint64_t which = random.Below(std::size(numbers) + std::size(whole));
    if (which < std::size(numbers)) {
      *numbers[which] = nasty;
    } else {
      *whole[which - std::size(numbers)] = nasty_int;
    }
  }
}

TEST(ClustermanTest, BadNumbersNeverCrashNorBreakABound) {
  Random random(13);
  int acted = 0;
  for (int i = 0; i < 20000; ++i) {
    Pool pool(4);
    pool.AddNode("h", "orphan", false);
    pool.observation.pending_pods.emplace_back();
    pool.observation.pending_pods[0].phase = ClustermanPodPhase::kUnschedulable;
    pool.options.signal.internal = random.Below(2) == 0;
    pool.state.offset = {.capacity = 1, .until_s = kNow};
    pool.state.nodes_at_last_reload = 4;
    pool.Ask(20);
    Spoil(random, pool);
    const ClustermanDecision decision =
        pool.Decide(random.Below(10) == 0 ? NastyInt(random) : kNow);
    if (decision.refusal != Refusal::kNone) {
      ASSERT_TRUE(decision.actions.empty());
      continue;
    }
    ++acted;
    const double step = decision.constraint->capacity - decision.target_before;
    ASSERT_LE(step, static_cast<double>(pool.options.limits.max_weight_to_add));
    ASSERT_LE(-step, static_cast<double>(pool.options.limits.max_weight_to_remove));
  }
  EXPECT_GT(acted, 5000);
}

TEST(ClustermanTest, RefusalsAndActionsHaveNames) {
  const std::pair<Refusal, const char*> kRefusals[] = {
      {Refusal::kNone, ""},
      {Refusal::kConfiguration, "error in the configuration"},
      {Refusal::kPaused, "paused"},
      {Refusal::kObservation, "error in the observation"},
      {Refusal::kSignalFailed, "the signals failed"},
      {Refusal::kSignalStale, "the signal is older than its period"},
      {Refusal::kSignalNotFinite, "the signal is not a finite number"},
      {Refusal::kNoResourceGroups, "no resource groups"},
      {Refusal::kAllResourceGroupsStale, "all resource groups are stale"},
      {Refusal::kNoUsableResource, "every requested resource is excluded"},
      {Refusal::kTargetNotFinite, "the target is not a finite number"},
      {Refusal::kTooManySteps, "too far from the target"}};
  for (const auto& [refusal, name] : kRefusals) EXPECT_EQ(Name(refusal), name);
  EXPECT_EQ(Name(Kind::kTerminateOrphans), "terminate orphans");
  EXPECT_EQ(Name(Kind::kSetCapacity), "set capacity");
  EXPECT_EQ(Name(Kind::kDrain), "drain");
  EXPECT_EQ(Name(Kind::kTerminate), "terminate");
}

TEST(ClustermanTest, MoreNodesThanBeforeAreNotALoss) {
  Pool pool(3);
  pool.options.prevent_scale_down_after_capacity_loss = true;
  pool.options.instance_loss_threshold = -1;
  pool.state.nodes_at_last_reload = 1;
  const ClustermanDecision decision = pool.Decide();
  EXPECT_EQ(decision.lost_nodes, 0);
  EXPECT_EQ(pool.state.nodes_at_last_reload, 3);
}

TEST(ClustermanTest, ADefaultSignalFromOutsideCountsAsLongAsItIsFresh) {
  Pool pool;
  pool.observation.signal.failed = true;
  pool.observation.default_signal.request = {96, std::nullopt, std::nullopt, std::nullopt};
  pool.observation.default_signal.at_s = kNow - 600;
  const ClustermanDecision decision = pool.Decide();
  EXPECT_TRUE(decision.used_default_signal);
  EXPECT_DOUBLE_EQ(*decision.asked, 120);
  pool.observation.default_signal.at_s = kNow - 100'000;
  EXPECT_EQ(pool.Decide().refusal, Refusal::kSignalStale);
  pool.observation.signal.failed = false;
  EXPECT_FALSE(pool.Decide().used_default_signal);
}

TEST(ClustermanTest, OrphansAndCapacitiesAreOfEachGroupInItsOrder) {
  Pool pool(3);
  pool.options.limits.max_weight_to_remove = 0;
  pool.options.orphan_instance_uptime_threshold_seconds = 600;
  pool.AddNode("h", "1", false);
  pool.AddNode("g", "2", false);
  pool.AddNode("h", "3", false);
  pool.observation.instances[3].ip = "ip-none";  // AddNode gave it the address of a node.
  pool.observation.instances[4].ip = "ip-none either";
  for (size_t i = 3; i < 6; ++i) pool.observation.instances[i].id = "o" + std::to_string(i);
  EXPECT_EQ(Actions(pool.Decide()), "terminate orphans g:o4, terminate orphans h:o3o5");

  Pool grows(1);
  grows.Ask(40);  // Four times the present cores, at 0.8: 50.
  EXPECT_EQ(Actions(grows.Decide()), "set capacity g:25, set capacity h:25");
}

TEST(ClustermanTest, NodesOfSeveralGroupsGoInOneRound) {
  Pool pool(2);
  pool.AddNode("h", "2", true);
  pool.AddNode("h", "3", true);
  pool.observation.groups[1].target_capacity = 20;
  pool.Ask(16);  // 16 of 40 cores are 40 %, which is half of the setpoint.
  EXPECT_EQ(Actions(pool.Decide()),
            "set capacity g:10, set capacity h:10, terminate g:i-0, terminate h:i-2");
  pool.options.draining_enabled = true;
  EXPECT_EQ(Actions(pool.Decide()),
            "set capacity g:10, set capacity h:10, drain g:i-0, drain h:i-2");
}

TEST(ClustermanTest, ARefusedRoundStillRecordsTheSizeOfThePool) {
  Pool pool(4);
  pool.Decide();
  ClustermanHistory expected;
  expected.non_orphan_fulfilled_capacity = {{kNow, 40}};
  expected.total[0] = {{kNow, 40}};
  expected.total[1] = {{kNow, 4000}};
  EXPECT_EQ(pool.state.history, expected);  // No disk and no GPUs: the pool has none.

  pool.Ask(8);
  pool.options.pool.excluded_resources = {ClustermanResource::kCpus};
  EXPECT_EQ(pool.Decide(kNow + 60).refusal, Refusal::kNoUsableResource);
  expected.non_orphan_fulfilled_capacity.push_back({kNow + 60, 40});
  expected.total[0].push_back({kNow + 60, 40});
  expected.total[1].push_back({kNow + 60, 4000});
  EXPECT_EQ(pool.state.history, expected);
}

TEST(ClustermanTest, ATotalThatIsNotFiniteIsReported) {
  Pool pool(2);
  for (ClustermanAgent& agent : pool.observation.agents) agent.allocatable[0] = 1e308;
  EXPECT_EQ(pool.Decide().subject, "nodes: the total is not a finite number");
}

TEST(ClustermanTest, ThePoolsOwnSignalKnowsThePoolsMargin) {
  Pool pool(3);
  pool.options.signal.internal = true;
  pool.options.signal.parameters.v2 = true;
  pool.options.pool.target_capacity_margin = 0.5;
  ClustermanPod waiting;
  waiting.phase = ClustermanPodPhase::kUnschedulable;
  pool.observation.pending_pods = {waiting};
  const ClustermanDecision decision = pool.Decide();
  EXPECT_FALSE(decision.used_default_signal);
  EXPECT_EQ(*decision.request, (ClustermanRequest{45, 4500, 0, 0}));
}

}  // namespace
}  // namespace ebb::clusterman_test
