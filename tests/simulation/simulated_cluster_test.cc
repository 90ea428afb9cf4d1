#include "simulation/simulated_cluster.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulation/simulation.h"
#include "snapshot/devices.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/samples/devices.h"
#include "snapshot/samples/generate.h"
#include "tests/engine/planning.h"

namespace ebb::simulated_cluster_test {
namespace {

using test::Budget;
using test::Node;
using test::OneGroupOf;
using test::Pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kStart = 1'767'225'600;

class SimulatedClusterTest : public testing::Test {
 protected:
  SimulatedClusterTest() {
    options_.start_s = kStart;
    options_.recount_budgets = true;
  }

  void Add(const Node& node) { nodes_.push_back(node); }
  void Add(const Pod& pod) { pods_.push_back(pod); }
  void Add(const Budget& budget) { budgets_.push_back(budget); }

  void Make() {
    auto made = SimulatedCluster::Make(
        [&](ObjectSink& to) {
          samples::DeviceSink with_devices({.one_product = true}, to);
          ObjectSink& sink = has_devices_ ? static_cast<ObjectSink&>(with_devices) : to;
          absl::Status status;
          test::Controller set(objects::ControllerKind::kReplicaSet, "rs");
          status.Update(sink.OnController(set.Replicas(2).raw));
          test::Controller daemons(objects::ControllerKind::kDaemonSet, "ds");
          status.Update(sink.OnController(daemons.raw));
          for (const Node& node : nodes_) status.Update(sink.OnNode(node.raw));
          for (const Budget& budget : budgets_) {
            status.Update(sink.OnPodDisruptionBudget(budget.raw));
          }
          for (const Pod& pod : pods_) status.Update(sink.OnPod(pod.raw));
          return status;
        },
        [&](const Catalog& catalog) {
          NodeGroups groups = OneGroupOf(catalog);
          groups.groups[0].max_size = nodes_max_;
          return groups;
        },
        options_);
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
  }

  // Two nodes, and a pod of a ReplicaSet on the second.
  void MakePair() {
    Add(Node("a"));
    Add(Node("b"));
    Add(Pod("p").On("b").Cpu(500).Label("app", "web"));
    Make();
  }

  absl::Status Begin(std::string node, bool drain = true, std::string uid = "") {
    const DeletionOrder order{
        .node = std::move(node), .uid = std::move(uid), .group = "group", .drain = drain};
    return cluster_->Begin({&order, 1}, cluster_->now_s());
  }

  // The deletions that are due are carried on, every five seconds.
  void LetPass(int64_t seconds) {
    for (int64_t end_s = cluster_->now_s() + seconds; cluster_->now_s() < end_s;) {
      const int64_t now_s = cluster_->now_s() + 5;
      AdvanceDeletions(*cluster_, *cluster_->Status(now_s), {}, now_s);
      const absl::Status sound = cluster_->CheckSound();
      ASSERT_TRUE(sound.ok()) << sound;
    }
  }

  ActuatorStatus Status() { return *cluster_->Status(cluster_->now_s()); }

  bool IsTainted(std::string_view name) {
    const ClusterSnapshot& snapshot = cluster_->Snapshot();
    return snapshot.catalog().node(test::NodeNamed(snapshot, name)).to_be_deleted.has_value();
  }

