#include "daemon/session_thread.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ebb {

SessionThread::SessionThread(std::unique_ptr<Session> session, size_t calls_max)
    : name_(session->name()), session_(std::move(session)), calls_max_(calls_max) {
  Publish();
  thread_ = std::thread([this] { Run(); });
}

SessionThread::~SessionThread() {
  Close(absl::AbortedError(absl::StrCat("session ", name_, " was closed")));
  thread_.join();
}

void SessionThread::Post(SessionCall call) {
  absl::Status refused;
  {
    const std::lock_guard lock(mutex_);
    // The limits are separate, so that calls that wait for a change cannot keep that change out.
    const bool waits = call.min_version > version_;
    std::deque<SessionCall>& calls = waits ? waiting_ : ready_;
    if (closed_) {
      refused = why_closed_;
    } else if (waits && !why_no_waiting_.ok()) {
      refused = why_no_waiting_;
    } else if (calls.size() >= calls_max_ && !call.beyond_max) {
      refused = absl::ResourceExhaustedError(absl::StrCat(
          "calls: session ", name_, " has ", calls_max_, " calls waiting, --max-waiting-calls"));
    } else {
      calls.push_back(std::move(call));
      changed_.notify_one();
      return;
    }
  }
  call.refuse(refused);
}

void SessionThread::Watch(std::unique_ptr<PlanWatcher> watcher) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      new_watchers_.push_back(std::move(watcher));
      changed_.notify_one();
      return;
    }
  }
  watcher->send(why_closed_);
}

void SessionThread::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void SessionThread::EndWaiting(const absl::Status& why) {
  std::deque<SessionCall> waiting;
  {
    const std::lock_guard lock(mutex_);
    why_no_waiting_ = why;
    for (SessionCall& call : std::exchange(waiting_, {})) {
      (call.min_version <= version_ ? ready_ : waiting).push_back(std::move(call));
    }
  }
  changed_.notify_one();
  for (const SessionCall& call : waiting) call.refuse(why);
}

void SessionThread::Close(const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    why_closed_ = why;
  }
  changed_.notify_one();
}

wire::SessionStatus SessionThread::Status() const {
  const std::lock_guard lock(mutex_);
  wire::SessionStatus status = status_;
  status.set_calls_waiting(ready_.size() + waiting_.size());
  return status;
}

uint64_t SessionThread::Batches() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}

MetricsSnapshot SessionThread::RoundMetrics() const {
  const std::lock_guard lock(mutex_);
  return round_metrics_;
}

void SessionThread::Publish() {
  wire::SessionStatus status = session_->Status();
  MetricsSnapshot metrics;
  const bool after_round = status.rounds() != status_.rounds();  // No other thread writes it.
  if (after_round) metrics = session_->rounds().RoundMetrics();
  const std::lock_guard lock(mutex_);
  version_ = session_->cluster().version();
  batches_ = session_->cluster().batches();
  status_ = std::move(status);
  if (after_round) round_metrics_ = std::move(metrics);
}

std::vector<SessionCall> SessionThread::TakeCancelled() {
  std::vector<SessionCall> cancelled;
  std::deque<SessionCall> still;
  for (SessionCall& call : waiting_) {
    if (call.cancelled && call.cancelled()) {
      cancelled.push_back(std::move(call));
    } else if (call.min_version <= version_) {
      ready_.push_back(std::move(call));
    } else {
      still.push_back(std::move(call));
    }
  }
  waiting_ = std::move(still);
  return cancelled;
}

namespace {

wire::PlanChange Refusal(const Session& session, const absl::Status& why) {
  wire::PlanChange change;
  change.set_version(session.cluster().version());
  change.set_refused(std::string(why.message()));
  return change;
}

}  // namespace

Clock::time_point SessionThread::SendPlans() {
  std::erase_if(watchers_,
                [](const auto& watcher) { return watcher->state() == PlanWatcher::State::kGone; });
  Clock::time_point next = Clock::time_point::max();
  const auto waits = [&](const auto& watcher) {
    return watcher->looked_at != session_->cluster().revision() &&
           watcher->state() == PlanWatcher::State::kReady;
  };
  const auto due = std::ranges::find_if(watchers_, [&](const auto& watcher) {
    return waits(watcher) && watcher->next_look <= Clock::now();
  });
  if (due != watchers_.end()) {
    // Moves the watcher to the end, so that the other watchers come first next time.
    std::rotate(due, due + 1, watchers_.end());
    const std::unique_ptr<PlanWatcher>& watcher = watchers_.back();
    const bool first = watcher->looked_at == 0;
    const bool was_fed = watcher->told.is_fed;
    watcher->looked_at = session_->cluster().revision();
    watcher->next_look = Clock::now() + watcher->min_interval;
    auto change = session_->questions().PlanChanges(watcher->input, watcher->told);
    // After its first message, a watcher waits for the end of a resync, as it waits for nodes.
    const bool refused = absl::IsFailedPrecondition(change.status()) ||
                         (!first && absl::IsUnavailable(change.status()));
    const bool as_before = refused && watcher->refused == change.status().message();
    if (refused) {
      change = Refusal(*session_, change.status());
      watcher->told = {};
    }
    watcher->refused = refused ? change->refused() : "";
    const bool news = !change.ok() || refused || change->whole() || change->removes_size() > 0 ||
                      change->keeps_size() > 0 || change->gone_nodes_size() > 0 ||
                      watcher->told.is_fed != was_fed;
    if ((news || first) && !as_before) watcher->send(change);
  }
  for (const auto& watcher : watchers_) {
    if (waits(watcher)) next = std::min(next, watcher->next_look);
  }
  return next;
}

void SessionThread::Run() {
  Clock::time_point next_look = Clock::time_point::max();
  while (true) {
    SessionCall call;
    std::vector<SessionCall> refused;
    absl::Status why = absl::CancelledError("the client no longer waits for the answer");
    bool ends = false;
    {
      std::unique_lock lock(mutex_);
      const auto something = [&] {
        return closed_ || woken_ || !ready_.empty() || !new_watchers_.empty();
      };
      if (next_look == Clock::time_point::max()) {
        changed_.wait(lock, something);
      } else {
        changed_.wait_until(lock, next_look, something);
      }
      woken_ = false;
      std::ranges::move(new_watchers_, std::back_inserter(watchers_));
      new_watchers_.clear();
      refused = TakeCancelled();
      if (closed_) {
        ends = true;
        why = why_closed_;
        std::ranges::move(ready_, std::back_inserter(refused));
        std::ranges::move(waiting_, std::back_inserter(refused));
        ready_.clear();
        waiting_.clear();
      } else if (!ready_.empty()) {
        call = std::move(ready_.front());
        ready_.pop_front();
      }
    }
    for (const SessionCall& each : refused) each.refuse(why);
    if (ends) break;
    if (call.run != nullptr) {
      if (call.cancelled && call.cancelled()) {
        call.refuse(why);
      } else {
        const SessionCall::Respond tell = call.run(*session_);
        Publish();
        if (tell != nullptr) tell();
        // Calls that waited for this version come next.
        const std::lock_guard lock(mutex_);
        woken_ = woken_ || !waiting_.empty();
      }
    }
    next_look = watchers_.empty() ? Clock::time_point::max() : SendPlans();
  }
  for (const auto& watcher : watchers_) {
    if (watcher->state() != PlanWatcher::State::kGone) watcher->send(why_closed_);
  }
}

}  // namespace ebb
