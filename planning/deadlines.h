// How the time for an answer is divided among its steps.
//
// Cost: reads the steady clock.

#ifndef EBB_PLANNING_DEADLINES_H_
#define EBB_PLANNING_DEADLINES_H_

#include "platform/clock.h"

namespace ebb {

// Which share of the time is over when a step ends, 0 to 1.
struct TimeShares {
  double passes = 0.5;      // Verifying what passes found mostly takes no longer than they did.
  double verification = 1;  // And trials.
  double bound = 1;
};

// Of a command, which prints as fast as it can: the plan may take all of the time.
inline constexpr TimeShares kTimeOfCommand{};
// Of a call: the rest is for writing the answer down and sending it.
inline constexpr TimeShares kTimeOfCall{.passes = 0.5, .verification = 0.9, .bound = 0.5};

struct Deadlines {
  // Of the time from `now` to `end`.
  Deadlines(Clock::time_point end, const TimeShares& shares, Clock::time_point now = Clock::now())
      : passes_end(At(end, shares.passes, now)),
        verification_ends(At(end, shares.verification, now)),
        bound_ends(At(end, shares.bound, now)) {}

  ClockDeadline passes_end;
  ClockDeadline verification_ends;
  ClockDeadline bound_ends;

 private:
  static ClockDeadline At(Clock::time_point end, double share, Clock::time_point now) {
    return ClockDeadline(now + std::chrono::duration_cast<Clock::duration>((end - now) * share));
  }
};

}  // namespace ebb

#endif  // EBB_PLANNING_DEADLINES_H_
