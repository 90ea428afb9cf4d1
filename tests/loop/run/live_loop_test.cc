// The whole chain with a virtual clock: a simulated cluster behind a plugin's socket, a daemon that
// is fed with it, and the loop between them.  The faults here are processes that end or are
// unreachable; simulated_cluster_test covers faults inside a cluster.

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "gmock/gmock.h"
#include "groups/groups.h"
#include "gtest/gtest.h"
#include "loop/actuators/actuator_server.h"
#include "loop/actuators/grpc_actuator.h"
#include "loop/own_rounds.h"
#include "loop/record_actuator.h"
#include "loop/run/exported_cluster.h"
#include "loop/run/session_rounds.h"
#include "rounds/round_driver.h"
#include "simulation/simulated_cluster.h"
#include "snapshot/samples/generate.h"
#include "tests/loop/run/exported_objects.h"
#include "tests/loop/run/feed.h"
#include "tests/session/session_objects.h"

namespace ebb::live_loop_test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kStart = 1'767'225'600;
constexpr int64_t kScanS = 10;

RoundOptions Rounds() {
  RoundOptions options;
  options.scale_down.deletion.scale_down_unneeded_time_s = 60;
  options.scale_down.cooldown.scale_down_delay_after_add_s = 0;
  options.scale_down.cooldown.scale_down_delay_after_failure_s = 0;
  options.scale_down.budgets.max_drain_parallelism = 3;
  return options;
}

// The clock of a loop that must end.
class EndClock : public LoopClock {
 public:
  EndClock(SimulatedCluster& cluster, int64_t now_s) : cluster_(cluster), now_s_(now_s) {}
  int64_t NowS() override { return now_s_; }
  bool SleepUntil(int64_t) override { return false; }
  void WaitUntil(int64_t time_s) override {
    now_s_ = time_s;
    cluster_.AdvanceTo(time_s);
  }

 private:
  SimulatedCluster& cluster_;
  int64_t now_s_;
};

class LiveLoopTest : public ::testing::Test {
 protected:
  void Start(const SimulatedFaults& faults = {}) {
    SimulatedClusterOptions options;
    options.start_s = kStart;
    options.faults = faults;
    options.recount_budgets = true;
    auto made = SimulatedCluster::Make(
        [](ObjectSink& sink) {
          return samples::GenerateDump(samples::Kinds()[0], {.nodes = 20, .seed = 3}, sink);
        },
        [](const Catalog& catalog) { return AssignGroups(catalog, {}); }, options);
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
    at_first_ = cluster_->nodes();
    StartPlugin();
    StartDaemon();
    feed_.emplace(DaemonPath(), "prod");
    StartLoop();
  }

  std::string DaemonPath() { return folder_.File("e.sock"); }
  std::string PluginPath() { return folder_.File("p.sock"); }

  void StartPlugin() {
    auto server = ActuatorServer::Start(
        *cluster_, {.path = PluginPath(), .name = "simulated", .now_s = [this] { return now_s_; }});
    ASSERT_TRUE(server.ok()) << server.status();
    plugin_ = *std::move(server);
  }
  void StartDaemon() {
    DaemonOptions options;
    options.listener.path = DaemonPath();
    options.session.state_folder = folder_.path();
    options.session.clock_s = [this] { return now_s_; };
    auto daemon = Daemon::Start(options);
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }
  // Also starts a loop after an earlier one was killed.
  void StartLoop() {
    auto client = PlannerClient::Make("unix:" + DaemonPath(), std::chrono::seconds(60));
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto actuator = GrpcActuator::Make({.plugin = "unix:" + PluginPath(),
                                        .session = absl::StrCat("loop-", ++loops_),
                                        .attempts_max = 2,
                                        .sleep_ms = [](int64_t) {}});
    ASSERT_TRUE(actuator.ok()) << actuator.status();
    actuator_ = *std::move(actuator);
    wire::Settings settings;
    ASSERT_TRUE(PutOptions(OptionsJson(Rounds()), settings).ok());
    settings.mutable_options()->mutable_fields()->erase("load");
    rounds_ = std::make_unique<SessionRounds>(
        *client_, SessionRoundsOptions{.session = "prod", .settings = settings});
    LoopOptions options;
    options.stop_grace_s = 300;
    options.on_turn = [this](const LoopTurn& turn) {
      last_ = turn;
      begun_ += turn.begun;
    };
    loop_ = std::make_unique<Loop>(*rounds_, *actuator_, options);
  }

