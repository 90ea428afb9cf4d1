#include "cli/rounds/round_command.h"

#include <sqlite3.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/cli.h"
#include "cli/commands/plan_command.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/flag_values.h"
#include "gtest/gtest.h"
#include "options/round_options.h"
#include "report/plan_time.h"
#include "rounds/round_record.h"
#include "rounds/sqlite_state.h"
#include "rounds/text_delta.h"

namespace ebb::round_command_test {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome Ebb(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"ebb"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(static_cast<int>(argv.size()), argv.data(), in, out, err);
  return {code, out.str(), err.str()};
}

nlohmann::json NodeObject(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"uid", "uid-" + name}, {"labels", {{"nodegroup", "ng"}}}}},
          {"status",
           {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "110"}}},
            {"capacity", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "110"}}},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

nlohmann::json PodObject(const std::string& name, const std::string& node) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", name},
        {"namespace", "default"},
        {"uid", "uid-" + name},
        {"annotations", {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"}}}}},
      {"spec",
       {{"nodeName", node},
        {"containers", {{{"name", "main"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}}}}}},
      {"status", {{"phase", "Running"}}}};
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// Three nodes: c is empty, a and b run a pod each.
class RoundCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    prefix_ = testing::TempDir() + "ebb-round-" + std::to_string(getpid());
    nlohmann::json items = {NodeObject("a"),
                            NodeObject("b"),
                            NodeObject("c"),
                            PodObject("p", "a"),
                            PodObject("q", "b"),
                            {{"apiVersion", "policy/v1"},
                             {"kind", "PodDisruptionBudgetList"},
                             {"items", nlohmann::json::array()}}};
    std::ofstream(Input()) << nlohmann::json{
        {"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  }
  void TearDown() override {
    for (const std::string& file : {Input(), State(), Record(), prefix_ + ".prom"}) {
      std::remove(file.c_str());
    }
  }
  std::string Input() const { return prefix_ + ".json"; }
  std::string State() const { return prefix_ + ".state"; }
  std::string Record() const { return prefix_ + ".record"; }

  void Change(const std::string& sql) const {
    sqlite3* db = nullptr;
    sqlite3_open(Record().c_str(), &db);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  Outcome Round(const std::string& now, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"plan", Input(), "--state", State(), "--now", now};
    words.insert(words.end(), more.begin(), more.end());
    return Ebb(words);
  }
  nlohmann::json JsonRound(const std::string& now, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"-o", "json"});
    const Outcome outcome = Round(now, std::move(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }

  std::string prefix_;
};

TEST_F(RoundCommandTest, TimersOutliveTheProcess) {
  const auto first = JsonRound("2026-06-01T12:00:00Z");
  EXPECT_EQ(first.at("status"), "ScaleDownNoNodeDeleted");
  EXPECT_EQ(first.at("unneeded").at(0).at("node"), "c");
  EXPECT_EQ(first.at("notYet").at(0).at("reason"), "NotUnneededLongEnough");
  EXPECT_TRUE(first.at("deleteNow").at("empty").empty());

  const auto second = JsonRound("2026-06-01T12:10:01Z");
  EXPECT_EQ(second.at("round"), 2);
  EXPECT_EQ(second.at("status"), "ScaleDownNodeDeleteStarted");
  EXPECT_EQ(second.at("unneeded").at(0).at("since"), "2026-06-01T12:00:00Z");
  EXPECT_EQ(second.at("deleteNow").at("empty"), nlohmann::json({"c"}));
  EXPECT_EQ(second.at("deleteNow").at("drain"), nlohmann::json({"a"}));
}

TEST_F(RoundCommandTest, WithTheFlagReturnedNodesKeepTheirTimersAndAReplayAgrees) {
  const auto come_back = [&] {  // Every node, with the same name and another UID.
    std::ifstream file(Input());
    std::string text((std::istreambuf_iterator<char>(file)), {});
    for (size_t at = 0; (at = text.find("uid-", at)) != std::string::npos; at += 5) {
      text.replace(at, 4, "new-");
    }
    std::ofstream(Input()) << text;
  };
  const std::vector<std::string> keep = {"--returned-nodes", "keep-timer", "--record", Record()};
  JsonRound("2026-06-01T12:00:00Z", keep);
  come_back();
  const auto second = JsonRound("2026-06-01T12:10:01Z", keep);
  EXPECT_EQ(second.at("unneeded").at(0).at("since"), "2026-06-01T12:00:00Z");
  EXPECT_EQ(second.at("deleteNow").at("empty"), nlohmann::json({"c"}));
  EXPECT_EQ(Ebb({"replay", Record()}).code, 0);

  std::remove(State().c_str());
  SetUp();
  JsonRound("2026-06-01T12:00:00Z");
  come_back();
  const auto restarted = JsonRound("2026-06-01T12:10:01Z");
  EXPECT_EQ(restarted.at("unneeded").at(0).at("since"), "2026-06-01T12:10:01Z");
  EXPECT_TRUE(restarted.at("deleteNow").at("empty").empty());
}

TEST_F(RoundCommandTest, NamesAreThoseToDeleteNow) {
  EXPECT_EQ(Round("2026-06-01T12:00:00Z", {"-o", "name"}).out, "");
  EXPECT_EQ(Round("2026-06-01T12:10:01Z", {"-o", "name"}).out, "node/c\nnode/a\n");
}

TEST_F(RoundCommandTest, TableShowsTheStatusAndTheNodesThatWait) {
  const std::string text = Round("2026-06-01T12:00:00Z").out;
  EXPECT_NE(text.find("Round 1 at 2026-06-01T12:00:00Z: ScaleDownNoNodeDeleted"), std::string::npos)
      << text;
  EXPECT_NE(text.find("NotUnneededLongEnough"), std::string::npos);
}

TEST_F(RoundCommandTest, ReplayOfARecordIsIdentical) {
  for (const char* now : {"2026-06-01T12:00:00Z", "2026-06-01T12:05:00Z", "2026-06-01T12:10:01Z"}) {
    ASSERT_EQ(Round(now, {"--record", Record(), "--max-drain-parallelism", "2"}).code, 0);
  }
  const Outcome replay = Ebb({"replay", Record()});
  EXPECT_EQ(replay.code, 0) << replay.out << replay.err;
  EXPECT_NE(replay.out.find("3 of 3 rounds identical"), std::string::npos) << replay.out;
}

TEST_F(RoundCommandTest, ReplayFindsADecisionThatWasAnother) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--record", Record()}).code, 0);
  const Outcome shown = Ebb({"state", "show", Record(), "--round", "1"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const std::string decision =
      absl::StrReplaceAll(shown.out.substr(0, shown.out.size() - 1), {{"NotUnneeded", "Not"}});
  // Against an empty text: it unpacks to the same decision, whatever decision the delta refers to.
  Change(absl::StrCat("UPDATE rounds SET decision = x'",
                      absl::BytesToHexString(PackDelta(DeltaBase(), decision)), "'"));
  const Outcome replay = Ebb({"replay", Record()});
  EXPECT_EQ(replay.code, 1);
  EXPECT_NE(replay.out.find("DIFFERENT"), std::string::npos);
}

TEST_F(RoundCommandTest, ShowPrintsWhatARoundDecided) {
  const Outcome first = Round("2026-06-01T12:00:00Z", {"-o", "json"});
  const Outcome second = Round("2026-06-01T12:01:00Z", {"-o", "json"});
  for (const auto& [round, printed] : {std::pair{"1", &first}, std::pair{"2", &second}}) {
    const Outcome show = Ebb({"state", "show", State(), "--round", round});
    EXPECT_EQ(show.code, 0) << show.err;
    EXPECT_EQ(nlohmann::json::parse(show.out, nullptr, false),
              nlohmann::json::parse(printed->out, nullptr, false));
  }
  const Outcome third = Ebb({"state", "show", State(), "--round", "3"});
  EXPECT_EQ(third.code, 1);
  EXPECT_NE(third.err.find(": holds the rounds 1 to 2, and not round 3"), std::string::npos)
      << third.err;
}

// Symptom: the record's rounds were overwritten, and a state file got a round that is not its own.
TEST_F(RoundCommandTest, StateAndRecordFilesAreNotInterchangeable) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--record", Record()}).code, 0);
  ASSERT_EQ(Round("2026-06-01T12:01:00Z", {"--record", Record()}).code, 0);
  const std::string state = BytesOf(State());
  const std::string record = BytesOf(Record());
  const auto refusal = [&](const std::string& as_state, const std::string& as_record) {
    std::vector<std::string> words = {"plan", Input(), "--state", as_state};
    if (!as_record.empty()) words.insert(words.end(), {"--record", as_record});
    const Outcome outcome = Ebb(words);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_EQ(BytesOf(State()), state);
    EXPECT_EQ(BytesOf(Record()), record);
    return outcome.err;
  };
  EXPECT_EQ(refusal(Record(), ""), "ebb: " + Record() + ": is a record, not a state file\n");
  EXPECT_EQ(refusal(prefix_ + ".new", State()),
            "ebb: " + State() + ": is a state file, not a record\n");
  EXPECT_EQ(BytesOf(prefix_ + ".new"), "");
  std::remove((prefix_ + ".new").c_str());
  EXPECT_EQ(refusal(Record(), State()),
            "ebb: " + Record() + ": is a record, not a state file, and " + State() +
                " is a state file, not a record; exchange the two names\n");
  EXPECT_EQ(Ebb({"replay", Record()}).code, 0);
}

TEST_F(RoundCommandTest, RecordMayBeginInTheMiddle) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  ASSERT_EQ(Round("2026-06-01T12:10:01Z", {"--record", Record()}).code, 0);
  EXPECT_EQ(Ebb({"replay", Record()}).code, 0);
}

TEST_F(RoundCommandTest, AFileThatIsNotAStateIsBadInputAndIsKept) {
  std::ofstream(State()) << std::string(2000, 'x');
  const Outcome outcome = Round("2026-06-01T12:00:00Z");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(State()), std::string::npos);
  std::ifstream file(State());
  std::string bytes;
  std::getline(file, bytes);
  EXPECT_EQ(bytes, std::string(2000, 'x'));
}

