#include "sizing/policy_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_replace.h"
#include "sizing/policy_schema.h"

namespace ebb::policy_file_test {
namespace {

absl::StatusOr<std::vector<SizedPool>> Read(const std::string& yaml) {
  return ReadPolicyFile("pools.yaml", yaml, PolicyRegistry());
}

std::string Sample(std::string_view school) {
  return PolicyFileSample(*PolicyRegistry().Find(school));
}

// The error for the sample in which `from` is replaced with `to`.
std::string ErrorWith(std::string_view school, const std::string& from, const std::string& to) {
  const std::string sample = Sample(school);
  EXPECT_NE(sample.find(from), std::string::npos) << from << " is not in\n" << sample;
  return std::string(Read(absl::StrReplaceAll(sample, {{from, to}})).status().message());
}

TEST(PolicyFileTest, EverySamplePasses) {
  for (const std::string& school : PolicyRegistry().Names()) {
    const auto pools = Read(Sample(school));
    ASSERT_TRUE(pools.ok()) << pools.status() << "\n" << Sample(school);
    ASSERT_EQ(pools->size(), 1u);
    EXPECT_EQ(pools->front().policy_name, school);
    EXPECT_EQ(pools->front().cloud.max, 10);
    EXPECT_NE(pools->front().policy, nullptr);
  }
}

TEST(PolicyFileTest, TheErrorForAnUnknownKeyNamesItsLineAndTheNearestKey) {
  const std::string unknown = ErrorWith("escalator", "    min_nodes:", "    min_node:");
  EXPECT_TRUE(unknown.starts_with(
      "pools.yaml: line 30: pools[0].options.min_node: no such field; did you mean min_nodes? The "
      "fields here are "))
      << unknown;
  EXPECT_TRUE(unknown.ends_with(" (ebb follows Escalator, commit 043bb1b5e78b of March 2026)"))
      << unknown;
  EXPECT_NE(
      ErrorWith("maestro", "usage:", "usag:")
          .find("pools[0].options.up.metricsTrigger[0].usag: no such field; did you mean usage?"),
      std::string::npos);
  EXPECT_NE(
      ErrorWith("maestro", "  cloud:", "  clud:").find("clud: no such field; did you mean cloud?"),
      std::string::npos);
}

TEST(PolicyFileTest, ErrorsForWrongTypesAndRangesNameTheKey) {
  EXPECT_NE(ErrorWith("escalator", "min_nodes: 1", "min_nodes: one")
                .find("options.min_nodes: \"one\" is not a whole number"),
            std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "dry_mode: false", "dry_mode: 3")
                .find("options.dry_mode: \"3\" is neither true nor false"),
            std::string::npos);
  EXPECT_NE(ErrorWith("clusterman", "setpoint: 0.7", "setpoint: 70")
                .find("options.autoscaling.setpoint: 70 is above 1"),
            std::string::npos);
  EXPECT_NE(
      ErrorWith("maestro", "threshold: 80", "threshold: 101").find("threshold: 101 is above 100"),
      std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "min_nodes: 1", "min_nodes: [1]")
                .find("options.min_nodes: is not a value of type int"),
            std::string::npos);
  EXPECT_NE(ErrorWith("replicator", "scaled_jobs: [shop/ReplicaSet/web]", "scaled_jobs: web")
                .find("options.scaled_jobs: is not a list"),
            std::string::npos);
}

TEST(PolicyFileTest, ProblemsThatThePolicyFindsNameTheLine) {
  const std::string error =
      ErrorWith("escalator", "soft_delete_grace_period: 5m", "soft_delete_grace_period: soon");
  EXPECT_NE(error.find("options.soft_delete_grace_period: "), std::string::npos) << error;
  EXPECT_NE(error.find("pools.yaml: line 4"), std::string::npos) << error;
}

TEST(PolicyFileTest, RequiredKeysAndDuplicatePoolsAreErrors) {
  EXPECT_NE(
      ErrorWith("escalator", "    label_key: pool\n", "").find("options.label_key: is required"),
      std::string::npos);
  const std::string sample = Sample("escalator");
  const std::string again = sample.substr(sample.find("- name"));
  EXPECT_NE(Read(sample + again)
                .status()
                .message()
                .find("pools[1].name: two pools have the name \"web\""),
            absl::string_view::npos);
  EXPECT_NE(
      ErrorWith("escalator", "policy: escalator", "policy: escalater")
          .find("pools[0].policy: no policy has the name \"escalater\"; did you mean escalator?"),
      std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "min: 1, max: 10", "min: 11, max: 10")
                .find("pools[0].cloud.min: is above max"),
            std::string::npos);
}

