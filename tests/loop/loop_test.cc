#include "loop/loop.h"

#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "loop/own_rounds.h"
#include "tests/loop/scripted_actuator.h"
#include "tests/loop/still_cluster.h"

namespace ebb::loop_test {
namespace {

using test::Cluster;
using test::Node;
using test::NoWaiting;
using test::Pod;
using test::ScriptedActuator;
using test::StillCluster;
using test::TestClock;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int64_t kStart = 1'000'000;

// b's pod fits on a; c is full.
ClusterSnapshot Three() {
  return Cluster()
      .Add(Node("a"))
      .Add(Node("b"))
      .Add(Node("c"))
      .Add(Pod("p").On("a").Cpu(2500).Uid("p-uid"))
      .Add(Pod("q").On("b").Cpu(500).Uid("q-uid"))
      .Add(Pod("r").On("c").Cpu(4000).Uid("r-uid"))
      .Build();
}

class LoopTest : public testing::Test {
 protected:
  // A loop whose turns are kept.
  Loop MakeLoop() {
    LoopOptions options;
    options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
    return Loop(Own({.record = [this](const ScaleDown&, const RoundResult&) { return record_; }}),
                actuator_, options);
  }
  // Rounds that are made here, until the next call.
  Rounds& Own(OwnRoundsOptions options = {}) {
    return own_.emplace(scale_down_, cluster_, std::move(options));
  }

  ScaleDown scale_down_{NoWaiting()};
  std::optional<OwnRounds> own_;
  StillCluster cluster_{Three()};
  ScriptedActuator actuator_;
  absl::Status record_;
  std::vector<std::string> log_;
};

TEST_F(LoopTest, ATurnBeginsWhatTheRoundStartsAndPutsSoftTaints) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, ElementsAre("soft b"));
  actuator_.calls.clear();
  loop.Turn(kStart + 10);
  EXPECT_THAT(actuator_.calls, ElementsAre("begin b", "soft b"));
  ASSERT_EQ(actuator_.orders.size(), 1);
  EXPECT_EQ(actuator_.orders[0], (DeletionOrder{.node = "b",
                                                .uid = "",
                                                .group = "group",
                                                .drain = true,
                                                .moves = {{"default", "q", "q-uid", "a"}}}));
}

// By itself the round tries b, whose pod then fills a; after a there is no room on b for its pod.
TEST_F(LoopTest, ARoundTriesAdvisedNodesFirst) {
  cluster_ = StillCluster{Cluster()
                              .Add(Node("a").Cpu(4000))
                              .Add(Node("b").Cpu(4000))
                              .Add(Node("c").Cpu(4000))
                              .Add(Pod("p").On("a").Cpu(1500).Uid("p-uid"))
                              .Add(Pod("q").On("b").Cpu(1500).Uid("q-uid"))
                              .Add(Pod("r").On("c").Cpu(2400).Uid("r-uid"))
                              .Build()};
  std::vector<std::vector<std::string>> unneeded_before;
  OwnRoundsOptions options;
  options.advise = [&](const Observation& observed, int64_t,
                       const std::vector<std::string>& unneeded) {
    const Catalog& catalog = observed.snapshot->catalog();
    const auto node = [&](const char* name) { return catalog.FindNode(name).value(); };
    unneeded_before.push_back(unneeded);
    return RoundAdvice{.candidates = {node("b"), node("a")},
                       .suggestions = {{catalog.FindPod("default", "q").value(), node("c")}}};
  };
  Loop loop(Own(options), actuator_, {});
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  ASSERT_EQ(actuator_.orders.size(), 1);
  EXPECT_EQ(actuator_.orders[0].node, "b");
  EXPECT_EQ(actuator_.orders[0].moves[0].to, "c");
  EXPECT_THAT(unneeded_before, ElementsAre(IsEmpty(), ElementsAre("b")));
}

TEST_F(LoopTest, DeletionsContinueWhileTheClusterCannotBeObserved) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  cluster_.answer = absl::UnavailableError("the API is away");
  actuator_.calls.clear();
  loop.Turn(kStart + 20);
  EXPECT_THAT(actuator_.calls, ElementsAre("drain b"));
  EXPECT_THAT(log_, ElementsAre("no round: the API is away"));
}