TEST_F(RoundCommandTest, BadInputLeavesTheStateAlone) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  std::ofstream(Input()) << "{";
  EXPECT_EQ(Round("2026-06-01T12:05:00Z").code, 1);
  SetUp();
  EXPECT_EQ(JsonRound("2026-06-01T12:10:01Z").at("round"), 2);
}

TEST_F(RoundCommandTest, AClockThatRunsBackwardsGivesAWarningAndDoesNoHarm) {
  Round("2026-06-01T12:00:00Z");
  const Outcome outcome = Round("2026-06-01T11:00:00Z");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("clock ran backwards"), std::string::npos);
}

TEST_F(RoundCommandTest, ARoundInTheFarFutureDeletesNothingAndDoesNotMoveTheClock) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  const Outcome jumped = Round("2099-01-01T00:00:00Z", {"-o", "json"});
  EXPECT_EQ(jumped.code, kExitClockJumped);
  const auto json = nlohmann::json::parse(jumped.out);
  EXPECT_EQ(json.at("status"), "ScaleDownClockJumped");
  EXPECT_TRUE(json.at("deleteNow").at("empty").empty());
  EXPECT_TRUE(json.at("deleteNow").at("drain").empty());
  EXPECT_NE(jumped.err.find("nothing is deleted"), std::string::npos);
  EXPECT_EQ(JsonRound("2026-06-01T12:10:00Z").at("status"), "ScaleDownNoNodeDeleted");
  EXPECT_EQ(JsonRound("2026-06-01T12:10:01Z").at("status"), "ScaleDownNodeDeleteStarted");
}

