#include "sizing/pool_sizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "simulation/simulated_cluster.h"
#include "tests/engine/planning.h"
#include "tests/sizing/fixed_policy_file.h"
#include "tests/support/random_seed.h"

namespace ebb::pool_sizer_test {
namespace {

using test::FixedPolicyFile;
using test::Node;
using test::Pod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Names = std::vector<std::string>;

constexpr int64_t kStart = 1'767'225'600;

// An actuator in front of the cluster's actuator, which fails when a test sets an error.
class FailingActuator : public Actuator {
 public:
  explicit FailingActuator(Actuator& behind) : behind_(behind) {}

  absl::Status begin;  // If not OK, returned instead of beginning.
  absl::Status grow;   // If not OK, returned instead of growing.
  absl::Status taint;  // If not OK, returned instead of tainting.
  bool machines_come = true;
  std::vector<std::string> calls;

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override {
    return behind_.SoftTaint(node, taint, now_s);
  }
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override {
    for (const DeletionOrder& order : orders) calls.push_back("begin " + order.node);
    return begin.ok() ? behind_.Begin(orders, now_s) : begin;
  }
  absl::Status Drain(std::string_view node, int64_t now_s) override {
    return behind_.Drain(node, now_s);
  }
  absl::Status Delete(std::string_view node, int64_t now_s) override {
    return behind_.Delete(node, now_s);
  }
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override {
    calls.push_back("roll back " + std::string(node));
    return behind_.RollBack(node, why, now_s);
  }
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override {
    calls.push_back("grow " + std::string(group) + " to " + std::to_string(size));
    return grow.ok() && machines_come ? behind_.Grow(group, size, now_s) : grow;
  }
  absl::Status Taint(std::string_view node, const NodeTaint& key, bool put,
                     int64_t now_s) override {
    calls.push_back((put ? "taint " : "untaint ") + std::string(node) + " " + key.key);
    return taint.ok() ? behind_.Taint(node, key, put, now_s) : taint;
  }
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override { return behind_.Status(now_s); }
  void Acknowledge(size_t results) override { behind_.Acknowledge(results); }

 private:
  Actuator& behind_;
};

// Nodes n0, n1, ... of the pool "web", each with a pod that fits on any other.
class PoolSizerTest : public ::testing::Test {
 protected:
  // The first `strangers` nodes have the label pool=other instead.
  void Make(size_t nodes, int64_t pod_cpu = 500, size_t strangers = 0) {
    SimulatedClusterOptions options;
    options.start_s = kStart;
    options.groups_grow = false;
    auto made = SimulatedCluster::Make(
        [&](ObjectSink& sink) { return Show(nodes, pod_cpu, strangers, sink); }, &test::OneGroupOf,
        options);
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
    actuator_ = std::make_unique<FailingActuator>(*cluster_);
    pools_.clear();
    SizedPool& pool = pools_.emplace_back();
    pool.name = "web";
    pool.policy_name = "fixed";
    pool.nodes = {{"pool", "web"}};
    pool.cloud = {.min = 1, .max = 10};
    auto policy = std::make_unique<FixedPolicyFile>();
    policy_ = policy.get();
    pool.policy = std::move(policy);
    Restart({});
  }

  // Adds another pool.  Returns its policy, which requests nothing at first.
  FixedPolicyFile& AddPool(const std::string& name, const std::string& label) {
    SizedPool& pool = pools_.emplace_back();
    pool.name = name;
    pool.policy_name = "fixed";
    pool.nodes = {{"pool", label}};
    pool.cloud = {.min = 1, .max = 10};
    auto policy = std::make_unique<FixedPolicyFile>();
    FixedPolicyFile& added = *policy;
    pool.policy = std::move(policy);
    Restart({});
    return added;
  }

