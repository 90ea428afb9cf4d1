#include "loop/actuators/grpc_actuator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "loop/actuators/actuator_server.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "tests/loop/actuators/small_simulation.h"
#include "tests/loop/actuators/test_plugin.h"
#include "tests/session/session_objects.h"
#include "tests/support/random_seed.h"

namespace ebb::grpc_actuator_test {
namespace {

using test::TestPlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GrpcActuatorTest : public ::testing::Test {
 protected:
  std::unique_ptr<GrpcActuator> Connect(GrpcActuatorOptions options = {}) {
    options.plugin = "unix:" + path_;
    options.session = "s";
    options.sleep_ms = [this](int64_t ms) { sleeps_.push_back(ms); };
    auto connected = GrpcActuator::Connect(options);
    EXPECT_TRUE(connected.ok()) << connected.status();
    plugin_.calls.clear();
    return connected.ok() ? *std::move(connected) : nullptr;
  }

  // The error for a status that `change` made invalid.
  std::string WhyNot(GrpcActuator& actuator,
                     const std::function<void(test::wire::StatusReply&)>& change) {
    test::wire::StatusReply reply;
    auto& running = *reply.add_running();
    running.set_node("a");
    running.set_phase(test::wire::TAINTED);
    running.set_since(kNow);
    auto& result = *reply.add_results();
    result.set_id("r");
    result.set_node("b");
    result.set_at(kNow);
    auto& evicted = *reply.add_recent_evictions();
    evicted.set_name("p");
    evicted.set_at(kNow);
    change(reply);
    plugin_.status_answer = reply;
    const auto status = actuator.Status(kNow);
    if (status.ok()) return "";
    EXPECT_EQ(status.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.status().message()),
                ::testing::StartsWith("plugin unix:" + path_ + ": Status: "));
    return std::string(status.status().message());
  }

