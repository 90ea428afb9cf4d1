// Pools of a session, with the whole chain and a virtual clock: a simulated cluster behind a
// plugin's socket, a daemon that is fed with it, and a loop whose sizer keeps its state in the
// session.

#include "loop/run/session_sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "groups/groups.h"
#include "loop/actuators/actuator_server.h"
#include "loop/actuators/grpc_actuator.h"
#include "loop/run/exported_cluster.h"
#include "loop/run/session_rounds.h"
#include "rounds/sqlite_state.h"
#include "simulation/simulated_cluster.h"
#include "sizing/pool_sizer.h"
#include "tests/engine/planning.h"
#include "tests/loop/run/exported_objects.h"
#include "tests/loop/run/feed.h"
#include "tests/session/session_objects.h"
#include "tests/sizing/fixed_policy_file.h"

namespace ebb::session_sizing_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kStart = 1'767'225'600;

class SessionSizingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SimulatedClusterOptions options;
    options.start_s = kStart;
    options.groups_grow = false;
    auto made = SimulatedCluster::Make(
        Show, [](const Catalog& catalog) { return AssignGroups(catalog, {}); }, options);
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
    auto plugin = ActuatorServer::Start(
        *cluster_,
        {.path = folder_.File("p.sock"), .name = "simulated", .now_s = [this] { return now_s_; }});
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    plugin_ = *std::move(plugin);
    DaemonOptions daemon;
    daemon.listener.path = folder_.File("e.sock");
    daemon.session.state_folder = folder_.path();
    daemon.session.clock_s = [this] { return now_s_; };
    auto started = Daemon::Start(daemon);
    ASSERT_TRUE(started.ok()) << started.status();
    daemon_ = *std::move(started);
    feed_ = std::make_unique<test::Feed>(folder_.File("e.sock"), "prod");
    SizedPool& pool = pools_.emplace_back();
    pool.name = "web";
    pool.policy_name = "fixed";
    pool.nodes = {{"pool", "web"}};
    pool.cloud = {.min = 1, .max = 10};
    auto policy = std::make_unique<test::FixedPolicyFile>();
    policy_ = policy.get();
    pool.policy = std::move(policy);
    Restart();
  }

  // Starts a new loop, which has only the state that the session keeps.
  void Restart() {
    client_ = *PlannerClient::Make("unix:" + folder_.File("e.sock"), std::chrono::seconds(60));
    actuator_ = *GrpcActuator::Make({.plugin = "unix:" + folder_.File("p.sock"),
                                     .session = absl::StrCat("loop-", ++loops_),
                                     .attempts_max = 2,
                                     .sleep_ms = [](int64_t) {}});
    exported_ =
        std::make_unique<ExportedCluster>(*client_, ExportedClusterOptions{.session = "prod"});
    sizer_ = std::make_unique<PoolSizer>(pools_, SizingState(), PoolSizerOptions());
    sizing_ = std::make_unique<SessionSizing>(
        *client_, "prod", *exported_,
        SizingMemory{.now = [this] { return sizer_->state(); },
                     .restore = [this](SizingState state) { sizer_->Restore(std::move(state)); }});
    rounds_ = std::make_unique<SessionRounds>(
        *client_, SessionRoundsOptions{.session = "prod",
                                       .cluster = sizing_.get(),
                                       .sizing = [this] { return sizing_->ToKeep(); }});
    LoopOptions options;
    options.sizer = sizer_.get();
    options.on_turn = [this](const LoopTurn& turn) { last_ = turn; };
    loop_ = std::make_unique<Loop>(*rounds_, *actuator_, options);
  }
  void Turn() {
    now_s_ += 10;
    cluster_->AdvanceTo(now_s_);
    EXPECT_TRUE(feed_->Resync(test::ExportedObjects(*cluster_)));
    loop_->Turn(now_s_);
    const absl::Status sound = cluster_->CheckSound();
    EXPECT_TRUE(sound.ok()) << sound;
  }

  test::TemporaryFolder folder_;
  int64_t now_s_ = kStart;
  int loops_ = 0;
  std::unique_ptr<SimulatedCluster> cluster_;
  std::unique_ptr<ActuatorServer> plugin_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<test::Feed> feed_;
  std::vector<SizedPool> pools_;
  test::FixedPolicyFile* policy_ = nullptr;
  std::unique_ptr<PlannerClient> client_;
  std::unique_ptr<GrpcActuator> actuator_;
  std::unique_ptr<ExportedCluster> exported_;
  std::unique_ptr<PoolSizer> sizer_;
  std::unique_ptr<SessionSizing> sizing_;
  std::unique_ptr<SessionRounds> rounds_;
  std::unique_ptr<Loop> loop_;
  LoopTurn last_;

 private:
  // Four nodes of the pool, each with a pod that fits on any other.
  static absl::Status Show(ObjectSink& sink) {
    absl::Status status;
    test::Controller set(objects::ControllerKind::kReplicaSet, "rs");
    status.Update(sink.OnController(set.Replicas(4).raw));
    for (int n = 0; n < 4; ++n) {
      const std::string name = absl::StrCat("n", n);
      status.Update(sink.OnNode(test::Node(name).Label("pool", "web").raw));
      status.Update(sink.OnPod(test::Pod(absl::StrCat("p", n)).On(name).Cpu(500).raw));
    }
    return status;
  }
};

