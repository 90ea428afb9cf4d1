// SessionThread: a session, and the thread on which its calls run one after the other.
//
//   auto thread = std::make_shared<SessionThread>(std::move(session), /*calls_max=*/256);
//   thread->Post({.run = [](Session& session) { return Answer(session); }, .refuse = Refuse});
//
// A thread per session is what makes sessions fair to one another: the system shares the cores
// between them, whatever a session is doing.
//
// Order:   changes (SessionCall::Kind::kChange) run in the order in which they were posted, and so
//          do all other calls.  A call that waits for a version runs once the session has that
//          version.  Before a call or a subscriber's plan begins, all changes run that were posted
//          until then: they arrived while a long call ran, and an answer without them would be
//          about an old cluster.  Changes that arrive later run after the call, so that a stream of
//          changes cannot keep it out.
// Age:     an answer is as of no later time (SessionCluster::Freshness) than the arrival of the
//          oldest change that has not run when the answer begins.
// Closing: a running question ends soon after Close(), and the status of Close() is its answer.
//          Other running calls end as they would have without Close(): what they changed remains,
//          for example the state of a round on disk.
// Threads: all functions may be called from any thread.  `run` and `send` run on the session's
//          thread.

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
#include "base/deadline.h"
#include "platform/clock.h"
#include "session/session.h"

namespace ebb {

// Exactly one of `run` and `refuse` is called, once, but for a question (Kind::kQuestion).
struct SessionCall {
  enum class Kind : uint8_t {
    kInTurn,
    kChange,  // Brings changes of the cluster: see Order.
    // Changes nothing.  If the session is closed while the question runs, `refuse` is called
    // instead of the function that `run` returned: the answer would be about a cluster that is
    // gone.
    kQuestion,
  };
  // `run` returns the function that sends the answer; it is called when other threads can see the
  // session's new state.  May be null.
  using Respond = std::function<void()>;
  std::function<Respond(Session&)> run;
  std::function<void(const absl::Status&)> refuse;
  // Whether the client no longer waits for the answer.  May be null.
  std::function<bool()> cancelled = nullptr;
  uint64_t min_version = 0;
  // Accepted however many calls wait: it ends something that was begun, and must not be lost.
  bool beyond_max = false;
  Kind kind = Kind::kInTurn;
};

// A client that is notified when the plan changes.
struct PlanSubscriber {
  enum class State : uint8_t {
    kReady,  // For the next message.
    kBusy,   // The last message is still being sent.
    kGone,
  };
  wire::PlanInput input;
  std::string since_version;  // As in WatchPlansCall.
  Clock::duration min_interval{};
  std::function<State()> state;
  // Sends a change, the reason why there is no plan (PlanChange.refused), or the status with which
  // the subscription ends.
  std::function<void(const absl::StatusOr<wire::PlanChange>&)> send;

  SessionQuestions::SentPlan told;
  // The last refusal that was sent; "": a plan was sent last, or nothing.
  std::string refused;
  uint64_t looked_at = 0;         // The revision of the session that was last planned for; 0: none.
  Clock::time_point next_look{};  // Earliest time of the next plan.
};

class SessionThread {
 public:
  // At most `calls_max` calls may wait for their turn, as many changes for theirs, and as many
  // calls for a version.  Further calls are rejected, except calls with `beyond_max`.
  SessionThread(std::unique_ptr<Session> session, size_t calls_max);
  // As Close().
  ~SessionThread();
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  void Post(SessionCall call);
  void Subscribe(std::unique_ptr<PlanSubscriber> subscriber);
  // Call this when a result of `cancelled` or `state` has changed.
  void Wake();
  // Rejects calls that wait for a version, now and later, with `why`.
  void EndWaiting(const absl::Status& why);
  // Lets the running call end.  Rejects calls that wait, and all later calls, with `why`.
  void Close(const absl::Status& why);

  // Expires with Close(), so that questions end soon after it.  Valid as long as this object.
  [[nodiscard]] const Deadline& closing() const { return closing_; }

  // As of the end of the last call.
  [[nodiscard]] uint64_t Batches() const;
  [[nodiscard]] wire::SessionStatus Status() const;
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;
  [[nodiscard]] RebuildTotals Rebuilds() const;
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
  // Waits for work, until `next_look` at most.  Returns false if the session is closed.
  bool WaitForWork(Clock::time_point next_look);
  // Moves calls that may run from waiting_ to ready_, and rejects calls whose client is gone.
  void RefuseCancelled();
  [[nodiscard]] uint64_t ChangesPosted() const;
  // Runs the changes up to number `last`.
  void RunChanges(uint64_t last);
  // Runs the changes that have arrived until now, and then the next call in turn.
  void RunNext();
  void RunCall(const SessionCall& call);
  // Called when an answer begins.
  void NoteWhatIsTaken();
  void RefuseAll();
  void Publish();
  // Plans for one subscriber that is due, so that calls wait for at most one plan.  Returns when
  // the next subscriber is due, which may be at once.
  Clock::time_point SendPlans();

  const std::string name_;
  const std::unique_ptr<Session> session_;
  const size_t calls_max_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WaitingChange> changes_;
  uint64_t changes_posted_ = 0;
  std::deque<SessionCall> ready_;    // Calls that run in turn.
  std::deque<SessionCall> waiting_;  // Calls that wait for a version.
  std::vector<std::unique_ptr<PlanSubscriber>> new_subscribers_;
  bool woken_ = false;
  bool closed_ = false;
  absl::Status why_closed_;
  CancelToken closing_;
  absl::Status why_no_waiting_;  // Why calls may not wait for a version; OK: they may.
  uint64_t version_ = 0;         // The session's.
  uint64_t batches_ = 0;         // The session's.
  wire::SessionStatus status_;
  MetricsSnapshot round_metrics_;
  RebuildTotals rebuilds_;

  std::vector<std::unique_ptr<PlanSubscriber>> subscribers_;  // Used only by the thread.
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_SESSION_THREAD_H_
