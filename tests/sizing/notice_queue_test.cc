#include "sizing/notice_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/sizing/slow_server.h"

namespace ebb::notice_queue_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A notifier that blocks in its first notice until it is released or GiveUp() is called.
class Held final : public Notifier {
 public:
  absl::Status Notify(const Notice& notice) override {
    std::unique_lock lock(mutex_);
    received_.push_back(notice.pool);
    changed_.notify_all();
    changed_.wait(lock, [this] { return free_ || given_up_; });
    return given_up_ ? absl::CancelledError("given up") : absl::OkStatus();
  }
  void GiveUp() override { Set(given_up_); }
  void Free() { Set(free_); }
  void WaitFor(size_t notices) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return received_.size() >= notices; });
  }
  std::vector<std::string> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  void Set(bool& what) {
    const std::lock_guard lock(mutex_);
    what = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> received_;
  bool free_ = false;
  bool given_up_ = false;
};

std::vector<std::unique_ptr<Notifier>> One(std::unique_ptr<Notifier> notifier) {
  std::vector<std::unique_ptr<Notifier>> notifiers;
  notifiers.push_back(std::move(notifier));
  return notifiers;
}
Notice Of(const std::string& pool) { return {.pool = pool, .event = "failsafe", .text = "t"}; }

// Symptom: a web hook that answered slowly delayed the loop by 48 seconds, and SIGTERM too.
TEST(NoticeQueueTest, AddWaitsForNoReceiver) {
  auto held = std::make_unique<Held>();
  Held& receiver = *held;
  NoticeQueue queue(One(std::move(held)));
  queue.Add(Of("a"));
  receiver.WaitFor(1);
  queue.Add(Of("b"));  // Returns although "a" is not delivered yet.
  receiver.Free();
  receiver.WaitFor(2);
  EXPECT_THAT(queue.FinishAndTakeProblems(std::chrono::hours(1)), SizeIs(0));
  EXPECT_THAT(receiver.received(), ElementsAre("a", "b"));
}

TEST(NoticeQueueTest, UnsentNoticesAtTheEndAreProblems) {
  auto held = std::make_unique<Held>();
  Held& receiver = *held;
  NoticeQueue queue(One(std::move(held)));
  queue.Add(Of("a"));
  receiver.WaitFor(1);
  queue.Add(Of("b"));
  EXPECT_THAT(queue.FinishAndTakeProblems(std::chrono::milliseconds(0)),
              ElementsAre("1 notice was not sent: ebb ends",
                          "pool a: a notice could not be sent: given up"));
}

TEST(NoticeQueueTest, NoticesBeyondTheLimitAreDroppedAndReported) {
  auto held = std::make_unique<Held>();
  Held& receiver = *held;
  NoticeQueue queue(One(std::move(held)));
  queue.Add(Of("first"));
  receiver.WaitFor(1);
  for (size_t i = 0; i < NoticeQueue::kNoticesMax; ++i) queue.Add(Of("p"));
  EXPECT_THAT(queue.TakeProblems(), SizeIs(0));
  queue.Add(Of("last"));
  EXPECT_THAT(queue.TakeProblems(),
              ElementsAre("pool last: a notice was dropped: 100 wait to be sent"));
  receiver.Free();
}

TEST(NoticeQueueTest, AWebhookThatTricklesIsGivenUpAtTheEnd) {
  const SlowServer server("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", " ", kTrickle);
  NoticeQueue queue(MakeNotifiers(
      {{.kind = NotifierSettings::Kind::kWebhook, .url = server.Url(), .timeout_s = 3600}},
      [](std::string_view) {}, nullptr));
  queue.Add(Of("a"));
  while (server.pieces() == 0) std::this_thread::yield();
  EXPECT_THAT(queue.FinishAndTakeProblems(std::chrono::milliseconds(0)),
              Contains(HasSubstr("ebb ends")));
}

}  // namespace
}  // namespace ebb::notice_queue_test
