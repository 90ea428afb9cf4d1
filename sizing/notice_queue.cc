#include "sizing/notice_queue.h"

#include <fmt/format.h>

#include <utility>

#include "base/figures.h"

namespace ebb {

NoticeQueue::NoticeQueue(std::vector<std::unique_ptr<Notifier>> notifiers)
    : notifiers_(std::move(notifiers)), thread_([this] { Run(); }) {}

NoticeQueue::~NoticeQueue() { FinishAndTakeProblems(); }

void NoticeQueue::Add(Notice notice) {
  if (notifiers_.empty()) return;
  const std::lock_guard lock(mutex_);
  if (finished_ || waiting_.size() >= kNoticesMax) {
    problems_.push_back(fmt::format("pool {}: a notice was dropped: {} wait to be sent",
                                    notice.pool, waiting_.size()));
    return;
  }
  waiting_.push_back(std::move(notice));
  changed_.notify_all();
}

std::vector<std::string> NoticeQueue::TakeProblems() {
  const std::lock_guard lock(mutex_);
  return std::exchange(problems_, {});
}

std::vector<std::string> NoticeQueue::FinishAndTakeProblems(std::chrono::milliseconds farewell) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, farewell, [this] { return waiting_.empty() && !sending_; });
    finished_ = true;
    if (!waiting_.empty()) {
      problems_.push_back(fmt::format("{} not sent: ebb ends",
                                      Count(waiting_.size(), "notice was", "notices were")));
    }
    waiting_.clear();
  }
  for (const auto& notifier : notifiers_) notifier->GiveUp();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return TakeProblems();
}

void NoticeQueue::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return finished_ || !waiting_.empty(); });
    if (finished_) return;
    const Notice notice = std::move(waiting_.front());
    waiting_.pop_front();
    sending_ = true;
    lock.unlock();
    std::vector<std::string> failed = NotifyAll(notifiers_, notice);
    lock.lock();
    sending_ = false;
    for (std::string& each : failed) problems_.push_back(std::move(each));
    changed_.notify_all();
  }
}

}  // namespace ebb