  // Continues in a new process, from the saved state.
  void Restart(const SizingState& state) {
    PoolSizerOptions options;
    options.retry_s = 20;
    options.notify = [&](const Notice& notice) { notices_.push_back(notice); };
    sizer_ = std::make_unique<PoolSizer>(pools_, state, options);
    scale_down_ = std::make_unique<ScaleDown>(ScaleDownOptions());
    LoopOptions loop;
    loop.sizer = sizer_.get();
    loop.on_turn = [&](const LoopTurn& turn) {
      turn_ = turn;
      log_.insert(log_.end(), turn.log.begin(), turn.log.end());
    };
    OwnRoundsOptions rounds;
    rounds.record = [&](const ScaleDown&, const RoundResult&) { return record_; };
    rounds_ = std::make_unique<OwnRounds>(*scale_down_, *cluster_, rounds);
    loop_ = std::make_unique<Loop>(*rounds_, *actuator_, loop);
  }

  void LetPass(int64_t seconds) {
    for (const int64_t end_s = now_s_ + seconds; now_s_ < end_s;) {
      now_s_ += 10;
      cluster_->AdvanceTo(now_s_);
      loop_->Turn(now_s_);
      const absl::Status sound = cluster_->CheckSound();
      ASSERT_TRUE(sound.ok()) << sound;
    }
  }
  const PoolState& Memory() const { return sizer_->state().pools.at(0); }
  Names Queued() const {
    Names names;
    for (const QueuedNode& node : sizer_->state().queue) names.push_back(node.node);
    return names;
  }
  bool Has(std::string_view node) {
    const auto id = cluster_->Snapshot().catalog().FindNode(node);
    return id.ok() && cluster_->Snapshot().Contains(*id);
  }

  std::unique_ptr<SimulatedCluster> cluster_;
  std::unique_ptr<FailingActuator> actuator_;
  std::vector<SizedPool> pools_;
  FixedPolicyFile* policy_ = nullptr;
  std::unique_ptr<ScaleDown> scale_down_;
  std::unique_ptr<PoolSizer> sizer_;
  std::unique_ptr<OwnRounds> rounds_;
  std::unique_ptr<Loop> loop_;
  absl::Status record_;
  LoopTurn turn_;
  Names log_;
  std::vector<Notice> notices_;
  int64_t now_s_ = kStart;

 private:
  static absl::Status Show(size_t nodes, int64_t pod_cpu, size_t strangers, ObjectSink& sink) {
    absl::Status status;
    test::Controller set(objects::ControllerKind::kReplicaSet, "rs");
    status.Update(sink.OnController(set.Replicas(static_cast<int64_t>(nodes)).raw));
    for (size_t n = 0; n < nodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      status.Update(sink.OnNode(Node(name).Label("pool", n < strangers ? "other" : "web").raw));
      status.Update(sink.OnPod(Pod("p" + std::to_string(n)).On(name).Cpu(pod_cpu).raw));
    }
    return status;
  }
};

TEST_F(PoolSizerTest, NodesGoInThePolicysOrderUpToTheRequestedNumber) {
  Make(4);
  policy_->delta = -2;
  policy_->order = Names{"n2", "n0", "n1", "n3"};
  LetPass(10);
  EXPECT_THAT(Queued(), ElementsAre("n2", "n0"));
  EXPECT_THAT(actuator_->calls, ElementsAre("begin n2", "begin n0"));
  ASSERT_THAT(turn_.pools, SizeIs(1));
  EXPECT_EQ(turn_.pools[0].leaving, 2);
  LetPass(600);
  EXPECT_FALSE(Has("n2") || Has("n0"));
  EXPECT_TRUE(Has("n1") && Has("n3"));
  EXPECT_THAT(Queued(), IsEmpty());
  EXPECT_THAT(policy_->ended, ElementsAre(true));
  EXPECT_EQ(cluster_->PendingPods(), 0u);
}

TEST_F(PoolSizerTest, ANodeWhosePodsHaveNoPlaceStaysAndTheNextOneGoes) {
  Make(3, 2500);  // Two such pods do not fit on one node of 4000m.
  policy_->delta = -1;
  LetPass(10);
  EXPECT_THAT(Queued(), IsEmpty());
  EXPECT_EQ(turn_.pools[0].denied_by, "no node can go");
  EXPECT_THAT(policy_->ended, IsEmpty());
  EXPECT_EQ(Memory().failures, 0);
}

TEST_F(PoolSizerTest, ThePlannersOrderIsAnOption) {
  Make(3);
  pools_[0].planners_order = true;
  ASSERT_TRUE(cluster_->Want("default", "rs", 3).ok());
  policy_->delta = -1;
  policy_->order = Names{"n1", "n0", "n2"};
  LetPass(10);
  EXPECT_THAT(Queued(), SizeIs(1));
}

TEST_F(PoolSizerTest, ThePoolsBoundsHoldForAnyPolicy) {
  Make(3);
  pools_[0].cloud = {.min = 2, .max = 4};
  policy_->delta = -3;
  LetPass(10);
  EXPECT_THAT(Queued(), SizeIs(1));
  LetPass(600);
  policy_->delta = -1;
  LetPass(10);
  EXPECT_EQ(turn_.pools[0].denied_by, "cloud.min");
  policy_->delta = 100;
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 4u);
  policy_->delta = 1;
  LetPass(10);
  EXPECT_EQ(turn_.pools[0].denied_by, "cloud.max");
}

TEST_F(PoolSizerTest, GrowthIsRequestedOnceAndEndsWhenTheMachinesHaveCome) {
  Make(2);
  policy_->delta = 3;
  LetPass(10);
  EXPECT_EQ(Memory().grow_to, 5);
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 5u);
  EXPECT_EQ(Memory().grow_to, 0);
  EXPECT_EQ(std::ranges::count(actuator_->calls, "grow group to 5"), 1);
}

