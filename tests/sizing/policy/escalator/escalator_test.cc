#include "sizing/policy/escalator/escalator.h"

#include <limits>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace ebb::escalator_test {
namespace {

using Error = EscalatorError;
using Path = EscalatorPath;

constexpr int64_t kNow = 1'000'000;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// Records the calls, and fails calls to the cloud if a test says so.
class Calls final : public EscalatorCalls {
 public:
  absl::Status Taint(const EscalatorNode& node) override { return Made("taint " + node.name); }
  absl::Status Untaint(const EscalatorNode& node) override { return Made("untaint " + node.name); }
  absl::Status Terminate(const EscalatorNode& node) override {
    return Made("terminate " + node.name);
  }
  absl::Status DeleteNode(const EscalatorNode& node) override {
    return Made("delete " + node.name);
  }
  absl::Status SetDesired(int64_t desired) override {
    if (cloud_fails) return absl::UnavailableError("cloud api down");
    return Made("desired " + std::to_string(desired));
  }

  std::string made;
  bool cloud_fails = false;

 private:
  absl::Status Made(const std::string& call) {
    made += (made.empty() ? "" : ", ") + call;
    return absl::OkStatus();
  }
};

// A group of nodes a, b, c, ..., of 1000m and 1000 bytes each; the first is the oldest.  Thresholds
// 70, 40 and 20 percent; rates 1 and 2; soft period 5, hard period 10, cool-down 2 min.
struct Group {
  explicit Group(int count) {
    options = {.name = "g",
               .label_key = "k",
               .label_value = "v",
               .cloud_provider_group_name = "asg",
               .min_nodes = 0,
               .max_nodes = 10,
               .scale_up_threshold_percent = 70,
               .taint_upper_capacity_threshold_percent = 40,
               .taint_lower_capacity_threshold_percent = 20,
               .slow_node_removal_rate = 1,
               .fast_node_removal_rate = 2,
               .soft_delete_grace_period = "5m",
               .hard_delete_grace_period = "10m",
               .scale_up_cool_down_period = "2m"};
    observation.cloud = {.min = 0, .max = 20, .desired = count};
    for (int i = 0; i < count; ++i) AddNode();
  }

  EscalatorNode& AddNode() {
    const auto i = static_cast<int64_t>(observation.nodes.size());
    observation.nodes.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                                 .allocatable = {1000, 1000},
                                 .created_s = kNow - 100'000 + i,
                                 .labels = {{"k", "v"}},
                                 .ready = true});
    return observation.nodes.back();
  }
  EscalatorNode& Node(size_t i) { return observation.nodes[i]; }
  void Taint(size_t i, int64_t age_s) { Node(i).taint = std::to_string(kNow - age_s); }

  // Adds a pod that is not bound to a node.
  EscalatorPod& AddPod(int64_t cpu_milli, EscalatorPhase phase = EscalatorPhase::kRunning) {
    observation.pods.push_back({.containers = {{cpu_milli, 0}},
                                .phase = phase,
                                .scheduled = false,
                                .node_selector = {{"k", "v"}}});
    return observation.pods.back();
  }
  // Adds one pod that requests this percentage of the cpu of the group's nodes.
  void Fill(int64_t percent) {
    AddPod(10 * percent * static_cast<int64_t>(observation.nodes.size()));
  }

  EscalatorDecision Decide(int64_t now_s = kNow) {
    calls.made.clear();
    return ebb::Decide(options, observation, now_s, calls, &state);
  }

  EscalatorOptions options;
  EscalatorObservation observation;
  EscalatorState state;
  Calls calls;
};

std::string Forced(const EscalatorDecision& decision) {
  std::string text;
  for (const EscalatorForce force : decision.forced) text += std::string(Name(force)) + " ";
  return text;
}

// ---------------------------------------------------------------- worked examples

