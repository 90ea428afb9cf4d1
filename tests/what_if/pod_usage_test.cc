#include "what_if/pod_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace ebb::pod_usage_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PodUsageTest, ReadsTheMetricsApi) {
  PodUsage usage;
  const absl::Status read = usage.Read("u.json", R"({"kind": "PodMetricsList", "items": [
        {"metadata": {"namespace": "shop", "name": "web-1"}, "containers": [
          {"name": "web", "usage": {"cpu": "25m", "memory": "64Mi"}},
          {"name": "proxy", "usage": {"cpu": "1500u"}}]}]})",
                                       "");
  ASSERT_TRUE(read.ok()) << read;
  const PodUsage::Containers& pod = usage.pods().at("shop/web-1");
  EXPECT_THAT(pod.at("web").cpu, ElementsAre(0.025));
  EXPECT_THAT(pod.at("web").memory, ElementsAre(64. * 1024 * 1024));
  EXPECT_THAT(pod.at("proxy").cpu, ElementsAre(0.002));  // Rounded up, as in Kubernetes.
}

TEST(PodUsageTest, ReadsRangesAndVectorsOfPrometheus) {
  PodUsage usage;
  const char* const range = R"({"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"namespace": "shop", "pod": "web-1", "container": "web"},
       "values": [[1, "0.1"], [2, "NaN"], [3, "0.3"]]},
      {"metric": {"namespace": "shop", "pod": "web-1"}, "values": [[1, "9"]]}]}})";
  ASSERT_TRUE(usage.Read("cpu.json", range, "cpu").ok());
  const char* const vector = R"({"status": "success", "data": {"resultType": "vector", "result": [
      {"metric": {"__name__": "container_memory_working_set_bytes", "namespace": "shop",
                  "pod": "web-1", "container": "web"}, "value": [1, "1000"]}]}})";
  ASSERT_TRUE(usage.Read("memory.json", vector, "").ok());
  EXPECT_THAT(usage.pods().at("shop/web-1").at("web").cpu, ElementsAre(0.1, 0.3));
  EXPECT_THAT(usage.pods().at("shop/web-1").at("web").memory, ElementsAre(1000));
  EXPECT_EQ(usage.unlabelled(), 1u);
}

std::string ErrorOf(const std::string& json) {
  PodUsage usage;
  return std::string(usage.Read("u.json", json, "").message());
}

TEST(PodUsageTest, BadFilesAreNamed) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("u.json: is not JSON"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("is neither a PodMetricsList nor an answer of Prometheus"));
  EXPECT_THAT(ErrorOf(R"({"status": "error", "error": "too many samples"})"),
              HasSubstr("too many samples"));
  EXPECT_THAT(ErrorOf(R"({"status": "success", "data": {"resultType": "scalar"}})"),
              HasSubstr("\"scalar\" is not matrix or vector"));
  const auto series = [](const std::string& labels, const std::string& value) {
    return std::string(
               R"({"status": "success", "data": {"resultType": "vector", "result": [{"metric": )") +
           R"({"namespace": "s", "pod": "p", "container": "c")" + labels + R"(}, "value": [1, ")" +
           value + R"("]}]}})";
  };
  EXPECT_THAT(ErrorOf(series("", "1")), HasSubstr("data.result[0].metric: does not say"));
  EXPECT_EQ(ErrorOf(series(R"(, "resource": "cpu")", "1")), "");
  for (const char* const value : {"x", "-1", "+Inf", "0x1"}) {
    EXPECT_THAT(ErrorOf(series(R"(, "resource": "cpu")", value)), HasSubstr("has a sample"))
        << value;
  }
  EXPECT_THAT(ErrorOf(R"({"kind": "PodMetricsList", "items": [{"metadata": {"name": "p"},
                  "containers": [{"name": "c", "usage": {"cpu": "-1"}}]}]})"),
              HasSubstr("items[0].containers: usage.cpu: \"-1\" is not a quantity"));
}

TEST(PodUsageTest, APercentileIsTheNearestRank) {
  EXPECT_EQ(PercentileOf({4, 1, 3, 2}, 50), 2);
  EXPECT_EQ(PercentileOf({4, 1, 3, 2}, 95), 4);
  EXPECT_EQ(PercentileOf({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(PercentileOf({7}, 95), 7);
}

}  // namespace
}  // namespace ebb::pod_usage_test