TEST_F(PoolSizerTest, NodesThatAreToGoAreKeptBeforeThePoolGrows) {
  Make(5);
  actuator_->begin = absl::UnavailableError("conflict");  // The nodes wait in the queue.
  policy_->delta = -2;
  LetPass(10);
  ASSERT_THAT(Queued(), SizeIs(2));
  policy_->delta = 3;
  LetPass(10);
  EXPECT_THAT(Queued(), IsEmpty());
  EXPECT_THAT(actuator_->calls, Contains("grow group to 6"));
}

TEST_F(PoolSizerTest, TaintedNodesServeAgainBeforeThePoolGrows) {
  Make(4);
  for (const char* const node : {"n0", "n1"}) {
    policy_->taints.push_back({.node = node, .key = "k", .value = "1", .effect = "NoSchedule"});
  }
  LetPass(10);
  EXPECT_EQ(turn_.pools[0].taint, (Names{"n0", "n1"}));
  LetPass(10);
  EXPECT_TRUE(policy_->seen.nodes[0].taints.contains("k"));
  actuator_->calls.clear();
  policy_->delta = 3;
  policy_->taints = {{.node = "n0", .key = "k", .put = false},
                     {.node = "n1", .key = "k", .put = false}};
  LetPass(10);
  EXPECT_THAT(actuator_->calls, ElementsAre("untaint n0 k", "untaint n1 k", "grow group to 5"));
  EXPECT_EQ(turn_.pools[0].untaint, (Names{"n0", "n1"}));
  EXPECT_EQ(turn_.pools[0].grow_by, 1);
  LetPass(10);
  EXPECT_FALSE(policy_->seen.nodes[0].taints.contains("k"));
  // The untainted node serves again, which is the growth that was requested: no machine is needed.
  policy_->taints = {{.node = "n0", .key = "k", .put = false}};
  policy_->delta = 1;
  actuator_->calls.clear();
  LetPass(10);
  EXPECT_THAT(actuator_->calls, ElementsAre("untaint n0 k"));
}

TEST_F(PoolSizerTest, AnActuatorWithoutTaintsIsReportedEachTurnAndThePoolGrowsInstead) {
  Make(3);
  actuator_->taint = absl::UnimplementedError("it sets no taints");
  policy_->delta = 2;
  policy_->taints = {{.node = "n0", .key = "k", .put = false}};
  LetPass(10);
  EXPECT_THAT(log_, Contains("pool web: taint k is not taken off: it sets no taints"));
  log_.clear();
  policy_->delta = 2;
  policy_->taints = {{.node = "n0", .key = "k", .put = false}};
  LetPass(10);
  EXPECT_THAT(log_, Contains("pool web: node n0: taint k is not taken off: the actuator cannot"));
  EXPECT_EQ(turn_.pools[0].grow_by, 2);
  EXPECT_EQ(std::ranges::count(actuator_->calls, "untaint n0 k"), 1);
}