  SimulatedClusterOptions options_;
  int64_t nodes_max_ = 100;
  bool has_devices_ = false;  // Nodes have eight devices, and each pod uses one.
  std::vector<Node> nodes_;
  std::vector<Pod> pods_;
  std::vector<Budget> budgets_;
  std::unique_ptr<SimulatedCluster> cluster_;
};

TEST_F(SimulatedClusterTest, ADrainedNodeGoesAndItsPodRunsElsewhere) {
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  EXPECT_TRUE(IsTainted("b"));
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->Snapshot().placed_pods(), 1);
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(cluster_->counts().evictions, 1);
  const ActuatorStatus status = Status();
  EXPECT_THAT(status.running, IsEmpty());
  ASSERT_EQ(status.results.size(), 1);
  EXPECT_TRUE(status.results[0].ok);
}

// Symptom: pods with claims from a template waited for ever once they were made again.
TEST_F(SimulatedClusterTest, APodThatIsMadeAgainGetsDevicesWhereItLands) {
  has_devices_ = true;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 1);
  const ClusterSnapshot& snapshot = cluster_->Snapshot();
  const Catalog& catalog = snapshot.catalog();
  ASSERT_EQ(snapshot.placed_pods(), 1);
  const PodId pod = snapshot.PodsOn(test::NodeNamed(snapshot, "a")).front();
  EXPECT_THAT(catalog.shape_of(pod).not_understood, IsEmpty());
  ASSERT_EQ(catalog.shape_of(pod).device_claims.size(), 1u);
  const DeviceClaimState& claim = snapshot.devices().claim(catalog.shape_of(pod).device_claims[0]);
  ASSERT_EQ(claim.devices.size(), 1u);
  EXPECT_EQ(snapshot.devices().Uses(claim.devices[0].id), 1u);
  // The claim of the evicted pod, and the slice of the node, are gone.
  size_t claims = 0;
  for (uint32_t c = 0; c < catalog.devices().claims(); ++c) {
    claims += catalog.devices().claim(DeviceClaimId{c}).name == kNoText ? 0 : 1;
  }
  EXPECT_EQ(claims, 1u);
  EXPECT_EQ(catalog.devices().PoolsOf(test::NodeNamed(snapshot, "a")).size(), 1u);
}

TEST_F(SimulatedClusterTest, PodsWaitForDevicesUntilANewNodeHasThem) {
  has_devices_ = true;
  Add(Node("a").Cpu(8000));
  for (int p = 0; p < 8; ++p) Add(Pod("p" + std::to_string(p)).On("a").Cpu(100));
  Make();
  ASSERT_TRUE(cluster_->Want("default", "rs", 9).ok());
  LetPass(60);
  EXPECT_EQ(cluster_->PendingPods(), 1);
  LetPass(600);
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(cluster_->counts().nodes_added, 1);
}

TEST_F(SimulatedClusterTest, TheProfileOfTheSchedulerPlacesPods) {
  absl::StatusOr<std::shared_ptr<SchedulerConfig>> config = ParseSchedulerConfig(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [web]}]
)");
  ASSERT_TRUE(config.ok()) << config.status();
  options_.groups_grow = false;
  options_.scheduler = *config;
  for (const bool has_label : {false, true}) {
    nodes_ = {has_label ? Node("a").Label("pool", "web") : Node("a")};
    pods_ = {Pod("p").Cpu(500)};
    Make();
    LetPass(120);
    EXPECT_EQ(cluster_->PendingPods(), has_label ? 0 : 1);
  }
}

TEST_F(SimulatedClusterTest, EvictionsAreRecentForTwoMinutes) {
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(60);
  const std::vector<EvictedPod> recent = Status().recent_evictions;
  ASSERT_EQ(recent.size(), 1);
  const auto at = [&](int64_t now_s) { return cluster_->Status(now_s)->recent_evictions.size(); };
  EXPECT_EQ(at(recent[0].evicted_at_s + 120), 1);
  EXPECT_EQ(at(recent[0].evicted_at_s + 122), 0);
}

TEST_F(SimulatedClusterTest, PodsThatLandWhereThePlanSaysAreCounted) {
  for (const std::string planned : {"a", "", "z"}) {
    nodes_ = {Node("a"), Node("b")};
    pods_ = {Pod("p").On("b").Cpu(500).Uid("uid-of-p")};
    Make();
    DeletionOrder order{.node = "b", .group = "group", .drain = true};
    order.moves.push_back(
        {.namespace_name = "default", .name = "p", .uid = "uid-of-p", .to = planned});
    ASSERT_TRUE(cluster_->Begin({&order, 1}, cluster_->now_s()).ok());
    LetPass(300);
    EXPECT_EQ(cluster_->counts().planned, planned.empty() ? 0 : 1) << planned;
    EXPECT_EQ(cluster_->counts().landed_as_planned, planned == "a" ? 1 : 0) << planned;
  }
}

