// OwnSession: calls to sessions of this process, without a socket.
//
//   OwnSession own(daemon->sessions(), std::chrono::seconds(60));
//   SessionRounds rounds(own, {.session = "prod"});
//
// As for a client, a call runs on the session's thread, after earlier calls, and an answer that
// comes after the timeout is lost.
//
// Threads: one at a time.

#ifndef EBB_DAEMON_OWN_SESSION_H_
#define EBB_DAEMON_OWN_SESSION_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/session_calls.h"
#include "daemon/sessions.h"

namespace ebb {

class OwnSession final : public SessionCalls {
 public:
  // Borrows the sessions.  `timeout`: for each call; Export has ten times that.
  OwnSession(Sessions& sessions, std::chrono::milliseconds timeout)
      : sessions_(sessions), timeout_(timeout) {}

  absl::StatusOr<wire::StatusReply> Status() override;
  absl::StatusOr<wire::SessionStatus> Open(const wire::OpenRequest& request) override;
  absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call) override;
  absl::StatusOr<wire::ActuationReply> ReportActuation(
      const wire::ActuationReport& report) override;
  absl::StatusOr<wire::SizingReply> Sizing(const wire::SizingCall& call) override;
  absl::StatusOr<Exported> Export(const std::string& session) override;

 private:
  Sessions& sessions_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_OWN_SESSION_H_
