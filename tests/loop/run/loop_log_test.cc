#include "loop/run/loop_log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "loop/run/loop_metrics.h"

namespace ebb::loop_log_test {
namespace {

using ::testing::HasSubstr;

LoopTurn ATurn() {
  LoopTurn turn;
  turn.now_s = 1'780'315'200;  // 2026-06-01T12:00:00Z
  turn.round =
      RoundOrders{.number = 12,
                  .status = "ScaleDownNodeDeleteStarted",
                  .nodes = 200,
                  .pending = 1,
                  .unneeded = 5,
                  .start = {{.node = "n7", .drain = true, .moves = {{}, {}}}, {.node = "n8"}}};
  turn.in_deletion = 3;
  turn.begun = 2;
  turn.ended = {{.node = "n3"}, {.node = "n4", .ok = false, .why = "a pod\nnever ends"}};
  turn.log = {"node n4 stays: a pod\nnever ends"};
  return turn;
}

TEST(LoopLogTest, ALineATurnAndOneForWhatBeginsAndEnds) {
  EXPECT_EQ(TurnAsText(ATurn()),
            "2026-06-01T12:00:00Z round 12 ScaleDownNodeDeleteStarted: 200 nodes, 1 pod pending, "
            "5 unneeded, 3 in deletion, 2 begin\n"
            "2026-06-01T12:00:00Z begin n7: drain, 2 pods\n"
            "2026-06-01T12:00:00Z begin n8: empty\n"
            "2026-06-01T12:00:00Z ended n3\n"
            "2026-06-01T12:00:00Z node n4 stays: a pod\\nnever ends\n");
}

TEST(LoopLogTest, InJsonATurnIsOneLine) {
  EXPECT_EQ(
      TurnAsJson(ATurn()),
      R"({"time":"2026-06-01T12:00:00Z","round":12,"status":"ScaleDownNodeDeleteStarted",)"
      R"("nodes":200,"pendingPods":1,"unneeded":5,"unremovable":{"nodes":0,"reasons":{}},)"
      R"("inDeletion":3,)"
      R"("begun":[{"node":"n7","drain":true,"pods":2},{"node":"n8","drain":false,"pods":0}],)"
      R"("ended":[{"node":"n3","ok":true},{"node":"n4","ok":false,"why":"a pod\nnever ends"}],)"
      R"("log":["node n4 stays: a pod\nnever ends"]})"
      "\n");
}

// Symptom: "0 unneeded" for minutes, and no mention of the nodes that rounds remember.
TEST(LoopLogTest, ATurnLogsUnremovableNodesWithReasonAndRetryTime) {
  LoopTurn turn = ATurn();
  turn.round->unneeded = 0;
  turn.round->unremovable = {.nodes = 58,
                             .reasons = {{"NotEnoughPdb", 40}, {"NoPlaceToMovePods", 18}},
                             .remembered = 58,
                             .first_recheck_s = turn.now_s + 72,
                             .last_recheck_s = turn.now_s + 270};
  EXPECT_THAT(TurnAsText(turn),
              HasSubstr("1 pod pending, 0 unneeded, 58 unremovable (40 NotEnoughPdb, 18 "
                        "NoPlaceToMovePods; looked at again from 2026-06-01T12:01:12Z to "
                        "2026-06-01T12:04:30Z), 3 in deletion, 2 begin\n"));
  EXPECT_THAT(
      TurnAsJson(turn),
      HasSubstr(
          R"("unneeded":0,"unremovable":{"nodes":58,"reasons":{"NotEnoughPdb":40,)"
          R"("NoPlaceToMovePods":18},"lookedAtAgain":{"nodes":58,"first":"2026-06-01T12:01:12Z",)"
          R"("last":"2026-06-01T12:04:30Z"}})"));
  turn.round->unremovable.remembered = 18;
  turn.round->unremovable.last_recheck_s = turn.now_s + 72;
  EXPECT_THAT(
      TurnAsText(turn),
      HasSubstr("18 NoPlaceToMovePods; 18 of them looked at again at 2026-06-01T12:01:12Z)"));
  turn.round->unremovable.remembered = 0;
  EXPECT_THAT(TurnAsText(turn),
              HasSubstr("58 unremovable (40 NotEnoughPdb, 18 NoPlaceToMovePods),"));
}

TEST(LoopLogTest, ATurnWithoutARoundLogsTheReason) {
  LoopTurn turn;
  turn.now_s = 1'780'315'200;
  turn.log = {"no round: no client feeds it"};
  EXPECT_EQ(TurnAsText(turn),
            "2026-06-01T12:00:00Z round left out\n"
            "2026-06-01T12:00:00Z no round: no client feeds it\n");
  EXPECT_THAT(TurnAsJson(turn), HasSubstr(R"("status":"NoRound")"));
}

TEST(LoopLogTest, ADeletionThatDidNotBeginIsNotLoggedAsBegun) {
  LoopTurn turn = ATurn();
  turn.begun = 0;
  EXPECT_THAT(TurnAsText(turn), ::testing::Not(HasSubstr("begin")));
  EXPECT_THAT(TurnAsJson(turn), HasSubstr(R"("begun":[])"));
}

TEST(LoopMetricsTest, TurnsDeletionsAndEvictionsAreCounted) {
  LoopMetrics metrics;
  metrics.Observe(ATurn(), 4);
  metrics.Observe(ATurn(), 7);
  metrics.Observe(LoopTurn(), 7);
  const std::string text = metrics.Text();
  for (const char* line :
       {"ebb_loop_turns_total{result=\"round\"} 2\n",
        "ebb_loop_turns_total{result=\"left-out\"} 1\n",
        "ebb_loop_deletions_total{result=\"begun\"} 4\n",
        "ebb_loop_deletions_total{result=\"ok\"} 2\n",
        "ebb_loop_deletions_total{result=\"failed\"} 2\n",
        "cluster_autoscaler_evicted_pods_total{eviction_result=\"succeeded\"} 7\n",
        "ebb_loop_deletions_in_progress 3\n", "ebb_loop_last_round_time 1780315200\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace ebb::loop_log_test
