#include "sizing/usage_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::usage_reader_test {
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
  ASSERT_TRUE(usage.AddTo(seen, 1'767'225'720, 60).ok());  // The pods' figures are 60 s old.
  EXPECT_EQ(seen.nodes[0].pods[0].usage,
            (PolicyResources{.cpu_milli = 1003, .memory_bytes = 1025}));  // 2.500001m is 3m.
  EXPECT_EQ(seen.nodes[0].pods[1].usage, std::nullopt);
  EXPECT_EQ(seen.nodes[0].usage,
            (PolicyResources{.cpu_milli = 3000, .memory_bytes = int64_t{2} << 30}));
  EXPECT_EQ(seen.nodes[1].usage, std::nullopt);
}

// Symptom: a pool was sized by figures that were days old.
TEST(UsageReaderTest, FiguresOfAnotherTimeAreRefusedWithPodAndTimes) {
  UsageReader usage;
  ASSERT_TRUE(usage.Read("pods.json", kPods).ok());
  const int64_t measured_s = 1'767'225'660;
  const auto add = [&](int64_t now_s, int64_t period_s, const char* pod) {
    PolicyObservation seen;
    seen.nodes.push_back({.name = "n"});
    seen.nodes[0].pods = {{.name = pod, .owner = ""}};
    return usage.AddTo(seen, now_s, period_s);
  };
  const absl::Status old = add(measured_s + 61, 60, "shop/a");
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      std::string(old.message()),
      "the usage of pod shop/a is of 2026-01-01T00:01:00Z, more than 1 min before the round's "
      "time 2026-01-01T00:02:01Z");
  EXPECT_THAT(std::string(add(measured_s - 61, 60, "shop/a").message()),
              HasSubstr("more than 1 min after the round's time"));
  EXPECT_TRUE(add(measured_s + 61, 60, "shop/other").ok());  // A pod of another pool.
  // A pool without signalPeriod.
  EXPECT_TRUE(add(measured_s + kUsagePeriodS, 0, "shop/a").ok());
  EXPECT_FALSE(add(measured_s + kUsagePeriodS + 1, 0, "shop/a").ok());
}

TEST(UsageReaderTest, FiguresWithoutATimeAreOfAnyTime) {
  UsageReader usage;
  ASSERT_TRUE(usage
                  .Read("nodes.json",
                        R"({"kind":"NodeMetricsList","items":[
                            {"metadata":{"name":"n"},"usage":{"cpu":"3"}}]})")
                  .ok());
  PolicyObservation seen;
  seen.nodes.push_back({.name = "n"});
  EXPECT_TRUE(usage.AddTo(seen, 1'900'000'000, 60).ok());
  EXPECT_EQ(seen.nodes[0].usage->cpu_milli, 3000);
}

TEST(UsageReaderTest, ErrorsNameFileItemAndField) {
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
}  // namespace ebb::usage_reader_test