TEST_F(LoopTest, NothingIsDecidedWhileTheActuatorsStatusFails) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.calls.clear();
  actuator_.status_answer = absl::UnavailableError("away");
  loop.Turn(kStart + 10);
  EXPECT_THAT(actuator_.calls, IsEmpty());
  EXPECT_THAT(log_, ElementsAre(HasSubstr("status: away")));
}

TEST_F(LoopTest, ARoundThatIsNotRecordedBeginsNothing) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.calls.clear();
  record_ = absl::ResourceExhaustedError("disk full");
  loop.Turn(kStart + 10);
  EXPECT_THAT(actuator_.calls, IsEmpty());
  EXPECT_THAT(log_, ElementsAre(HasSubstr("disk full")));
}

TEST_F(LoopTest, ADeletionThatDoesNotBeginHoldsBackTheNextForTheCooldown) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.answer = absl::UnavailableError("conflict");
  loop.Turn(kStart + 10);
  EXPECT_THAT(log_, Contains("1 deletions could not begin: conflict"));
  actuator_.answer = absl::OkStatus();
  actuator_.calls.clear();
  loop.Turn(kStart + 20);
  loop.Turn(kStart + 180);
  EXPECT_THAT(actuator_.calls, Not(Contains(StartsWith("begin"))));
  loop.Turn(kStart + 200);
  EXPECT_THAT(actuator_.calls, Contains("begin b"));
}

TEST_F(LoopTest, AFailedDeletionIsReportedToTheNextRound) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.status.results = {
      {.node = "b", .group = "group", .ok = false, .at_s = kStart, .why = "a pod never ends"}};
  loop.Turn(kStart + 10);
  EXPECT_THAT(log_, ElementsAre("node b stays: a pod never ends"));
  EXPECT_THAT(actuator_.calls, Not(Contains("begin b")));  // Cooldown.
  EXPECT_THAT(actuator_.status.results, IsEmpty());
}

TEST_F(LoopTest, AResultIsAcknowledgedOnlyAfterARoundHasReceivedIt) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.status.results = {
      {.node = "b", .group = "group", .ok = false, .at_s = kStart, .why = "a pod never ends"}};
  cluster_.answer = absl::UnavailableError("the API is away");
  loop.Turn(kStart + 10);
  EXPECT_EQ(actuator_.status.results.size(), 1);
  cluster_.answer = absl::OkStatus();
  record_ = absl::ResourceExhaustedError("disk full");
  loop.Turn(kStart + 20);
  EXPECT_EQ(actuator_.status.results.size(), 1);
  record_ = absl::OkStatus();
  loop.Turn(kStart + 30);
  EXPECT_THAT(actuator_.status.results, IsEmpty());
  EXPECT_THAT(log_, ElementsAre("node b stays: a pod never ends"));
}

// Rounds as a test has them.
class ScriptedRounds : public Rounds {
 public:
  absl::StatusOr<RoundOrders> answer = RoundOrders();
  ClusterSource* cluster = nullptr;  // For a sizer.
  ActuatorStatus received;
  std::vector<std::string> left_alone;
  int asked = 0;

  absl::StatusOr<Observation*> Observe(int64_t now_s) override {
    if (cluster == nullptr) return absl::FailedPreconditionError("no cluster to size pools of");
    absl::StatusOr<Observation> now = cluster->Observe(now_s);
    if (!now.ok()) return now.status();
    return &observed_.emplace(*std::move(now));
  }
  absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t,
                                   std::span<const std::string> alone) override {
    ++asked;
    received = report;
    left_alone.assign(alone.begin(), alone.end());
    return answer;
  }

 private:
  std::optional<Observation> observed_;
};

