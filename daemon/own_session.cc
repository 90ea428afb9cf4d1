#include "daemon/own_session.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "platform/clock.h"

namespace ebb {
namespace {

// An answer for a caller that waits until its timeout.
template <typename Reply>
class Answer {
 public:
  void Set(absl::StatusOr<Reply> reply) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
    come_.notify_all();
  }
  // Nullopt: no answer came before `end`, and a later one is not needed.
  std::optional<absl::StatusOr<Reply>> WaitUntil(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    if (!come_.wait_until(lock, end, [this] { return reply_.has_value(); })) left_ = true;
    return std::move(reply_);
  }
  [[nodiscard]] bool left() const { return left_; }

 private:
  std::mutex mutex_;
  std::condition_variable come_;
  std::optional<absl::StatusOr<Reply>> reply_;
  std::atomic<bool> left_ = false;  // Read by the session's thread.
};

// Runs `answer` on the session's thread and returns its result.  `answer` may run after this
// function has returned, so it has copies of what it needs.
template <typename Reply>
absl::StatusOr<Reply> Ask(
    const absl::StatusOr<std::shared_ptr<SessionThread>>& thread, std::chrono::milliseconds timeout,
    uint64_t min_version,
    std::function<absl::StatusOr<Reply>(Session&, std::optional<Clock::time_point>)> answer) {
  if (!thread.ok()) return thread.status();
  const Clock::time_point end = Clock::now() + timeout;
  const auto waited_for = std::make_shared<Answer<Reply>>();
  (*thread)->Post({.run = [waited_for, end,
                           answer = std::move(answer)](Session& session) -> SessionCall::Respond {
                     const auto reply =
                         std::make_shared<absl::StatusOr<Reply>>(answer(session, end));
                     return [waited_for, reply] { waited_for->Set(std::move(*reply)); };
                   },
                   .refuse = [waited_for](const absl::Status& why) { waited_for->Set(why); },
                   .cancelled = [waited_for] { return waited_for->left(); },
                   .min_version = min_version});
  std::optional<absl::StatusOr<Reply>> reply = waited_for->WaitUntil(end);
  if (reply) return *std::move(reply);
  (*thread)->Wake();
  return absl::DeadlineExceededError("Deadline Exceeded");
}

}  // namespace

absl::StatusOr<wire::StatusReply> OwnSession::Status() {
  wire::StatusReply status;
  for (const auto& session : sessions_.All()) *status.add_sessions() = session->Status();
  return status;
}

absl::StatusOr<wire::SessionStatus> OwnSession::Open(const wire::OpenRequest& request) {
  return Ask<wire::SessionStatus>(
      sessions_.FindOrMake(request.session()), timeout_, 0,
      [request](Session& session, auto) -> absl::StatusOr<wire::SessionStatus> {
        if (absl::Status s = session.cluster().SetSettings(request.settings()); !s.ok()) return s;
        return session.Status();
      });
}

absl::StatusOr<wire::RoundReply> OwnSession::Round(const wire::RoundCall& call) {
  return Ask<wire::RoundReply>(
      sessions_.Find(call.input().session()), timeout_, call.input().min_version(),
      [call](Session& session, auto end) { return session.rounds().Round(call, end); });
}

absl::StatusOr<wire::ActuationReply> OwnSession::ReportActuation(
    const wire::ActuationReport& report) {
  return Ask<wire::ActuationReply>(
      sessions_.Find(report.session()), timeout_, 0,
      [report](Session& session, auto) { return session.rounds().ReportActuation(report); });
}

absl::StatusOr<wire::SizingReply> OwnSession::Sizing(const wire::SizingCall& call) {
  return Ask<wire::SizingReply>(sessions_.Find(call.session()), timeout_, 0,
                                [](Session& session, auto) { return session.rounds().Sizing(); });
}

absl::StatusOr<SessionCalls::Exported> OwnSession::Export(const std::string& session) {
  constexpr int kTimeouts = 10;
  return Ask<Exported>(sessions_.Find(session), kTimeouts * timeout_, 0,
                       [](Session& of, auto) -> absl::StatusOr<Exported> {
                         Exported exported{.version = of.cluster().version(), .snapshot = ""};
                         const auto write = [&](std::string_view part) {
                           exported.snapshot.append(part);
                           return absl::OkStatus();
                         };
                         if (absl::Status s = of.cluster().Export(write); !s.ok()) return s;
                         return exported;
                       });
}

}  // namespace ebb