TEST(PolicyFileTest, AllErrorsAreReturnedAtOnceIfRequested) {
  std::string yaml = Sample("escalator");
  const auto change = [&yaml](const std::string& from, const std::string& to) {
    ASSERT_NE(yaml.find(from), std::string::npos) << from;
    yaml.replace(yaml.find(from), from.size(), to);
  };
  change("    label_key: pool\n", "    label_kee: pool\n");
  change("min_nodes: 1", "min_nodes: [1]");
  yaml +=
      "- {name: b, policy: escalater, cloud: {min: 1, max: 2}, options: {}, kolor: red}\n"
      "- {policy: escalator, cloud: {min: 1}}\ncolour: red\n";
  std::vector<std::string> all;
  const auto read = ReadSizingFile("pools.yaml", yaml, PolicyRegistry(), &all);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto has = [&all](const std::string& error) {
    return std::ranges::count_if(
        all, [&](const std::string& each) { return each.find(error) != std::string::npos; });
  };
  for (const char* error : {"colour: ", "options.label_kee: ", "options.min_nodes: is not a value",
                            "label_key: is required", "pools[1].kolor: ",
                            "pools[1].policy: no policy has the name", "pools[2].name: is required",
                            "pools[2].cloud.max: is required", "pools[2].options: is required"}) {
    EXPECT_EQ(has(error), 1) << error << "\n" << ::testing::PrintToString(all);
  }
  EXPECT_FALSE(ReadSizingFile("pools.yaml", yaml, PolicyRegistry()).ok());
}

TEST(PolicyFileTest, AFileWithoutPoolsIsAnError) {
  for (const char* yaml : {"", "[]", "pools: 3", "pools: [3]", "pools: [{}]", "pols: []",
                           "pools:\n- name: web\n  name: web\n", "pools: [{? [a] : b}]", "\t"}) {
    EXPECT_FALSE(Read(yaml).ok()) << yaml;
  }
}

std::string Why(const std::string& rest) {
  const auto read = ReadSizingFile("pools.yaml", Sample("escalator") + rest, PolicyRegistry());
  return std::string(read.status().message());
}

TEST(PolicyFileTest, NotificationsPrometheusAndDiscoveryAreTopLevelKeys) {
  const auto read = ReadSizingFile("pools.yaml", R"(
discover: {prefix: example.com/}
prometheus: {url: "http://p:9090", timeout: 3}
notifications:
- log: true
- webhook: {url: "http://h/x", retries: 5, timeout: 2}
- exec: {command: [mail, -s, ebb], timeout: 4}
)",
                                   PolicyRegistry());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->discover_prefix, "example.com/");
  EXPECT_EQ(read->prometheus, (PrometheusSettings{.url = "http://p:9090", .timeout_s = 3}));
  using Kind = NotifierSettings::Kind;
  ASSERT_EQ(read->notifications.size(), 3u);
  EXPECT_EQ(read->notifications[0].kind, Kind::kLog);
  EXPECT_EQ(read->notifications[1],
            (NotifierSettings{
                .kind = Kind::kWebhook, .url = "http://h/x", .retries = 5, .timeout_s = 2}));
  EXPECT_EQ(
      read->notifications[2],
      (NotifierSettings{.kind = Kind::kExec, .command = {"mail", "-s", "ebb"}, .timeout_s = 4}));
}

TEST(PolicyFileTest, ErrorsOutsideThePoolsNameTheKey) {
  const auto has = [](const std::string& rest, const std::string& what) {
    EXPECT_NE(Why(rest).find(what), std::string::npos) << Why(rest);
  };
  has("notification: []\n", "notification: no such field; did you mean notifications?");
  has("notifications: 3\n", "notifications: is not a list");
  has("notifications: [{}]\n", "notifications[0]: is not one of log, webhook and exec");
  has("notifications: [{log: true, exec: {command: [a]}}]\n", "is not one of");
  has("notifications: [{webhook: {retries: 2}}]\n", "notifications[0].webhook.url: is required");
  has("notifications: [{webhook: {urk: x}}]\n",
      "notifications[0].webhook.urk: no such field; did you mean url?");
  has("notifications: [{exec: {command: []}}]\n", "notifications[0].exec.command: is required");
  has("notifications: [{exec: {command: [a], timeout: 0}}]\n", "timeout: 0 is below 1");
  has("notifications: [{webhook: {url: \"htps://x\"}}]\n",
      "notifications[0].webhook.url: \"htps://x\" is not an http:// or https:// address");
  has("notifications: [{webhook: {url: \"file:///etc/passwd\"}}]\n",
      "notifications[0].webhook.url: \"file:///etc/passwd\" is not an http://");
  has("prometheus: {url: \"not a url\"}\n", "prometheus.url: \"not a url\" is not an http://");
  has("prometheus: {url: \"http://\"}\n", "prometheus.url: \"http://\" has no host");
  has("prometheus: {}\n", "prometheus.url: is required");
  has("prometheus: {ur: x}\n", "prometheus.ur: no such field; did you mean url?");
  const std::string queries = "  queries: {cpus: up}\n  options:\n";
  EXPECT_EQ(ErrorWith("escalator", "  options:\n", queries),
            "pools.yaml: pools[0].queries: needs prometheus.url");
  EXPECT_NE(ErrorWith("escalator", "  options:\n", "  queries: [a]\n  options:\n")
                .find("pools[0].queries: is not a map of queries by signal"),
            std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "order: policy", "order: oldest")
                .find("pools[0].order: is not policy or planner"),
            std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "stepTimeout: 900", "stepTimeout: 0")
                .find("pools[0].stepTimeout: 0 is below 1"),
            std::string::npos);
}