TEST_F(SimulatedClusterTest, NoNodeIsTaintedIfOneOfThemIsMissing) {
  MakePair();
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "group"},
                                             {.node = "gone", .group = "group"}};
  EXPECT_EQ(cluster_->Begin(orders, kStart).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsTainted("a"));
  EXPECT_EQ(Begin("a", false, "another machine").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsTainted("a"));
}

TEST_F(SimulatedClusterTest, CallsMayBeRepeated) {
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  ASSERT_TRUE(Begin("b").ok());
  EXPECT_EQ(Status().running.size(), 1);
  EXPECT_EQ(cluster_->Delete("b", kStart).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(cluster_->RollBack("b", "", kStart).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cluster_->Drain("a", kStart).code(), absl::StatusCode::kNotFound);
}

TEST_F(SimulatedClusterTest, IfTaintingFailsNoNodeIsTainted) {
  options_.faults.taint_fails_permille = 1000;
  MakePair();
  EXPECT_EQ(Begin("b").code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(IsTainted("b"));
  EXPECT_THAT(Status().running, IsEmpty());
}

TEST_F(SimulatedClusterTest, ABudgetHoldsItsPodUntilTheDrainIsGivenUp) {
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Node("b"));
  Add(Node("full"));
  Add(Pod("fills").On("a").Cpu(3600));
  Add(Pod("p").On("b").Cpu(500).Label("app", "web"));
  Add(Pod("q").On("b").Cpu(500).Label("app", "web"));
  Add(Pod("r").On("full").Cpu(4000));
  Make();
  // p's successor finds no room at once, and so q may not go.
  ASSERT_TRUE(Begin("b").ok());
  LetPass(60);
  EXPECT_EQ(cluster_->counts().evictions, 1);
  EXPECT_GT(cluster_->counts().pdb_refusals, 2);
}

TEST_F(SimulatedClusterTest, AnEvictionThatIsRefusedForLongEndsTheDeletionAndUntaints) {
  options_.faults.eviction_refused_permille = 1000;
  options_.faults.eviction_refused_for_s = 600;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(180);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_FALSE(IsTainted("b"));
  EXPECT_EQ(cluster_->counts().evictions, 0);
  ASSERT_EQ(Status().results.size(), 1);
  EXPECT_THAT(Status().results[0].why, HasSubstr("pod p was not evicted"));
}

TEST_F(SimulatedClusterTest, AnEvictionThatIsRefusedForAWhileSucceedsLater) {
  options_.faults.eviction_refused_permille = 1000;
  options_.faults.eviction_refused_for_s = 60;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->counts().fault_refusals, 6);  // Every ten seconds of the minute.
}

TEST_F(SimulatedClusterTest, APodThatNeverEndsEndsTheDeletion) {
  options_.faults.never_ends_permille = 1000;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(900);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_FALSE(IsTainted("b"));
  ASSERT_EQ(Status().results.size(), 1);
  EXPECT_EQ(Status().results[0].why, "a pod does not end");
}

TEST_F(SimulatedClusterTest, APodThatCameBeforeTheTaintIsSeenBeforeAnyIsEvicted) {
  options_.faults.pod_before_taint_permille = 1000;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(20);
  EXPECT_EQ(cluster_->counts().evictions, 0);
  ASSERT_EQ(Status().results.size(), 1);
  EXPECT_THAT(Status().results[0].why, HasSubstr("pod default/bare-1 blocks: NotReplicated"));
}

TEST_F(SimulatedClusterTest, ANodeThatWasToGoEmptyStaysWithItsPods) {
  MakePair();
  ASSERT_TRUE(Begin("b", /*drain=*/false).ok());
  LetPass(20);
  EXPECT_EQ(cluster_->counts().evictions, 0);
  ASSERT_EQ(Status().results.size(), 1);
  EXPECT_EQ(Status().results[0].why, "it was to go empty, and has pods now");
}

