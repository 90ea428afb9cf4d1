// SessionThread: a session and the thread that its calls run on, one after the other.
//
//   auto thread = std::make_shared<SessionThread>(std::move(session), /*calls_max=*/256);
//   thread->Post({.run = [](Session& session) { return Answer(session); }, .refuse = Refuse});
//
// A thread for each session is what makes sessions fair to one another: the system shares the
// cores between them, whatever one of them is at.
//
// Order:   calls run in the order in which they were posted, but those that wait for a version,
//          which run once it is there.
// Threads: all calls may come from any thread.  `run`, `send` run on the session's own.

#ifndef EBB_DAEMON_SESSION_THREAD_H_
#define EBB_DAEMON_SESSION_THREAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "platform/clock.h"
#include "session/session.h"

namespace ebb {

// Exactly one of `run` and `refuse` is called, once.
struct SessionCall {
  // What it returns is called next, once the session's new state can be seen by others: it
  // tells the answer.  May be null.
  using Respond = std::function<void()>;
  std::function<Respond(Session&)> run;
  std::function<void(const absl::Status&)> refuse;
  // Whether nobody wants the answer any more.  May be null.
  std::function<bool()> cancelled = nullptr;
  uint64_t min_version = 0;
  // Taken however many wait: it ends something that was begun, and must not be lost.
  bool beyond_max = false;
};

// Who is told when the plan changes.
struct PlanWatcher {
  enum class State : uint8_t {
    kReady,  // For the next message.
    kBusy,   // The last one is still on its way.
    kGone,
  };
  wire::PlanInput input;
  Clock::duration min_interval{};
  std::function<State()> state;
  // A change, why there is no plan (PlanChange.refused), or with which status the watch ends.
  std::function<void(const absl::StatusOr<wire::PlanChange>&)> send;

  SessionQuestions::SentPlan told;
  std::string refused;            // The last refusal that was sent; "": a plan was, or nothing.
  uint64_t looked_at = 0;         // The session's revision; 0: none.
  Clock::time_point next_look{};  // Not before.
};

class SessionThread {
 public:
  // A call that comes while `calls_max` wait for their turn is refused, and one that is to wait for
  // a version while as many do, but one with `beyond_max`.
  SessionThread(std::unique_ptr<Session> session, size_t calls_max);
  // As Close().
  ~SessionThread();
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  void Post(SessionCall call);
  void Watch(std::unique_ptr<PlanWatcher> watcher);
  // Something that `cancelled` or `state` says has changed.
  void Wake();
  // Calls that wait for a version are refused with `why`, and all that would wait later.
  void EndWaiting(const absl::Status& why);
  // The call that runs ends; those that wait are refused with `why`, and all that come later.
  void Close(const absl::Status& why);

  // As of the last call that ended.
  [[nodiscard]] uint64_t Batches() const;
  [[nodiscard]] wire::SessionStatus Status() const;
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void Run();
  // Calls that may run now leave waiting_ for ready_; those that nobody wants are refused.
  std::vector<SessionCall> TakeCancelled();
  void Publish();
  // Tells a watcher that is due, so that calls wait for one plan at most.  Returns when the next
  // one is, which may be at once.
  Clock::time_point SendPlans();

  const std::string name_;
  const std::unique_ptr<Session> session_;
  const size_t calls_max_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SessionCall> ready_;
  std::deque<SessionCall> waiting_;  // For a version.
  std::vector<std::unique_ptr<PlanWatcher>> new_watchers_;
  bool woken_ = false;
  bool closed_ = false;
  absl::Status why_closed_;
  absl::Status why_no_waiting_;  // For a version; OK: calls may.
  uint64_t version_ = 0;         // The session's.
  uint64_t batches_ = 0;         // The session's.
  wire::SessionStatus status_;
  MetricsSnapshot round_metrics_;

  std::vector<std::unique_ptr<PlanWatcher>> watchers_;  // The thread's own.
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_SESSION_THREAD_H_
