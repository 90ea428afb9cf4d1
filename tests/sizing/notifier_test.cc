#include "sizing/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/sizing/slow_server.h"

namespace ebb::notifier_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Notice kNotice = {
    .pool = "web", .event = "failsafe", .text = "pool web is in failsafe", .at_s = 1'767'225'600};

// Answers with each of `codes`, then with 200.
class Server {
 public:
  Server() {
    server_.Post("/hook", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      bodies.push_back(request.body);
      types.push_back(request.get_header_value("Content-Type"));
      response.status = 200;
      if (codes.empty()) return;
      response.status = codes.front();
      codes.erase(codes.begin());
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Server() {
    server_.stop();
    thread_.join();
  }
  [[nodiscard]] std::string Url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/hook";
  }

  std::vector<int> codes;
  std::vector<std::string> bodies;
  std::vector<std::string> types;

 private:
  httplib::Server server_;
  std::mutex mutex_;
  int port_ = 0;
  std::thread thread_;
};

class NotifierTest : public ::testing::Test {
 protected:
  absl::Status Notify(const NotifierSettings& settings) {
    const auto notifier = MakeNotifier(
        settings, [&](std::string_view line) { lines_.emplace_back(line); },
        [&](int64_t ms) { sleeps_.push_back(ms); });
    return notifier->Notify(kNotice);
  }
  static NotifierSettings Hook(const std::string& url) {
    return {.kind = NotifierSettings::Kind::kWebhook, .url = url, .retries = 3, .timeout_s = 5};
  }
  static NotifierSettings Exec(std::vector<std::string> command, int64_t timeout_s = 10) {
    return {.kind = NotifierSettings::Kind::kExec,
            .command = std::move(command),
            .timeout_s = timeout_s};
  }
  std::vector<std::string> lines_;
  std::vector<int64_t> sleeps_;
};

TEST_F(NotifierTest, ALogNotifierWritesALineWithTheTime) {
  EXPECT_TRUE(Notify({}).ok());
  EXPECT_THAT(lines_, ElementsAre("2026-01-01T00:00:00Z: pool web is in failsafe"));
}

TEST_F(NotifierTest, AWebhookGetsTheNoticeAsJson) {
  Server server;
  ASSERT_TRUE(Notify(Hook(server.Url())).ok());
  ASSERT_THAT(server.bodies, SizeIs(1));
  EXPECT_THAT(server.types, ElementsAre("application/json"));
  const auto json = nlohmann::json::parse(server.bodies[0]);
  EXPECT_EQ(json["version"], "ebb.notice/v1");
  EXPECT_EQ(json["pool"], "web");
  EXPECT_EQ(json["event"], "failsafe");
  EXPECT_EQ(json["at"], "2026-01-01T00:00:00Z");
}

TEST_F(NotifierTest, RetryableAnswersAreRetriedWithLongerDelays) {
  Server server;
  server.codes = {503, 429};
  ASSERT_TRUE(Notify(Hook(server.Url())).ok());
  EXPECT_THAT(server.bodies, SizeIs(3));
  EXPECT_THAT(sleeps_, ElementsAre(1000, 2000));
}

TEST_F(NotifierTest, RetriesEndWithTheLastError) {
  Server server;
  server.codes = {500, 500, 500, 500, 500};
  const absl::Status status = Notify(Hook(server.Url()));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("HTTP 500"));
  EXPECT_THAT(server.bodies, SizeIs(4));  // One attempt and three retries.
}

TEST_F(NotifierTest, PermanentErrorsAreNotRetried) {
  Server server;
  server.codes = {404};
  EXPECT_EQ(Notify(Hook(server.Url())).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(server.bodies, SizeIs(1));
  EXPECT_THAT(sleeps_, IsEmpty());
}

TEST_F(NotifierTest, AFailedConnectionIsRetried) {
  std::string url;
  {
    const Server gone;
    url = gone.Url();
  }
  EXPECT_EQ(Notify(Hook(url)).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(sleeps_, SizeIs(3));
}

TEST_F(NotifierTest, AWebhookWhoseAnswerTricklesTimesOutAndIsRetried) {
  const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", " ", kTrickle);
  NotifierSettings hook = Hook(server.Url());
  hook.timeout_s = 1;
  hook.retries = 1;
  EXPECT_EQ(Notify(hook).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(sleeps_, SizeIs(1));
}

TEST_F(NotifierTest, AnInvalidAddressIsRejected) {
  for (const char* const url :
       {"", "web", "ftp://a/b", "http://", "http://a b", "http://u:p@h/x", "http://h/x?q=1"}) {
    EXPECT_EQ(Notify(Hook(url)).code(), absl::StatusCode::kInvalidArgument) << url;
  }
}

TEST_F(NotifierTest, ACommandGetsTheNoticeOnItsStandardInput) {
  const std::string path = testing::TempDir() + "ebb-notice-" + std::to_string(getpid());
  ASSERT_TRUE(Notify(Exec({"sh", "-c", "cat > \"$0\"", path})).ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), NoticeJson(kNotice) + "\n");
  std::filesystem::remove(path);
}

TEST_F(NotifierTest, ACommandThatReadsNothingDoesNoHarm) {
  EXPECT_TRUE(Notify(Exec({"true"})).ok());
}

TEST_F(NotifierTest, ACommandThatFailsOrDoesNotEndIsAnError) {
  EXPECT_THAT(std::string(Notify(Exec({"sh", "-c", "exit 3"})).message()),
              HasSubstr("command sh: it ended with 3"));
  EXPECT_THAT(std::string(Notify(Exec({"/nonexistent/command"})).message()),
              HasSubstr("it cannot be started"));
  EXPECT_THAT(std::string(Notify(Exec({"sleep", "600"}, 1)).message()),
              HasSubstr("it did not end within 1 s"));
}

TEST_F(NotifierTest, AFailedNotifierDoesNotStopTheOthers) {
  const auto notifiers = MakeNotifiers(
      {Exec({"false"}), {}}, [&](std::string_view line) { lines_.emplace_back(line); },
      [](int64_t) {});
  const std::vector<std::string> failed = NotifyAll(notifiers, kNotice);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0], HasSubstr("pool web: a notice could not be sent: command false"));
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST(NoticeJsonTest, AnyTextIsJson) {
  const std::string json =
      NoticeJson({.pool = "\xff", .event = "", .text = std::string(100'000, 'x')});
  EXPECT_LT(json.size(), 5000u);
  EXPECT_TRUE(nlohmann::json::accept(json));
}

}  // namespace
}  // namespace ebb::notifier_test