TEST_F(SimulatedClusterTest, WhileTheApiIsDownCallsFailAndStatusStillAnswers) {
  options_.faults.api_away_per_day = 1;
  options_.faults.api_away_for_s = 1'000'000;
  MakePair();
  ASSERT_TRUE(Begin("b").ok());
  const int64_t then_s = kStart + 3 * 86400;
  EXPECT_EQ(cluster_->Observe(then_s).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cluster_->Drain("b", then_s).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cluster_->SoftTaint("a", true, then_s).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cluster_->Status(then_s)->running.size(), 1);
}

TEST_F(SimulatedClusterTest, ANodeThatVanishesIsReplacedAndSoAreItsPods) {
  options_.faults.node_vanishes_per_day = 1;
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("a").Cpu(500));
  Add(Pod("q").On("b").Cpu(500));
  Make();
  for (int64_t hour = 1; cluster_->counts().nodes_vanished == 0; ++hour) {
    ASSERT_LT(hour, 72);
    cluster_->AdvanceTo(kStart + hour * 3600);
  }
  cluster_->AdvanceTo(cluster_->now_s() + 300);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->Snapshot().placed_pods(), 2);
  EXPECT_TRUE(cluster_->CheckSound().ok());
}

TEST_F(SimulatedClusterTest, APodThatFitsNowhereHasANodeBooted) {
  Add(Node("a"));
  Add(Pod("p").On("a").Cpu(3900));
  Add(Pod("waits").Cpu(500));
  Make();
  cluster_->AdvanceTo(kStart + 30);
  const Observation observed = *cluster_->Observe(kStart + 30);
  EXPECT_EQ(observed.pending.size(), 1);
  ASSERT_EQ(observed.events.size(), 1);
  EXPECT_EQ(observed.events[0].kind, ScaleEventKind::kScaleUp);
  EXPECT_EQ(observed.groups.groups[0].target_size, 2);
  cluster_->AdvanceTo(kStart + 400);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(cluster_->counts().pods_waited, 1);
  EXPECT_GE(cluster_->counts().pod_wait_max_s, 60);
}

TEST_F(SimulatedClusterTest, ANodeThatIsBootedHasThePodsOfDaemonSets) {
  Add(Node("a"));
  Add(Pod("daemon").On("a").DaemonSet().Cpu(100));
  Add(Pod("p").On("a").Cpu(3800));
  Add(Pod("waits").Cpu(500));
  Make();
  cluster_->AdvanceTo(kStart + 400);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->Snapshot().placed_pods(), 4);
  EXPECT_TRUE(cluster_->CheckSound().ok());
}

TEST_F(SimulatedClusterTest, APodThatItsNodeOwnsIsNotRecreated) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("own").On("b").OwnedBy("Node", "b").SafeToEvict("true").Cpu(100));
  Make();
  ASSERT_TRUE(Begin("b").ok());
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->counts().evictions, 1);
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(cluster_->Snapshot().placed_pods(), 0);
}

TEST_F(SimulatedClusterTest, AGroupGrowsToItsLargestSizeOnly) {
  nodes_max_ = 2;
  Add(Node("a"));
  Add(Pod("p").On("a").Cpu(3800));
  Add(Pod("waits").Cpu(3000));
  Add(Pod("waits-too").Cpu(3000));
  Make();
  cluster_->AdvanceTo(kStart + 3600);
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->PendingPods(), 1);
}

TEST_F(SimulatedClusterTest, NoNodeIsBootedForAPodThatItWouldNotTake) {
  Add(Node("a"));
  Add(Pod("waits").Cpu(5000));  // More than a node has.
  Make();
  cluster_->AdvanceTo(kStart + 600);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->counts().nodes_added, 0);
}

