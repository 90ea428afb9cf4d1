#include "service/session/actuation_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/time_range.h"
#include "service/round_events.h"
#include "tests/service/session/session_objects.h"

namespace ebb::actuation_log_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NoSink final : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node&) override { return absl::OkStatus(); }
  absl::Status OnPod(const objects::Pod&) override { return absl::OkStatus(); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller&) override { return absl::OkStatus(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
};

class ActuationLogTest : public ::testing::Test {
 protected:
  ActuationLogTest() { Reopen(); }

  void Reopen() {
    auto log = ActuationLog::Open(folder_.File("log.json"));
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }
  RoundEvents EventsAfter(int64_t rounds) {
    const std::string text = log_->EventsAfter(rounds);
    if (text.empty()) return {};
    const auto events = ParseEvents("events", text);
    EXPECT_TRUE(events.ok()) << events.status();
    return events.ok() ? *events : RoundEvents();
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<ActuationLog> log_;
};

TEST_F(ActuationLogTest, EveryFieldReachesTheRound) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.mutable_begun(0)->set_group("g");
  report.mutable_begun(0)->set_drained(true);
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("FailedToDelete");
  report.mutable_ended(0)->set_at(1780315200);
  report.add_evicted()->set_name("web-1");
  report.mutable_evicted(0)->set_namespace_("default");
  report.mutable_evicted(0)->set_uid("u");
  report.add_evicted()->set_json(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"db","namespace":"x"},"spec":{}})");
  report.add_scale_ups()->set_group("g");
  report.mutable_unready_nodes()->add_nodes("n5");
  auto* unregistered = report.mutable_unregistered_nodes()->add_groups();
  unregistered->set_group("g");
  unregistered->set_count(2);
  ASSERT_TRUE(log_->Report(report, 7).ok());
  const RoundEvents events = EventsAfter(7);
  ASSERT_THAT(events.in_progress, SizeIs(1));
  EXPECT_EQ(events.in_progress[0].node, "n1");
  EXPECT_EQ(events.in_progress[0].group, "g");
  EXPECT_EQ(events.in_progress[0].drained, true);
  ASSERT_THAT(events.results, SizeIs(1));
  EXPECT_EQ(events.results[0].result, "FailedToDelete");
  EXPECT_EQ(events.results[0].at_s, 1780315200);
  ASSERT_THAT(events.evictions, SizeIs(2));
  EXPECT_EQ(events.evictions[0].pod.uid, "u");
  EXPECT_EQ(events.evictions[1].pod.name, "db");
  ASSERT_THAT(events.scale_ups, SizeIs(1));
  ASSERT_THAT(events.unready, SizeIs(1));
  ASSERT_THAT(events.unregistered, SizeIs(1));
  EXPECT_EQ(events.unregistered[0].count, 2);
}

TEST_F(ActuationLogTest, ResultsAreForOneRoundAndDeletionsUntilTheirResult) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  Reopen();
  EXPECT_THAT(EventsAfter(0).results, SizeIs(1));
  // Round 1 was saved, whether or not anybody had time to write the log.
  EXPECT_THAT(EventsAfter(1).results, SizeIs(0));
  EXPECT_THAT(EventsAfter(1).in_progress, SizeIs(1));
  report.Clear();
  report.add_ended()->set_node("n1");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(log_->Report(report, 1).ok());
  EXPECT_EQ(log_->InProgress(), 0);
  Reopen();
  EXPECT_THAT(EventsAfter(1).results, SizeIs(1));
  EXPECT_THAT(EventsAfter(2).results, SizeIs(0));
}

TEST_F(ActuationLogTest, BegunTwiceIsOneDeletion) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  ASSERT_TRUE(log_->Report(report, 0).ok());
  EXPECT_EQ(log_->InProgress(), 1);
}

TEST_F(ActuationLogTest, RefusedReportChangesNothing) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("Perhaps");
  const absl::Status refused = log_->Report(report, 0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("result"));
  EXPECT_EQ(log_->InProgress(), 0);
  EXPECT_EQ(log_->EventsAfter(0), "");
  report.Clear();
  report.add_evicted()->set_json("{");
  EXPECT_EQ(log_->Report(report, 0).code(), absl::StatusCode::kInvalidArgument);
}

// The daemon's stack ended: an eviction's JSON may be as deep as a message is long.
TEST_F(ActuationLogTest, JsonWithoutEndIsRefused) {
  for (const std::string open : {"[", R"({"a":)"}) {
    std::string deep = R"({"kind":"Pod","metadata":{"name":"db","namespace":"x"},"spec":)";
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    v1alpha1::ActuationReport report;
    report.add_evicted()->set_json(deep + "1" + std::string(1'000'001, open == "[" ? ']' : '}'));
    const absl::Status refused = log_->Report(report, 0);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("evicted[0].json: is nested too deep"));
  }
  EXPECT_EQ(log_->EventsAfter(0), "");
}

