#include "sizing/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <cmath>
#include <thread>

#include "tests/sizing/slow_server.h"

namespace ebb::prometheus_test {
namespace {

using ::testing::HasSubstr;

std::string Why(std::string_view body) {
  return std::string(ReadPrometheusAnswer("up", body).status().message());
}

std::string Vector(const std::string& rows) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + rows + "]}}";
}

TEST(PrometheusTest, AVectorOfOneElementAndAScalarAreNumbersWithTheirTime) {
  const auto vector =
      ReadPrometheusAnswer("up", Vector(R"({"metric":{"a":"b"},"value":[1435781451.781,"96"]})"));
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_EQ(vector->value, 96);
  EXPECT_EQ(vector->at_s, 1435781451);
  const auto scalar = ReadPrometheusAnswer(
      "1.5", R"({"status":"success","data":{"resultType":"scalar","result":[7,"1.5"]}})");
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->value, 1.5);
  EXPECT_EQ(scalar->at_s, 7);
}

TEST(PrometheusTest, NanAndInfinityArePassedOn) {
  EXPECT_TRUE(
      std::isnan(ReadPrometheusAnswer("up", Vector(R"({"metric":{},"value":[1,"NaN"]})"))->value));
  EXPECT_TRUE(
      std::isinf(ReadPrometheusAnswer("up", Vector(R"({"metric":{},"value":[1,"+Inf"]})"))->value));
}

TEST(PrometheusTest, AResultThatIsNotOneNumberIsAnErrorThatNamesTheQuery) {
  EXPECT_EQ(Why(Vector("")), "Prometheus, query \"up\": it gives 0 numbers, not one");
  EXPECT_THAT(Why(Vector(R"({"value":[1,"1"]},{"value":[1,"2"]})")), HasSubstr("2 numbers"));
  EXPECT_THAT(Why(R"({"status":"success","data":{"resultType":"matrix","result":[]}})"),
              HasSubstr("its result is a matrix, not one number"));
  EXPECT_THAT(Why(R"({"status":"error","errorType":"bad_data","error":"no such function"})"),
              HasSubstr("no such function"));
  for (const char* const body :
       {"", "[]", "<html>", "{}", R"({"status":"success"})", R"({"status":"success","data":3})",
        R"({"status":"success","data":{"resultType":"vector","result":[{}]}})",
        R"({"status":"success","data":{"resultType":"vector","result":[{"value":[1,2]}]}})",
        R"({"status":"success","data":{"resultType":"scalar","result":[1,"0x10"]}})",
        R"({"status":"success","data":{"resultType":"scalar","result":[-1,"1"]}})"}) {
    EXPECT_THAT(Why(body), HasSubstr("query \"up\"")) << body;
  }
}

TEST(PrometheusTest, APoolsQueriesAreEvaluatedAtTheRoundsTime) {
  httplib::Server server;
  std::string time;
  server.Get("/prom/api/v1/query", [&](const httplib::Request& request,
                                       httplib::Response& response) {
    time = request.get_param_value("time");
    const std::string value = request.get_param_value("query") == "sum(a{b=\"c d\"})" ? "5" : "6";
    response.set_content(Vector("{\"metric\":{},\"value\":[100,\"" + value + "\"]}"),
                         "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  const PrometheusSettings settings{.url = "http://127.0.0.1:" + std::to_string(port) + "/prom/"};
  const SizedPool pool{.name = "web", .queries = {{"cpus", "sum(a{b=\"c d\"})"}, {"mem", "m"}}};
  const auto signals = QuerySignals(settings, pool, 120);
  server.stop();
  thread.join();
  ASSERT_TRUE(signals.ok()) << signals.status();
  EXPECT_EQ(signals->at("cpus").value, 5);
  EXPECT_EQ(signals->at("mem").value, 6);
  EXPECT_EQ(signals->at("mem").at_s, 100);
  EXPECT_EQ(time, "120");
}

// Symptom: pools were sized by values of a server whose clock was hours ahead.
TEST(PrometheusTest, AValueOfTheFutureIsAnErrorThatNamesItsTime) {
  const std::string body = Vector(R"({"metric":{},"value":[1000,"5"]})");
  const SlowServer server(
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body, "",
      {.every_ms = 0, .pieces = 0});
  const SizedPool pool{.name = "web", .queries = {{"cpus", "up"}}};
  const PrometheusSettings settings{.url = server.Url(), .timeout_s = 60};
  EXPECT_TRUE(QuerySignals(settings, pool, 1000 - 300).ok());
  EXPECT_THAT(std::string(QuerySignals(settings, pool, 1000 - 301).status().message()),
              HasSubstr("its value has the time 1970-01-01T00:16:40Z, which is in the future"));
}

TEST(PrometheusTest, AServerThatIsAwayIsAnErrorThatNamesPoolAndSignal) {
  const SizedPool pool{.name = "web", .queries = {{"cpus", "up"}}};
  const auto signals = QuerySignals({.url = "http://127.0.0.1:1", .timeout_s = 2}, pool, 1);
  EXPECT_EQ(signals.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(signals.status().message()),
              HasSubstr("pool web, signal cpus: query \"up\": http://127.0.0.1:1/api/v1/query"));
}

TEST(PrometheusTest, AServerThatTricklesIsAnErrorAfterTheTimeout) {
  const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", " ", kTrickle);
  const SizedPool pool{.name = "web", .queries = {{"cpus", "up"}}};
  const auto signals = QuerySignals({.url = server.Url(), .timeout_s = 1}, pool, 1);
  EXPECT_EQ(signals.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(signals.status().message()),
              HasSubstr("it gave no whole answer within 1 s"));
}

}  // namespace
}  // namespace ebb::prometheus_test
