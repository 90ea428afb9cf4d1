#include "loop/run/session_rounds.h"

#include <grpcpp/grpcpp.h>

#include <functional>

#include "daemon/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/session/session_objects.h"
#include "wire/planner.grpc.pb.h"

namespace ebb::session_rounds_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNow = 1'767'225'600;

// A round that starts to delete a (empty) and b (to drain).
wire::RoundReply GoodReply(int64_t round = 1) {
  wire::RoundReply reply;
  reply.set_round(round);
  reply.set_now(kNow);
  reply.set_status("ScaleDownNodeDeleteStarted");
  reply.add_delete_empty("a");
  reply.add_delete_drain("b");
  wire::OrderedDeletion& a = *reply.add_deletions();
  a.set_node("a");
  a.set_uid("uid-a");
  a.set_group("g");
  wire::OrderedDeletion& b = *reply.add_deletions();
  b.set_node("b");
  b.set_drain(true);
  b.set_batch_size(2);
  wire::Move& move = *b.add_moves();
  move.mutable_pod()->set_namespace_("default");
  move.mutable_pod()->set_name("p");
  move.mutable_pod()->set_uid("uid-p");
  move.set_to("c");
  reply.add_soft_taint("d");
  reply.add_soft_untaint("e");
  reply.set_nodes(5);
  reply.set_pending_pods(2);
  reply.set_unneeded(3);
  wire::UnremovableNodes& unremovable = *reply.mutable_unremovable();
  unremovable.set_nodes(1);
  unremovable.add_reasons()->set_reason("NotEnoughPdb");
  unremovable.mutable_reasons(0)->set_nodes(1);
  unremovable.set_remembered(1);
  unremovable.set_first_recheck(kNow + 300);
  unremovable.set_last_recheck(kNow + 300);
  return reply;
}

// The error for a reply that `change` made invalid.
std::string WhyNot(const std::function<void(wire::RoundReply&)>& change,
                   const ActuatorStatus& running = {}) {
  wire::RoundReply reply = GoodReply();
  change(reply);
  const auto read = ReadRoundReply(reply, running);
  if (read.ok()) return "";
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInternal);
  return std::string(read.status().message());
}

TEST(RoundReplyTest, ARoundIsReadAsItIs) {
  const auto round = ReadRoundReply(GoodReply(), {});
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->number, 1);
  EXPECT_EQ(round->nodes, 5);
  EXPECT_EQ(round->pending, 2);
  EXPECT_EQ(round->unneeded, 3);
  EXPECT_EQ(round->unremovable, (UnremovableNodes{.nodes = 1,
                                                  .reasons = {{"NotEnoughPdb", 1}},
                                                  .remembered = 1,
                                                  .first_recheck_s = kNow + 300,
                                                  .last_recheck_s = kNow + 300}));
  EXPECT_THAT(round->taint, ElementsAre("d"));
  EXPECT_THAT(round->untaint, ElementsAre("e"));
  ASSERT_THAT(round->start, SizeIs(2));
  EXPECT_EQ(round->start[0], (DeletionOrder{.node = "a", .uid = "uid-a", .group = "g"}));
  EXPECT_EQ(
      round->start[1],
      (DeletionOrder{
          .node = "b", .drain = true, .batch_size = 2, .moves = {{"default", "p", "uid-p", "c"}}}));
}

TEST(RoundReplyTest, AnImpossibleFieldIsNamed) {
  EXPECT_THAT(WhyNot([](auto& reply) { reply.mutable_deletions(0)->set_node(""); }),
              HasSubstr("deletions[0]"));
  EXPECT_THAT(WhyNot([](auto& reply) {
                reply.mutable_deletions(0)->set_node("No Node");
                reply.set_delete_empty(0, "No Node");
              }),
              HasSubstr("deletions[0].node: \"No Node\" names no node"));
  EXPECT_THAT(WhyNot([](auto& reply) {
                reply.mutable_deletions(1)->set_node("a");
                reply.set_delete_drain(0, "a");
              }),
              HasSubstr("deletions[1].node: a occurs twice"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.mutable_deletions()->RemoveLast(); }),
              HasSubstr("deletions: 1 of 2 nodes; is the daemon as new as this program?"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.set_delete_empty(0, "z"); }),
              HasSubstr("deletions[0]: is not as delete_empty and delete_drain say"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.mutable_deletions(0)->set_drain(true); }),
              HasSubstr("deletions[0]: is not as"));
  EXPECT_THAT(WhyNot([](auto& reply) {
                *reply.mutable_deletions(0)->add_moves() = reply.deletions(1).moves(0);
              }),
              HasSubstr("deletions[0].moves: must be empty: the node is deleted without a drain"));
  EXPECT_THAT(
      WhyNot([](auto& reply) { reply.mutable_deletions(1)->mutable_moves(0)->set_to("/"); }),
      HasSubstr("deletions[1].moves[0].to: \"/\" names no node"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.mutable_deletions(1)->set_batch_size(-1); }),
              HasSubstr("deletions[1].batch_size: -1 is negative"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.set_status("ScaleDownInCooldown"); }),
              HasSubstr("status: ScaleDownInCooldown starts no deletion"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.set_soft_taint(0, "x y"); }),
              HasSubstr("soft_taint[0]: \"x y\" names no node"));
  EXPECT_THAT(WhyNot([](auto& reply) { reply.set_soft_untaint(0, ""); }),
              HasSubstr("soft_untaint[0]: \"\" names no node"));
  EXPECT_THAT(
      WhyNot([](auto& reply) { reply.mutable_deletions(0)->set_uid(std::string(2000, 'u')); }),
      HasSubstr("deletions[0]: uid or group is too long"));
}