TEST(EscalatorTest, WorkedExampleScalesFrom2To8Nodes) {
  Group group(2);
  for (int i = 0; i < 10; ++i) group.AddPod(500);
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.percents->cpu, 250);
  EXPECT_EQ(round.ask->rule, EscalatorRule::kGrow);
  EXPECT_EQ(round.delta, 6);
  EXPECT_EQ(round.path, Path::kUp);
  EXPECT_EQ(group.calls.made, "desired 8");

  for (int i = 0; i < 6; ++i) group.AddNode().created_s = kNow + 60;
  EXPECT_EQ(group.Decide(kNow + 120).percents->cpu, 62.5);
}

TEST(EscalatorTest, WorkedExampleScalesFromZeroByTheRememberedSize) {
  Group group(1);
  group.Decide();
  EXPECT_EQ(group.state.cached_capacity, (EscalatorResources{1000, 1000}));
  group.observation.nodes.clear();
  group.AddPod(1800);
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.percents->cpu, kEscalatorFromZero);
  EXPECT_EQ(round.percents->memory, kEscalatorFromZero);
  EXPECT_EQ(round.delta, 3);
}

TEST(EscalatorTest, WorkedExampleScalesFromZeroByOneWithoutMemory) {
  Group group(0);
  group.AddPod(1800);
  EXPECT_EQ(group.Decide().delta, 1);
}

TEST(EscalatorTest, BandsOfUtilization) {
  const std::pair<int, const char*> kBands[] = {{0, "taint a, taint b"},
                                                {19, "taint a, taint b"},
                                                {20, "taint a"},
                                                {39, "taint a"},
                                                {40, ""},
                                                {70, ""},
                                                {71, "desired 11"}};
  for (const auto& [percent, calls] : kBands) {
    Group group(10);
    group.Fill(percent);
    group.Decide();
    EXPECT_EQ(group.calls.made, calls) << percent;
  }
}

// ---------------------------------------------------------------- steps 1 to 6

TEST(EscalatorTest, TheFirstListedNodeIsRememberedOfAnyClass) {
  Group group(2);
  group.Node(0).allocatable = {7, 8};
  group.Node(0).unschedulable = true;
  group.Decide();
  EXPECT_EQ(group.state.cached_capacity, (EscalatorResources{7, 8}));
}

TEST(EscalatorTest, ANodeTaintedAsUnhealthyStillCountsUntaintedThisRound) {
  Group group(4);
  group.options.unhealthy_node_grace_period = "1m";
  group.options.health_check_newest_nodes_percent = 100;
  group.options.max_unhealthy_nodes_percent = 99;
  group.options.min_nodes = 4;
  group.Node(1).ready = false;
  group.Fill(50);
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(group.calls.made, "taint b");
  EXPECT_EQ(round.group.untainted.size(), 4);
  EXPECT_EQ(round.path, Path::kNone);
}

TEST(EscalatorTest, InDryModeAnUnhealthyNodeCountsTaintedAtOnceAndRepeats) {
  Group group(2);
  group.options.dry_mode = true;
  group.options.unhealthy_node_grace_period = "1m";
  group.options.health_check_newest_nodes_percent = 100;
  group.Node(1).ready = false;
  EXPECT_EQ(group.Decide().group.tainted.size(), 1);
  group.Decide(kNow + 60);
  EXPECT_EQ(group.state.taint_tracker, (std::vector<std::string>{"b", "b"}));
  EXPECT_EQ(group.calls.made, "");
}

TEST(EscalatorTest, WithoutNodesAndPodsNothingHappensEvenBelowTheMinimum) {
  Group group(0);
  group.options.min_nodes = 3;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kEmpty);
  EXPECT_EQ(round.error, Error::kNone);
}

TEST(EscalatorTest, FewerNodesThanTheMinimumAreAnErrorAndNoGrowth) {
  Group group(2);
  group.options.min_nodes = 3;
  group.Fill(500);
  group.state.last_delta = 5;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kBelowTotalMin);
  EXPECT_EQ(Describe(round), "node count less than the minimum");
  EXPECT_EQ(round.delta, 0);
  EXPECT_EQ(group.calls.made, "");
  EXPECT_EQ(group.state.last_delta, 0);
}