TEST_F(RoundCommandTest, RoundsMayBeAsFarApartAsClockJumpMaxAllows) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  EXPECT_EQ(JsonRound("2026-06-02T12:00:00Z", {"--clock-jump-max", "25h"}).at("status"),
            "ScaleDownNodeDeleteStarted");
}

TEST_F(RoundCommandTest, NightWithoutRoundsCostsOneAndAReplayAgrees) {
  const std::vector<std::string> record = {"--record", Record()};
  ASSERT_EQ(Round("2026-06-01T20:00:00Z", record).code, 0);
  EXPECT_EQ(Round("2026-06-02T08:00:00Z", record).code, kExitClockJumped);
  EXPECT_EQ(JsonRound("2026-06-02T08:00:10Z", record).at("status"), "ScaleDownNodeDeleteStarted");
  EXPECT_EQ(Ebb({"replay", Record()}).code, 0);
}

TEST_F(RoundCommandTest, AStartedDeletionIsCountedOnceEvenIfReportedAgain) {
  const std::string file = prefix_ + ".prom";
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  for (int round = 0; round < 6; ++round) {
    const auto json =
        JsonRound("2026-06-01T12:1" + std::to_string(round) + ":01Z", {"--metrics", file});
    EXPECT_EQ(json.at("deleteNow").at("empty"), nlohmann::json({"c"}));
  }
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("scaled_down_nodes_total{reason=\"empty\"} 1\n"), std::string::npos)
      << text.str();
}

