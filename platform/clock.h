// The steady clock, for callers of the engine: how long something took, and deadlines.  The engine
// itself reads no clock.

#ifndef EBB_PLATFORM_CLOCK_H_
#define EBB_PLATFORM_CLOCK_H_

#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/deadline.h"
#include "base/time_range.h"

namespace ebb {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// REQUIRES: at most a few centuries, which is what the clock can count.
inline Clock::duration DurationOf(double seconds) {
  EBB_DCHECK(std::abs(seconds) <= 2.0 * static_cast<double>(kLongestDurationS));
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Expires at `end`.
class ClockDeadline final : public Deadline {
 public:
  explicit ClockDeadline(Clock::time_point end) : end_(end) {}
  [[nodiscard]] bool Expired() const override { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

// Deadlines for work that is done in parts, one after the other.  Each part ends when its share of
// the time is over.  Time that one part does not use is left for the later parts.
class ClockDeadlines {
 public:
  ClockDeadlines(Clock::time_point start, Clock::duration time, size_t parts) {
    for (size_t part = 1; part <= parts; ++part) {
      deadlines_.emplace_back(start + time * part / parts);
    }
    for (const ClockDeadline& deadline : deadlines_) each_.push_back(&deadline);
  }
  ClockDeadlines(const ClockDeadlines&) = delete;
  ClockDeadlines& operator=(const ClockDeadlines&) = delete;

  [[nodiscard]] std::span<const Deadline* const> Each() const { return each_; }

 private:
  std::vector<ClockDeadline> deadlines_;
  std::vector<const Deadline*> each_;
};

}  // namespace ebb

#endif  // EBB_PLATFORM_CLOCK_H_
