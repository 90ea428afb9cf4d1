// PlannerClient: the calls of a daemon, for the command line and for loops.
//
//   absl::StatusOr<std::unique_ptr<PlannerClient>> client = PlannerClient::Connect("unix:e.sock");
//   absl::StatusOr<wire::PlanReply> made = (*client)->Plan(call);
//
// If the daemon is restarted, the next call reconnects.
//
// Errors:  those of planner.proto; if the server cannot be reached, preceded by its name.
// Threads: one at a time.

#ifndef EBB_DAEMON_CLIENT_H_
#define EBB_DAEMON_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/session_calls.h"
#include "wire/planner.pb.h"

namespace ebb {

class PlannerClient final : public SessionCalls {
 public:
  // `server`: "unix:PATH".  Errors: `server` has another form; no process listens there.
  static absl::StatusOr<std::unique_ptr<PlannerClient>> Connect(const std::string& server);
  // Does not connect yet, so the daemon may start later.  A unary call ends after `timeout` with
  // DeadlineExceeded, Export after ten times that.
  static absl::StatusOr<std::unique_ptr<PlannerClient>> Make(const std::string& server,
                                                             std::chrono::milliseconds timeout);
  // Sets the timeout of unary calls from now on, as in Make().
  void SetTimeout(std::chrono::milliseconds timeout);
  ~PlannerClient() override;
  PlannerClient(const PlannerClient&) = delete;
  PlannerClient& operator=(const PlannerClient&) = delete;

  absl::StatusOr<wire::VersionReply> Version();
  absl::StatusOr<wire::StatusReply> Status() override;
  absl::StatusOr<wire::SessionStatus> Open(const wire::OpenRequest& request) override;
  absl::StatusOr<wire::PlanReply> Plan(const wire::PlanCall& call);
  absl::StatusOr<wire::ExplainReply> Explain(const wire::ExplainCall& call);
  absl::StatusOr<wire::FilterReply> Filter(const wire::FilterCall& call);
  absl::StatusOr<wire::BlockersReply> Blockers(const wire::BlockersCall& call);
  absl::StatusOr<wire::FrontierReply> Frontier(const wire::FrontierCall& call);
  absl::StatusOr<wire::WhatIfReply> WhatIf(const wire::WhatIfCall& call);

  absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call) override;
  absl::StatusOr<wire::ActuationReply> ReportActuation(
      const wire::ActuationReport& report) override;
  absl::StatusOr<wire::SizingReply> Sizing(const wire::SizingCall& call) override;
  absl::StatusOr<Exported> Export(const std::string& session) override;

  absl::StatusOr<wire::ApplyReply> Apply(const wire::ApplyRequest& request);
  // Sends every batch that `next` fills, until `next` returns false.  Returns the last version.
  absl::StatusOr<uint64_t> Sync(const std::function<bool(wire::SyncRequest&)>& next);

  // Replaces the session's cluster with the dump that `fill` writes.
  using Write = std::function<absl::Status(std::string_view part)>;
  absl::StatusOr<wire::LoadReply> Load(const std::string& session, const wire::Settings& settings,
                                       const std::function<absl::Status(const Write&)>& fill);

 private:
  class Impl;
  explicit PlannerClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_CLIENT_H_