TEST(EscalatorTest, FewerUntaintedNodesThanTheMinimumGrowEvenWhileLocked) {
  Group group(4);
  group.options.min_nodes = 4;
  group.Taint(0, 5000);
  group.Node(1).unschedulable = true;
  group.state = {.is_locked = true, .requested = 9, .locked_at_s = kNow - 1};
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kBelowUntaintedMin);
  EXPECT_EQ(round.delta, 2);
  EXPECT_EQ(group.calls.made, "untaint a, desired 5");
  EXPECT_EQ(group.state.requested, 1);
  EXPECT_EQ(group.state.locked_at_s, kNow);
  EXPECT_EQ(group.state.last_growth_s, std::nullopt);  // Only step 15 sets it.
}

TEST(EscalatorTest, AnErrorBelowTheMinimumIsAnErrorOfTheRound) {
  Group group(4);
  group.options.min_nodes = 4;
  group.Node(1).unschedulable = true;
  group.observation.cloud->max = 4;
  EXPECT_EQ(Describe(group.Decide()),
            "refusing to scaleup up beyond the maximum size of the autoscaling group "
            "(TargetSize: 4; MaxNodes: 10). Taking no action");
  group.observation.cloud->max = 5;
  group.calls.cloud_fails = true;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.error, Error::kCloud);
  EXPECT_EQ(Describe(round), "cloud api down");
  EXPECT_EQ(round.delta, 0);
}

TEST(EscalatorTest, BoundsOfZeroAreTheCloudsOfEachRound) {
  Group group(4);
  group.options.min_nodes = group.options.max_nodes = 0;
  group.observation.cloud = {.min = 4, .max = 6, .desired = 4};
  EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.min_nodes, 4);
  EXPECT_EQ(round.max_nodes, 6);
  EXPECT_EQ(group.calls.made, "");  // 0 percent, but at the minimum.
  group.observation.cloud->min = 3;
  round = group.Decide();
  EXPECT_EQ(round.min_nodes, 3);
  EXPECT_EQ(group.calls.made, "taint a");
}

// ---------------------------------------------------------------- steps 7 to 9

TEST(EscalatorTest, NodesWithoutCapacityAreAnError) {
  Group group(1);
  group.Node(0).allocatable.cpu_milli = 0;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kCalcError);
  EXPECT_EQ(Name(round.error), "divide_by_zero");
  EXPECT_EQ(Describe(round), "cannot divide by zero in percent calculation");
}

TEST(EscalatorTest, ALockHoldsUntilTheCoolDownIsOver) {
  Group group(3);
  group.Fill(500);
  group.Decide();
  EXPECT_EQ(group.state.requested, 17);  // 17 of 19, because of the cloud's max.
  const EscalatorDecision locked = group.Decide(kNow + 119);
  EXPECT_EQ(locked.path, Path::kLocked);
  EXPECT_EQ(locked.delta, 17);
  EXPECT_EQ(group.calls.made, "");
  EXPECT_EQ(group.Decide(kNow + 120).path, Path::kUp);
}

TEST(EscalatorTest, NothingIsReapedWhileLocked) {
  Group group(5);
  group.Taint(0, 5000);
  group.Node(1).force_taint = true;
  group.Fill(50);
  group.state = {.is_locked = true, .requested = 1, .locked_at_s = kNow - 119};
  EXPECT_EQ(group.Decide().path, Path::kLocked);
  EXPECT_EQ(group.calls.made, "");
  group.state.locked_at_s = kNow - 120;
  group.Decide();
  EXPECT_EQ(group.calls.made, "terminate b, delete b, untaint a");
}

TEST(EscalatorTest, AnOpenLockIsClearedButKeepsItsTime) {
  Group group(2);
  group.Fill(50);
  group.state = {.is_locked = true, .requested = 4, .locked_at_s = kNow - 120};
  group.Decide();
  EXPECT_EQ(group.state.is_locked, false);
  EXPECT_EQ(group.state.requested, 0);
  EXPECT_EQ(group.state.locked_at_s, kNow - 120);
}

