// PlannerService: the calls of service/wire/planner.proto, over the sessions of a daemon.
//
// Nothing waits in gRPC's threads: a call is posted to its session's thread and answered from
// there, and a stream holds no thread between its messages.  Batches of Sync are parsed in
// gRPC's threads, while the session takes those before them or answers a question.
//
// Threads: gRPC's.

#ifndef EBB_SERVICE_DAEMON_PLANNER_SERVICE_H_
#define EBB_SERVICE_DAEMON_PLANNER_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "service/clock.h"
#include "service/daemon/sessions.h"

namespace grpc {
class Service;
}

namespace ebb {

// A call that has ended, for logs and metrics.
struct EndedCall {
  std::string call;     // "Plan"
  std::string session;  // "": it names none.
  absl::Status status;
  double seconds = 0;
  uint64_t messages = 0;  // Of a stream, those that came and went.
};

struct PlannerServiceOptions {
  Sessions* sessions = nullptr;
  const SessionOptions* session_options = nullptr;
  int64_t started_at = 0;  // Unix time.
  // Called by any thread.
  std::function<void(const EndedCall&)> on_call;
};

class PlannerService {
 public:
  explicit PlannerService(PlannerServiceOptions options);
  ~PlannerService();
  PlannerService(const PlannerService&) = delete;
  PlannerService& operator=(const PlannerService&) = delete;

  // To be registered with a server, which ends before this does.
  grpc::Service* service();

  // Ends the streams that would go on for ever: WatchPlans, and Sync after its batch at work.
  void EndStreams();
  // Until no call is at work, or `end`.
  void WaitForCalls(Clock::time_point end);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_DAEMON_PLANNER_SERVICE_H_
