// How the time for an answer is divided among its steps.
//
// Cost: each constructor call reads the steady clock.

#ifndef EBB_PLANNING_DEADLINES_H_
#define EBB_PLANNING_DEADLINES_H_

#include "platform/clock.h"

namespace ebb {

// For each step, the share of the time, from 0 to 1, that is over when the step must end.
struct TimeShares {
  double passes = 0.5;      // Verifying a plan usually takes no longer than its passes.
  double verification = 1;  // Also ends the trials.
  double bound = 1;
};

// For a command, which prints at once: the plan may take all of the time.
inline constexpr TimeShares kTimeOfCommand{};
// For a call: the rest is for serializing and sending the answer.
inline constexpr TimeShares kTimeOfCall{.passes = 0.5, .verification = 0.9, .bound = 0.5};

struct Deadlines {
  // Divides the time from `now` to `end`.
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
