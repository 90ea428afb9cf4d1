#include "sizing/notifier.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/duration.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "sizing/http_client.h"

namespace ebb {
namespace {

constexpr size_t kTextBytesMax = 4096;  // A notice must fit into a pipe.

class LogNotifier final : public Notifier {
 public:
  explicit LogNotifier(std::function<void(std::string_view line)> print)
      : print_(std::move(print)) {}
  absl::Status Notify(const Notice& notice) override {
    print_(fmt::format("{}: {}", FormatRfc3339(notice.at_s), PrintableLine(notice.text)));
    return absl::OkStatus();
  }

 private:
  std::function<void(std::string_view line)> print_;
};

class WebhookNotifier final : public Notifier {
 public:
  WebhookNotifier(NotifierSettings settings, std::function<void(int64_t ms)> sleep_ms)
      : settings_(std::move(settings)), sleep_ms_(std::move(sleep_ms)) {}

  absl::Status Notify(const Notice& notice) override {
    const absl::StatusOr<HttpAddress> address = ParseHttpAddress(settings_.url);
    if (!address.ok()) return address.status();
    const std::string body = NoticeJson(notice);
    int64_t wait_ms = 1000;
    for (int64_t left = settings_.retries;; --left) {
      const absl::Status told =
          HttpPostJson(*address, body, settings_.timeout_s, &given_up_).status();
      if (!absl::IsUnavailable(told) || left <= 0) return told;
      Sleep(wait_ms);
      wait_ms = std::min<int64_t>(2 * wait_ms, 60'000);
    }
  }
  void GiveUp() override {
    {
      const std::lock_guard lock(mutex_);
      given_up_ = true;
    }
    changed_.notify_all();
  }

 private:
  void Sleep(int64_t ms) {
    if (sleep_ms_ != nullptr) return sleep_ms_(ms);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return given_up_.load(); });
  }

  NotifierSettings settings_;
  std::function<void(int64_t ms)> sleep_ms_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> given_up_ = false;
};

// Makes a pipe from which `text` can be read.  False: it cannot be made.
bool PipeWith(const std::string& text, int& read_end) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  // Both ends are open here, so that write() raises no SIGPIPE; a notice is smaller than a pipe's
  // buffer.
  const bool whole = write(ends[1], text.data(), text.size()) == std::ssize(text);
  close(ends[1]);
  read_end = ends[0];
  if (!whole) close(ends[0]);
  return whole;
}

class ExecNotifier final : public Notifier {
 public:
  explicit ExecNotifier(NotifierSettings settings) : settings_(std::move(settings)) {}

  absl::Status Notify(const Notice& notice) override {
    int input = -1;
    if (!PipeWith(NoticeJson(notice) + "\n", input)) return Failed("no pipe can be made");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_addclose(&actions, input);
    std::vector<char*> argv;
    for (std::string& word : settings_.command) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input);
    if (error != 0) return Failed("it cannot be started");
    return WaitFor(child);
  }
  void GiveUp() override { given_up_ = true; }

 private:
  [[nodiscard]] absl::Status WaitFor(pid_t child) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(settings_.timeout_s);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (const bool given_up = given_up_; given_up || std::chrono::steady_clock::now() >= end) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (given_up) return Failed("it was killed, as ebb ends");
        return Failed(fmt::format("it did not end within {}", DurationText(settings_.timeout_s)));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
    if (WIFEXITED(status)) return Failed(fmt::format("it ended with {}", WEXITSTATUS(status)));
    return Failed("it was killed");
  }
  [[nodiscard]] absl::Status Failed(std::string_view why) const {
    return absl::UnavailableError(
        fmt::format("command {}: {}", Printable(settings_.command[0]), why));
  }

  NotifierSettings settings_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace

std::string NoticeJson(const Notice& notice) {
  const nlohmann::ordered_json json = {{"version", "ebb.notice/v1"},
                                       {"pool", notice.pool},
                                       {"event", notice.event},
                                       {"text", notice.text.substr(0, kTextBytesMax)},
                                       {"at", FormatRfc3339(notice.at_s)}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::unique_ptr<Notifier> MakeNotifier(const NotifierSettings& settings,
                                       std::function<void(std::string_view line)> print,
                                       std::function<void(int64_t ms)> sleep_ms) {
  switch (settings.kind) {
    case NotifierSettings::Kind::kWebhook:
      return std::make_unique<WebhookNotifier>(settings, std::move(sleep_ms));
    case NotifierSettings::Kind::kExec:
      return std::make_unique<ExecNotifier>(settings);
    case NotifierSettings::Kind::kLog:
      break;
  }
  return std::make_unique<LogNotifier>(std::move(print));
}

std::vector<std::unique_ptr<Notifier>> MakeNotifiers(
    const std::vector<NotifierSettings>& settings,
    const std::function<void(std::string_view line)>& print,
    const std::function<void(int64_t ms)>& sleep_ms) {
  std::vector<std::unique_ptr<Notifier>> notifiers;
  for (const NotifierSettings& each : settings) {
    notifiers.push_back(MakeNotifier(each, print, sleep_ms));
  }
  return notifiers;
}

std::vector<std::string> NotifyAll(const std::vector<std::unique_ptr<Notifier>>& notifiers,
                                   const Notice& notice) {
  std::vector<std::string> failed;
  for (const std::unique_ptr<Notifier>& notifier : notifiers) {
    const absl::Status told = notifier->Notify(notice);
    if (told.ok()) continue;
    failed.push_back(fmt::format("pool {}: a notice could not be sent: {}", notice.pool,
                                 std::string(told.message())));
  }
  return failed;
}

}  // namespace ebb