TEST_F(SessionSizingTest, APoolShrinksAndGrowsIfTheLoopRestartsBeforeEachTurn) {
  policy_->delta = -2;
  for (int i = 0; i < 60; ++i) {
    Restart();
    Turn();
    ASSERT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
    EXPECT_THAT(last_.round->start, IsEmpty());  // Rounds do not remove nodes of the pool's group.
  }
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->counts().nodes_deleted, 2);
  EXPECT_THAT(sizer_->state().queue, IsEmpty());
  policy_->delta = 3;
  for (int i = 0; i < 40; ++i) {
    Restart();
    Turn();
  }
  EXPECT_EQ(cluster_->nodes(), 5);
  EXPECT_EQ(sizer_->state().pools.at(0).grow_to, 0);
  EXPECT_EQ(sizer_->state().pools.at(0).failures, 0);
}

TEST_F(SessionSizingTest, GrowthRequestedTwiceBeforeItHasComeIsCountedOnce) {
  policy_->delta = 1;
  Turn();
  EXPECT_EQ(last_.pools.at(0).grow_to, 5);
  policy_->delta = 1;
  Turn();
  EXPECT_EQ(last_.pools.at(0).grow_to, 6);  // The first new machine counts before it is a node.
  for (int i = 0; i < 40; ++i) Turn();
  EXPECT_EQ(cluster_->nodes(), 6);
  EXPECT_EQ(sizer_->state().pools.at(0).grow_to, 0);
}

TEST_F(SessionSizingTest, AnOperatorsChangeOfTheStateIsLoadedAndCostsATurn) {
  Turn();
  ASSERT_THAT(sizer_->state().pools, SizeIs(1));
  {
    auto state = SqliteState::Open(folder_.File("prod.db"), {.must_exist = true});
    ASSERT_TRUE(state.ok()) << state.status();
    SizingState sizing = *(*state)->LoadSizing();
    sizing.pools.at(0).failsafe = true;
    ASSERT_TRUE((*state)->SaveSizing(sizing).ok());
  }
  policy_->delta = -1;
  Turn();
  EXPECT_FALSE(last_.round);
  EXPECT_EQ(cluster_->deletions(), 0);
  policy_->delta = -1;
  Turn();
  ASSERT_TRUE(last_.round) << absl::StrJoin(last_.log, "; ");
  EXPECT_TRUE(last_.pools.at(0).failsafe);
  EXPECT_EQ(last_.pools.at(0).delta, 0);
  EXPECT_EQ(cluster_->deletions(), 0);
}

TEST_F(SessionSizingTest, ATurnWithoutAFeedSizesNothing) {
  Turn();
  feed_.reset();
  policy_->delta = -1;
  now_s_ += 10;
  loop_->Turn(now_s_);
  EXPECT_THAT(last_.pools, IsEmpty());
  EXPECT_THAT(last_.log, Each(HasSubstr("no client feeds it")));
  EXPECT_EQ(policy_->delta, -1);
}

TEST_F(SessionSizingTest, AValueThatNoStateFileCanHoldIsRejectedByName) {
  Turn();
  wire::RoundCall call;
  call.mutable_input()->set_session("prod");
  call.mutable_sizing()->add_pools()->set_pool("web");
  call.mutable_sizing()->mutable_pools(0)->set_policy("fixed");
  call.mutable_sizing()->mutable_pools(0)->set_grow_to(-1);
  const auto refused = client_->Round(call);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("sizing.pools[0].grow_to: -1 is"));
}

}  // namespace
}  // namespace ebb::session_sizing_test