TEST_F(PoolSizerTest, NodesThatThePolicyRemovesGoBesideItsDelta) {
  Make(4);
  pools_[0].cloud.min = 2;
  policy_->remove = {"n3", "n1"};
  policy_->delta = -1;
  LetPass(10);
  EXPECT_THAT(actuator_->calls, ElementsAre("begin n3", "begin n1"));
  EXPECT_EQ(turn_.pools[0].reap, (Names{"n3", "n1"}));
  EXPECT_EQ(turn_.pools[0].denied_by, "cloud.min");
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 2u);
}

TEST_F(PoolSizerTest, ANodeToRemoveWhosePodsHaveNoPlaceStaysAndIsReported) {
  Make(3, 2500);
  policy_->remove = {"n1"};
  LetPass(10);
  EXPECT_THAT(Queued(), IsEmpty());
  EXPECT_THAT(log_, Contains(HasSubstr("pool web: tainted node n1 stays: NoPlaceToMovePods")));
}

TEST_F(PoolSizerTest, AFailedStepIsTriedAgainAndASuccessEndsTheRow) {
  Make(3);
  actuator_->begin = absl::UnavailableError("conflict");
  policy_->delta = -1;
  LetPass(10);
  EXPECT_EQ(Memory().failures, 1);
  EXPECT_THAT(log_, Contains(HasSubstr("pool web: node n0 stays: conflict")));
  actuator_->begin = absl::OkStatus();
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 2u);
  EXPECT_EQ(Memory().failures, 0);
  EXPECT_FALSE(Memory().failsafe);
}

TEST_F(PoolSizerTest, FailuresInARowLeadToFailsafeWithOneNoticeAndNoActionAtAll) {
  Make(4);
  actuator_->begin = absl::UnavailableError("conflict");
  policy_->delta = -1;
  LetPass(600);
  EXPECT_TRUE(Memory().failsafe);
  EXPECT_EQ(Memory().failures, 3);
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].pool, "web");
  EXPECT_EQ(notices_[0].event, "failsafe");
  EXPECT_THAT(notices_[0].text, HasSubstr("3 failures in a row"));
  EXPECT_THAT(Queued(), IsEmpty());
  actuator_->begin = absl::OkStatus();
  actuator_->calls.clear();
  for (const int64_t delta : {-1, 2}) {
    policy_->delta = delta;
    LetPass(300);
  }
  EXPECT_THAT(actuator_->calls, IsEmpty());
  EXPECT_EQ(cluster_->nodes(), 4u);
  // A restart does not end failsafe; an operator does.
  SizingState state = sizer_->state();
  Restart(state);
  LetPass(60);
  EXPECT_TRUE(Memory().failsafe);
  state.pools[0].failsafe = false;
  state.pools[0].failures = 0;
  sizer_->Restore(state);
  policy_->delta = -1;
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 3u);
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(PoolSizerTest, ARefusalToGrowIsNotCountedAsGrowth) {
  Make(2);
  pools_[0].retries = 0;
  actuator_->grow = absl::UnavailableError("no capacity");
  policy_->delta = 1;
  LetPass(10);
  EXPECT_EQ(Memory().grow_to, 0);
  EXPECT_THAT(policy_->ended, ElementsAre(false));
  actuator_->grow = absl::OkStatus();
  policy_->delta = 1;
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 3u);
  EXPECT_THAT(policy_->ended, ElementsAre(false, true));
}

TEST_F(PoolSizerTest, AGroupThatRefusesToGrowTooOftenIsInFailsafe) {
  Make(2);
  actuator_->grow = absl::UnavailableError("no capacity");
  for (int64_t asked = 0; asked < pools_[0].retries; ++asked) {
    EXPECT_FALSE(Memory().failsafe);
    policy_->delta = 1;
    LetPass(10);
  }
  EXPECT_TRUE(Memory().failsafe);
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(PoolSizerTest, ARefusalTakesNothingFromMachinesThatAreStillToCome) {
  Make(2);
  pools_[0].retries = 0;
  policy_->delta = 2;
  LetPass(10);
  ASSERT_EQ(Memory().grow_to, 4);
  actuator_->grow = absl::UnavailableError("no capacity");
  policy_->delta = 1;
  LetPass(60);
  EXPECT_EQ(policy_->ended, (std::vector<bool>{true, false}));
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 4u);
  EXPECT_EQ(Memory().grow_to, 0);
  EXPECT_EQ(Memory().grow_by, 0);
  EXPECT_EQ(std::ranges::count(actuator_->calls, "grow group to 4"), 1);
}

