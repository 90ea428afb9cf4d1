#include "service/plan_time.h"

#include <fmt/format.h>

#include "snapshot/formats/rfc3339.h"

namespace ebb {

PlanTime TimeToPlanFor(int64_t clock_s, int64_t newest_s) {
  constexpr int64_t kSkewMaxS = 600;
  if (newest_s <= clock_s) return {.now_s = clock_s};
  if (newest_s - clock_s <= kSkewMaxS) return {.now_s = newest_s};
  return {
      .now_s = clock_s,
      .warning = InputWarning{
          .code = "TimeAheadOfClock",
          .message = fmt::format("an object in the input is of {}, which lies after this machine's "
                                 "clock, {}; the clock's time is taken, or that of --now",
                                 FormatRfc3339(newest_s), FormatRfc3339(clock_s)),
          .command = ""}};
}

}  // namespace ebb
