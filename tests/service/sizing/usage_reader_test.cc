#include "service/sizing/usage_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPods = R"({"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1",
 "metadata":{},"items":[
 {"metadata":{"name":"a","namespace":"shop"},"timestamp":"2026-01-01T00:01:00Z","window":"30s",
  "containers":[{"name":"c","usage":{"cpu":"2500001n","memory":"1Ki"}},
                {"name":"d","usage":{"cpu":"1","memory":"1"}}]}]})";
constexpr const char* kNodes = R"({"kind":"NodeMetricsList","items":[
 {"metadata":{"name":"n"},"timestamp":"2026-01-01T00:02:00Z","usage":{"cpu":"3","memory":"2Gi"}}]})";

TEST(UsageReaderTest, ContainersOfAPodAreAddedUp) {
  UsageReader usage;
  ASSERT_TRUE(usage.Read("pods.json", kPods).ok());
  ASSERT_TRUE(usage.Read("nodes.json", kNodes).ok());
  EXPECT_EQ(usage.newest_s(), 1'767'225'720);
  PolicyObservation seen;
  seen.nodes.push_back({.name = "n"});
  seen.nodes.push_back({.name = "m"});
  seen.nodes[0].pods = {{.name = "shop/a", .owner = ""}, {.name = "shop/b", .owner = ""}};
  usage.AddTo(seen);
  EXPECT_EQ(seen.nodes[0].pods[0].usage,
            (PolicyResources{.cpu_milli = 1003, .memory_bytes = 1025}));  // 2.500001m is 3m.
  EXPECT_EQ(seen.nodes[0].pods[1].usage, std::nullopt);
  EXPECT_EQ(seen.nodes[0].usage,
            (PolicyResources{.cpu_milli = 3000, .memory_bytes = int64_t{2} << 30}));
  EXPECT_EQ(seen.nodes[1].usage, std::nullopt);
}

TEST(UsageReaderTest, WhatIsWrongIsToldWithFileItemAndField) {
  const auto why = [](const std::string& json) {
    return std::string(UsageReader().Read("f", json).message());
  };
  const auto pod = [&](const std::string& item) {
    return why(R"({"kind":"PodMetricsList","items":[)" + item + "]}");
  };
  EXPECT_THAT(why("{"), HasSubstr("f: "));
  EXPECT_EQ(why(R"({"kind":"PodList","items":[]})"),
            "f: kind: is not PodMetricsList or NodeMetricsList");
  EXPECT_EQ(why(R"({"kind":"PodMetricsList"})"), "f: items: is not a list");
  EXPECT_EQ(pod("{}"), "f: items[0].metadata.name: is required");
  EXPECT_EQ(pod(R"({"metadata":{"name":"a"}})"), "f: items[0]: containers: is not a list");
  EXPECT_EQ(pod(R"({"metadata":{"name":"a"},"containers":[{}]})"),
            "f: items[0]: containers[0].usage: is required");
  EXPECT_EQ(pod(R"({"metadata":{"name":"a"},"containers":[{"usage":{"cpu":"4x"}}]})"),
            "f: items[0]: containers[0].usage.cpu: \"4x\" is not a quantity");
  EXPECT_EQ(pod(R"({"metadata":{"name":"a"},"containers":[{"usage":{"memory":"-1"}}]})"),
            "f: items[0]: containers[0].usage.memory: \"-1\" is below 0");
  EXPECT_EQ(pod(R"({"metadata":{"name":"a"},"containers":[],"timestamp":"soon"})"),
            "f: items[0].timestamp: \"soon\" is not a time");
}

}  // namespace
}  // namespace ebb
