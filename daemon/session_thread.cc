#include "daemon/session_thread.h"

#include <algorithm>
#include <optional>
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
    const bool is_change = call.kind == SessionCall::Kind::kChange;
    const bool waits = !is_change && call.min_version > version_;
    std::deque<SessionCall>& calls = waits ? waiting_ : ready_;
    if (closed_) {
      refused = why_closed_;
    } else if (waits && !why_no_waiting_.ok()) {
      refused = why_no_waiting_;
    } else if ((is_change ? changes_.size() : calls.size()) >= calls_max_ && !call.beyond_max) {
      refused = absl::ResourceExhaustedError(absl::StrCat(
          "calls: session ", name_, " has ", calls_max_, " calls waiting, --max-waiting-calls"));
    } else {
      if (is_change) {
        changes_.push_back(
            {.call = std::move(call), .number = ++changes_posted_, .arrived_s = ClockS()});
      } else {
        calls.push_back(std::move(call));
      }
      changed_.notify_one();
      return;
    }
  }
  call.refuse(refused);
}

void SessionThread::Subscribe(std::unique_ptr<PlanSubscriber> subscriber) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      new_subscribers_.push_back(std::move(subscriber));
      changed_.notify_one();
      return;
    }
  }
  subscriber->send(why_closed_);
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
    closing_.Cancel();
  }
  changed_.notify_one();
}

wire::SessionStatus SessionThread::Status() const {
  const std::lock_guard lock(mutex_);
  wire::SessionStatus status = status_;
  status.set_calls_waiting(changes_.size() + ready_.size() + waiting_.size());
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

RebuildTotals SessionThread::Rebuilds() const {
  const std::lock_guard lock(mutex_);
  return rebuilds_;
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
  rebuilds_ = session_->cluster().rebuilds();
  if (after_round) round_metrics_ = std::move(metrics);
}

namespace {

absl::Status NobodyWaits() {
  return absl::CancelledError("the client no longer waits for the answer");
}

wire::PlanChange Refusal(const Session& session, const absl::Status& why) {
  wire::PlanChange change;
  change.set_version(session.cluster().version());
  change.set_refused(std::string(why.message()));
  return change;
}

}  // namespace

Clock::time_point SessionThread::SendPlans() {
  std::erase_if(subscribers_, [](const auto& subscriber) {
    return subscriber->state() == PlanSubscriber::State::kGone;
  });
  Clock::time_point next = Clock::time_point::max();
  const auto waits = [&](const auto& subscriber) {
    return subscriber->looked_at != session_->cluster().revision() &&
           subscriber->state() == PlanSubscriber::State::kReady;
  };
  const auto due = std::ranges::find_if(subscribers_, [&](const auto& subscriber) {
    return waits(subscriber) && subscriber->next_look <= Clock::now();
  });
  if (due != subscribers_.end()) {
    // Moves the subscriber to the end, so that the other subscribers come first next time.
    std::rotate(due, due + 1, subscribers_.end());
    const std::unique_ptr<PlanSubscriber>& subscriber = subscribers_.back();
    const bool first = subscriber->looked_at == 0;
    if (first) subscriber->told = session_->questions().PlanSince(subscriber->since_version);
    const bool was_fed = subscriber->told.is_fed;
    subscriber->looked_at = session_->cluster().revision();
    subscriber->next_look = Clock::now() + subscriber->min_interval;
    auto change = session_->questions().PlanChanges(subscriber->input, subscriber->told, &closing_);
    if (IsClosed()) return next;
    // After its first message, a subscriber waits for the end of a resync, as it waits for nodes.
    const bool refused = absl::IsFailedPrecondition(change.status()) ||
                         (!first && absl::IsUnavailable(change.status()));
    const bool as_before = refused && subscriber->refused == change.status().message();
    if (refused) {
      change = Refusal(*session_, change.status());
      subscriber->told = {};
    }
    subscriber->refused = refused ? change->refused() : "";
    const bool news = !change.ok() || refused || change->whole() || change->removes_size() > 0 ||
                      change->keeps_size() > 0 || change->gone_nodes_size() > 0 ||
                      subscriber->told.is_fed != was_fed;
    if ((news || first) && !as_before) subscriber->send(change);
  }
  for (const auto& subscriber : subscribers_) {
    if (waits(subscriber)) next = std::min(next, subscriber->next_look);
  }
  return next;
}

bool SessionThread::WaitForWork(Clock::time_point next_look) {
  std::unique_lock lock(mutex_);
  const auto something = [&] {
    return closed_ || woken_ || !changes_.empty() || !ready_.empty() || !new_subscribers_.empty();
  };
  if (next_look == Clock::time_point::max()) {
    changed_.wait(lock, something);
  } else {
    changed_.wait_until(lock, next_look, something);
  }
  woken_ = false;
  std::ranges::move(new_subscribers_, std::back_inserter(subscribers_));
  new_subscribers_.clear();
  return !closed_;
}

void SessionThread::RefuseCancelled() {
  std::vector<SessionCall> cancelled;
  {
    const std::lock_guard lock(mutex_);
    for (SessionCall& call : std::exchange(waiting_, {})) {
      if (call.cancelled && call.cancelled()) {
        cancelled.push_back(std::move(call));
      } else {
        (call.min_version <= version_ ? ready_ : waiting_).push_back(std::move(call));
      }
    }
  }
  for (const SessionCall& call : cancelled) call.refuse(NobodyWaits());
}

bool SessionThread::IsClosed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void SessionThread::RunCall(const SessionCall& call) {
  if (call.cancelled && call.cancelled()) return call.refuse(NobodyWaits());
  const SessionCall::Respond tell = call.run(*session_);
  session_->cluster().SetTakenUntil(std::nullopt);
  Publish();
  if (call.kind == SessionCall::Kind::kQuestion && IsClosed()) return call.refuse(why_closed_);
  if (tell != nullptr) tell();
  // Calls that waited for this version come next.
  const std::lock_guard lock(mutex_);
  woken_ = woken_ || !waiting_.empty();
}

uint64_t SessionThread::ChangesPosted() const {
  const std::lock_guard lock(mutex_);
  return changes_posted_;
}

void SessionThread::RunChanges(uint64_t last) {
  session_->cluster().SetTakenUntil(std::nullopt);
  while (true) {
    SessionCall call;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || changes_.empty() || changes_.front().number > last) return;
      call = std::move(changes_.front().call);
      changes_.pop_front();
    }
    RunCall(call);
  }
}

