#include "daemon/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "daemon/listener.h"

namespace ebb::http_server_test {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A server on a Unix socket: "/quick" is quick, "/own" has reserved threads, "/large" returns a
// megabyte, and any other path returns itself.
class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest()
      : server_(
            [](const HttpRequest& request) { return Answer(request); },
            {.headers = "X-Always: yes\r\n",
             .is_quick = [](const HttpRequest& request) { return request.path == "/quick"; },
             .is_reserved = [](const HttpRequest& request) { return request.path == "/own"; }}) {
    std::string name = (fs::temp_directory_path() / "ebb-http-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(server_.ListenOn(Path()), absl::OkStatus());
    server_.Start();
  }
  ~HttpServerTest() override { fs::remove_all(folder_); }

  static HttpResponse Answer(const HttpRequest& request) {
    if (request.path == "/large") return {.body = std::string(1 << 20, 'x')};
    return {.body = absl::StrCat(request.path, " ", request.Parameter("session"))};
  }
  [[nodiscard]] std::string Path() const { return folder_ / "s"; }
  [[nodiscard]] UniqueFd Connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, Path().c_str());
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  // False: the server has closed the connection.
  static bool Send(const UniqueFd& to, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  static std::string ReadToEnd(const UniqueFd& from) {
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = recv(from.get(), bytes, sizeof(bytes), 0)) > 0;) {
      all.append(bytes, static_cast<size_t>(got));
    }
    return all;
  }
  [[nodiscard]] std::string Ask(std::string_view request) const {
    const UniqueFd fd = Connect();
    Send(fd, request);
    return ReadToEnd(fd);
  }

  fs::path folder_;
  HttpServer server_;
};

TEST_F(HttpServerTest, AnswersARequestAndEndsTheConnection) {
  const std::string answer = Ask("GET /page?session=a%20b+c&x HTTP/1.1\r\nhost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Always: yes\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n/page a b c"));
  EXPECT_THAT(Ask("HEAD /page HTTP/1.1\r\n\r\n"), EndsWith("Connection: close\r\n\r\n"));
  EXPECT_THAT(Ask("GET /quick HTTP/1.0\r\n\r\n"), EndsWith("/quick "));
}

TEST_F(HttpServerTest, RejectsUnsupportedRequests) {
  EXPECT_THAT(Ask("POST /page HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"), HasSubstr(" 405 "));
  for (const char* const bad :
       {"GET\r\n\r\n", "\r\n\r\n", "GET page HTTP/1.1\r\n\r\n", "GET /page HTTP/2\r\n\r\n",
        "GET /page HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET  /page HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(Ask(bad), HasSubstr(" 400 ")) << bad;
  }
}

// Symptom: 8 KB of ranges made gigabytes of copies of the page.
TEST_F(HttpServerTest, RangeHeadersAreIgnored) {
  std::string ranges = "Range: bytes=0-";
  while (ranges.size() < 8000) ranges += ",0-";
  const std::string answer = Ask(absl::StrCat("GET /page HTTP/1.1\r\n", ranges, "\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
}

// Symptom: endless headers filled the memory.
TEST_F(HttpServerTest, AHeadWithoutEndEndsTheConnection) {
  const UniqueFd fd = Connect();
  Send(fd, "GET /page HTTP/1.1\r\n");
  const std::string header = absl::StrCat("X: ", std::string(100, 'y'), "\r\n");
  size_t sent = 0;
  while (Send(fd, header)) sent += header.size();
  EXPECT_LT(sent, size_t{16} << 20);  // At most the sockets' buffers.
  const std::string line = absl::StrCat("GET /", std::string(9000, 'y'), " HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Ask(line), HasSubstr(" 431 "));
}

// Symptom: 64 connections that sent slowly silenced /healthz.
TEST_F(HttpServerTest, SlowConnectionsDoNotBlockOthers) {
  std::vector<UniqueFd> slow;
  for (size_t i = 0; i < 2 * HttpServer::kHeadsMax; ++i) {
    slow.push_back(Connect());
    Send(slow.back(), "GET /page HTTP/1.1\r\nX: ");
  }
  EXPECT_THAT(Ask("GET /quick HTTP/1.1\r\n\r\n"), EndsWith("/quick "));
  EXPECT_THAT(Ask(kGet), EndsWith("/page "));
  // The newest connection was not closed to make room.
  Send(slow.back(), "y\r\n\r\n");
  EXPECT_THAT(ReadToEnd(slow.back()), EndsWith("/page "));
}

TEST_F(HttpServerTest, ConnectionsThatReadNothingLeaveThreadsForMetricsAndHealth) {
  std::vector<UniqueFd> mute;
  for (size_t i = 0; i < HttpServer::kThreads - HttpServer::kReserved; ++i) {
    mute.push_back(Connect());
    Send(mute.back(), "GET /large HTTP/1.1\r\n\r\n");
    char first = 0;  // Makes sure that a thread is answering.
    EXPECT_EQ(recv(mute.back().get(), &first, 1, 0), 1);
  }
  EXPECT_THAT(Ask(kGet), HasSubstr(" 503 "));
  EXPECT_THAT(Ask("GET /own HTTP/1.1\r\n\r\n"), EndsWith("/own "));
  EXPECT_THAT(Ask("GET /quick HTTP/1.1\r\n\r\n"), EndsWith("/quick "));
  mute.clear();
  std::string answer;
  while (!answer.ends_with("/page ")) answer = Ask(kGet);
  EXPECT_THAT(answer, Not(HasSubstr(" 503 ")));
}

TEST(ParseHttpHeadTest, TakesTheHostAndTheParameters) {
  const auto head = ParseHttpHead("GET /a?x=1&x=2&y=%zz HTTP/1.1\r\nA: b\r\nHOST:  h:1 \r\n\r\n");
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->request.path, "/a");
  EXPECT_EQ(head->request.host, "h:1");
  EXPECT_EQ(head->request.Parameter("x"), "1");
  EXPECT_EQ(head->request.Parameter("y"), "%zz");
  EXPECT_EQ(head->request.Parameter("none"), "");
}

}  // namespace
}  // namespace ebb::http_server_test