TEST_F(LoopTest, ARoundThatIsMadeElsewhereIsDoneTheSame) {
  ScriptedRounds rounds;
  rounds.answer->start = {{.node = "b", .drain = true}};
  rounds.answer->taint = {"c"};
  rounds.answer->untaint = {"a"};
  rounds.answer->log = {"odd"};
  LoopOptions options;
  options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
  Loop loop(rounds, actuator_, options);
  actuator_.status.results = {{.node = "z", .ok = true, .at_s = kStart}};
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, ElementsAre("begin b", "unsoft a", "soft c"));
  EXPECT_EQ(rounds.received.results.size(), 1);
  EXPECT_THAT(actuator_.status.results, IsEmpty());
  EXPECT_THAT(log_, ElementsAre("odd"));
}

TEST_F(LoopTest, ARoundThatIsNotMadeElsewhereChangesNothing) {
  ScriptedRounds rounds;
  rounds.answer = absl::UnavailableError("nobody listens");
  LoopOptions options;
  options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
  Loop loop(rounds, actuator_, options);
  actuator_.status.results = {{.node = "z", .ok = true, .at_s = kStart}};
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, IsEmpty());
  EXPECT_EQ(actuator_.status.results.size(), 1);
  EXPECT_THAT(log_, ElementsAre("no round: nobody listens"));
}

TEST_F(LoopTest, ADeletionThatDidNotBeginIsReportedToTheNextRoundUnlessItRuns) {
  ScriptedRounds rounds;
  rounds.answer->start = {{.node = "a"}, {.node = "b"}};
  Loop loop(rounds, actuator_, {});
  actuator_.answer = absl::UnavailableError("the answer was lost");
  loop.Turn(kStart);
  // a was begun all the same.
  actuator_.status.running = {{.node = "a", .phase = DeletionPhase::kDraining}};
  rounds.answer->start.clear();
  loop.Turn(kStart + 10);
  ASSERT_EQ(rounds.received.results.size(), 1);
  EXPECT_EQ(rounds.received.results[0].node, "b");
  EXPECT_FALSE(rounds.received.results[0].ok);
  loop.Turn(kStart + 20);
  EXPECT_THAT(rounds.received.results, IsEmpty());
}

TEST_F(LoopTest, StopRollsBackTaintedNodesAndContinuesBegunDeletions) {
  Loop loop = MakeLoop();
  actuator_.status.running = {
      {.node = "a", .group = "group", .phase = DeletionPhase::kTainted, .since_s = kStart},
      {.node = "b", .group = "group", .phase = DeletionPhase::kDrained, .since_s = kStart}};
  TestClock clock(kStart, kStart + 1);
  loop.Run(clock);
  EXPECT_THAT(actuator_.calls, Contains("roll back a: the loop ends"));
  EXPECT_THAT(actuator_.calls, Contains("delete b"));
  EXPECT_EQ(clock.NowS(), kStart + 1 + LoopOptions().stop_grace_s);  // b never goes.
}

TEST_F(LoopTest, ATurnReportsWhatItDid) {
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  Loop loop(Own(), actuator_, options);
  loop.Turn(kStart);
  EXPECT_EQ(turn.now_s, kStart);
  ASSERT_TRUE(turn.round.has_value());
  EXPECT_EQ(turn.round->nodes, 3);
  EXPECT_EQ(turn.round->pending, 0);
  EXPECT_EQ(turn.in_deletion, 0);
  EXPECT_EQ(turn.begun, 0);
  loop.Turn(kStart + 10);
  EXPECT_EQ(turn.begun, 1);
  EXPECT_EQ(turn.in_deletion, 0);  // As the turn began.
  actuator_.status.results = {
      {.node = "y", .group = "group", .ok = true, .at_s = kStart},
      {.node = "z", .group = "group", .ok = false, .at_s = kStart, .why = "no"}};
  loop.Turn(kStart + 11);
  EXPECT_EQ(turn.in_deletion, 1);
  EXPECT_EQ(turn.begun, 0);
  ASSERT_EQ(turn.ended.size(), 2);
  EXPECT_EQ(turn.ended[0].node, "y");
  EXPECT_EQ(turn.ended[1].node, "z");
  EXPECT_THAT(turn.log, Contains("node z stays: no"));
  EXPECT_THAT(turn.log, Not(Contains(HasSubstr("node y"))));
  actuator_.status_answer = absl::UnavailableError("away");
  loop.Turn(kStart + 12);
  EXPECT_EQ(turn.in_deletion, std::nullopt);
  EXPECT_FALSE(turn.round.has_value());
  EXPECT_THAT(turn.ended, IsEmpty());
}