TEST(SimulationTest, ALoopSavesNodesAndThePodsRun) {
  SimulationOptions options;
  options.cluster.start_s = kStart + 8 * 3600;
  options.cluster.daily_load = true;
  options.cluster.recount_budgets = true;
  options.duration_s = 3 * 3600;
  options.loop.scan_interval_s = 30;
  const SimulatedCluster::Read read = [](ObjectSink& sink) {
    return samples::GenerateMixed({.nodes = 40, .seed = 3}, sink);
  };
  const SimulationResult with = Simulate(read, &OneGroupOf, options).value();
  const SimulationResult again = Simulate(read, &OneGroupOf, options).value();
  options.scale_down_enabled = false;
  const SimulationResult without = Simulate(read, &OneGroupOf, options).value();
  EXPECT_EQ(with.rounds, 360);
  EXPECT_LT(with.nodes_at_last, without.nodes_at_last);
  EXPECT_LT(with.node_hours, without.node_hours);
  EXPECT_GT(with.counts.evictions, 0);
  EXPECT_EQ(without.counts.evictions, 0);
  EXPECT_EQ(with.samples.size(), 36);
  EXPECT_EQ(with.samples.back().pending, 0);
  EXPECT_EQ(with.node_hours, again.node_hours);
  EXPECT_EQ(with.counts.evictions, again.counts.evictions);
  EXPECT_GT(with.samples.back().cpu_requested, without.samples.back().cpu_requested);
  // The latencies and the load of a seed are the same on every machine, and with every revision:
  // simulations are compared by them.
  EXPECT_EQ(with.nodes_at_last, 23);
  EXPECT_EQ(with.counts.evictions, 107);
  EXPECT_EQ(with.counts.nodes_deleted, 17);
  EXPECT_EQ(with.counts.pods_scheduled, 139);
  EXPECT_EQ(without.counts.pods_scheduled, 32);
}

// Rollouts, CronJobs, preview namespaces and budgets that change, each with the labels that real
// controllers set.
TEST(SimulationTest, ChurnNeedsARebuildOnlyForShapesThatNoPodHasAnyMore) {
  SimulatedClusterOptions options;
  options.start_s = kStart + 8 * 3600;
  options.daily_load = true;
  options.churn = true;
  options.recount_budgets = true;
  const auto made = SimulatedCluster::Make(
      [](ObjectSink& sink) { return samples::GenerateCompany({.nodes = 40, .seed = 3}, sink); },
      &OneGroupOf, options);
  ASSERT_TRUE(made.ok()) << made.status();
  SimulatedCluster& cluster = **made;
  for (int64_t minutes = 10; minutes <= 8 * 60; minutes += 10) {
    cluster.AdvanceTo(options.start_s + 60 * minutes);
    (void)cluster.Snapshot();
  }
  EXPECT_EQ(cluster.CheckSound(), absl::OkStatus());
  EXPECT_GE(cluster.counts().rollouts, 8U);
  EXPECT_GE(cluster.counts().cron_jobs, 8U * 12);
  EXPECT_EQ(cluster.counts().previews, 16U);
  EXPECT_EQ(cluster.counts().budget_changes, 8U);
  for (size_t cause = 0; cause < kRebuildCauses; ++cause) {
    const auto of = static_cast<RebuildCause>(cause);
    const uint64_t rebuilds = cluster.live_counts().rebuilds.at(cause);
    if (of == RebuildCause::kFirst) {
      EXPECT_EQ(rebuilds, 1U);
    } else if (of == RebuildCause::kDeadShapes) {
      EXPECT_LE(rebuilds, cluster.counts().cron_jobs / 64);
    } else {
      EXPECT_EQ(rebuilds, 0U) << ToString(of);
    }
  }
}

TEST(SimulationTest, ChurnDoesNotDependOnWhatTheLoopDoes) {
  SimulationOptions options;
  options.cluster.start_s = kStart + 8 * 3600;
  options.cluster.daily_load = true;
  options.cluster.churn = true;
  options.duration_s = 2 * 3600;
  options.loop.scan_interval_s = 60;
  const SimulatedCluster::Read read = [](ObjectSink& sink) {
    return samples::GenerateCompany({.nodes = 30, .seed = 5}, sink);
  };
  const SimulationResult with = Simulate(read, &OneGroupOf, options).value();
  const SimulationResult again = Simulate(read, &OneGroupOf, options).value();
  options.scale_down_enabled = false;
  const SimulationResult without = Simulate(read, &OneGroupOf, options).value();
  EXPECT_EQ(with.node_hours, again.node_hours);
  EXPECT_EQ(with.counts.pods_scheduled, again.counts.pods_scheduled);
  EXPECT_GT(with.counts.rollouts, 0U);
  EXPECT_EQ(with.counts.rollouts, without.counts.rollouts);
  EXPECT_EQ(with.counts.cron_jobs, without.counts.cron_jobs);
  EXPECT_EQ(with.counts.previews, without.counts.previews);
}