TEST(PlanTimeTest, ObjectFarInTheFutureMovesNoClock) {
  EXPECT_EQ(TimeToPlanFor(1000, 900).now_s, 1000);
  // A small difference between clocks is accepted.
  EXPECT_EQ(TimeToPlanFor(1000, 1300).now_s, 1300);
  EXPECT_FALSE(TimeToPlanFor(1000, 1300).warning.has_value());
  const PlanTime far = TimeToPlanFor(1000, 4102444800);
  EXPECT_EQ(far.now_s, 1000);
  ASSERT_TRUE(far.warning.has_value());
  EXPECT_NE(far.warning->message.find("2100-01-01T00:00:00Z"), std::string::npos);
}

// The state after rounds at a wrong time, set right twice.
TEST_F(RoundCommandTest, SetClockCorrectsTheTimesOfAStateAndPrintsEachChange) {
  EXPECT_EQ(Round("2098-12-31T23:00:00Z").code, 0);
  EXPECT_EQ(Round("2098-12-31T23:05:00Z").code, 0);
  const Outcome set = Ebb({"state", "set-clock", State(), "--now", "2026-06-01T12:00:00Z"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_NE(set.out.find("last round: 2098-12-31T23:05:00Z -> 2026-06-01T12:00:00Z\n"),
            std::string::npos)
      << set.out;
  EXPECT_NE(set.out.find("timer of node c: 2098-12-31T23:00:00Z -> 2026-06-01T12:00:00Z\n"),
            std::string::npos);
  const auto next = JsonRound("2026-06-01T12:00:10Z");
  EXPECT_EQ(next.at("status"), "ScaleDownNoNodeDeleted");
  EXPECT_EQ(next.at("unneeded").at(0).at("since"), "2026-06-01T12:00:00Z");
  EXPECT_EQ(JsonRound("2026-06-01T12:10:01Z").at("status"), "ScaleDownNodeDeleteStarted");

  const Outcome again = Ebb({"state", "set-clock", State(), "--now", "2026-06-01T13:00:00Z"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.out.find("it was not changed"), std::string::npos);
}

TEST_F(RoundCommandTest, StateCommandsRejectFilesThatAreNotStates) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--record", Record()}).code, 0);
  for (const char* command : {"show", "set-clock"}) {
    EXPECT_EQ(Ebb({"state", command, State() + ".none"}).code, 1);
    EXPECT_EQ(Ebb({"state", command, Input()}).code, 1);
    const Outcome record = Ebb({"state", command, Record()});
    EXPECT_EQ(record.code, 1);
    EXPECT_NE(record.err.find("is a record"), std::string::npos) << record.err;
  }
  EXPECT_FALSE(std::ifstream(State() + ".none").good());
}

TEST_F(RoundCommandTest, ShowPrintsTimersDeletionsAndAClockJump) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  ASSERT_EQ(Round("2026-06-01T12:10:01Z").code, 0);
  ASSERT_EQ(Round("2099-01-01T00:00:00Z").code, kExitClockJumped);
  const Outcome show = Ebb({"state", "show", State()});
  EXPECT_EQ(show.code, 0) << show.err;
  for (const char* words :
       {"3 rounds, the last at 2026-06-01T12:10:01Z", "The clock jumped to 2099-01-01T00:00:00Z",
        "UNNEEDED SINCE", "asked for", "LAST DELETION"}) {
    EXPECT_NE(show.out.find(words), std::string::npos) << words << "\n" << show.out;
  }
}

TEST_F(RoundCommandTest, ShowPrintsUnremovableNodesWithReasonAndRetryTime) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  const Outcome show = Ebb({"state", "show", State()});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_NE(show.out.find("NODE  UNREMOVABLE        LOOKED AT AGAIN\n"
                          "b     NoPlaceToMovePods  2026-06-01T12:05:00Z\n"),
            std::string::npos)
      << show.out;
}

