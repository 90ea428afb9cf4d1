// WallClock: the system's time for a loop, which ends at SIGTERM or SIGINT.
//
//   WallClock clock;  // Before any thread is made (end_signals.h).
//   loop.Run(clock);
//
// Threads: one.

#ifndef EBB_TOOLS_WALL_CLOCK_H_
#define EBB_TOOLS_WALL_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "engine/actuation/loop.h"
#include "tools/end_signals.h"

namespace ebb {

class WallClock : public LoopClock {
 public:
  static int64_t Now() {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
  }

  int64_t NowS() override { return Now(); }
  bool SleepUntil(int64_t time_s) override { return !signals_.Wait(Until(time_s)); }
  void WaitUntil(int64_t time_s) override { std::this_thread::sleep_for(Until(time_s)); }

 private:
  // A clock that is set back makes no sleep longer than it was to be.
  static std::chrono::microseconds Until(int64_t time_s) {
    const std::chrono::system_clock::time_point end{std::chrono::seconds(time_s)};
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        end - std::chrono::system_clock::now());
    return std::max(left, std::chrono::microseconds(0));
  }

  EndSignals signals_;
};

}  // namespace ebb

#endif  // EBB_TOOLS_WALL_CLOCK_H_