TEST_F(SimulatedClusterTest, AGroupGrowsToTheRequestedSizeAndNoFurther) {
  options_.groups_grow = false;
  nodes_max_ = 4;
  MakePair();
  EXPECT_TRUE(cluster_->Grow("group", 3, kStart).ok());
  EXPECT_TRUE(cluster_->Grow("group", 3, kStart).ok());
  EXPECT_TRUE(cluster_->Grow("group", 1, kStart).ok());
  EXPECT_EQ(cluster_->Grow("group", 5, kStart).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(cluster_->Grow("other", 3, kStart).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cluster_->Observe(kStart)->groups.groups[0].target_size, 3);
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 3u);
}

TEST_F(SimulatedClusterTest, GroupsThatDoNotGrowByThemselvesLetPodsWait) {
  options_.groups_grow = false;
  MakePair();
  ASSERT_TRUE(cluster_->Want("default", "rs", 100).ok());
  EXPECT_EQ(cluster_->Want("default", "none", 1).code(), absl::StatusCode::kNotFound);
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 2u);
  EXPECT_GT(cluster_->PendingPods(), 0u);
}

TEST_F(SimulatedClusterTest, TheShownObjectsEqualTheSnapshot) {
  MakePair();
  struct Counting : ObjectSink {
    int nodes = 0;
    int pods = 0;
    absl::Status OnNode(const objects::Node&) override { return ++nodes, absl::OkStatus(); }
    absl::Status OnPod(const objects::Pod& pod) override {
      EXPECT_EQ(pod.node_name.empty(), pod.phase == "Pending");
      return ++pods, absl::OkStatus();
    }
    absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
      return absl::OkStatus();
    }
    absl::Status OnController(const objects::Controller&) override { return absl::OkStatus(); }
    absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
  };
  Counting counting;
  const auto observed = cluster_->Observe(kStart);
  ASSERT_TRUE(observed->objects(counting).ok());
  EXPECT_EQ(counting.nodes, 2);
  EXPECT_EQ(counting.pods, 1);
}

TEST(SimulationTest, TheLoadFollowsTheHourOfTheDay) {
  SimulationOptions options;
  options.cluster.start_s = kStart;  // Midnight, when there is least.
  options.cluster.daily_load = true;
  options.scale_down_enabled = false;
  options.duration_s = 12 * 3600;
  options.loop.scan_interval_s = 60;
  const SimulatedCluster::Read read = [](ObjectSink& sink) {
    return samples::GenerateMixed({.nodes = 40, .seed = 3}, sink);
  };
  const auto requested = [&](bool daily) {
    options.cluster.daily_load = daily;
    const SimulationResult result = Simulate(read, &OneGroupOf, options).value();
    std::set<double> values;
    for (const auto& sample : result.samples) values.insert(sample.cpu_requested);
    return values.size();
  };
  EXPECT_GT(requested(true), 10);
  EXPECT_LT(requested(false), 3);
}

// Two nodes, of which one has a pod of a quarter of its CPU.
absl::Status ReadTwoNodes(ObjectSink& sink) {
  absl::Status status;
  for (const char* const name : {"a", "b"}) status.Update(sink.OnNode(Node(name).raw));
  status.Update(sink.OnPod(Pod("p").On("b").Cpu(1000).raw));
  return status;
}