TEST_F(PoolSizerTest, MachinesThatDoNotComeAreFailures) {
  Make(2);
  pools_[0].step_timeout_s = 100;
  actuator_->machines_come = false;
  policy_->delta = 1;
  LetPass(1000);
  EXPECT_TRUE(Memory().failsafe);
  EXPECT_EQ(Memory().grow_to, 0);
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(PoolSizerTest, APolicyWithOneActionAtATimeIsNotCalledUntilItsActionHasEnded) {
  Make(4);
  policy_->one_at_a_time = true;
  policy_->delta = -2;
  LetPass(10);
  const size_t rounds = policy_->rounds;
  EXPECT_THAT(policy_->ended, IsEmpty());
  LetPass(20);
  EXPECT_EQ(policy_->rounds, rounds);
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 2u);
  EXPECT_THAT(policy_->ended, ElementsAre(true));  // Called once for both nodes.
  EXPECT_GT(policy_->rounds, rounds);
}

TEST_F(PoolSizerTest, TheOtherPoliciesSeeTheNodesThatLeave) {
  Make(4);
  policy_->delta = -1;
  policy_->order = Names{"n3", "n2", "n1", "n0"};
  LetPass(20);
  const auto leaves = [&](const std::string& name) {
    const auto node = std::ranges::find(policy_->seen.nodes, name, &PolicyNode::name);
    return node != policy_->seen.nodes.end() && node->is_leaving;
  };
  EXPECT_TRUE(leaves("n3"));
  EXPECT_FALSE(leaves("n2"));
}

TEST_F(PoolSizerTest, ATurnThatCouldNotRecordDoesNothingAndALaterOneDoes) {
  Make(3);
  record_ = absl::UnavailableError("disk full");
  policy_->delta = -1;
  LetPass(10);
  EXPECT_THAT(actuator_->calls, IsEmpty());
  record_ = absl::OkStatus();
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 2u);
}

TEST_F(PoolSizerTest, ARestartContinuesAndRemovesNoNodeTwice) {
  for (int64_t after_s = 10; after_s <= 120; after_s += 10) {
    SCOPED_TRACE(after_s);
    now_s_ = kStart;
    Make(4);
    policy_->delta = -2;
    LetPass(after_s);
    Restart(sizer_->state());
    LetPass(900);
    EXPECT_EQ(cluster_->nodes(), 2u);
    EXPECT_THAT(Queued(), IsEmpty());
  }
}

TEST_F(PoolSizerTest, RoundsOfThePlannerLeaveThePoolsGroupAlone) {
  Make(4);  // Nodes that the planner would remove.
  LetPass(3600);
  EXPECT_EQ(cluster_->nodes(), 4u);
}

TEST_F(PoolSizerTest, APeriodLiesBetweenRounds) {
  Make(2);
  pools_[0].period_s = 60;
  LetPass(600);
  EXPECT_EQ(policy_->rounds, 10u);
}

TEST_F(PoolSizerTest, AnUnknownGroupIsAFailureWithAdvice) {
  Make(2);
  pools_[0].nodes = {{"pool", "nobody"}};
  policy_->delta = 1;
  LetPass(10);
  EXPECT_THAT(log_, Contains(HasSubstr("set `group` of the pool")));
}

TEST_F(PoolSizerTest, ThePoolsSizeCountsOnlyItsOwnNodesIfItsGroupHasOthers) {
  Make(6, 500, 4);
  LetPass(10);
  EXPECT_EQ(policy_->seen.nodes.size(), 2u);
  EXPECT_EQ(policy_->seen.cloud->desired, 2);
}

