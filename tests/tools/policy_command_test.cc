// `ebb policy`, as a shell calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli.h"

namespace ebb {
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

TEST_F(PolicyCommandTest, WhatInitPrintsPassesCheck) {
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

TEST_F(PolicyCommandTest, AStaleSignalKeepsThePoolAsItIs) {
  const std::string pools = File("pools.yaml", Policy({"init", "--school", "escalator"}).out);
  const std::string series =
      File("s.csv", "time,pool,signal,value\n2026-01-02T00:00:00Z,web,cpus,1\n");
  const auto at = [&](const std::string& now) {
    return Policy({"eval", pools, Dump(), "--series", series, "--now", now}).out;
  };
  EXPECT_THAT(at("2026-01-02T00:10:01Z"), HasSubstr("2 nodes, stays (stale signal)\n"));
  EXPECT_THAT(at("2026-01-02T00:10:00Z"), HasSubstr("2 nodes, +6 (up)\n"));
}

TEST_F(PolicyCommandTest, ABadFileIsToldInOneLine) {
  const Ran bad = Policy({"check", File("bad.yaml", "pools:\n- nam: web\n")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml: line 2: pools[0].nam: no such field; did you mean "
                                 "name?"));
  EXPECT_EQ(Policy({"check", "/nonexistent/pools.yaml"}).code, 1);
}

}  // namespace
}  // namespace ebb