void SessionThread::NoteWhatIsTaken() {
  int64_t taken_until_s = ClockS();
  {
    const std::lock_guard lock(mutex_);
    if (!changes_.empty()) taken_until_s = std::min(taken_until_s, changes_.front().arrived_s);
  }
  session_->cluster().SetTakenUntil(taken_until_s);
}

void SessionThread::RunNext() {
  std::optional<SessionCall> call;
  uint64_t last_change = 0;
  {
    // Under one lock, so that a change that a client posted before this call is included.
    const std::lock_guard lock(mutex_);
    last_change = changes_posted_;
    if (!closed_ && !ready_.empty()) {
      call = std::move(ready_.front());
      ready_.pop_front();
    }
  }
  RunChanges(last_change);
  if (!call) return;
  if (IsClosed()) return call->refuse(why_closed_);
  NoteWhatIsTaken();
  RunCall(*call);
}

void SessionThread::RefuseAll() {
  std::vector<SessionCall> refused;
  {
    const std::lock_guard lock(mutex_);
    for (WaitingChange& change : std::exchange(changes_, {})) {
      refused.push_back(std::move(change.call));
    }
    std::ranges::move(std::exchange(ready_, {}), std::back_inserter(refused));
    std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(refused));
  }
  for (const SessionCall& call : refused) call.refuse(why_closed_);
}

void SessionThread::Run() {
  Clock::time_point next_look = Clock::time_point::max();
  while (WaitForWork(next_look)) {
    RefuseCancelled();
    RunNext();
    next_look = Clock::time_point::max();
    if (subscribers_.empty()) continue;
    RunChanges(ChangesPosted());
    NoteWhatIsTaken();
    next_look = SendPlans();
  }
  RefuseAll();
  for (const auto& subscriber : subscribers_) {
    if (subscriber->state() != PlanSubscriber::State::kGone) subscriber->send(why_closed_);
  }
}

}  // namespace ebb