TEST_F(PoolSizerTest, AGroupThatIsNotThePoolsAloneDoesNotGrow) {
  Make(6, 500, 4);
  policy_->delta = 2;
  LetPass(10);
  ASSERT_THAT(turn_.pools, SizeIs(1));
  EXPECT_EQ(turn_.pools[0].denied_by, "group group is shared with nodes of no pool, such as n0");
  EXPECT_THAT(policy_->ended, ElementsAre(false));
  LetPass(600);
  EXPECT_THAT(actuator_->calls, IsEmpty());
  EXPECT_EQ(cluster_->nodes(), 6u);
  EXPECT_EQ(Memory().failures, 0);
  const auto is_reported = [](const std::string& line) {
    return line.find("group group is shared with") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(log_, is_reported), 1);
}

TEST_F(PoolSizerTest, TwoPoolsOfOneGroupGrowNeitherAndShrinkBoth) {
  Make(6, 500, 3);
  FixedPolicyFile& other = AddPool("batch", "other");
  pools_[0].group = pools_[1].group = "group";
  policy_->delta = 1;
  other.delta = 1;
  LetPass(10);
  EXPECT_EQ(turn_.pools.at(0).denied_by, "group group is shared with pool batch");
  EXPECT_EQ(turn_.pools.at(1).denied_by, "group group is shared with pool web");
  policy_->delta = other.delta = -1;
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 4u);
}

TEST_F(PoolSizerTest, APoolThatNamesAnothersGroupDoesNotMakeItGrow) {
  Make(6, 500, 6);  // All nodes of the group belong to batch; web has none.
  FixedPolicyFile& other = AddPool("batch", "other");
  pools_[0].group = "group";
  policy_->delta = 1;
  other.delta = 1;
  LetPass(300);
  EXPECT_EQ(cluster_->nodes(), 6u);
  EXPECT_THAT(actuator_->calls, IsEmpty());
}

TEST_F(PoolSizerTest, ANodeOfTwoPoolsBelongsToNeitherAndBothAreReported) {
  Make(4);
  FixedPolicyFile& other = AddPool("batch", "web");
  policy_->delta = other.delta = -1;
  LetPass(600);
  EXPECT_EQ(cluster_->nodes(), 4u);
  EXPECT_EQ(policy_->rounds + other.rounds, 0u);
  EXPECT_EQ(turn_.pools.at(0).denied_by, "pool batch has node n0 too");
  EXPECT_EQ(turn_.pools.at(1).denied_by, "pool web has node n0 too");
  EXPECT_THAT(log_, ElementsAre(HasSubstr("pool web: pool batch has node n0 too"),
                                HasSubstr("pool batch: pool web has node n0 too")));
}

TEST_F(PoolSizerTest, APoolWithoutANodeIsReportedOnce) {
  Make(2);
  pools_[0].nodes = {{"pool", "nobody"}};
  LetPass(60);
  EXPECT_THAT(log_, ElementsAre("pool web: no node has the labels pool=nobody"));
}

// Whatever a policy decides, at any time: the cloud's bounds hold, no node is in two queues, and a
// pool in failsafe is not changed.
TEST_F(PoolSizerTest, NoDecisionBreaksABound) {
  test::Dice dice(test::RandomSeed());
  for (int run = 0; run < 10; ++run) {
    now_s_ = kStart;
    Make(4, 300);
    pools_[0].cloud = {.min = 2, .max = 6};
    pools_[0].retries = dice.Below(2) * 3;
    pools_[0].step_timeout_s = 200;
    for (int step = 0; step < 60; ++step) {
      policy_->delta = dice.Below(9) - 4;
      actuator_->begin = dice.Percent(20) ? absl::UnavailableError("x") : absl::OkStatus();
      actuator_->grow = dice.Percent(20) ? absl::UnavailableError("x") : absl::OkStatus();
      const bool was_failsafe = Memory().failsafe;
      actuator_->calls.clear();
      LetPass(10 * (1 + dice.Below(6)));
      EXPECT_GE(cluster_->nodes(), 2u);
      EXPECT_LE(cluster_->nodes(), 6u);
      if (was_failsafe) {
        EXPECT_THAT(actuator_->calls, IsEmpty());
      }
      if (dice.Percent(20)) Restart(sizer_->state());
    }
  }
}

}  // namespace
}  // namespace ebb::pool_sizer_test
