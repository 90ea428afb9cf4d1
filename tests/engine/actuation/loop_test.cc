#include "engine/actuation/loop.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/actuation/scripted_actuator.h"
#include "tests/engine/actuation/still_cluster.h"

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
    options.record = [this](const ScaleDown&, const RoundResult&) { return record_; };
    return Loop(scale_down_, cluster_, actuator_, options);
  }

  ScaleDown scale_down_{NoWaiting()};
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
TEST_F(LoopTest, ARoundTriesFirstWhatItIsAdvised) {
  cluster_ = StillCluster{Cluster()
                              .Add(Node("a").Cpu(4000))
                              .Add(Node("b").Cpu(4000))
                              .Add(Node("c").Cpu(4000))
                              .Add(Pod("p").On("a").Cpu(1500).Uid("p-uid"))
                              .Add(Pod("q").On("b").Cpu(1500).Uid("q-uid"))
                              .Add(Pod("r").On("c").Cpu(2400).Uid("r-uid"))
                              .Build()};
  std::vector<std::vector<std::string>> unneeded_before;
  LoopOptions options;
  options.advise = [&](const Observation& observed, int64_t,
                       const std::vector<std::string>& unneeded) {
    const Catalog& catalog = observed.snapshot->catalog();
    const auto node = [&](const char* name) { return catalog.FindNode(name).value(); };
    unneeded_before.push_back(unneeded);
    return RoundAdvice{.candidates = {node("b"), node("a")},
                       .suggestions = {{catalog.FindPod("default", "q").value(), node("c")}}};
  };
  Loop loop(scale_down_, cluster_, actuator_, options);
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  ASSERT_EQ(actuator_.orders.size(), 1);
  EXPECT_EQ(actuator_.orders[0].node, "b");
  EXPECT_EQ(actuator_.orders[0].moves[0].to, "c");
  EXPECT_THAT(unneeded_before, ElementsAre(IsEmpty(), ElementsAre("b")));
}

TEST_F(LoopTest, DeletionsGoOnWhileTheClusterCannotBeObserved) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  loop.Turn(kStart + 10);
  cluster_.answer = absl::UnavailableError("the API is away");
  actuator_.calls.clear();
  loop.Turn(kStart + 20);
  EXPECT_THAT(actuator_.calls, ElementsAre("drain b"));
  EXPECT_THAT(log_, ElementsAre("no round: the API is away"));
}

TEST_F(LoopTest, NothingIsDecidedWhileTheActuatorDoesNotTellWhatIsUnderWay) {
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

TEST_F(LoopTest, AFailedDeletionIsToldToTheNextRound) {
  Loop loop = MakeLoop();
  loop.Turn(kStart);
  actuator_.status.results = {
      {.node = "b", .group = "group", .ok = false, .at_s = kStart, .why = "a pod never ends"}};
  loop.Turn(kStart + 10);
  EXPECT_THAT(log_, ElementsAre("node b stays: a pod never ends"));
  EXPECT_THAT(actuator_.calls, Not(Contains("begin b")));  // Cooldown.
  EXPECT_THAT(actuator_.status.results, IsEmpty());
}

TEST_F(LoopTest, AResultIsTakenInOnlyWithTheRoundThatIsToldOfIt) {
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
class ScriptedRounds : public RoundMaker {
 public:
  absl::StatusOr<AskedRound> answer = AskedRound();
  ActuatorStatus told;

  absl::StatusOr<AskedRound> MakeRound(const ActuatorStatus& status, int64_t,
                                       std::span<const std::string>) override {
    told = status;
    return answer;
  }
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
  EXPECT_EQ(rounds.told.results.size(), 1);
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

TEST_F(LoopTest, ADeletionThatCouldNotBeginIsToldToTheNextRoundUnlessItRuns) {
  ScriptedRounds rounds;
  rounds.answer->start = {{.node = "a"}, {.node = "b"}};
  Loop loop(rounds, actuator_, {});
  actuator_.answer = absl::UnavailableError("the answer was lost");
  loop.Turn(kStart);
  // a was begun all the same.
  actuator_.status.running = {{.node = "a", .phase = DeletionPhase::kDraining}};
  rounds.answer->start.clear();
  loop.Turn(kStart + 10);
  ASSERT_EQ(rounds.told.results.size(), 1);
  EXPECT_EQ(rounds.told.results[0].node, "b");
  EXPECT_FALSE(rounds.told.results[0].ok);
  loop.Turn(kStart + 20);
  EXPECT_THAT(rounds.told.results, IsEmpty());
}

TEST_F(LoopTest, AtTheEndWhatHasOnlyATaintIsRolledBackAndWhatWasBegunGoesOn) {
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

TEST_F(LoopTest, ATurnSaysWhatItCameTo) {
  LoopTurn turn;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& each) { turn = each; };
  Loop loop(scale_down_, cluster_, actuator_, options);
  loop.Turn(kStart);
  EXPECT_EQ(turn.now_s, kStart);
  EXPECT_EQ(turn.nodes, 3);
  EXPECT_EQ(turn.pending, 0);
  EXPECT_EQ(turn.in_deletion, 0);
  EXPECT_EQ(turn.begun, 0);
  EXPECT_TRUE(turn.round.has_value());
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

TEST_F(LoopTest, ATurnWhoseRoundIsMadeElsewhereSaysWhatThatCameTo) {
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
  EXPECT_EQ(turn.nodes, 7);
  EXPECT_EQ(turn.pending, 2);
  EXPECT_EQ(turn.begun, 2);
  EXPECT_FALSE(turn.round.has_value());
  ASSERT_TRUE(turn.asked.has_value());
  EXPECT_EQ(turn.asked->number, 12);
}

TEST_F(LoopTest, ASoftTaintThatFailsIsToldAndTheOthersArePut) {
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

}  // namespace
}  // namespace ebb::loop_test
