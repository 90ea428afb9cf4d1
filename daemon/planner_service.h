// PlannerService: the calls of wire/planner.proto, over the sessions of a daemon.
//
// No call blocks a thread of gRPC: it is posted to its session's thread and answered from there,
// and a stream holds no thread between its messages.  Batches of Sync are parsed in gRPC's threads,
// while the session applies the batches before them or answers a question.
//
// Threads: gRPC's.

#ifndef EBB_DAEMON_PLANNER_SERVICE_H_
#define EBB_DAEMON_PLANNER_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/sessions.h"
#include "platform/clock.h"

namespace grpc {
class Service;
}

namespace ebb {

// A call that has ended, for logs and metrics.
struct EndedCall {
  std::string call;     // "Plan"
  std::string session;  // "": the call names no session.
  absl::Status status;
  double seconds = 0;
  uint64_t messages = 0;  // For a stream, the number of messages in both directions.
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

  // To be registered with a server, which must end before this object.
  grpc::Service* service();

  // Ends the streams that would never end themselves: WatchPlans, and Sync after the batch that is
  // being applied.
  void EndStreams();
  // Waits until no call is running, or until `end`.
  void WaitForCalls(Clock::time_point end);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_PLANNER_SERVICE_H_
