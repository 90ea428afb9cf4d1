// DaemonMetrics: what a daemon counts, in Prometheus' text form.
//
//   ebb_calls_total{call,code}            calls that ended
//   ebb_call_duration_seconds{call}       how long they took
//   ebb_connections_total{result}         "accepted", "refused" for their user,
//                                         "closed" because of too many calls
//   ebb_sessions
//   ebb_session_version{session}, ebb_session_nodes, ebb_session_pods,
//   ebb_session_plans_total, ebb_session_waiting_calls
//   ebb_session_rebuilds_total{session,cause}, ebb_session_rebuild_seconds_total{session,cause}
//                                         by RebuildTotals::Total::cause
//   ebb_session_text_renewals_total{session}
//   process_resident_memory_bytes
//
// Threads: any thread may call.

#ifndef EBB_DAEMON_DAEMON_METRICS_H_
#define EBB_DAEMON_DAEMON_METRICS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/planner_service.h"

namespace ebb {

class DaemonMetrics {
 public:
  DaemonMetrics();
  ~DaemonMetrics();
  DaemonMetrics(const DaemonMetrics&) = delete;
  DaemonMetrics& operator=(const DaemonMetrics&) = delete;

  void Count(const EndedCall& call);

  struct Now {
    uint64_t connections_accepted = 0;
    uint64_t connections_refused = 0;
    uint64_t connections_closed = 0;
    uint64_t resident_bytes = 0;
  };
  // Includes the metrics of the sessions' rounds.
  [[nodiscard]] std::string Text(const Sessions& sessions, const Now& now) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_DAEMON_METRICS_H_
