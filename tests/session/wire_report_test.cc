#include "session/wire_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/time_range.h"
#include "rounds/round_events.h"
#include "rounds/sqlite_state.h"
#include "tests/session/session_objects.h"

namespace ebb::wire_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

// Saves reports to a state file, and rounds that use them.
class WireReportTest : public ::testing::Test {
 protected:
  WireReportTest() { Reopen(); }

  // As another process.
  void Reopen() {
    auto state = SqliteState::Open(folder_.File("s.db"), {});
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_TRUE((*state)->Load().ok());
    state_ = *std::move(state);
  }
  absl::Status Report(const v1alpha1::ActuationReport& wire) {
    const absl::StatusOr<ReportUpdate> update = ReadReport(wire);
    if (!update.ok()) return update.status();
    const absl::StatusOr<HeldReports::Changes> changes = state_->reports().ChangesOf(*update);
    return changes.ok() ? state_->SaveReport(*changes) : changes.status();
  }
  // The report for the next round.
  DeletionReport Held() { return state_->reports().With({}); }
  void Round() {
    ScaleDownState after;
    after.rounds = ++rounds_;
    ASSERT_TRUE(state_->Save(after, {.round = rounds_}, {}).ok());
  }
  size_t InProgress() { return state_->reports().in_progress().size(); }

  test::TemporaryFolder folder_;
  std::unique_ptr<SqliteState> state_;
  int64_t rounds_ = 0;
};

TEST_F(WireReportTest, EveryFieldReachesTheRound) {
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
  ASSERT_TRUE(Report(report).ok());
  const DeletionReport events = Held();
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

// Even if the process is killed at any moment, a result is reported to exactly one round: the
// report is on disk when it is acknowledged, and deleted with the round that used it.
TEST_F(WireReportTest, ResultsAreForOneRoundAndDeletionsUntilTheirResult) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(Report(report).ok());
  Reopen();  // Killed before the round was made,
  EXPECT_THAT(Held().results, SizeIs(1));
  ScaleDownState after;
  after.rounds = 1;
  EXPECT_FALSE(
      state_->SaveAfter(after, {.round = 1}, {}, [] { return absl::CancelledError(); }).ok());
  EXPECT_THAT(Held().results, SizeIs(1));
  Reopen();  // and before it was saved.
  EXPECT_THAT(Held().results, SizeIs(1));
  Round();
  EXPECT_THAT(Held().results, IsEmpty());
  EXPECT_THAT(Held().in_progress, SizeIs(1));
  Reopen();
  EXPECT_THAT(Held().results, IsEmpty());
  EXPECT_THAT(Held().in_progress, SizeIs(1));
  report.Clear();
  report.add_ended()->set_node("n1");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(InProgress(), 0);
  Reopen();
  EXPECT_THAT(Held().results, SizeIs(1));
  // A save in which only the clock changed is not a round.
  after.latest_s = 7;
  ASSERT_TRUE(state_->SaveState(after).ok());
  EXPECT_THAT(Held().results, SizeIs(1));
  Round();
  EXPECT_THAT(Held().results, IsEmpty());
}

TEST_F(WireReportTest, BegunTwiceIsOneDeletion) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  ASSERT_TRUE(Report(report).ok());
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(InProgress(), 1);
}

TEST_F(WireReportTest, RefusedReportChangesNothing) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("Perhaps");
  const absl::Status refused = Report(report);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("result"));
  EXPECT_EQ(InProgress(), 0);
  EXPECT_EQ(Held(), DeletionReport());
  report.Clear();
  report.add_evicted()->set_json("{");
  EXPECT_EQ(Report(report).code(), absl::StatusCode::kInvalidArgument);
}

// Symptom: the daemon's stack overflowed, because an eviction's JSON may be as deeply nested as a
// message is long.
TEST_F(WireReportTest, JsonWithoutEndIsRefused) {
  for (const std::string open : {"[", R"({"a":)"}) {
    std::string deep = R"({"kind":"Pod","metadata":{"name":"db","namespace":"x"},"spec":)";
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    v1alpha1::ActuationReport report;
    report.add_evicted()->set_json(deep + "1" + std::string(1'000'001, open == "[" ? ']' : '}'));
    const absl::Status refused = Report(report);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("evicted[0].json: is nested too deep"));
  }
  EXPECT_EQ(Held(), DeletionReport());
}

