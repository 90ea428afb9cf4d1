// `ebb policy`, called as from a shell.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "rounds/sqlite_state.h"

namespace ebb::policy_command_test {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran Policy(std::vector<std::string> words) {
  std::vector<const char*> argv = {"ebb", "policy"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(static_cast<int>(argv.size()), argv.data(), in, out, err);
  return {code, out.str(), err.str()};
}

class PolicyCommandTest : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const std::string path =
        testing::TempDir() + "ebb-policy-" + std::to_string(getpid()) + "-" + name;
    std::ofstream(path) << text;
    files_.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string& file : files_) std::filesystem::remove(file);
  }
  std::string Dump() {
    std::string nodes = "apiVersion: v1\nkind: List\nitems:\n";
    for (const char* name : {"web-1", "web-2"}) {
      nodes += "- {apiVersion: v1, kind: Node, metadata: {name: " + std::string(name) +
               ", labels: {pool: web}, creationTimestamp: \"2026-01-01T00:00:00Z\"}, "
               "status: {allocatable: {cpu: \"1\", memory: 100Gi}}}\n";
    }
    for (int i = 0; i < 10; ++i) {
      nodes += "- {apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p" +
               std::to_string(i) +
               "}, spec: {nodeName: web-1, nodeSelector: {pool: web}, containers: [{name: a, "
               "resources: {requests: {cpu: 500m, memory: 1Gi}}}]}, status: {phase: Running}}\n";
    }
    return File("dump.yaml", nodes);
  }

 private:
  std::vector<std::string> files_;
};

TEST_F(PolicyCommandTest, TheOutputOfInitPassesCheck) {
  for (const char* school : {"clusterman", "escalator", "maestro", "replicator"}) {
    const Ran made = Policy({"init", "--school", school});
    ASSERT_EQ(made.code, 0) << made.err;
    const Ran checked = Policy({"check", File("sample.yaml", made.out)});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.out, "1 pool is right\n");
  }
}

TEST_F(PolicyCommandTest, EvalShowsWhatTheDecisionWasComputedFrom) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const Ran table = Policy({"eval", pools, Dump()});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("pool web, escalator: 2 nodes, +6 (up)\n"));
  EXPECT_THAT(table.out, HasSubstr("  utilization percent       250\n"));
  const Ran json = Policy({"eval", pools, Dump(), "-o", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"version\": \"ebb.policy.eval/v1\""));
  EXPECT_THAT(json.out, HasSubstr("\"delta\": 6"));
}

TEST_F(PolicyCommandTest, AStaleSignalLeavesThePoolUnchanged) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string series =
      File("s.csv", "time,pool,signal,value\n2026-01-02T00:00:00Z,web,cpus,1\n");
  const auto at = [&](const std::string& now) {
    return Policy({"eval", pools, Dump(), "--series", series, "--now", now}).out;
  };
  EXPECT_THAT(at("2026-01-02T00:10:01Z"), HasSubstr("2 nodes, stays (stale signal)\n"));
  EXPECT_THAT(at("2026-01-02T00:10:00Z"), HasSubstr("2 nodes, +6 (up)\n"));
}

TEST_F(PolicyCommandTest, ABadFileIsAnErrorOfOneLine) {
  const Ran bad = Policy({"check", File("bad.yaml", "pools:\n- nam: web\n")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml: line 2: pools[0].nam: no such field; did you mean "
                                 "name?"));
  EXPECT_EQ(Policy({"check", "/nonexistent/pools.yaml"}).code, 1);
}

TEST_F(PolicyCommandTest, EvalContinuesFromItsStateFile) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string state = File("state.db", "");
  const std::string dump = Dump();
  const auto at = [&](const std::string& now) {
    const Ran ran = Policy({"eval", pools, dump, "--state", state, "--now", now});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  EXPECT_THAT(at("2026-01-02T00:00:00Z"), HasSubstr("2 nodes, +6 (up)\n"));
  EXPECT_THAT(at("2026-01-02T00:05:00Z"), HasSubstr("denied by scale_up_cool_down_period\n"));
  EXPECT_THAT(at("2026-01-02T00:10:00Z"), HasSubstr("2 nodes, +6 (up)\n"));
  EXPECT_THAT(at("2026-01-01T00:00:00Z"), HasSubstr("denied by clock\n"));
}