TEST(EscalatorTest, NewNodesThatDidNotComeAreReported) {
  Group group(2);
  group.Fill(50);
  group.state = {.last_delta = 1, .last_growth_s = kNow - 300};
  EXPECT_EQ(group.Decide().new_nodes, (EscalatorNewNodes{1, 0}));
  const auto with_node_of = [&](int64_t created_s) {
    group.Node(0).created_s = created_s;
    group.state = {.last_delta = 1, .last_growth_s = kNow - 300};
    return group.Decide().new_nodes;
  };
  EXPECT_EQ(with_node_of(kNow - 300), (EscalatorNewNodes{1, 0}));
  EXPECT_EQ(with_node_of(kNow - 299), std::nullopt);
  group.Node(0).has_readable_instance = false;
  EXPECT_EQ(with_node_of(kNow - 299), (EscalatorNewNodes{1, 0}));
  group.state = {.last_delta = -1, .last_growth_s = kNow - 300};
  EXPECT_EQ(group.Decide().new_nodes, std::nullopt);
  group.Node(0).has_readable_instance = true;
  group.state = {.last_delta = 1};  // The group has never grown, so every node is new.
  EXPECT_EQ(group.Decide().new_nodes, (EscalatorNewNodes{1, 2}));
}

// ---------------------------------------------------------------- steps 11 to 14

TEST(EscalatorTest, AStarvingPodCancelsShrinking) {
  Group group(4);
  group.options.scale_on_starve = true;
  group.AddPod(1000, EscalatorPhase::kPending);
  EXPECT_EQ(group.Decide().delta, -1);  // 25 percent; it fits.
  group.observation.pods[0].containers[0].cpu_milli = 1001;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.ask->delta, -1);
  EXPECT_EQ(round.delta, 1);
  EXPECT_EQ(Forced(round), "starve ");
}

TEST(EscalatorTest, StarvingDoesNothingAtMaxNodesOrIfDisabled) {
  Group group(4);
  group.options.scale_on_starve = true;
  group.options.max_nodes = 4;
  group.AddPod(1001, EscalatorPhase::kPending);
  EXPECT_EQ(Forced(group.Decide()), "");
  group.options.max_nodes = 5;
  group.options.scale_on_starve = false;
  EXPECT_EQ(Forced(group.Decide()), "");
}

TEST(EscalatorTest, StarvingLeavesALargerDeltaAlone) {
  Group group(2);
  group.options.scale_on_starve = true;
  group.AddPod(5000, EscalatorPhase::kPending);
  EXPECT_EQ(group.Decide().delta, 6);
}

TEST(EscalatorTest, ANodeThatIsTooOldIsReplacedAtTheMinimum) {
  Group group(3);
  group.options.min_nodes = 3;
  group.options.max_node_age = "100000s";
  group.Fill(50);
  EXPECT_EQ(group.Decide().delta, 0);  // Exactly max_node_age old.
  const auto delta_with = [&](const auto& change) {
    Group changed = group;
    changed.Node(0).created_s -= 1;
    change(changed);
    return changed.Decide().delta;
  };
  EXPECT_EQ(delta_with([](Group&) {}), 1);
  EXPECT_EQ(delta_with([](Group& g) { g.options.min_nodes = 2; }), 0);
  EXPECT_EQ(delta_with([](Group& g) { g.options.max_node_age = "0"; }), 0);
  EXPECT_EQ(delta_with([](Group& g) {
              g.AddNode();
              g.Taint(3, 1);
            }),
            0);
  EXPECT_EQ(delta_with([](Group& g) { g.AddNode().force_taint = true; }), 1);
}

TEST(EscalatorTest, MoreUntaintedNodesThanMaxNodesShrinkEvenAgainstDemand) {
  Group group(5);
  group.options.max_nodes = 5;
  group.Fill(500);
  EXPECT_GT(group.Decide().delta, 0);
  group.state = {};
  group.options.max_nodes = 2;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.delta, -3);
  EXPECT_EQ(Forced(round), "over_max ");
  EXPECT_EQ(group.calls.made, "taint a, taint b, taint c");
}