// Symptom: a report of 20,000 deletions took 17 seconds, because each one searched all of them.
TEST_F(WireReportTest, ManyDeletionsAtOnce) {
  v1alpha1::ActuationReport report;
  for (int i = 0; i < 20'000; ++i) report.add_begun()->set_node(absl::StrCat("n", i));
  ASSERT_TRUE(Report(report).ok());
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(InProgress(), 20'000);
}

TEST_F(WireReportTest, TheLastWordOfADeletionCounts) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n2");
  ASSERT_TRUE(Report(report).ok());
  // Repeated, and twice in the same report; a deletion that starts and ends in one report has
  // ended.
  report.Clear();
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n3");
  report.add_begun()->set_node("n1");
  report.mutable_begun(2)->set_group("g");
  report.add_ended()->set_node("n3");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(Report(report).ok());
  const DeletionReport events = Held();
  ASSERT_THAT(events.in_progress, SizeIs(2));
  EXPECT_EQ(events.in_progress[0].node, "n1");
  EXPECT_EQ(events.in_progress[0].group, "g");
  EXPECT_EQ(events.in_progress[1].node, "n2");
  EXPECT_THAT(events.results, SizeIs(1));
}

// As a client reports them after a restart.
TEST_F(WireReportTest, AllThatAreInProgressTakeThePlaceOfThoseBefore) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_begun()->set_node("n2");
  ASSERT_TRUE(Report(report).ok());
  report.Clear();
  report.mutable_in_progress()->add_deletions()->set_node("n2");
  report.mutable_in_progress()->add_deletions()->set_node("n3");
  report.mutable_in_progress()->add_deletions()->set_node("n4");
  report.mutable_in_progress()->mutable_deletions(0)->set_drained(true);
  report.add_begun()->set_node("n5");
  report.add_ended()->set_node("n4");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(Report(report).ok());
  Reopen();
  const DeletionReport events = Held();
  std::vector<std::string> nodes;
  for (const auto& each : events.in_progress) nodes.push_back(each.node);
  EXPECT_THAT(nodes, ElementsAre("n2", "n3", "n5"));
  EXPECT_TRUE(events.in_progress[0].drained);
  report.Clear();
  report.mutable_in_progress();  // No deletions.
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(InProgress(), 0);
  report.Clear();
  report.mutable_in_progress()->add_deletions();  // Without a node.
  EXPECT_FALSE(Report(report).ok());
}

TEST_F(WireReportTest, ReportedNodesAndGroupsStayUntilANewReportReplacesThem) {
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
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(Held().scale_ups[0].at_s, 1780315200);
  EXPECT_EQ(Held().evictions[0].at_s, 1780315201);
  // A report without these lists keeps the held ones, also in a new process and after a round.
  Round();
  ASSERT_TRUE(Report(v1alpha1::ActuationReport()).ok());
  Reopen();
  EXPECT_THAT(Held().unready, SizeIs(1));
  EXPECT_THAT(Held().unregistered, SizeIs(1));
  EXPECT_THAT(Held().scale_ups, SizeIs(0));
  EXPECT_THAT(Held().evictions, SizeIs(0));
  // A report with empty lists removes them.
  report.Clear();
  report.mutable_unready_nodes();
  report.mutable_unregistered_nodes();
  ASSERT_TRUE(Report(report).ok());
  EXPECT_EQ(Held(), DeletionReport());
}

TEST_F(WireReportTest, AnEndedDeletionCannotBeginAgainInTheSameRound) {
  v1alpha1::ActuationReport report;
  report.add_ended()->set_node("n1");
  report.mutable_ended(0)->set_result("Ok");
  ASSERT_TRUE(Report(report).ok());
  report.Clear();
  report.add_begun()->set_node("n1");
  EXPECT_THAT(std::string(Report(report).message()),
              HasSubstr("node n1 is in deletionResults too"));
  Round();
  EXPECT_TRUE(Report(report).ok());
}