TEST_F(LoopTest, ATurnReportsTheResultOfARoundMadeElsewhere) {
  ScriptedRounds rounds;
  rounds.answer->number = 12;
  rounds.answer->nodes = 7;
  rounds.answer->pending = 2;
  rounds.answer->start = {{.node = "a"}, {.node = "b"}};
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  Loop loop(rounds, actuator_, options);
  loop.Turn(kStart);
  EXPECT_EQ(turn.begun, 2);
  ASSERT_TRUE(turn.round.has_value());
  EXPECT_EQ(turn.round->nodes, 7);
  EXPECT_EQ(turn.round->pending, 2);
  EXPECT_EQ(turn.round->number, 12);
}

TEST_F(LoopTest, AFailedSoftTaintIsLoggedAndTheOthersAreStillPut) {
  ScriptedRounds rounds;
  rounds.answer->taint = {"a", "b"};
  rounds.answer->untaint = {"c"};
  actuator_.answer = absl::UnavailableError("conflict");
  LoopOptions options;
  options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
  Loop loop(rounds, actuator_, options);
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, ElementsAre("unsoft c", "soft a", "soft b"));
  EXPECT_THAT(log_, ElementsAre("node c: conflict", "node a: conflict", "node b: conflict"));
}

TEST_F(LoopTest, ADeletionThatDidNotBeginIsReportedWithAllFieldsAndNotAsEnded) {
  ScriptedRounds rounds;
  rounds.answer->start = {{.node = "a", .group = "g"}, {.node = "b", .group = "h"}};
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  Loop loop(rounds, actuator_, options);
  actuator_.answer = absl::UnavailableError("conflict");
  loop.Turn(kStart);
  EXPECT_EQ(turn.begun, 0);
  EXPECT_THAT(turn.log, ElementsAre("2 deletions could not begin: conflict"));
  actuator_.answer = absl::OkStatus();
  rounds.answer->start.clear();
  loop.Turn(kStart + 10);
  ASSERT_EQ(rounds.received.results.size(), 2);
  EXPECT_EQ(rounds.received.results[0].group, "g");
  EXPECT_EQ(rounds.received.results[0].at_s, kStart);
  EXPECT_EQ(rounds.received.results[0].why, "conflict");
  EXPECT_EQ(rounds.received.results[1].node, "b");
  EXPECT_THAT(turn.ended, IsEmpty());
  EXPECT_THAT(turn.log, IsEmpty());
}

TEST_F(LoopTest, DueStepsRunBeforeTheRoundReceivesTheStatus) {
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  Loop loop(Own(), actuator_, options);
  const RunningDeletion failed = {
      .node = "z", .group = "group", .phase = DeletionPhase::kFailed, .why = "no"};
  actuator_.status.running = {failed};
  loop.Turn(kStart);
  EXPECT_EQ(actuator_.calls.front(), "roll back z: no");
  EXPECT_EQ(turn.in_deletion, 0);
  actuator_.status.running = {failed};
  actuator_.answer = absl::UnavailableError("away");
  loop.Turn(kStart + 1);
  EXPECT_EQ(turn.log.front(), "node z: away");
}

// Returns its status at the first call, and an error at every later call.
class StatusFailsTheSecondTime : public ScriptedActuator {
 public:
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override {
    if (++asked_ > 1) return absl::UnavailableError("gone");
    return ScriptedActuator::Status(now_s);
  }

 private:
  int asked_ = 0;
};

TEST_F(LoopTest, NothingIsDecidedIfTheSecondStatusFails) {
  StatusFailsTheSecondTime actuator;
  ScriptedRounds rounds;
  LoopOptions options;
  options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
  Loop loop(rounds, actuator, options);
  loop.Turn(kStart);
  EXPECT_EQ(rounds.asked, 0);
  EXPECT_THAT(log_, ElementsAre("the actuator's status: gone"));
}

