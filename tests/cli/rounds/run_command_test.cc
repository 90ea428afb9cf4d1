#include "cli/rounds/run_command.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/rounds/simulation_print.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::run_command_test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer EbbRun(std::vector<const char*> words) {
  words.insert(words.begin(), {"ebb", "run"});
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(static_cast<int>(words.size()), words.data(), in, out, err);
  return {code, out.str(), err.str()};
}

TEST(RunCommandTest, TheSameArgumentsGiveTheSameFigures) {
  const Answer one = EbbRun({"--simulate", "--nodes", "20", "--hours", "2", "--faults"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("20 nodes for 2 h, seed 1\nsaved: "));
  EXPECT_THAT(one.out, HasSubstr("evictions refused by a budget"));
  EXPECT_EQ(one.out, EbbRun({"--simulate", "--nodes", "20", "--hours", "2", "--faults"}).out);
  EXPECT_NE(one.out,
            EbbRun({"--simulate", "--nodes", "20", "--hours", "2", "--faults", "--seed", "2"}).out);
}

TEST(RunCommandTest, MoreDrainsAtATimeSaveMoreWhereManyNodesAreUnneeded) {
  const Answer one = EbbRun({"--simulate", "--nodes", "200", "--hours", "2"});
  const Answer five =
      EbbRun({"--simulate", "--nodes", "200", "--hours", "2", "--max-drain-parallelism", "5"});
  const auto saved = [](const Answer& answer) {
    return std::stoi(answer.out.substr(answer.out.find("saved: ") + 7));
  };
  EXPECT_GT(saved(five), saved(one));
}

TEST(RunCommandTest, FlagsThatDoNotGoTogetherAreRefused) {
  const auto why = [](std::vector<const char*> words) {
    const Answer refused = EbbRun(std::move(words));
    EXPECT_EQ(refused.code, 2);
    return refused.err;
  };
  EXPECT_THAT(why({"--nodes", "20"}), HasSubstr("pass --simulate; "));
  EXPECT_THAT(why({"--actuator", "unix:p"}), HasSubstr("or --actuator with --server or --socket"));
  EXPECT_THAT(why({"--server", "unix:e"}), HasSubstr("pass --actuator unix:PATH, or --dry-run"));
  EXPECT_THAT(why({"--socket", "e", "--actuator", "unix:p"}),
              HasSubstr("expected --state FILE or --state-folder DIR"));
  EXPECT_THAT(why({"--input", "x.json"}), HasSubstr("pass --dry-run or --simulate too"));
  EXPECT_THAT(why({"--server", "unix:e", "--actuator", "unix:p", "--state", "s.db"}),
              HasSubstr("--state needs --socket: a daemon keeps the state"));
  EXPECT_THAT(why({"--server", "unix:e", "--socket", "e"}),
              HasSubstr("with --socket ebb is the daemon itself"));
  EXPECT_THAT(why({"--simulate", "--gangs", "move"}), HasSubstr("does not go with `ebb run`"));
  EXPECT_THAT(why({"--simulate", "--strict"}),
              HasSubstr("with --simulate needs --input: a simulation of a generated cluster"));
  EXPECT_THAT(why({"--simulate", "--input", "x.json", "--nodes", "5"}),
              HasSubstr("the number of nodes is that of --input"));
  EXPECT_THAT(why({"--simulate", "--input", "x.json", "--kind", "mixed"}),
              HasSubstr("the cluster is that of the dump"));
  EXPECT_THAT(why({"--simulate", "--dry-run"}), HasSubstr("a simulation touches no real node"));
  EXPECT_EQ(EbbRun({"--simulate", "--hours", "0"}).code, 2);
  EXPECT_EQ(EbbRun({"--simulate", "--nodes", "0"}).code, 2);
  EXPECT_EQ(EbbRun({"--simulate", "--nodes", "many"}).code, 2);
}

// Symptom: neither file was made, without a message.
TEST(RunCommandTest, FlagsThatADryRunDoesNotReadGiveANote) {
  const Answer answer = EbbRun({"--socket", "/nowhere/e.sock", "--dry-run", "--state", "s.db",
                                "--record", "r.db", "--actuator", "unix:p"});
  EXPECT_THAT(answer.err, HasSubstr("ebb run: note: with --dry-run these do not count: --actuator, "
                                    "--state, --record\n"));
  EXPECT_THAT(
      EbbRun({"--simulate", "--nodes=4", "--hours=1", "--scale-down-simulation-timeout=1m"}).err,
      HasSubstr("note: with --simulate these do not count: --scale-down-simulation-timeout\n"));
}

TEST(RunCommandTest, AnAddressThatIsNotASocketIsNamed) {
  Answer refused = EbbRun({"--server", "e.sock", "--actuator", "unix:p"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--server: e.sock: is not of the form unix:PATH"));
  refused = EbbRun({"--server", "unix:e.sock", "--actuator", "p.sock"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("p.sock"));
  refused = EbbRun({"--server", "unix:e", "--session", "No Name", "--actuator", "unix:p"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("session: \"No Name\" is not a name"));
  refused = EbbRun({"--socket", "/nowhere/e.sock", "--dry-run"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere"));
}

TEST(RunCommandTest, FlagsOfRoundsChangeWhatASimulationDoes) {
  const std::vector<const char*> words = {"--simulate", "--nodes", "20", "--hours", "2"};
  const std::string usual = EbbRun(words).out;
  for (const char* flag : {"--scale-down-unneeded-time=1m", "--nodes-min=19",
                           "--scale-down-utilization-threshold=0.1"}) {
    std::vector<const char*> with = words;
    with.push_back(flag);
    const Answer answer = EbbRun(with);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_NE(answer.out, usual) << flag;
  }
}

TEST(RunCommandTest, AReportThatCannotBeWrittenIsAnError) {
  const Answer refused =
      EbbRun({"--simulate", "--nodes", "4", "--hours", "1", "--report", "/nowhere/page.html"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/page.html"));
}

SimulationStory Story() {
  SimulationStory story;
  story.title = "a <title>";
  story.hours = 2;
  story.options = {{"a & b", "\"c\""}};
  for (int i = 0; i < 3; ++i) {
    SimulationSample sample;
    sample.time_s = 1000 + i * 3600;
    sample.nodes = static_cast<size_t>(10 - i);
    story.with.samples.push_back(sample);
    sample.nodes = 10;
    story.without.samples.push_back(sample);
  }
  story.with.node_hours = 18;
  story.without.node_hours = 20;
  story.with.nodes_at_last = 8;
  story.without.nodes_at_last = 10;
  return story;
}

// The data of a page that is not compressed.
nlohmann::json StoryOf(const std::string& page) {
  const std::string begin = "id=\"data\">\n";
  const size_t from = page.find(begin);
  if (from == std::string::npos) return {};
  const size_t to = page.find("\n</script>", from);
  return nlohmann::json::parse(page.substr(from + begin.size(), to - from - begin.size()))["story"];
}

TEST(RunCommandTest, ThePageIsThatOfReportsWithTheTextsAsData) {
  const std::string page = SimulationPage(Story());
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, Not(HasSubstr("a <title>")));
  const nlohmann::json story = StoryOf(page);
  EXPECT_EQ(story["title"], "a <title>");
  EXPECT_EQ(story["headline"], "saved: 2 node-hours of 20 (10.0%), 2 nodes fewer at the end");
  const nlohmann::json& options = story["parts"].back()["items"].back();
  EXPECT_EQ(options["table"], "Options");
  EXPECT_EQ(options["rows"], nlohmann::json::parse(R"([["a & b", "\"c\""]])"));
}

TEST(RunCommandTest, ThePageHasACurveForEachSeriesFromFirstToLast) {
  const nlohmann::json story = StoryOf(SimulationPage(Story()));
  const nlohmann::json& chart = story["parts"][0]["items"][0];
  EXPECT_EQ(chart["chart"], "Nodes");
  EXPECT_EQ(chart["lines"], nlohmann::json::parse(
                                R"([{"name": "with ebb", "points": [[0, 10], [3600, 9], [7200, 8]]},
          {"name": "without", "points": [[0, 10], [3600, 10], [7200, 10]]}])"));
}

TEST(RunCommandTest, TheSummarySaysIfMoreNodesAreLeftAtTheEnd) {
  SimulationStory story = Story();
  story.with.nodes_at_last = 11;
  std::ostringstream out;
  PrintSimulation(story, out);
  EXPECT_THAT(out.str(), HasSubstr("saved: 2 node-hours of 20 (10.0%), 1 node more at the end"));
}

TEST(RunCommandTest, MoreNodeHoursThanTheBaselineAreNotCalledSaved) {
  SimulationStory story = Story();
  story.with.node_hours = 25;
  std::ostringstream out;
  PrintSimulation(story, out);
  EXPECT_THAT(out.str(), HasSubstr("nothing saved: 5 node-hours more than without"));
}

}  // namespace
}  // namespace ebb::run_command_test
