// WallClock: the system clock for a loop, which asks the loop to end at SIGTERM or SIGINT.
//
//   WallClock clock;  // Create it before any thread (end_signals.h).
//   loop.Run(clock);
//
// The first signal asks the loop to end.  A `LastEnd` also ends what the loop waits for: after a
// grace period, or at a second signal.
//
// Threads: has one of its own, which waits for signals; calls come from one other thread.

#ifndef EBB_CLI_COMMANDS_WALL_CLOCK_H_
#define EBB_CLI_COMMANDS_WALL_CLOCK_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/commands/end_signals.h"
#include "loop/loop.h"

namespace ebb {

class WallClock : public LoopClock {
 public:
  WallClock();
  ~WallClock() override;

  static int64_t Now() {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
  }

  int64_t NowS() override { return Now(); }
  bool SleepUntil(int64_t time_s) override;
  void WaitUntil(int64_t time_s) override;
  int64_t EndRequestedAtS() override;
  // Sleeps for `time`, or until the LastEnd is due.
  void SleepFor(std::chrono::milliseconds time);

  // Calls `then` once from another thread: `grace` after the first signal, or at a second signal.
  // Does nothing after the LastEnd is destroyed.  At most one LastEnd may exist at a time.
  class LastEnd {
   public:
    LastEnd(WallClock& clock, std::chrono::milliseconds grace, std::function<void()> then);
    ~LastEnd();
    LastEnd(const LastEnd&) = delete;
    LastEnd& operator=(const LastEnd&) = delete;

   private:
    WallClock& clock_;
  };

 private:
  using Steady = std::chrono::steady_clock;
  void Run();

  EndSignals signals_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int signals_met_ = 0;
  Steady::time_point met_at_{};      // Of the first signal.
  std::optional<int64_t> met_at_s_;  // As Unix time.
  bool last_end_ = false;            // The LastEnd was due.
  std::chrono::milliseconds grace_{};
  std::function<void()> then_;  // Null: there is no LastEnd, or it was called.
  std::atomic<bool> over_ = false;
  std::thread thread_;  // Declared last, because it uses the other members.
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_WALL_CLOCK_H_