// Symptom: the node was in no section.
TEST_F(RoundCommandTest, ShowPrintsDeletionsThatEbbDidNotOrder) {
  const std::string events = prefix_ + ".yaml";
  std::ofstream(events) << "deletionsInProgress:\n- {node: b, group: ng}\n";
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--events", events}).code, 0);
  std::remove(events.c_str());
  const Outcome show = Ebb({"state", "show", State()});
  EXPECT_NE(show.out.find("NODE  DELETION                           LAST SEEN SO\n"
                          "b     in progress, not asked for by ebb  2026-06-01T12:00:00Z\n"),
            std::string::npos)
      << show.out;
  const Outcome data = Ebb({"state", "show", State(), "-o", "json"});
  const nlohmann::json json = nlohmann::json::parse(data.out, nullptr, false);
  EXPECT_EQ(json["version"], "ebb.state/v1") << data.out << data.err;
  EXPECT_EQ(json["rounds"], 1);
  EXPECT_EQ(json["deletions"], nlohmann::json::parse(R"([{"node": "b", "phase": "notAskedFor",
                                                         "lastSeenSo": "2026-06-01T12:00:00Z"}])"));
  EXPECT_EQ(json["reported"], nlohmann::json::object());
}

// Symptom: after a crash of the daemon nothing showed what it had taken in.
TEST_F(RoundCommandTest, ShowPrintsReportsForTheNextRound) {
  HeldReports::Changes changes;
  changes.begun = {{.node = "n7", .group = "general", .drained = true}};
  changes.results = {{.node = "n3", .group = "", .result = "FailedToDelete", .at_s = 1780315200}};
  changes.evictions = {
      {.pod = {.namespace_name = "default", .name = "web", .uid = ""}, .at_s = std::nullopt}};
  changes.scale_ups = {{.group = "general", .at_s = std::nullopt}};
  changes.unready = {"n5"};
  changes.unregistered = {{.group = "general", .count = 2}};
  {
    const auto state = SqliteState::Open(State(), {});
    ASSERT_TRUE((*state)->SaveReport(changes).ok());
  }
  const Outcome show = Ebb({"state", "show", State()});
  EXPECT_EQ(
      show.out,
      "no round yet\n\n"
      "REPORTED, FOR THE NEXT ROUND  WHAT                               AT\n"
      "node n7                       deletion in progress, pods move    -\n"
      "node n3                       deletion ended: FailedToDelete     2026-06-01T12:00:00Z\n"
      "pod default/web               evicted                            -\n"
      "group general                 grew                               -\n"
      "node n5                       not ready                          -\n"
      "group general                 2 machines that are not nodes yet  -\n")
      << show.err;
  const Outcome data = Ebb({"state", "show", State(), "-o", "json"});
  const nlohmann::json json = nlohmann::json::parse(data.out, nullptr, false);
  EXPECT_EQ(json["rounds"], 0) << data.out << data.err;
  EXPECT_EQ(json["reported"]["deletionsInProgress"][0]["node"], "n7");
  EXPECT_EQ(json["reported"]["deletionResults"][0]["result"], "FailedToDelete");
  EXPECT_EQ(json["reported"]["unreadyNodes"], nlohmann::json({"n5"}));
  EXPECT_EQ(Ebb({"state", "set-clock", State()}).err, "ebb: " + State() + ": holds no round yet\n");
}