  void Feed() {
    if (!feed_) return;
    EXPECT_TRUE(feed_->Resync(test::ExportedObjects(*cluster_)));
  }
  void Turn() {
    now_s_ += kScanS;
    cluster_->AdvanceTo(now_s_);
    Feed();
    loop_->Turn(now_s_);
    const absl::Status sound = cluster_->CheckSound();
    EXPECT_TRUE(sound.ok()) << sound << ", " << absl::StrJoin(last_.log, "; ");
  }
  void Turns(int turns) {
    for (int i = 0; i < turns && !HasFailure(); ++i) Turn();
  }
  // Turns until some node is in that phase.
  bool TurnsUntil(DeletionPhase phase) {
    for (int i = 0; i < 100 && !HasFailure(); ++i) {
      Turn();
      const ActuatorStatus status = *cluster_->Status(now_s_);
      for (const RunningDeletion& each : status.running) {
        if (each.phase == phase) return true;
      }
    }
    return false;
  }
  std::vector<std::string> Running() {
    std::vector<std::string> names;
    const ActuatorStatus status = *cluster_->Status(now_s_);
    for (const RunningDeletion& each : status.running) {
      names.push_back(each.node);
    }
    return names;
  }

  test::TemporaryFolder folder_;
  int64_t now_s_ = kStart;
  int loops_ = 0;
  size_t at_first_ = 0;
  size_t begun_ = 0;
  LoopTurn last_;
  std::unique_ptr<SimulatedCluster> cluster_;
  std::unique_ptr<ActuatorServer> plugin_;
  std::unique_ptr<Daemon> daemon_;
  std::optional<test::Feed> feed_;
  std::unique_ptr<PlannerClient> client_;
  std::unique_ptr<GrpcActuator> actuator_;
  std::unique_ptr<SessionRounds> rounds_;
  std::unique_ptr<Loop> loop_;
};

TEST_F(LiveLoopTest, TheChainShrinksTheClusterAndEveryPodRunsAgain) {
  Start();
  Turns(120);
  EXPECT_LT(cluster_->nodes(), at_first_);
  EXPECT_EQ(at_first_ - cluster_->nodes(),
            begun_ - cluster_->counts().deletions_failed - cluster_->deletions());
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(rounds_->evictions(), cluster_->counts().evictions);
}

TEST_F(LiveLoopTest, AKilledPluginCostsOnlyRounds) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kDraining));
  plugin_.reset();
  const size_t begun = begun_;
  Turns(3);
  EXPECT_FALSE(last_.round);
  EXPECT_THAT(last_.log, ElementsAre(HasSubstr("the actuator's status: plugin unix:")));
  EXPECT_EQ(begun_, begun);
  StartPlugin();
  Turns(60);
  EXPECT_TRUE(last_.round);
  EXPECT_GT(begun_, begun);
}

TEST_F(LiveLoopTest, TheNextLoopContinuesTheDeletionsOfAKilledOne) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kDraining));
  const std::vector<std::string> running = Running();
  StartLoop();
  Turn();
  // The running deletions were taken over: they were reported to the session, and are not begun
  // again.
  EXPECT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
  Turns(60);
  for (const std::string& node : running) EXPECT_THAT(Running(), Not(Contains(node)));
  EXPECT_LT(cluster_->nodes(), at_first_);
}

TEST_F(LiveLoopTest, AKilledDaemonContinuesFromItsStateFile) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kDraining));
  const int64_t rounds = last_.round->number;
  feed_.reset();
  daemon_.reset();
  Turn();
  EXPECT_THAT(last_.log, Contains(HasSubstr("no round: ")));
  StartDaemon();
  Turn();
  EXPECT_THAT(last_.log, Contains(HasSubstr("no round: ")));  // No client has fed it yet.
  feed_.emplace(DaemonPath(), "prod");
  // A connection to a daemon that was unreachable is retried after a pause.
  for (int tries = 0; tries < 3000; ++tries) {
    Turn();
    if (last_.round) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
  EXPECT_EQ(last_.round->number, rounds + 1);
  Turns(60);
  EXPECT_LT(cluster_->nodes(), at_first_);
  const auto state = RoundDriver::Open({.state = folder_.File("copy.db")});
  EXPECT_TRUE(state.ok());
}

TEST_F(LiveLoopTest, WithoutAFeedNothingBeginsAndBegunDeletionsContinue) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kTainted));
  const size_t begun = begun_;
  feed_.reset();
  Turns(40);
  EXPECT_THAT(last_.log, ElementsAre(HasSubstr("no client feeds it")));
  EXPECT_EQ(begun_, begun);
  EXPECT_THAT(Running(), IsEmpty());
  feed_.emplace(DaemonPath(), "prod");
  Turns(20);
  EXPECT_TRUE(last_.round);
}

