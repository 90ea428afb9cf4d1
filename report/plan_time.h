// The time to plan for, where nobody names one, and whether a dump is much older than it.
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
// The clock's time, or the newest time that an object carries if that is a little ahead:
// a dump from a machine whose clock is ahead is not from the future.  One that is far
// ahead is wrong, or made up by whoever edited the dump, and moves nothing.
PlanTime TimeToPlanFor(int64_t clock_s, int64_t newest_s);

// A warning where the dump is more than an hour older than the time that is planned for.  A dump is
// as old as the newest of the times that objects carry.  A kubelet writes its heartbeats every
// five minutes or more often; creation times say nothing, since a cluster may be quiet for weeks.
// So there is no warning where no node has a heartbeat, as in what people write and ebb generates.
std::optional<InputWarning> WarningOfAge(int64_t now_s, const LoadedCluster& cluster);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_TIME_H_