TEST(EscalatorTest, TheFastRateStaysIfItIsMoreThanTheExcess) {
  Group group(5);
  group.options.max_nodes = 4;
  EXPECT_EQ(group.Decide().delta, -2);
}

// Four nodes in use; the newest two, c and d, are not ready.
Group WithUnhealthyNodes() {
  Group group(4);
  group.options.unhealthy_node_grace_period = "1m";
  group.options.health_check_newest_nodes_percent = 75;
  group.options.max_unhealthy_nodes_percent = 66;
  group.Node(2).ready = group.Node(3).ready = false;
  group.Taint(2, 1);
  group.Taint(3, 1);
  group.Fill(500);
  return group;
}

TEST(EscalatorTest, TooManyUnhealthyNodesStopScaling) {
  Group group = WithUnhealthyNodes();
  EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.health, (EscalatorHealth{.tested = 3, .unhealthy = 2, .healthy = true}));
  EXPECT_EQ(round.path, Path::kUp);  // 200 / 3 is 66, which is not more than 66.
  group = WithUnhealthyNodes();
  group.options.max_unhealthy_nodes_percent = 65;
  round = group.Decide();
  EXPECT_EQ(round.health->healthy, false);
  EXPECT_EQ(round.path, Path::kNone);
  EXPECT_EQ(round.delta, 0);
  EXPECT_EQ(Forced(round), "unhealthy ");
}

TEST(EscalatorTest, AnUnhealthyGroupLosesOnlyUnhealthyNodes) {
  Group group = WithUnhealthyNodes();
  group.options.max_unhealthy_nodes_percent = 0;
  group.Taint(1, 5000);
  group.Taint(2, 5000);
  group.Decide();
  // The unhealthy nodes are tainted already: to taint them again changes nothing.
  EXPECT_EQ(group.calls.made, "taint c, taint d, terminate c, delete c");
}

TEST(EscalatorTest, AnUnhealthyGroupLosesForceTaintedNodesToo) {
  Group group = WithUnhealthyNodes();
  group.options.max_unhealthy_nodes_percent = 0;
  group.Node(0).force_taint = true;
  EXPECT_EQ(group.Decide().health->healthy, false);
  EXPECT_EQ(group.calls.made, "taint c, taint d, terminate a, delete a");
}

TEST(EscalatorTest, NodesAreTestedOnlyAfterTheirGracePeriod) {
  Group group = WithUnhealthyNodes();
  group.options.health_check_newest_nodes_percent = 1;  // One node, rounded up.
  group.Node(3).created_s = kNow - 60;
  EXPECT_EQ(group.Decide().health->unhealthy, 1);
  group.Node(2).ready = true;
  EXPECT_EQ(group.Decide().health, (EscalatorHealth{.tested = 1, .unhealthy = 0}));
  for (EscalatorNode& node : group.observation.nodes) node.created_s = kNow - 60;
  group.state = {};
  EXPECT_EQ(group.Decide().health, (EscalatorHealth{.tested = 0, .unhealthy = 0}));
}

TEST(EscalatorTest, CordonedNodesAreTestedAndCountHealthy) {
  Group group = WithUnhealthyNodes();
  group.Node(3).unschedulable = true;
  EXPECT_EQ(group.Decide().health, (EscalatorHealth{.tested = 3, .unhealthy = 1}));
}

TEST(EscalatorTest, ForceTaintedNodesGoBeforeGrowthAndAreReplaced) {
  Group group(3);
  group.Node(0).force_taint = true;
  group.Fill(500);
  group.observation.cloud->max = 5;
  group.Decide();
  EXPECT_EQ(group.calls.made, "terminate a, delete a, desired 5");
}

// ---------------------------------------------------------------- step 15