  static constexpr int64_t kNow = 1'000'000;
  test::TemporaryFolder folder_;
  const std::string path_ = folder_.File("plugin.sock");
  TestPlugin plugin_{path_};
  std::vector<int64_t> sleeps_;
};

TEST_F(GrpcActuatorTest, ADeletionGoesThroughItsPhases) {
  const auto actuator = Connect();
  EXPECT_EQ(actuator->name(), "test 1");
  const DeletionOrder order{.node = "a", .uid = "uid-a", .group = "g", .drain = true};
  ASSERT_TRUE(actuator->Begin({&order, 1}, kNow).ok());
  EXPECT_EQ(actuator->Status(kNow)->running[0].phase, DeletionPhase::kTainted);
  ASSERT_TRUE(actuator->Drain("a", kNow).ok());
  plugin_.Sleep(1000);
  EXPECT_EQ(actuator->Status(kNow)->running[0].phase, DeletionPhase::kDrained);
  ASSERT_TRUE(actuator->Delete("a", kNow).ok());
  plugin_.Sleep(1000);
  const auto status = actuator->Status(kNow);
  EXPECT_THAT(status->running, IsEmpty());
  ASSERT_THAT(status->results, SizeIs(1));
  EXPECT_TRUE(status->results[0].ok);
  actuator->Acknowledge(1);
  EXPECT_THAT(actuator->Status(kNow)->results, IsEmpty());
}

TEST_F(GrpcActuatorTest, AGroupGrowsOnceEvenIfTheReplyIsLost) {
  const auto actuator = Connect();
  plugin_.answers_lost = 1;
  ASSERT_TRUE(actuator->Grow("web", 5, kNow).ok());
  EXPECT_EQ(plugin_.sizes["web"], 5);
  EXPECT_THAT(plugin_.calls, ElementsAre("Grow s-1", "Hello", "Grow s-1"));
}

TEST_F(GrpcActuatorTest, GrowIsNotCalledOnAPluginThatCannotGrow) {
  plugin_.cannot = {"grow"};
  const auto actuator = Connect();
  const absl::Status asked = actuator->Grow("web", 5, kNow);
  EXPECT_EQ(asked.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(asked.message(), "plugin unix:" + path_ + ": Grow: it says that it cannot");
  EXPECT_THAT(plugin_.calls, IsEmpty());
}

TEST_F(GrpcActuatorTest, AServerRejectsInvalidGroupsAndSizes) {
  const auto cluster = test::MakeSimulatedCluster(1, 5, {});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const std::string path = folder_.File("server.sock");
  int64_t now_s = test::kSimulationStartS;
  const auto server = ActuatorServer::Start(
      **cluster, {.path = path, .name = "simulated", .now_s = [&] { return now_s; }});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto actuator =
      GrpcActuator::Connect({.plugin = "unix:" + path, .session = "s", .sleep_ms = [](int64_t) {}});
  ASSERT_TRUE(actuator.ok()) << actuator.status();
  const auto code = [&](std::string_view group, int64_t size) {
    return (*actuator)->Grow(group, size, now_s).code();
  };
  EXPECT_EQ(code("", 3), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("all", -1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("none", 3), absl::StatusCode::kNotFound);
  const auto before = static_cast<int64_t>((*cluster)->nodes());
  EXPECT_EQ(code("all", before + 2), absl::StatusCode::kOk);
  EXPECT_EQ(code("all", before + 2), absl::StatusCode::kOk);  // The group has that many already.
  now_s += 600;
  (*cluster)->AdvanceTo(now_s);
  EXPECT_GE(static_cast<int64_t>((*cluster)->nodes()), before + 2);
}

TEST_F(GrpcActuatorTest, MachinesAreBoughtOnceAndTheirNodesReported) {
  const auto cluster = test::MakeSimulatedCluster(1, 5, {});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const std::string path = folder_.File("server.sock");
  int64_t now_s = test::kSimulationStartS;
  const auto server = ActuatorServer::Start(
      **cluster, {.path = path, .name = "simulated", .now_s = [&] { return now_s; }});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto actuator =
      GrpcActuator::Connect({.plugin = "unix:" + path, .session = "s", .sleep_ms = [](int64_t) {}});
  ASSERT_TRUE(actuator.ok()) << actuator.status();
  MachineOrder order{.id = "ebb-1", .group = "all"};
  const Catalog& catalog = (*cluster)->Snapshot().catalog();
  for (const auto& [key, value] : catalog.node(NodeId{0}).labels) {
    const std::string_view label = catalog.Text(key);
    if (label == "node.kubernetes.io/instance-type") order.machine_type = catalog.Text(value);
    if (label == "topology.kubernetes.io/zone") order.zone = catalog.Text(value);
  }
  const auto buy = [&](const MachineOrder& wanted) {
    return (*actuator)->Buy({&wanted, 1}, now_s);
  };
  const auto with = [&](const std::function<void(MachineOrder&)>& change) {
    MachineOrder changed = order;
    change(changed);
    return buy(changed).status().code();
  };
  EXPECT_EQ(with([](MachineOrder& of) { of.id = "Bad"; }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(with([](MachineOrder& of) { of.group = "none"; }), absl::StatusCode::kNotFound);
  EXPECT_EQ(with([](MachineOrder& of) { of.machine_type = "none"; }),
            absl::StatusCode::kFailedPrecondition);
  const size_t before = (*cluster)->nodes();
  auto bought = buy(order);
  ASSERT_TRUE(bought.ok()) << bought.status();
  ASSERT_THAT(*bought, SizeIs(1));
  EXPECT_FALSE(bought->front().ready);
  EXPECT_EQ(bought->front().waits_for, "its machine boots");
  now_s += 600;
  (*cluster)->AdvanceTo(now_s);
  bought = buy(order);
  ASSERT_TRUE(bought.ok()) << bought.status();
  EXPECT_TRUE(bought->front().ready);
  EXPECT_TRUE((*cluster)->Snapshot().catalog().FindNode(bought->front().node).ok());
  EXPECT_EQ((*cluster)->counts().nodes_bought, 1);
  EXPECT_GE((*cluster)->nodes(), before + 1);
}

TEST_F(GrpcActuatorTest, APluginThatBuysNothingIsNamedWithWhatToUse) {
  for (const bool says_so : {true, false}) {
    plugin_.cannot = {};
    if (says_so) plugin_.cannot = {"buy"};
    const auto actuator = Connect();
    const MachineOrder order{.id = "ebb-1", .group = "web"};
    const auto bought = actuator->Buy({&order, 1}, kNow);
    EXPECT_EQ(bought.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(bought.status().message()),
                HasSubstr("buys no machines: use one that does"));
  }
}

TEST_F(GrpcActuatorTest, ErrorsOfThePluginComeWithTheirCodeAndNamePluginAndCall) {
  const auto actuator = Connect();
  const absl::Status gone = actuator->SoftTaint("zz", true, kNow);
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(gone.message(), "plugin unix:" + path_ + ": SoftTaint: node zz is not there");
}

TEST_F(GrpcActuatorTest, ACallWhoseReplyWasLostIsRetriedWithTheSameKeyAfterANewHello) {
  const auto actuator = Connect();
  plugin_.answers_lost = 2;
  const DeletionOrder order{.node = "a"};
  EXPECT_TRUE(actuator->Begin({&order, 1}, kNow).ok());
  EXPECT_THAT(plugin_.calls, ElementsAre("Begin s-1", "Hello", "Begin s-1", "Hello", "Begin s-1"));
  EXPECT_THAT(sleeps_, ElementsAre(200, 400));
  EXPECT_THAT(actuator->Status(kNow)->running, SizeIs(1));
}

TEST_F(GrpcActuatorTest, RetriesEnd) {
  const auto actuator = Connect({.attempts_max = 6, .backoff_ms = 1000, .backoff_max_ms = 3000});
  plugin_.answer = {grpc::StatusCode::UNAVAILABLE, "the cluster is away"};
  const absl::Status away = actuator->Drain("a", kNow);
  EXPECT_EQ(away.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(away.message()), HasSubstr("Drain: the cluster is away"));
  EXPECT_THAT(sleeps_, ElementsAre(1000, 2000, 3000, 3000, 3000));
}

TEST_F(GrpcActuatorTest, ARefusalIsNotRetried) {
  const auto actuator = Connect();
  EXPECT_EQ(actuator->Drain("a", kNow).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(plugin_.calls, ElementsAre("Drain s-1"));
  EXPECT_THAT(sleeps_, IsEmpty());
}

TEST_F(GrpcActuatorTest, APluginThatHangsIsLeftAtTheDeadline) {
  const auto actuator = Connect({.call_timeout_ms = 50, .attempts_max = 2});
  plugin_.hangs = true;
  EXPECT_EQ(actuator->Status(kNow).status().code(), absl::StatusCode::kDeadlineExceeded);
  plugin_.hangs = false;
}

// Symptom: if the plugin was slow, `ebb run` ended two minutes after SIGTERM, or never.
TEST_F(GrpcActuatorTest, CancelledCallsReturnAtOnceAndAreNotRetried) {
  const auto actuator = Connect({.call_timeout_ms = 3'600'000});
  plugin_.hangs = true;
  absl::Status status;
  std::thread caller([&] { status = actuator->Status(kNow).status(); });
  while (!plugin_.is_hanging) std::this_thread::yield();
  actuator->EndCalls();
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(actuator->Drain("a", kNow).code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(sleeps_, IsEmpty());
  plugin_.hangs = false;
}

TEST_F(GrpcActuatorTest, NothingBeginsWhileThePluginDoesNotServe) {
  const auto actuator = Connect({.attempts_max = 1});
  plugin_.SetServing(false);
  const DeletionOrder order{.node = "a"};
  const absl::Status refused = actuator->Begin({&order, 1}, kNow);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("NOT_SERVING"));
  EXPECT_THAT(plugin_.calls, IsEmpty());
  plugin_.SetServing(true);
  EXPECT_TRUE(actuator->Begin({&order, 1}, kNow).ok());
}

TEST_F(GrpcActuatorTest, AnImpossibleValueIsAnErrorThatNamesTheField) {
  const auto actuator = Connect();
  using Reply = test::wire::StatusReply;
  EXPECT_EQ(WhyNot(*actuator, [](Reply&) {}), "");
  const std::vector<std::pair<std::function<void(Reply&)>, std::string>> kWrong = {
      {[](Reply& r) { r.mutable_running(0)->set_node("A b"); },
       "running[0].node: \"A b\" names no node"},
      {[](Reply& r) { r.mutable_running(0)->set_node(""); }, "running[0].node: \"\" names no node"},
      {[](Reply& r) { r.mutable_running(0)->set_node(std::string(254, 'a')); },
       "running[0].node: "},
      {[](Reply& r) { r.mutable_running(0)->set_node("a..b"); }, "running[0].node: "},
      {[](Reply& r) { *r.add_running() = r.running(0); }, "running[1].node: a occurs twice"},
      {[](Reply& r) { r.mutable_running(0)->set_phase(test::wire::DELETION_PHASE_UNSPECIFIED); },
       "running[0].phase: 0 is not a phase"},
      {[](Reply& r) { r.mutable_running(0)->set_phase(static_cast<test::wire::DeletionPhase>(9)); },
       "running[0].phase: 9 is not a phase"},
      {[](Reply& r) { r.mutable_running(0)->set_since(-5); }, "running[0].since: -5 is not a time"},
      {[](Reply& r) { r.mutable_running(0)->set_since(kNow + 3601); }, "running[0].since: "},
      {[](Reply& r) { r.mutable_running(0)->set_batch_size(-1); }, "running[0].batch_size: -1"},
      {[](Reply& r) { r.mutable_running(0)->set_group(std::string(1001, 'g')); },
       "running[0].group: has 1001 bytes"},
      {[](Reply& r) { r.mutable_results(0)->set_node("a"); }, "results[0].node: a occurs twice"},
      {[](Reply& r) { r.mutable_results(0)->set_id(""); }, "results[0].id: is empty"},
      {[](Reply& r) {
         *r.add_results() = r.results(0);
         r.mutable_results(1)->set_node("c");
       },
       "results[1].id: \"r\" occurs twice"},
      {[](Reply& r) { r.mutable_results(0)->set_at(0); }, "results[0].at: 0 is not a time"},
      {[](Reply& r) { r.mutable_recent_evictions(0)->set_name(""); },
       "recent_evictions[0].name: is empty"},
      {[](Reply& r) { r.mutable_recent_evictions(0)->set_at(-1); }, "recent_evictions[0].at: -1"},
      {[](Reply& r) {
         for (int i = 0; i < 100'000; ++i) r.add_recent_evictions();
       },
       "recent_evictions: 100001 rows"},
  };
  for (const auto& [change, why] : kWrong) {
    EXPECT_THAT(WhyNot(*actuator, change), HasSubstr(why));
  }
}

TEST_F(GrpcActuatorTest, AnAnswerThatIsTooLargeIsAnError) {
  const auto actuator = Connect({.answer_bytes_max = 10'000});
  plugin_.status_answer.emplace().add_recent_evictions()->set_object(std::string(20'000, 'x'));
  EXPECT_EQ(actuator->Status(kNow).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(GrpcActuatorTest, AReportedDeletionThatWasNeverBegunIsAnError) {
  plugin_.status_answer.emplace();
  const auto actuator = Connect();
  // Deletions in the first status were begun by an earlier process.
  auto& first = *plugin_.status_answer->add_running();
  first.set_node("a");
  first.set_phase(test::wire::DRAINED);
  first.set_since(kNow);
  EXPECT_TRUE(actuator->Status(kNow).ok());
  auto& second = *plugin_.status_answer->add_running();
  second = first;
  second.set_node("b");
  EXPECT_THAT(std::string(actuator->Status(kNow).status().message()),
              HasSubstr("running[1].node: no deletion was begun of b"));
  // The same if Begin failed or its answer was lost: the plugin may have begun.
  plugin_.answer = {grpc::StatusCode::INTERNAL, "a bug"};
  const DeletionOrder order{.node = "b"};
  EXPECT_FALSE(actuator->Begin({&order, 1}, kNow).ok());
  plugin_.answer = grpc::Status::OK;
  EXPECT_TRUE(actuator->Status(kNow).ok());
}

TEST_F(GrpcActuatorTest, AResultIsReturnedOnce) {
  const auto actuator = Connect({.attempts_max = 1});
  const DeletionOrder order{.node = "a"};
  ASSERT_TRUE(actuator->Begin({&order, 1}, kNow).ok());
  ASSERT_TRUE(actuator->RollBack("a", "test", kNow).ok());
  ASSERT_THAT(actuator->Status(kNow)->results, SizeIs(1));
  // The acknowledgement does not reach the plugin; it is sent again with the next status.
  plugin_.answer = {grpc::StatusCode::UNAVAILABLE, "away"};
  actuator->Acknowledge(1);
  plugin_.answer = grpc::Status::OK;
  plugin_.calls.clear();
  EXPECT_THAT(actuator->Status(kNow)->results, IsEmpty());
  EXPECT_THAT(plugin_.calls, ElementsAre("Hello", "Status", "Acknowledge"));
  // If the plugin still repeats the result, it reports a deletion that was never begun.
  ASSERT_TRUE(actuator->Begin({&order, 1}, kNow).ok());
  ASSERT_TRUE(actuator->RollBack("a", "test", kNow).ok());
  ASSERT_THAT(actuator->Status(kNow)->results, SizeIs(1));
  plugin_.wrong = test::Wrong::kRepeatsAcknowledged;
  actuator->Acknowledge(1);
  EXPECT_THAT(std::string(actuator->Status(kNow).status().message()),
              HasSubstr("results[0].node: no deletion was begun of a"));
}

TEST_F(GrpcActuatorTest, APluginMustReportItsName) {
  plugin_.wrong = test::Wrong::kNoName;
  const auto connected = GrpcActuator::Connect({.plugin = "unix:" + path_});
  EXPECT_THAT(std::string(connected.status().message()), HasSubstr("Hello: name"));
}

TEST(GrpcActuatorAddressTest, ConnectFailsIfNoPluginListensOrTheAddressIsWrong) {
  const test::TemporaryFolder folder;
  const std::string path = "unix:" + folder.File("nobody.sock");
  int sleeps = 0;
  const auto failed =
      GrpcActuator::Connect({.plugin = path, .sleep_ms = [&](int64_t) { ++sleeps; }});
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr(path));
  EXPECT_EQ(sleeps, 3);
  for (const std::string& wrong :
       {std::string("tcp:1"), std::string("unix:"), "unix:" + std::string(200, 'a')}) {
    EXPECT_EQ(GrpcActuator::Connect({.plugin = wrong}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// --- The simulated cluster behind a socket -------------------------------------------------

// A clock that the loop and the plugin share.
class SharedClock : public LoopClock {
 public:
  explicit SharedClock(int64_t turns) : turns_left_(turns) {}
  int64_t NowS() override { return now_s_; }
  bool SleepUntil(int64_t time_s) override {
    now_s_ = time_s;
    return --turns_left_ > 0;
  }
  void WaitUntil(int64_t time_s) override { now_s_ = time_s; }

 private:
  int64_t now_s_ = test::kSimulationStartS;
  int64_t turns_left_;
};

std::string CountsText(const SimulationCounts& counts) {
  return absl::StrCat(counts.evictions, " ", counts.pdb_refusals, " ", counts.fault_refusals, " ",
                      counts.nodes_deleted, " ", counts.deletions_failed, " ", counts.nodes_added,
                      " ", counts.nodes_vanished, " ", counts.pods_scheduled, " ",
                      counts.pods_waited, " ", counts.pod_wait_s, " ", counts.planned, " ",
                      counts.landed_as_planned, " ", absl::StrJoin(counts.drains_s, ","));
}

struct LoopStory {
  std::string turns;
  SimulationCounts counts;
};

// Turns of a loop over the cluster, directly or through a socket.  Through the socket, calls are
// not retried, because a retry would draw other random faults.
LoopStory RunLoop(uint64_t seed, const SimulatedFaults& faults, const std::string& path) {
  LoopStory story;
  auto cluster = test::MakeSimulatedCluster(seed, 25, faults);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  SharedClock clock(200);
  std::unique_ptr<ActuatorServer> server;
  std::unique_ptr<GrpcActuator> remote;
  Actuator* actuator = cluster->get();
  if (!path.empty()) {
    auto started = ActuatorServer::Start(
        **cluster, {.path = path, .name = "simulated", .now_s = [&] { return clock.NowS(); }});
    EXPECT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    auto connected = GrpcActuator::Connect(
        {.plugin = "unix:" + path, .session = "s", .attempts_max = 1, .sleep_ms = [](int64_t) {}});
    EXPECT_TRUE(connected.ok()) << connected.status();
    remote = *std::move(connected);
    actuator = remote.get();
  }
  ScaleDownOptions options;
  options.deletion.scale_down_unneeded_time_s = 60;
  options.cooldown.scale_down_delay_after_add_s = 60;
  options.cooldown.scale_down_delay_after_failure_s = 30;
  options.planner.scale_down_utilization_threshold = 0.9;
  options.budgets.max_drain_parallelism = 4;
  ScaleDown scale_down(options);
  LoopOptions loop_options;
  loop_options.on_turn = [&](const LoopTurn& turn) {
    const RoundOrders round = turn.round.value_or(RoundOrders());
    absl::StrAppend(&story.turns, turn.now_s, " ", round.nodes, " ", round.pending, " ", turn.begun,
                    " ", turn.log.size(), "\n");
  };
  OwnRounds rounds(scale_down, **cluster);
  Loop(rounds, *actuator, loop_options).Run(clock);
  const absl::Status sound = (*cluster)->CheckSound();
  EXPECT_TRUE(sound.ok()) << sound;
  story.counts = (*cluster)->counts();
  return story;
}

TEST(GrpcActuatorSimulationTest, ThroughASocketALoopDoesTheSame) {
  const test::TemporaryFolder folder;
  const uint64_t first = test::RandomSeed();
  SimulationCounts all;
  for (uint64_t seed = first; seed < first + 6; ++seed) {
    SimulatedFaults faults;
    if (seed % 2 == 0) {
      faults = {.eviction_refused_permille = 100,
                .never_ends_permille = 20,
                .taint_fails_permille = 100,
                .pod_before_taint_permille = 100,
                .api_away_per_day = 100,
                .node_vanishes_per_day = 50};
    }
    const LoopStory straight = RunLoop(seed, faults, "");
    const LoopStory through = RunLoop(seed, faults, folder.File(absl::StrCat("s", seed - first)));
    ASSERT_EQ(straight.turns, through.turns) << "EBB_TEST_SEED=" << seed;
    ASSERT_EQ(CountsText(straight.counts), CountsText(through.counts)) << "EBB_TEST_SEED=" << seed;
    all.nodes_deleted += through.counts.nodes_deleted;
    all.evictions += through.counts.evictions;
    all.deletions_failed += through.counts.deletions_failed;
  }
  // Otherwise the test proves nothing.
  EXPECT_GT(all.nodes_deleted, 10);
  EXPECT_GT(all.evictions, 20);
  EXPECT_GT(all.deletions_failed, 0);
}

}  // namespace
}  // namespace ebb::grpc_actuator_test
