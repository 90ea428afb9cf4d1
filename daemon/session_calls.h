// SessionCalls: the calls that the parts of a loop make to a session.  PlannerClient (client.h)
// calls a daemon, OwnSession (own_session.h) a session of this process.
//
// Errors:  those of planner.proto; DeadlineExceeded: there was no answer in time.
// Threads: one at a time.

#ifndef EBB_DAEMON_SESSION_CALLS_H_
#define EBB_DAEMON_SESSION_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

class SessionCalls {
 public:
  virtual ~SessionCalls() = default;

  virtual absl::StatusOr<wire::StatusReply> Status() = 0;
  virtual absl::StatusOr<wire::SessionStatus> Open(const wire::OpenRequest& request) = 0;
  virtual absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call) = 0;
  virtual absl::StatusOr<wire::ActuationReply> ReportActuation(
      const wire::ActuationReport& report) = 0;
  virtual absl::StatusOr<wire::SizingReply> Sizing(const wire::SizingCall& call) = 0;
  // The session's version, and its cluster as a binary snapshot.
  struct Exported {
    uint64_t version = 0;
    std::string snapshot;
  };
  virtual absl::StatusOr<Exported> Export(const std::string& session) = 0;
};

}  // namespace ebb

#endif  // EBB_DAEMON_SESSION_CALLS_H_