TEST_F(RoundCommandTest, DrainsThatTheirBudgetHoldsBackAreThrottled) {
  const std::string events = prefix_ + ".yaml";
  std::ofstream(events) << "deletionsInProgress:\n- {node: x, group: ng, drained: true}\n";
  nlohmann::json items = {NodeObject("a"),
                          NodeObject("b"),
                          PodObject("p", "a"),
                          PodObject("q", "b"),
                          {{"apiVersion", "policy/v1"},
                           {"kind", "PodDisruptionBudgetList"},
                           {"items", nlohmann::json::array()}}};
  std::ofstream(Input()) << nlohmann::json{
      {"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  const auto round =
      JsonRound("2026-06-01T12:00:00Z", {"--events", events, "--scale-down-unneeded-time", "0s"});
  std::remove(events.c_str());
  EXPECT_EQ(round.at("status"), "ScaleDownThrottled");
  EXPECT_EQ(round.at("message"), "1 may go, and the budgets admit none with 1 in deletion");
}

TEST_F(RoundCommandTest, AnOldFlagWorksWithAWarning) {
  const Outcome first = Round("2026-06-01T12:00:00Z", {"--max-empty-bulk-delete", "1"});
  EXPECT_NE(first.err.find("--max-scale-down-parallelism"), std::string::npos);
  const auto second = JsonRound("2026-06-01T12:10:01Z", {"--max-empty-bulk-delete", "1"});
  EXPECT_EQ(second.at("deleteNow").at("empty").size(), 1u);
  EXPECT_EQ(second.at("deleteNow").at("drain").size(), 0u);
}

// --- What a record keeps of the flags ---------------------------------------------------

// Whether a flag of `ebb plan` changes nothing that a round decides.  A record keeps node groups
// and events as texts, so the names of their files do not matter.
bool HasNoSay(const std::string& flag) {
  static const auto* const flags = new std::set<std::string>{
      "all", "allow-incomplete", "events", "exit-code", "explain", "help", "max-input-bytes",
      "metrics", "node-groups", "now", "output", "record", "server", "session", "state",
      "state-rounds", "stats", "strict", "threads", "wait", "watch-file", "watch-quiet-time",
      "max-age", "max-object-bytes",
      // Not allowed with --state.
      "optimize", "budget", "iterations", "bound", "trials", "robust", "seed", "counterfactual",
      "objective", "move-cost", "max-evictions", "max-workload-share", "nominated-share", "prices",
      "price-rule", "what-if", "waves", "replace", "max-new-nodes", "machine-types",
      "machine-type-groups", "max-tries", "replace-budget", "min-saving", "min-score", "allow-spot",
      "pod-startup-time", "fail-if", "report", "team-label", "stable", "stable-margin",
      "stable-greedy-every", "stable-verify-every"};
  return flags->contains(flag);
}

std::vector<std::string> SomeValues(const CLI::Option& option) {
  switch (KindOf(option).value_or(ValueKind::kText)) {
    case ValueKind::kWholeNumber:
      return {"7"};
    case ValueKind::kNumber:
      return {"0.25"};
    case ValueKind::kDuration:
      return {"7s"};
    case ValueKind::kMinMax:
      return {"7:9"};
    case ValueKind::kGroupSize:
      return {"7:9:ng"};
    case ValueKind::kSwitch:
      return {"true", "false"};
    case ValueKind::kChoice:
      return ChoicesOf(option);
    case ValueKind::kText:
      // The only texts that are checked further.
      if (option.check_lname("headroom")) return {"cpu=7%"};
      if (option.check_lname("fail-if")) return {"removed<1"};
      return {"some-name"};
    case ValueKind::kMaybeEmptyText:
      if (option.check_lname("scheduler-config-file")) {
        const std::string path = testing::TempDir() + "ebb-scheduler-" + std::to_string(getpid());
        std::ofstream(path) << "apiVersion: kubescheduler.config.k8s.io/v1\n"
                               "kind: KubeSchedulerConfiguration\n";
        return {path};
      }
      return {};
    default:
      return {};
  }
}

std::string RecordedOf(const std::vector<std::string>& flags) {
  CLI::App app;
  PlanCommand command;
  command.AddTo(app);
  std::vector<std::string> words = flags;  // In reverse, as CLI11 needs it.
  words.insert(words.end(), {"--state=x", "-"});
  app.parse(words);
  const std::optional<int64_t> deadline =
      command.simulation_timeout.empty() ? std::nullopt : std::optional<int64_t>(0);
  return ArgumentsText(command.options,
                       {.groups = {}, .group_sizes = command.GroupSizes(), .events = {}}, {}, {},
                       deadline);
}

TEST(RoundOptionsOfTest, EveryFlagThatAffectsARoundIsInTheRecord) {
  CLI::App app;
  PlanCommand command;
  command.AddTo(app);
  const std::string defaults = RecordedOf({});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || IsOtherAutoscalerFlag(*option)) continue;
    const std::string& flag = option->get_lnames()[0];
    if (HasNoSay(flag)) continue;
    bool changes = false;
    for (const std::string& value : SomeValues(*option)) {
      changes |= RecordedOf({"--" + flag + "=" + value}) != defaults;
    }
    EXPECT_TRUE(changes) << flag;
  }
}

