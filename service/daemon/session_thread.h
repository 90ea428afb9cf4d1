// SessionThread: a session and the thread that its calls run on, one after the other.
//
//   auto thread = std::make_shared<SessionThread>(std::move(session), /*calls_max=*/256);
//   thread->Post({.run = [](Session& session) { return Answer(session); }, .refuse = Refuse});
//
// A thread for each session is what makes sessions fair to one another: the system shares the
// cores between them, whatever one of them is at.
//
// Order:   changes (SessionCall::Kind::kChange) run in the order in which they were posted, and so
//          do the other calls, but those that wait for a version, which run once it is there.
//          Before a call or a watcher's plan begins, all changes run that were posted until then:
//          while a long call ran they came in, and an answer without them would be about an old
//          cluster.  Changes that come meanwhile run after the call, so that no stream of them
//          keeps it out.
// Age:     an answer is as of no later time (SessionCluster::Freshness) than the arrival of the
//          oldest change that has not run when it begins.
// Closing: a question at work ends soon after Close(), whose status is its answer.  Other calls at
//          work end as they would have: what they changed stays, as the state of a round on disk.
// Threads: all calls may come from any thread.  `run`, `send` run on the session's own.

#ifndef EBB_SERVICE_DAEMON_SESSION_THREAD_H_
#define EBB_SERVICE_DAEMON_SESSION_THREAD_H_

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
#include "base/deadline.h"
#include "service/clock.h"
#include "service/session/session.h"

namespace ebb {

// Exactly one of `run` and `refuse` is called, once, but for a question (Kind::kQuestion).
struct SessionCall {
  enum class Kind : uint8_t {
    kInTurn,
    kChange,  // Brings changes of the cluster: see Order.
    // Changes nothing.  Where the session is closed while it runs, `refuse` is called in place of
    // what `run` returned: the answer would be about a cluster that is gone.
    kQuestion,
  };
  // What it returns is called next, once the session's new state can be seen by others: it
  // tells the answer.  May be null.
  using Tell = std::function<void()>;
  std::function<Tell(Session&)> run;
  std::function<void(const absl::Status&)> refuse;
  // Whether nobody wants the answer any more.  May be null.
  std::function<bool()> cancelled = nullptr;
  uint64_t min_version = 0;
  // Taken however many wait: it ends something that was begun, and must not be lost.
  bool beyond_max = false;
  Kind kind = Kind::kInTurn;
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

  SessionQuestions::ToldPlan told;
  std::string refused;            // The last refusal that was sent; "": a plan was, or nothing.
  uint64_t looked_at = 0;         // The session's revision; 0: none.
  Clock::time_point next_look{};  // Not before.
};

class SessionThread {
 public:
  // A call that comes while `calls_max` wait for their turn is refused, a change while as many
  // changes wait, and a call that is to wait for a version while as many do, but one with
  // `beyond_max`.
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

  // Expires with Close(): questions end soon then.  It is there as long as this.
  [[nodiscard]] const Deadline& closing() const { return closing_; }

  // As of the last call that ended.
  [[nodiscard]] uint64_t Batches() const;
  [[nodiscard]] wire::SessionStatus Status() const;
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  // The session's clock, Unix seconds.
  [[nodiscard]] int64_t ClockS() const { return session_->cluster().ClockS(); }

 private:
  struct WaitingChange {
    SessionCall call;
    uint64_t number = 0;  // Counts changes that were posted.
    int64_t arrived_s = 0;
  };

  void Run();
  [[nodiscard]] bool IsClosed() const;
  // Waits for something to do, until `next_look` at most.  False: the session is closed.
  bool WaitForWork(Clock::time_point next_look);
  // Calls that may run now leave waiting_ for ready_; those that nobody wants are refused.
  void RefuseCancelled();
  [[nodiscard]] uint64_t ChangesPosted() const;
  // The changes up to that number.
  void RunChanges(uint64_t last);
  // The changes that have come until now, and then the next call in turn.
  void RunNext();
  void RunCall(const SessionCall& call);
  // An answer begins.
  void NoteWhatIsTaken();
  void RefuseAll();
  void Publish();
  // Tells a watcher that is due, so that calls wait for one plan at most.  Returns when the next
  // one is, which may be at once.
  Clock::time_point Tell();

  const std::string name_;
  const std::unique_ptr<Session> session_;
  const size_t calls_max_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WaitingChange> changes_;
  uint64_t changes_posted_ = 0;
  std::deque<SessionCall> ready_;    // In turn.
  std::deque<SessionCall> waiting_;  // For a version.
  std::vector<std::unique_ptr<PlanWatcher>> new_watchers_;
  bool woken_ = false;
  bool closed_ = false;
  absl::Status why_closed_;
  CancelToken closing_;
  absl::Status why_no_waiting_;  // For a version; OK: calls may.
  uint64_t version_ = 0;         // The session's.
  uint64_t batches_ = 0;         // The session's.
  wire::SessionStatus status_;
  MetricsSnapshot round_metrics_;

  std::vector<std::unique_ptr<PlanWatcher>> watchers_;  // The thread's own.
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_DAEMON_SESSION_THREAD_H_
