#include "daemon/own_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "planning/live_cluster.h"
#include "tests/session/session_objects.h"

namespace ebb::own_session_test {
namespace {

using test::NodeJson;
using test::PodJson;
using ::testing::ElementsAre;

constexpr int64_t kNow = 1780315200;

class OwnSessionTest : public ::testing::Test {
 protected:
  OwnSessionTest() {
    options_.state_folder = folder_.path();
    options_.allow_incomplete = true;
    options_.clock_s = [] { return kNow; };
    options_.resident_bytes = [] { return uint64_t{0}; };
    wire::OpenRequest open;
    open.set_session("prod");
    EXPECT_TRUE(own_.Open(open).ok());
  }
  ~OwnSessionTest() override { sessions_.CloseAll(); }

  // Runs `what` on the session's thread and waits for its end.
  void Do(const std::function<void(Session&)>& what) {
    std::promise<void> ended;
    (*sessions_.Find("prod"))
        ->Post({.run = [&](Session& session) -> SessionCall::Respond {
                  what(session);
                  return [&] { ended.set_value(); };
                },
                .refuse = [&](const absl::Status&) { ended.set_value(); }});
    ended.get_future().get();
  }
  void PutCluster() {
    Do([](Session& session) {
      ChangeBatch batch;
      for (const std::string& object : {NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(),
                                        PodJson("p", "a"), PodJson("q", "b", "3")}) {
        EXPECT_TRUE(batch.PutJson(object).ok());
      }
      EXPECT_TRUE(session.cluster().Take(batch).ok());
    });
  }
  absl::StatusOr<wire::RoundReply> Round(int64_t now_s) {
    wire::RoundCall call;
    call.mutable_input()->set_session("prod");
    call.mutable_input()->set_now(now_s);
    call.set_form(wire::AS_DATA);
    return own_.Round(call);
  }

  test::TemporaryFolder folder_;
  SessionOptions options_;
  Sessions sessions_{options_, Sessions::Limits()};
  OwnSession own_{sessions_, std::chrono::seconds(600)};
};

TEST_F(OwnSessionTest, ASessionOfThisProcessAnswersAsOneOfADaemon) {
  PutCluster();
  ASSERT_TRUE(Round(kNow).ok());
  wire::ActuationReport report;
  report.set_session("prod");
  report.add_begun()->set_node("gone");
  EXPECT_EQ(own_.ReportActuation(report)->in_progress(), 1);
  const auto round = Round(kNow + 601);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->round(), 2);
  EXPECT_THAT(round->delete_drain(), ElementsAre("a"));
  const auto status = own_.Status();
  ASSERT_EQ(status->sessions_size(), 1);
  EXPECT_EQ(status->sessions(0).rounds(), 2);
  const auto exported = own_.Export("prod");
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->version, status->sessions(0).version());
  EXPECT_TRUE(LiveCluster::FromDump("d", exported->snapshot, {.allow_incomplete = true}).ok());
  wire::SizingCall sizing;
  sizing.set_session("prod");
  EXPECT_TRUE(own_.Sizing(sizing).ok());
}

TEST_F(OwnSessionTest, ErrorsAreThoseOfTheCall) {
  EXPECT_EQ(Round(kNow).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(own_.Export("other").status().code(), absl::StatusCode::kNotFound);
  sessions_.CloseAll();
  EXPECT_FALSE(Round(kNow).ok());
}

TEST_F(OwnSessionTest, AnAnswerThatComesTooLateIsLost) {
  PutCluster();
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  (*sessions_.Find("prod"))
      ->Post({.run = [gate](Session&) -> SessionCall::Respond {
                gate.wait();
                return nullptr;
              },
              .refuse = [](const absl::Status&) {}});
  OwnSession hasty(sessions_, std::chrono::milliseconds(1));
  wire::SizingCall call;
  call.set_session("prod");
  EXPECT_EQ(hasty.Sizing(call).status().code(), absl::StatusCode::kDeadlineExceeded);
  go_on.set_value();
  EXPECT_TRUE(own_.Sizing(call).ok());
}

}  // namespace
}  // namespace ebb::own_session_test