TEST_F(LiveLoopTest, NothingIsDeletedWhileTheClusterIsHalfLoaded) {
  Start();
  // All nodes have arrived, but not their pods.
  std::vector<std::string> nodes;
  for (const std::string& object : test::ExportedObjects(*cluster_)) {
    if (object.find(R"("kind":"Node",)") != std::string::npos) nodes.push_back(object);
  }
  std::vector<std::string> all = test::ExportedObjects(*cluster_);
  ASSERT_TRUE(feed_->BeginResync(nodes));
  for (int i = 0; i < 20; ++i) {
    now_s_ += kScanS;
    cluster_->AdvanceTo(now_s_);
    loop_->Turn(now_s_);
    EXPECT_THAT(last_.log, ElementsAre(AnyOf(HasSubstr("is being filled"))));
  }
  EXPECT_EQ(begun_, 0);
  ASSERT_TRUE(feed_->EndResync(all));
  Turn();
  EXPECT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
}

TEST_F(LiveLoopTest, AClockThatJumpsCostsARoundAndNoTimer) {
  Start();
  Turns(3);
  ASSERT_TRUE(last_.round);
  const int64_t before_s = now_s_;
  // A day ahead, and then back.
  loop_->Turn(now_s_ + 86'400);
  ASSERT_TRUE(last_.round);
  EXPECT_EQ(last_.round->status, "ScaleDownClockJumped");
  EXPECT_EQ(begun_, 0);
  now_s_ = before_s;
  Turn();
  EXPECT_EQ(begun_, 0);
  Turns(60);
  EXPECT_GT(begun_, 0);
}

TEST_F(LiveLoopTest, APermanentClockChangeIsAcceptedTheSecondTime) {
  Start();
  Turns(3);
  now_s_ += 86'400;
  Turn();
  ASSERT_TRUE(last_.round);
  EXPECT_EQ(last_.round->status, "ScaleDownClockJumped");
  Turn();
  ASSERT_TRUE(last_.round);
  EXPECT_NE(last_.round->status, "ScaleDownClockJumped");
}

TEST_F(LiveLoopTest, AtTheEndTheTaintedAreRolledBackAndTheDrainingFinish) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kTainted));
  const size_t nodes = cluster_->nodes();
  EndClock clock(*cluster_, now_s_);
  loop_->Stop(clock);
  now_s_ = clock.NowS();
  const ActuatorStatus status = *cluster_->Status(now_s_);
  for (const RunningDeletion& left : status.running) {
    EXPECT_NE(left.phase, DeletionPhase::kTainted) << left.node;
  }
  EXPECT_LE(cluster_->nodes(), nodes);
  EXPECT_TRUE(cluster_->CheckSound().ok());
}

TEST_F(LiveLoopTest, TheNextLoopReceivesResultsThatAKilledLoopDidNotAcknowledge) {
  Start();
  ASSERT_TRUE(TurnsUntil(DeletionPhase::kDeleting));
  // The deletion ends while no loop runs.
  loop_.reset();
  now_s_ += 200;
  cluster_->AdvanceTo(now_s_);
  ASSERT_FALSE(cluster_->Status(now_s_)->results.empty());
  StartLoop();
  Turn();
  ASSERT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
  EXPECT_FALSE(last_.ended.empty());
  EXPECT_TRUE(cluster_->Status(now_s_)->results.empty());
}

TEST_F(LiveLoopTest, ADryRunPrintsItsActionsAndChangesNothing) {
  Start();
  Feed();
  ScaleDown scale_down(Rounds().scale_down);
  ExportedCluster cluster(*client_, {.session = "prod"}, scale_down);
  std::vector<std::string> lines;
  RecordActuator actuator([&](int64_t now_s, std::string_view line) {
    lines.push_back(fmt::format("{} {}", now_s, line));
  });
  DeductingSource source(cluster, actuator, scale_down);
  size_t rounds = 0;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& turn) {
    rounds += turn.round ? 1 : 0;
    EXPECT_THAT(turn.log, IsEmpty());
  };
  OwnRounds own(scale_down, source);
  Loop loop(own, actuator, options);
  for (int i = 0; i < 30; ++i) {
    now_s_ += kScanS;
    // The cluster changes from time to time, and timers continue.
    if (i % 4 == 0) {
      cluster_->AdvanceTo(now_s_);
      Feed();
    }
    loop.Turn(now_s_);
  }
  EXPECT_EQ(rounds, 30);
  EXPECT_THAT(lines, Contains(HasSubstr(" delete ")));
  EXPECT_EQ(cluster_->nodes(), at_first_);
  EXPECT_THAT(Running(), IsEmpty());
  EXPECT_EQ((*client_->Status()).sessions(0).rounds(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("prod.db")));
}

TEST_F(LiveLoopTest, FaultsInsideTheClusterLeaveItSound) {
  Start({.eviction_refused_permille = 200,
         .eviction_refused_for_s = 180,
         .never_ends_permille = 20,
         .taint_fails_permille = 200,
         .pod_before_taint_permille = 200,
         .node_vanishes_per_day = 200});
  Turns(150);
  EXPECT_GT(begun_, 0);
}

}  // namespace
}  // namespace ebb::live_loop_test