TEST_F(LoopTest, WithoutAdviceARoundHasItsOwnOrderAndOnlyTheLastRoundsNodesAreUnneeded) {
  std::vector<std::vector<std::string>> unneeded_before;
  OwnRoundsOptions options;
  options.advise = [&](const Observation&, int64_t, const std::vector<std::string>& unneeded) {
    unneeded_before.push_back(unneeded);
    return std::optional<RoundAdvice>();
  };
  options.record = [this](const ScaleDown&, const RoundResult&) { return record_; };
  record_ = absl::ResourceExhaustedError("disk full");
  Loop loop(Own(options), actuator_, {});
  for (int turn = 0; turn < 3; ++turn) loop.Turn(kStart + 10 * turn);
  EXPECT_THAT(unneeded_before, ElementsAre(IsEmpty(), ElementsAre("b"), ElementsAre("b")));
  EXPECT_THAT(actuator_.calls, IsEmpty());
}

// By itself a is tried first, and its pods fit; then there is no room for b's.
TEST_F(LoopTest, ARoundTriesNodesInTheOrderOfTheOptions) {
  const auto soft_taint = [](CandidateOrder order) {
    StillCluster cluster{Cluster()
                             .Add(Node("a"))
                             .Add(Node("b"))
                             .Add(Node("c"))
                             .Add(Pod("p").On("a").Cpu(700))
                             .Add(Pod("q").On("a").Cpu(700))
                             .Add(Pod("r").On("b").Cpu(1400))
                             .Add(Pod("s").On("c").Cpu(2600))
                             .Build()};
    ScaleDown scale_down{NoWaiting()};
    ScriptedActuator actuator;
    OwnRounds rounds(scale_down, cluster, {.order = order});
    Loop loop(rounds, actuator, {});
    loop.Turn(kStart);
    return actuator.calls;
  };
  EXPECT_THAT(soft_taint(CandidateOrder::kAutoscaler), ElementsAre("soft a"));
  EXPECT_THAT(soft_taint(CandidateOrder::kFewestPods), ElementsAre("soft b"));
}

// A cluster that has pending pods and reports events.
class BusyCluster : public StillCluster {
 public:
  using StillCluster::StillCluster;

  std::vector<std::string_view> waiting;
  std::vector<ScaleEvent> events;
  bool knows_groups = true;

  absl::StatusOr<Observation> Observe(int64_t now_s) override {
    absl::StatusOr<Observation> observed = StillCluster::Observe(now_s);
    if (!observed.ok()) return observed;
    observed->pending = test::PodsNamed(snapshot, waiting);
    observed->events = events;
    if (!knows_groups) observed->groups.group_of.clear();
    return observed;
  }
};

TEST_F(LoopTest, ARoundLeavesTheRoomThatPodsThatWaitWillNeed) {
  BusyCluster cluster{Cluster()
                          .Add(Node("a"))
                          .Add(Node("b"))
                          .Add(Pod("p").On("a").Cpu(2500))
                          .Add(Pod("q").On("b").Cpu(500))
                          .Add(Pod("waits").Cpu(1400))
                          .Build()};
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  OwnRounds rounds(scale_down_, cluster);
  Loop loop(rounds, actuator_, options);
  cluster.waiting = {"waits"};
  loop.Turn(kStart);
  ASSERT_TRUE(turn.round.has_value());
  EXPECT_EQ(turn.round->pending, 1);
  EXPECT_EQ(turn.round->nodes, 2);
  EXPECT_THAT(actuator_.calls, IsEmpty());
}

TEST_F(LoopTest, AnEventThatIsObservedHoldsDeletionsBackForItsCooldown) {
  BusyCluster cluster{Three()};
  OwnRounds rounds(scale_down_, cluster);
  Loop loop(rounds, actuator_, {});
  cluster.events = {{ScaleEventKind::kScaleUp, "group", kStart}};
  loop.Turn(kStart);
  cluster.events.clear();
  loop.Turn(kStart + 10);
  loop.Turn(kStart + 599);
  EXPECT_THAT(actuator_.calls, Not(Contains(StartsWith("begin"))));
  loop.Turn(kStart + 601);
  loop.Turn(kStart + 611);
  EXPECT_THAT(actuator_.calls, Contains("begin b"));
}