TEST_F(RoundCommandTest, RecordWithDamagedOptionsIsRefusedWithItsRound) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--record", Record()}).code, 0);
  Change("UPDATE rounds SET arguments = replace(arguments, '\"cores\"', '\"coarse\"')");
  EXPECT_NE(Ebb({"replay", Record()}).err.find("round 1: is damaged"), std::string::npos);
  // Also with a digest that matches the damaged options.
  sqlite3* db = nullptr;
  sqlite3_open(Record().c_str(), &db);
  sqlite3_stmt* select = nullptr;
  sqlite3_prepare_v2(db, "SELECT arguments, input FROM rounds", -1, &select, nullptr);
  ASSERT_EQ(sqlite3_step(select), SQLITE_ROW);
  const auto text = [&](int column) {
    return std::string(static_cast<const char*>(sqlite3_column_blob(select, column)),
                       static_cast<size_t>(sqlite3_column_bytes(select, column)));
  };
  const std::string digest = RoundDigest(text(0), text(1));
  sqlite3_finalize(select);
  sqlite3_close(db);
  Change("UPDATE rounds SET input_digest = '" + digest + "'");
  const Outcome replay = Ebb({"replay", Record()});
  EXPECT_EQ(replay.code, 1);
  EXPECT_NE(replay.err.find(Record() +
                            ": round 1: options.scaleDown.deletion.minimums.cores: is missing"),
            std::string::npos)
      << replay.err;
}

TEST_F(RoundCommandTest, RecordWithoutStateIsAUsageError) {
  EXPECT_EQ(Ebb({"plan", Input(), "--record", Record()}).code, 2);
}

TEST_F(RoundCommandTest, MetricsCarryTheAutoscalersNames) {
  const std::string file = prefix_ + ".prom";
  ASSERT_EQ(Round("2026-06-01T12:00:00Z", {"--metrics", file}).code, 0);
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("cluster_autoscaler_unneeded_nodes_count 2"), std::string::npos)
      << text.str();
  EXPECT_NE(text.str().find(
                "cluster_autoscaler_unremovable_nodes_count{reason=\"NotUnneededLongEnough\"} 2"),
            std::string::npos);
}

}  // namespace
}  // namespace ebb::round_command_test