// A report of 20,000 deletions took 17 seconds: each looked through all of them.
TEST_F(ActuationLogTest, ManyDeletionsAtOnce) {
  v1alpha1::ActuationReport report;
  for (int i = 0; i < 20'000; ++i) report.add_begun()->set_node(absl::StrCat("n", i));
  ASSERT_TRUE(log_->Report(report, 0).ok());
  ASSERT_TRUE(log_->Report(report, 0).ok());
  EXPECT_EQ(log_->InProgress(), 20'000);
}

TEST_F(ActuationLogTest, TheLastWordOfADeletionCounts) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n2");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  // Once more, and in the same report; one that begins and ends is over.
  report.Clear();
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n3");
  report.add_begun()->set_node("n1");
  report.mutable_begun(2)->set_group("g");
  report.add_ended()->set_node("n3");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  const RoundEvents events = EventsAfter(0);
  ASSERT_THAT(events.in_progress, SizeIs(2));
  EXPECT_EQ(events.in_progress[0].node, "n2");
  EXPECT_EQ(events.in_progress[1].node, "n1");
  EXPECT_EQ(events.in_progress[1].group, "g");
  EXPECT_THAT(events.results, SizeIs(1));
}

// As a client that was started again tells them.
TEST_F(ActuationLogTest, AllThatAreInProgressTakeThePlaceOfThoseBefore) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n2");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  report.Clear();
  report.mutable_in_progress()->add_deletions()->set_node("n2");
  report.mutable_in_progress()->add_deletions()->set_node("n3");
  report.mutable_in_progress()->add_deletions()->set_node("n4");
  report.mutable_in_progress()->mutable_deletions(0)->set_drained(true);
  report.add_begun()->set_node("n5");
  report.add_ended()->set_node("n4");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(log_->Report(report, 1).ok());
  Reopen();
  const RoundEvents events = EventsAfter(1);
  std::vector<std::string> nodes;
  for (const auto& each : events.in_progress) nodes.push_back(each.node);
  EXPECT_THAT(nodes, ElementsAre("n2", "n3", "n5"));
  EXPECT_TRUE(events.in_progress[0].drained);
  report.Clear();
  report.mutable_in_progress();  // None.
  ASSERT_TRUE(log_->Report(report, 1).ok());
  EXPECT_EQ(log_->InProgress(), 0);
  report.Clear();
  report.mutable_in_progress()->add_deletions();  // Of no node.
  EXPECT_FALSE(log_->Report(report, 1).ok());
}

TEST_F(ActuationLogTest, NodesAndGroupsStayUntilToldOtherwise) {
  v1alpha1::ActuationReport report;
  report.mutable_unready_nodes()->add_nodes("n5");
  auto* unregistered = report.mutable_unregistered_nodes()->add_groups();
  unregistered->set_group("g");
  unregistered->set_count(2);
  report.add_scale_ups()->set_group("g");
  report.mutable_scale_ups(0)->set_at(1780315200);
  report.add_evicted()->set_name("web-1");
  report.mutable_evicted(0)->set_namespace_("default");
  report.mutable_evicted(0)->set_at(1780315201);
  ASSERT_TRUE(log_->Report(report, 0).ok());
  EXPECT_EQ(EventsAfter(0).scale_ups[0].at_s, 1780315200);
  EXPECT_EQ(EventsAfter(0).evictions[0].at_s, 1780315201);
  // A report that says nothing of them leaves them, over a new process and a round too.
  ASSERT_TRUE(log_->Report(v1alpha1::ActuationReport(), 1).ok());
  Reopen();
  EXPECT_THAT(EventsAfter(1).unready, SizeIs(1));
  EXPECT_THAT(EventsAfter(1).unregistered, SizeIs(1));
  EXPECT_THAT(EventsAfter(1).scale_ups, SizeIs(0));
  EXPECT_THAT(EventsAfter(1).evictions, SizeIs(0));
  // One that names none takes them away.
  report.Clear();
  report.mutable_unready_nodes();
  report.mutable_unregistered_nodes();
  ASSERT_TRUE(log_->Report(report, 1).ok());
  EXPECT_EQ(log_->EventsAfter(1), "");
}

TEST_F(ActuationLogTest, ADeletionThatEndedInAnEarlierReportOfTheRoundDoesNotGoOn) {
  v1alpha1::ActuationReport report;
  report.add_ended()->set_node("n1");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(log_->Report(report, 0).ok());
  report.Clear();
  report.add_begun()->set_node("n1");
  EXPECT_THAT(std::string(log_->Report(report, 0).message()),
              HasSubstr("node n1 is in deletionResults too"));
  EXPECT_TRUE(log_->Report(report, 1).ok());
}