// ---------------------------------------------------------------- sizers

// Decides each time that the same nodes go, and shows by a soft taint when it acts.
class ScriptedSizer : public Sizer {
 public:
  std::vector<NodeInDeletion> leave;
  std::vector<std::string> members;
  std::vector<std::string> calls;

  void Decide(Observation& observed, const ActuatorStatus& status, SizingTurn& turn) override {
    calls.push_back(absl::StrCat("decide ", turn.now_s, ": ", observed.snapshot->nodes(),
                                 " nodes, ", status.running.size(), " running"));
    PoolTurn pool;
    pool.pool = "web";
    turn.pools.push_back(pool);
    turn.leave.insert(turn.leave.end(), leave.begin(), leave.end());
    turn.members.insert(turn.members.end(), members.begin(), members.end());
    turn.log.emplace_back("sized");
  }
  void Act(Actuator& actuator, SizingTurn& turn) override {
    calls.push_back(absl::StrCat("act ", turn.now_s));
    turn.log.emplace_back("acted");
    EXPECT_TRUE(actuator.SoftTaint("sizer", true, turn.now_s).ok());
  }
};

class SizingLoopTest : public LoopTest {
 protected:
  LoopOptions Options() {
    LoopOptions options;
    options.sizer = &sizer_;
    options.on_turn = [this](const LoopTurn& turn) { turn_ = turn; };
    return options;
  }
  Rounds& Recorded() {
    return Own({.record = [this](const ScaleDown&, const RoundResult&) { return record_; }});
  }

  ScriptedSizer sizer_;
  LoopTurn turn_;
};

TEST_F(SizingLoopTest, ASizerDecidesBeforeTheRoundAndActsBeforeItsDeletionsBegin) {
  Loop loop(Recorded(), actuator_, Options());
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, ElementsAre("soft sizer", "soft b"));
  actuator_.calls.clear();
  loop.Turn(kStart + 10);
  EXPECT_THAT(actuator_.calls, ElementsAre("soft sizer", "begin b", "soft b"));
  EXPECT_THAT(sizer_.calls, ElementsAre("decide 1000000: 3 nodes, 0 running", "act 1000000",
                                        "decide 1000010: 3 nodes, 0 running", "act 1000010"));
  ASSERT_EQ(turn_.pools.size(), 1);
  EXPECT_EQ(turn_.pools[0].pool, "web");
  EXPECT_THAT(turn_.log, ElementsAre("sized", "acted"));
}

TEST_F(SizingLoopTest, IfTheRoundIsNotRecordedTheSizerDoesNotActAndItsDecisionIsLogged) {
  Loop loop(Recorded(), actuator_, Options());
  record_ = absl::ResourceExhaustedError("disk full");
  loop.Turn(kStart);
  EXPECT_THAT(sizer_.calls, ElementsAre("decide 1000000: 3 nodes, 0 running"));
  EXPECT_THAT(actuator_.calls, IsEmpty());
  EXPECT_EQ(turn_.pools.size(), 1);
  EXPECT_EQ(turn_.log.back(), "sized");
}

TEST_F(SizingLoopTest, ANodeThatASizerTakesAwayIsInDeletionForTheRound) {
  sizer_.leave = {{"b", "group"}};
  Loop loop(Recorded(), actuator_, Options());
  loop.Turn(kStart);
  ASSERT_TRUE(turn_.round.has_value());
  EXPECT_EQ(own_->last()->groups.at(0).in_deletion, 1);
  EXPECT_THAT(actuator_.calls, ElementsAre("soft sizer"));
}

