#include "sizing/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sizing/slow_server.h"

namespace ebb::http_client_test {
namespace {

using ::testing::HasSubstr;

absl::Status Get(const std::string& url) {
  return HttpGet(*ParseHttpAddress(url), {{"query", "up"}}, 1).status();
}
absl::Status Post(const std::string& url) {
  return HttpPostJson(*ParseHttpAddress(url), "{}", 1).status();
}

void ExpectTooLate(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it gave no whole answer within 1 s"));
}

// Symptom: a server that sent a byte from time to time blocked the loop permanently.
TEST(HttpClientTest, ABodyThatTricklesEndsWithTheTimeout) {
  const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", " ", kTrickle);
  ExpectTooLate(Get(server.Url()));
  ExpectTooLate(Post(server.Url()));
}

TEST(HttpClientTest, ABodyOfAKnownLengthThatTricklesEndsWithTheTimeout) {
  const SlowServer server("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", " ", kTrickle);
  ExpectTooLate(Get(server.Url()));
}

TEST(HttpClientTest, ChunksThatTrickleEndWithTheTimeout) {
  const SlowServer server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n",
                          kTrickle);
  ExpectTooLate(Get(server.Url()));
}

TEST(HttpClientTest, AHeadThatTricklesEndsWithTheTimeout) {
  const SlowServer one_header("HTTP/1.1 200 OK\r\nX: ", "a", kTrickle);
  ExpectTooLate(Get(one_header.Url()));
  ExpectTooLate(Post(one_header.Url()));
  const SlowServer many_headers("HTTP/1.1 200 OK\r\n", "X: a\r\n", kTrickle);
  ExpectTooLate(Get(many_headers.Url()));
  const SlowServer status_line("HTTP", "/", kTrickle);
  ExpectTooLate(Get(status_line.Url()));
}

TEST(HttpClientTest, AHandshakeThatTricklesEndsWithTheTimeout) {
  // The beginning of a TLS record whose 16 KiB never arrive.
  const SlowServer server(std::string("\x16\x03\x03\x40\x00\x02\x00\x3f\xf0\x03\x03", 11), "a",
                          kTrickle);
  const absl::Status status = Get(server.Url("https"));
  if (absl::IsInvalidArgument(status)) GTEST_SKIP() << status;
  ExpectTooLate(status);
}

TEST(HttpClientTest, AnAnswerThatIsTooLargeIsRefusedWhereItPassesTheLimit) {
  const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", std::string(1 << 20, 'x'), kFlood);
  const absl::Status status = HttpGet(*ParseHttpAddress(server.Url()), {}, 60).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("its answer has more than 64 MiB"));
  // Bytes in the sockets' buffers are added to that.
  EXPECT_LT(server.pieces(), 2 * static_cast<int>(kHttpAnswerMiBMax));
}

// Symptom: a long status line ended ebb by SIGSEGV, and endless headers filled the memory.
TEST(HttpClientTest, AHeadThatIsTooLargeIsRefused) {
  const auto get = [](const std::string& head, const std::string& piece) {
    const SlowServer server(head, piece, kFlood);
    return HttpGet(*ParseHttpAddress(server.Url()), {}, 60).status();
  };
  const std::string long_line(300'000, 'O');
  for (const absl::Status& status :
       {get("HTTP/1.1 200 " + long_line + "\r\n\r\n", "{}"),
        get("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 " + long_line + "\r\n\r\n", "{}"),
        get("HTTP/1.1 200 OK\r\nX: " + long_line + "\r\n\r\n", "{}"),
        get("HTTP/1.1 200 OK\r\n", "X: " + std::string(8000, 'y') + "\r\n")}) {
    EXPECT_FALSE(status.ok());
  }
  const absl::Status headers = get("HTTP/1.1 200 OK\r\n", "X: " + std::string(8000, 'y') + "\r\n");
  EXPECT_EQ(headers.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(headers.message()),
              HasSubstr("the head of its answer has more than 64 KiB"));
}

TEST(HttpClientTest, TrailersCountToTheHead) {
  const SlowServer server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                          "X: " + std::string(1000, 'y') + "\r\n", kFlood);
  const absl::Status status = HttpGet(*ParseHttpAddress(server.Url()), {}, 60).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST(HttpClientTest, AnAnswerBelowTheLimitIsTakenWhole) {
  const Pace pace{.every_ms = 0, .pieces = kHttpAnswerMiBMax};
  const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", std::string(1 << 20, 'x'), pace);
  const absl::StatusOr<std::string> body = HttpGet(*ParseHttpAddress(server.Url()), {}, 60);
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->size(), kHttpAnswerBytesMax);
}

}  // namespace
}  // namespace ebb::http_client_test
