// The time to plan for, where nobody names one.
//
// Threads: pure functions.

#ifndef EBB_SERVICE_PLAN_TIME_H_
#define EBB_SERVICE_PLAN_TIME_H_

#include <cstdint>
#include <optional>

#include "snapshot/import/input_warning.h"

namespace ebb {

struct PlanTime {
  int64_t now_s = 0;
  std::optional<InputWarning> warning = std::nullopt;
};
// The clock's time, or the newest time that an object carries if that is a little ahead:
// a dump from a machine whose clock is ahead is not from the future.  One that is far
// ahead is wrong, or made up by whoever edited the dump, and moves nothing.
PlanTime TimeToPlanFor(int64_t clock_s, int64_t newest_s);

}  // namespace ebb

#endif  // EBB_SERVICE_PLAN_TIME_H_
