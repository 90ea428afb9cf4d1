#include "loop/actuators/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "loop/actuators/actuator_server.h"
#include "tests/loop/actuators/small_simulation.h"
#include "tests/loop/actuators/test_plugin.h"
#include "tests/session/session_objects.h"

namespace ebb::conformance_test {
namespace {

using test::TestPlugin;
using test::Wrong;
using ::testing::HasSubstr;

class ConformanceTest : public ::testing::Test {
 protected:
  ConformanceOptions Options(TestPlugin& plugin) {
    return {.plugin = "unix:" + path_,
            .nodes = {"a"},
            .drain_and_delete = true,
            .session = "test",
            .wait_s = 30,
            .now_s = [&] { return plugin.now_s.load(); },
            .sleep_ms = [&](int64_t ms) { plugin.Sleep(ms); }};
  }

  static const ConformanceCheck& Find(const std::vector<ConformanceCheck>& checks,
                                      std::string_view name) {
    for (const ConformanceCheck& check : checks) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return checks[0];
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.File("plugin.sock");
};

TEST_F(ConformanceTest, ARightPluginPassesEveryCheck) {
  TestPlugin plugin(path_);
  const auto checks = RunConformance(Options(plugin));
  ASSERT_TRUE(checks.ok()) << checks.status();
  for (const ConformanceCheck& check : *checks) {
    EXPECT_EQ(check.outcome, CheckOutcome::kPassed) << check.name << ": " << check.why;
  }
  EXPECT_FALSE(plugin.nodes.contains("a"));
  EXPECT_TRUE(plugin.nodes.contains("b"));
}

TEST_F(ConformanceTest, TheSimulatedClusterPassesEveryCheckBehindItsServer) {
  int64_t now_s = test::kSimulationStartS;
  const auto cluster = test::MakeSimulatedCluster(1, 6, {});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const std::string node((*cluster)->Snapshot().catalog().NodeName(NodeId{1}));
  const auto server = ActuatorServer::Start(
      **cluster, {.path = path_, .name = "simulated", .now_s = [&] { return now_s; }});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto checks = RunConformance({.plugin = "unix:" + path_,
                                      .nodes = {node},
                                      .drain_and_delete = true,
                                      .session = "test",
                                      .wait_s = 600,
                                      .now_s = [&] { return now_s; },
                                      .sleep_ms = [&](int64_t ms) { now_s += ms / 1000; }});
  ASSERT_TRUE(checks.ok()) << checks.status();
  for (const ConformanceCheck& check : *checks) {
    EXPECT_EQ(check.outcome, CheckOutcome::kPassed) << check.name << ": " << check.why;
  }
}

TEST_F(ConformanceTest, EveryCheckFailsForAPluginThatIsWrongInIt) {
  const std::vector<std::pair<Wrong, std::string>> kWrong = {
      {Wrong::kNoName, "hello"},
      {Wrong::kNotServing, "health"},
      {Wrong::kUnknownPhase, "status"},
      {Wrong::kBeginsMissingNodes, "doubt-missing-node"},
      {Wrong::kTakesEmptyNames, "empty-name"},
      {Wrong::kGrowsMissingGroups, "grow-refused"},
      {Wrong::kTakesOwnTaints, "taint-refused"},
      {Wrong::kForgetsSoftTaintAgain, "soft-taint"},
      {Wrong::kForgetsTaintAgain, "taint"},
      {Wrong::kIgnoresUid, "doubt-wrong-uid"},
      {Wrong::kBeginsSome, "all-or-none"},
      {Wrong::kDrainsWhatWasNotBegun, "not-begun"},
      {Wrong::kBeginsNothing, "begin"},
      {Wrong::kTaintsAgain, "begin-again"},
      {Wrong::kDeletesTheTainted, "delete-too-early"},
      {Wrong::kRollBackLeavesIt, "roll-back"},
      {Wrong::kRollBackIsOk, "roll-back"},
      {Wrong::kForgetsKeys, "late-copies"},
      {Wrong::kRepeatsAcknowledged, "acknowledge"},
      {Wrong::kNeverDrains, "drain"},
      {Wrong::kDrainsOnlyOnce, "drain"},
      {Wrong::kDeletionHasNoResult, "delete"},
      {Wrong::kKeepsDeletedNodes, "gone"},
  };
  std::set<std::string_view> seen;
  std::vector<ConformanceCheck> all;
  for (const auto& [wrong, name] : kWrong) {
    TestPlugin plugin(path_);
    plugin.wrong = wrong;
    plugin.SetServing(wrong != Wrong::kNotServing);
    const auto checks = RunConformance(Options(plugin));
    ASSERT_TRUE(checks.ok()) << checks.status();
    EXPECT_EQ(Find(*checks, name).outcome, CheckOutcome::kFailed) << name;
    EXPECT_NE(Find(*checks, name).why, "") << name;
    seen.insert(Find(*checks, name).name);
    all = *checks;
  }
  EXPECT_EQ(seen.size(), all.size());  // Every check was seen.
}

TEST_F(ConformanceTest, AFailedCheckLeavesNoTaint) {
  TestPlugin plugin(path_);
  plugin.wrong = Wrong::kBeginsSome;
  ConformanceOptions options = Options(plugin);
  options.drain_and_delete = false;
  const auto checks = RunConformance(options);
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT(Find(*checks, "all-or-none").why, HasSubstr("node a is there"));
  EXPECT_EQ(Find(*checks, "begin").outcome, CheckOutcome::kPassed) << Find(*checks, "begin").why;
  test::wire::StatusReply left;
  grpc::ServerContext context;
  EXPECT_TRUE(plugin.Status(&context, nullptr, &left).ok());
  EXPECT_EQ(left.running_size(), 0) << left.DebugString();
}

TEST_F(ConformanceTest, WithoutANodeNothingIsTouched) {
  TestPlugin plugin(path_);
  ConformanceOptions options = Options(plugin);
  options.nodes.clear();
  const auto checks = RunConformance(options);
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_EQ(Find(*checks, "empty-name").outcome, CheckOutcome::kPassed);
  EXPECT_EQ(Find(*checks, "begin").outcome, CheckOutcome::kSkipped);
  EXPECT_EQ(Find(*checks, "begin").why, "no node was named");
}

TEST_F(ConformanceTest, ANodeThatIsInDeletionIsNotTouched) {
  TestPlugin plugin(path_);
  test::wire::StatusReply busy;
  busy.add_running()->set_node("a");
  busy.mutable_running(0)->set_phase(test::wire::DRAINING);
  busy.mutable_running(0)->set_since(plugin.now_s);
  plugin.status_answer = busy;
  const auto checks = RunConformance(Options(plugin));
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT(Find(*checks, "status").why, HasSubstr("in deletion already"));
  EXPECT_EQ(Find(*checks, "begin").outcome, CheckOutcome::kSkipped);
}

TEST_F(ConformanceTest, IfNoPluginListensHelloFails) {
  const auto checks = RunConformance({.plugin = "unix:" + path_,
                                      .session = "test",
                                      .now_s = [] { return int64_t{1'000'000}; },
                                      .sleep_ms = [](int64_t) {}});
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT(Find(*checks, "hello").why, HasSubstr(path_));
  EXPECT_EQ(Find(*checks, "status").outcome, CheckOutcome::kSkipped);
  EXPECT_FALSE(RunConformance({.plugin = path_}).ok());
  EXPECT_FALSE(RunConformance({.plugin = "unix:" + path_, .nodes = {"No Node"}}).ok());
}

}  // namespace
}  // namespace ebb::conformance_test