TEST(EscalatorTest, ARoundThatNeitherGrowsNorShrinksReaps) {
  Group group(4);
  group.Taint(0, 301);
  group.AddPod(1500);
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kNone);
  EXPECT_EQ(group.calls.made, "terminate a, delete a");
}

TEST(EscalatorTest, ARoundThatGrowsReapsNothing) {
  Group group(2);
  group.Taint(0, 5000);
  group.AddPod(800);
  group.Decide();
  EXPECT_EQ(group.calls.made, "untaint a");
}

TEST(EscalatorTest, AFailedGrowthIsNotAnErrorOfTheRoundAndCountsAsGrowth) {
  Group group(2);
  group.Fill(100);
  group.calls.cloud_fails = true;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.error, Error::kNone);
  EXPECT_EQ(round.delta, 1);
  EXPECT_EQ(round.up->Result(), 0);
  EXPECT_EQ(group.state.last_growth_s, kNow);
  EXPECT_EQ(group.state.is_locked, false);
}

TEST(EscalatorTest, TheRequestedDeltaIsReturnedNotTheAllowedOne) {
  Group group(3);
  group.options.min_nodes = 2;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.delta, -2);
  EXPECT_EQ(round.down->allowed, 1);
  EXPECT_EQ(group.state.last_delta, -2);
}

TEST(EscalatorTest, WithoutCallsARoundOnlyReports) {
  Group group(2);
  EscalatorNoCalls calls;
  const EscalatorDecision round =
      Decide(group.options, group.observation, kNow, calls, &group.state);
  EXPECT_EQ(round.down->tainted.nodes, (std::vector<size_t>{0, 1}));
}

// ---------------------------------------------------------------- what is refused

TEST(EscalatorTest, OptionsWithAProblemAreRefusedExceptAFixedSize) {
  Group group(2);
  const auto refusal = [&](const auto& change) {
    Group changed = group;
    changed.state.last_delta = 3;
    const EscalatorState before = changed.state;
    change(changed.options);
    const EscalatorDecision round = changed.Decide();
    const bool refused = round.path == Path::kRefused;
    EXPECT_EQ(refused, round.error == Error::kOptions);
    EXPECT_EQ(refused, changed.state == before);
    EXPECT_EQ(refused, changed.calls.made.empty());
    return Describe(round);
  };
  EXPECT_EQ(refusal([](auto& o) { o.min_nodes = o.max_nodes = 1; }), "");
  EXPECT_EQ(refusal([](auto& o) { o.min_nodes = 3, o.max_nodes = 2; }),
            "min_nodes: min_nodes must be less than max_nodes");
  EXPECT_EQ(refusal([](auto& o) { o.min_nodes = o.max_nodes = -2; }),
            "max_nodes: max_nodes must be larger than 0");
  EXPECT_EQ(refusal([](auto& o) { o.min_nodes = 5, o.max_nodes = 0; }),
            "min_nodes: min_nodes must be less than max_nodes");
  EXPECT_TRUE(refusal([](auto& o) { o.scale_up_threshold_percent = 0; }).starts_with("scale_up"));
  EXPECT_TRUE(refusal([](auto& o) { o.hard_delete_grace_period = "x"; }).starts_with("hard_"));
}

TEST(EscalatorTest, ObservationsWithAFaultAreRefused) {
  Group group(2);
  group.observation.cloud.reset();
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.path, Path::kRefused);
  EXPECT_EQ(round.error, Error::kObservation);
  EXPECT_EQ(Describe(round), "cloud: the group was not read");
  EXPECT_EQ(group.state, EscalatorState{});
}

TEST(EscalatorTest, NumbersAtTheEndOfTheirRangeDoNoHarm) {
  Group group(2);
  group.options.max_nodes = kLargest;
  group.options.fast_node_removal_rate = kLargest;
  group.options.slow_node_removal_rate = -kLargest;
  group.observation.cloud = {.min = 0, .max = kLargest, .desired = kLargest};
  group.Node(0).created_s = -kLargest;
  group.Node(1).created_s = kLargest;
  EXPECT_EQ(group.Decide().down->allowed, 2);
  group.AddPod(600);
  EXPECT_EQ(group.Decide(-kLargest).delta, kLargest);
  group.AddPod(kLargest);
  group.AddPod(kLargest);
  group.state = {
      .is_locked = true, .requested = 1, .locked_at_s = -kLargest, .last_delta = kLargest};
  EXPECT_EQ(group.Decide(kLargest).path, Path::kUp);
  EXPECT_EQ(group.calls.made, "");  // The cloud group is at its max.
}