TEST(RoundReplyTest, ANodeThatIsInDeletionIsNotDeletedAgain) {
  const ActuatorStatus running{.running = {{.node = "b"}}, .results = {}, .recent_evictions = {}};
  EXPECT_THAT(WhyNot([](auto&) {}, running), HasSubstr("deletions[1].node: b occurs twice"));
}

// A daemon that returns the answers that a test sets.
class FakeDaemon final : public v1alpha1::Planner::Service {
 public:
  explicit FakeDaemon(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeDaemon() override { server_->Shutdown(); }

  std::vector<wire::ActuationReport> reports;
  std::vector<wire::RoundCall> calls;
  wire::RoundReply reply = GoodReply();
  grpc::Status answer;

  grpc::Status ReportActuation(grpc::ServerContext*, const wire::ActuationReport* report,
                               wire::ActuationReply*) override {
    if (answer.ok()) reports.push_back(*report);
    return answer;
  }
  grpc::Status Round(grpc::ServerContext*, const wire::RoundCall* call,
                     wire::RoundReply* out) override {
    calls.push_back(*call);
    *out = reply;
    return answer;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

class SessionRoundsTest : public ::testing::Test {
 protected:
  SessionRounds MakeRounds() { return {**client_, {.session = "s", .time_limit_seconds = 3.5}}; }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.File("e.sock");
  FakeDaemon daemon_{path_};
  absl::StatusOr<std::unique_ptr<PlannerClient>> client_ =
      PlannerClient::Make("unix:" + path_, std::chrono::seconds(10));
};

ActuatorStatus SomeStatus() {
  return {.running = {{.node = "x", .group = "g", .drain = true, .phase = DeletionPhase::kDraining},
                      {.node = "y", .phase = DeletionPhase::kDeleting}},
          .results = {{.node = "z", .group = "g", .ok = true, .at_s = kNow}},
          .recent_evictions = {
              {.namespace_name = "n", .name = "p", .uid = "u", .evicted_at_s = kNow - 1}}};
}

TEST_F(SessionRoundsTest, ASessionReceivesAllDeletionsAndEachResultOnce) {
  SessionRounds rounds = MakeRounds();
  ASSERT_TRUE(rounds.Make(SomeStatus(), kNow).ok());
  daemon_.reply.set_round(2);
  ASSERT_TRUE(rounds.Make(SomeStatus(), kNow + 10).ok());
  ASSERT_THAT(daemon_.reports, SizeIs(2));
  const wire::ActuationReport& first = daemon_.reports[0];
  EXPECT_EQ(first.session(), "s");
  ASSERT_THAT(first.in_progress().deletions(), SizeIs(2));
  EXPECT_EQ(first.in_progress().deletions(0).node(), "x");
  EXPECT_TRUE(first.in_progress().deletions(0).drained());
  ASSERT_THAT(first.ended(), SizeIs(1));
  EXPECT_EQ(first.ended(0).result(), "Ok");
  EXPECT_EQ(first.ended(0).at(), kNow);
  EXPECT_THAT(first.evicted(), SizeIs(1));
  const wire::ActuationReport& second = daemon_.reports[1];
  EXPECT_THAT(second.in_progress().deletions(), SizeIs(2));
  EXPECT_THAT(second.ended(), IsEmpty());
  EXPECT_THAT(second.evicted(), IsEmpty());
  EXPECT_EQ(rounds.evictions(), 1);
}

TEST_F(SessionRoundsTest, TheReportHasInProgressEvenIfEmpty) {
  SessionRounds rounds = MakeRounds();
  ASSERT_TRUE(rounds.Make({}, kNow).ok());
  EXPECT_TRUE(daemon_.reports[0].has_in_progress());
}

TEST_F(SessionRoundsTest, AFailureIsNamedAfterThePhaseThatItEnded) {
  SessionRounds rounds = MakeRounds();
  ASSERT_TRUE(rounds.Make(SomeStatus(), kNow).ok());
  ActuatorStatus status;
  for (const char* node : {"x", "y", "other"}) {
    status.results.push_back({.node = node, .ok = false, .at_s = kNow + 5});
  }
  daemon_.reply.set_round(2);
  ASSERT_TRUE(rounds.Make(status, kNow + 10).ok());
  const auto& ended = daemon_.reports[1].ended();
  ASSERT_THAT(ended, SizeIs(3));
  EXPECT_EQ(ended[0].result(), "FailedToEvictPods");
  EXPECT_EQ(ended[1].result(), "FailedToDelete");
  EXPECT_EQ(ended[2].result(), "FailedToMarkToBeDeleted");
}

TEST_F(SessionRoundsTest, AFailedReportIsSentAgain) {
  SessionRounds rounds = MakeRounds();
  daemon_.answer = grpc::Status(grpc::StatusCode::NOT_FOUND, "no such session");
  const auto away = rounds.Make(SomeStatus(), kNow);
  EXPECT_EQ(away.status().code(), absl::StatusCode::kNotFound);
  daemon_.answer = grpc::Status::OK;
  ASSERT_TRUE(rounds.Make(SomeStatus(), kNow + 10).ok());
  ASSERT_THAT(daemon_.reports, SizeIs(1));
  EXPECT_THAT(daemon_.reports[0].ended(), SizeIs(1));
}

// A warning that ends and returns is logged again; the same warning with other numbers is not.
TEST_F(SessionRoundsTest, AWarningIsLoggedWhenItComes) {
  SessionRounds rounds = MakeRounds();
  int64_t number = 0;
  const auto log_with = [&](std::vector<std::pair<const char*, const char*>> warnings) {
    daemon_.reply = GoodReply(++number);
    daemon_.reply.add_log("odd");
    for (const auto& [code, message] : warnings) {
      wire::Warning& warning = *daemon_.reply.add_warnings();
      warning.set_code(code);
      warning.set_message(message);
      if (code == std::string("B")) warning.set_command("kubectl get b");
    }
    const auto round = rounds.Make({}, kNow + number);
    return round.ok() ? round->log : std::vector<std::string>{round.status().ToString()};
  };
  EXPECT_THAT(log_with({{"A", "1 a\n"}, {"A", "2 a"}}),
              ElementsAre("odd", "warning: 1 a\\n", "warning: 2 a"));
  EXPECT_THAT(log_with({{"A", "3 a"}, {"B", "b"}}),
              ElementsAre("odd", "warning: b; try `kubectl get b`"));
  EXPECT_THAT(log_with({{"B", "b"}}), ElementsAre("odd"));
  EXPECT_THAT(log_with({{"A", "4 a"}, {"B", "b"}}), ElementsAre("odd", "warning: 4 a"));
}

TEST_F(SessionRoundsTest, TheRoundCallHasTheTimeAndNeedsAFeed) {
  SessionRounds rounds = MakeRounds();
  ASSERT_TRUE(rounds.Make({}, kNow).ok());
  const wire::RoundCall& call = daemon_.calls[0];
  EXPECT_EQ(call.input().now(), kNow);
  EXPECT_EQ(call.input().time_limit_seconds(), 3.5);
  EXPECT_FALSE(call.input().has_settings());
  EXPECT_EQ(call.form(), wire::AS_DATA);
  EXPECT_TRUE(call.needs_feed());
}

TEST_F(SessionRoundsTest, ARoundNumberThatDoesNotIncreaseIsAnError) {
  SessionRounds rounds = MakeRounds();
  daemon_.reply.set_round(5);
  ASSERT_TRUE(rounds.Make({}, kNow).ok());
  const auto again = rounds.Make({}, kNow + 10);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("round: 5 does not come after 5"));
}

TEST_F(SessionRoundsTest, AnswersOfNonsenseDeleteNothingAndTheNextGoodOneCounts) {
  SessionRounds rounds = MakeRounds();
  daemon_.reply.set_status("\x01");
  EXPECT_FALSE(rounds.Make({}, kNow).ok());
  daemon_.reply = GoodReply();
  EXPECT_TRUE(rounds.Make({}, kNow + 10).ok());
}

}  // namespace
}  // namespace ebb::session_rounds_test
