#include "service/sizing/policy_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_replace.h"
#include "service/sizing/policy_schema.h"

namespace ebb {
namespace {

absl::StatusOr<std::vector<SizedPool>> Read(const std::string& yaml) {
  return ReadPolicyFile("pools.yaml", yaml, PolicyRegistry());
}

std::string Sample(std::string_view school) {
  return PolicyFileSample(*PolicyRegistry().Find(school));
}

// The error that the sample gives with `from` replaced by `to`.
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

TEST(PolicyFileTest, AnUnknownKeyIsToldWithItsLineAndTheNearest) {
  EXPECT_EQ(ErrorWith("escalator", "    min_nodes:", "    min_node:"),
            "pools.yaml: line 23: pools[0].options.min_node: no such field; did you mean "
            "min_nodes?");
  EXPECT_NE(
      ErrorWith("maestro", "usage:", "usag:")
          .find("pools[0].options.up.metricsTrigger[0].usag: no such field; did you mean usage?"),
      std::string::npos);
  EXPECT_NE(
      ErrorWith("maestro", "  cloud:", "  clud:").find("clud: no such field; did you mean cloud?"),
      std::string::npos);
}

TEST(PolicyFileTest, WrongTypesAndRangesAreToldWithTheirKey) {
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

TEST(PolicyFileTest, WhatThePolicyMakesOfItsOptionsIsToldWithTheirLine) {
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
                .find("pools[1].name: there are two pools of the name \"web\""),
            absl::string_view::npos);
  EXPECT_NE(ErrorWith("escalator", "policy: escalator", "policy: escalater")
                .find("pools[0].policy: no such field; did you mean escalator?"),
            std::string::npos);
  EXPECT_NE(ErrorWith("escalator", "min: 1, max: 10", "min: 11, max: 10")
                .find("pools[0].cloud.min: is above max"),
            std::string::npos);
}

TEST(PolicyFileTest, WhatIsNoFileOfPoolsIsAnError) {
  for (const char* yaml : {"", "[]", "pools: 3", "pools: [3]", "pools: [{}]", "pols: []",
                           "pools:\n- name: web\n  name: web\n", "pools: [{? [a] : b}]", "\t"}) {
    EXPECT_FALSE(Read(yaml).ok()) << yaml;
  }
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
}  // namespace ebb
