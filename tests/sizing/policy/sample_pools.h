// Shared by the tests of the four schools as policies: pools to decide on, and settings to start
// from.

#ifndef EBB_TESTS_SIZING_POLICY_SAMPLE_POOLS_H_
#define EBB_TESTS_SIZING_POLICY_SAMPLE_POOLS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"

namespace ebb::policy_test {

inline constexpr int64_t kNow = 1'750'000'000;
inline constexpr int64_t kGib = int64_t{1} << 30;

// The settings of a sample: every required key, with its example value.
inline PolicySettings Sample(const PolicySchool& school) {
  PolicySettings settings;
  for (const PolicyKey& key : school.keys) {
    if (!key.required || key.path.find("[]") != std::string::npos) continue;
    switch (key.type) {
      case PolicyValueType::kBool:
        settings.Set(key.path, key.example == "true");
        break;
      case PolicyValueType::kInt:
        settings.Set(key.path, int64_t{std::stoll(key.example)});
        break;
      case PolicyValueType::kNumber:
        settings.Set(key.path, std::stod(key.example));
        break;
      case PolicyValueType::kText:
        settings.Set(key.path, key.example);
        break;
    }
  }
  return settings;
}

inline PolicySettings Sample(std::string_view school) {
  return Sample(*PolicyRegistry().Find(school));
}

inline std::unique_ptr<Policy> Make(std::string_view school, const PolicySettings& settings) {
  std::vector<PolicyProblem> problems;
  std::unique_ptr<Policy> policy = PolicyRegistry().Make(school, settings, &problems);
  for (const PolicyProblem& problem : problems) {
    ADD_FAILURE() << school << ": " << problem.path << ": " << problem.what;
  }
  return policy;
}

inline PolicyObservation Pool(size_t nodes, PolicyResources each) {
  PolicyObservation pool{.pool = "web"};
  for (size_t i = 0; i < nodes; ++i) {
    pool.nodes.push_back({.name = "node-" + std::to_string(i),
                          .capacity = each,
                          .allocatable = each,
                          .created_s = kNow - 10'000 - static_cast<int64_t>(i),
                          .ready = true,
                          .labels = {{"pool", "web"}}});
  }
  pool.cloud = {.min = 0, .max = 1000, .desired = static_cast<int64_t>(nodes)};
  return pool;
}

inline void AddPod(PolicyObservation& pool, size_t node, PolicyResources requests) {
  PolicyPod pod{.name = "shop/pod-" + std::to_string(pool.nodes[node].pods.size()),
                .owner = "shop/ReplicaSet/web",
                .requests = requests,
                .node_selector = {{"pool", "web"}}};
  pod.containers.push_back(
      {.cpu_milli = requests.cpu_milli, .memory_bytes = requests.memory_bytes});
  pool.nodes[node].pods.push_back(std::move(pod));
}

inline void AddPending(PolicyObservation& pool, PolicyResources requests) {
  PolicyObservation other = Pool(1, {});
  AddPod(other, 0, requests);
  pool.pending.push_back(other.nodes[0].pods[0]);
  pool.pending.back().is_running = false;
}

inline std::string Figure(const PolicyDecision& decision, std::string_view name) {
  for (const PolicyFigure& figure : decision.figures) {
    if (figure.name == name) return figure.value;
  }
  return "(absent)";
}

inline PolicySettings MaestroSettings() {
  PolicySettings settings = Sample("maestro");
  settings.SetCount("up.metricsTrigger", 1);
  settings.Set("up.metricsTrigger[0].type", "room");
  settings.Set("up.metricsTrigger[0].usage", int64_t{50});
  settings.Set("up.metricsTrigger[0].limit", int64_t{1000});
  settings.Set("up.cooldown", int64_t{60});
  return settings;
}

inline constexpr double kEndless = std::numeric_limits<double>::infinity();

struct ExpectedKey {
  std::string path;
  PolicyValueType type = PolicyValueType::kText;
  std::string example;
  bool required = false;
  double min = -kEndless;
  double max = kEndless;
};

inline void ExpectKeys(std::string_view school, const std::vector<ExpectedKey>& expected) {
  const PolicyRegistry registry;
  const std::vector<PolicyKey>& keys = registry.Find(school)->keys;
  ASSERT_EQ(keys.size(), expected.size()) << school;
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string& path = expected[i].path;
    EXPECT_EQ(keys[i].path, path);
    EXPECT_EQ(keys[i].type, expected[i].type) << path;
    EXPECT_EQ(keys[i].example, expected[i].example) << path;
    EXPECT_EQ(keys[i].required, expected[i].required) << path;
    EXPECT_EQ(keys[i].min, expected[i].min) << path;
    EXPECT_EQ(keys[i].max, expected[i].max) << path;
    EXPECT_NE(keys[i].help, "") << path;
  }
}

}  // namespace ebb::policy_test

#endif  // EBB_TESTS_SIZING_POLICY_SAMPLE_POOLS_H_
