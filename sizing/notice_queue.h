// NoticeQueue sends notices from its own thread, so that a slow receiver delays no round.
//
//   NoticeQueue queue(MakeNotifiers(settings, Print, nullptr));
//   queue.Add(notice);  // Returns at once.
//   for (const std::string& problem : queue.TakeProblems()) Print(problem);
//
// Notices are sent in order, one at a time.  If kNoticesMax notices wait, a further notice is
// dropped and reported as a problem.  When the queue ends, it waits kFarewell for the remaining
// notices and then gives up.  FinishAndTakeProblems returns a problem that says how many notices
// were not sent.
//
// Threads: one of its own; calls come from one thread.

#ifndef EBB_SIZING_NOTICE_QUEUE_H_
#define EBB_SIZING_NOTICE_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sizing/notice.h"
#include "sizing/notifier.h"

namespace ebb {

class NoticeQueue {
 public:
  static constexpr size_t kNoticesMax = 100;
  static constexpr std::chrono::seconds kFarewell{2};

  explicit NoticeQueue(std::vector<std::unique_ptr<Notifier>> notifiers);
  ~NoticeQueue();
  NoticeQueue(const NoticeQueue&) = delete;
  NoticeQueue& operator=(const NoticeQueue&) = delete;

  void Add(Notice notice);
  // What went wrong since the last call, one line each.
  std::vector<std::string> TakeProblems();
  // Ends the thread; later notices are not sent.
  std::vector<std::string> FinishAndTakeProblems(std::chrono::milliseconds farewell = kFarewell);

 private:
  void Run();

  const std::vector<std::unique_ptr<Notifier>> notifiers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Notice> waiting_;
  std::vector<std::string> problems_;
  bool sending_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_SIZING_NOTICE_QUEUE_H_