TEST_F(SizingLoopTest, RoundsReceiveTheNodesThatASizerRemovesAndThePoolsNodes) {
  ScriptedRounds rounds;
  rounds.answer->start = {{.node = "a"}};
  sizer_.leave = {{"b", "group"}};
  sizer_.members = {"b", "c"};
  actuator_.status.running = {{.node = "z", .phase = DeletionPhase::kDraining}};
  rounds.cluster = &cluster_;
  Loop loop(rounds, actuator_, Options());
  loop.Turn(kStart);
  ASSERT_EQ(rounds.received.running.size(), 2);
  EXPECT_EQ(rounds.received.running[0].node, "z");
  EXPECT_EQ(rounds.received.running[1].node, "b");
  EXPECT_EQ(rounds.received.running[1].group, "group");
  EXPECT_TRUE(rounds.received.running[1].drain);
  EXPECT_EQ(rounds.received.running[1].since_s, kStart);
  EXPECT_THAT(rounds.left_alone, ElementsAre("b", "c"));
  EXPECT_THAT(actuator_.calls, ElementsAre("soft sizer", "begin a"));
  EXPECT_THAT(turn_.log, ElementsAre("sized", "acted"));
  EXPECT_EQ(turn_.pools.size(), 1);
}

TEST_F(SizingLoopTest, ASizerDoesNotActIfTheRoundElsewhereFails) {
  ScriptedRounds rounds;
  rounds.answer = absl::UnavailableError("nobody listens");
  rounds.cluster = &cluster_;
  Loop loop(rounds, actuator_, Options());
  loop.Turn(kStart);
  EXPECT_THAT(sizer_.calls, ElementsAre("decide 1000000: 3 nodes, 0 running"));
  EXPECT_THAT(turn_.log, ElementsAre("no round: nobody listens", "sized"));
}

TEST_F(SizingLoopTest, WithoutAClusterToSizeNoRoundIsMade) {
  ScriptedRounds rounds;
  Loop blind(rounds, actuator_, Options());
  blind.Turn(kStart);
  EXPECT_THAT(turn_.log, ElementsAre("no round: no cluster to size pools of"));
  cluster_.answer = absl::UnavailableError("the API is away");
  rounds.cluster = &cluster_;
  Loop loop(rounds, actuator_, Options());
  loop.Turn(kStart);
  EXPECT_THAT(turn_.log, ElementsAre("no round: the API is away"));
  EXPECT_EQ(rounds.asked, 0);
  EXPECT_THAT(sizer_.calls, IsEmpty());
}

// ---------------------------------------------------------------- the end

TEST_F(LoopTest, TurnsAreAScanIntervalApartUntilTheClockStops) {
  ScriptedRounds rounds;
  std::vector<int64_t> turns;
  LoopOptions options;
  options.scan_interval_s = 10;
  options.on_turn = [&](const LoopTurn& turn) { turns.push_back(turn.now_s); };
  Loop loop(rounds, actuator_, options);
  TestClock clock(kStart, kStart + 25);
  loop.Run(clock);
  EXPECT_THAT(turns, ElementsAre(kStart, kStart + 10, kStart + 20));
  EXPECT_EQ(clock.NowS(), kStart + 25);  // There is nothing to wait for.
}

TEST_F(LoopTest, StopRollsBackEveryTaintAndReturnsAtOnce) {
  ScriptedRounds rounds;
  Loop loop(rounds, actuator_, {});
  for (const char* const node : {"a", "b"}) {
    actuator_.status.running.push_back({.node = node, .phase = DeletionPhase::kTainted});
  }
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_THAT(actuator_.calls,
              ElementsAre("roll back a: the loop ends", "roll back b: the loop ends"));
  EXPECT_EQ(clock.NowS(), kStart);
}

TEST_F(LoopTest, StopContinuesBegunDeletionsEachSecondForTheGrace) {
  ScriptedRounds rounds;
  LoopOptions options;
  options.stop_grace_s = 2;
  Loop loop(rounds, actuator_, options);
  actuator_.status.running = {{.node = "b", .phase = DeletionPhase::kDrained},
                              {.node = "a", .phase = DeletionPhase::kTainted}};
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_THAT(actuator_.calls,
              ElementsAre("roll back a: the loop ends", "delete b", "delete b", "delete b"));
  EXPECT_EQ(clock.NowS(), kStart + 2);
}

