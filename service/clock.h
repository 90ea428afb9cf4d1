// The steady clock, for callers of the engine, which reads none: how long something took, and
// deadlines.

#ifndef EBB_SERVICE_CLOCK_H_
#define EBB_SERVICE_CLOCK_H_

#include <chrono>

#include "base/deadline.h"

namespace ebb {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Expires at `end`.
class ClockDeadline final : public Deadline {
 public:
  explicit ClockDeadline(Clock::time_point end) : end_(end) {}
  [[nodiscard]] bool Expired() const override { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_CLOCK_H_