TEST_F(PolicyCommandTest, AFileThatIsNotAStateIsRejectedAndNothingIsPrinted) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string state = File("state.db", std::string(200, 'x'));
  const Ran ran = Policy({"eval", pools, Dump(), "--state", state});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
}

TEST_F(PolicyCommandTest, FailsafeIsListedAndEnds) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string state = File("state.db", "");
  ASSERT_EQ(Policy({"eval", pools, Dump(), "--state", state}).code, 0);
  const auto store = SqliteState::Open(state, {});
  SizingState sizing = (*store)->LoadSizing().value();
  sizing.pools[0].failsafe = true;
  sizing.pools[0].failures = 3;
  ASSERT_TRUE((*store)->SaveSizing(sizing).ok());
  EXPECT_THAT(Policy({"failsafe", "list", "--state", state}).out,
              HasSubstr("web   escalator  yes       3 "));
  EXPECT_THAT(
      Policy({"eval", pools, Dump(), "--state", state, "--now", "2027-01-01T00:00:00Z"}).out,
      HasSubstr("denied by failsafe\n"));
  const Ran wrong = Policy({"failsafe", "clear", "wed", "--state", state});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("no pool has the name wed; did you mean web?"));
  EXPECT_EQ(Policy({"failsafe", "clear", "web", "--state", state}).out,
            "pool web: its failsafe has ended\n");
  EXPECT_EQ(Policy({"failsafe", "clear", "web", "--state", state}).out,
            "pool web is not in failsafe\n");
  EXPECT_THAT(Policy({"failsafe", "list", "--state", state}).out,
              HasSubstr("web   escalator  no        0 "));
  EXPECT_EQ(Policy({"failsafe", "list", "--state", "/nonexistent.db"}).code, 1);
}

TEST_F(PolicyCommandTest, EvalReadsWhatPodsUse) {
  const std::string sample = Policy({"init", "--school", "maestro"}).out;
  std::string cpu = sample;
  while (cpu.find("type: room") != std::string::npos) {
    cpu.replace(cpu.find("type: room"), 10, "type: cpu");
  }
  const std::string pools = File("pools.yaml", cpu);
  const std::string usage =
      File("usage.json", R"({"kind":"PodMetricsList","items":[{"metadata":{"namespace":)"
                         R"("shop","name":"p0"},"timestamp":"2026-01-01T00:00:30Z",)"
                         R"("containers":[{"usage":{"cpu":"490m","memory":"1Gi"}}]}]})");
  const Ran with = Policy({"eval", pools, Dump(), "--usage", usage});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("utilization 0.98, limit hit"));
  EXPECT_THAT(Policy({"eval", pools, Dump()}).out, HasSubstr("utilization unknown (no usage)"));
  EXPECT_EQ(Policy({"eval", pools, Dump(), "--usage", pools}).code, 1);
}

TEST_F(PolicyCommandTest, OldUsageFiguresLeaveThePoolUnchanged) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "maestro"}).out);
  const std::string usage =
      File("usage.json", R"({"kind":"PodMetricsList","items":[{"metadata":{"namespace":)"
                         R"("shop","name":"p0"},"timestamp":"2026-01-01T00:00:30Z",)"
                         R"("containers":[{"usage":{"cpu":"490m","memory":"1Gi"}}]}]})");
  const Ran ran =
      Policy({"eval", pools, Dump(), "--usage", usage, "--now", "2026-01-04T00:00:00Z"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("stays (stale usage)\n  denied by signalPeriod\n"));
  EXPECT_THAT(ran.out, HasSubstr("the usage of pod shop/p0 is of 2026-01-01T00:00:30Z"));
}