// Symptom: after a report of 100,000 each later one took 18 s, as all earlier reports were
// parsed again.  Here an earlier report is one that no parser of events takes.
TEST_F(ActuationLogTest, AReportIsParsedAloneWhateverWasToldBefore) {
  std::ofstream(folder_.File("log.json"), std::ios::trunc) << R"({"apiVersion":"ebb/v1alpha1",
      "kind":"ActuationLog","events":{"scaleUps":[],"deletionResults":[],
      "recentEvictions":[{"rounds":0,"item":{"nonsense":1}}],"deletionsInProgress":[],
      "unreadyNodes":[],"unregisteredNodes":[]}})";
  Reopen();
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  EXPECT_TRUE(log_->Report(report, 0).ok());
  EXPECT_FALSE(ParseEvents("events", log_->EventsAfter(0)).ok());  // The round refuses it.
  EXPECT_TRUE(log_->Report(report, 1).ok());
  EXPECT_THAT(EventsAfter(1).in_progress, SizeIs(1));
}

// Symptom: a report of 99,999 evictions made as many lines of a log.
TEST_F(ActuationLogTest, LinesOfALogAreFewHoweverManyEventsThereAre) {
  v1alpha1::ActuationReport report;
  constexpr int kReports = 3;
  constexpr int kEvents = 3'333;
  for (int k = 0; k < kReports; ++k) {
    report.Clear();
    for (int i = 0; i < kEvents; ++i) {
      auto* const pod = report.add_evicted();
      pod->set_namespace_("default");
      pod->set_name(absl::StrCat("pod-", k, "-", i));
      report.mutable_unready_nodes()->add_nodes(absl::StrCat("node-", i));
    }
    ASSERT_TRUE(log_->Report(report, 0).ok());
  }
  const RoundEvents events = EventsAfter(0);
  ASSERT_THAT(events.evictions, SizeIs(kReports * kEvents));
  NoSink nothing;
  std::vector<std::string> lines;
  const auto empty = [](ObjectSink&) { return absl::OkStatus(); };
  ASSERT_TRUE(ReadWithEvents("events", events, {}, nothing, empty, lines).ok());
  EXPECT_THAT(lines, SizeIs(22));
  EXPECT_EQ(lines[10], "unreadyNodes: the same holds for 3323 more nodes");
  EXPECT_EQ(lines[21], "recentEvictions: the same holds for 9989 more pods");
}

TEST_F(ActuationLogTest, WhatCannotBeWrittenIsNotKept) {
  auto log = ActuationLog::Open(folder_.File("missing/log.json"));
  ASSERT_TRUE(log.ok());
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  EXPECT_FALSE((*log)->Report(report, 0).ok());
  EXPECT_EQ((*log)->InProgress(), 0);
}

TEST_F(ActuationLogTest, WhatSomebodyElseWroteIsNotOverwritten) {
  const auto begun = [](const std::string& node) {
    v1alpha1::ActuationReport report;
    report.add_begun()->set_node(node);
    return report;
  };
  auto other = ActuationLog::Open(folder_.File("log.json"));
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(log_->Report(begun("n0"), 0).ok());
  EXPECT_EQ((*other)->Report(begun("n1"), 0).code(), absl::StatusCode::kAborted);
  EXPECT_EQ((*other)->InProgress(), 1);
  EXPECT_TRUE((*other)->Report(begun("n1"), 0).ok());
  EXPECT_EQ(log_->Report(begun("n2"), 0).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(log_->Report(begun("n2"), 0).ok());
  Reopen();
  EXPECT_EQ(log_->InProgress(), 3);
}

TEST_F(ActuationLogTest, DamagedFileIsRefused) {
  for (const std::string text :
       {"", "{", "[]", R"({"apiVersion":"ebb/v1alpha1","kind":"ActuationLog","events":{}})"}) {
    std::ofstream(folder_.File("log.json"), std::ios::trunc) << text;
    const auto log = ActuationLog::Open(folder_.File("log.json"));
    EXPECT_EQ(log.status().code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_THAT(std::string(log.status().message()), HasSubstr("log.json"));
  }
}

TEST_F(ActuationLogTest, TimesThatCannotBeWrittenDownAreRefused) {
  for (const int64_t at : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                           kEarliestTimeS - 1, kLatestTimeS + 1}) {
    v1alpha1::ActuationReport ended;
    ended.add_ended()->set_at(at);
    EXPECT_THAT(std::string(log_->Report(ended, 0).message()), HasSubstr("ended[0].at: "));
    v1alpha1::ActuationReport evicted;
    evicted.add_evicted()->set_at(at);
    EXPECT_THAT(std::string(log_->Report(evicted, 0).message()), HasSubstr("evicted[0].at: "));
    v1alpha1::ActuationReport scaled;
    scaled.add_scale_ups()->set_at(at);
    EXPECT_THAT(std::string(log_->Report(scaled, 0).message()), HasSubstr("scale_ups[0].at: "));
  }
}

}  // namespace
}  // namespace ebb::actuation_log_test