// Symptom: with 300,000 entries held, a report took a second, because all of them were copied and
// written again.
TEST_F(WireReportTest, AReportWritesOnlyItsOwnChanges) {
  HeldReports::Changes many;
  for (int i = 0; i < 30'000; ++i) {
    many.begun.push_back({.node = absl::StrCat("n", i), .group = "g", .drained = true});
    many.results.push_back(
        {.node = absl::StrCat("e", i), .group = "g", .result = "Ok", .at_s = std::nullopt});
    many.evictions.push_back(
        {.pod = {.namespace_name = "x", .name = absl::StrCat("p", i), .uid = ""},
         .at_s = std::nullopt});
  }
  ASSERT_TRUE(state_->SaveReport(many).ok());
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("new");
  report.add_ended()->set_node("n7");
  report.mutable_ended(0)->set_result("Ok");
  report.add_evicted()->set_name("p");
  report.mutable_evicted(0)->set_namespace_("x");
  const int64_t before = state_->rows_written();
  ASSERT_TRUE(Report(report).ok());
  // A deletion that starts and one that ends, a result, an eviction, and two figures.
  EXPECT_LE(state_->rows_written() - before, 6);
  EXPECT_EQ(InProgress(), 30'000);
  const DeletionReport held = Held();
  Reopen();
  EXPECT_TRUE(Held() == held);
}

// Symptom: a report of 99,999 evictions made as many log lines.
TEST_F(WireReportTest, ManyEventsGiveFewLogLines) {
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
    ASSERT_TRUE(Report(report).ok());
  }
  const DeletionReport events = Held();
  ASSERT_THAT(events.evictions, SizeIs(kReports * kEvents));
  NoSink nothing;
  std::vector<std::string> lines;
  const auto empty = [](ObjectSink&) { return absl::OkStatus(); };
  ASSERT_TRUE(ReadWithEvents("events", events, {}, nothing, empty, lines).ok());
  EXPECT_THAT(lines, SizeIs(22));
  EXPECT_EQ(lines[10], "unreadyNodes: the same holds for 3323 more nodes");
  EXPECT_EQ(lines[21], "recentEvictions: the same holds for 9989 more pods");
}

TEST_F(WireReportTest, AReportOfAnotherProcessIsNotOverwritten) {
  const auto begun = [](const std::string& node) {
    v1alpha1::ActuationReport report;
    report.add_begun()->set_node(node);
    return report;
  };
  auto other = SqliteState::Open(folder_.File("s.db"), {});
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Load().ok());
  ASSERT_TRUE(Report(begun("n0")).ok());
  std::swap(state_, *other);
  EXPECT_EQ(Report(begun("n1")).code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(state_->Load().ok());
  EXPECT_EQ(InProgress(), 1);
  EXPECT_TRUE(Report(begun("n1")).ok());
  // A round that did not include a report of another process is not saved either.
  std::swap(state_, *other);
  ScaleDownState after;
  after.rounds = 1;
  EXPECT_EQ(state_->Save(after, {.round = 1}, {}).code(), absl::StatusCode::kAborted);
  Reopen();
  EXPECT_EQ(InProgress(), 2);
}

TEST_F(WireReportTest, ReportsThatAreNotThoseThatWereSavedAreRefused) {
  v1alpha1::ActuationReport report;
  report.add_begun()->set_node("n1");
  report.add_ended()->set_node("n2");
  report.mutable_ended(0)->set_result("Ok");
  report.add_ended()->set_node("n3");
  report.mutable_ended(1)->set_result("Internal");
  report.mutable_unready_nodes()->add_nodes("n5");
  for (const auto& [sql, problem] :
       {std::pair{"DELETE FROM reported_deletions", "digest"},
        std::pair{"UPDATE reported_results SET result = 'Ok'", "digest"},
        std::pair{"UPDATE reported_results SET node = ''", "table reported_results, column node"},
        std::pair{"UPDATE reported_results SET place = 7 - place", "digest"},
        std::pair{"UPDATE reported_deletions SET drained = 2",
                  "reported_deletions, column drained"},
        std::pair{"UPDATE unready_nodes SET node = 'n6'", "digest"},
        std::pair{"DELETE FROM state WHERE key = 'reports_digest'", "digest"}}) {
    state_.reset();
    std::filesystem::remove(folder_.File("s.db"));
    Reopen();
    ASSERT_TRUE(Report(report).ok());
    sqlite3* db = nullptr;
    sqlite3_open(folder_.File("s.db").c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(db);
    const auto damaged = SqliteState::Open(folder_.File("s.db"), {});
    ASSERT_TRUE(damaged.ok());
    const absl::Status refused = (*damaged)->Load().status();
    EXPECT_FALSE(refused.ok()) << sql;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(problem)) << sql;
  }
}

TEST_F(WireReportTest, TimesThatCannotBeWrittenDownAreRefused) {
  for (const int64_t at : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                           kEarliestTimeS - 1, kLatestTimeS + 1}) {
    v1alpha1::ActuationReport ended;
    ended.add_ended()->set_at(at);
    EXPECT_THAT(std::string(Report(ended).message()), HasSubstr("ended[0].at: "));
    v1alpha1::ActuationReport evicted;
    evicted.add_evicted()->set_at(at);
    EXPECT_THAT(std::string(Report(evicted).message()), HasSubstr("evicted[0].at: "));
    v1alpha1::ActuationReport scaled;
    scaled.add_scale_ups()->set_at(at);
    EXPECT_THAT(std::string(Report(scaled).message()), HasSubstr("scale_ups[0].at: "));
  }
}

}  // namespace
}  // namespace ebb::wire_report_test