TEST_F(PolicyCommandTest, AFailedQueryLeavesOnlyItsPoolUnchanged) {
  std::string file = Policy({"init", "--school", "escalator"}).out;
  std::string other = Policy({"init", "--school", "escalator"}).out;
  other = other.substr(other.find("- name: web"));
  other.replace(0, 11, "- name: two\n  queries: {cpus: up}");
  const std::string pools = File(
      "pools.yaml", file + other + "\nprometheus: {url: \"http://127.0.0.1:1\", timeout: 1}\n");
  const Ran ran = Policy({"eval", pools, Dump()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("pool web, escalator: 2 nodes, +6 (up)\n"));
  EXPECT_THAT(ran.out, HasSubstr("pool two, escalator: 2 nodes, stays (a query failed)\n"));
  EXPECT_THAT(ran.err, HasSubstr("pool two, signal cpus: query \"up\""));
}

TEST_F(PolicyCommandTest, PoolsThatNodesDeclareAreDiscovered) {
  const std::string pools = File("pools.yaml", "discover: {prefix: x/}\n");
  const std::string node = File(
      "node.yaml",
      "{apiVersion: v1, kind: Node, metadata: {name: n, labels: {x/replicator_enabled: \"true\", "
      "x/replicator_worker_pool: web, x/replicator_region: here, x/replicator_provider: aws}, "
      "annotations: {x/replicator_notification_uid: u, x/replicator_max: \"3\"}, "
      "creationTimestamp: \"2026-01-01T00:00:00Z\"}, status: {allocatable: {cpu: \"1\", memory: "
      "1Gi}}}\n");
  const Ran ran = Policy({"eval", pools, node, "--assume-complete"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("pool web, replicator: 1 node, stays"));
  // Symptom: over a dump without pods, ebb decided that nodes were unused.
  const Ran nodes_alone = Policy({"eval", pools, node});
  EXPECT_EQ(nodes_alone.code, 1);
  EXPECT_EQ(nodes_alone.out, "");
  EXPECT_THAT(nodes_alone.err, HasSubstr("1 node and not a single pod"));
  const std::string pod =
      File("pod.yaml",
           "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {nodeName: n, "
           "containers: []}}\n");
  EXPECT_THAT(Policy({"eval", pools, node, pod}).err, HasSubstr("none of kube-system"));
  EXPECT_EQ(Policy({"eval", pools, node, pod}).code, 0);
  EXPECT_EQ(Policy({"eval", pools, node, pod, "--strict"}).code, 1);
}

TEST_F(PolicyCommandTest, SimulateComparesTheFourSchoolsAndWritesAPage) {
  const std::string page = File("page.html", "");
  const Ran ran = Policy({"simulate", "--hours", "2", "--report", page});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* const what : {"clusterman", "escalator", "maestro", "replicator", "node-hours",
                                 "unmet demand, pod-hours", "flaps"}) {
    EXPECT_THAT(ran.out, HasSubstr(what));
  }
  std::stringstream html;
  html << std::ifstream(page).rdbuf();
  EXPECT_THAT(html.str(), HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(html.str(), HasSubstr(R"("chart":"Nodes","percent":false,"lines":[{"name":)"));
  EXPECT_EQ(Policy({"simulate", "--hours", "2"}).out, ran.out);  // A second run prints the same.
}

TEST_F(PolicyCommandTest, SimulateRunsARecordedLoad) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string series = File("load.csv",
                                  "time,pool,signal,value\n2026-01-02T00:00:00Z,web,pods,10\n"
                                  "2026-01-02T01:00:00Z,web,pods,60\n");
  const Ran json = Policy({"simulate", pools, "--series", series, "--hours", "3", "-o", "json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"version\": \"ebb.policy.simulate/v2\""));
  EXPECT_THAT(json.out, HasSubstr("\"wanted\": 60"));
  const Ran none =
      Policy({"simulate", pools, "--series", File("x.csv", "time,pool,signal,value\n")});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("the series has no signal \"pods\""));
  EXPECT_EQ(Policy({"simulate", pools, "--series", series, "--load", "day"}).code, 2);
}

}  // namespace
}  // namespace ebb::policy_command_test
