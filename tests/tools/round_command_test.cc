#include "tools/round_command.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tools/cli.h"

namespace ebb {
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

// Three nodes: c is empty, a and b run a pod each.
class RoundCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    prefix_ = testing::TempDir() + "ebb-round-" + std::to_string(getpid());
    nlohmann::json items = {NodeObject("a"), NodeObject("b"), NodeObject("c"), PodObject("p", "a"),
                            PodObject("q", "b")};
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

TEST_F(RoundCommandTest, ReturnedNodesKeepTheirTimersIfAskedAndAReplayAgrees) {
  const auto come_back = [&] {  // Every node, under its name with another UID.
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
  const auto anew = JsonRound("2026-06-01T12:10:01Z");
  EXPECT_EQ(anew.at("unneeded").at(0).at("since"), "2026-06-01T12:10:01Z");
  EXPECT_TRUE(anew.at("deleteNow").at("empty").empty());
}

TEST_F(RoundCommandTest, NamesAreThoseToDeleteNow) {
  EXPECT_EQ(Round("2026-06-01T12:00:00Z", {"-o", "name"}).out, "");
  EXPECT_EQ(Round("2026-06-01T12:10:01Z", {"-o", "name"}).out, "node/c\nnode/a\n");
}

TEST_F(RoundCommandTest, TableTellsTheStatusAndWhoWaits) {
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
  sqlite3* db = nullptr;
  sqlite3_open(Record().c_str(), &db);
  sqlite3_exec(db, "UPDATE rounds SET decision = replace(decision, 'NotUnneeded', 'Not')", nullptr,
               nullptr, nullptr);
  sqlite3_close(db);
  const Outcome replay = Ebb({"replay", Record()});
  EXPECT_EQ(replay.code, 1);
  EXPECT_NE(replay.out.find("DIFFERENT"), std::string::npos);
}

TEST_F(RoundCommandTest, RecordMayBeginInTheMiddle) {
  ASSERT_EQ(Round("2026-06-01T12:00:00Z").code, 0);
  ASSERT_EQ(Round("2026-06-01T12:10:01Z", {"--record", Record()}).code, 0);
  EXPECT_EQ(Ebb({"replay", Record()}).code, 0);
}

TEST_F(RoundCommandTest, StateThatIsNoneIsBadInputAndKept) {
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

TEST_F(RoundCommandTest, ClockThatRunsBackwardsIsToldAndHarmless) {
  Round("2026-06-01T12:00:00Z");
  const Outcome outcome = Round("2026-06-01T11:00:00Z");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("clock ran backwards"), std::string::npos);
}

TEST_F(RoundCommandTest, OldFlagIsWarnedAboutAndTaken) {
  const Outcome first = Round("2026-06-01T12:00:00Z", {"--max-empty-bulk-delete", "1"});
  EXPECT_NE(first.err.find("--max-scale-down-parallelism"), std::string::npos);
  const auto second = JsonRound("2026-06-01T12:10:01Z", {"--max-empty-bulk-delete", "1"});
  EXPECT_EQ(second.at("deleteNow").at("empty").size(), 1u);
  EXPECT_EQ(second.at("deleteNow").at("drain").size(), 0u);
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
}  // namespace ebb
