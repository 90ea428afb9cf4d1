// WallClock: the system's time for a loop, which ends at SIGTERM or SIGINT.
//
//   WallClock clock;  // Before any thread is made (end_signals.h).
//   loop.Run(clock);
//
// The loop is asked to end by the first signal.  `LastEnd` sees to it that what the loop waits for
// then ends too: after a grace, or at a second signal.
//
// Threads: one that waits for signals; calls come from another.

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
  // Returns earlier where the last end has come.
  void SleepFor(std::chrono::milliseconds time);

  // Calls `then` from another thread, once, `grace` after the first signal or at a second one.
  // While it lives; one at a time.
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
  void Watch();

  EndSignals signals_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int signals_met_ = 0;
  Steady::time_point met_at_{};      // The first signal.
  std::optional<int64_t> met_at_s_;  // The same, Unix time.
  bool last_end_ = false;            // Has come.
  std::chrono::milliseconds grace_{};
  std::function<void()> then_;  // Null: nothing is to be ended.
  std::atomic<bool> over_ = false;
  std::thread watcher_;  // The last: it uses the others.
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_WALL_CLOCK_H_
