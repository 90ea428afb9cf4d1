#include "daemon/call_log.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

constexpr int kWaitMs = 1000;

int64_t ClockSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string CodeName(absl::StatusCode code) {
  return code == absl::StatusCode::kOk ? "OK" : absl::StatusCodeToString(code);
}

std::string LogLine(const EndedCall& call, int64_t time_s, LogFormat format) {
  const std::string message(call.status.message());
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json line = {{"time", FormatRfc3339(time_s)}, {"call", call.call}};
    if (!call.session.empty()) line["session"] = call.session;
    line["code"] = CodeName(call.status.code());
    line["seconds"] = RoundedAmount(call.seconds);
    if (call.messages > 0) line["messages"] = call.messages;
    if (!message.empty()) line["message"] = message;
    return CompactJson(line);
  }
  std::string line = fmt::format("{} {}", FormatRfc3339(time_s), call.call);
  if (!call.session.empty()) line += " session=" + Printable(call.session);
  line += fmt::format(" {} {}", CodeName(call.status.code()),
                      DurationText(std::chrono::duration<double>(call.seconds)));
  if (call.messages > 0) line += fmt::format(" messages={}", call.messages);
  if (!message.empty()) line += " " + PrintableLine(message);
  return line;
}

std::string LogLine(const std::string& session, const TimedRebuild& rebuild, int64_t time_s,
                    LogFormat format) {
  if (format == LogFormat::kText) {
    return fmt::format("{} rebuild session={} {}", FormatRfc3339(time_s), Printable(session),
                       RebuildText(rebuild));
  }
  nlohmann::ordered_json line = {{"time", FormatRfc3339(time_s)},
                                 {"rebuild", ToString(rebuild.rebuilt)},
                                 {"session", session},
                                 {"seconds", RoundedAmount(rebuild.seconds)}};
  if (rebuild.rebuilt.renewed_texts) line["renewedTexts"] = true;
  return CompactJson(line);
}

CallLog::CallLog(int fd, LogFormat format) : fd_(fd), format_(format) {
  thread_ = std::thread([this] { Run(); });
}

CallLog::~CallLog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CallLog::Add(const EndedCall& call) {
  if (format_ == LogFormat::kNone) return;
  AddLine(LogLine(call, ClockSeconds(), format_));
}

void CallLog::Add(const std::string& session, const TimedRebuild& rebuild) {
  if (format_ == LogFormat::kNone) return;
  AddLine(LogLine(session, rebuild, ClockSeconds(), format_));
}

void CallLog::AddLine(std::string line) {
  line += '\n';
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() < kLinesMax) {
      lines_.push_back(std::move(line));
    } else {
      ++dropped_;
    }
  }
  changed_.notify_one();
}

bool CallLog::Write(const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, kWaitMs) <= 0) {
      const std::lock_guard lock(mutex_);
      if (ends_) return false;
      continue;
    }
    // At most what a pipe accepts at once, so that the write does not block.
    const ssize_t count = write(fd_, text.data() + at, std::min<size_t>(text.size() - at, 512));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    at += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return true;
}

void CallLog::Run() {
  bool readable = true;
  while (true) {
    std::deque<std::string> lines;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !lines_.empty() || dropped_ > 0; });
      lines.swap(lines_);
      if (dropped_ > 0) {
        lines.push_back(fmt::format("{} not written: the log was read too slowly\n",
                                    Count(dropped_, "line was", "lines were")));
        dropped_ = 0;
      }
      if (ends_ && lines.empty()) return;
    }
    for (const std::string& line : lines) readable = readable && Write(line);
  }
}

}  // namespace ebb