SizingFile Whole(const std::string& yaml) {
  auto read = ReadSizingFile("pools.yaml", yaml, PolicyRegistry());
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : SizingFile();
}

TEST(PolicyFileTest, APoolWithoutAPeriodHasThatOfItsProgram) {
  const auto without = [](std::string_view school, const std::string& line) {
    const std::string sample = Sample(school);
    EXPECT_NE(sample.find(line), std::string::npos) << sample;
    const SizingFile file = Whole(absl::StrReplaceAll(sample, {{line, ""}}));
    EXPECT_TRUE(file.warnings.empty());
    return file.pools.empty() ? -1 : file.pools[0].period_s;
  };
  EXPECT_EQ(without("clusterman", "  period: 600\n"), 600);
  EXPECT_EQ(without("escalator", "  period: 60\n"), 60);
  EXPECT_EQ(without("maestro", "  period: 10\n"), 10);
  EXPECT_EQ(without("replicator", "  period: 10\n"), 10);
}

TEST(PolicyFileTest, APeriodThatIsNotThatOfTheOptionsIsAWarning) {
  for (const std::string& school : PolicyRegistry().Names()) {
    EXPECT_TRUE(Whole(Sample(school)).warnings.empty()) << school;
  }
  const SizingFile file =
      Whole(absl::StrReplaceAll(Sample("maestro"), {{"  period: 10\n", "  period: 60\n"}}));
  EXPECT_EQ(file.pools.at(0).period_s, 60);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("pool web: period is 1 min, autoScalingPeriod is 10 s"),
            std::string::npos)
      << file.warnings[0];
}

TEST(PolicyFileTest, NodesThatAreNotThoseOfEscalatorsLabelAreAWarning) {
  const SizingFile file =
      Whole(absl::StrReplaceAll(Sample("escalator"), {{"nodes: {pool: web}", "nodes: {zone: a}"}}));
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("its nodes are those with zone=a, and escalator counts pods that "
                                  "ask for pool=web"),
            std::string::npos)
      << file.warnings[0];
}

TEST(PolicyFileTest, PoolsThatCannotBeDistinguishedAreConflicts) {
  const std::string sample = Sample("maestro");
  const std::string again = sample.substr(sample.find("- name"));
  const auto with = [&](const std::string& nodes, const std::string& first_group,
                        const std::string& group) {
    const auto in = [](const std::string& yaml, const std::string& name) {
      return name.empty()
                 ? yaml
                 : absl::StrReplaceAll(yaml, {{"  order:", "  group: " + name + "\n  order:"}});
    };
    return Whole(in(sample, first_group) +
                 in(absl::StrReplaceAll(again, {{"- name: web", "- name: b"},
                                                {"nodes: {pool: web}", "nodes: " + nodes}}),
                    group))
        .conflicts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(with("{pool: b}", "", ""), Texts());
  EXPECT_EQ(with("{pool: b}", "one", "two"), Texts());
  EXPECT_EQ(with("{pool: web}", "", ""),
            Texts{"pools web and b: all nodes with pool=web are nodes of both"});
  EXPECT_EQ(with("{pool: web, zone: a}", "", ""),
            Texts{"pools web and b: all nodes with pool=web, zone=a are nodes of both"});
  EXPECT_EQ(with("{pool: b}", "asg", "asg"), Texts{"pools web and b: both are group asg"});
}

TEST(PolicyFileTest, TheSchemaHasEveryKeyOfEverySchool) {
  const nlohmann::ordered_json schema = PolicyFileSchema(PolicyRegistry());
  const auto& pool = schema["properties"]["pools"]["items"];
  ASSERT_EQ(pool["allOf"].size(), 4u);
  const auto& maestro = pool["allOf"][2];
  EXPECT_EQ(maestro["if"]["properties"]["policy"]["const"], "maestro");
  const auto& up = maestro["then"]["properties"]["options"]["properties"]["up"];
  const auto& trigger = up["properties"]["metricsTrigger"]["items"];
  EXPECT_EQ(trigger["properties"]["threshold"]["maximum"], 100);
  EXPECT_EQ(trigger["required"], nlohmann::ordered_json({"type", "usage"}));
  EXPECT_EQ(trigger["additionalProperties"], false);
}

}  // namespace
}  // namespace ebb::policy_file_test