TEST_F(LoopTest, StopWaitsTheGraceForASilentActuatorThatHadADeletion) {
  ScriptedRounds rounds;
  Loop loop(rounds, actuator_, {});
  actuator_.status.running = {{.node = "a", .phase = DeletionPhase::kDraining}};
  loop.Turn(kStart);
  actuator_.calls.clear();
  actuator_.status_answer = absl::UnavailableError("away");
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_THAT(actuator_.calls, IsEmpty());
  EXPECT_EQ(clock.NowS(), kStart + LoopOptions().stop_grace_s);
}

TEST_F(LoopTest, StopWaitsForASilentActuatorAfterADeletionWasBegun) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  ASSERT_THAT(actuator_.calls, Contains("begin b"));
  actuator_.status_answer = absl::UnavailableError("away");
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_EQ(clock.NowS(), kStart + LoopOptions().stop_grace_s);
}

// Symptom: `ebb run` without a plugin ended two minutes after SIGTERM.
TEST_F(LoopTest, StopDoesNotWaitIfNoDeletionIsKnown) {
  ScriptedRounds rounds;
  Loop loop(rounds, actuator_, {});
  actuator_.status_answer = absl::UnavailableError("away");
  loop.Turn(kStart);
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_EQ(clock.NowS(), kStart);
}

TEST_F(LoopTest, StopWaitsTheGraceForAnActuatorWhoseStatusFails) {
  StatusFailsTheSecondTime actuator;
  ScriptedRounds rounds;
  Loop loop(rounds, actuator, {});
  actuator.status.running = {{.node = "a", .phase = DeletionPhase::kTainted},
                             {.node = "b", .phase = DeletionPhase::kDrained}};
  TestClock clock(kStart, kStart);
  loop.Stop(clock);
  EXPECT_THAT(actuator.calls, ElementsAre("roll back a: the loop ends"));
  EXPECT_EQ(clock.NowS(), kStart + LoopOptions().stop_grace_s);
}

// ---------------------------------------------------------------- what rounds receive

TEST_F(LoopTest, AnEventIsReportedToTheNextRoundIfARoundFails) {
  BusyCluster cluster{Three()};
  LoopOptions options;
  options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
  OwnRounds rounds(scale_down_, cluster);
  Loop loop(rounds, actuator_, options);
  cluster.events = {{ScaleEventKind::kScaleUp, "group", kStart}};
  cluster.knows_groups = false;
  loop.Turn(kStart);
  EXPECT_THAT(log_, ElementsAre("no round: groups.group_of: has 0 entries for 3 nodes"));
  EXPECT_THAT(actuator_.calls, IsEmpty());
  cluster.knows_groups = true;
  cluster.events.clear();
  for (const int64_t after_s : {10, 20, 599}) loop.Turn(kStart + after_s);
  EXPECT_THAT(actuator_.calls, Not(Contains(StartsWith("begin"))));
  loop.Turn(kStart + 601);
  loop.Turn(kStart + 611);
  EXPECT_THAT(actuator_.calls, Contains("begin b"));
}

TEST_F(LoopTest, ARoundReceivesTheResultsOfItsDeletions) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  ASSERT_EQ(scale_down_.Save().started.size(), 1);
  EXPECT_EQ(scale_down_.Save().started[0].node, "b");
  actuator_.status.running.clear();
  actuator_.status.results = {
      {.node = "b", .group = "group", .ok = false, .at_s = kStart + 15, .why = "no"}};
  loop.Turn(kStart + 20);
  EXPECT_EQ(scale_down_.Save().started.size(), 0);
}

TEST_F(LoopTest, SoftTaintsOfNodesThatAreNeededAgainAreRemovedFirst) {
  const std::string_view soft = "DeletionCandidateOfClusterAutoscaler";
  cluster_ = StillCluster{Cluster()
                              .Add(Node("a").Taint(soft, "1", "PreferNoSchedule"))
                              .Add(Node("b"))
                              .Add(Node("c").Taint(soft, "1", "PreferNoSchedule"))
                              .Add(Pod("p").On("a").Cpu(2500))
                              .Add(Pod("q").On("b").Cpu(500))
                              .Add(Pod("r").On("c").Cpu(4000))
                              .Build()};
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  EXPECT_THAT(actuator_.calls, ElementsAre("unsoft a", "unsoft c", "soft b"));
}

}  // namespace
}  // namespace ebb::loop_test