// Symptom: each new node got a pod of every DaemonSet of the cluster, also of those for GPU nodes.
TEST_F(SimulatedClusterTest, ANewNodeGetsThePodsOfTheDaemonSetsThatItsPatternHas) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("gpu-a").On("a").OwnedBy("DaemonSet", "gpu"));
  Add(Pod("ds-a").On("a").DaemonSet());
  Add(Pod("ds-b").On("b").DaemonSet());
  Make();
  ASSERT_TRUE(cluster_->Grow("group", 3, kStart).ok());
  cluster_->AdvanceTo(kStart + 600);
  const ClusterSnapshot& snapshot = cluster_->Snapshot();
  ASSERT_EQ(snapshot.nodes(), 3U);
  const auto pods = snapshot.PodsOn(snapshot.NodeAt(2));
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(snapshot.catalog().PodName(pods[0]), "default/ds-group-new-1");
}

// Symptom: a cluster that was dumped at noon grew at once, as if it had been dumped at the average
// load.
TEST_F(SimulatedClusterTest, TheLoadOfADumpIsThatOfItsHour) {
  Add(Node("a").Cpu(100'000));
  for (int i = 0; i < 40; ++i) Add(Pod("p" + std::to_string(i)).On("a").Cpu(100));
  options_.start_s = kStart + int64_t{14} * 3600;  // The load is highest.
  options_.daily_load = true;
  const auto pods_after_an_hour = [&] {
    Make();
    cluster_->AdvanceTo(options_.start_s + 3600);
    return cluster_->Snapshot().placed_pods();
  };
  EXPECT_GT(pods_after_an_hour(), 45U);
  options_.load_is_of_start = true;
  EXPECT_EQ(pods_after_an_hour(), 40U);
}

TEST(SimulationTest, SamplesAreTakenInTheirTimeAndNodesAreCountedByTheHour) {
  SimulationOptions options;
  options.cluster.start_s = kStart;
  options.scale_down_enabled = false;
  options.duration_s = 100;
  options.sample_every_s = 60;
  options.loop.scan_interval_s = 30;
  std::vector<int64_t> times;
  options.on_sample = [&](const SimulationSample& now) { times.push_back(now.time_s); };
  int turns = 0;
  options.loop.on_turn = [&](const LoopTurn&) { ++turns; };
  const SimulationResult result = Simulate(&ReadTwoNodes, &OneGroupOf, options).value();
  EXPECT_EQ(result.turns, 4);
  EXPECT_EQ(turns, 0);
  EXPECT_EQ(result.rounds, 0);
  EXPECT_EQ(result.nodes_at_first, 2);
  EXPECT_EQ(result.nodes_at_last, 2);
  EXPECT_NEAR(result.node_hours, 2 * 100 / 3600.0, 1e-12);
  EXPECT_THAT(times, ElementsAre(kStart, kStart + 60));
  ASSERT_EQ(result.samples.size(), 2);
  EXPECT_EQ(result.samples[1].time_s, kStart + 60);
  EXPECT_EQ(result.samples[1].nodes, 2);
  EXPECT_EQ(result.samples[1].in_deletion, 0);
  EXPECT_EQ(result.samples[1].pending, 0);
  EXPECT_EQ(result.samples[1].evictions, 0);
  EXPECT_EQ(result.samples[1].cpu_requested, 0.125);
}

TEST(SimulationTest, EachTurnIsReportedAndEachRoundCountsOnceByItsStatus) {
  SimulationOptions options;
  options.cluster.start_s = kStart;
  options.duration_s = 100;
  options.loop.scan_interval_s = 30;
  int turns = 0;
  options.loop.on_turn = [&](const LoopTurn&) { ++turns; };
  const SimulationResult result = Simulate(&ReadTwoNodes, &OneGroupOf, options).value();
  EXPECT_EQ(result.turns, 4);
  EXPECT_EQ(turns, 4);
  EXPECT_EQ(result.rounds, 4);
  uint64_t statuses = 0;
  for (const uint64_t rounds : result.statuses) statuses += rounds;
  EXPECT_EQ(statuses, 4);
  EXPECT_EQ(result.samples.size(), 1);
}

// q moves to a, and b goes: begun at 10, evicted at 20, drained at 25, deleted from 30 to 45.
TEST(SimulationTest, SamplesFollowADeletionFromItsBeginningToItsEnd) {
  SimulationOptions options;
  options.cluster.start_s = kStart;
  options.cluster.recount_budgets = true;
  options.cluster.schedule = {0, 0};
  options.cluster.replace = {1, 1};
  options.cluster.end = {5, 5};
  options.cluster.delete_node = {15, 15};
  options.scale_down.deletion.scale_down_unneeded_time_s = 5;
  options.scale_down.recent_eviction_ttl_s = 0;
  options.loop.scan_interval_s = 10;
  options.sample_every_s = 10;
  options.duration_s = 60;
  const SimulatedCluster::Read read = [](ObjectSink& sink) {
    absl::Status status =
        sink.OnController(test::Controller(objects::ControllerKind::kReplicaSet, "rs").raw);
    for (const char* const name : {"a", "b"}) status.Update(sink.OnNode(Node(name).raw));
    status.Update(sink.OnPod(Pod("p").On("a").Cpu(2500).raw));
    status.Update(sink.OnPod(Pod("q").On("b").Cpu(500).raw));
    return status;
  };
  const SimulationResult result = Simulate(read, &OneGroupOf, options).value();
  std::vector<size_t> nodes;
  std::vector<size_t> in_deletion;
  std::vector<uint64_t> evictions;
  for (const SimulationSample& sample : result.samples) {
    nodes.push_back(sample.nodes);
    in_deletion.push_back(sample.in_deletion);
    evictions.push_back(sample.evictions);
  }
  EXPECT_THAT(nodes, ElementsAre(2, 2, 2, 2, 2, 1));
  EXPECT_THAT(in_deletion, ElementsAre(0, 1, 1, 1, 1, 0));
  EXPECT_THAT(evictions, ElementsAre(0, 0, 1, 1, 1, 1));
  ASSERT_EQ(result.samples.size(), 6);
  EXPECT_EQ(result.samples[0].unneeded, 1);
  EXPECT_EQ(result.samples[0].cpu_requested, 0.375);
  EXPECT_EQ(result.samples[5].cpu_requested, 0.75);
  EXPECT_NEAR(result.node_hours, (2 * 50 + 10) / 3600.0, 1e-12);
  EXPECT_EQ(result.nodes_at_first, 2);
  EXPECT_EQ(result.nodes_at_last, 1);
  EXPECT_EQ(result.rounds, 6);
  EXPECT_EQ(result.statuses[static_cast<size_t>(ScaleDownStatus::kNodeDeleteStarted)], 1);
  EXPECT_EQ(result.counts.nodes_deleted, 1);
  EXPECT_EQ(result.counts.evictions, 1);
  EXPECT_THAT(result.counts.drains_s, ElementsAre(5));
}

TEST(SimulationTest, PendingPodsAreCounted) {
  SimulationOptions options;
  options.cluster.start_s = kStart;
  options.scale_down_enabled = false;
  options.duration_s = 600;
  const SimulatedCluster::Read read = [](ObjectSink& sink) {
    absl::Status status = ReadTwoNodes(sink);
    for (const char* const name : {"huge-1", "huge-2"}) {
      status.Update(sink.OnPod(Pod(name).Cpu(5000).raw));
    }
    return status;
  };
  const SimulationResult result = Simulate(read, &OneGroupOf, options).value();
  ASSERT_EQ(result.samples.size(), 2);
  EXPECT_EQ(result.samples[1].pending, 2);
  EXPECT_EQ(result.counts.pods_waited, 2);
}

TEST(SimulationTest, AClusterWithoutNodesOffersNothingAndCostsNothing) {
  SimulationOptions options;
  options.cluster.start_s = kStart;
  options.scale_down_enabled = false;
  options.duration_s = 60;
  const SimulatedCluster::Read nothing = [](ObjectSink&) { return absl::OkStatus(); };
  const SimulationResult result = Simulate(nothing, &OneGroupOf, options).value();
  ASSERT_EQ(result.samples.size(), 1);
  EXPECT_EQ(result.samples[0].cpu_requested, 0);
  EXPECT_EQ(result.samples[0].nodes, 0);
  EXPECT_EQ(result.node_hours, 0);
}

}  // namespace
}  // namespace ebb::simulated_cluster_test
