// The time to plan for if the caller gives none, and whether a dump is much older than that time.
//
// Threads: pure functions.

#ifndef EBB_REPORT_PLAN_TIME_H_
#define EBB_REPORT_PLAN_TIME_H_

#include <cstdint>
#include <optional>
#include <string>

#include "snapshot/import/input_warning.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

struct PlanTime {
  int64_t now_s = 0;
  std::optional<InputWarning> warning = std::nullopt;
};
// The clock's time, or the newest time that an object carries if that is slightly later: a dump
// from a machine whose clock is ahead is not from the future.  A time that is far ahead is wrong,
// or was written by a person who edited the dump, and is ignored.
PlanTime TimeToPlanFor(int64_t clock_s, int64_t newest_s);

// A warning if the dump is more than an hour older than `now_s`, the time that is planned for.  The
// age of a dump is the age of the newest time that an object carries.  Kubelets write heartbeats at
// least every five minutes.  Creation times prove nothing, since a cluster may be quiet for weeks.
// So there is no warning if no node has a heartbeat, as in dumps that people write or ebb
// generates.
std::optional<InputWarning> WarningOfAge(int64_t now_s, const LoadedCluster& cluster);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_TIME_H_