TEST(EscalatorTest, AClockThatGoesBackKeepsTheLock) {
  Group group(2);
  group.state = {.is_locked = true, .requested = 1, .locked_at_s = kNow + 500};
  EXPECT_EQ(group.Decide().path, Path::kLocked);
}

TEST(EscalatorTest, PathsAndErrorsHaveNames) {
  const std::pair<Path, const char*> kPaths[] = {{Path::kRefused, "refused"},
                                                 {Path::kEmpty, "empty"},
                                                 {Path::kBelowTotalMin, "below_total_min"},
                                                 {Path::kBelowUntaintedMin, "below_untainted_min"},
                                                 {Path::kCalcError, "calc_error"},
                                                 {Path::kLocked, "locked"},
                                                 {Path::kUp, "up"},
                                                 {Path::kDown, "down"},
                                                 {Path::kNone, "none"}};
  for (const auto& [path, name] : kPaths) EXPECT_EQ(Name(path), name);
  const std::pair<Error, const char*> kErrors[] = {{Error::kNone, ""},
                                                   {Error::kOptions, "options"},
                                                   {Error::kObservation, "observation"},
                                                   {Error::kBelowTotalMin, "below_total_min"},
                                                   {Error::kDivideByZero, "divide_by_zero"},
                                                   {Error::kBeyondMaximum, "beyond_maximum"},
                                                   {Error::kCloud, "cloud"}};
  for (const auto& [error, name] : kErrors) EXPECT_EQ(Name(error), name);
  EXPECT_EQ(Describe({.error = Error::kNone}), "");
  EXPECT_EQ(Describe({.error = Error::kCloud}), "") << "nothing is known of it";
}

TEST(EscalatorTest, ARoundReportsItsInput) {
  Group group(3);
  group.options.min_nodes = 1;
  group.observation.cloud->desired = 7;
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.min_nodes, 1);
  EXPECT_EQ(round.max_nodes, 10);
  EXPECT_EQ(round.cloud_desired, 7);
  EXPECT_EQ(group.state.last_delta, -2);
}

// Only min_nodes is 0, so the options' own bounds apply.
TEST(EscalatorTest, BoundsAreTheCloudsOnlyIfBothAreZero) {
  Group group(3);
  group.observation.cloud = {.min = 3, .max = 4, .desired = 3};
  EXPECT_EQ(group.Decide().min_nodes, 0);
  EXPECT_EQ(group.Decide().max_nodes, 10);
}

TEST(EscalatorTest, NoNodesAreExpectedAfterARoundThatRequestedNone) {
  Group group(2);
  group.Fill(50);
  EXPECT_EQ(group.Decide().new_nodes, std::nullopt);
}

TEST(EscalatorTest, ANegativeMaximumAgeReplacesNothing) {
  Group group(3);
  group.options.min_nodes = 3;
  group.options.max_node_age = "-1h";
  group.Fill(50);
  EXPECT_EQ(group.Decide().delta, 0);
}

TEST(EscalatorTest, ARoundMayBeForcedTwice) {
  Group group(3);
  group.options.min_nodes = 3;
  group.options.max_node_age = "1h";
  group.options.scale_on_starve = true;
  group.AddPod(1001, EscalatorPhase::kPending);
  const EscalatorDecision round = group.Decide();
  EXPECT_EQ(round.ask->delta, -1);
  EXPECT_EQ(round.delta, 1);
  EXPECT_EQ(Forced(round), "starve max_age ");
}

}  // namespace
}  // namespace ebb::escalator_test
