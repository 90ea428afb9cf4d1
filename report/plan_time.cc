#include "report/plan_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/rfc3339.h"
#include "snapshot/import/advice.h"

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
                                 "clock, {}; ebb plans for the clock's time, or that of --now",
                                 FormatRfc3339(newest_s), FormatRfc3339(clock_s)),
          .command = ""}};
}

std::optional<InputWarning> WarningOfAge(int64_t now_s, const LoadedCluster& cluster) {
  constexpr int64_t kOldS = 3600;
  const int64_t heartbeat = cluster.counts.newest_heartbeat;
  if (heartbeat <= 0) return std::nullopt;
  const int64_t newest = std::max(heartbeat, cluster.newest_time);
  const int64_t age = now_s - newest;
  if (age <= kOldS) return std::nullopt;
  InputWarning warning{
      .code = "OldDump",
      .message =
          fmt::format("{} is of {}, {} before the time that is planned for, {}; {}",
                      cluster.source == InputSource::kDump ? "the dump" : "the newest that was fed",
                      FormatRfc3339(newest), DurationText(age), FormatRfc3339(now_s),
                      cluster.source == InputSource::kDump ? "pods have come and gone since"
                                                           : "changes since may be missing"),
      .command = ""};
  Advise(cluster.source, warning);
  return warning;
}

}  // namespace ebb
